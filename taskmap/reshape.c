/* reshape.c - computes the layout of the same elements, in row-major order, under another shape. */
#include "taskmap/layout.h"
#include <string.h>

/* Lists the iters of all dims, fastest first: of the last dim, then of the one before it.  Adjacent iters
 * that continue each other are merged. */
static int
flat_iters(const Layout *l, Iter *it)
{
	int n = 0;

	for (int d = l->ndim - 1; d >= 0; d--)
		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			Iter x = l->it[i], *last = n ? &it[n - 1] : NULL;

			if (x.extent == 1)
				continue;
			if (last && last->axis == x.axis && x.stride == last->stride * last->extent)
				last->extent *= x.extent;
			else
				it[n++] = x;
		}
	return n;
}

bool
layout_reshape(Layout *out, const Layout *l, int ndim, const int64_t *shape)
{
	Iter it[ITER_MAX + 1];
	int n = flat_iters(l, it), at = 0;
	Layout r;

	layout_init(&r, ndim);
	r.swizzle = l->swizzle;
	r.nrep = l->nrep;
	memcpy(r.rep, l->rep, sizeof l->rep);
	memcpy(r.offset, l->offset, sizeof l->offset);
	for (int d = ndim - 1; d >= 0; d--) {
		int64_t left = shape[d];

		while (left > 1) {
			Iter *x = &it[at];
			int64_t take = at < n && x->extent < left ? x->extent : left;

			if (at == n || x->extent % take || left % take ||
			    !layout_push(&r, d, take, x->stride, (Axis)x->axis))
				return false;
			left /= take;
			x->stride *= take;
			x->extent /= take;
			at += x->extent == 1;
		}
	}
	if (at < n)
		return false;
	*out = r;
	return true;
}
