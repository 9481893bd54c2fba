/* gather_to_slice.c - pass gather_to_slice: replaces index tiles of views by slices if range analysis
 * proves the indices affine.
 *
 * X[b, l + i64(iota(0, 256))] selects the same elements as X[b, l :+ 256], but a gather accesses one
 * element at a time. Index tiles are analyzed as a start plus a step along each dim: iota, scalars, sums,
 * multiplications by a constant, casts, broadcasts, and reshapes that add dims of extent 1, if range
 * analysis excludes overflow. Index tiles become a slice if each of their dims steps along a different dim
 * of the tensor, in the same order: X[reshape(m + i, 16, 1), n + j] is X[m :+ 16, n :+ 64]. If only the
 * first or last index tile does, only that one is replaced: X[reshape(rows, 16, 1), n + j] is X[rows, n :+
 * 64].
 *
 * requires   pass mask_bounds is done: gathered elements outside a tensor exist and are 0, those outside a
 *            slice do not exist, and the IR has the masks for that
 * preserves  what the kernel computes; steps below 1 stay indices, and those into shared tiles, whose
 *            slices must be in bounds
 * produces   unused index tiles, for dce */
#include "hexc/pass/pass.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/dtype_value.h"

enum { DEPTH = 16 };

/* Element (i, j, ..) is start + step[0] * i + step[1] * j ..; start is an i64 scalar, NULL: 0. */
typedef struct AffineIndex {
	Val *start;
	int64_t step[DIM_MAX];
} AffineIndex;

typedef struct GatherToSlice {
	Kernel *k;
	Op *at; /* insertion point: before this op */
} GatherToSlice;

static bool line_of(GatherToSlice *a, Val *v, int depth, AffineIndex *out);

/* Does no element of a tile of type t overflow? Excludes starts and steps near the limits of 64 bits. */
static bool
line_fits(const GatherToSlice *a, const Type *t, const AffineIndex *x)
{
	const int64_t most = INT64_MAX >> 3, step_most = most / (2 * DIM_MAX);
	int64_t lo = t->dtype == D_i64 ? -most : num_min(t->dtype);
	int64_t hi = t->dtype == D_i64 ? most : num_max(t->dtype), far;
	Fact f = x->start ? val_fact_at(a->k, a->at, x->start) : (Fact){ 0, 0, 0 };

	for (int d = 0; d < t->rank; d++) {
		if (!mul64(x->step[d], t->shape[d] - 1, &far) || far > step_most || far < -step_most)
			return false;
		lo -= min64(far, 0);
		hi -= max64(far, 0);
	}
	return f.lo >= lo && f.hi <= hi;
}

static bool
line_const(GatherToSlice *a, int64_t c, AffineIndex *out)
{
	*out = (AffineIndex){ c ? ir_const(a->at->parent, a->at, c) : NULL, { 0 } };
	return true;
}

static bool
line_splat(GatherToSlice *a, Val *s, AffineIndex *out)
{
	Type t = type_index();

	if (s->type.dtype != D_i64)
		s = op_new(a->at->parent, a->at, O_cast, a->at->src, 1, &s, 1, &t)->out[0];
	*out = (AffineIndex){ s, { 0 } };
	return true;
}

static bool
line_sum(GatherToSlice *a, const Op *o, int depth, AffineIndex *out)
{
	AffineIndex x, y;
	Block *b = a->at->parent;

	if (!line_of(a, elt_lhs(o), depth, &x) || !line_of(a, elt_rhs(o), depth, &y))
		return false;
	out->start = x.start;
	if (y.start)
		out->start = ir_bin(b, a->at, o->code, x.start ? x.start : ir_const(b, a->at, 0), y.start);
	for (int d = 0; d < DIM_MAX; d++)
		if (!i64_eval(o->code, x.step[d], y.step[d], &out->step[d]))
			return false;
	return true;
}

static bool
line_product(GatherToSlice *a, const Op *o, int depth, AffineIndex *out)
{
	for (int i = 0; i < 2; i++) {
		const Op *c = o->in[i]->def;

		if (!c || c->code != O_const)
			continue;
		if (!line_of(a, o->in[1 - i], depth, out))
			return false;
		for (int d = 0; d < DIM_MAX; d++)
			if (!mul64(out->step[d], IMM(c, value), &out->step[d]))
				return false;
		if (out->start)
			out->start = ir_bin(a->at->parent, a->at, O_mul, out->start,
			                    ir_const(a->at->parent, a->at, IMM(c, value)));
		return true;
	}
	return false;
}

/* Analyzes a reshape that adds or removes dims of extent 1, or a broadcast. */
static bool
line_reshaped(GatherToSlice *a, const Op *o, int depth, AffineIndex *out)
{
	const Type *from = &op_source(o)->type, *to = &o->out[0]->type;
	AffineIndex x;
	int d = 0;

	if (!line_of(a, op_source(o), depth, &x))
		return false;
	*out = (AffineIndex){ x.start, { 0 } };
	for (int e = 0; e < from->rank; e++) {
		if (from->shape[e] == 1)
			continue;
		while (d < to->rank && to->shape[d] == 1)
			d++;
		if (d == to->rank || to->shape[d] != from->shape[e])
			return false;
		out->step[d++] = x.step[e];
	}
	return true;
}

static bool
line_broadcast(GatherToSlice *a, const Op *o, int depth, AffineIndex *out)
{
	const Type *from = &op_source(o)->type;
	int more = o->out[0]->type.rank - from->rank;
	AffineIndex x;

	if (!line_of(a, op_source(o), depth, &x))
		return false;
	*out = (AffineIndex){ x.start, { 0 } };
	for (int d = 0; d < from->rank; d++)
		out->step[more + d] = from->shape[d] == 1 ? 0 : x.step[d];
	return true;
}

static bool
line_of(GatherToSlice *a, Val *v, int depth, AffineIndex *out)
{
	const Op *o = v->def;
	DType d = v->type.dtype;
	bool found;

	if (!o || depth == 0 || (d != D_i32 && d != D_i64) || v->type.space != S_reg)
		return false;
	switch (o->code) {
	case O_const: found = line_const(a, IMM(o, value), out); break;
	case O_splat: found = line_splat(a, op_source(o), out); break;
	case O_cast: found = line_of(a, op_source(o), depth - 1, out); break;
	case O_add:
	case O_sub: found = line_sum(a, o, depth - 1, out); break;
	case O_mul: found = line_product(a, o, depth - 1, out); break;
	case O_reshape: found = line_reshaped(a, o, depth - 1, out); break;
	case O_broadcast: found = line_broadcast(a, o, depth - 1, out); break;
	case O_iota:
		*out = (AffineIndex){ NULL, { 0 } };
		out->step[IMM(o, dim)] = 1;
		found = true;
		break;
	default: return false;
	}
	return found && line_fits(a, &v->type, out);
}

/* Is dim d of the operand adjacent to the first gathered dim? No dim between them may be kept in the view. */
static bool
stays_in_place(const Op *view, int d)
{
	int first = view_operand_dim(view, view_gather_dim(view));

	for (int i = first + 1; i < d; i++)
		if (!(IMM(view, dropped) >> i & 1))
			return false;
	return true;
}

/* Returns the dim of its tile along which the index steps, upwards; -1: none, -2: several, or downwards. */
static int
line_dim(const AffineIndex *x, const Type *t)
{
	int dim = -1;

	for (int d = 0; d < t->rank; d++) {
		if (x->step[d] == 0 || t->shape[d] == 1) /* one index for all */
			continue;
		if (dim >= 0 || x->step[d] < 0)
			return -2;
		dim = d;
	}
	return dim;
}

/* Analyzes the view's index tiles, and finds the dim that each steps along (-1: none). Returns false unless
 * each dim occurs once, in order. */
static bool
view_lines(GatherToSlice *a, const Op *view, AffineIndex *line, int *dim)
{
	int next = 0, last = -1;

	for (int d = 0; d < view_source(view)->type.rank; d++) {
		dim[d] = -1;
		if (!view_gathers(view, d))
			continue;
		if (!line_of(a, view_start(view, d), DEPTH, &line[d]))
			return false;
		dim[d] = line_dim(&line[d], &view_start(view, d)->type);
		if (dim[d] == -1)
			continue;
		if (dim[d] != next++)
			return false;
		last = d;
	}
	return next == view_gather_rank(view) && stays_in_place(view, last);
}

static bool
make_slice(Kernel *k, Op *view)
{
	GatherToSlice a = { k, view };
	int64_t most = (int64_t)1 << 30, n;
	AffineIndex line[DIM_MAX];
	int dim[DIM_MAX], gathers = view_gather_dim(view);

	if (gathers < 0 || !view_lines(&a, view, line, dim))
		return false;
	for (int d = 0; d < view_source(view)->type.rank; d++)
		if (dim[d] >= 0 &&
		    line[d].step[dim[d]] > most / view->out[0]->type.shape[gathers + dim[d]])
			return false;
	for (int d = 0; d < view_source(view)->type.rank; d++) {
		int64_t bit = (int64_t)1 << d, dropped = IMM(view, dropped);

		if (!view_gathers(view, d))
			continue;
		view->in[IN_view_start + d] = line[d].start ? line[d].start : ir_const(view->parent, view, 0);
		IMM_SET(view, dropped, dim[d] >= 0 ? dropped & ~bit : dropped | bit);
		if (dim[d] < 0)
			continue;
		n = view->out[0]->type.shape[gathers + dim[d]];
		if (n > 1 && line[d].step[dim[d]] > 1)
			IMM_SET_AT(view, step, d, line[d].step[dim[d]]);
	}
	return true;
}

/* Do the other index tiles have extent 1 along dim e? */
static bool
is_alone(const Op *view, int d, int e)
{
	int others = 0;

	for (int i = 0; i < view_source(view)->type.rank; i++) {
		if (i == d || !view_gathers(view, i))
			continue;
		if (view_start(view, i)->type.shape[e] != 1)
			return false;
		others++;
	}
	return others > 0;
}

/* Returns the next gathered dim of the operand after d; -1 if there is none, or if a kept dim is in
 * between. */
static int
gathered_next(const Op *view, int d)
{
	for (int i = d + 1; i < view_source(view)->type.rank; i++)
		if (view_gathers(view, i))
			return i;
		else if (!(IMM(view, dropped) >> i & 1))
			return -1;
	return -1;
}

/* Reshapes index tile v to drop dim e, of extent 1. */
static Val *
put_without(Op *view, Val *v, int e)
{
	Type t = type_free(v->type);

	for (int i = e; i + 1 < t.rank; i++)
		t.shape[i] = t.shape[i + 1];
	t.rank--;
	return op_new(view->parent, view, O_reshape, view->src, 1, &v, 1, &t)->out[0];
}

/* Replaces only the index tile of dim d, which steps along its first or last dim, by a slice. */
static bool
make_part(Kernel *k, Op *view, int d)
{
	GatherToSlice a = { k, view };
	int rank = view_gather_rank(view), next = gathered_next(view, d), e;
	int64_t most = (int64_t)1 << 30, n;
	AffineIndex line;
	bool first = view_operand_dim(view, view_gather_dim(view)) == d;

	if (!view_gathers(view, d) || rank < 2 || !line_of(&a, view_start(view, d), DEPTH, &line))
		return false;
	e = line_dim(&line, &view_start(view, d)->type);
	if (first ? e != 0 || next < 0 : e != rank - 1 || !stays_in_place(view, d))
		return false;
	n = view->out[0]->type.shape[view_gather_dim(view) + e];
	if (line.step[e] > most / n || !is_alone(view, d, e))
		return false;
	IMM_SET(view, dropped, IMM(view, dropped) & ~((int64_t)1 << (first ? next : d)));
	for (int i = 0; i < view_source(view)->type.rank; i++)
		if (i != d && view_gathers(view, i))
			view->in[IN_view_start + i] = put_without(view, view_start(view, i), e);
	view->in[IN_view_start + d] = line.start ? line.start : ir_const(view->parent, view, 0);
	if (n > 1 && line.step[e] > 1)
		IMM_SET_AT(view, step, d, line.step[e]);
	return true;
}

static bool
make_parts(Kernel *k, Op *view)
{
	bool changed = false;

	for (int d = 0; view_gather_dim(view) >= 0 && d < view_source(view)->type.rank; d++)
		changed |= make_part(k, view, d);
	return changed;
}

bool
pass_gather_to_slice(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_view && view_source(o)->type.space == S_global)
			changed |= make_slice(k, o) || make_parts(k, o);
	return changed;
}
