/* decode_wgmma.c - decodes wgmma, its fence and groups, and setmaxnreg; marks the instructions that access
 * registers of a wgmma. PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions". */
#include "lib/sim/decode/decode.h"

enum { F16C = 1, F32C = 2, S32C = 4 };
static const struct { u8 type, k, how; bool trans, scale, fine; } kinds[] = {
	/* k in units of 8; how: accumulators; fine: n is any multiple of 8 */
	{ T_f16, 2, F16C | F32C, true, true, true }, { T_bf16, 2, F32C, true, true, true },
	{ T_tf32, 1, F32C, false, true, true }, { T_e4m3, 4, F16C | F32C, false, true, true },
	{ T_s8, 4, S32C, false, false, false }, { T_b1, 32, S32C, false, false, false },
};

static bool
imm_of(Dec *d, const Opnd *o, const char *what, u64 lo, u64 *v)
{
	if (!dec_imm(o, v) || (*v != 1 && *v != lo))
		return dec_fail(d, "%s must be %s or 1", what, lo ? "-1" : "0");
	return true;
}

/* The immediates after scale-d: signs of A and B, and which of the two are transposed. */
static bool
immediates(Dec *d, const Opnd *o, u32 n, u32 kind, bool areg)
{
	u32 want = (kinds[kind].scale ? 2u : 0) + (kinds[kind].trans ? areg ? 1u : 2u : 0), i = 2;
	u64 v[2] = { 1, 1 }, t[2] = { 0, 0 };

	if (n != want)
		return dec_fail(d, "expected %u immediates after scale-d, found %u", want, n);
	if (kinds[kind].scale && (!imm_of(d, &o[0], "imm-scale-a", ~0ull, &v[0]) ||
	                          !imm_of(d, &o[1], "imm-scale-b", ~0ull, &v[1])))
		return false;
	if (kinds[kind].trans && ((!areg && !imm_of(d, &o[i++], "imm-trans-a", 0, &t[0])) ||
	                          !imm_of(d, &o[i], "imm-trans-b", 0, &t[1])))
		return false;
	d->in->mma.a_col = t[0] != 0;
	d->in->mma.b_col = t[1] == 0;
	d->in->mma.negate = v[0] != v[1];
	return true;
}

static bool
find_kind(Dec *d, bool sparse, u32 *kind)
{
	u32 m, n, k, acc, i;

	if (!dec_shape(d) || !dec_types(d))
		return false;
	m = d->in->mma.m;
	n = d->in->mma.n;
	k = d->in->mma.k;
	if (d->nty != 3)
		return dec_fail(d, "expected three types, of D, A and B");
	acc = d->ty[0] == T_f16 ? F16C : d->ty[0] == T_f32 ? F32C : d->ty[0] == T_s32 ? S32C : 0;
	for (i = 0; i < COUNT_OF(kinds); i++)
		if (kinds[i].type == type_family(d->ty[1]))
			break;
	if (i == COUNT_OF(kinds) || kinds[i].type != type_family(d->ty[2]) ||
	    !(kinds[i].how & acc))
		return dec_fail(d, "wgmma is not defined for these types");
	if (m != 64 || k != kinds[i].k * 8u * (sparse ? 2 : 1) || (sparse && d->ty[1] == T_b1))
		return dec_fail(d, "shape m%un%uk%u is not defined for these types", m, n, k);
	if (!n || n % 8 || n > 256 || (!kinds[i].fine && n > 24 && n % 16))
		return dec_fail(d, "n must be a multiple of %d up to 256", kinds[i].fine ? 8 : 16);
	if (!dec_satfinite(d, d->ty[1]))
		return false;
	if (d->ty[1] == T_b1 && !dec_follow(d, "and", "popc"))
		return dec_fail(d, ".b1 types require .and.popc");
	*kind = i;
	return true;
}

/* d: accumulators.  s: A (four registers or a descriptor), the descriptor of B, metadata.  ps: scale-d. */
bool
dec_wgmma(Dec *d)
{
	bool sparse = d->row->id == OP_wgmmasp;
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	u32 kind = 0, nd, na, cnt, k, i = 3;
	Ref *r;

	if (!find_kind(d, sparse, &kind) || !dec_needs(d, DEC_LETTER + 90, NULL))
		return false;
	if (d->st->no < 4 + 2u * sparse)
		return dec_fail(d, "too few operands");
	dec_product(d, d->ty[1], d->ty[2], d->ty[0], d->ty[0]);
	in->wsync = true;
	k = in->mma.k;
	nd = in->mma.n * type_bits(d->ty[0]) / 64;
	na = o[1].kind == O_VEC ? 4 : 0;
	r = dec_room(d, nd, na ? na + 1 : 2);
	in->mma.na = (u8)na;
	if (!dec_refs(d, &o[0], T_b32, true, nd, r, &cnt) ||
	    !(na ? dec_refs(d, &o[1], T_b32, false, 4, r + nd, &cnt) : dec_src(d, &o[1], T_b64, r + nd)) ||
	    !dec_src(d, &o[2], T_b64, r + nd + in->ns - 1))
		return false;
	if (sparse) {
		if (!dec_metadata(d, &o[3], r + nd + in->ns, k, type_bits(d->ty[1])))
			return false;
		i += 2;
	}
	return dec_psrc(d, &o[i], &in->ps, &in->ps_neg) &&
	       immediates(d, o + i + 1, d->st->no - i - 1, kind, na != 0);
}

/* fence, commit_group, wait_group */
bool
dec_wgsync(Dec *d)
{
	u64 n = 0;

	d->in->wsync = true;
	if (d->st->no != (d->row->id == OP_wgwait ? 1u : 0u) ||
	    (d->st->no && (!dec_imm(&d->st->o[0], &n) || n > 1u << 20)))
		return dec_fail(d, "only wait_group has an operand: the number of groups, as an immediate");
	d->in->wait.keep = (u32)n;
	return dec_needs(d, DEC_LETTER + 90, NULL);
}

bool
dec_maxnreg(Dec *d)
{
	u64 n;

	d->in->wsync = true;
	if (!dec_types(d) || d->ty[0] != T_u32 || d->st->no != 1 || !dec_imm(&d->st->o[0], &n))
		return dec_fail(d, "expected .u32 and an immediate number of registers");
	if (n < 24 || n > 256 || n % 8)
		return dec_fail(d, "the number of registers must be a multiple of 8 from 24 to 256");
	d->in->regs = (u32)n;
	return dec_needs(d, DEC_LETTERS + 90, NULL);
}

/* ---- instructions that use the registers of a wgmma ---- */

static bool
touches(const Ref *r, u32 n, const u8 *set)
{
	for (u32 i = 0; i < n; i++)
		if (!r[i].base && set[r[i].unit])
			return true;
	return false;
}

static bool
is_wgmma(const Ins *in)
{
	return in->id == OP_wgmma || in->id == OP_wgmmasp;
}

/* Marks instructions that read or write a register used by any wgmma, or a register that one is moved to. */
bool
wgmma_mark(sim_module *m, u32 units)
{
	u8 *set = NULL;
	bool more = true;

	for (u32 pc = 0; pc < m->ncode; pc++) {
		const Ins *in = &m->code[pc];
		if (!is_wgmma(in))
			continue;
		if (!set)
			set = NEWN(&m->ptx.arena, u8, units + 4u);
		for (u32 i = 0; i < in->nd; i++)
			set[in->d[i].unit] = 1;
		for (u32 i = 0; i < in->mma.na; i++)
			if (!in->s[i].base)
				set[in->s[i].unit] = 1;
	}
	if (!set)
		return false;
	for (u32 round = 0; more && round < 64; round++) {
		more = false;
		for (u32 pc = 0; pc < m->ncode; pc++) {
			const Ins *in = &m->code[pc];
			if (in->id != OP_mov || in->nd != 1 || in->ns != 1 || in->s->base)
				continue;
			if (set[in->s->unit] && !set[in->d->unit]) {
				set[in->d->unit] = 1;
				more = true;
			}
		}
	}
	for (u32 pc = 0; pc < m->ncode; pc++) {
		Ins *in = &m->code[pc];
		in->wg = !is_wgmma(in) && (touches(in->d, in->nd, set) || touches(in->s, in->ns, set));
		in->wg_name = in->id == OP_mov && in->nd == 1 && in->ns == 1 && !in->s->base &&
		              in->d->chunks == in->s->chunks && set[in->s->unit];
	}
	return true;
}
