/* coalesced.c - distributes an access over threads such that elements contiguous in memory go to adjacent
 * lanes. */
#include "infer/memory/memory.h"

bool
coalesced_layout(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps,
                 bool outer)
{
	int64_t rest[DIM_MAX] = { 0 }, warp_of[DIM_MAX], left = warps;
	bool ok = true;

	layout_init(out, rank);
	for (int d = 0; d < rank; d++)
		rest[d] = shape[d];
	if (rank) {
		ok = mapping_repeat(out, order[0], vec);
		rest[order[0]] /= vec;
	}
	for (int i = 0; i < rank && ok; i++) {
		int64_t g = mapping_workers(out, rest[order[i]], WARP_SIZE, AX_lane);

		ok = mapping_spatial(out, order[i], g, AX_lane);
		rest[order[i]] /= g;
	}
	for (int i = 0; i < rank; i++) { /* the first dims of the order get warps first, or last */
		int d = order[outer ? rank - 1 - i : i];

		warp_of[d] = gcd64(left, rest[d]);
		left /= warp_of[d];
		rest[d] /= warp_of[d];
	}
	for (int i = 0; i < rank && ok; i++) {
		int d = order[i];

		ok = outer ? mapping_repeat(out, d, rest[d]) && mapping_spatial(out, d, warp_of[d], AX_warp)
		           : mapping_spatial(out, d, warp_of[d], AX_warp) && mapping_repeat(out, d, rest[d]);
	}
	return ok && mapping_share(out, WARP_SIZE, AX_lane) && mapping_share(out, warps, AX_warp);
}
