/* lower_reduce.c - reductions along a dimension, and means over the elements that exist. */
#include "hexc/ir/access.h"
#include "hexc/lang/lower.h"

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

Value
lower_reduce(Lower *l, const Expr *e, OpCode code)
{
	Operand x;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim) ||
	    !check_dtype(l, O_add, x.v.v->type.dtype, e->src, x.e))
		return value_none();
	x.v.v = lower_put_reduce(l, e, code, x.v.v, dim);
	x.v.edge[dim] = NULL;
	return x.v;
}

Value
lower_mean(Lower *l, const Expr *e)
{
	const Edge *edge;
	Operand x;
	Value count;
	int64_t extent;
	Type t;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim))
		return value_none();
	t = x.v.v->type;
	if (dtype_info[t.dtype].kind != K_flt) {
		diag_error(l->diag, e->src, "`mean` is not defined on %s: cast first, as in `f32(%s)`",
		           dtype_info[t.dtype].name, check_text(l, x.e, "x"));
		return value_none();
	}
	extent = t.shape[dim];
	edge = x.v.edge[dim];
	count = value_int(extent);
	if (!check_fits(l, &count, t.dtype, e->src))
		return value_none();
	x.v.v = lower_put_reduce(l, e, O_reduce_sum, x.v.v, dim);
	t = x.v.v->type;
	x.v.v = put2(l, O_div, e->src, x.v.v, put_const(l, &count, t, e->src), t);
	x.v.edge[dim] = NULL;
	lower_count(l, x.v.v->def, 1, false, edge, extent);
	return x.v;
}

/* ---- the number of elements ------------------------------------------------------------------ */

void
lower_count(Lower *l, Op *o, int i, bool last, const Edge *edge, int64_t extent)
{
	Count c = { o, i, last, edge, extent };

	if (edge)
		VEC_PUSH(l->arena, l->count, l->ncount, l->count_cap, c);
}

/* By id of a value: 1 when one copy or store of the whole tile and nothing else writes the alloc. */
static uint32_t *
count_writes(Lower *l)
{
	uint32_t *n = NEWN(l->arena, uint32_t, l->k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, l->k->body); o; o = walk_next(&w)) {
		Val *to = access_target(o), *root = to ? view_root(to) : NULL;

		if (root)
			n[root->id] += o->code == O_copy || root == to ? 1 : 2;
	}
	return n;
}

/* A number in place of an operand: a scalar as it is, a tile of it in another type. */
static void
put_count(const Count *c, Val *n)
{
	Op *at = c->op;
	Type t = at->in[c->operand]->type, s = type_scalar(t.dtype);

	if (t.space == S_reg) {
		if (t.dtype != D_i64)
			n = op_new(at->parent, at, O_cast, at->src, 1, &n, 1, &s)->out[0];
		n = op_new(at->parent, at, O_splat, at->src, 1, &n, 1, &t)->out[0];
	}
	at->in[c->operand] = n;
}

void
lower_counts(Lower *l)
{
	const uint32_t *writes = l->ncount ? count_writes(l) : NULL;

	for (int i = 0; i < l->ncount; i++) {
		const Count *c = &l->count[i];
		Op *at = c->op;
		Block *b = at->parent;
		Val *n = NULL;

		for (const Edge *e = c->edge; e; e = e->also) {
			if (e->tile && writes[e->tile->id] != 1)
				continue;
			n = n ? n : ir_const(b, at, c->extent);
			n = ir_bin(b, at, O_min, n, ir_bin(b, at, O_sub, e->size, e->start));
		}
		if (n && c->last) {
			n = ir_bin(b, at, O_sub, n, ir_const(b, at, 1));
			n = ir_bin(b, at, O_max, n, ir_const(b, at, 0));
		}
		if (n)
			put_count(c, n);
	}
}
