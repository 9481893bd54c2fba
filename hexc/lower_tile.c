/* lower_tile.c - what works on whole tiles: reductions, dot, transposes, reshape, iota. */
#include "hexc/lower.h"
#include <string.h>

/* Argument i as a register tile. */
static bool
tile_arg(Lower *l, const Expr *e, int i, Operand *o)
{
	const char *name = e->kind == EX_call ? e->name : ".T";

	*o = lower_operand(l, e->arg[i]);
	if (o->v.kind != VK_none &&
	    !check_mode(l, MODE_BODY, e->src, arena_printf(l->arena, "`%s`", name)))
		return false;
	o->v = lower_load(l, *o);
	if (o->v.kind == VK_none)
		return false;
	if (value_is_tile(&o->v))
		return true;
	diag_error(l->diag, o->e->src, "`%s` needs a tile, not %s", name, check_describe(l, &o->v));
	return false;
}

/* A dimension of a tile of that rank; -1 is the last. */
static bool
dim_arg(Lower *l, const Expr *e, int i, int rank, int *dim)
{
	int64_t d;

	if (!lower_const_int(l, e->arg[i], "a dimension", &d))
		return false;
	if (d < -rank || d >= rank) {
		diag_error(l->diag, e->arg[i]->src, "there is no dimension %lld: the tile has %d, counted "
		           "from 0", (long long)d, rank);
		return false;
	}
	*dim = (int)(d < 0 ? d + rank : d);
	return true;
}

/* ---- reductions --------------------------------------------------------------------------------------------------- */

static Val *
put_reduce(Lower *l, const Expr *e, OpCode code, const Operand *x, int dim)
{
	Type t = x->v.v->type;
	Val *v;

	t.shape[dim] = 1;
	v = put1(l, code, e->src, x->v.v, t);
	v->def->imm[0] = dim;
	return v;
}

Value
lower_reduce(Lower *l, const Expr *e, OpCode code)
{
	Operand x;
	int dim;

	if (!tile_arg(l, e, 0, &x) || !dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !check_dtype(l, O_add, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	x.v.v = put_reduce(l, e, code, &x, dim);
	x.v.edge[dim] = NULL;
	return x.v;
}

/* How many elements along dim lie inside the tensor the tile was read from: a scalar of type d. */
static Val *
put_count(Lower *l, Src src, const Edge *edge, int64_t extent, DType d)
{
	Val *n = ir_const(l->b, NULL, extent);

	for (; edge; edge = edge->also)
		n = put_index(l, O_min, src, n, put_index(l, O_sub, src, edge->size, edge->start));
	return put1(l, O_cast, src, n, type_scalar(d));
}

Value
lower_mean(Lower *l, const Expr *e)
{
	const Edge *edge;
	Val *sum, *count;
	Operand x;
	int64_t extent;
	Type t;
	int dim;

	if (!tile_arg(l, e, 0, &x) || !dim_arg(l, e, 1, x.v.v->type.rank, &dim))
		return value_none();
	t = x.v.v->type;
	if (dtype_info[t.dtype].kind != K_flt) {
		diag_error(l->diag, e->src, "`mean` is not defined on %s: cast first, as in `f32(%s)`",
		           dtype_info[t.dtype].name, check_text(l, x.e, "x"));
		return value_none();
	}
	extent = t.shape[dim];
	edge = x.v.edge[dim];
	sum = put_reduce(l, e, O_reduce_sum, &x, dim);
	t = sum->type;
	if (edge) {
		count = put1(l, O_splat, e->src, put_count(l, e->src, edge, extent, t.dtype), t);
	} else {
		Value n = value_int(extent);

		if (!check_fits(l, &n, t.dtype, e->src))
			return value_none();
		count = put_const(l, &n, t, e->src);
	}
	x.v.v = put2(l, O_div, e->src, sum, count, t);
	x.v.edge[dim] = NULL;
	return x.v;
}

/* ---- dot ----------------------------------------------------------------------------------------------------------- */

static DType
named_dtype(const Expr *e)
{
	return e->kind == EX_name ? dtype_find(e->name, strlen(e->name)) : D_COUNT;
}

bool
lower_is_plain_dot(const Expr *e)
{
	if (e->kind != EX_call || strcmp(e->name, "dot") != 0)
		return false;
	return e->narg == 2 || (e->narg == 3 && named_dtype(e->arg[2]) != D_COUNT);
}

/* The accumulator's type: by default the widest that the tensor cores have. */
static DType
default_acc(DType d)
{
	switch (d) {
	case D_f16:
	case D_bf16: return D_f32;
	case D_i8:
	case D_u8: return D_i32;
	case D_f32:
	case D_f64:
	case D_i32: return d;
	default: return D_COUNT;
	}
}

static bool
dot_dtype(Lower *l, const Expr *e, const Operand *a, const Operand *b, DType *acc)
{
	DType d = a->v.v->type.dtype, want;

	if (!check_same_dtype(l, e->src, a, b))
		return false;
	*acc = default_acc(d);
	if (*acc == D_COUNT) {
		diag_error(l->diag, e->src, "`dot` does not multiply %s: cast both sides, as in `f16(%s)`",
		           dtype_info[d].name, check_text(l, a->e, "a"));
		return false;
	}
	if (e->narg != 3 || (want = named_dtype(e->arg[2])) == D_COUNT)
		return true;
	if (want != *acc && !(d == D_f16 && want == D_f16)) {
		diag_error(l->diag, e->arg[2]->src, "`dot` of %s accumulates in %s%s, not in %s",
		           dtype_info[d].name, dtype_info[*acc].name, d == D_f16 ? " or f16" : "",
		           dtype_info[want].name);
		return false;
	}
	*acc = want;
	return true;
}

static bool
dot_shape(Lower *l, const Expr *e, const Operand *a, const Operand *b)
{
	const Type *ta = &a->v.v->type, *tb = &b->v.v->type;
	const char *mend = "";

	if (ta->rank != 2 || tb->rank != 2) {
		diag_error(l->diag, e->src, "`dot` multiplies matrices, but the operands are %s and %s",
		           check_describe(l, &a->v), check_describe(l, &b->v));
		return false;
	}
	if (ta->shape[1] == tb->shape[0])
		return true;
	if (ta->shape[1] == tb->shape[1])
		mend = arena_printf(l->arena, ": write `%s.T`", check_text(l, b->e, "(...)"));
	else if (ta->shape[0] == tb->shape[0])
		mend = arena_printf(l->arena, ": write `%s.T`", check_text(l, a->e, "(...)"));
	diag_error(l->diag, e->src, "`dot` of %s and %s: the left has %lld columns, the right %lld rows%s",
	           check_describe(l, &a->v), check_describe(l, &b->v), (long long)ta->shape[1],
	           (long long)tb->shape[0], mend);
	return false;
}

/* The tile to add to: zero, the third operand, or what `+` found on the other side. */
static Val *
dot_acc(Lower *l, const Expr *e, const Operand *acc, Type t)
{
	Value zero = dtype_info[t.dtype].kind == K_flt ? value_flt(0) : value_int(0);
	Operand given;

	if (!acc && e->narg == 3 && named_dtype(e->arg[2]) == D_COUNT) {
		given = lower_operand(l, e->arg[2]);
		acc = &given;
	}
	if (!acc)
		return put_const(l, &zero, t, e->src);
	given = *acc;
	given.v = lower_load(l, given);
	if (given.v.kind == VK_val && given.v.v->type.dtype != t.dtype) {
		diag_error(l->diag, e->src, "`%s` is %s but the `dot` accumulates in %s: write %s",
		           check_text(l, given.e, "the accumulator"), dtype_info[given.v.v->type.dtype].name,
		           dtype_info[t.dtype].name,
		           given.v.v->type.dtype == D_f16 && t.dtype == D_f32
		                   ? "`dot(a, b, f16)`, or make it f32"
		                   : arena_printf(l->arena, "`%s(%s)`", dtype_info[t.dtype].name,
		                                  check_text(l, given.e, "...")));
		return NULL;
	}
	return lower_to_type(l, given, t, e->src, "the accumulator of `dot`");
}

/* A sum of the dot and something that is larger is no accumulation: the dot, then an addition. */
static bool
fits_acc(const Operand *acc, const Type *t)
{
	const Type *a = &acc->v.v->type;

	if (acc->v.kind != VK_val && acc->v.kind != VK_view)
		return true;
	if (a->rank > t->rank)
		return false;
	for (int d = 0; d < a->rank; d++) {
		int64_t x = a->shape[d], y = t->shape[t->rank - a->rank + d];
		if (x != 1 && x != y)
			return false;
	}
	return true;
}

Value
lower_dot(Lower *l, const Expr *e, const Operand *acc)
{
	Value r = { .kind = VK_val };
	Operand o[2];
	int64_t shape[2];
	Val *in[3];
	bool fits;
	DType d;
	Type t;

	if (e->narg > 3) {
		diag_error(l->diag, e->src, "`dot` has %d arguments: write dot(a, b), dot(a, b, f16) or "
		           "dot(a, b, accumulator)", e->narg);
		return value_none();
	}
	if (!tile_arg(l, e, 0, &o[0]) || !tile_arg(l, e, 1, &o[1]) ||
	    (acc && acc->v.kind == VK_none) || !dot_dtype(l, e, &o[0], &o[1], &d) ||
	    !dot_shape(l, e, &o[0], &o[1]))
		return value_none();
	shape[0] = o[0].v.v->type.shape[0];
	shape[1] = o[1].v.v->type.shape[1];
	t = type_tile(d, S_reg, 2, shape);
	if (!check_shape(l, 2, shape, e->src))
		return value_none();
	fits = !acc || fits_acc(acc, &t);
	in[0] = o[0].v.v;
	in[1] = o[1].v.v;
	if (!(in[2] = dot_acc(l, e, fits ? acc : NULL, t)))
		return value_none();
	r.v = put_op(l, O_dot, e->src, 3, in, t);
	r.edge[0] = o[0].v.edge[0];
	r.edge[1] = o[1].v.edge[1];
	return fits ? r : lower_op2(l, TK_plus, e->src, *acc, (Operand){ r, e });
}

/* ---- shape ---------------------------------------------------------------------------------------------------------- */

static Value
permute(Lower *l, const Expr *e, const Operand *x, const int *perm)
{
	Value r = { .kind = VK_val };
	Type t = x->v.v->type;

	for (int i = 0; i < t.rank; i++) {
		t.shape[i] = x->v.v->type.shape[perm[i]];
		r.edge[i] = x->v.edge[perm[i]];
	}
	r.v = put1(l, O_transpose, e->src, x->v.v, t);
	for (int i = 0; i < t.rank; i++)
		r.v->def->imm[i] = perm[i];
	return r;
}

Value
lower_swap(Lower *l, const Expr *e)
{
	static const int swap[2] = { 1, 0 };
	Operand x;

	if (!tile_arg(l, e, 0, &x))
		return value_none();
	if (x.v.v->type.rank == 2)
		return permute(l, e, &x, swap);
	diag_error(l->diag, e->src, "`.T` turns a matrix, but `%s` is %s: write transpose(x, dim, dim, ...)",
	           check_text(l, x.e, "the operand"), check_describe(l, &x.v));
	return value_none();
}

Value
lower_transpose(Lower *l, const Expr *e)
{
	int perm[RANK_MAX], rank;
	unsigned seen = 0;
	Operand x;

	if (!tile_arg(l, e, 0, &x))
		return value_none();
	rank = x.v.v->type.rank;
	if (e->narg != 1 + rank) {
		diag_error(l->diag, e->src, "`transpose` names every dimension once: the tile has %d, the call "
		           "%d", rank, e->narg - 1);
		return value_none();
	}
	for (int i = 0; i < rank; i++) {
		if (!dim_arg(l, e, 1 + i, rank, &perm[i]))
			return value_none();
		if (seen >> perm[i] & 1) {
			diag_error(l->diag, e->arg[1 + i]->src, "dimension %d is named twice", perm[i]);
			return value_none();
		}
		seen |= 1u << perm[i];
	}
	return permute(l, e, &x, perm);
}

static bool
shape_args(Lower *l, const Expr *e, int64_t *shape)
{
	for (int i = 1; i < e->narg; i++)
		if (!lower_const_int(l, e->arg[i], "an extent", &shape[i - 1]))
			return false;
	return check_shape(l, e->narg - 1, shape, e->src);
}

Value
lower_reshape(Lower *l, const Expr *e)
{
	int64_t shape[RANK_MAX];
	Value r = { .kind = VK_val };
	int rank = e->narg - 1, i = 0, j = 0;
	const Type *t;
	Operand x;

	if (!tile_arg(l, e, 0, &x) || !shape_args(l, e, shape))
		return value_none();
	t = &x.v.v->type;
	for (;; i++, j++) {
		while (i < t->rank && t->shape[i] == 1)
			i++;
		while (j < rank && shape[j] == 1)
			j++;
		if (i >= t->rank || j >= rank || t->shape[i] != shape[j])
			break;
		r.edge[j] = x.v.edge[i];
	}
	if (i < t->rank || j < rank) {
		diag_error(l->diag, e->src, "`reshape` only adds and removes dimensions of extent 1, but `%s` "
		           "is %s", check_text(l, x.e, "the operand"), check_describe(l, &x.v));
		return value_none();
	}
	r.v = put_reshape(l, e->src, x.v.v, rank, shape);
	return r;
}

Value
lower_iota(Lower *l, const Expr *e)
{
	int64_t shape[RANK_MAX];
	int dim;
	Val *v;

	if (!check_mode(l, MODE_BODY, e->src, "`iota`") || !shape_args(l, e, shape) ||
	    !dim_arg(l, e, 0, e->narg - 1, &dim))
		return value_none();
	v = put_op(l, O_iota, e->src, 0, NULL, type_tile(D_i32, S_reg, e->narg - 1, shape));
	v->def->imm[0] = dim;
	return value_of(v);
}
