/* wgmma_waits.h - declares the steps of pass wgmma_waits, one per file. */
#ifndef HEXC_WGMMA_WAITS_H
#define HEXC_WGMMA_WAITS_H
#include "hexc/ir/ir.h"

/* ---- wgmma_insert_waits.c --------------------------------------------------------------------------- */
/* Moves the movable waits of block b, and of nested ones, to before the first use of what they wait for. */
void place_waits(Kernel *k, Block *b);
/* Does o forward operand i in the same registers? `web` is of kernel_webs(). */
bool stays_in_place(const uint32_t *web, const Op *o, int i);
/* Do two MMAs use the same instruction shape, so that the hardware executes them in order? */
bool same_instances(const Op *a, const Op *b);

/* ---- wgmma_cross_iteration.c ------------------------------------------------------------------------ */
/* Delays the loop's movable arrivals by one iteration, so that its MMAs stay in flight across the end of an
 * iteration, if nothing else in it needs their results. Returns the op that replaces the loop. */
Op *release_late(Kernel *k, Op *loop);

/* ---- wgmma_early_release.c -------------------------------------------------------------------------- */
/* Moves a movable arrival after a warp-level MMA to before the MMA's last step, which reads no shared
 * memory. */
void release_early(Op *arrive);

/* ---- wgmma_zero_init.c ------------------------------------------------------------------------------ */
/* For loops in b whose accumulators start as zeros: the first MMA does not read them. */
void begin_without_zeros(Block *b);

/* ---- wgmma_k_slices.c ------------------------------------------------------------------------------- */
/* Splits MMAs with register operands that a loop recomputes into k slices. */
void part_products(Block *b);

/* wgmma_redundant_waits.c: removes waits that permit at least the maximum number of groups in flight. */
void drop_empty_waits(Block *b);
#endif
