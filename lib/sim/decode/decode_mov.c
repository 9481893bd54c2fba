/* decode_mov.c - decodes moves and conversions. */
#include "lib/sim/decode/decode.h"

static bool
mov_vector(Dec *d, PtxType t)
{
	const Opnd *o = d->st->o;
	u32 n = o[0].kind == O_VEC ? o[0].n : o[1].kind == O_VEC ? o[1].n : 1, nd, ns;
	Ref *r = NEWN(d->arena, Ref, 34);
	PtxType part;

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
		return dec_fail(d, "source and destination are both vectors");
	if (!dec_refs(d, &o[0], o[0].kind == O_VEC ? part : t, true, 0, r, &nd) ||
	    !dec_refs(d, &o[1], o[1].kind == O_VEC ? part : t, false, 0, r + nd, &ns))
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
	Ref *r = NEWN(d->arena, Ref, 2);
	PtxType t;

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
		in->sreg = o[1].sreg;
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
loose(Dec *d, const Opnd *o, PtxType t, bool dst, Ref *out)
{
	PtxType rt = t;

	if (o->kind == O_REG && o->reg->type != T_pred) {
		rt = o->reg->type;
		if (type_bits(rt) < type_bits(t) || (type_float(t) && type_bits(rt) != type_bits(t) &&
		                                     type_bits(t) > 8))
			return dec_fail(d, "%.60s is too narrow for .%s", o->reg->name, type_name(t));
	} else if (o->kind == O_SINK && type_bits(t) < 16) {
		rt = T_b16;
	}
	return dst ? dec_dst(d, o, rt, out) : dec_src(d, o, rt, out);
}

/* cvt.rn.f16x2.f32 d, a, b and similar: two values into one register. */
static bool
pair(Dec *d)
{
	const Opnd *o = d->st->o;
	Ref *r = dec_room(d, 1, 2);
	PtxType t = d->ty[0], s = d->ty[1];

	if (s != T_f32 || (t != T_f16x2 && t != T_bf16x2 && t != T_e4m3x2 && t != T_e5m2x2))
		return dec_fail(d, "these types are not supported here");
	return dec_dst(d, &o[0], t, &r[0]) && dec_src(d, &o[1], s, &r[1]) && dec_src(d, &o[2], s, &r[2]);
}

/* Can t represent every value of the integer type s? */
static bool
fits(PtxType t, PtxType s)
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
	Ref *r = NEWN(d->arena, Ref, 4);

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
	Ref *r = dec_room(d, 1, 1);
	PtxType t, s;

	for (size_t i = 0; i < COUNT_OF(m); i++)
		if (dec_has(d, m[i].name)) {
			if (i < 9)
				in->arith.rnd = m[i].rnd;
			in->flags |= m[i].flag;
		}
	if (!dec_types(d))
		return false;
	if (d->nty != 2)
		return dec_fail(d, "expected two types");
	t = d->ty[0];
	s = d->ty[1];
	if (d->st->no == 3)
		return pair(d);
	if (d->st->no != 2)
		return dec_fail(d, "wrong number of operands");
	if (in->flags & F_SAT && !type_float(t) && !type_float(s) && fits(t, s))
		return dec_fail(d, ".sat has no effect: every .%s is representable as .%s", type_name(s),
		                type_name(t));
	if (t == T_tf32 ? s != T_f32
	                : s == T_tf32 || type_bits(t) < 8 || type_bits(s) < 8 || t == T_b128 || s == T_b128)
		return dec_fail(d, "these types are not supported here");
	if ((s == T_e4m3x2 || s == T_e5m2x2) != (t == T_f16x2) || t == T_bf16x2 || s == T_f16x2 ||
	    s == T_bf16x2 || t == T_e4m3x2 || t == T_e5m2x2)
		if (!(s == T_f16x2 && (t == T_e4m3x2 || t == T_e5m2x2)))
			return dec_fail(d, "these types are not supported here");
	return loose(d, &o[0], t, true, &r[0]) && loose(d, &o[1], s, false, &r[1]);
}
