/* decode_mma.c - decodes mma and mma.sp: accepts the existing shapes and types and assigns their registers.
 *
 * The table is that of the PTX ISA ("Multiply-and-Accumulate Instruction: mma", "mma.sp") up to sm_90a, and
 * of the block-scaled sm_120a MMAs ("Block Scaling for mma.sync") whose types are as wide as their
 * containers. test/sim/decode/test_mma_accept.c compares it with ptxas. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/decode/decode.h"

enum { F16C = 1, F32C = 2, S32C = 4, F64C = 8, DENSE = 16, SPARSE = 32, A_ = 1000 };

/* m, n, k, type of a and b, accumulators, and the first target that supports it (A_: only its "a") */
static const struct Shape { u16 m, n, k; u8 type, how; u16 sm; } shapes[] = {
	{ 8, 8, 4, T_f16, F16C | F32C | DENSE, 70 },
	{ 16, 8, 8, T_f16, F16C | F32C | DENSE, 75 },
	{ 16, 8, 16, T_f16, F16C | F32C | DENSE | SPARSE, 80 },
	{ 16, 8, 32, T_f16, F16C | F32C | SPARSE, 80 },
	{ 16, 8, 8, T_bf16, F32C | DENSE, 80 },
	{ 16, 8, 16, T_bf16, F32C | DENSE | SPARSE, 80 },
	{ 16, 8, 32, T_bf16, F32C | SPARSE, 80 },
	{ 16, 8, 4, T_tf32, F32C | DENSE, 80 },
	{ 16, 8, 8, T_tf32, F32C | DENSE | SPARSE, 80 },
	{ 16, 8, 16, T_tf32, F32C | DENSE | SPARSE, 80 },
	{ 8, 8, 4, T_f64, F64C | DENSE, 80 },
	{ 16, 8, 4, T_f64, F64C | DENSE, 90 },
	{ 16, 8, 8, T_f64, F64C | DENSE, 90 },
	{ 16, 8, 16, T_f64, F64C | DENSE, 90 },
	{ 8, 8, 16, T_s8, S32C | DENSE, 75 },
	{ 16, 8, 16, T_s8, S32C | DENSE, 80 },
	{ 16, 8, 32, T_s8, S32C | DENSE | SPARSE, 80 },
	{ 16, 8, 64, T_s8, S32C | SPARSE, 80 },
	{ 8, 8, 32, T_s4, S32C | DENSE, 75 },
	{ 16, 8, 32, T_s4, S32C | DENSE, 80 },
	{ 16, 8, 64, T_s4, S32C | DENSE | SPARSE, 80 },
	{ 16, 8, 128, T_s4, S32C | SPARSE, 80 },
	{ 8, 8, 128, T_b1, S32C | DENSE, 75 },
	{ 16, 8, 128, T_b1, S32C | DENSE, 80 },
	{ 16, 8, 256, T_b1, S32C | DENSE, 80 },
	{ 16, 8, 16, T_e4m3, F16C | F32C | DENSE, 89 },
	{ 16, 8, 32, T_e4m3, F16C | F32C | DENSE, 89 },
	{ 16, 8, 64, T_e4m3, F32C | SPARSE, 89 },
};

static u32
acc_bit(PtxType t)
{
	return t == T_f16 ? F16C : t == T_f32 ? F32C : t == T_s32 ? S32C : t == T_f64 ? F64C : 0;
}

bool
dec_bit_op(Dec *d, bool bits)
{
	bool and_ = dec_follow(d, "and", "popc");

	if (!and_ && !dec_follow(d, "xor", "popc"))
		return !bits || dec_fail(d, ".b1 types require .xor.popc or .and.popc");
	d->in->mma.is_and = and_;
	if (!bits)
		return dec_fail(d, "bit operations are not defined on these types");
	return !and_ || dec_needs(d, 80, ".and.popc");
}

static const struct Shape *
find_shape(Dec *d, u32 m, u32 n, u32 k, bool sparse)
{
	PtxType dt = d->ty[0], a = d->ty[1], b = d->ty[2], c = d->ty[3];
	bool other = false;

	for (size_t i = 0; i < COUNT_OF(shapes); i++) {
		const struct Shape *s = &shapes[i];
		if (s->type != type_family(a) || s->type != type_family(b) ||
		    !(s->how & (sparse ? SPARSE : DENSE)))
			continue;
		other = true;
		if (s->m != m || s->n != n || s->k != k)
			continue;
		if (!(s->how & acc_bit(dt)) || !(s->how & acc_bit(c)) ||
		    (dt != c && !(m == 8 && dt == T_f32))) {
			dec_fail(d, "these accumulator types are not supported with .%s", type_name(a));
			return NULL;
		}
		return s;
	}
	dec_fail(d, "shape m%un%uk%u is not defined for .%s and .%s%s", m, n, k, type_name(a), type_name(b),
	         other ? "" : ", nor any other shape");
	return NULL;
}

bool
dec_mma(Dec *d)
{
	bool sparse = d->row->id != OP_mma;
	Ins *in = d->in;
	const struct Shape *s;
	u32 m, n, k, na, nb, nc, nd;
	Ref *r;

	if (!dec_shape(d) || !dec_types(d))
		return false;
	m = in->mma.m;
	n = in->mma.n;
	k = in->mma.k;
	if (d->nty != 4)
		return dec_fail(d, "expected four types, of D, A, B and C");
	if (!(s = find_shape(d, m, n, k, sparse)) || !dec_needs(d, s->sm, NULL) ||
	    !dec_layouts(d, s->type == T_f16 && m == 8) || !dec_bit_op(d, s->type == T_b1))
		return false;
	if (!dec_satfinite(d, d->ty[1]))
		return false;
	if (d->st->no != (sparse ? 6u : 4u))
		return dec_fail(d, "expected %u operands", sparse ? 6 : 4);
	in->wsync = true;
	dec_product(d, d->ty[1], d->ty[2], d->ty[3], d->ty[0]);
	na = fragment_regs(m * k / (sparse ? 2 : 1), d->ty[1]);
	nb = fragment_regs(n * k, d->ty[2]);
	nc = fragment_regs(m * n, d->ty[3]);
	nd = fragment_regs(m * n, d->ty[0]);
	if (s->type == T_f16 && m == 8) {       /* four independent MMAs, each by eight lanes */
		na = nb = 2;
		nc *= 4;
		nd *= 4;
		in->exec = exec_mma884;
	} else if (s->type == T_b1) {
		in->exec = exec_mmab1;
	}
	r = dec_fragments(d, nd, na, nb, nc);
	if (!r)
		return false;
	return !sparse || dec_metadata(d, &d->st->o[4], r, k, type_bits(d->ty[1]));
}

/* Block-scaled MMAs: kind, k, number of scales along k, whether scale_vec must be specified, and their
 * types. */
static const struct Kind { const char *kind; u16 k; u8 scales; bool said; u8 type, scale; } kinds[] = {
	{ "mxf8f6f4", 32, 1, false, T_e4m3, T_ue8m0 },
	{ "mxf4", 64, 2, false, T_e2m1, T_ue8m0 },
	{ "mxf4nvf4", 64, 2, true, T_e2m1, T_ue8m0 },
	{ "mxf4nvf4", 64, 4, true, T_e2m1, T_ue4m3 },
};

static const struct Kind *
find_kind(Dec *d)
{
	const char *kind = dec_prefix(d, "kind::"), *size = dec_prefix(d, "scale_vec::");
	const MmaInstr *p = &d->in->mma;

	for (size_t i = 0; i < COUNT_OF(kinds) && kind && d->nty == 5; i++) {
		const struct Kind *x = &kinds[i];
		char said[] = { (char)('0' + x->scales), 'X', 0 };

		if (!strcmp(kind + 6, x->kind) && (size ? !strcmp(size + 11, said) : !x->said) &&
		    p->m == 16 && p->n == 8 && p->k == x->k && type_family(d->ty[1]) == x->type &&
		    type_family(d->ty[2]) == x->type && d->ty[0] == T_f32 && d->ty[3] == T_f32 &&
		    d->ty[4] == x->scale)
			return x;
	}
	dec_fail(d, "this block-scaled MMA does not exist or is not supported here");
	return NULL;
}

/* A register of scales, and {byte, thread}: their first byte in it, and which lanes of four have them. A's
 * rows take two lanes, the pair of this number. */
static bool
dec_scales(Dec *d, u32 i, Ref *r)
{
	const Opnd *o = &d->st->o[4 + 2 * i];
	MmaInstr *p = &d->in->mma;
	u64 byte, thread;

	if (o[1].kind != O_VEC || o[1].n != 2 || !dec_imm(&o[1].elt[0], &byte) ||
	    !dec_imm(&o[1].elt[1], &thread))
		return dec_fail(d, "expected {byte, thread} of the scales, two immediates");
	if (byte > 3 || byte % p->scales || thread > (i ? 3u : 1u))
		return dec_fail(d, "the byte selector of scales must be a multiple of %u below 4, the "
		                   "thread selector below %u",
		                p->scales, i ? 4 : 2);
	p->byte[i] = (u8)byte;
	p->thread[i] = (u8)thread;
	return dec_src(d, o, T_b32, r);
}

bool
dec_mmascale(Dec *d)
{
	MmaInstr *p = &d->in->mma;
	const struct Kind *kind;
	Ref *r;

	if (!dec_shape(d) || !dec_types(d) || !(kind = find_kind(d)) ||
	    !dec_needs(d, DEC_LETTER + 120, NULL) || !dec_layouts(d, false))
		return false;
	if (d->st->no != 8)
		return dec_fail(d, "expected 8 operands");
	d->in->wsync = true;
	dec_product(d, d->ty[1], d->ty[2], T_f32, T_f32);
	p->scales = kind->scales;
	p->scale = kind->scale;
	r = dec_fragments(d, 4, 4, 2, 4);
	if (!r)
		return false;
	d->in->ns = (u8)(d->in->ns + 2);
	return dec_scales(d, 0, r) && dec_scales(d, 1, r + 1);
}

/* Metadata and selector. A group of four lanes has k/2 bits of it for 16 rows: as words, in one, two or all
 * four lanes, and the selector specifies which. */
bool
dec_metadata(Dec *d, const Opnd *o, Ref *r, u32 k, u32 bits)
{
	u32 words = bits == 32 ? k / 8 : bits == 16 ? k / 16 : bits == 8 ? k / 16 : k / 32;
	u64 sel;

	if (!dec_imm(&o[1], &sel))
		return dec_fail(d, "the sparsity selector must be an immediate");
	if (sel >= 4 / words)
		return dec_fail(d, "the sparsity selector must be below %u", 4 / words);
	d->in->mma.selector = (u8)sel;
	d->in->mma.ordered = d->row->id == OP_mmaspo;
	d->in->ns++;
	return dec_src(d, &o[0], T_b32, r);
}
