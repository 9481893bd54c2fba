/* util_surgery.c - dim operations on layouts that only tests use. */
#include "test/taskmap/util_cute.h"
#include <string.h>

bool
layout_concat_dims(Layout *out, const Layout *a, const Layout *b)
{
	Layout r = *a;

	if (a->ndim + b->ndim > DIM_MAX || a->n + b->n > ITER_MAX || a->nrep + b->nrep > REP_MAX ||
	    (a->swizzle.bits && b->swizzle.bits &&
	     memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) != 0))
		return false;
	memcpy(&r.it[r.n], b->it, sizeof b->it[0] * (size_t)b->n);
	for (int d = 0; d <= b->ndim; d++)
		r.first[a->ndim + d] = (uint8_t)(a->n + b->first[d]);
	r.n += b->n;
	r.ndim += b->ndim;
	memcpy(&r.rep[r.nrep], b->rep, sizeof b->rep[0] * (size_t)b->nrep);
	r.nrep += b->nrep;
	for (int x = 0; x < AX_COUNT; x++)
		r.offset[x] += b->offset[x];
	if (!r.swizzle.bits)
		r.swizzle = b->swizzle;
	*out = r;
	return true;
}

/* Take [extent : stride] on the axis out of the replication; false when it is not all there. */
static bool
surgery_take_rep(Layout *l, const Iter *want)
{
	for (int i = 0; i < l->nrep; i++) {
		Iter r = l->rep[i];
		int64_t skip, left;

		if (r.axis != want->axis || want->stride % r.stride)
			continue;
		skip = want->stride / r.stride; /* places of r below the part wanted */
		if (r.extent % skip || (r.extent / skip) % want->extent)
			continue;
		left = r.extent / skip / want->extent;
		l->rep[i] = l->rep[--l->nrep];
		return layout_push_rep(l, skip, r.stride, (Axis)r.axis) &&
		       layout_push_rep(l, left, want->stride * want->extent, (Axis)r.axis);
	}
	return false;
}

bool
layout_broadcast_like(Layout *out, const Layout *small, int dim, const Layout *big)
{
	Layout r = *small;

	if (layout_extent(small, dim) != 1)
		return false;
	layout_canon(&r);
	for (int i = big->first[dim]; i < big->first[dim + 1]; i++) {
		Iter it = big->it[i];

		if (it.axis == AX_reg)
			it.stride = 0;
		if (it.axis == AX_mem && it.stride)
			return false;
		if (it.stride && it.extent > 1 && !surgery_take_rep(&r, &it))
			return false;
		if (!layout_push(&r, dim, it.extent, it.stride, (Axis)it.axis))
			return false;
	}
	*out = r;
	return true;
}
