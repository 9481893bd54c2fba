/* verify_tile.c - implements the shape rules of ops.def for ops that rearrange, reduce and multiply tiles. */
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "hexc/ir/verify/verify.h"

static bool
both_reg(const Op *o)
{
	return o->in[0]->type.space == S_reg && o->out[0]->type.space == S_reg &&
	       o->in[0]->type.dtype == o->out[0]->type.dtype &&
	       o->in[0]->type.bit_order == o->out[0]->type.bit_order;
}

const char *
shape_broadcast(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (!both_reg(o) || x->rank != t->rank)
		return types_differ(a, "not register tiles of one type and rank", x, t);
	for (int d = 0; d < t->rank; d++)
		if (x->shape[d] != t->shape[d] && x->shape[d] != 1)
			return types_differ(a, "an extent that is not 1 changes", x, t);
	return NULL;
}

const char *
shape_transpose(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	unsigned seen = 0;

	if (!both_reg(o) || x->rank != t->rank)
		return types_differ(a, "not register tiles of one type and rank", x, t);
	for (int d = 0; d < t->rank; d++) {
		if (IMM_AT(o, perm, d) < 0 || IMM_AT(o, perm, d) >= t->rank || seen >> IMM_AT(o, perm, d) & 1)
			return "imm is not a permutation of the dimensions";
		seen |= 1u << IMM_AT(o, perm, d);
		if (t->shape[d] != x->shape[IMM_AT(o, perm, d)])
			return types_differ(a, "extents do not match the permutation", x, t);
	}
	for (int d = t->rank; d < DIM_MAX; d++)
		if (IMM_AT(o, perm, d))
			return "imm is not a permutation of the dimensions";
	return NULL;
}

/* Of a reshape that drops or adds dims: do these have extent 1, and the others the same extents in order? */
static bool
keeps_dims(const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	int to = 0;

	if (!IMM(o, dropped) && !IMM(o, added))
		return true;
	for (int d = 0; d < x->rank; d++) {
		bool drop = IMM(o, dropped) >> d & 1;

		while (!drop && IMM(o, added) >> to & 1)
			to++;
		if (drop ? x->shape[d] != 1 : to >= t->rank || x->shape[d] != t->shape[to++])
			return false;
	}
	for (; to < t->rank; to++)
		if (!(IMM(o, added) >> to & 1))
			return false;
	return true;
}

const char *
shape_reshape(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	const Op *memory = op_source(o)->def;

	if (x->space == S_shared && t->space == S_shared) {
		if (x->dtype != t->dtype || t->rank < 1 || !memory ||
		    (memory->code != O_alloc && memory->code != O_reshape))
			return "not a full shared tile under another shape";
	} else if (!both_reg(o)) {
		return types_differ(a, "not register tiles of one type", x, t);
	}
	if (type_size(x) != type_size(t))
		return types_differ(a, "the number of elements differs", x, t);
	if (IMM(o, dropped) >> x->rank || IMM(o, added) >> t->rank)
		return "`dropped` or `added` names no dimension";
	return keeps_dims(o) ? NULL : types_differ(a, "dims that are neither dropped nor added differ", x, t);
}

const char *
shape_shift(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (!both_reg(o) || !type_same(x, t))
		return types_differ(a, "not register tiles of one type", x, t);
	if (IMM(o, dim) < 0 || IMM(o, dim) >= x->rank)
		return "no such dimension";
	if (IMM(o, by) < 1 || IMM(o, by) >= x->shape[IMM(o, dim)])
		return "shifts out all elements, or none";
	return fits_type(t, IMM(o, fill_in)) ? NULL : "the fill value is out of range for the type";
}

const char *
shape_slice(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	int64_t d = IMM(o, dim);
	Type r = *x;

	if (!both_reg(o))
		return types_differ(a, "not register tiles of one type", x, t);
	if (d < 0 || d >= x->rank || d >= t->rank)
		return "no such dimension";
	r.shape[d] = t->shape[d];
	if (!same_shape(&r, t))
		return types_differ(a, "another dimension changes", x, t);
	if (IMM(o, from) < 0 || IMM(o, from) > x->shape[d] - t->shape[d])
		return "reaches outside the tile";
	return NULL;
}

const char *
shape_concat(Arena *a, const Op *o)
{
	const Type *x = &concat_first(o)->type, *y = &concat_second(o)->type, *t = &o->out[0]->type;
	int64_t d = IMM(o, dim);
	Type r = *x;

	if (!both_reg(o) || y->space != S_reg || y->dtype != x->dtype)
		return types_differ(a, "not register tiles of one type", x, y);
	if (d < 0 || d >= x->rank || d >= y->rank)
		return "no such dimension";
	r.shape[d] = y->shape[d];
	if (!same_shape(&r, y))
		return types_differ(a, "other extents differ", x, y);
	r.shape[d] = x->shape[d] + y->shape[d];
	return same_shape(&r, t) ? NULL : types_differ(a, "the result's extent is not the sum of the "
	                                                  "operands'", x, t);
}

const char *
shape_reduce(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	Type r = *x;

	if (!both_reg(o))
		return types_differ(a, "not register tiles of one type", x, t);
	if (IMM(o, dim) < 0 || IMM(o, dim) >= x->rank)
		return "no such dimension";
	r.shape[IMM(o, dim)] = 1;
	return type_same(&r, t) ? NULL : types_differ(a, "the result's shape does not match", x, t);
}

/* Computes the type of the tile that values and metadata expand to along dim. Returns NULL or the error. */
static const char *
expanded(Arena *a, const Type *v, const Type *p, int64_t dim, Type *out)
{
	Sparse s;

	*out = *v;
	if (v->space != S_reg || p->space != S_reg || v->rank != p->rank || v->dtype == D_bool)
		return types_differ(a, "not register tiles of values and positions", v, p);
	if (dim < 0 || dim >= v->rank)
		return "no such dimension";
	for (int d = 0; d < v->rank; d++)
		if (d != dim && v->shape[d] != p->shape[d])
			return types_differ(a, "values and positions have different shapes", v, p);
	if (!sparse_of(v, p, (int)dim, &s))
		return types_differ(a, "sparse metadata does not match the values", v, p);
	out->shape[dim] *= 2;
	return NULL;
}

const char *
shape_sparse_expand(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	Type want;
	const char *bad = expanded(a, &sparse_values(o)->type, &sparse_positions(o)->type, IMM(o, dim),
	                           &want);

	if (bad)
		return bad;
	return type_same(&want, t) ? NULL : types_differ(a, "the result's type does not match", &want, t);
}

const char *
check_product(Arena *a, const Type *x, const Type *y, const Type *c, const Type *out)
{
	int b = x->rank - 2;

	if (c->space != S_reg || b < 0 || y->rank != x->rank || c->rank != x->rank ||
	    !dtype_multiplies(x->dtype, y->dtype))
		return types_differ(a, "operands are not matrices that `dot` supports", x, y);
	for (int d = 0; d < b; d++)
		if (y->shape[d] != x->shape[d] || c->shape[d] != x->shape[d])
			return types_differ(a, "operands have different batch dimensions", x, y);
	if (x->shape[b + 1] != y->shape[b] || c->shape[b] != x->shape[b] ||
	    c->shape[b + 1] != y->shape[b + 1])
		return types_differ(a, "operand shapes a[.., M, K], b[.., K, N], acc[.., M, N] do not "
				       "match", x, y);
	if ((dtype_info[c->dtype].kind == K_flt) != (dtype_info[x->dtype].kind == K_flt) ||
	    c->dtype == D_bool || dtype_info[c->dtype].use != U_any ||
	    dtype_info[c->dtype].bits < dtype_info[x->dtype].bits)
		return types_differ(a, "accumulator type is too narrow for the operands", x, c);
	return type_same(c, out) ? NULL : types_differ(a, "result and accumulator differ", c, out);
}

/* Computes the type of operand i of a dot as multiplied, i.e. expanded if sparse. */
static const char *
dot_operand(Arena *a, const Op *o, int i, Type *out)
{
	*out = o->in[i]->type;
	if (!dot_is_sparse(o) || i != dot_side(o) || out->rank != 2)
		return NULL;
	return expanded(a, &o->in[i]->type, &mma_extra(o, 0)->type, 1 - i, out);
}

/* Checks the scales of both operands. */
static const char *
check_scales(Arena *a, const Op *o)
{
	for (int i = 0; i < 2; i++) {
		const Type *x = &o->in[i]->type, *s = &mma_extra(o, i)->type;

		if (s->space != S_reg || s->rank != 2 || !dtype_is_narrow_float(s->dtype) ||
		    !dtype_is_float(x->dtype))
			return types_differ(a, "scales are not a matrix of floats of up to 8 bits", x, s);
		if (s->shape[i] != x->shape[i] || x->shape[1 - i] % s->shape[1 - i])
			return types_differ(a, "operand and scales do not match", x, s);
	}
	return NULL;
}

const char *
shape_dot(Arena *a, const Op *o)
{
	const Type *c;
	Type tx, ty, *x = &tx, *y = &ty;
	const char *bad;

	if (o->nin < 3 || o->nin > 5)
		return "expected two operands, an accumulator, and optionally positions or two tiles of "
		       "scales";
	bad = dot_operand(a, o, 0, x);
	bad = bad ? bad : dot_operand(a, o, 1, y);
	if (bad)
		return bad;
	c = &mma_acc(o)->type;
	if (o->nin > 3 && c->rank != 2)
		return "a dot of sparse or scaled tiles cannot have batch dimensions";
	if (x->space != S_reg || y->space != S_reg)
		return types_differ(a, "operands are not matrices in registers", x, y);
	bad = check_product(a, x, y, c, &o->out[0]->type);
	return bad || !dot_is_scaled(o) ? bad : check_scales(a, o);
}
