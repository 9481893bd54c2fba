/* decode_wmma.c - decodes wmma.load, wmma.store and wmma.mma. PTX ISA, "Matrix multiply-accumulate operation
 * using wmma instructions". */
#include <string.h>
#include "lib/sim/decode/decode.h"

/* m, n, k, type of a and b, first target; the layouts of 4 and 1 bits are fixed */
static const struct Shape { u8 m, n, k, type, sm; } shapes[] = {
	{ 16, 16, 16, T_f16, 70 }, { 8, 32, 16, T_f16, 70 }, { 32, 8, 16, T_f16, 70 },
	{ 16, 16, 16, T_s8, 72 }, { 8, 32, 16, T_s8, 72 }, { 32, 8, 16, T_s8, 72 },
	{ 16, 16, 16, T_bf16, 80 }, { 8, 32, 16, T_bf16, 80 }, { 32, 8, 16, T_bf16, 80 },
	{ 16, 16, 8, T_tf32, 80 }, { 8, 8, 4, T_f64, 80 }, { 8, 8, 32, T_s4, 75 }, { 8, 8, 128, T_b1, 75 },
};

static bool
is_shape(const struct Shape *s, u32 m, u32 n, u32 k)
{
	return s->m == m && s->n == n && s->k == k;
}

/* Is c an accumulator type for multiplicands of type ab? */
static bool
goes_with(PtxType ab, PtxType c)
{
	switch (ab) {
	case T_f16: return c == T_f16 || c == T_f32;
	case T_bf16: case T_tf32: return c == T_f32;
	case T_f64: return c == T_f64;
	default: return c == T_s32;
	}
}

static bool
one_layout(Dec *d, bool *col)
{
	*col = dec_has(d, "col");
	return *col || dec_has(d, "row") || dec_fail(d, "expected .row or .col");
}

static u32
multiplicand_regs(u32 elements, PtxType t)
{
	return t == T_f16 ? 8 : fragment_regs(elements, t);     /* f16 elements are replicated */
}

bool
dec_wmmamem(Dec *d)
{
	bool store = d->row->id == OP_wmmastore, col, found = false;
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	u32 m, n, k, sm = 0, nreg, first, c;
	u32 which = d->row->id == OP_wmmaloada ? FRAG_A : d->row->id == OP_wmmaloadb ? FRAG_B : FRAG_C;
	sim_space sp;
	PtxType t;
	Ref *r;

	dec_space(d, &sp);
	if (!one_layout(d, &col) || !dec_shape(d) || !dec_types(d))
		return false;
	m = in->mma.m;
	n = in->mma.n;
	k = in->mma.k;
	t = d->ty[0];
	for (size_t i = 0; i < COUNT_OF(shapes) && !found; i++)
		if (is_shape(&shapes[i], m, n, k) && (which == FRAG_C ? goes_with((PtxType)shapes[i].type, t)
		                                                      : shapes[i].type == type_family(t))) {
			found = true;
			sm = shapes[i].sm;
		}
	if (!found || d->nty != 1)
		return dec_fail(d, "shape m%un%uk%u is not defined for fragments of .%s",
		                m, n, k, type_name(t));
	if (which != FRAG_C && type_bits(t) < 8 && col != (which == FRAG_B))
		return dec_fail(d, "A of .%s must be .row, B must be .col", type_name(t));
	if (!dec_needs(d, sm, NULL))
		return false;
	if (d->st->no != 2 && d->st->no != 3)
		return dec_fail(d, "expected a fragment, an address and a stride");
	in->wsync = true;
	in->space = (u8)sp;
	in->frag = (Fragment){
		.which = (u8)which,
		.col = col,
		.stride = d->st->no == 3,
		.rows = (u16)(which == FRAG_B ? k : m),
		.cols = (u16)(which == FRAG_A ? k : n),
	};
	nreg = (which == FRAG_C ? fragment_regs : multiplicand_regs)((u32)in->frag.rows * in->frag.cols, t);
	r = NEWN(d->arena, Ref, nreg + 2);
	first = 1u + in->frag.stride;
	in->s = r;
	in->ns = (u8)(first + (store ? nreg : 0));
	in->d = r + first;
	in->nd = (u8)(store ? 0 : nreg);
	if (!dec_addr(d, &o[!store], &r[0], &in->off, &sp) ||
	    (in->frag.stride && !dec_src(d, &o[2], T_u32, &r[1])))
		return false;
	in->space = (u8)sp;
	return dec_refs(d, &o[store], t == T_f64 ? T_f64 : T_b32, !store, nreg, r + first, &c);
}

bool
dec_wmma(Dec *d)
{
	Ins *in = d->in;
	u32 m, n, k;
	const struct Shape *s = NULL;
	PtxType a, b, c, dt;

	if (!dec_shape(d) || !dec_layouts(d, true))
		return false;
	m = in->mma.m;
	n = in->mma.n;
	k = in->mma.k;
	if (!dec_types(d) || (d->nty != 2 && d->nty != 4))
		return dec_fail(d, "expected two types for f16, or four");
	dt = d->ty[0];
	c = d->ty[d->nty - 1];
	a = d->nty == 2 ? T_f16 : d->ty[1];
	b = d->nty == 2 ? T_f16 : d->ty[2];
	for (size_t i = 0; i < COUNT_OF(shapes); i++)
		if (is_shape(&shapes[i], m, n, k) && shapes[i].type == type_family(a))
			s = &shapes[i];
	if (!s || a != b || !goes_with((PtxType)s->type, c) || !goes_with((PtxType)s->type, dt) ||
	    (a == T_f16 && d->nty == 4))
		return dec_fail(d, "shape m%un%uk%u is not defined for these types", m, n, k);
	if (type_bits(a) < 8 && (in->mma.a_col || !in->mma.b_col))
		return dec_fail(d, "this shape only supports .row.col");
	if (!dec_needs(d, s->sm, NULL))
		return false;
	if (!dec_satfinite(d, a))
		return false;
	if (a == T_f64 && (dec_has(d, "rz") || dec_has(d, "rm") || dec_has(d, "rp")))
		return dec_fail(d, "only .rn is supported");
	if (a == T_f64)
		dec_has(d, "rn");
	if (!dec_bit_op(d, a == T_b1))
		return false;
	in->wsync = true;
	dec_product(d, a, b, c, dt);
	return (d->st->no == 4 || dec_fail(d, "expected four fragments")) &&
	       dec_fragments(d, fragment_regs(m * n, dt), multiplicand_regs(m * k, a),
	                     multiplicand_regs(k * n, b), fragment_regs(m * n, c)) != NULL;
}
