/* pack_plan.h - declares the bit permutation of a pack's blocks, computed once for all blocks. */
#ifndef HEXC_PACK_PLAN_H
#define HEXC_PACK_PLAN_H
#include "hexc/ir/pack.h"
#include "lib/pack/bit_permute.h"

typedef struct PackPlan {
	int bits;
	int64_t rows, cols; /* per block */
	size_t stride, bytes; /* bytes per row of an unpacked block, and per packed block */
	BitMove move;
} PackPlan;

/* Computes the permutation from unpacked blocks, rows of byte-aligned bit streams, to packed ones; `back`:
 * the inverse. */
void pack_plan(Arena *a, PackPlan *out, const Pack *pack, bool back);
#endif
