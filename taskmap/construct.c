/* construct.c - builds layouts, and computes their sizes and ranges. */
#include "taskmap/layout.h"
#include <string.h>

void
layout_init(Layout *l, int ndim)
{
	memset(l, 0, sizeof *l);
	l->ndim = ndim;
}

/* Inserts an iter at index `at`, which is in dim d or at one of its ends. */
static bool
build_insert(Layout *l, int dim, int at, int64_t extent, int64_t stride, Axis axis)
{
	if (extent < 1 || l->n >= ITER_MAX)
		return false;
	memmove(&l->it[at + 1], &l->it[at], sizeof l->it[0] * (size_t)(l->n - at));
	l->it[at] = (Iter){ .extent = extent, .stride = stride, .axis = (uint8_t)axis };
	l->n++;
	for (int d = dim + 1; d <= l->ndim; d++)
		l->first[d]++;
	return true;
}

bool
layout_push_unit(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis)
{
	return dim >= 0 && dim < l->ndim && build_insert(l, dim, l->first[dim + 1], extent, stride, axis);
}

bool
layout_push(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis)
{
	return extent == 1 || layout_push_unit(l, dim, extent, stride, axis);
}

bool
layout_push_front(Layout *l, int dim, int64_t extent, int64_t stride, Axis axis)
{
	return extent == 1 || build_insert(l, dim, l->first[dim], extent, stride, axis);
}

bool
layout_push_dim(Layout *l, int dim, const Layout *x, int from)
{
	for (Digit g = dim_digits(x, from); g.it; digit_next(&g))
		if (!layout_push(l, dim, g.it->extent, g.it->stride, (Axis)g.it->axis))
			return false;
	return true;
}

bool
layout_push_reps(Layout *l, const Layout *x)
{
	for (int i = 0; i < x->nrep; i++)
		if (!layout_push_rep(l, x->rep[i].extent, x->rep[i].stride, (Axis)x->rep[i].axis))
			return false;
	return true;
}

bool
layout_push_rep(Layout *l, int64_t extent, int64_t stride, Axis axis)
{
	if (extent < 1 || stride < 0)
		return false;
	if (extent == 1 || stride == 0)
		return true;
	if (l->nrep >= REP_MAX)
		return false;
	l->rep[l->nrep++] = (Iter){ .extent = extent, .stride = stride, .axis = (uint8_t)axis };
	return true;
}

void
layout_rows(Layout *l, int ndim, const int64_t *shape, int unit, int64_t pitch)
{
	int64_t stride[DIM_MAX], next = pitch;

	for (int d = ndim - 1; d >= 0; d--) {
		stride[d] = d == unit ? 1 : next;
		next *= d == unit ? 1 : shape[d];
	}
	layout_init(l, ndim);
	for (int d = 0; d < ndim; d++)
		layout_push(l, d, shape[d], stride[d], AX_mem);
}

int64_t
layout_extent(const Layout *l, int dim)
{
	int64_t p = 1;

	for (Digit g = dim_digits(l, dim); g.it; digit_next(&g))
		p *= g.it->extent;
	return p;
}

int64_t
layout_extent_on(const Layout *l, int dim, Axis axis)
{
	int64_t p = 1;

	for (Digit g = dim_digits(l, dim); g.it; digit_next(&g))
		if (g.it->axis == axis)
			p *= g.it->extent;
	return p;
}

int64_t
layout_size(const Layout *l)
{
	int64_t p = 1;

	for (int i = 0; i < l->n; i++)
		p *= l->it[i].extent;
	return p;
}

/* The largest sum of digit * stride over the iters on `axis`. */
static int64_t
build_reach(const Iter *it, int n, Axis axis)
{
	int64_t top = 0;

	for (int i = 0; i < n; i++) {
		if (it[i].axis == axis && it[i].stride > 0)
			top += (it[i].extent - 1) * it[i].stride;
	}
	return top;
}

int64_t
layout_cosize(const Layout *l, Axis axis)
{
	int64_t top = l->offset[axis] + 1;

	top += build_reach(l->it, l->n, axis) + build_reach(l->rep, l->nrep, axis);
	if (top < 1)
		top = 1;
	if (axis == AX_mem && l->swizzle.bits > 0) {
		/* the xor stays inside blocks of this many elements, and may reach any element of one */
		Swizzle s = l->swizzle;
		int64_t block = (int64_t)1 << (s.base + s.bits - (s.shift < 0 ? s.shift : 0));

		if (layout_swizzle_matters(l))
			top = align_up(top, block);
	}
	return top;
}

bool
layout_is_mem(const Layout *l)
{
	for (int i = 0; i < l->n + l->nrep; i++)
		if (layout_iter(l, i)->axis != AX_mem)
			return false;
	return true;
}

/* Can the swizzle change any offset?  Only if one of its source bits can be set. */
bool
layout_swizzle_matters(const Layout *l)
{
	Swizzle s = l->swizzle;
	int low = s.base + (s.shift > 0 ? s.shift : 0); /* lowest source bit */
	int64_t top = l->offset[AX_mem];

	if (s.bits <= 0)
		return false;
	if (l->offset[AX_mem] < 0)
		return true;
	for (int i = 0; i < l->n; i++) {
		if (l->it[i].axis == AX_mem && l->it[i].stride < 0)
			return true;
	}
	top += build_reach(l->it, l->n, AX_mem) + build_reach(l->rep, l->nrep, AX_mem);
	return top >> low > 0;
}

bool
layout_in_range(const Layout *l)
{
	int64_t size = 1, reach = 0;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);
		int64_t far;

		if (!mul64(size, it->extent, &size) || size > LAYOUT_FAR ||
		    !mul64(it->extent - 1, it->stride < 0 ? -it->stride : it->stride, &far) ||
		    !add64(reach, far, &reach) || reach > LAYOUT_FAR)
			return false;
	}
	return true;
}
