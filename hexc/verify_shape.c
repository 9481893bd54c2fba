/* verify_shape.c - the shape rules of ops.def for values: operand and result types, imm. */
#include "hexc/sparse.h"
#include "hexc/verify.h"

static const char *
differ(Arena *a, const char *what, const Type *x, const Type *y)
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
	return v->type.space == S_scalar && v->type.dtype == D_i64;
}

static bool
same_shape(const Type *x, const Type *y)
{
	Type t = *x;

	t.dtype = y->dtype;
	t.spread = y->spread;
	return type_same(&t, y);
}

/* Does the integer fit the type's bits?  u64 holds any bit pattern. */
static bool
fits(DType d, int64_t x)
{
	int bits = dtype_info[d].bits;

	if (d == D_bool)
		return x == 0 || x == 1;
	if (bits == 64)
		return true;
	if (dtype_info[d].kind == K_sint)
		return x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1);
	return x >= 0 && x < (int64_t)1 << bits;
}

const char *
shape_const(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (!is_value(t))
		return differ(a, "not a scalar or register tile", t, t);
	if (dtype_info[t->dtype].kind != K_flt && !fits(t->dtype, o->imm[0]))
		return arena_printf(a, "%lld does not fit %s", (long long)o->imm[0],
		                    dtype_info[t->dtype].name);
	return NULL;
}

const char *
shape_splat(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (x->space != S_scalar || t->space != S_reg || x->dtype != t->dtype)
		return differ(a, "not from a scalar to a register tile of its type", x, t);
	return NULL;
}

const char *
shape_iota(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	int kind = dtype_info[t->dtype].kind;

	if (t->space != S_reg || (kind != K_sint && kind != K_uint))
		return differ(a, "not an integer register tile", t, t);
	if (o->imm[0] < 0 || o->imm[0] >= t->rank)
		return "no such dim";
	return NULL;
}

const char *
shape_scalar(Arena *a, const Op *o)
{
	(void)a;
	if (!is_index(o->out[0]))
		return "the result is not an i64 scalar";
	if (o->imm[0] < 0 || o->imm[0] > 2)
		return "block_id is 0, 1 or 2";
	return NULL;
}

/* Kinds of element types an op works on: bits 1 << DKind. */
static unsigned
kinds(OpCode code)
{
	unsigned ints = 1u << K_sint | 1u << K_uint, flt = 1u << K_flt, pred = 1u << K_pred;

	switch ((int)code) {
	case O_shl:
	case O_shr: return ints;
	case O_and:
	case O_or:
	case O_xor:
	case O_not: return ints | pred;
	case O_exp:
	case O_exp2:
	case O_log:
	case O_sqrt:
	case O_rsqrt:
	case O_tanh: return flt;
	case O_convert: return ints | flt | pred;
	default: return ints | flt;
	}
}

const char *
shape_same(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (!is_value(t) || (o->code == O_convert && t->space != S_reg))
		return differ(a, "not a scalar or register tile", t, t);
	for (int i = 0; i < o->nin; i++)
		if (!type_same(&o->in[i]->type, t))
			return differ(a, "operand and result differ", &o->in[i]->type, t);
	if (!(kinds(o->code) >> dtype_info[t->dtype].kind & 1) ||
	    (dtype_info[t->dtype].use == U_temp && o->code != O_convert))
		return arena_printf(a, "not defined on %s", dtype_info[t->dtype].name);
	return NULL;
}

const char *
shape_relayout(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (t->space != S_reg || !type_same(&o->in[0]->type, t))
		return differ(a, "not one register tile", &o->in[0]->type, t);
	return NULL;
}

const char *
shape_hold(Arena *a, const Op *o)
{
	return o->out[0]->type.pinned ? shape_relayout(a, o) : "the result has no pinned layout";
}

const char *
shape_compare(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (!is_value(x) || !type_same(x, &o->in[1]->type))
		return differ(a, "operands differ", x, &o->in[1]->type);
	if (t->dtype != D_bool || !same_shape(x, t))
		return differ(a, "the result is not a bool of the operands' shape", x, t);
	return NULL;
}

const char *
shape_select(Arena *a, const Op *o)
{
	const Type *c = &o->in[0]->type, *x = &o->in[1]->type, *y = &o->in[2]->type;
	const Type *t = &o->out[0]->type;

	if (!is_value(t) || !type_same(x, t) || !type_same(y, t))
		return differ(a, "the choices differ", x, y);
	if (c->dtype != D_bool || !same_shape(c, t))
		return differ(a, "the condition is not a bool of the same shape", c, t);
	return NULL;
}

const char *
shape_lookup(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *i = &o->in[1]->type, *t = &o->out[0]->type;

	if (x->space != S_reg || i->space != S_reg || t->space != S_reg)
		return "operands or results that are no register tiles";
	if (!same_shape(i, t) || x->dtype != t->dtype)
		return differ(a, "the result has the shape of the indices and the type of the table", i, t);
	if (dtype_info[i->dtype].kind != K_uint || dtype_info[i->dtype].bits > 4 || x->dtype == D_bool ||
	    dtype_info[x->dtype].bits < 8)
		return differ(a, "indices are u1 to u4, the table's elements numbers of whole bytes", x, i);
	if ((x->rank != 1 && x->rank != i->rank) ||
	    x->shape[x->rank - 1] != (int64_t)1 << dtype_info[i->dtype].bits)
		return differ(a, "the table has an element for each index", x, i);
	for (int d = 0; d + 1 < x->rank; d++)
		if (x->shape[d] != 1 && x->shape[d] != i->shape[d])
			return differ(a, "the tables are not those of the rows", x, i);
	return NULL;
}

const char *
shape_cast(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (t->spread)
		return "a result that is not in natural order";
	return is_value(t) && same_shape(x, t) ? NULL : differ(a, "shapes differ", x, t);
}

const char *
shape_bitcast(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (x->dtype == D_bool || t->dtype == D_bool || x->dtype == D_tf32 || t->dtype == D_tf32 ||
	    dtype_info[x->dtype].bits != dtype_info[t->dtype].bits)
		return differ(a, "not types of equally many bits", x, t);
	return shape_cast(a, o);
}

const char *
shape_clip(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	int n = 0;

	if (o->nin < 1 || t->space != S_reg || !type_same(&o->in[0]->type, t))
		return "not a register tile, or the result has another type";
	if (o->imm[0] < 1 || o->imm[0] >= (int64_t)1 << t->rank)
		return "no dims to clip, or dims that the tile does not have";
	for (int d = 0; d < t->rank; d++)
		n += (int)(o->imm[0] >> d & 1);
	if (o->nin != 1 + n)
		return arena_printf(a, "%d bounds for %d dims", o->nin - 1, n);
	for (int i = 1; i < o->nin; i++)
		if (!is_index(o->in[i]))
			return "a bound is not an i64 scalar";
	if (dtype_info[t->dtype].kind != K_flt && !fits(t->dtype, o->imm[1]))
		return "the fill does not fit the type";
	return NULL;
}

/* ---- shape --------------------------------------------------------------------------------------- */

static bool
both_reg(const Op *o)
{
	return o->in[0]->type.space == S_reg && o->out[0]->type.space == S_reg &&
	       o->in[0]->type.dtype == o->out[0]->type.dtype &&
	       o->in[0]->type.spread == o->out[0]->type.spread;
}

const char *
shape_broadcast(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (!both_reg(o) || x->rank != t->rank)
		return differ(a, "not register tiles of one type and rank", x, t);
	for (int d = 0; d < t->rank; d++)
		if (x->shape[d] != t->shape[d] && x->shape[d] != 1)
			return differ(a, "an extent that is not 1 changes", x, t);
	return NULL;
}

const char *
shape_transpose(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	unsigned seen = 0;

	if (!both_reg(o) || x->rank != t->rank)
		return differ(a, "not register tiles of one type and rank", x, t);
	for (int d = 0; d < t->rank; d++) {
		if (o->imm[d] < 0 || o->imm[d] >= t->rank || seen >> o->imm[d] & 1)
			return "imm is not a permutation of the dims";
		seen |= 1u << o->imm[d];
		if (t->shape[d] != x->shape[o->imm[d]])
			return differ(a, "extents do not fit the permutation", x, t);
	}
	return NULL;
}

const char *
shape_reshape(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	const Op *memory = o->in[0]->def;

	if (x->space == S_shared && t->space == S_shared) {
		if (x->dtype != t->dtype || !memory || (memory->code != O_alloc && memory->code != O_reshape))
			return "not a whole shared tile under another shape";
	} else if (!both_reg(o)) {
		return differ(a, "not register tiles of one type", x, t);
	}
	return type_size(x) == type_size(t) ? NULL : differ(a, "not as many elements", x, t);
}

const char *
shape_shift(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;

	if (!both_reg(o) || !type_same(x, t))
		return differ(a, "not register tiles of one type", x, t);
	if (o->imm[0] < 0 || o->imm[0] >= x->rank)
		return "no such dim";
	return o->imm[1] >= 1 && o->imm[1] < x->shape[o->imm[0]] ? NULL : "moves all elements out, or none";
}

const char *
shape_slice(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	int64_t d = o->imm[0];
	Type r = *x;

	if (!both_reg(o))
		return differ(a, "not register tiles of one type", x, t);
	if (d < 0 || d >= x->rank || d >= t->rank)
		return "no such dim";
	r.shape[d] = t->shape[d];
	if (!same_shape(&r, t))
		return differ(a, "another dim changes", x, t);
	return o->imm[1] >= 0 && o->imm[1] <= x->shape[d] - t->shape[d] ? NULL : "reaches outside the tile";
}

const char *
shape_concat(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *y = &o->in[1]->type, *t = &o->out[0]->type;
	int64_t d = o->imm[0];
	Type r = *x;

	if (!both_reg(o) || y->space != S_reg || y->dtype != x->dtype || x->spread || y->spread)
		return differ(a, "not register tiles of one type", x, y);
	if (d < 0 || d >= x->rank || d >= y->rank)
		return "no such dim";
	r.shape[d] = y->shape[d];
	if (!same_shape(&r, y))
		return differ(a, "other extents differ", x, y);
	r.shape[d] = x->shape[d] + y->shape[d];
	return same_shape(&r, t) ? NULL : differ(a, "the result is not as long as both", x, t);
}

const char *
shape_reduce(Arena *a, const Op *o)
{
	const Type *x = &o->in[0]->type, *t = &o->out[0]->type;
	Type r = *x;

	if (!both_reg(o) || x->dtype == D_bool || dtype_info[x->dtype].use == U_temp)
		return differ(a, "not numeric register tiles of one type", x, t);
	if (o->imm[0] < 0 || o->imm[0] >= x->rank)
		return "no such dim";
	r.shape[o->imm[0]] = 1;
	return type_same(&r, t) ? NULL : differ(a, "the result's shape does not follow", x, t);
}

/* May elements of these types be multiplied in a dot?  Signed and unsigned integers of one size may meet, and
 * the two 8-bit floats. */
static bool
multiply(DType x, DType y)
{
	const DTypeInfo *a = &dtype_info[x], *b = &dtype_info[y];

	if (x == D_bool || y == D_bool || a->bits != b->bits)
		return false;
	return x == y || (a->kind != K_flt && b->kind != K_flt) ||
	       (a->kind == K_flt && b->kind == K_flt && a->bits == 8);
}

/* The type of the tile that values and positions make along dim; NULL: they make none. */
static const char *
expanded(Arena *a, const Type *v, const Type *p, int64_t dim, Type *out)
{
	Sparse s;

	*out = *v;
	if (v->space != S_reg || p->space != S_reg || v->rank != p->rank || v->dtype == D_bool)
		return differ(a, "not register tiles of values and positions", v, p);
	if (dim < 0 || dim >= v->rank)
		return "no such dim";
	for (int d = 0; d < v->rank; d++)
		if (d != dim && v->shape[d] != p->shape[d])
			return differ(a, "values and positions differ in shape", v, p);
	if (!sparse_of(v, p, (int)dim, &s))
		return differ(a, "these positions do not say where these values stand", v, p);
	out->shape[dim] *= 2;
	return NULL;
}

const char *
shape_expand(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;
	Type want;
	const char *bad = expanded(a, &o->in[0]->type, &o->in[1]->type, o->imm[0], &want);

	if (bad)
		return bad;
	return type_same(&want, t) ? NULL : differ(a, "the result's type does not follow", &want, t);
}

/* Operand i of a dot as the matrix that is multiplied. */
static const char *
dot_operand(Arena *a, const Op *o, int i, Type *out)
{
	*out = o->in[i]->type;
	if (!dot_is_sparse(o) || i != dot_side(o) || out->rank != 2)
		return NULL;
	return expanded(a, &o->in[i]->type, &o->in[3]->type, 1 - i, out);
}

const char *
shape_dot(Arena *a, const Op *o)
{
	const Type *c;
	Type tx, ty, *x = &tx, *y = &ty;
	const char *bad;

	if (o->nin != 3 && o->nin != 4)
		return "not two factors, an accumulator, and positions or none";
	if (o->imm[0] < 0 || o->imm[0] > 1)
		return "no such factor";
	bad = dot_operand(a, o, 0, x);
	bad = bad ? bad : dot_operand(a, o, 1, y);
	if (bad)
		return bad;
	c = &o->in[2]->type;
	if (x->space != S_reg || y->space != S_reg || c->space != S_reg || x->rank != 2 ||
	    y->rank != 2 || c->rank != 2 || !multiply(x->dtype, y->dtype))
		return differ(a, "operands are not matrices in registers that dot multiplies", x, y);
	if (x->shape[1] != y->shape[0] || c->shape[0] != x->shape[0] || c->shape[1] != y->shape[1])
		return differ(a, "a[M, K], b[K, N] and acc[M, N] do not fit", x, y);
	if ((dtype_info[c->dtype].kind == K_flt) != (dtype_info[x->dtype].kind == K_flt) ||
	    c->dtype == D_bool || dtype_info[c->dtype].use != U_any ||
	    dtype_info[c->dtype].bits < dtype_info[x->dtype].bits)
		return differ(a, "the accumulator's type does not hold the products", x, c);
	if (!type_same(c, &o->out[0]->type))
		return differ(a, "result and accumulator differ", c, &o->out[0]->type);
	return NULL;
}
