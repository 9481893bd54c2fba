/* mask_bounds_rules.c - implements the rules of pass mask_bounds for each op: bounds of its results, and
 * masks for its operands. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include <math.h>

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

/* The op's identity instead of elements that do not satisfy c. */
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

static void
no_zeros(TileBounds *e)
{
	e->zero = e->finite = 0;
	for (int i = 0; i < e->nmore; i++)
		e->more[i].zero = e->more[i].finite = false;
}

void
edge_reduce(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	DType t = o->out[0]->type.dtype;
	TileBounds e = *edge_of(b, op_source(o)), lines = e.nmore ? bounds_reduced(b, o, &e, d, &op_source(o)->type) : e;
	Val *bound = e.at[d], *from = e.from[d];

	for (int i = 0; i < e.nmore; i++)
		if (e.more[i].dims >> d & 1 && cond_varies(&e.more[i], d) &&
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
		no_zeros(&lines);
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

/* What is known of an operand's elements outside of c: */
typedef enum Outside { OUT_UNKNOWN, OUT_FINITE, OUT_ZERO } Outside;

static Outside
outside_of(const Op *o, const TileBounds *own, const MaskCond *c, const Type *t)
{
	Outside r = OUT_UNKNOWN;

	for (int d = 0; d < t->rank; d++) {
		MaskCond range = cond_of_range(own, d);

		if ((own->at[d] || own->from[d]) && cond_equal(o, &range, c) && (range.zero || range.finite))
			r = range.zero ? OUT_ZERO : OUT_FINITE;
	}
	for (int i = 0; i < own->nmore; i++)
		if (cond_equal(o, &own->more[i], c) && (own->more[i].zero || own->more[i].finite))
			r = own->more[i].zero ? OUT_ZERO : OUT_FINITE;
	return r;
}

/* Is the tile zero outside of [from, at) along d? */
static bool
is_zero_along(const Op *o, const TileBounds *e, int d, const Val *from, const Val *at)
{
	if ((e->at[d] || e->from[d]) && e->zero >> d & 1 && same_bound(o, e->at[d], at) &&
	    same_bound(o, e->from[d], from))
		return true;
	for (int i = 0; i < e->nmore; i++) {
		const MaskCond *c = &e->more[i];
		bool only = c->zero && !c->tile && c->coef[d] == 1;

		for (int j = 0; j < DIM_MAX; j++)
			only = only && (j == d || !c->coef[j]);
		if (only && same_bound(o, c->hi, at) && same_bound(o, c->lo, from))
			return true;
	}
	return false;
}

/* A condition on k alone for the other factor, whose k is dim `to`. */
static MaskCond
along_k(Op *o, const MaskCond *c, int k, int to)
{
	MaskCond r = { .dims = 1u << to, .lo = c->lo, .hi = c->hi, .tile = c->tile };

	r.coef[to] = c->coef[k];
	memcpy(r.axis, c->axis, sizeof r.axis);
	for (int i = c->tile ? c->tile->type.rank - 1 : -1; i >= 0; i--)
		if (r.axis[i] != k && r.tile->type.rank > 1)
			cond_slice_tile(o, &r, i, 0, 0);
	r.axis[0] = (int8_t)to;
	return r;
}

/* Conditions of a dot from those of operand `side`, besides ranges. Those on k clear the operand; those on k and
 * other dims leave lines with an element, as in a sum. */
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

		if (!(c->dims >> k & 1))
			continue;
		if (!cond_varies(c, k))
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
	for (int i = 0; i < lines.nmore; i++) {
		MaskCond c = lines.more[i];
		Type line = *x;

		line.shape[k] = 1;
		c.coef[k] = 0;
		cond_add(b, o, e, t, cond_placed(o, &c, &line, t, 0));
	}
}

void
edge_dot(Bounds *b, Op *o)
{
	TileBounds ea = *edge_of(b, mma_a(o)), eb = *edge_of(b, mma_b(o)), e = { .zero = 0 };
	int m = dot_batch(o), n = m + 1;
	Val *own[2] = { ea.at[n], eb.at[m] }, *k = bound_tighter(o, O_min, own[0], own[1]);
	Val *first[2] = { ea.from[n], eb.from[m] }, *from = bound_tighter(o, O_max, first[0], first[1]);
	bool zero[2], flt = dtype_is_float(mma_a(o)->type.dtype);

	for (int i = 0; i < 2; i++)
		zero[i] = is_zero_along(o, i ? &eb : &ea, n - i, from, k);
	for (int i = 0; i < 2 && (k || from); i++) {
		bool other = zero[1 - i] && (!flt || surely_finite(o->in[i]));

		if (zero[i] || other)
			continue;
		if (same_bound(o, own[i], k) && same_bound(o, first[i], from))
			o->in[i] = mask_zero(b, o, o->in[i], n - i, from, k);
		else /* its other elements may be used elsewhere */
			o->in[i] = mask_new(b, o, o->in[i], n - i, from, k, 0, 0);
		zero[i] = true;
	}
	for (int i = 0; i < 2; i++)
		dot_conditions(b, o, i, i ? &eb : &ea, i ? &ea : &eb, &e);
	for (int d = 0; d < m; d++) {
		e.at[d] = bound_tighter(o, O_min, ea.at[d], eb.at[d]);
		e.from[d] = bound_tighter(o, O_max, ea.from[d], eb.from[d]);
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

/* The conditions that name dim d. */
static TileBounds
bounds_along(const TileBounds *e, int d)
{
	TileBounds r = { .zero = 0 };

	r.at[d] = e->at[d];
	r.from[d] = e->from[d];
	for (int i = 0; i < e->nmore; i++)
		if (e->more[i].dims >> d & 1)
			r.more[r.nmore++] = e->more[i];
	return r;
}

/* The result has the bounds of the indices; index 0, out of bounds, may select any value. */
void
edge_lookup(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, lookup_index(o)), table = *edge_of(b, lookup_table(o)), along;
	const Type *x = &lookup_table(o)->type, *t = &o->out[0]->type;
	int last = x->rank - 1;

	no_zeros(&e);
	if (o->code == O_gather && bounds_known(&table)) {
		along = bounds_along(&table, last);
		o->in[IN_lookup_table] = mask_all(b, o, lookup_table(o), &along, 0, 0);
		for (int d = 0; d < last; d++) {
			MaskCond c = cond_of_range(&table, d);

			c.zero = c.finite = false;
			if (c.lo || c.hi)
				cond_add(b, o, &e, t, cond_placed(o, &c, x, t, 0));
		}
		for (int i = 0; i < table.nmore; i++) {
			MaskCond c = table.more[i];

			c.zero = c.finite = false;
			if (!(c.dims >> last & 1))
				cond_add(b, o, &e, t, cond_placed(o, &c, x, t, 0));
		}
	}
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

			e.at[d] = bound_tighter(o, O_min, e.at[d], own->at[d]);
			e.from[d] = bound_tighter(o, O_max, e.from[d], own->from[d]);
		}
	for (int i = 0; i < o->nin; i++) {
		const TileBounds *own = edge_of(b, o->in[i]);

		for (int j = 0; j < own->nmore; j++) {
			MaskCond c = own->more[j];

			c.zero = c.finite = false;
			cond_add(b, o, &e, &o->out[0]->type, c);
		}
	}
	return e;
}

void
edge_elt(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	edge_set(b, o->out[0], &e);
}

/* Of the result outside of c: zeros map to zero. Zero times a finite number is zero. `zeros`: the op maps zeros to
 * zero; finite numbers are only known to stay finite in a single operand. */
static Outside
outside_after(Bounds *b, Op *o, const MaskCond *c, bool zeros)
{
	int nzero = 0, nfinite = 0;

	for (int i = 0; i < o->nin; i++) {
		Outside x = outside_of(o, edge_of(b, o->in[i]), c, &o->out[0]->type);

		nzero += x == OUT_ZERO;
		nfinite += x == OUT_FINITE;
	}
	if (zeros && (nzero == o->nin || (o->code == O_mul && nzero && nzero + nfinite == o->nin)))
		return OUT_ZERO;
	return o->nin == 1 && nzero + nfinite == 1 ? OUT_FINITE : OUT_UNKNOWN;
}

static void
outside_all(Bounds *b, Op *o, TileBounds *e, bool zeros)
{
	e->zero = ~0u;
	e->finite = 0;
	for (int d = 0; d < o->out[0]->type.rank; d++) {
		MaskCond c = cond_of_range(e, d);
		Outside x = e->at[d] || e->from[d] ? outside_after(b, o, &c, zeros) : OUT_ZERO;

		if (x != OUT_ZERO)
			e->zero &= ~(1u << d);
		e->finite |= (unsigned)(x == OUT_FINITE) << d;
	}
	for (int i = 0; i < e->nmore; i++) {
		Outside x = outside_after(b, o, &e->more[i], zeros);

		e->more[i].zero = x == OUT_ZERO;
		e->more[i].finite = x == OUT_FINITE;
	}
}

/* A number in every element of type t. */
static Val *
numbers(Op *o, int64_t x, Type t)
{
	Val *v = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &t)->out[0];

	if (dtype_is_float(t.dtype))
		v->def->fimm = (double)x;
	else
		IMM_SET(v->def, value, x);
	return v;
}

/* Bit d: a condition of e names dim d. */
static unsigned
dims_named(const TileBounds *e, int rank)
{
	unsigned dims = 0;

	for (int d = 0; d < rank; d++)
		dims |= (unsigned)(e->at[d] || e->from[d]) << d;
	for (int i = 0; i < e->nmore; i++)
		dims |= e->more[i].dims;
	return dims;
}

/* What is assigned to a part of a tile is there as it was, and so are the tile's other elements. `part`: 1 + 2 * the
 * dims that the part cuts. */
void
edge_select(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type;
	const TileBounds *x = edge_of(b, select_yes(o)), *y = edge_of(b, select_no(o));
	Type cond = type_tile(D_bool, S_reg, t->rank, t->shape);
	MaskCond c = { .dims = (unsigned)(IMM(o, part) >> 1) };
	TileBounds e = { .zero = 0 };
	Val *in[3] = { select_cond(o) };

	if (!IMM(o, part)) {
		edge_elt(b, o);
		return;
	}
	if (!bounds_known(x) && !bounds_known(y))
		return;
	for (int i = 0; i < 2; i++) {
		in[1 + i] = inside_tile(o, i ? y : x, t);
		in[1 + i] = in[1 + i] ? in[1 + i] : numbers(o, 1, cond);
		c.dims |= dims_named(i ? y : x, t->rank);
	}
	in[0] = op_new(o->parent, o, O_select, o->src, 3, in, 1, &cond)->out[0];
	cond_set_tile(o, &c, in[0]);
	cond_add(b, o, &e, t, c);
	edge_set(b, o->out[0], &e);
}

/* Zero maps to zero, if the result type represents it: bits of zero bitcast to nf4 are not 0. */
void
edge_zero(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	outside_all(b, o, &e, !(fabs(num_outside(o->out[0]->type.dtype)) > 0) && !(fabs(num_outside(o->in[0]->type.dtype)) > 0 && o->code == O_bitcast));
	if (o->code == O_bitcast)
		e.finite = 0;
	edge_set(b, o->out[0], &e);
}

/* Zeros map to zero if all operands are zero out of the same bounds. */
void
edge_zeros(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	outside_all(b, o, &e, true);
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
		no_zeros(&e); /* the fill value is also out of bounds along the other dims */
	edge_set(b, o->out[0], &e);
}

static TileBounds
bounds_transposed(Op *o, const TileBounds *f)
{
	const Type *t = &o->out[0]->type;
	TileBounds e = { .nmore = f->nmore };

	for (int d = 0; d < t->rank; d++) {
		int from = (int)IMM_AT(o, perm, d);

		e.at[d] = f->at[from];
		e.from[d] = f->from[from];
		e.zero |= (f->zero >> from & 1) << d;
		e.finite |= (f->finite >> from & 1) << d;
		for (int i = 0; i < f->nmore; i++) {
			e.more[i].dims |= (f->more[i].dims >> from & 1) << d;
			e.more[i].coef[d] = f->more[i].coef[from];
		}
	}
	for (int i = 0; i < f->nmore; i++) {
		MaskCond *c = &e.more[i];

		c->lo = f->more[i].lo;
		c->hi = f->more[i].hi;
		c->zero = f->more[i].zero;
		c->finite = f->more[i].finite;
		c->tile = f->more[i].tile;
		for (int d = 0; d < t->rank; d++)
			for (int axis = 0; c->tile && axis < c->tile->type.rank; axis++)
				if (IMM_AT(o, perm, d) == f->more[i].axis[axis])
					c->axis[axis] = (int8_t)d;
	}
	return e;
}

/* A dim that is broadcast has all elements, or none. */
static TileBounds
bounds_broadcast(Bounds *b, Op *o, const TileBounds *f)
{
	const Type *t = &o->out[0]->type, *x = &op_source(o)->type;
	TileBounds e = { .zero = f->zero, .finite = f->finite };

	for (int d = 0; d < t->rank; d++) {
		MaskCond c = cond_of_range(f, d);

		if (x->shape[d] == t->shape[d]) {
			e.at[d] = f->at[d];
			e.from[d] = f->from[d];
			continue;
		}
		e.zero &= ~(1u << d);
		c.dims = 0;
		c.coef[d] = 0;
		cond_add(b, o, &e, t, c);
	}
	for (int i = 0; i < f->nmore; i++)
		cond_add(b, o, &e, t, cond_placed(o, &f->more[i], x, t, 0));
	return e;
}

void
edge_shape(Bounds *b, Op *o)
{
	const TileBounds *f = edge_of(b, op_source(o));
	TileBounds e;

	if (o->out[0]->type.space != S_reg)
		return;
	if (o->code == O_transpose)
		e = bounds_transposed(o, f);
	else if (o->code == O_broadcast)
		e = bounds_broadcast(b, o, f);
	else
		e = bounds_reshaped(b, o, f, &op_source(o)->type, &o->out[0]->type);
	edge_set(b, o->out[0], &e);
}

/* A write of elements with bounds e to memory value v: a shared tile has the bounds of what was last stored to each
 * part. Returns false if the part starts at a run-time position. */
static bool
written(Bounds *b, Op *o, Val *v, const TileBounds *e)
{
	Val *root = view_root(v);
	const Op *view = v->def;
	int64_t at[DIM_MAX];
	Type part = root->type;
	TileBounds now;

	if (!root->def || root->def->code != O_alloc)
		return true;
	if (root->id >= b->nwriter) {
		uint32_t n = root->id + root->id / 2 + 64;

		b->writer = arena_grow(b->k->unit->arena, b->writer, b->nwriter, n, sizeof(Op *));
		b->nwriter = n;
	}
	b->writer[root->id] = v == root && o->code == O_store ? o : NULL;
	if (v == root) {
		edge_set(b, root, e);
		return true;
	}
	if (!bounds_known(e) && !bounds_known(edge_of(b, root)))
		return true;
	if (view->code != O_view || view_source(view) != root)
		return false;
	for (int d = 0; d < root->type.rank; d++) {
		if (view_gathers(view, d) || !val_is_const(view_start(view, d), &at[d]) || view_step(view, d) != 1 ||
		    (view_result_dim(view, d) < 0 && bounds_known(e)))
			return false;
		part.shape[d] = view_span(view, d);
	}
	now = bounds_replaced(b, o, edge_of(b, root), e, at, &part, &root->type);
	edge_set(b, root, &now);
	return true;
}

/* A part at a run-time position has all elements, 0 where the value has none. */
void
edge_store(Bounds *b, Op *o)
{
	static const TileBounds all;
	TileBounds e = *edge_of(b, store_value(o));

	if (access_found(o)) { /* no old value where nothing is done */
		TileBounds old = store_dest(o)->type.space == S_global ? edges_of_memory(b, o, store_dest(o))
		                                                      : (TileBounds){ .zero = 0 };

		for (int d = 0; d < store_value(o)->type.rank; d++) {
			MaskCond c = cond_of_range(&e, d);

			cond_add(b, o, &old, &store_value(o)->type, c);
		}
		for (int i = 0; i < e.nmore; i++)
			cond_add(b, o, &old, &store_value(o)->type, e.more[i]);
		no_zeros(&old);
		edge_set(b, view_root(access_found(o)), &old);
	}
	if (store_dest(o)->type.space == S_global) {
		if (bounds_known(&e))
			VEC_PUSH(b->k->unit->arena, b->store, b->nstore, b->store_cap, ((MaskedStore){ o, e }));
		return;
	}
	if (IMM(o, update))
		return;
	if (written(b, o, store_dest(o), &e))
		return;
	o->in[IN_store_value] = mask_all(b, o, store_value(o), &e, 0, 0);
	edge_set(b, view_root(store_dest(o)), &all);
}

/* A copy that the program makes asynchronous brings zeros, which exist. */
void
edge_copy(Bounds *b, Op *o)
{
	static const TileBounds all;
	TileBounds e = { .zero = 0 };

	if (copy_dest(o)->type.space != S_shared) {
		e = edges_of_memory(b, o, copy_source(o));
		copy_leaves_out(b, o, &e);
		return;
	}
	if (!IMM(o, async) && !IMM(o, filled))
		e = edges_of_memory(b, o, copy_source(o));
	if (!written(b, o, copy_dest(o), &e))
		edge_set(b, view_root(copy_dest(o)), &all);
}

void
edge_load(Bounds *b, Op *o)
{
	TileBounds e;

	if (o->out[0]->type.space != S_reg)
		return; /* a scalar exists: out of bounds it is 0 */
	e = edges_of_memory(b, o, load_source(o));
	edge_set(b, o->out[0], &e);
}

/* The result has the operand's conditions. What comes from an element that does not exist is the value shifted
 * in: only elements in front of existing ones are moved onto those. */
void
edge_shift(Bounds *b, Op *o)
{
	const Val *x = op_source(o);
	TileBounds e = *edge_of(b, x);
	bool flt = dtype_is_float(x->type.dtype);
	int d = (int)IMM(o, dim);
	double f = flt ? o->fimm : 0;
	int64_t i = flt ? 0 : IMM(o, fill_in);

	for (int n = 0; n < e.nmore; n++)
		if (cond_varies(&e.more[n], d) && !(e.more[n].coef[d] && !e.more[n].lo))
			o->in[IN_op_source] = cond_mask(b, o, op_source(o), &e.more[n], f, i);
	if (e.from[d])
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, e.from[d], NULL, f, i);
	no_zeros(&e);
	edge_set(b, o->out[0], &e);
}

void
edge_slice(Bounds *b, Op *o)
{
	TileBounds e = bounds_sliced(o, edge_of(b, op_source(o)), (int)IMM(o, dim), IMM(o, from), &o->out[0]->type);

	(void)b;
	edge_set(b, o->out[0], &e);
}

void
edge_concat(Bounds *b, Op *o)
{
	const TileBounds *x = edge_of(b, concat_first(o)), *y = edge_of(b, concat_second(o));
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_joined(b, o, x, y, d, &concat_first(o)->type, &o->out[0]->type);

	edge_set(b, o->out[0], &e);
}

/* ---- ops on the bounds themselves ------------------------------------------------------------------ */

/* The op's result is x. */
static void
resolved(Bounds *b, Op *o, Val *x)
{
	if (!x->name)
		x->name = o->out[0]->name;
	replace_after(b, o->out[0], x);
	b->changed = true;
}

static Val *
splat(Op *o, Val *x, Type t)
{
	Type s = type_scalar(t.dtype);

	if (x->type.dtype != t.dtype)
		x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &s)->out[0];
	return op_new(o->parent, o, O_splat, o->src, 1, &x, 1, &t)->out[0];
}

void
edge_inside(Bounds *b, Op *o)
{
	Val *x = inside_tile(o, edge_of(b, op_source(o)), &o->out[0]->type);

	resolved(b, o, x ? x : numbers(o, 1, o->out[0]->type));
}

/* The part of e that is missing in front of other elements along d; conditions of whole lines are not. */
static TileBounds
bounds_ahead(const TileBounds *e, int d)
{
	TileBounds r = { .zero = e->zero };

	r.from[d] = e->from[d];
	for (int i = 0; i < e->nmore; i++)
		if (cond_varies(&e->more[i], d) && !(e->more[i].coef[d] && !e->more[i].lo))
			r.more[r.nmore++] = e->more[i];
	return r;
}

void
edge_fill(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, op_source(o));
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Val *x;

	if (IMM(o, ahead))
		e = bounds_ahead(&e, (int)IMM(o, ahead) - 1);
	x = mask_all(b, o, op_source(o), &e, flt ? o->fimm : 0, flt ? 0 : IMM(o, fill));
	if (x == op_source(o)) /* the same elements, without its bounds */
		x = op_new(o->parent, o, O_unmask, o->src, 1, &x, 1, &x->type)->out[0];
	resolved(b, o, x);
}

/* Sum along d of 1 where x is true and 0 elsewhere. */
static Val *
counted(Op *o, Val *x, int d)
{
	Type t = type_tile(D_i32, S_reg, x->type.rank, x->type.shape);
	Val *in[3] = { x, numbers(o, 1, t), numbers(o, 0, t) };

	in[0] = op_new(o->parent, o, O_select, o->src, 3, in, 1, &t)->out[0];
	t.shape[d] = 1;
	in[0] = op_new(o->parent, o, O_reduce_sum, o->src, 1, in, 1, &t)->out[0];
	IMM_SET(in[0]->def, dim, d);
	return in[0];
}

/* Is `at`, the end of a range that starts at element 0, above 0? It is a size minus a start. */
static bool
surely_some(Bounds *b, const Op *o, Val *from, Val *at)
{
	Val *start;

	if (from)
		return false;
	if (val_fact(b->k, at).lo > 0)
		return true;
	if (!at->def || at->def->code != O_sub)
		return false;
	start = elt_rhs(at->def);
	return val_fact(b->k, start).lo >= 0 && prove_inside(b->k, o, &start, 1, 1, elt_lhs(at->def));
}

/* Along one dim: whether an element exists, or how many. */
void
edge_inside_along(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_along(edge_of(b, op_source(o)), d);
	Type t = o->out[0]->type;
	int64_t n = op_source(o)->type.shape[d];
	Val *x, *from = e.from[d], *at = e.at[d];
	bool any = o->code == O_inside_any;

	if (e.nmore) {
		x = counted(o, inside_tile(o, &e, &op_source(o)->type), d);
		if (any) {
			Val *in[2] = { numbers(o, 0, x->type), x };

			x = op_new(o->parent, o, O_lt, o->src, 2, in, 1, &t)->out[0];
		} else if (t.dtype != D_i32) {
			x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &t)->out[0];
		}
		resolved(b, o, x);
		return;
	}
	if ((!from && !at) || (any && at && surely_some(b, o, from, at))) {
		resolved(b, o, numbers(o, any ? 1 : n, t));
		return;
	}
	x = ir_const(o->parent, o, n);
	x = at ? ir_bin(o->parent, o, O_min, x, at) : x;
	from = from ? ir_bin(o->parent, o, O_max, ir_const(o->parent, o, 0), from) : NULL;
	if (any) {
		x = ir_bin(o->parent, o, O_lt, from ? from : ir_const(o->parent, o, 0), x);
	} else {
		x = from ? ir_bin(o->parent, o, O_sub, x, from) : x;
		if (val_fact(b->k, x).lo < 0)
			x = ir_bin(o->parent, o, O_max, x, ir_const(o->parent, o, 0));
	}
	resolved(b, o, splat(o, x, t));
}

/* The first element of a range along a dim, or its end, as a scalar. */
void
edge_inside_end(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_along(edge_of(b, op_source(o)), d);
	int64_t n = op_source(o)->type.shape[d];
	Val *x = ir_const(o->parent, o, o->code == O_inside_end ? n : 0);
	bool tied = false;

	for (int i = 0; i < e.nmore; i++)
		tied = tied || cond_varies(&e.more[i], d);
	if (tied)
		diag_error(b->k->unit->diag, o->src,
		           "along dimension %d, which elements are in bounds differs from line to line: elements "
		           "cannot be taken in order; use `fill(x, value)` first",
		           d);
	if (o->code == O_inside_end && e.at[d])
		x = ir_bin(o->parent, o, O_min, x, e.at[d]);
	else if (o->code == O_inside_first && e.from[d])
		x = bound_clamped(o, e.from[d], n);
	resolved(b, o, x);
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
