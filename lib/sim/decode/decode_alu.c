/* decode_alu.c - decodes arithmetic and logic statements to instructions. */
#include <string.h>
#include "lib/sim/decode/decode.h"

static bool
allowed(const Dec *d, const char *word)
{
	const char *p = d->row->mods;
	size_t n = strlen(word);

	for (; *p; p += strcspn(p, " "), p += *p == ' ')
		if (!strncmp(p, word, n) && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static bool
take(Dec *d, const char *word)
{
	return allowed(d, word) && dec_has(d, word);
}

/* Rounding and the other arithmetic flags that the row allows. */
static void
arith_mods(Dec *d, bool *plain)
{
	static const char *const rnd[] = { "rn", "rz", "rm", "rp" };
	static const struct { const char *name; u32 flag; } fl[] = {
		{ "ftz", F_FTZ }, { "sat", F_SAT }, { "NaN", F_NAN }, { "relu", F_RELU },
		{ "cc", F_POPC }, { "xorsign", F_XOR }, { "abs", F_ABS }, { "oob", F_OOB },
	};

	*plain = true;
	for (u32 i = 0; i < 4; i++)
		if (take(d, rnd[i])) {
			d->in->arith.rnd = (u8)i;
			*plain = *plain && i == RN;
		}
	for (size_t i = 0; i < COUNT_OF(fl); i++)
		if (take(d, fl[i].name)) {
			d->in->flags |= fl[i].flag;
			*plain = false;
		}
}

static PtxType
wider(PtxType t)
{
	switch (t) {
	case T_u16: return T_u32;
	case T_s16: return T_s32;
	case T_u32: return T_u64;
	case T_s32: return T_s64;
	default: return t;
	}
}

/* Decodes operands by the row's pattern. */
static bool
operands(Dec *d)
{
	const char *p = d->row->pat;
	PtxType t = d->ty[0], ot;
	Ref *r = NEWN(d->arena, Ref, strlen(p) + 1);
	u32 i;

	if (d->st->no != strlen(p))
		return dec_fail(d, "takes %zu operands, found %u", strlen(p), d->st->no);
	for (i = 0; p[i]; i++) {
		switch (p[i]) {
		case 'D': case 'W': ot = wider(t); break;
		case 'u': ot = T_u32; break;
		case 'y': case 'v': ot = T_b32; break;
		case 's': ot = d->ty[1]; break;
		default: ot = t; break;
		}
		if (!(i == 0 ? dec_dst(d, &d->st->o[0], ot, &r[0]) : dec_src(d, &d->st->o[i], ot, &r[i])))
			return false;
	}
	d->in->d = r;
	d->in->nd = 1;
	d->in->s = r + 1;
	d->in->ns = (u8)(i - 1);
	return true;
}

static void
mixed(Dec *d, PtxType narrow)
{
	d->nty = 2;
	d->ty[0] = T_f32;
	d->ty[1] = narrow;
}

/* Sets the types of a row that implies them by its name; returns false for other rows. */
static bool
types_of_row(Dec *d)
{
	switch (d->row->id) {
	case OP_addsat: case OP_subsat: case OP_mad24sat: d->nty = 1; d->ty[0] = T_s32; break;
	case OP_addf16: case OP_subf16: case OP_fmaf16: mixed(d, T_f16); break;
	case OP_addbf16: case OP_subbf16: case OP_fmabf16: mixed(d, T_bf16); break;
	default: return false;
	}
	d->in->type = (u8)d->ty[0];
	return true;
}

bool
dec_alu(Dec *d)
{
	bool plain;
	Ins *in = d->in;
	PtxType t;

	arith_mods(d, &plain);
	if (types_of_row(d))
		plain = false;
	else if (!dec_types(d))
		return false;
	t = d->ty[0];
	if (t == T_pred && (d->row->id == OP_and || d->row->id == OP_or || d->row->id == OP_xor ||
	                    d->row->id == OP_not))
		return dec_pbool(d);
	if (in->exec == exec_alu) {
		if (plain)
			in->alu = alu_find(d->row->id, t, true);
		if (!in->alu)
			in->alu = alu_find(d->row->id, t, false);
		if (!in->alu)
			return dec_fail(d, "type .%s is not supported here", type_name(t));
	} else if (t != T_u32 && t != T_s32 && t != T_u64 && t != T_s64) {
		return dec_fail(d, "type .%s is not supported here", type_name(t));
	}
	if (t == T_f16x2 || t == T_bf16x2 || t == T_u16x2 || t == T_s16x2)
		in->flags |= F_HALVES;
	if (t == T_pred)
		return dec_fail(d, "type .pred is not supported here");
	return operands(d);
}

bool
dec_prmt(Dec *d)
{
	static const char *const mode[] = { "", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16" };

	for (u32 i = 1; i < 7; i++)
		if (dec_has(d, mode[i]))
			d->in->arith.mode = (u8)i;
	d->in->alu = alu_find(OP_prmt, T_b32, false);
	return dec_types(d) && operands(d);
}

/* lop3.BoolOp d|p, a, b, c, immLut, q: p = (d != 0) BoolOp q. */
static bool
lop3_bool(Dec *d)
{
	Opnd *o = d->st->o;

	d->in->exec = exec_lop3p;
	if (d->st->no != 6 || o[0].kind != O_PAIR)
		return dec_fail(d, "expected d|p, a, b, c, immLut, q");
	if (!dec_pdst(d, &o[0].elt[1], &d->in->pd) || !dec_psrc(d, &o[5], &d->in->ps, &d->in->ps_neg))
		return false;
	o[0] = o[0].elt[0];
	d->st->no = 5;
	return true;
}

bool
dec_lop3(Dec *d)
{
	u64 lut;

	d->in->alu = alu_find(OP_lop3, T_b32, false);
	d->in->arith.boolop = dec_has(d, "and") ? BOOL_AND : dec_has(d, "or") ? BOOL_OR : BOOL_NONE;
	if (!dec_types(d) || (d->in->arith.boolop && !lop3_bool(d)))
		return false;
	if (d->st->no != 5 || !dec_imm(&d->st->o[4], &lut) || lut > 255)
		return dec_fail(d, "expected d, a, b, c, immLut");
	d->in->arith.lut = (u8)lut;
	d->st->no = 4;
	return operands(d);
}
