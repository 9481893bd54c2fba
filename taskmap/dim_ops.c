/* dim_ops.c - computes the layout of a tile after its dims are permuted, reduced, broadcast, dropped,
 * inserted or sliced. */
#include "taskmap/layout.h"
#include <string.h>

/* Appends the iters of dim `from` of l to dim `to` of out. */
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

/* Copies everything of l except its dims. */
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
layout_reduce_low(Layout *out, const Layout *l, int dim, int64_t extent)
{
	Layout in = *l, r;

	if (!layout_split(&in, dim, extent))
		return false;
	surgery_shell(&r, &in, in.ndim);
	for (int d = 0; d < in.ndim; d++) {
		if (d != dim)
			surgery_copy_dim(&r, d, &in, d);
	}
	for (Digit g = dim_digits(&in, dim); g.it; digit_next(&g)) {
		const Iter *it = g.it;

		if (g.weight >= extent && !layout_push(&r, dim, it->extent, it->stride, (Axis)it->axis))
			return false;
		if (g.weight >= extent || it->axis == AX_reg || it->stride == 0 || it->extent == 1)
			continue;
		if (it->axis == AX_mem || !layout_push_rep(&r, it->extent, it->stride, (Axis)it->axis))
			return false;
	}
	*out = r;
	return true;
}

bool
layout_reduce(Layout *out, const Layout *l, int dim)
{
	if (!layout_reduce_low(out, l, dim, layout_extent(l, dim)))
		return false;
	layout_squeeze_regs(out);
	return true;
}

bool
layout_broadcast(Layout *out, const Layout *small, int dim, int64_t extent)
{
	Layout r = *small;
	int64_t regs = layout_cosize(small, AX_reg), rest = extent;

	if (layout_extent(small, dim) != 1)
		return false;
	r.nrep = 0;
	for (int i = 0; i < small->nrep; i++) {
		const Iter *it = &small->rep[i];
		bool part = rest % it->extent == 0;

		if (part ? !layout_push(&r, dim, it->extent, it->stride, (Axis)it->axis)
		         : !layout_push_rep(&r, it->extent, it->stride, (Axis)it->axis))
			return false;
		rest /= part ? it->extent : 1;
	}
	if (!layout_push(&r, dim, rest, regs, AX_reg))
		return false;
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
layout_slice(Layout *out, const Layout *l, int dim, int64_t extent)
{
	Layout in = *l, r;

	if (!layout_split(&in, dim, extent))
		return false;
	surgery_shell(&r, &in, in.ndim);
	for (int d = 0; d < in.ndim; d++)
		if (d != dim)
			surgery_copy_dim(&r, d, &in, d);
	for (Digit g = dim_digits(&in, dim); g.it; digit_next(&g)) {
		bool apart = g.it->axis == AX_reg && g.it->stride != 0;

		if (g.weight < extent ? !layout_push(&r, dim, g.it->extent, g.it->stride, (Axis)g.it->axis)
		                      : g.it->extent > 1 && !apart)
			return false;
	}
	layout_squeeze_regs(&r);
	*out = r;
	return true;
}
