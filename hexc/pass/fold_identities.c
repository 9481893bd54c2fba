/* fold_identities.c - applies arithmetic identities and range analysis to scalars and tiles, for pass
 * fold. */
#include "hexc/analysis/value_range.h"
#include "hexc/pass/fold.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>

static Val *
make_int(Op *o, int64_t x)
{
	Constant c = { num_wrap(o->out[0]->type.dtype, x), 0 };

	return const_make(o, &o->out[0]->type, c);
}

static Val *
make_op(Op *o, OpCode code, Val *x, Val *y)
{
	Val *in[2] = { x, y };

	return op_new(o->parent, o, code, o->src, y ? 2 : 1, in, 1, &o->out[0]->type)->out[0];
}

/* x op x */
static Val *
fold_equal(Op *o)
{
	Val *x = o->in[0];

	if (o->nin != 2 || x != o->in[1])
		return NULL;
	switch (o->code) {
	case O_sub:
	case O_xor:
	case O_ne:
	case O_lt: return make_int(o, 0);
	case O_eq:
	case O_le: return make_int(o, 1);
	case O_and:
	case O_or:
	case O_min:
	case O_max: return x;
	default: return NULL;
	}
}

/* (x op c1) op c with an associative op, and (x + c1) - c; valid with wrapping arithmetic. */
static Val *
fold_chain(Op *o, int64_t c)
{
	DType d = o->out[0]->type.dtype;
	Op *p = elt_lhs(o)->def;
	OpCode code = o->code == O_sub ? O_add : o->code;
	Constant k, r = { 0, 0 };

	if (!p || p->nin != 2 || p->code != code || !const_get(elt_rhs(p), &k))
		return NULL;
	if (code != O_add && code != O_mul && code != O_and && code != O_or && code != O_xor)
		return NULL;
	i64_eval(o->code == O_sub ? O_sub : code, k.i, c, &r.i);
	r.i = num_wrap(d, r.i);
	return make_op(o, code, elt_lhs(p), const_make(o, &o->out[0]->type, r));
}

/* (x * c1) / c and (x / c1) / c of index values, if nothing wraps. */
static Val *
fold_quotient(Op *o, int64_t c)
{
	Op *p = elt_lhs(o)->def;
	int64_t c1, r;

	if (!type_is_index(&o->out[0]->type) || c < 1 || !p ||
	    p->nin != 2 || !val_is_const(elt_rhs(p), &c1) || c1 < 1)
		return NULL;
	if (p->code == O_mul && c1 % c == 0 && !fact_is_full(val_fact(o->parent->kernel, elt_lhs(o))))
		return make_op(o, O_mul, elt_lhs(p), make_int(o, c1 / c));
	if (p->code == O_div && mul64(c1, c, &r))
		return make_op(o, O_div, elt_lhs(p), make_int(o, r));
	return NULL;
}

/* x op c */
static Val *
fold_right(Op *o, int64_t c)
{
	DType d = o->out[0]->type.dtype;
	Val *x = elt_lhs(o);
	int64_t ones = num_wrap(d, -1);

	switch (o->code) {
	case O_add:
	case O_sub:
	case O_xor: return c == 0 ? x : fold_chain(o, c);
	case O_mul:
		if (c == 0)
			return elt_rhs(o);
		return c == 1 ? x : fold_chain(o, c);
	case O_div: return c == 1 ? x : fold_quotient(o, c);
	case O_mod: return c == 1 ? make_int(o, 0) : NULL;
	case O_shl:
	case O_shr: return c == 0 ? x : NULL;
	case O_and:
	case O_or:
		if (c == 0 || c == ones) /* 0 absorbs under and, all ones under or */
			return (c == 0) == (o->code == O_and) ? elt_rhs(o) : x;
		return fold_chain(o, c);
	case O_eq:
	case O_ne:
		if (x->type.dtype != D_bool)
			return NULL;
		return (c != 0) == (o->code == O_eq) ? x : make_op(o, O_not, x, NULL);
	default: return NULL;
	}
}

Val *
fold_int(Op *o)
{
	Op *p = o->nin ? o->in[0]->def : NULL;
	Constant c;
	Val *r;

	if ((o->code == O_neg || o->code == O_not) && p && p->code == o->code)
		return p->in[0];
	r = fold_equal(o);
	if (!r && o->nin == 2 && const_get(elt_rhs(o), &c))
		r = fold_right(o, c.i);
	return r;
}

static bool
is_number(double x, double c)
{
	return !(x < c) && !(x > c) && !isnan(x);
}

/* x / c with a power of two: x * (1 / c), if 1 / c is representable. */
static Val *
fold_power(Op *o, double c)
{
	const Type *t = &o->out[0]->type;
	Constant r = { 0, 1 / c };
	int exp;

	if (!is_number(fabs(frexp(c, &exp)), 0.5) || !is_number(num_round(t->dtype, r.f), r.f))
		return NULL;
	return make_op(o, O_mul, elt_lhs(o), const_make(o, t, r));
}

/* Only identities that preserve every bit, including signed zeros and infinities. */
Val *
fold_float(Op *o)
{
	Op *p = o->nin ? o->in[0]->def : NULL;
	Constant c;

	if (o->code == O_neg && p && p->code == O_neg)
		return p->in[0];
	if (o->code == O_abs && p && (p->code == O_neg || p->code == O_abs))
		return make_op(o, O_abs, p->in[0], NULL);
	if (o->nin != 2 || !const_get(elt_rhs(o), &c))
		return NULL;
	switch (o->code) {
	case O_mul: return is_number(c.f, 1) ? elt_lhs(o) : NULL;
	case O_div: return is_number(c.f, 1) ? elt_lhs(o) : fold_power(o, c.f);
	case O_add: return fpclassify(c.f) == FP_ZERO && signbit(c.f) ? elt_lhs(o) : NULL;
	case O_sub: return fpclassify(c.f) == FP_ZERO && !signbit(c.f) ? elt_lhs(o) : NULL;
	default: return NULL;
	}
}

Val *
fold_fact(Op *o)
{
	Kernel *k = o->parent->kernel;
	const Type *t = &o->out[0]->type;
	Fact f, x, y;

	if ((!type_is_index(t) && !type_is_cond(t)) || o->code == O_const)
		return NULL;
	f = val_fact(k, o->out[0]);
	if (f.lo == f.hi)
		return make_int(o, f.lo);
	if (o->nin != 2 || !type_is_index(t))
		return NULL;
	x = val_fact(k, elt_lhs(o));
	y = val_fact(k, elt_rhs(o));
	if (o->code == O_min || o->code == O_max) {
		if (x.hi <= y.lo)
			return o->in[o->code == O_max];
		if (y.hi <= x.lo)
			return o->in[o->code == O_min];
	}
	return o->code == O_mod && x.lo >= 0 && y.lo >= 1 && x.hi < y.lo ? elt_lhs(o) : NULL;
}
