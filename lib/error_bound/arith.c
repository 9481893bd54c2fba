/* arith.c - builds f64 arithmetic on values and their bounds, for the rules of op_rules.c and its
 * siblings. */
#include "hexc/ir/dtype_value.h"
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>

Val *
bound_val(const Twin *t, const Val *v)
{
	Val *r = t->val[v->id];

	BUG_IF(t->a, !r);
	return r;
}

Val *
bound_or_zero(Twin *t, const Val *v)
{
	Val *e = t->err[v->id];

	return e ? e : bound_const(t, bound_val(t, v), 0);
}

Type
bound_type(const Type *t)
{
	Type r = *t;

	r.dtype = D_f64;
	r.layout = NULL;
	r.pinned = false;
	return r;
}

Val *
bound_op(Twin *t, OpCode code, int nin, Val *const *in, Type type)
{
	return op_new(t->at, NULL, code, t->now->src, nin, in, 1, &type)->out[0];
}

Val *
bound_opn(Twin *t, OpCode code, int nin, Val *const *in, DType d)
{
	Type type = bound_type(&in[nin - 1]->type);

	type.dtype = d;
	return bound_op(t, code, nin, in, type);
}

Val *
bound_op1(Twin *t, OpCode code, Val *x)
{
	return bound_opn(t, code, 1, &x, D_f64);
}

Val *
bound_op2(Twin *t, OpCode code, Val *x, Val *y)
{
	Val *in[2] = { x, y };

	return bound_opn(t, code, 2, in, D_f64);
}

Val *
bound_const(Twin *t, const Val *x, double c)
{
	Val *v = bound_op(t, O_const, 0, NULL, bound_type(&x->type));

	v->def->fimm = c;
	return v;
}

Val *
bound_cmp(Twin *t, OpCode code, Val *x, Val *y)
{
	Val *in[2] = { x, y };

	return bound_opn(t, code, 2, in, D_bool);
}

Val *
bound_where(Twin *t, Val *c, Val *x, Val *y)
{
	Val *in[3] = { c, x, y };

	return bound_opn(t, O_select, 3, in, D_f64);
}

Val *
bound_if_positive(Twin *t, Val *x, Val *y)
{
	Val *zero = bound_const(t, x, 0);

	return bound_where(t, bound_cmp(t, O_le, x, zero), zero, y);
}

Val *
bound_f64(Twin *t, Val *x)
{
	return x->type.dtype == D_f64 ? x : bound_opn(t, O_cast, 1, &x, D_f64);
}

/* ---- formats ---------------------------------------------------------------------------------- */

/* A table has the same gap everywhere: bound_smallest. */
double
bound_roundoff(DType d)
{
	return dtype_info[d].codes == C_table ? 0 : ldexp(1, -(dtype_info[d].man + 1));
}

/* Sums of magnitudes are f64 themselves, so 2^53 may be a larger sum that was rounded. */
double
bound_integers(DType d)
{
	return ldexp(1, dtype_info[d].man + 1) - (d == D_f64);
}

/* Returns the smallest positive, or smallest normal, value: approximations may flush smaller ones. For a
 * table returns its widest gap, which is at its end. */
double
bound_smallest(DType d, bool normal)
{
	int bias;

	if (dtype_info[d].codes == C_table)
		return num_of_code(d, 15) - num_of_code(d, 14);
	bias = (1 << (dtype_info[d].exp - 1)) - 1;

	return ldexp(1, normal ? 1 - bias : 1 - bias - dtype_info[d].man);
}

bool
bound_is_float(const Val *v)
{
	return dtype_info[v->type.dtype].kind == K_flt;
}
