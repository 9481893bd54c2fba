/* wgmma_waits.h - between the files of pass wgmma_waits. */
#ifndef HEXC_WGMMA_WAITS_H
#define HEXC_WGMMA_WAITS_H
#include "hexc/ir/ir.h"

/* ---- wgmma_insert_waits.c ------------------------------------------------------------------------------------- */
/* Movable waits of block b, and of those inside, where something needs what they wait for. */
void place_waits(Kernel *k, Block *b);
/* Does o hand operand i on in the registers where it is?  `web` is of kernel_webs(). */
bool stays_in_place(const uint32_t *web, const Op *o, int i);
/* Are two products done by instances that are alike, which the machine does in order? */
bool same_instances(const Op *a, const Op *b);

/* ---- wgmma_cross_iteration.c ------------------------------------------------------------------------------------- */
/* Movable arrivals of the loop a turn later, so that its products stay under way across the end of a turn, if
 * nothing else in it needs what they make; the op that stands for the loop then. */
Op *release_late(Kernel *k, Op *loop);

/* ---- wgmma_early_release.c ------------------------------------------------------------------------------------ */
/* A movable arrival behind a product of warps: in front of the product's last step, which reads nothing. */
void release_early(Op *arrive);

/* ---- wgmma_zero_init.c ------------------------------------------------------------------------------------- */
/* Of loops in b whose sums begin with zeros: the first product reads none. */
void begin_without_zeros(Block *b);

/* ---- wgmma_k_slices.c ------------------------------------------------------------------------------------- */
/* Products of factors that a loop makes anew in registers: steps of k one by one. */
void part_products(Block *b);

/* wgmma_redundant_waits.c: waits are dropped at which no more groups can be under way than they let be. */
void drop_empty_waits(Block *b);
#endif
