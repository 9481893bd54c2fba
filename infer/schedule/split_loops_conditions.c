/* split_loops_conditions.c - pass split_loops: derives from masks the linear forms of the loop counter for
 * which they are redundant.
 *
 * A comparison of tiles is true everywhere if the largest element on one side is below the smallest on the
 * other. For index tiles, which are sums of `iota` and scalars, both are linear forms. Narrow integer
 * arithmetic wraps around: that it does not is one more form. */
#include "hexc/ir/dtype_value.h"
#include "hexc/analysis/analysis.h"
#include "infer/schedule/split_loops.h"

enum { DEPTH = 16, VIEWS_MAX = 8 };

/* ---- forms ------------------------------------------------------------------------------------------- */

static int64_t
times_counter(const SplitIterations *t, const Lin *x)
{
	for (int i = 0; i < x->n; i++)
		if (x->t[i].v == t->body->arg[0])
			return x->t[i].k;
	return 0;
}

/* Is x, apart from the counter, defined over values from before the loop? */
static bool
is_fixed(const SplitIterations *t, const Lin *x)
{
	for (int i = 0; i < x->n; i++)
		if (x->t[i].v != t->body->arg[0] && block_inside(x->t[i].v->block, t->body))
			return false;
	return true;
}

/* Computes the range of x. Returns false if x may exceed COUNTER_MOST in magnitude, so that sums of it
 * could overflow. */
static bool
is_bounded(const SplitIterations *t, Lin x, int64_t *most)
{
	int64_t least;
	Asking a = fact_asking(t->k);
	Lin minus = lin_scale(x, -1, 1);

	if (!lin_least(&a, &x, &least) || !lin_least(&a, &minus, most) || *most <= -COUNTER_MOST)
		return false;
	*most = -*most;
	return least > -COUNTER_MOST;
}

/* Rewrites a form with a larger factor of the counter, as from x / 64 - counter >= 3, as a condition on the
 * loop's end: if it differs by a constant from the factor times (end - counter), *x becomes end - counter
 * minus a constant. */
static void
by_end(const SplitIterations *t, Lin *x)
{
	const Val *i = t->body->arg[0];
	int64_t by = -times_counter(t, x);
	Lin gap = lin_add(*x, lin_exact(t->loop, for_hi(t->loop)), -by);

	gap = lin_add(gap, lin_atom(i), by);
	if (by < 2 || !gap.ok || gap.n)
		return;
	*x = lin_add(lin_atom(for_hi(t->loop)), lin_atom(i), -1);
	*x = lin_add(*x, lin_const(floor_div(gap.c, gap.den * by)), 1);
}

/* Adds x >= 0 to f. With `throughout`, a form that rises with the counter is required in all iterations,
 * since waiting for it does not help. */
static bool
add_condition(const SplitIterations *t, Forms *f, Lin x, bool throughout)
{
	Asking a = fact_asking(t->k);
	int64_t by, most;
	SplitCondition form;

	if (lin_nonneg(&a, &x))
		return true;
	x.den = 1;
	by_end(t, &x);
	by = times_counter(t, &x);
	form = (SplitCondition){ x, (int)by };
	if (!x.ok || by < -1 || by > 1 || !is_fixed(t, &x))
		return false;
	if (by > 0 && throughout) {
		form.by = 0;
		form.lin = lin_add(form.lin, lin_atom(t->body->arg[0]), -by);
		form.lin = lin_add(form.lin, lin_exact(t->loop, for_lo(t->loop)), by);
	}
	if (!is_bounded(t, form.lin, &most) || most < 0)
		return false;
	VEC_PUSH(t->k->unit->arena, f->form, f->n, f->cap, form);
	return true;
}

void
forms_join(const SplitIterations *t, Forms *f, const Forms *more)
{
	for (int i = 0; i < more->n; i++) {
		bool known = false;

		for (int j = 0; j < f->n && !known; j++) {
			Lin gap = lin_add(f->form[j].lin, more->form[i].lin, -1);

			known = gap.ok && gap.n == 0;
			if (known && gap.c > 0)
				f->form[j] = more->form[i];
		}
		if (!known)
			VEC_PUSH(t->k->unit->arena, f->form, f->n, f->cap, more->form[i]);
	}
}

bool
forms_have(const Forms *f, int by)
{
	for (int i = 0; i < f->n; i++)
		if (f->form[i].by == by)
			return true;
	return false;
}

/* ---- integer tiles ----------------------------------------------------------------------------------- */

/* The smallest and the largest element. */
typedef struct LinearRange {
	Lin lo, hi;
} LinearRange;

static bool span_of(const SplitIterations *t, Forms *f, const Op *at, const Val *v, int depth,
		    LinearRange *out);

/* Requires that the span is in range of the type, so that the computation has not wrapped around. */
static bool
fits_type(const SplitIterations *t, Forms *f, DType d, const LinearRange *x)
{
	int64_t most;

	if (d == D_i64)
		return x->lo.ok && x->hi.ok && is_bounded(t, x->lo, &most) && is_bounded(t, x->hi, &most);
	return !dtype_past_i64(d) && add_condition(t, f, lin_add(x->lo, lin_const(num_min(d)), -1), true) &&
	       add_condition(t, f, lin_add(lin_const(num_max(d)), x->hi, -1), true);
}

static bool
span_sum(const SplitIterations *t, Forms *f, const Op *o, int depth, LinearRange *out)
{
	LinearRange x, y;

	if (!span_of(t, f, o, elt_lhs(o), depth, &x) || !span_of(t, f, o, elt_rhs(o), depth, &y))
		return false;
	out->lo = o->code == O_add ? lin_add(x.lo, y.lo, 1) : lin_add(x.lo, y.hi, -1);
	out->hi = o->code == O_add ? lin_add(x.hi, y.hi, 1) : lin_add(x.hi, y.lo, -1);
	return fits_type(t, f, o->out[0]->type.dtype, out);
}

static bool
span_product(const SplitIterations *t, Forms *f, const Op *o, int depth, LinearRange *out)
{
	LinearRange x, y;
	int64_t c;

	if (!span_of(t, f, o, elt_lhs(o), depth, &x) || !span_of(t, f, o, elt_rhs(o), depth, &y) ||
	    y.lo.n || y.hi.n || y.lo.den != 1 || y.lo.c != y.hi.c)
		return false;
	c = y.lo.c;
	out->lo = lin_scale(c < 0 ? x.hi : x.lo, c, 1);
	out->hi = lin_scale(c < 0 ? x.lo : x.hi, c, 1);
	return fits_type(t, f, o->out[0]->type.dtype, out);
}

/* Scalars that are not analyzed further. */
static bool
span_scalar(const Op *at, const Val *v, LinearRange *out)
{
	if (v->type.space != S_scalar)
		return false;
	out->lo = out->hi = type_is_index(&v->type) ? lin_exact(at, v) : lin_atom(v);
	return out->lo.ok;
}

static bool
span_of(const SplitIterations *t, Forms *f, const Op *at, const Val *v, int depth, LinearRange *out)
{
	const Op *o = v->def;

	if (dtype_is_float(v->type.dtype) || dtype_past_i64(v->type.dtype) || depth == 0)
		return false;
	if (!o || type_is_index(&v->type))
		return span_scalar(at, v, out);
	switch (o->code) {
	case O_const:
		out->lo = out->hi = lin_const(IMM(o, value));
		return true;
	case O_iota:
		out->lo = lin_const(0);
		out->hi = lin_const(v->type.shape[IMM(o, dim)] - 1);
		return fits_type(t, f, v->type.dtype, out);
	case O_cast:
		return span_of(t, f, o, op_source(o), depth - 1, out) && fits_type(t, f, v->type.dtype, out);
	case O_add:
	case O_sub: return span_sum(t, f, o, depth - 1, out);
	case O_mul: return span_product(t, f, o, depth - 1, out);
	default:
		return op_moved(o) ? span_of(t, f, o, op_moved(o), depth - 1, out) : span_scalar(at, v, out);
	}
}

/* ---- conditions -------------------------------------------------------------------------------------- */

/* Adds the forms by which the scalar is at least n: a minimum is where both operands are, a maximum with
 * a smaller constant where the other operand is. */
static bool
at_least(const SplitIterations *t, Forms *f, const Op *at, const Val *v, int64_t n, int depth)
{
	const Op *o = v->def;
	int64_t c;

	if (depth > 0 && o && o->code == O_min && block_inside(v->block, t->body))
		return at_least(t, f, at, elt_lhs(o), n, depth - 1) &&
		       at_least(t, f, at, elt_rhs(o), n, depth - 1);
	if (depth > 0 && o && o->code == O_max && val_is_const(elt_rhs(o), &c) && c < n)
		return at_least(t, f, at, elt_lhs(o), n, depth - 1);
	return add_condition(t, f, lin_add(lin_exact(at, v), lin_const(n), -1), false);
}

/* Returns the i64 scalar in each element of v, in its type without change; or NULL. */
static const Val *
index_in(Kernel *k, const Val *v)
{
	const Val *x;

	while (v->def && op_moved(v->def))
		v = op_moved(v->def);
	x = v->def && v->def->code == O_cast ? op_source(v->def) : NULL;
	if (!x || !type_is_index(&x->type) || val_fact(k, x).lo < num_min(v->type.dtype) ||
	    dtype_past_i64(v->type.dtype) || val_fact(k, x).hi > num_max(v->type.dtype))
		return NULL;
	return x;
}

static bool
compare(const SplitIterations *t, Forms *f, const Op *o, bool want, int depth)
{
	const Val *end = want ? index_in(t->k, elt_rhs(o)) : NULL;
	LinearRange x, y;
	Lin room;

	if (!span_of(t, f, o, elt_lhs(o), depth, &x))
		return false;
	if (end && x.hi.n == 0 && x.hi.den == 1)
		return at_least(t, f, o, end, x.hi.c + (o->code == O_lt), depth);
	if (!span_of(t, f, o, elt_rhs(o), depth, &y))
		return false;
	room = want ? lin_add(y.lo, x.hi, -1) : lin_add(x.lo, y.hi, -1);
	if ((o->code == O_lt) == want)
		room = lin_add(room, lin_const(1), -1);
	return add_condition(t, f, room, false);
}

static bool
condition(const SplitIterations *t, Forms *f, const Val *v, bool want, int depth)
{
	const Op *o = v->def;

	if (!o || depth == 0)
		return false;
	switch (o->code) {
	case O_const: return (IMM(o, value) != 0) == want;
	case O_not: return condition(t, f, o->in[0], !want, depth - 1);
	case O_and:
	case O_or:
		return (o->code == O_and) == want && condition(t, f, elt_lhs(o), want, depth - 1) &&
		       condition(t, f, elt_rhs(o), want, depth - 1);
	case O_lt:
	case O_le: return compare(t, f, o, want, depth - 1);
	default: return op_moved(o) && condition(t, f, op_moved(o), want, depth - 1);
	}
}

bool
forms_condition(const SplitIterations *t, Forms *f, const Val *v, bool want)
{
	return condition(t, f, v, want, DEPTH);
}

bool
forms_mask(const SplitIterations *t, Forms *f, const Op *o)
{
	int next = 0;

	for (int d = 0; d < o->out[0]->type.rank; d++)
		if (IMM(o, dims) >> d & 1 &&
		    !at_least(t, f, o, mask_bound(o, next++), o->out[0]->type.shape[d], DEPTH))
			return false;
	return true;
}

/* ---- views ------------------------------------------------------------------------------------------- */

/* The region that a view takes of a dim of its tensor. */
typedef struct TensorSlice {
	Val *start[VIEWS_MAX]; /* whose sum is its start */
	int n;
	int64_t extent;
} TensorSlice;

/* Adds the forms by which the slice ends at `end` or before; a minimum is where both operands are. */
static bool
ends_before(const SplitIterations *t, Forms *f, const Op *at, const TensorSlice *x, const Val *end, int depth)
{
	Lin room;

	if (prove_inside(t->k, at, x->start, x->n, x->extent, end))
		return true;
	if (depth > 0 && end->def && end->def->code == O_min && block_inside(end->block, t->body))
		return ends_before(t, f, at, x, elt_lhs(end->def), depth - 1) &&
		       ends_before(t, f, at, x, elt_rhs(end->def), depth - 1);
	room = lin_add(lin_exact(at, end), lin_const(x->extent), -1);
	for (int i = 0; i < x->n; i++)
		room = lin_add(room, lin_exact(at, x->start[i]), -1);
	return add_condition(t, f, room, false);
}

/* Adds the forms by which the slice begins at `first` or after, for its start; a maximum is where both
 * operands are. */
static bool
begins_after(const SplitIterations *t, Forms *f, const Op *at, Lin start, const Val *first, int depth)
{
	if (depth > 0 && first->def && first->def->code == O_max && block_inside(first->block, t->body))
		return begins_after(t, f, at, start, elt_lhs(first->def), depth - 1) &&
		       begins_after(t, f, at, start, elt_rhs(first->def), depth - 1);
	return add_condition(t, f, lin_add(start, lin_exact(at, first), -1), false);
}

/* Adds the forms for dim d of view o, and of the views below it down to the tensor. */
static bool
inside(const SplitIterations *t, Forms *f, const Op *o, int d)
{
	TensorSlice x = { .extent = view_span(o, d) };
	const Val *first = view_first(o, d), *end = view_end(t->k, o, d);
	const Op *at = o;
	Lin start = lin_const(0);

	for (;;) {
		x.start[x.n] = view_start(o, d);
		start = lin_add(start, lin_exact(o, x.start[x.n++]), 1);
		if (!view_source(o)->def || view_source(o)->def->code != O_view)
			break;
		if (x.n == VIEWS_MAX)
			return false;
		o = view_source(o)->def;
		d = view_operand_dim(o, d);
		x.extent = (x.extent - 1) * view_step(o, d) + 1;
	}
	return end && add_condition(t, f, start, true) &&
	       (!first || begins_after(t, f, at, start, first, DEPTH)) &&
	       ends_before(t, f, at, &x, end, DEPTH);
}

ViewDims
forms_view(const SplitIterations *t, Forms *f, const Op *o)
{
	ViewDims r = { .all = true };
	int unit = o->code == O_view ? view_unit_dim(t->k, o) : -1;
	bool outermost = true;

	for (; o && o->code == O_view; o = view_source(o)->def, outermost = false)
		for (int d = 0; d < view_source(o)->type.rank; d++) {
			int before = f->n, at = view_result_dim(o, d);

			if ((!outermost && at >= 0) || view_operand_in_bounds(t->k, o, d))
				continue;
			if (inside(t, f, o, d)) {
				r.n++;
				r.rows += !outermost || at < 0 || at != unit;
			} else {
				f->n = before;
				r.all = false;
			}
		}
	return r;
}
