/* pack_plan.h - where the bits of a pack's blocks go: computed once for all of them. */
#ifndef HEXC_PACK_PLAN_H
#define HEXC_PACK_PLAN_H
#include "hexc/ir/pack.h"
#include "lib/pack/bit_permute.h"

typedef struct PackPlan {
	int bits;
	int64_t rows, cols; /* of a block */
	size_t stride, bytes; /* of a row of a natural block, and of a packed one */
	BitMove move;
} PackPlan;

/* The way from natural blocks, rows of bit streams that begin at bytes, to packed ones; or back. */
void pack_plan(Arena *a, PackPlan *out, const Pack *pack, bool back);
#endif
