/* verify_type.c - what a type must be by itself: extents in range, a layout that fits them. */
#include "hexc/ir/spread.h"
#include "hexc/ir/verify.h"

enum { EXTENT_MAX = 1 << 30 };

static const char *
check_axes(Arena *a, const Type *t, int warps)
{
	const Layout *l = t->layout;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);
		bool mem = it->axis == AX_mem;
		bool thread = it->axis == AX_reg || it->axis == AX_lane || it->axis == AX_warp;
		if (it->extent > 1 && (t->space == S_reg ? !thread : !mem))
			return arena_printf(a, "axis %d in the layout of a %s tile", it->axis,
			                    t->space == S_reg ? "register" : "shared");
		if (it->extent < 1 || it->stride < 0)
			return "a layout with a negative stride or an empty iter";
	}
	if (t->space == S_reg && layout_cosize(l, AX_lane) > WARP_SIZE)
		return "a layout on more than 32 lanes";
	if (t->space == S_reg && layout_cosize(l, AX_warp) > warps)
		return "a layout on more warps than the block has";
	return NULL;
}

static const char *
check_layout(Arena *a, const Type *t, int warps)
{
	const Layout *l = t->layout;

	if (t->space != S_reg && t->space != S_shared)
		return "a layout on a scalar or a global tile";
	if (l->ndim != t->rank)
		return arena_printf(a, "rank %d, but %d in its layout", t->rank, l->ndim);
	for (int d = 0; d < t->rank; d++) {
		int64_t e = layout_extent(l, d);
		if (e != t->shape[d])
			return arena_printf(a, "extent %lld of dim %d, but %lld in its layout",
			                    (long long)t->shape[d], d, (long long)e);
	}
	return check_axes(a, t, warps);
}

/* Only narrow numbers in registers have an order other than the natural one; it fills whole words. */
static const char *
check_spread(Arena *a, const Type *t)
{
	int bits = dtype_info[t->dtype].bits;
	int64_t regs;

	if (t->space != S_reg || !dtype_is_narrow(t->dtype))
		return "a spread of other than a register tile of at most 8 bits";
	if (!spread_valid(bits, t->spread))
		return arena_printf(a, "spread %d", t->spread);
	regs = t->layout ? layout_cosize(t->layout, AX_reg) : 0;
	if (regs % spread_unit(bits, t->spread))
		return arena_printf(a, "%lld elements of a lane, not whole words in spread %d",
		                    (long long)regs,
		                    t->spread);
	return NULL;
}

const char *
type_check(Arena *a, const Type *t, int warps)
{
	int64_t size = 1;
	const char *bad;

	if ((int)t->dtype < 0 || t->dtype >= D_COUNT || (int)t->space < 0 || t->space > S_global)
		return "no such element type or space";
	if (t->space == S_global && dtype_info[t->dtype].use == U_temp)
		return "an element type that is not kept in global memory";
	if (t->rank < 0 || t->rank > DIM_MAX || (t->space == S_scalar && t->rank != 0))
		return "a rank out of range";
	for (int d = 0; d < t->rank; d++) {
		if (t->shape[d] == -1 && t->space == S_global)
			continue;
		if (t->shape[d] < 1 || (t->space != S_global && t->shape[d] > EXTENT_MAX))
			return arena_printf(a, "extent %lld of dim %d", (long long)t->shape[d], d);
		if (t->space == S_global)
			continue;
		size *= t->shape[d];
		if (size > EXTENT_MAX)
			return "more than 2^30 elements";
	}
	if (t->pinned && !t->layout)
		return "pinned without a layout";
	bad = t->layout ? check_layout(a, t, warps) : NULL;
	return bad || t->spread == 0 ? bad : check_spread(a, t);
}
