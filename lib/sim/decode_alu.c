/* decode_alu.c - decoders of arithmetic, compares, moves and conversions. */
#include <stdio.h>
#include <string.h>
#include "sim_int.h"

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

/* Rounding and the other flags of arithmetic, as far as the row allows them. */
static void
arith_mods(Dec *d, bool *plain)
{
	static const char *const rnd[] = { "rn", "rz", "rm", "rp" };
	static const struct { const char *name; u32 flag; } fl[] = {
		{ "ftz", F_FTZ }, { "sat", F_SAT }, { "NaN", F_NAN }, { "relu", F_RELU },
		{ "cc", F_POPC }, { "xorsign", F_XOR }, { "abs", F_ABS },
	};

	*plain = true;
	for (u32 i = 0; i < 4; i++)
		if (take(d, rnd[i])) {
			d->in->rnd = (u8)i;
			*plain = *plain && i == RN;
		}
	for (size_t i = 0; i < sizeof fl / sizeof *fl; i++)
		if (take(d, fl[i].name)) {
			d->in->flags |= fl[i].flag;
			*plain = false;
		}
}

static Type
wider(Type t)
{
	switch (t) {
	case T_u16: return T_u32;
	case T_s16: return T_s32;
	case T_u32: return T_u64;
	case T_s32: return T_s64;
	default: return t;
	}
}

/* Operands by the row's pattern. */
static bool
operands(Dec *d)
{
	const char *p = d->row->pat;
	Type t = d->ty[0], ot;
	Ref *r = arena_get(&d->m->arena, (strlen(p) + 1) * sizeof *r);
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

bool
dec_alu(Dec *d)
{
	bool plain;
	Ins *in = d->in;
	Type t;

	if (d->row->id == OP_addsat || d->row->id == OP_subsat || d->row->id == OP_mad24sat) {
		d->nty = 1;
		d->ty[0] = T_s32;
		in->type = T_s32;
	} else {
		arith_mods(d, &plain);
		if (!dec_types(d))
			return false;
	}
	if (d->row->id == OP_addsat || d->row->id == OP_subsat || d->row->id == OP_mad24sat)
		plain = false;
	t = d->ty[0];
	if (t == T_pred && (d->row->id == OP_and || d->row->id == OP_or || d->row->id == OP_xor
	    || d->row->id == OP_not))
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
			d->in->sub = (u8)i;
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
	d->in->boolop = dec_has(d, "and") ? 1 : dec_has(d, "or") ? 2 : 0;
	if (!dec_types(d) || (d->in->boolop && !lop3_bool(d)))
		return false;
	if (d->st->no != 5 || !dec_imm(&d->st->o[4], &lut) || lut > 255)
		return dec_fail(d, "expected d, a, b, c, immLut");
	d->in->aux = (u32)lut;
	d->st->no = 4;
	return operands(d);
}

/* The relation set: 1 less, 2 equal, 4 greater, 8 unordered. */
static bool
compare(Dec *d, bool *unsign)
{
	static const struct { const char *name; u8 set; bool u; } t[] = {
		{ "eq", 2, 0 }, { "ne", 5, 0 }, { "lt", 1, 0 }, { "le", 3, 0 }, { "gt", 4, 0 },
		{ "ge", 6, 0 }, { "lo", 1, 1 }, { "ls", 3, 1 }, { "hi", 4, 1 }, { "hs", 6, 1 },
		{ "equ", 10, 0 }, { "neu", 13, 0 }, { "ltu", 9, 0 }, { "leu", 11, 0 },
		{ "gtu", 12, 0 }, { "geu", 14, 0 }, { "num", 7, 0 }, { "nan", 8, 0 },
	};

	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		if (d->npart && !strcmp(d->part[0], t[i].name)) {
			d->used |= 1;
			d->in->cmp = t[i].set;
			*unsign = t[i].u;
			return true;
		}
	return dec_fail(d, "unknown comparison");
}

static Type
compare_type(Type t, bool unsign)
{
	if (!unsign)
		return t;
	return t == T_s16 ? T_u16 : t == T_s32 ? T_u32 : t == T_s64 ? T_u64 : t;
}

static bool
compare_common(Dec *d, bool *unsign)
{
	if (!compare(d, unsign))
		return false;
	d->in->boolop = dec_has(d, "and") ? 1 : dec_has(d, "or") ? 2 : dec_has(d, "xor") ? 3 : 0;
	if (dec_has(d, "ftz"))
		d->in->flags |= F_FTZ;
	return dec_types(d);
}

bool
dec_setp(Dec *d)
{
	Ins *in = d->in;
	Ref *r = arena_get(&d->m->arena, 2 * sizeof *r);
	const Opnd *o = d->st->o;
	bool unsign = false;
	Type t;

	if (!compare_common(d, &unsign))
		return false;
	t = d->ty[0];
	in->alu = rel_find(compare_type(t, unsign));
	if (!in->alu)
		return dec_fail(d, "type .%s is not supported here", type_name(t));
	if (d->st->no != (in->boolop ? 4u : 3u))
		return dec_fail(d, "wrong number of operands");
	if (o[0].kind == O_PAIR) {
		if (t == T_f16 || t == T_bf16)
			return dec_fail(d, "two destinations are for two halves");
		if (!dec_pdst(d, &o[0].elt[0], &in->pd) || !dec_pdst(d, &o[0].elt[1], &in->pd2))
			return false;
	} else if (!dec_pdst(d, &o[0], &in->pd)) {
		return false;
	}
	if (in->boolop && !dec_psrc(d, &o[3], &in->ps, &in->ps_neg))
		return false;
	in->s = r;
	in->ns = 2;
	return dec_src(d, &o[1], t, &r[0]) && dec_src(d, &o[2], t, &r[1]);
}

bool
dec_testp(Dec *d)
{
	static const char *const what[] = { "finite", "infinite", "number", "notanumber", "normal",
		"subnormal" };
	Ins *in = d->in;
	Ref *r = arena_get(&d->m->arena, 2 * sizeof *r);
	const char *w = NULL;

	for (u32 i = 0; i < 6; i++)
		if (dec_has(d, what[i]))
			w = what[i];
	if (!w || !dec_types(d) || d->st->no != 2)
		return dec_fail(d, "expected testp.property.type p, a");
	in->alu = testp_find(d->ty[0], w);
	if (!in->alu)
		return dec_fail(d, "type .%s is not supported here", type_name(d->ty[0]));
	in->cmp = 1;
	in->s = r;
	in->ns = 1;
	if (!dec_pdst(d, &d->st->o[0], &in->pd) || !dec_src(d, &d->st->o[1], d->ty[0], &r[0]))
		return false;
	r[1] = r[0];
	return true;
}

bool
dec_set(Dec *d)
{
	Ins *in = d->in;
	Ref *r = arena_get(&d->m->arena, 3 * sizeof *r);
	const Opnd *o = d->st->o;
	bool unsign = false;

	if (!compare_common(d, &unsign))
		return false;
	if (d->nty != 2)
		return dec_fail(d, "expected two types");
	in->alu = rel_find(compare_type(d->ty[1], unsign));
	if (!in->alu || type_bits(d->ty[0]) > 32)
		return dec_fail(d, "these types are not supported here");
	if (d->st->no != (in->boolop ? 4u : 3u))
		return dec_fail(d, "wrong number of operands");
	if (in->boolop && !dec_psrc(d, &o[3], &in->ps, &in->ps_neg))
		return false;
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = 2;
	return dec_dst(d, &o[0], d->ty[0], &r[0]) && dec_src(d, &o[1], d->ty[1], &r[1])
	    && dec_src(d, &o[2], d->ty[1], &r[2]);
}

/* selp and slct: choose a or b, by a predicate or by the sign of c. */
bool
dec_slct(Dec *d)
{
	Ins *in = d->in;
	Ref *r = arena_get(&d->m->arena, 4 * sizeof *r);
	const Opnd *o = d->st->o;
	bool selp = d->row->id == OP_selp;

	if (dec_has(d, "ftz"))
		in->flags |= F_FTZ;
	if (!dec_types(d) || d->st->no != 4)
		return dec_fail(d, "expected d, a, b, c");
	if (selp ? d->nty != 1 : d->nty != 2 || type_bits(d->ty[1]) != 32)
		return dec_fail(d, "wrong types");
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = selp ? 2 : 3;
	if (!dec_dst(d, &o[0], d->ty[0], &r[0]) || !dec_src(d, &o[1], d->ty[0], &r[1])
	    || !dec_src(d, &o[2], d->ty[0], &r[2]))
		return false;
	return selp ? dec_psrc(d, &o[3], &in->ps, &in->ps_neg) : dec_src(d, &o[3], d->ty[1], &r[3]);
}

/* and, or, xor, not, mov of predicates: sub 1..3 and/or/xor, 4 not, 5 mov. */
bool
dec_pbool(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	u32 id = d->row->id;

	in->exec = exec_pbool;
	in->sub = id == OP_and ? 1 : id == OP_or ? 2 : id == OP_xor ? 3 : id == OP_not ? 4 : 5;
	if (d->st->no != (in->sub <= 3 ? 3u : 2u))
		return dec_fail(d, "wrong number of operands");
	if (!dec_pdst(d, &o[0], &in->pd) || !dec_psrc(d, &o[1], &in->ps, &in->ps_neg))
		return false;
	in->guard_neg = in->guard_neg && in->guard >= 0;
	if (in->sub <= 3) {
		bool neg;
		s32 p;
		if (!dec_psrc(d, &o[2], &p, &neg))
			return false;
		in->aux = (u32)p;
		in->aux2 = neg;
	}
	return true;
}

static bool
mov_vector(Dec *d, Type t)
{
	const Opnd *o = d->st->o;
	u32 n = o[0].kind == O_VEC ? o[0].n : o[1].kind == O_VEC ? o[1].n : 1, nd, ns;
	Ref *r = arena_get(&d->m->arena, 34 * sizeof *r);
	Type part;

	if (n != 1 && n != 2 && n != 4)
		return dec_fail(d, "vectors have 2 or 4 elements");
	switch (type_bits(t) / n) {
	case 8: part = T_b8; break;
	case 16: part = T_b16; break;
	case 32: part = T_b32; break;
	case 64: part = T_b64; break;
	case 128: part = T_b128; break;
	default: return dec_fail(d, "a vector of %u elements does not fit .%s", n, type_name(t));
	}
	if (o[0].kind == O_VEC && o[1].kind == O_VEC)
		return dec_fail(d, "both sides are vectors");
	if (!dec_refs(d, &o[0], o[0].kind == O_VEC ? part : t, true, 0, r, &nd)
	    || !dec_refs(d, &o[1], o[1].kind == O_VEC ? part : t, false, 0, r + nd, &ns))
		return false;
	d->in->exec = exec_pack;
	d->in->d = r;
	d->in->nd = (u8)nd;
	d->in->s = r + nd;
	d->in->ns = (u8)ns;
	return true;
}

bool
dec_mov(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = arena_get(&d->m->arena, 2 * sizeof *r);
	Type t;

	if (!dec_types(d) || d->st->no != 2)
		return dec_fail(d, "expected mov.type d, a");
	t = d->ty[0];
	if (t == T_pred)
		return dec_pbool(d);
	if (o[0].kind == O_VEC || o[1].kind == O_VEC || t == T_b128)
		return mov_vector(d, t);
	if (!dec_dst(d, &o[0], t, &r[0]))
		return false;
	in->d = r;
	in->nd = 1;
	if (o[1].kind == O_SREG) {
		in->exec = exec_sreg;
		in->aux = o[1].sreg;
		return true;
	}
	in->exec = exec_alu;
	in->alu = alu_find(OP_mov, type_bits(t) == 64 ? T_b64 : type_bits(t) == 16 ? T_b16 : T_b32,
	                   false);
	in->flags |= F_HALVES;
	in->s = r + 1;
	in->ns = 1;
	return dec_src(d, &o[1], t, &r[1]);
}

/* Registers of a conversion may be wider than its type. */
static bool
loose(Dec *d, const Opnd *o, Type t, bool dst, Ref *out)
{
	Type rt = t;

	if (o->kind == O_REG && o->reg->type != T_pred) {
		rt = o->reg->type;
		if (type_bits(rt) < type_bits(t) || (type_float(t) && type_bits(rt) != type_bits(t)
		    && type_bits(t) > 8))
			return dec_fail(d, "%.60s is too narrow for .%s", o->reg->name, type_name(t));
	} else if (o->kind == O_SINK && type_bits(t) < 16) {
		rt = T_b16;
	}
	return dst ? dec_dst(d, o, rt, out) : dec_src(d, o, rt, out);
}

/* cvt.rn.f16x2.f32 d, a, b and its relatives: two values into one register. */
bool
dec_vec2(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = arena_get(&d->m->arena, 4 * sizeof *r);
	Type t = d->ty[0], s = d->ty[1];

	if (s != T_f32 || (t != T_f16x2 && t != T_bf16x2 && t != T_e4m3x2 && t != T_e5m2x2))
		return dec_fail(d, "these types are not supported here");
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = 2;
	return dec_dst(d, &o[0], t, &r[0]) && dec_src(d, &o[1], s, &r[1]) && dec_src(d, &o[2], s, &r[2]);
}

/* Every value of the integer type s is one of t. */
static bool
fits(Type t, Type s)
{
	u32 tb = type_bits(t), sb = type_bits(s);

	return type_signed(t) == type_signed(s) ? tb >= sb : type_signed(t) && tb > sb;
}

/* cvt.pack: integers saturated to narrower ones, two into the low end of d. */
bool
dec_cvtpack(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = arena_get(&d->m->arena, 4 * sizeof *r);

	dec_has(d, "sat");
	if (!dec_types(d) || d->st->no != d->nty + 1 || d->nty < 2)
		return dec_fail(d, "expected d, a, b and c if it has a type");
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = (u8)(d->st->no - 1);
	for (u32 i = 0; i <= in->ns; i++)
		if (!(i ? dec_src(d, &o[i], T_b32, &r[i]) : dec_dst(d, &o[i], T_b32, &r[i])))
			return false;
	return true;
}

bool
dec_cvt(Dec *d)
{
	static const struct { const char *name; u8 rnd; u32 flag; } m[] = {
		{ "rn", RN, 0 }, { "rz", RZ, 0 }, { "rm", RM, 0 }, { "rp", RP, 0 }, { "rna", RNA, 0 },
		{ "rni", RN, F_INT }, { "rzi", RZ, F_INT }, { "rmi", RM, F_INT }, { "rpi", RP, F_INT },
		{ "ftz", 0, F_FTZ }, { "sat", 0, F_SAT }, { "relu", 0, F_RELU },
		{ "satfinite", 0, F_SATF },
	};
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	Ref *r = arena_get(&d->m->arena, 2 * sizeof *r);
	Type t, s;

	for (size_t i = 0; i < sizeof m / sizeof *m; i++)
		if (dec_has(d, m[i].name)) {
			if (i < 9)
				in->rnd = m[i].rnd;
			in->flags |= m[i].flag;
		}
	if (!dec_types(d))
		return false;
	if (d->nty != 2)
		return dec_fail(d, "expected two types");
	t = d->ty[0];
	s = d->ty[1];
	if (d->st->no == 3)
		return dec_vec2(d);
	if (d->st->no != 2)
		return dec_fail(d, "wrong number of operands");
	if (in->flags & F_SAT && !type_float(t) && !type_float(s) && fits(t, s))
		return dec_fail(d, "every .%s is a .%s: there is nothing to saturate", type_name(s), type_name(t));
	if (t == T_tf32 ? s != T_f32 : s == T_tf32 || type_bits(t) < 8 || type_bits(s) < 8
	    || t == T_b128 || s == T_b128)
		return dec_fail(d, "these types are not supported here");
	if ((s == T_e4m3x2 || s == T_e5m2x2) != (t == T_f16x2) || t == T_bf16x2 || s == T_f16x2
	    || s == T_bf16x2 || t == T_e4m3x2 || t == T_e5m2x2)
		if (!(s == T_f16x2 && (t == T_e4m3x2 || t == T_e5m2x2)))
			return dec_fail(d, "these types are not supported here");
	in->d = r;
	in->nd = 1;
	in->s = r + 1;
	in->ns = 1;
	return loose(d, &o[0], t, true, &r[0]) && loose(d, &o[1], s, false, &r[1]);
}
