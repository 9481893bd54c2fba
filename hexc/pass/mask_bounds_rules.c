/* mask_bounds_rules.c - implements the rules of pass mask_bounds for each op: bounds of its results, and
 * masks for its operands. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/sparse.h"
#include <math.h>

/* Combines bounds along a dim: the later first element, or the smaller upper bound. */
static Val *
joined(Op *o, OpCode code, Val *x, Val *y)
{
	if (!x || !y)
		return x ? x : y;
	return index_equal(o, x, y) ? x : ir_bin(o->parent, o, code, x, y);
}

static bool
same_bound(const Op *o, const Val *x, const Val *y)
{
	return x == y || (x && y && index_equal(o, x, y));
}

/* Returns x with out-of-bounds zeros along dim d. For a square its operand is masked, so that a sum remains a
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

void
edge_reduce(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	DType t = o->out[0]->type.dtype;
	TileBounds e = *edge_of(b, op_source(o));
	Val *bound = e.at[d], *from = e.from[d];

	if (bound && o->code == O_reduce_max)
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, from, bound, -(double)INFINITY,
		                               dtype_is_float(t) ? 0 : num_min(t));
	else if (bound && o->code == O_reduce_min)
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, from, bound, (double)INFINITY,
		                               dtype_is_float(t) ? 0 : num_max(t));
	else if (bound && !(e.zero >> d & 1))
		o->in[IN_op_source] = cleared(b, o, op_source(o), d, from, bound);
	e.at[d] = e.from[d] = NULL;
	if (o->code != O_reduce_sum)
		e.zero = 0;
	edge_set(b, o->out[0], &e);
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

void
edge_dot(Bounds *b, Op *o)
{
	TileBounds ea = *edge_of(b, mma_a(o)), eb = *edge_of(b, mma_b(o)), e = { .zero = 0 };
	int m = dot_batch(o), n = m + 1;
	Val *own[2] = { ea.at[n], eb.at[m] }, *k = joined(o, O_min, own[0], own[1]);
	Val *first[2] = { ea.from[n], eb.from[m] }, *from = joined(o, O_max, first[0], first[1]);
	bool zero[2], flt = dtype_is_float(mma_a(o)->type.dtype);

	zero[0] = own[0] && own[0] == k && first[0] == from && (ea.zero >> n & 1);
	zero[1] = own[1] && same_bound(o, own[1], k) && same_bound(o, first[1], from) && (eb.zero >> m & 1);
	for (int i = 0; i < 2 && k; i++) {
		bool other = zero[1 - i] && (!flt || surely_finite(o->in[i]));

		if (zero[i] || other)
			continue;
		o->in[i] = mask_zero(b, o, o->in[i], n - i, from, k);
		zero[i] = true;
	}
	for (int d = 0; d < m; d++) {
		e.at[d] = joined(o, O_min, ea.at[d], eb.at[d]);
		e.from[d] = joined(o, O_max, ea.from[d], eb.from[d]);
	}
	e.at[m] = ea.at[m];
	e.at[n] = eb.at[n];
	e.from[m] = ea.from[m];
	e.from[n] = eb.from[n];
	edge_set(b, o->out[0], &e);
}

/* Operands in shared memory cannot be masked: their copies fill zeros. The result has no bounds. */
void
edge_wgmma(Bounds *b, Op *o)
{
	(void)b;
	(void)o;
}

/* Values and metadata have the same end. A partial group would have positions that do not increase, and
 * elements past the values' end must be zero. */
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
		diag_error(b->k->unit->diag, o->src,
		           "the positions may end within a group of %d; `assume` that their last dimension "
		           "is a multiple of %d",
		           s.npos, s.npos);
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

/* The result has the bounds of the indices; index 0, out of bounds, may select any value. */
void
edge_lookup(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, lookup_index(o));

	e.zero = 0;
	edge_set(b, o->out[0], &e);
}

/* Along each dim the smallest upper bound and the largest first element of the operands. */
static TileBounds
edges_of_operands(Bounds *b, Op *o)
{
	TileBounds e = { .zero = 0 };

	for (int i = 0; i < o->nin; i++)
		for (int d = 0; d < o->out[0]->type.rank; d++) {
			const TileBounds *own = edge_of(b, o->in[i]);

			e.at[d] = joined(o, O_min, e.at[d], own->at[d]);
			e.from[d] = joined(o, O_max, e.from[d], own->from[d]);
		}
	return e;
}

void
edge_elt(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	edge_set(b, o->out[0], &e);
}

/* What is assigned to a part of a tile has the bounds of the tile. */
void
edge_select(Bounds *b, Op *o)
{
	TileBounds e;

	if (!IMM(o, part)) {
		edge_elt(b, o);
		return;
	}
	e = *edge_of(b, select_no(o));
	e.zero = 0;
	edge_set(b, o->out[0], &e);
}

/* Zero maps to zero, if the result type represents it: bits of zero bitcast to nf4 are not 0. */
void
edge_zero(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	if (!(fabs(num_outside(o->out[0]->type.dtype)) > 0))
		e.zero = edge_of(b, o->in[0])->zero;
	edge_set(b, o->out[0], &e);
}

/* Zeros map to zero if all operands are zero out of the same bounds. */
void
edge_zeros(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	e.zero = ~0u;
	for (int i = 0; i < o->nin; i++) {
		const TileBounds *own = edge_of(b, o->in[i]);

		e.zero &= own->zero;
		for (int d = 0; d < o->out[0]->type.rank; d++)
			if (e.at[d] && (!same_bound(o, own->at[d], e.at[d]) ||
			                !same_bound(o, own->from[d], e.from[d])))
				e.zero &= ~(1u << d);
	}
	edge_set(b, o->out[0], &e);
}

/* Returns the first element before which mask_new set x to zero along d; NULL: none. */
static Val *
cleared_front(const Val *x, int d)
{
	const Op *o = x->def, *less = o && o->code == O_select ? select_cond(o)->def : NULL;
	const Op *first = less && less->code == O_le ? elt_lhs(less)->def : NULL;
	const Op *at = less && less->code == O_le ? elt_rhs(less)->def : NULL;

	if (!first || first->code != O_splat || !at || at->code != O_iota || IMM(at, dim) != d)
		return NULL;
	first = op_source(first)->def; /* a cast of min(max(from, 0), extent) */
	for (int i = 0; first && i < 2; i++)
		first = first->in[0]->def;
	return first && first->code == O_max ? elt_lhs(first) : NULL;
}

void
edge_mask(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type;
	TileBounds e = *edge_of(b, mask_source(o));
	bool zero = dtype_is_float(t->dtype) ? o->fimm == 0 : IMM(o, fill) == 0;
	int in = 1;

	for (int d = 0; d < t->rank; d++) {
		if (!(IMM(o, dims) >> d & 1))
			continue;
		e.at[d] = zero ? o->in[in] : NULL;
		if (!zero)
			e.from[d] = NULL; /* elements before it were masked earlier */
		else if (!e.from[d])
			e.from[d] = cleared_front(mask_source(o), d);
		e.zero = zero ? e.zero | 1u << d : e.zero;
		in++;
	}
	if (!zero)
		e.zero = 0; /* the fill value is also out of bounds along the other dims */
	edge_set(b, o->out[0], &e);
}

void
edge_shape(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type, *x = &op_source(o)->type;
	const TileBounds *f = edge_of(b, op_source(o));
	TileBounds e = { .zero = 0 };
	int from = 0;

	if (t->space != S_reg)
		return;
	for (int d = 0; d < t->rank; d++) {
		if (o->code == O_transpose) {
			from = (int)IMM_AT(o, perm, d);
		} else if (o->code == O_broadcast) {
			from = d;
			if (x->shape[d] != t->shape[d])
				continue;
		} else if ((from = reshape_source(x, t, d)) < 0) {
			continue;
		}
		e.at[d] = f->at[from];
		e.from[d] = f->from[from];
		e.zero |= (f->zero >> from & 1) << d;
	}
	edge_set(b, o->out[0], &e);
}

/* A shared tile has the bounds of the only store that fills it ... */
void
edge_store(Bounds *b, Op *o)
{
	Val *tile = store_dest(o);

	if (tile->def && tile->def->code == O_alloc && tile->def->parent == o->parent &&
	    !b->copies[tile->id] && b->stores[tile->id] == 1)
		edge_set(b, tile, edge_of(b, store_value(o)));
}

/* ... or of the only copy. */
void
edge_copy(Bounds *b, Op *o)
{
	Val *tile = copy_dest(o);
	TileBounds e;

	if (!tile->def || tile->def->code != O_alloc || tile->def->parent != o->parent ||
	    b->copies[tile->id] != 1 || b->stores[tile->id])
		return;
	e = edges_of_memory(b, o, copy_source(o));
	edge_set(b, tile, &e);
}

void
edge_load(Bounds *b, Op *o)
{
	TileBounds e = edges_of_memory(b, o, load_source(o));

	edge_set(b, o->out[0], &e);
}

/* Elements move up: along that dim nothing is known. */
void
edge_shift(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, op_source(o));

	e.at[IMM(o, dim)] = e.from[IMM(o, dim)] = NULL;
	if (dtype_is_float(o->out[0]->type.dtype) ? o->fimm != 0 : IMM(o, fill_in) != 0)
		e.zero = 0;
	edge_set(b, o->out[0], &e);
}

void
edge_slice(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, op_source(o));
	Val **at = &e.at[IMM(o, dim)], **from = &e.from[IMM(o, dim)];

	if (*at && IMM(o, from))
		*at = ir_bin(o->parent, o, O_sub, *at, ir_const(o->parent, o, IMM(o, from)));
	if (*from && IMM(o, from))
		*from = ir_bin(o->parent, o, O_sub, *from, ir_const(o->parent, o, IMM(o, from)));
	edge_set(b, o->out[0], &e);
}

void
edge_whole(Bounds *b, Op *o)
{
	(void)b;
	(void)o;
}

void
edge_no_tile(Bounds *b, Op *o)
{
	(void)b;
	(void)o;
}
