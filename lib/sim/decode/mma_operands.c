/* mma_operands.c - decodes shapes, layouts and register fragments for the decoders of mma, wmma and wgmma. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/decode/decode.h"

PtxType
type_family(PtxType t)
{
	return t == T_u8 ? T_s8 : t == T_u4 ? T_s4 : t == T_e5m2 ? T_e4m3 : t;
}

bool
dec_shape(Dec *d)
{
	const char *s = dec_prefix(d, "m");
	MmaInstr *p = &d->in->mma;
	unsigned long m, n, k;
	char *e;

	if (!s)
		return dec_fail(d, "expected a shape such as .m16n8k16");
	m = strtoul(s + 1, &e, 10);
	n = *e == 'n' ? strtoul(e + 1, &e, 10) : 0;
	k = *e == 'k' ? strtoul(e + 1, &e, 10) : 0;
	p->m = (u16)(m < 1024 ? m : 0); /* no shape is that large */
	p->n = (u16)(n < 1024 ? n : 0);
	p->k = (u16)(k < 1024 ? k : 0);
	return true;
}

bool
dec_layouts(Dec *d, bool any)
{
	u32 n = 0;

	for (u32 i = 0; i < d->npart; i++) {
		bool col = !strcmp(d->part[i], "col");
		if (!col && strcmp(d->part[i], "row"))
			continue;
		d->used |= 1u << i;
		*(n ? &d->in->mma.b_col : &d->in->mma.a_col) = col;
		n++;
	}
	if (n != 2)
		return dec_fail(d, "expected two layouts, of A and B");
	return any || (!d->in->mma.a_col && d->in->mma.b_col) || dec_fail(d, "this shape only supports "
	                                                                     ".row.col");
}

void
dec_product(Dec *d, PtxType a, PtxType b, PtxType c, PtxType dt)
{
	d->in->mma.a = (u8)a;
	d->in->mma.b = (u8)b;
	d->in->mma.c = (u8)c;
	d->in->mma.d = (u8)dt;
}

bool
dec_satfinite(Dec *d, PtxType ab)
{
	if (!dec_has(d, "satfinite"))
		return true;
	d->in->flags |= F_SAT;
	return type_family(ab) == T_s8 || type_family(ab) == T_s4 ||
	       dec_fail(d, ".satfinite is only defined for .s8, .u8, .s4 and .u4");
}

u32
fragment_regs(u32 elements, PtxType t)
{
	return elements * type_bits(t) / (t == T_f64 ? 2 * 32 * WARP : 32 * WARP);
}

Ref *
dec_fragments(Dec *d, u32 nd, u32 na, u32 nb, u32 nc)
{
	MmaInstr *p = &d->in->mma;
	PtxType ab = p->a == T_f64 ? T_f64 : T_b32, cd = p->d == T_f64 ? T_f64 : T_b32;
	Ref *r = dec_room(d, nd, na + nb + nc);
	const Opnd *o = d->st->o;
	bool ok;
	u32 n;

	p->na = (u8)na;
	p->nb = (u8)nb;
	ok = dec_refs(d, &o[0], cd, true, nd, r, &n) && dec_refs(d, &o[1], ab, false, na, r + nd, &n) &&
	     dec_refs(d, &o[2], ab, false, nb, r + nd + na, &n) &&
	     dec_refs(d, &o[3], cd, false, nc, r + nd + na + nb, &n);
	return ok ? r + nd + na + nb + nc : NULL;
}
