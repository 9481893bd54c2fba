/* decode_cmp.c - decodes compares, selects and predicate instructions. */
#include <string.h>
#include "lib/sim/decode/decode.h"

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

	for (size_t i = 0; i < COUNT_OF(t); i++)
		if (dec_has(d, t[i].name)) {
			d->in->arith.relation = t[i].set;
			*unsign = t[i].u;
			return true;
		}
	return dec_fail(d, "unknown comparison");
}

static PtxType
compare_type(PtxType t, bool unsign)
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
	d->in->arith.boolop = dec_has(d, "and")   ? BOOL_AND
	                      : dec_has(d, "or")  ? BOOL_OR
	                      : dec_has(d, "xor") ? BOOL_XOR
	                                          : BOOL_NONE;
	if (dec_has(d, "ftz"))
		d->in->flags |= F_FTZ;
	return dec_types(d);
}

bool
dec_setp(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 2);
	const Opnd *o = d->st->o;
	bool unsign = false;
	PtxType t;

	if (!compare_common(d, &unsign))
		return false;
	t = d->ty[0];
	in->alu = rel_find(compare_type(t, unsign));
	if (!in->alu)
		return dec_fail(d, "type .%s is not supported here", type_name(t));
	if (d->st->no != (in->arith.boolop ? 4u : 3u))
		return dec_fail(d, "wrong number of operands");
	if (o[0].kind == O_PAIR) {
		if (t == T_f16 || t == T_bf16)
			return dec_fail(d, "two destinations require a packed two-element type");
		if (!dec_pdst(d, &o[0].elt[0], &in->pd) || !dec_pdst(d, &o[0].elt[1], &in->pd2))
			return false;
	} else if (!dec_pdst(d, &o[0], &in->pd)) {
		return false;
	}
	if (in->arith.boolop && !dec_psrc(d, &o[3], &in->ps, &in->ps_neg))
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
	Ref *r = NEWN(d->arena, Ref, 2);
	const char *w = NULL;

	for (u32 i = 0; i < 6; i++)
		if (dec_has(d, what[i]))
			w = what[i];
	if (!w || !dec_types(d) || d->st->no != 2)
		return dec_fail(d, "expected testp.property.type p, a");
	in->alu = testp_find(d->ty[0], w);
	if (!in->alu)
		return dec_fail(d, "type .%s is not supported here", type_name(d->ty[0]));
	in->arith.relation = 1;
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
	Ref *r = dec_room(d, 1, 2);
	const Opnd *o = d->st->o;
	bool unsign = false;

	if (!compare_common(d, &unsign))
		return false;
	if (d->nty != 2)
		return dec_fail(d, "expected two types");
	in->alu = rel_find(compare_type(d->ty[1], unsign));
	if (!in->alu || type_bits(d->ty[0]) > 32)
		return dec_fail(d, "these types are not supported here");
	if (d->st->no != (in->arith.boolop ? 4u : 3u))
		return dec_fail(d, "wrong number of operands");
	if (in->arith.boolop && !dec_psrc(d, &o[3], &in->ps, &in->ps_neg))
		return false;
	return dec_dst(d, &o[0], d->ty[0], &r[0]) && dec_src(d, &o[1], d->ty[1], &r[1]) &&
	       dec_src(d, &o[2], d->ty[1], &r[2]);
}

/* selp and slct: choose a or b, by a predicate or by the sign of c. */
bool
dec_slct(Dec *d)
{
	Ins *in = d->in;
	Ref *r = NEWN(d->arena, Ref, 4);
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
	if (!dec_dst(d, &o[0], d->ty[0], &r[0]) || !dec_src(d, &o[1], d->ty[0], &r[1]) ||
	    !dec_src(d, &o[2], d->ty[0], &r[2]))
		return false;
	return selp ? dec_psrc(d, &o[3], &in->ps, &in->ps_neg) : dec_src(d, &o[3], d->ty[1], &r[3]);
}

/* and, or, xor, not, mov of predicates. */
bool
dec_pbool(Dec *d)
{
	Ins *in = d->in;
	const Opnd *o = d->st->o;
	u32 id = d->row->id;
	bool binary = id == OP_and || id == OP_or || id == OP_xor;

	in->exec = exec_pbool;
	in->logic.op = id == OP_and   ? BOOL_AND
	               : id == OP_or  ? BOOL_OR
	               : id == OP_xor ? BOOL_XOR
	               : id == OP_not ? BOOL_NOT
	                              : BOOL_MOV;
	if (d->st->no != (binary ? 3u : 2u))
		return dec_fail(d, "wrong number of operands");
	if (!dec_pdst(d, &o[0], &in->pd) || !dec_psrc(d, &o[1], &in->ps, &in->ps_neg))
		return false;
	in->guard_neg = in->guard_neg && in->guard >= 0;
	if (binary) {
		s32 p;
		if (!dec_psrc(d, &o[2], &p, &in->logic.neg))
			return false;
		in->logic.p = (u32)p;
	}
	return true;
}
