/* lower_tile.c - rearranging whole tiles: transposes, reshape, iota; their arguments. */
#include "hexc/lower.h"

bool
lower_tile_arg(Lower *l, const Expr *e, int i, Operand *o)
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

bool
lower_dim_arg(Lower *l, const Expr *e, int i, int rank, int *dim)
{
	int64_t d;

	if (!lower_const_int(l, e->arg[i], "a dimension", &d))
		return false;
	if (d < -rank || d >= rank) {
		diag_error(l->diag, e->arg[i]->src,
		           "there is no dimension %lld: the tile has %d, counted from 0",
		           (long long)d, rank);
		return false;
	}
	*dim = (int)(d < 0 ? d + rank : d);
	return true;
}

/* ---- shape ----------------------------------------------------------------------------------- */

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

	if (!lower_tile_arg(l, e, 0, &x))
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

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	rank = x.v.v->type.rank;
	if (e->narg != 1 + rank) {
		diag_error(l->diag, e->src,
		           "`transpose` names every dimension once: the tile has %d, the call %d",
		           rank, e->narg - 1);
		return value_none();
	}
	for (int i = 0; i < rank; i++) {
		if (!lower_dim_arg(l, e, 1 + i, rank, &perm[i]))
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
	int rank = e->narg - 1;
	Operand x;
	Type t;

	if (!lower_tile_arg(l, e, 0, &x) || !shape_args(l, e, shape))
		return value_none();
	t = type_tile(x.v.v->type.dtype, S_reg, rank, shape);
	if (type_size(&t) != type_size(&x.v.v->type)) {
		diag_error(l->diag, e->src,
		           "`reshape` keeps all elements, but `%s` is %s: that is %lld, not %lld",
		           check_text(l, x.e, "the operand"), check_describe(l, &x.v),
		           (long long)type_size(&x.v.v->type), (long long)type_size(&t));
		return value_none();
	}
	for (int d = 0; d < rank; d++) {
		int from = reshape_source(&x.v.v->type, &t, d);

		r.edge[d] = from >= 0 ? x.v.edge[from] : NULL;
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
	    !lower_dim_arg(l, e, 0, e->narg - 1, &dim))
		return value_none();
	v = put_op(l, O_iota, e->src, 0, NULL, type_tile(D_i32, S_reg, e->narg - 1, shape));
	v->def->imm[0] = dim;
	return value_of(v);
}
