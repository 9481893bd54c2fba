/* mapping.c - task mappings: who does which task, and when. */
#include "taskmap/modes.h"

static bool
mapping_atom(Layout *out, int ndim, const int64_t *shape, const int *order, Axis axis)
{
	Layout r;
	int64_t stride = 1;

	if (ndim < 0 || ndim > DIM_MAX)
		return false;
	layout_init(&r, ndim);
	for (int k = ndim; k-- > 0;) {
		int d = order ? order[k] : k;

		if (!layout_push(&r, d, shape[d], stride, axis) || !mul64(stride, shape[d], &stride))
			return false;
	}
	*out = r;
	return true;
}

bool
mapping_spatial(Layout *out, int ndim, const int64_t *shape)
{
	return mapping_atom(out, ndim, shape, NULL, AX_lane);
}

bool
mapping_repeat(Layout *out, int ndim, const int64_t *shape)
{
	return mapping_atom(out, ndim, shape, NULL, AX_reg);
}

bool
mapping_spatial_order(Layout *out, int ndim, const int64_t *shape, const int *order)
{
	return mapping_atom(out, ndim, shape, order, AX_lane);
}

bool
mapping_repeat_order(Layout *out, int ndim, const int64_t *shape, const int *order)
{
	return mapping_atom(out, ndim, shape, order, AX_reg);
}

/* Step the outer iters over whole inner mappings: `workers` of them on lane, `times` on reg. */
static bool
mapping_scale(Iter *it, int64_t workers, int64_t times)
{
	if (it->axis == AX_lane)
		return mul64(it->stride, workers, &it->stride);
	return it->axis == AX_reg && mul64(it->stride, times, &it->stride);
}

bool
mapping_product(Layout *out, const Layout *outer, const Layout *inner)
{
	Layout r = *inner;
	int64_t workers = layout_cosize(inner, AX_lane), times = layout_cosize(inner, AX_reg);

	if (outer->ndim != inner->ndim)
		return false;
	for (int i = 0; i < inner->n; i++) {
		if (inner->it[i].axis != AX_lane && inner->it[i].axis != AX_reg)
			return false;
	}
	for (int d = 0; d < outer->ndim; d++) {
		for (int i = outer->first[d]; i < outer->first[d + 1]; i++) {
			Iter it = outer->it[i];

			if (!mapping_scale(&it, workers, times) ||
			    !layout_push(&r, d, it.extent, it.stride, (Axis)it.axis))
				return false;
		}
	}
	for (int i = 0; i < outer->nrep; i++) {
		Iter it = outer->rep[i];

		if (!mapping_scale(&it, workers, times) ||
		    !layout_push_rep(&r, it.extent, it.stride, (Axis)it.axis))
			return false;
	}
	if (!layout_in_range(&r))
		return false;
	*out = r;
	return true;
}
