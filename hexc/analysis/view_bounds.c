/* view_bounds.c - determines for views whether they are in bounds, their alignment and their contiguous
 * dim. */
#include "hexc/analysis/value_range.h"
#include <string.h>

enum { CHAIN = 8 };

/* Is the view in bounds along dim d of its operand? `own`: also of the bounds of its own, and of those
 * of views that it is a view of. */
static bool
in_bounds(Kernel *k, const Op *view, int d, bool own)
{
	Val *start[CHAIN], *first;
	const Op *o = view;
	int n = 0;
	int64_t extent = view_span(view, d), most = 0, end, size;
	bool fits = true; /* most is an upper bound of the sum of the starts */
	const Param *p;

	if (view_gathers(view, d))
		return true; /* each access checks its indices */
	/* A view of a view must be in bounds of it; then only the sum of the starts is significant. */
	for (;;) {
		Fact f = val_fact(k, view_start(o, d));
		start[n++] = view_start(o, d);
		fits = fits && add64(most, f.hi, &most);
		if (f.lo < 0)
			return false;
		if (own && (first = view_from(o, d)) && !prove_inside(k, view, &first, 1, 0, start[n - 1]))
			return false;
		if (own && view_below(o, d) && !prove_inside(k, view, start, n, extent, view_below(o, d)))
			return false;
		if (!view_source(o)->def || view_source(o)->def->code != O_view)
			break;
		if (n == CHAIN || f.hi > view_source(o)->type.shape[d] - view_span(o, d))
			return false;
		o = view_source(o)->def;
		d = view_operand_dim(o, d);
		extent = (extent - 1) * view_step(o, d) + 1;
	}
	p = val_param(k, view_source(o));
	size = view_source(o)->type.shape[d];
	if (fits && size >= 0 && add64(most, extent, &end) && end <= size)
		return true;
	if (!p || p->kind != P_tensor || !p->size[d])
		return false;
	return prove_inside(k, view, start, n, extent, p->size[d]);
}

bool
view_operand_in_bounds(Kernel *k, const Op *view, int d)
{
	return in_bounds(k, view, d, true);
}

bool
view_operand_in_tensor(Kernel *k, const Op *view, int d)
{
	return in_bounds(k, view, d, false);
}

/* Returns the view of the tensor itself below the view, and *d, a dim of its operand, in its terms. */
static const Op *
lowest(const Op *view, int *d)
{
	while (view_source(view)->def && view_source(view)->def->code == O_view) {
		view = view_source(view)->def;
		*d = view_operand_dim(view, *d);
	}
	return view;
}

Val *
view_first(const Op *view, int d)
{
	view = lowest(view, &d);
	return view_from(view, d);
}

Val *
view_end(const Kernel *k, const Op *view, int d)
{
	const Param *p;

	view = lowest(view, &d);
	p = val_param(k, view_source(view));
	return view_below(view, d) ? view_below(view, d) : p ? p->size[d] : NULL;
}

bool
view_in_bounds(Kernel *k, const Op *view, int d)
{
	return view->code != O_view || view_operand_in_bounds(k, view, view_operand_dim(view, d));
}

/* ---- the contiguous dim -------------------------------------------------------------------------- */

/* The view dim of the root's dim d; -1: dropped. */
static int
root_to_view(const Op *view, int d)
{
	if (view_source(view)->def && view_source(view)->def->code == O_view)
		d = root_to_view(view_source(view)->def, d);
	return d < 0 ? d : view_result_dim(view, d);
}

/* Returns the root's dim of stride 1, or -1. Among several (extents of 1 cause these): one along which the
 * view has more than one element, else the last. */
static int
root_unit_dim(Kernel *k, const Op *view, const Val *root)
{
	const Param *p = val_param(k, root);
	int best = -1;
	bool along = false;

	if (!p)
		return root->type.rank - 1;
	for (int d = 0; d < root->type.rank; d++) {
		Fact f = val_fact(k, p->stride[d]);
		int r = root_to_view(view, d);
		bool runs = r >= 0 && view->out[0]->type.shape[r] > 1;
		if (f.lo != 1 || f.hi != 1 || (along && !runs))
			continue;
		best = d;
		along = runs;
	}
	return best;
}

/* Is the view strided along dim d, relative to its root? */
static bool
steps_along(const Op *view, int d)
{
	for (; view && view->code == O_view; view = view_source(view)->def) {
		d = view_operand_dim(view, d);
		if (view_step(view, d) != 1)
			return true;
	}
	return false;
}

int
view_unit_dim(Kernel *k, const Op *view)
{
	int d;

	if (view->code != O_view)
		return view->out[0]->type.rank - 1;
	d = root_unit_dim(k, view, view_root(view_source(view)));
	d = d < 0 ? -1 : root_to_view(view, d);
	return d >= 0 && (view_is_gathered(view, d) || steps_along(view, d)) ? -1 : d;
}

/* Largest power of two, <= cap, that divides every value with divisor `mult`. */
static int64_t
pow2_of(int64_t mult, int64_t cap)
{
	int64_t p = mult ? pow2_part(mult) : cap;

	return p < cap ? p : cap;
}

/* The root's dim that corresponds to dim d of o's operand. */
static int
root_dim(const Op *o, int d)
{
	while (view_source(o)->def && view_source(o)->def->code == O_view) {
		o = view_source(o)->def;
		d = view_operand_dim(o, d);
	}
	return d;
}

/* Alignment that the starts of view o leave, by range analysis at op `at`: start * stride, for each dim. */
static int64_t
align_starts(Kernel *k, const Op *at, const Op *o, const Param *p, int64_t cap)
{
	for (int d = 0; d < view_source(o)->type.rank; d++) {
		int64_t s = pow2_of(val_fact_at(k, at, p->stride[root_dim(o, d)]).mult, cap);
		int64_t m = pow2_of(val_fact_at(k, at, view_start(o, d)).mult, cap);
		if (m < cap && s < cap / m)
			cap = s * m;
	}
	return cap;
}

int64_t
tensor_align(const Kernel *k, const Param *p)
{
	int64_t bits = dtype_info[p->val->type.dtype].bits, align = TENSOR_ALIGN;

	for (int i = 0; i < k->nconstants && bits % 8 == 0 && !p->pack; i++)
		if (strcmp(k->constants[i].name, "ALIGN") == 0)
			align = k->constants[i].value;
	return align * 8 < bits ? bits / 8 : align;
}

int64_t
view_align(Kernel *k, const Op *view, int64_t cap)
{
	const Val *root;
	const Param *p;
	int unit;

	if (view->code != O_view)
		return 1;
	root = view_root(view_source(view));
	p = val_param(k, root);
	unit = p ? root_unit_dim(k, view, root) : -1;
	if (unit < 0 || view_unit_dim(k, view) < 0)
		return 1;
	if (tensor_align(k, p) < TENSOR_ALIGN)
		cap = pow2_of(tensor_align(k, p) * 8 / dtype_info[root->type.dtype].bits, cap);
	for (int d = 0; d < root->type.rank; d++) {
		int r = root_to_view(view, d);
		if (d != unit && r >= 0 && view->out[0]->type.shape[r] > 1)
			cap = pow2_of(val_fact_at(k, view, p->stride[d]).mult, cap);
	}
	for (const Op *o = view; o && o->code == O_view; o = view_source(o)->def)
		cap = align_starts(k, view, o, p, cap);
	return cap;
}
