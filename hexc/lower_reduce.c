/* lower_reduce.c - reductions along a dimension, and means over the elements that exist. */
#include "hexc/lower.h"

Val *
lower_put_reduce(Lower *l, const Expr *e, OpCode code, Val *x, int dim)
{
	Type t = x->type;
	Val *v;

	t.shape[dim] = 1;
	v = put1(l, code, e->src, x, t);
	v->def->imm[0] = dim;
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
	Operand x;
	Value count;
	Mean m;
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
	m.extent = t.shape[dim];
	m.edge = x.v.edge[dim];
	count = value_int(m.extent);
	if (!check_fits(l, &count, t.dtype, e->src))
		return value_none();
	x.v.v = lower_put_reduce(l, e, O_reduce_sum, x.v.v, dim);
	t = x.v.v->type;
	x.v.v = put2(l, O_div, e->src, x.v.v, put_const(l, &count, t, e->src), t);
	x.v.edge[dim] = NULL;
	m.div = x.v.v->def;
	if (m.edge)
		VEC_PUSH(l->arena, l->mean, l->nmean, l->mean_cap, m);
	return x.v;
}

/* ---- the number of elements ------------------------------------------------------------------ */

/* By id of a value: 1 when one copy or store of the whole tile and nothing else writes the alloc. */
static uint32_t *
count_writes(Lower *l)
{
	uint32_t *n = NEWN(l->arena, uint32_t, l->k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, l->k->body); o; o = walk_next(&w)) {
		Val *root = o->code == O_copy || o->code == O_store ? view_root(o->in[1]) : NULL;

		if (root)
			n[root->id] += o->code == O_copy || root == o->in[1] ? 1 : 2;
	}
	return n;
}

void
lower_means(Lower *l)
{
	const uint32_t *writes = l->nmean ? count_writes(l) : NULL;

	for (int i = 0; i < l->nmean; i++) {
		const Mean *m = &l->mean[i];
		Op *at = m->div;
		Block *b = at->parent;
		Type t = at->out[0]->type, s = type_scalar(t.dtype);
		Val *n = NULL, *one;

		for (const Edge *e = m->edge; e; e = e->also) {
			if (e->tile && writes[e->tile->id] != 1)
				continue;
			n = n ? n : ir_const(b, at, m->extent);
			n = ir_bin(b, at, O_min, n, ir_bin(b, at, O_sub, e->size, e->start));
		}
		if (!n)
			continue;
		one = op_new(b, at, O_cast, at->src, 1, &n, 1, &s)->out[0];
		at->in[1] = op_new(b, at, O_splat, at->src, 1, &one, 1, &t)->out[0];
	}
}
