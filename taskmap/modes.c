/* modes.c - inspects, splits, refines and exchanges the modes of a layout's dims. */
#include "taskmap/layout.h"
#include <string.h>

/* ---- structure of a dim ------------------------------------------------------------------------ */

int64_t
layout_run(const Layout *l, int dim, Axis axis)
{
	int64_t run = 1;

	for (Digit g = dim_digits(l, dim); g.it && g.it->axis == axis && g.it->stride == run; digit_next(&g))
		run *= g.it->extent;
	return run;
}

/* Consumes separate registers from digit *g on; *n: positions.  Returns false if one register serves several
 * positions. */
static bool
line_registers(Digit *g, int64_t *n)
{
	for (*n = 1; g->it && (g->it->axis == AX_reg || g->it->extent == 1); digit_next(g)) {
		if (g->it->extent > 1 && g->it->stride == 0)
			return false;
		*n *= g->it->extent;
	}
	return true;
}

bool
layout_line(const Layout *l, int dim, DimLine *out)
{
	Digit g = dim_digits(l, dim);
	DimLine r = { .lanes = 1, .stride = 1 };

	if (!line_registers(&g, &r.low))
		return false;
	for (; g.it && (g.it->axis == AX_lane || g.it->extent == 1); digit_next(&g)) {
		if (g.it->extent == 1)
			continue;
		if (r.lanes == 1)
			r.stride = g.it->stride;
		else if (g.it->stride != r.stride * r.lanes)
			return false;
		r.lanes *= g.it->extent;
	}
	if (!line_registers(&g, &r.high) || g.it)
		return false;
	*out = r;
	return true;
}

void
layout_project(Layout *out, const Layout *l, int dim, Axis axis)
{
	Layout r;

	layout_init(&r, 1);
	for (Digit g = dim_digits(l, dim); g.it; digit_next(&g))
		if (g.it->axis == axis)
			layout_push(&r, 0, g.it->extent, g.it->stride, axis);
	*out = r;
}

int
layout_by_stride(const Layout *l, Axis axis, int *order)
{
	int n = 0;

	for (int i = 0; i < l->n; i++) {
		int at = n;

		if (l->it[i].axis != axis || l->it[i].stride == 0 || l->it[i].extent == 1)
			continue;
		for (n++; at > 0 && l->it[order[at - 1]].stride > l->it[i].stride; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	return n;
}

/* ---- splitting and moving digits ------------------------------------------------------------------- */

bool
layout_split(Layout *l, int dim, int64_t weight)
{
	Digit g = dim_digits(l, dim);

	for (; g.it && g.weight != weight; digit_next(&g)) {
		Iter *it = &l->it[g.at];
		int64_t e = it->extent, q = weight / g.weight;

		if (weight < 1 || weight % g.weight)
			return false;
		if (q % e == 0)
			continue;
		if (e % q || l->n >= ITER_MAX)
			return false;
		memmove(it + 1, it, sizeof *it * (size_t)(l->n - g.at));
		it[0].extent = q;
		it[0].close = 0;
		it[1].extent = e / q;
		it[1].stride = it[0].stride * q;
		it[1].open = 0;
		l->n++;
		for (int d = dim + 1; d <= l->ndim; d++)
			l->first[d]++;
		return true;
	}
	return g.weight == weight;
}

bool
layout_refine(Layout *a, Layout *b, int dim, bool bits)
{
	Digit x = dim_digits(a, dim), y = dim_digits(b, dim);

	while (x.it && y.it) {
		int64_t e = min64(x.it->extent, y.it->extent);

		if (bits && x.it->extent % 2 == 0 && y.it->extent % 2 == 0)
			e = 2;
		if (!layout_split(a, dim, x.weight * e) || !layout_split(b, dim, y.weight * e))
			return false;
		x = digit_at(a, dim, x.at + 1, x.weight * e);
		y = digit_at(b, dim, y.at + 1, y.weight * e);
	}
	return !x.it && !y.it;
}

bool
layout_swap_digits(Layout *l, int dim, int64_t lo, int64_t mid, int64_t hi)
{
	Layout r = *l;
	Iter low[ITER_MAX];
	int at, n, nlow = 0;
	Digit g;

	if (!layout_split(&r, dim, lo) || !layout_split(&r, dim, mid) || !layout_split(&r, dim, hi))
		return false;
	for (g = dim_digits(&r, dim); g.it && g.weight < lo; digit_next(&g))
		;
	for (at = g.at; g.it && g.weight < mid; digit_next(&g))
		low[nlow++] = *g.it;
	for (n = 0; g.it && g.weight < hi; digit_next(&g))
		n++;
	memmove(&r.it[at], &r.it[at + nlow], sizeof r.it[0] * (size_t)n);
	memcpy(&r.it[at + n], low, sizeof r.it[0] * (size_t)nlow);
	*l = r;
	return true;
}

Digit
layout_digit(const Layout *l, int dim, int64_t weight)
{
	Digit g = dim_digits(l, dim);

	while (g.it && (g.weight < weight || g.it->extent == 1))
		digit_next(&g);
	if (g.it && g.weight != weight)
		g.it = NULL;
	return g;
}

bool
layout_trade(Layout *l, int a, int64_t wa, int b, int64_t wb)
{
	Digit x = layout_digit(l, a, wa), y = layout_digit(l, b, wb);
	Iter t;

	if (!x.it || !y.it || x.it->extent != y.it->extent)
		return false;
	t = *x.it;
	l->it[x.at].axis = y.it->axis;
	l->it[x.at].stride = y.it->stride;
	l->it[y.at].axis = t.axis;
	l->it[y.at].stride = t.stride;
	return true;
}
