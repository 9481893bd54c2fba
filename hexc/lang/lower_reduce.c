/* lower_reduce.c - lowers reductions along a dimension, and means over the elements in bounds. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
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
	x.v.edge[dim] = NULL;
	return x.v;
}

LoweredValue
lower_mean(Lower *l, const Expr *e)
{
	const Edge *edge;
	Operand x;
	LoweredValue count;
	int64_t extent;
	Type t;
	int dim;

	if (!lower_tile_arg(l, e, 0, &x) || !lower_dim_arg(l, e, 1, x.v.v->type.rank, &dim))
		return value_none();
	t = x.v.v->type;
	if (dtype_info[t.dtype].kind != K_flt) {
		diag_error(l->diag, e->src, "`mean` is not defined on %s; cast first, as in `f32(%s)`",
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
	lower_count(l, COUNT_all, x.v.v->def, 1, edge, extent);
	return x.v;
}

/* Are some elements of the region known to be in bounds? */
static bool
edge_has_some(Lower *l, const Edge *e)
{
	const Op *at = l->b->last;

	for (; e; e = e->also)
		if (val_fact(l->k, e->start).lo < 0 || !at ||
		    !prove_inside(l->k, at, &e->start, 1, 1, e->size))
			return false;
	return true;
}

/* Returns x, of extent 1 along dim, without its region there, and without those of other dims of extent
 * 1. */
static Val *
without_edge(Lower *l, Src src, Val *x, int dim)
{
	Type t = type_free(x->type), other = t;

	if (t.rank == 1) {
		other.shape[other.rank++] = 1;
	} else {
		other.rank--;
		for (int d = dim; d < other.rank; d++)
			other.shape[d] = t.shape[d + 1];
	}
	return put1(l, O_reshape, src, put1(l, O_reshape, src, x, other), t);
}

Val *
lower_as_far(Lower *l, const Expr *e, Val *v, Val *x, int reduced)
{
	Type t = type_free(v->type), cond = t;
	LoweredValue yes = value_bool(true);
	Val *in[3] = { NULL, v, x };

	if (reduced >= 0) {
		in[2] = lower_put_slice(l, e->src, x, reduced, 0, 1);
		t.dtype = dtype_is_float(x->type.dtype) ? D_f32 : D_i32;
		if (x->type.dtype != t.dtype)
			in[2] = put1(l, O_cast, e->src, in[2], t);
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
lower_if_any(Lower *l, Src src, Val *x, int dim, const Edge *edge, int64_t extent)
{
	Type at = type_free(x->type), cond = at;
	LoweredValue zero = value_int(0), end = value_int(extent);
	Val *in[3];

	if (edge_has_some(l, edge))
		return x;
	x = without_edge(l, src, x, dim);
	at.dtype = D_i32;
	cond.dtype = D_bool;
	in[0] = put2(l, O_lt, src, put_const(l, &zero, at, src), put_const(l, &end, at, src), cond);
	lower_count(l, COUNT_first, in[0]->def, 0, edge, extent);
	lower_count(l, COUNT_end, in[0]->def, 1, edge, extent);
	in[1] = x;
	in[2] = put_const(l, &zero, type_free(x->type), src);
	return put_op(l, O_select, src, 3, in, type_free(x->type));
}

/* Computes which elements of a tile are in bounds. */
LoweredValue
lower_inside(Lower *l, const Expr *e)
{
	LoweredValue yes = { .kind = VK_bool, .i = 1 };
	Val *all = NULL;
	Type at, cond;
	Operand x;

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	at = cond = type_free(x.v.v->type);
	at.dtype = D_i32;
	cond.dtype = D_bool;
	for (int d = 0; d < at.rank; d++) {
		LoweredValue extent = value_int(at.shape[d]);
		Val *i, *less;

		if (!x.v.edge[d])
			continue;
		i = put_op(l, O_iota, e->src, 0, NULL, at);
		IMM_SET(i->def, dim, d);
		less = put2(l, O_lt, e->src, i, put_const(l, &extent, at, e->src), cond);
		lower_count(l, COUNT_less, less->def, 1, x.v.edge[d], at.shape[d]);
		all = all ? put2(l, O_and, e->src, all, less, cond) : less;
	}
	if (x.v.rest) {
		LoweredValue none = value_int(0), one = value_int(1);
		Val *less = put2(l, O_lt, e->src, put_const(l, &none, at, e->src),
		                 put_const(l, &one, at, e->src), cond);

		lower_count(l, COUNT_less, less->def, 1, x.v.rest, 1);
		all = all ? put2(l, O_and, e->src, all, less, cond) : less;
	}
	return value_of(all ? all : put_const(l, &yes, cond, e->src));
}

/* ---- the number of elements ------------------------------------------------------------------ */

/* x / step, rounded up: below 1 for x below 1. */
static Val *
in_steps(Block *b, Op *at, Val *x, int64_t step)
{
	if (step == 1)
		return x;
	x = ir_bin(b, at, O_add, x, ir_const(b, at, step - 1));
	return ir_bin(b, at, O_div, x, ir_const(b, at, step));
}

Val *
edge_first(Block *b, Op *at, const Edge *e)
{
	return in_steps(b, at, ir_bin(b, at, O_sub, ir_const(b, at, 0), e->start), e->step);
}

Val *
edge_end(Block *b, Op *at, const Edge *e)
{
	return in_steps(b, at, ir_bin(b, at, O_sub, e->size, e->start), e->step);
}

bool
edge_has_front(const Lower *l, const Edge *e)
{
	for (; e; e = e->also)
		if (val_fact(l->k, e->start).lo < 0)
			return true;
	return false;
}

void
lower_count(Lower *l, CountKind kind, Op *o, int i, const Edge *edge, int64_t extent)
{
	ExtentSource c = { .kind = kind, .op = o, .operand = i, .edge = edge, .extent = extent };

	if (edge)
		VEC_PUSH(l->arena, l->count, l->ncount, l->count_cap, c);
}

/* By value id: 1 if only one copy or store, of the entire tile, writes the alloc, except zeros stored to
 * parts of it. */
static uint32_t *
count_writes(Lower *l)
{
	uint32_t *n = NEWN(l->arena, uint32_t, l->k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, l->k->body); o; o = walk_next(&w)) {
		Val *to = access_target(o), *root = to ? view_root(to) : NULL;

		if (root && (root == to || !access_clears(o)))
			n[root->id] += o->code == O_copy || root == to ? 1 : 2;
	}
	return n;
}

/* Converts an index to an operand of type t: scalars are unchanged, tiles cast. */
static Val *
number_as(Op *at, Type t, Val *n)
{
	Type s = type_scalar(t.dtype);

	if (t.space != S_reg)
		return n;
	if (t.dtype != D_i64)
		n = op_new(at->parent, at, O_cast, at->src, 1, &n, 1, &s)->out[0];
	return op_new(at->parent, at, O_splat, at->src, 1, &n, 1, &t)->out[0];
}

/* In-bounds elements also have a start, n. */
static void
put_first(Lower *l, const ExtentSource *c, Val *n)
{
	Op *at = c->op;
	Val *in[2];

	if (c->kind == COUNT_loop) {
		at->in[IN_for_lo] = n;
	} else if (c->kind == COUNT_less) {
		Val *less = at->out[0];

		in[0] = number_as(at, elt_lhs(at)->type, n);
		in[1] = elt_lhs(at);
		in[0] = op_new(at->parent, at, O_le, at->src, 2, in, 1, &less->type)->out[0];
		in[1] = less;
		at = op_new(at->parent, at->next, O_and, at->src, 2, in, 1, &less->type);
		val_replace(l->k, less, at->out[0]);
		at->in[IN_elt_rhs] = less;
	}
}

/* Computes count c; returns NULL if all elements are in bounds. */
static Val *
count_of(Lower *l, const ExtentSource *c, const uint32_t *writes)
{
	Op *at = c->op;
	Block *b = at->parent;
	Val *n = NULL, *first = NULL;

	for (const Edge *e = c->edge; e; e = e->also) {
		if (e->tile && writes[e->tile->id] != 1)
			continue;
		n = n ? n : ir_const(b, at, c->extent);
		n = ir_bin(b, at, O_min, n, edge_end(b, at, e));
		if (val_fact(l->k, e->start).lo >= 0)
			continue;
		first = first ? first : ir_const(b, at, 0);
		first = ir_bin(b, at, O_max, first, edge_first(b, at, e));
	}
	if (c->kind == COUNT_first)
		return first ? ir_bin(b, at, O_min, first, ir_const(b, at, c->extent)) : NULL;
	if (first && c->kind == COUNT_all)
		n = ir_bin(b, at, O_sub, n, first);
	else if (first)
		put_first(l, c, ir_bin(b, at, O_min, first, ir_const(b, at, c->extent)));
	if (n && c->kind == COUNT_last)
		n = ir_bin(b, at, O_sub, n, ir_const(b, at, 1));
	/* a tile that is entirely out of bounds has 0, not a negative number */
	if (n && (c->kind == COUNT_last || (c->kind == COUNT_all && val_fact(l->k, n).lo < 0)))
		n = ir_bin(b, at, O_max, n, ir_const(b, at, 0));
	return n;
}

void
lower_counts(Lower *l)
{
	const uint32_t *writes = l->ncount ? count_writes(l) : NULL;

	for (int i = 0; i < l->ncount; i++) {
		const ExtentSource *c = &l->count[i];
		Val *n = count_of(l, c, writes);

		if (n)
			c->op->in[c->operand] = number_as(c->op, c->op->in[c->operand]->type, n);
	}
}
