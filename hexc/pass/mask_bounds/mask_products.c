/* mask_products.c - implements the rules of pass mask_bounds for reductions, dots and sparse tiles: masks
 * their operands and computes the bounds of their results. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/sparse.h"
#include <math.h>
#include <string.h>

/* Returns x with out-of-bounds zeros along dim d. For a square it masks the operand, so that a sum remains a
 * sum of products. */
static Val *
cleared(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound)
{
	const Op *p = x->def;
	Op *square;
	Val *zeros;

	if (!p || p->code != O_mul || elt_lhs(p) != elt_rhs(p) || edge_of(b, elt_lhs(p))->at[d] != bound ||
	    edge_of(b, elt_lhs(p))->from[d] != from)
		return mask_zero(b, o, x, d, from, bound);
	zeros = mask_zero(b, o, elt_lhs(p), d, from, bound);
	square = op_clone(o->parent, o, p, NULL, NULL);
	square->in[IN_elt_lhs] = square->in[IN_elt_rhs] = zeros;
	edge_set(b, square->out[0], edge_of(b, zeros));
	return square->out[0];
}

/* Returns x with the identity of reduction o in the elements that do not satisfy c. */
static Val *
without(Bounds *b, Op *o, Val *x, const MaskCond *c)
{
	DType t = x->type.dtype;

	if (o->code == O_reduce_max)
		return cond_mask(b, o, x, c, -(double)INFINITY, dtype_is_float(t) ? 0 : num_min(t));
	if (o->code == O_reduce_min)
		return cond_mask(b, o, x, c, (double)INFINITY, dtype_is_float(t) ? 0 : num_max(t));
	return cond_mask(b, o, x, c, 0, 0);
}

/* Does a reduction along d leave out elements that do not satisfy c? Else c leaves out whole lines, and
 * holds for the result. */
static bool
leaves_out_along(const MaskCond *c, int d)
{
	return c->dims >> d & 1 && (cond_varies(c, d) || c->dims == 1u << d);
}

void
edge_reduce(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	DType t = o->out[0]->type.dtype;
	TileBounds e = *edge_of(b, op_source(o)),
		   lines = e.nmore ? bounds_reduced(b, o, &e, d, &op_source(o)->type) : e;
	Val *bound = e.at[d], *from = e.from[d];

	for (int i = 0; i < e.nmore; i++)
		if (leaves_out_along(&e.more[i], d) &&
		    !(e.more[i].zero && o->code == O_reduce_sum))
			o->in[IN_op_source] = without(b, o, op_source(o), &e.more[i]);
	if ((bound || from) && o->code == O_reduce_max)
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, from, bound, -(double)INFINITY,
		                               dtype_is_float(t) ? 0 : num_min(t));
	else if ((bound || from) && o->code == O_reduce_min)
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, from, bound, (double)INFINITY,
		                               dtype_is_float(t) ? 0 : num_max(t));
	else if ((bound || from) && !(e.zero >> d & 1))
		o->in[IN_op_source] = cleared(b, o, op_source(o), d, from, bound);
	lines.at[d] = lines.from[d] = NULL;
	if (o->code != O_reduce_sum)
		bounds_forget_values(&lines);
	edge_set(b, o->out[0], &lines);
}

/* Is every element finite for any input, so that zero times it is zero? */
static bool
surely_finite(const Val *v)
{
	for (;;) {
		const Op *o = v->def;

		if (!dtype_is_float(v->type.dtype))
			return true;
		if (!o)
			return false;
		if (o->code == O_const)
			return isfinite(o->fimm) != 0;
		if (o->code != O_splat && o->code != O_broadcast && o->code != O_transpose &&
		    o->code != O_reshape)
			return false;
		v = op_source(o);
	}
}

/* Is the tile zero outside of [from, at) along d? */
static bool
is_zero_along(const Op *o, const TileBounds *e, int d, const Val *from, const Val *at)
{
	if ((e->at[d] || e->from[d]) && e->zero >> d & 1 && bound_same(o, e->at[d], at) &&
	    bound_same(o, e->from[d], from))
		return true;
	for (int i = 0; i < e->nmore; i++) {
		const MaskCond *c = &e->more[i];
		bool only = c->zero && !c->tile && c->coef[d] == 1;

		for (int j = 0; j < DIM_MAX; j++)
			only = only && (j == d || !c->coef[j]);
		if (only && bound_same(o, c->hi, at) && bound_same(o, c->lo, from))
			return true;
	}
	return false;
}

/* The same for operand i of a dot with bounds e. If it comes from shared memory, copies write the zeros,
 * which *e then says. */
static bool
zero_along(Bounds *b, const Op *o, int i, TileBounds *e, int d, const Val *from, const Val *at)
{
	TileBounds zeros = *e;

	if (is_zero_along(o, e, d, from, at))
		return true;
	zeros.zero = ~0u;
	for (int j = 0; j < e->nmore; j++)
		zeros.more[j].zero = true;
	if (!is_zero_along(o, &zeros, d, from, at) || !zeros_by_copies(b, o->in[i]))
		return false;
	*e = zeros;
	return true;
}

/* Returns a condition on k alone in terms of the other operand, whose k is dim `to`. */
static MaskCond
along_k(Op *o, const MaskCond *c, int k, int to)
{
	MaskCond r = { .dims = 1u << to, .lo = c->lo, .hi = c->hi, .tile = c->tile };

	r.coef[to] = c->coef[k];
	memcpy(r.axis, c->axis, sizeof r.axis);
	/* The other dims go, as the condition is the same along them. Of a tile without k, whose extent is
	 * 1 then, one element is left. */
	for (int i = c->tile ? c->tile->type.rank - 1 : -1; i >= 0; i--)
		if (r.axis[i] != k)
			cond_slice_tile(o, &r, i, 0, r.tile->type.rank > 1 ? 0 : 1);
	r.axis[0] = (int8_t)to;
	return r;
}

/* Adds to e, the bounds of a dot, those that follow from the conditions of operand `side` besides ranges. The
 * operand is masked by conditions that vary along k. Where conditions name k and other dims, lines that have
 * an element are in bounds, as in a sum. */
static void
dot_conditions(Bounds *b, Op *o, int side, const TileBounds *own, const TileBounds *other, TileBounds *e)
{
	const Type *x = &o->in[side]->type, *t = &o->out[0]->type;
	int m = dot_batch(o), k = side ? m : m + 1, k_other = side ? m + 1 : m;
	TileBounds lines = *own;

	lines.at[k] = bound_tighter(o, O_min, own->at[k], other->at[k_other]);
	lines.from[k] = bound_tighter(o, O_max, own->from[k], other->from[k_other]);
	for (int i = 0; i < own->nmore; i++) {
		const MaskCond *c = &own->more[i];

		if (!leaves_out_along(c, k))
			continue;
		if (!c->zero)
			o->in[side] = cond_mask(b, o, o->in[side], c, 0, 0);
		if (c->dims == 1u << k && !surely_finite(o->in[1 - side])) {
			MaskCond partner = along_k(o, c, k, k_other);

			if (outside_of(o, other, &partner, &o->in[1 - side]->type) == OUT_UNKNOWN)
				o->in[1 - side] = cond_mask(b, o, o->in[1 - side], &partner, 0, 0);
		}
	}
	if (!own->nmore)
		return;
	lines = bounds_reduced(b, o, &lines, k, x);
	for (int d = 0; d < x->rank; d++) {
		MaskCond c = cond_of_range(&lines, d);

		c.zero = c.finite = false;
		if (d != k && (c.lo || c.hi))
			cond_add(b, o, e, t, c);
	}
	for (int i = 0; i < lines.nmore; i++) {
		MaskCond c = lines.more[i];
		Type line = *x;

		line.shape[k] = 1;
		c.coef[k] = 0;
		cond_add(b, o, e, t, cond_placed(o, &c, &line, t, 0));
	}
}

/* Returns the tighter of two ends or fronts along a dim with this extent. */
static Val *
tighter_along(Bounds *b, Op *o, Val *x, Val *y, bool front, int64_t extent)
{
	if (x && y && bound_implies(b, o, x, y, front, extent))
		return x;
	if (x && y && bound_implies(b, o, y, x, front, extent))
		return y;
	return bound_tighter(o, front ? O_max : O_min, x, y);
}

/* The accumulator's conditions hold for the result, in which nothing is known of elements out of bounds. */
static void
accumulator_conditions(Bounds *b, Op *o, const TileBounds *acc, TileBounds *e)
{
	const Type *t = &o->out[0]->type;

	for (int d = 0; d < t->rank; d++) {
		e->at[d] = bound_tighter(o, O_min, e->at[d], acc->at[d]);
		e->from[d] = bound_tighter(o, O_max, e->from[d], acc->from[d]);
	}
	for (int i = 0; i < acc->nmore; i++) {
		MaskCond c = acc->more[i];

		c.zero = c.finite = false;
		cond_add(b, o, e, t, c);
	}
}

void
edge_dot(Bounds *b, Op *o)
{
	TileBounds ea = *edge_of(b, mma_a(o)), eb = *edge_of(b, mma_b(o)), e = { .zero = 0 };
	int m = dot_batch(o), n = m + 1;
	int64_t extent = mma_a(o)->type.shape[n];
	Val *own[2] = { ea.at[n], eb.at[m] }, *k = tighter_along(b, o, own[0], own[1], false, extent);
	Val *first[2] = { ea.from[n], eb.from[m] };
	Val *from = tighter_along(b, o, first[0], first[1], true, extent);
	bool zero[2], flt = dtype_is_float(mma_a(o)->type.dtype);

	for (int i = 0; i < 2; i++)
		zero[i] = zero_along(b, o, i, i ? &eb : &ea, n - i, from, k);
	for (int i = 0; i < 2 && (k || from); i++) {
		bool other = zero[1 - i] && (!flt || surely_finite(o->in[i]));

		if (zero[i] || other)
			continue;
		if (bound_same(o, own[i], k) && bound_same(o, first[i], from))
			o->in[i] = mask_zero(b, o, o->in[i], n - i, from, k);
		else /* its other elements may be used elsewhere */
			o->in[i] = mask_new(b, o, o->in[i], n - i, from, k, 0, 0);
		zero[i] = true;
	}
	for (int i = 0; i < 2; i++)
		dot_conditions(b, o, i, i ? &eb : &ea, i ? &ea : &eb, &e);
	for (int d = 0; d < m; d++) {
		Val *at = bound_tighter(o, O_min, ea.at[d], eb.at[d]);
		Val *start = bound_tighter(o, O_max, ea.from[d], eb.from[d]);

		e.at[d] = bound_tighter(o, O_min, e.at[d], at);
		e.from[d] = bound_tighter(o, O_max, e.from[d], start);
	}
	e.at[m] = bound_tighter(o, O_min, e.at[m], ea.at[m]);
	e.at[n] = bound_tighter(o, O_min, e.at[n], eb.at[n]);
	e.from[m] = bound_tighter(o, O_max, e.from[m], ea.from[m]);
	e.from[n] = bound_tighter(o, O_max, e.from[n], eb.from[n]);
	if (mma_acc(o))
		accumulator_conditions(b, o, edge_of(b, mma_acc(o)), &e);
	edge_set(b, o->out[0], &e);
}

/* Operands in shared memory cannot be masked: their missing elements are zeros. The result has no bounds. */
void
edge_wgmma(Bounds *b, Op *o)
{
	for (int i = 0; i < 2; i++)
		if (o->in[i]->type.space == S_shared)
			zeros_in_memory(b, o, view_root(o->in[i]));
}

/* The end of the positions must not cut a group, whose positions would not increase. Values past their end
 * must be zero. The result has twice as many elements along the dim as the values. */
void
edge_sparse_expand(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	Val *end = edge_of(b, sparse_positions(o))->at[d];
	Val *from = edge_of(b, sparse_positions(o))->from[d], *own, *first;
	TileBounds e;
	Sparse s;

	if (end && sparse_of(&sparse_values(o)->type, &sparse_positions(o)->type, d, &s) &&
	    (val_fact(b->k, end).mult % s.npos || (from && val_fact(b->k, from).mult % s.npos)))
		bounds_error(b, o,
		             "the positions may end within a group of %d; `assume` that their last dimension "
		             "is a multiple of %d",
		             s.npos, s.npos);
	for (int i = 0; i < edge_of(b, sparse_values(o))->nmore; i++)
		if (edge_of(b, sparse_values(o))->more[i].dims >> d & 1)
			bounds_error(b, o,
			             "which of the sparse values are out of bounds is not one range along "
			             "their last dimension; use `fill(x, 0)` of the values");
	own = edge_of(b, sparse_values(o))->at[d];
	first = edge_of(b, sparse_values(o))->from[d];
	if (own && !(edge_of(b, sparse_values(o))->zero >> d & 1))
		o->in[IN_sparse_values] = mask_zero(b, o, sparse_values(o), d, first, own);
	e = *edge_of(b, sparse_values(o));
	if (own)
		e.at[d] = ir_bin(o->parent, o, O_mul, own, ir_const(o->parent, o, 2));
	if (first)
		e.from[d] = ir_bin(o->parent, o, O_mul, first, ir_const(o->parent, o, 2));
	edge_set(b, o->out[0], &e);
}
