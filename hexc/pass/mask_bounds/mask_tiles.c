/* mask_tiles.c - builds tiles and scalars for pass mask_bounds: indices, linear forms of them, and bools.
 * Pass dce removes those that are not used. */
#include "hexc/pass/mask_bounds/mask_tiles.h"

Type
mask_type(DType d, const Type *t)
{
	return type_tile(d, S_reg, t->rank, t->shape);
}

Val *
mask_op(Op *o, OpCode code, int nin, Val *const *in, Type t)
{
	return op_new(o->parent, o, code, o->src, nin, in, 1, &t)->out[0];
}

Val *
mask_op2(Op *o, OpCode code, Val *x, Val *y, Type t)
{
	Val *in[2] = { x, y };

	return mask_op(o, code, 2, in, t);
}

Val *
mask_number(Op *o, int64_t x, Type t)
{
	Val *v = mask_op(o, O_const, 0, NULL, t);

	IMM_SET(v->def, value, x);
	return v;
}

Val *
mask_index(Op *o, int d, Type t)
{
	Val *v = mask_op(o, O_iota, 0, NULL, t);

	IMM_SET(v->def, dim, d);
	return v;
}

Val *
mask_splat(Op *o, Val *x, Type t)
{
	Type s = type_scalar(t.dtype);

	x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &s)->out[0];
	return mask_op(o, O_splat, 1, &x, t);
}

int64_t
mask_form_end(const MaskCond *c, const Type *t)
{
	int64_t n = 0;

	for (int d = 0; d < t->rank; d++)
		n += c->coef[d] * (t->shape[d] - 1);
	return n;
}

Val *
mask_form(Op *o, const int64_t *coef, Type t)
{
	Val *sum = NULL;

	for (int d = 0; d < t.rank; d++) {
		Val *x;

		if (!coef[d] || t.shape[d] == 1)
			continue;
		x = mask_index(o, d, t);
		if (coef[d] != 1)
			x = mask_op2(o, O_mul, x, mask_number(o, coef[d], t), t);
		sum = sum ? mask_op2(o, O_add, sum, x, t) : x;
	}
	return sum;
}

Val *
mask_between(Op *o, const MaskCond *c, Val *sum, int64_t most)
{
	Type at = sum->type, cond = mask_type(D_bool, &at);
	Val *lo = NULL, *hi = NULL;

	if (c->lo)
		lo = mask_op2(o, O_le, mask_splat(o, bound_clamped(o, c->lo, most + 1), at), sum, cond);
	if (c->hi)
		hi = mask_op2(o, O_lt, sum, mask_splat(o, bound_clamped(o, c->hi, most + 1), at), cond);
	return mask_both(o, lo, hi);
}

Val *
mask_both(Op *o, Val *x, Val *y)
{
	return x && y ? mask_op2(o, O_and, x, y, x->type) : x ? x : y;
}

Val *
mask_uniform(Op *o, const MaskCond *c, Type cond)
{
	Val *zero = ir_const(o->parent, o, 0), *x = NULL, *y = NULL;

	if (c->lo)
		x = ir_bin(o->parent, o, O_le, c->lo, zero);
	if (c->hi)
		y = ir_bin(o->parent, o, O_lt, zero, c->hi);
	x = mask_both(o, x, y);
	return x ? mask_op(o, O_splat, 1, &x, cond) : mask_number(o, 1, cond);
}
