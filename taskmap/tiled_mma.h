/* tiled_mma.h - an mma instruction spread over warps and repeated in time: three TV layouts. */
#ifndef HEXC_TASKMAP_TILED_MMA_H
#define HEXC_TASKMAP_TILED_MMA_H
#include "taskmap/layout.h"

/* (thread, value) -> column-major index for A (m,k), B (n,k) and C (m,n), in mem layouts.  An atom is
 * one instruction; spread and repeat make larger tiles of it. */
typedef struct TiledMma {
	int64_t m, n, k;
	Layout ta, va, tb, vb, tc, vc;
} TiledMma;

/* Copies of the tile in a grid of rm x rn: more threads, each copy to the next threads.  `grid` maps a
 * copy to its place p + rm*q (a mem layout of size rm*rn); NULL: (rm,rn):(1,rm), m first.  A is the same for
 * copies along n, B for those along m.  False when a mode straddles the tile's rows without dividing. */
bool tiled_mma_spread(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid);
/* The same in time: more values of the same threads; operands that do not move get no values. */
bool tiled_mma_repeat(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid);
/* The register layouts of the three tiles. */
bool tiled_mma_layouts(const TiledMma *in, Layout *a, Layout *b, Layout *c);
#endif
