/* verify_shape.c - implements the shape rules of ops.def for elementwise and index ops: operand and result
 * types, imm. */
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/sparse.h"
#include "hexc/ir/verify/verify.h"

const char *
types_differ(Arena *a, const char *what, const Type *x, const Type *y)
{
	return arena_printf(a, "%s: %s and %s", what, type_print(a, x), type_print(a, y));
}

static bool
is_value(const Type *t)
{
	return t->space == S_scalar || t->space == S_reg;
}

static bool
is_index(const Val *v)
{
	return type_is_index(&v->type);
}

bool
same_shape(const Type *x, const Type *y)
{
	Type t = *x;

	t.dtype = y->dtype;
	t.bit_order = y->bit_order;
	return type_same(&t, y);
}

bool
fits_type(const Type *t, int64_t x)
{
	return dtype_info[t->dtype].kind == K_flt || num_fits(t->dtype, x);
}

const char *
shape_const(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (!is_value(t))
		return types_differ(a, "not a scalar or register tile", t, t);
	if (!fits_type(t, IMM(o, value)))
		return arena_printf(a, "%lld is out of range for %s", (long long)IMM(o, value),
		                    dtype_info[t->dtype].name);
	return NULL;
}

const char *
shape_splat(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (x->space != S_scalar || t->space != S_reg || x->dtype != t->dtype)
		return types_differ(a, "not a scalar and a register tile of its type", x, t);
	return NULL;
}

const char *
shape_iota(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	int kind = dtype_info[t->dtype].kind;

	if (t->space != S_reg || (kind != K_sint && kind != K_uint))
		return types_differ(a, "not an integer register tile", t, t);
	if (IMM(o, dim) < 0 || IMM(o, dim) >= t->rank)
		return "no such dimension";
	return NULL;
}

const char *
shape_block_id(Arena *a, const Op *o)
{
	(void)a;
	if (!is_index(o->out[0]))
		return "the result is not an i64 scalar";
	if (o->nin != 0 && o->nin != 4)
		return "block_id has no operands, or a block number and the grid's extents";
	for (int i = 0; i < o->nin; i++)
		if (!is_index(o->in[i]))
			return "a block number is not an i64 scalar";
	return NULL;
}

const char *
shape_linear_block_id(Arena *a, const Op *o)
{
	(void)a;
	return is_index(o->out[0]) ? NULL : "the result is not an i64 scalar";
}

const char *
shape_block_in_grid(Arena *a, const Op *o)
{
	(void)a;
	if (!type_is_cond(&o->out[0]->type))
		return "the result is not a bool scalar";
	for (int i = 0; i < 4; i++)
		if (!is_index(o->in[i]))
			return "a block number is not an i64 scalar";
	return NULL;
}

const char *
shape_same(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (!is_value(t))
		return types_differ(a, "not a scalar or register tile", t, t);
	if (!op_is(o, F_ELT) && t->space != S_reg)
		return types_differ(a, "not a register tile", t, t);
	for (int i = 0; i < o->nin; i++)
		if (!type_same(&o->in[i]->type, t))
			return types_differ(a, "operand and result differ", &o->in[i]->type, t);
	return NULL;
}

const char *
shape_relabel_layout(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (t->space != S_reg || !type_same(&op_source(o)->type, t))
		return types_differ(a, "not one register tile", &op_source(o)->type, t);
	return NULL;
}

const char *
shape_pin(Arena *a, const Op *o)
{
	return o->out[0]->type.pinned ? shape_relabel_layout(a, o) : "the result has no pinned layout";
}

const char *
shape_compare(Arena *a, const Op *o)
{
	const Type *x = &elt_lhs(o)->type, *t = &o->out[0]->type;

	if (!is_value(x) || !type_same(x, &elt_rhs(o)->type))
		return types_differ(a, "operands differ", x, &elt_rhs(o)->type);
	if (t->dtype != D_bool || !same_shape(x, t))
		return types_differ(a, "the result is not a bool of the operands' shape", x, t);
	return NULL;
}

const char *
shape_select(Arena *a, const Op *o)
{
	const Type *c = &select_cond(o)->type, *x = &select_yes(o)->type, *y = &select_no(o)->type;
	const Type *t = &o->out[0]->type;

	if (!is_value(t) || !type_same(x, t) || !type_same(y, t))
		return types_differ(a, "the choices differ", x, y);
	if (c->dtype != D_bool || !same_shape(c, t))
		return types_differ(a, "the condition is not a bool of the same shape", c, t);
	if (IMM(o, error) < 0)
		return "`error` is negative";
	if (IMM(o, part) && (!(IMM(o, part) & 1) || IMM(o, part) >> 1 >> t->rank))
		return "`part` does not name dimensions";
	return NULL;
}

const char *
shape_lookup(Arena *a, const Op *o)
{
	const Type *x = &lookup_table(o)->type, *i = &lookup_index(o)->type, *t = &o->out[0]->type;

	if (x->space != S_reg || i->space != S_reg || t->space != S_reg)
		return "operands or results are not register tiles";
	if (x->bit_order || t->bit_order || (i->bit_order && i->bit_order != 4))
		return "a bit order other than 4 on the indices";
	if (!same_shape(i, t) || x->dtype != t->dtype)
		return types_differ(a, "the result must have the shape of the indices and the type of the "
		                       "table", i,
		                    t);
	if (dtype_info[i->dtype].kind != K_uint || dtype_info[i->dtype].bits > 4 || x->dtype == D_bool ||
	    dtype_info[x->dtype].bits < 8)
		return types_differ(a, "indices must be u1 to u4, and the table's elements numbers of at "
		                       "least 8 bits", x,
		                    i);
	if ((x->rank != 1 && x->rank != i->rank) ||
	    x->shape[x->rank - 1] != (int64_t)1 << dtype_info[i->dtype].bits)
		return types_differ(a, "the table must have one element for each index value", x, i);
	for (int d = 0; d + 1 < x->rank; d++)
		if (x->shape[d] != 1 && x->shape[d] != i->shape[d])
			return types_differ(a, "the tables do not match the rows", x, i);
	return NULL;
}

const char *
shape_gather(Arena *a, const Op *o)
{
	const Type *x = &lookup_table(o)->type, *i = &lookup_index(o)->type, *t = &o->out[0]->type;

	if (x->space != S_reg || i->space != S_reg || t->space != S_reg)
		return "operands or results are not register tiles";
	if (!same_shape(i, t) || x->dtype != t->dtype)
		return types_differ(a, "the result must have the shape of the indices and the type of the "
		                       "table", i,
		                    t);
	if (i->dtype != D_i32 && i->dtype != D_i64)
		return types_differ(a, "indices must be i32 or i64", x, i);
	if (x->rank != i->rank + 1)
		return types_differ(a, "the table must have one dimension more than the indices", x, i);
	for (int d = 0; d < i->rank; d++)
		if (x->shape[d] != 1 && x->shape[d] != i->shape[d])
			return types_differ(a, "the tables do not match the rows", x, i);
	return NULL;
}

const char *
shape_cast(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (t->bit_order)
		return "the result is not in row-major order";
	return is_value(t) && same_shape(x, t) ? NULL : types_differ(a, "shapes differ", x, t);
}

const char *
shape_bitcast(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (!dtype_has_pattern(x->dtype) || !dtype_has_pattern(t->dtype) ||
	    dtype_info[x->dtype].bits != dtype_info[t->dtype].bits)
		return types_differ(a, "types have different numbers of bits", x, t);
	return shape_cast(a, o);
}

/* The result is true in bounds. */
const char *
shape_inside(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	Type r = type_tile(D_bool, S_reg, x->rank, x->shape);

	if (x->space != S_reg || !type_same(&r, t))
		return types_differ(a, "not a register tile and one of bool with its shape", x, t);
	return NULL;
}

/* The result has one element along the dim: a bool, or a number of elements. */
const char *
shape_inside_along(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	Type r = *x;

	if (x->space != S_reg)
		return types_differ(a, "not a register tile", x, t);
	if (IMM(o, dim) < 0 || IMM(o, dim) >= x->rank)
		return "no such dimension";
	r.shape[IMM(o, dim)] = 1;
	r.dtype = o->code == O_inside_any ? D_bool : t->dtype;
	if (o->code == O_inside_count && t->dtype == D_bool)
		return "a number of elements is not a bool";
	return type_same(&r, t) ? NULL : types_differ(a, "the result's type does not match", x, t);
}

const char *
shape_inside_end(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type;

	(void)a;
	if (x->space != S_reg || IMM(o, dim) < 0 || IMM(o, dim) >= x->rank)
		return "no such dimension of a register tile";
	return is_index(o->out[0]) ? NULL : "the result is not an i64 scalar";
}

/* Both choices have the result's type, and x its rank. */
const char *
shape_if_range(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	const Type *yes = &if_range_yes(o)->type, *no = &if_range_no(o)->type;

	if (x->space != S_reg || t->space != S_reg || !type_same(yes, t) || !type_same(no, t))
		return types_differ(a, "not register tiles, or the result has another type", yes, no);
	return IMM(o, dim) < 0 || IMM(o, dim) >= x->rank ? "no such dimension" : NULL;
}

/* Along dim -1 the bounds are those of a single index, 0. */
const char *
shape_limit(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (x->space != S_reg || !type_same(x, t))
		return types_differ(a, "not a register tile, or the result has another type", x, t);
	if (!is_index(limit_from(o)) || !is_index(limit_below(o)))
		return "a bound is not an i64 scalar";
	return IMM(o, dim) < -1 || IMM(o, dim) >= x->rank ? "no such dimension" : NULL;
}

const char *
shape_fill(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;

	if (t->space != S_reg || !type_same(x, t))
		return types_differ(a, "not a register tile, or the result has another type", x, t);
	if (!fits_type(t, IMM(o, fill)))
		return "the fill value is out of range for the type";
	if (IMM(o, ahead) < 0 || IMM(o, ahead) > t->rank)
		return "no such dimension";
	return NULL;
}

const char *
shape_front(Arena *a, const Op *o)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	Type like = front_like(o)->type;

	like.dtype = x->dtype;
	if (t->space != S_reg || !type_same(x, t) || !type_same(&like, t))
		return types_differ(a, "not a register tile, or the result has another type or shape", x, t);
	return IMM(o, dim) < 0 || IMM(o, dim) >= t->rank ? "no such dimension" : NULL;
}

const char *
shape_mask(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	int n = 0;

	if (o->nin < 1 || t->space != S_reg || !type_same(&mask_source(o)->type, t))
		return "not a register tile, or the result has another type";
	if (IMM(o, dims) < 1 || IMM(o, dims) >= (int64_t)1 << t->rank)
		return "dimensions to mask are missing or out of range";
	for (int d = 0; d < t->rank; d++)
		n += (int)(IMM(o, dims) >> d & 1);
	if (o->nin != IN_mask_bound + n)
		return arena_printf(a, "%d bounds for %d dimensions", o->nin - IN_mask_bound, n);
	for (int i = 1; i < o->nin; i++)
		if (!is_index(o->in[i]))
			return "a bound is not an i64 scalar";
	if (!fits_type(t, IMM(o, fill)))
		return "the fill value is out of range for the type";
	return NULL;
}
