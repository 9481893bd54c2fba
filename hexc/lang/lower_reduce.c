/* lower_reduce.c - lowers reductions along a dimension, and means over the elements in bounds. */
#include "hexc/ir/dtype_value.h"
#include "hexc/lang/lower.h"
#include <math.h>

Val *
lower_put_reduce(Lower *l, const Expr *e, OpCode code, Val *x, int dim)
{
	Type t = x->type;
	Val *v;

	t.shape[dim] = 1;
	v = put1(l, code, e->src, x, t);
	IMM_SET(v->def, dim, dim);
	return v;
}

/* reduce_max (reduce_min) of x. NaNs are skipped, so the result without other elements is -inf (inf):
 * combining NaNs gives NaN, which pass mark_reductions keeps where it is not observed. */
static Val *
put_extreme(Lower *l, const Expr *e, OpCode code, Val *x, int dim)
{
	Val *r = lower_put_reduce(l, e, code, x, dim);
	LoweredValue none = value_flt(code == O_reduce_max ? -(double)INFINITY : (double)INFINITY);

	if (!dtype_is_float(x->type.dtype))
		return r;
	code = code == O_reduce_max ? O_max : O_min;
	return put2(l, code, e->src, r, put_const(l, &none, r->type, e->src), r->type);
}

LoweredValue
lower_reduce(Lower *l, const Expr *e, OpCode code)
{
	Operand x;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !check_dtype(l, O_add, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	x.v.v = code == O_reduce_sum ? lower_put_reduce(l, e, code, x.v.v, dim)
	                             : put_extreme(l, e, code, x.v.v, dim);
	return x.v;
}

LoweredValue
lower_mean(Lower *l, const Expr *e)
{
	Operand x;
	LoweredValue count;
	Type t;
	Val *n, *of;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim))
		return value_none();
	t = x.v.v->type;
	if (dtype_info[t.dtype].kind != K_flt) {
		diag_error(l->diag, e->src, "`mean` is not defined on %s; cast first, as in `f32(%s)`",
		           dtype_info[t.dtype].name, check_text(l, x.e, "x"));
		return value_none();
	}
	count = value_int(t.shape[dim]);
	if (!check_fits(l, &count, t.dtype, e->src))
		return value_none();
	of = x.v.v;
	x.v.v = lower_put_reduce(l, e, O_reduce_sum, of, dim);
	t = x.v.v->type;
	n = put1(l, O_inside_count, e->src, of, t);
	IMM_SET(n->def, dim, dim);
	x.v.v = put2(l, O_div, e->src, x.v.v, n, t);
	return x.v;
}

Val *
lower_as_far(Lower *l, const Expr *e, Val *v, Val *x, int reduced)
{
	Type t = type_free(v->type), cond = t;
	LoweredValue yes = value_bool(true);
	Val *in[3] = { NULL, v, x };

	if (reduced >= 0) {
		in[2] = x;
		t = type_free(x->type);
		t.dtype = dtype_is_float(x->type.dtype) ? D_f32 : D_i32;
		if (x->type.dtype != t.dtype)
			in[2] = put1(l, O_cast, e->src, in[2], t);
		t = type_free(v->type);
		in[2] = lower_put_reduce(l, e, O_reduce_max, in[2], reduced);
	}
	t.dtype = v->type.dtype;
	cond.dtype = D_bool;
	if (in[2]->type.dtype != t.dtype)
		in[2] = put1(l, O_cast, e->src, in[2], t);
	in[0] = put_const(l, &yes, cond, e->src);
	return put_op(l, O_select, e->src, 3, in, t);
}

Val *
lower_if_any(Lower *l, Src src, Val *x, int dim, Val *of)
{
	LoweredValue zero = value_int(0);
	Type t = type_free(x->type), cond = t;
	Val *in[3];

	cond.dtype = D_bool;
	in[0] = put1(l, O_inside_any, src, of, cond);
	IMM_SET(in[0]->def, dim, dim);
	in[1] = lower_unmask(l, src, x);
	in[2] = put_const(l, &zero, t, src);
	return put_op(l, O_select, src, 3, in, t);
}

Val *
lower_inside_end(Lower *l, Src src, OpCode code, Val *x, int dim)
{
	Val *v = put1(l, code, src, x, type_index());

	IMM_SET(v->def, dim, dim);
	return v;
}

Val *
lower_unmask(Lower *l, Src src, Val *x)
{
	return put1(l, O_unmask, src, x, x->type);
}

Val *
lower_inside_of(Lower *l, Src src, Val *x)
{
	Type cond = type_free(x->type);

	cond.dtype = D_bool;
	return put1(l, O_inside, src, x, cond);
}

/* Computes which elements of a tile are in bounds. */
LoweredValue
lower_inside(Lower *l, const Expr *e)
{
	Operand x;

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	return value_of(lower_inside_of(l, e->src, x.v.v));
}

/* fill(x, number): x, with the number instead of elements out of bounds. */
LoweredValue
lower_fill(Lower *l, const Expr *e)
{
	LoweredValue v;
	Operand x;
	Type t, cond;
	Val *in[3];

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	t = cond = type_free(x.v.v->type);
	cond.dtype = D_bool;
	v = lower_load(l, lower_operand(l, e->arg[1]));
	if (v.kind == VK_none)
		return v;
	if (value_is_const(&v) && check_fits(l, &v, t.dtype, e->arg[1]->src)) {
		in[0] = put1(l, O_fill, e->src, x.v.v, t);
		if (dtype_is_float(t.dtype))
			in[0]->def->fimm = num_round(t.dtype, const_double(&v));
		else
			IMM_SET(in[0]->def, fill, v.i);
		return value_of(in[0]);
	}
	if (value_is_const(&v))
		return value_none();
	in[0] = put1(l, O_inside, e->src, x.v.v, cond);
	in[1] = lower_unmask(l, e->src, x.v.v);
	in[2] = lower_to_type(l, (Operand){ v, e->arg[1] }, t, e->src, "the second argument of `fill`");
	return in[2] ? value_of(put_op(l, O_select, e->src, 3, in, t)) : value_none();
}
