/* surgery.c - dims permuted, reduced, broadcast, dropped, inserted, joined and sliced. */
#include "taskmap/modes.h"
#include <string.h>

/* Append the iters of dim `from` of l to dim `to` of out. */
static bool
surgery_copy_dim(Layout *out, int to, const Layout *l, int from)
{
	int k = l->first[from + 1] - l->first[from];
	int at = out->first[to + 1];

	if (out->n + k > ITER_MAX)
		return false;
	memmove(&out->it[at + k], &out->it[at], sizeof out->it[0] * (size_t)(out->n - at));
	memcpy(&out->it[at], &l->it[l->first[from]], sizeof out->it[0] * (size_t)k);
	out->n += k;
	for (int d = to + 1; d <= out->ndim; d++)
		out->first[d] = (uint8_t)(out->first[d] + k);
	return true;
}

/* Everything of l but its dims. */
static void
surgery_shell(Layout *out, const Layout *l, int ndim)
{
	layout_init(out, ndim);
	out->tuple = l->tuple;
	out->swizzle = l->swizzle;
	out->nrep = l->nrep;
	memcpy(out->rep, l->rep, sizeof l->rep);
	memcpy(out->offset, l->offset, sizeof l->offset);
}

void
layout_permute(Layout *out, const Layout *l, const int *perm)
{
	Layout r;

	surgery_shell(&r, l, l->ndim);
	for (int d = 0; d < l->ndim; d++)
		surgery_copy_dim(&r, d, l, perm[d]);
	*out = r;
}

bool
layout_reduce(Layout *out, const Layout *l, int dim)
{
	Layout r;

	surgery_shell(&r, l, l->ndim);
	for (int d = 0; d < l->ndim; d++) {
		if (d != dim)
			surgery_copy_dim(&r, d, l, d);
	}
	for (int i = l->first[dim]; i < l->first[dim + 1]; i++) {
		const Iter *it = &l->it[i];

		if (it->axis == AX_reg || it->stride == 0 || it->extent == 1)
			continue;
		if (it->axis == AX_mem || !layout_push_rep(&r, it->extent, it->stride, (Axis)it->axis))
			return false;
	}
	layout_squeeze_regs(&r);
	*out = r;
	return true;
}

bool
layout_broadcast(Layout *out, const Layout *small, int dim, int64_t extent)
{
	Layout r = *small;

	if (layout_extent(small, dim) != 1 || extent < 1)
		return false;
	if (!layout_push(&r, dim, extent, 0, layout_is_mem(small) && small->n ? AX_mem : AX_reg))
		return false;
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

bool
layout_drop_dim(Layout *out, const Layout *l, int dim)
{
	Layout r;

	if (layout_extent(l, dim) != 1)
		return false;
	surgery_shell(&r, l, l->ndim - 1);
	for (int d = 0; d < r.ndim; d++)
		surgery_copy_dim(&r, d, l, d < dim ? d : d + 1);
	*out = r;
	return true;
}

bool
layout_insert_dim(Layout *out, const Layout *l, int dim)
{
	Layout r;

	if (l->ndim >= DIM_MAX || dim < 0 || dim > l->ndim)
		return false;
	surgery_shell(&r, l, l->ndim + 1);
	for (int d = 0; d < l->ndim; d++)
		surgery_copy_dim(&r, d < dim ? d : d + 1, l, d);
	*out = r;
	return true;
}

bool
layout_concat_dims(Layout *out, const Layout *a, const Layout *b)
{
	Layout r;

	if (a->ndim + b->ndim > DIM_MAX || a->nrep + b->nrep > REP_MAX ||
	    (a->swizzle.bits && b->swizzle.bits &&
	     memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) != 0))
		return false;
	surgery_shell(&r, a, a->ndim + b->ndim);
	for (int d = 0; d < r.ndim; d++) {
		bool left = d < a->ndim;

		if (!surgery_copy_dim(&r, d, left ? a : b, left ? d : d - a->ndim))
			return false;
	}
	memcpy(&r.rep[r.nrep], b->rep, sizeof b->rep[0] * (size_t)b->nrep);
	r.nrep += b->nrep;
	for (int x = 0; x < AX_COUNT; x++)
		r.offset[x] += b->offset[x];
	if (!r.swizzle.bits)
		r.swizzle = b->swizzle;
	*out = r;
	return true;
}

/* The positions [lo, lo+n) of the iters it[0..k), written as iters of their own to dim `dim` of r.  A
 * range of digits inside one run is one iter; a range of several runs needs whole ones. */
static bool
surgery_range(Layout *r, int dim, const Iter *it, int k, int64_t lo, int64_t n)
{
	for (; k > 0; k--, it++) {
		int64_t in = lo % it->extent;

		if (n <= it->extent - in)
			return layout_push(r, dim, n, it->stride, (Axis)it->axis);
		if (in || n % it->extent ||
		    !layout_push(r, dim, it->extent, it->stride, (Axis)it->axis))
			return false;
		lo /= it->extent;
		n /= it->extent;
	}
	return n == 1;
}

bool
layout_slice(Layout *out, const Layout *l, int dim, int64_t lo, int64_t extent)
{
	Layout in = *l, r;

	if (lo < 0 || extent < 1 || extent > layout_extent(l, dim) - lo)
		return false;
	layout_canon(&in);
	for (int i = in.first[dim]; i < in.first[dim + 1]; i++) {
		if (in.it[i].axis != AX_reg && in.it[i].stride != 0)
			return false;
	}
	surgery_shell(&r, l, l->ndim);
	for (int d = 0; d < l->ndim; d++) {
		if (d != dim) {
			surgery_copy_dim(&r, d, l, d);
			continue;
		}
		if (!surgery_range(&r, d, &in.it[in.first[d]], in.first[d + 1] - in.first[d], lo, extent))
			return false;
	}
	layout_squeeze_regs(&r);
	*out = r;
	return true;
}
