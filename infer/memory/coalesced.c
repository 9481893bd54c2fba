/* coalesced.c - accesses spread over the threads so that neighbours in memory meet neighbouring lanes. */
#include "infer/memory/memory.h"

bool
coalesced(Layout *out, int rank, const int64_t *shape, const int *order, int64_t vec, int warps, bool outer)
{
	int64_t rest[DIM_MAX], warp_of[DIM_MAX], lanes = 32, left = warps, regs = vec;
	int64_t wstride = 1;

	layout_init(out, rank);
	for (int d = 0; d < rank; d++) {
		rest[d] = shape[d];
		warp_of[d] = 1;
	}
	if (rank) {
		layout_push(out, order[0], vec, 1, AX_reg);
		rest[order[0]] /= vec;
	}
	for (int i = 0; i < rank; i++) {
		int64_t g = gcd64(lanes, rest[order[i]]);
		if (!layout_push(out, order[i], g, 32 / lanes, AX_lane))
			return false;
		lanes /= g;
		rest[order[i]] /= g;
	}
	for (int i = 0; i < rank; i++) {
		int d = order[outer ? rank - 1 - i : i];
		int64_t g = gcd64(left, rest[d]);
		warp_of[d] = g;
		left /= g;
		rest[d] /= g;
	}
	for (int i = 0; i < rank; i++) {
		int d = order[i];
		if (!outer && !layout_push(out, d, warp_of[d], wstride, AX_warp))
			return false;
		if (!layout_push(out, d, rest[d], regs, AX_reg))
			return false;
		regs *= rest[d];
		if (outer && !layout_push(out, d, warp_of[d], wstride, AX_warp))
			return false;
		wstride *= warp_of[d];
	}
	return (lanes == 1 || layout_push_rep(out, lanes, 32 / lanes, AX_lane)) &&
	       (left == 1 || layout_push_rep(out, left, warps / left, AX_warp));
}
