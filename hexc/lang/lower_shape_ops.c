/* lower_shape_ops.c - lowers ops that rearrange entire tiles: transpose, reshape, iota; their arguments;
 * reshaped views of shared tiles. */
#include "hexc/lang/lower.h"

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
	diag_error(l->diag, o->e->src, "`%s` requires a tile, not %s", name, check_describe(l, &o->v));
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
		           "dimension %lld is out of range [0, %d)",
		           (long long)d, rank);
		return false;
	}
	*dim = (int)(d < 0 ? d + rank : d);
	return true;
}

/* ---- shape ----------------------------------------------------------------------------------- */

static LoweredValue
permute(Lower *l, const Expr *e, const Operand *x, const int *perm)
{
	LoweredValue r = { .kind = VK_val };
	Type t = x->v.v->type;

	for (int i = 0; i < t.rank; i++)
		t.shape[i] = x->v.v->type.shape[perm[i]];
	r.v = put1(l, O_transpose, e->src, x->v.v, t);
	for (int i = 0; i < t.rank; i++)
		IMM_SET_AT(r.v->def, perm, i, perm[i]);
	return r;
}

LoweredValue
lower_swap(Lower *l, const Expr *e)
{
	static const int swap[2] = { 1, 0 };
	Operand x;

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	if (x.v.v->type.rank == 2)
		return permute(l, e, &x, swap);
	diag_error(l->diag, e->src, "`.T` requires a matrix, but `%s` is %s; use transpose(x, dim, ...)",
	           check_text(l, x.e, "the operand"), check_describe(l, &x.v));
	return value_none();
}

LoweredValue
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
		           "`transpose` must name every dimension once; the tile has %d, the call %d",
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

/* Computes the type of reshape call e of x. Returns false after a report. */
static bool
reshaped(Lower *l, const Expr *e, const Operand *x, Type *t)
{
	int64_t shape[RANK_MAX];

	if (!shape_args(l, e, shape))
		return false;
	*t = type_tile(x->v.v->type.dtype, x->v.v->type.space, e->narg - 1, shape);
	if (type_size(t) != type_size(&x->v.v->type)) {
		diag_error(l->diag, e->src,
		           "`reshape` must keep all elements, but `%s` is %s, which has %lld, not %lld",
		           check_text(l, x->e, "the operand"), check_describe(l, &x->v),
		           (long long)type_size(&x->v.v->type), (long long)type_size(t));
		return false;
	}
	return true;
}

/* Returns the number of leading dims that the view drops, if it has all other dims entirely; else -1. */
static int
leading(const Op *view)
{
	const Type *t = &view_source(view)->type;
	int n = 0;

	while (n < t->rank && IMM(view, dropped) >> n & 1)
		n++;
	for (int d = n; d < t->rank; d++) {
		int64_t at;

		if (IMM(view, dropped) >> d & 1 || view->out[0]->type.shape[d - n] != t->shape[d] ||
		    !val_is_const(view_start(view, d), &at) || at != 0)
			return -1;
	}
	return n;
}

/* Views shared memory v under the shape of t: an entire tile, or a part selected by leading indices, which
 * are preserved. Returns NULL if it is neither. */
static Val *
put_alias(Lower *l, Src src, Val *v, const Type *t)
{
	const Op *view = v->def->code == O_view ? v->def : NULL;
	int n = view ? leading(view) : 0;
	Type all = *t;
	Val *in[DIM_MAX + 1];

	if (n < 0 || n + t->rank > RANK_MAX || (view && view_source(view)->def->code == O_view))
		return NULL;
	all.rank = n + t->rank;
	for (int d = 0; d < all.rank; d++) {
		all.shape[d] = d < n ? view_source(view)->type.shape[d] : t->shape[d - n];
		in[1 + d] = d < n ? view_start(view, d) : ir_const(l->b, NULL, 0);
	}
	in[0] = put_op(l, O_reshape, src, 1, view ? view->in : &v, all);
	if (n == 0)
		return in[0];
	v = put_op(l, O_view, src, 1 + all.rank, in, *t);
	IMM_SET(v->def, dropped, ((int64_t)1 << n) - 1);
	return v;
}

LoweredValue
lower_reshape(Lower *l, const Expr *e)
{
	LoweredValue r = { .kind = VK_val };
	Operand x;
	Type t, all;
	Val *mem;

	if (!lower_tile_arg(l, e, 0, &x) || !reshaped(l, e, &x, &t))
		return value_none();
	if (x.v.v->type.pinned || lower_reshapes_shared_out(l, &x.v.v->type, &t)) {
		r.v = put_reshape(l, e->src, x.v.v, t.rank, t.shape);
		return r;
	}
	mem = lower_staged(l, e->src, &x.v).v;
	all = t;
	all.dtype = mem->type.dtype;
	all.space = S_shared;
	r.v = put_alias(l, e->src, mem, &all);
	all.space = S_reg;
	r.v = put1(l, O_load, e->src, r.v, all);
	if (all.dtype != t.dtype)
		r.v = put1(l, O_cast, e->src, r.v, t);
	return r;
}

LoweredValue
lower_alias(Lower *l, const Expr *e)
{
	const Expr *of = lower_selected(l, e->arg[0]), *name = of->kind == EX_index ? of->arg[0] : of;
	const Sym *sym = name->kind == EX_name ? sym_find(l, name->name) : NULL;
	LoweredValue r = { .kind = VK_view };
	Operand x;
	Type t;

	if (!sym || sym->val.kind != VK_view || sym->val.v->type.space != S_shared)
		return lower_expr(l, e);
	if (of->kind == EX_index && lower_has_new_dim(of))
		return lower_expr(l, e);
	x = lower_operand(l, e->arg[0]);
	if (x.v.kind != VK_view || !reshaped(l, e, &x, &t))
		return value_none();
	r.v = put_alias(l, e->src, x.v.v, &t);
	return r.v ? r : lower_expr(l, e);
}

LoweredValue
lower_iota(Lower *l, const Expr *e)
{
	int64_t shape[RANK_MAX];
	int dim;
	Val *v;

	if (!check_mode(l, MODE_BODY, e->src, "`iota`") || !shape_args(l, e, shape) ||
	    !lower_dim_arg(l, e, 0, e->narg - 1, &dim))
		return value_none();
	v = put_op(l, O_iota, e->src, 0, NULL, type_tile(D_i32, S_reg, e->narg - 1, shape));
	IMM_SET(v->def, dim, dim);
	return value_of(v);
}
