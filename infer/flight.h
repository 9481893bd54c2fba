/* flight.h - between the files of pass flight. */
#ifndef HEXC_FLIGHT_H
#define HEXC_FLIGHT_H
#include "hexc/ir/ir.h"

/* ---- flight_wait.c ------------------------------------------------------------------------------------- */
/* Movable waits of block b, and of those inside, where something needs what they wait for. */
void place_waits(Kernel *k, Block *b);
/* Does o hand operand i on in the registers where it is?  `web` is of kernel_webs(). */
bool stays_in_place(const uint32_t *web, const Op *o, int i);
/* Are two products done by instances that are alike, which the machine does in order? */
bool same_instances(const Op *a, const Op *b);

/* ---- flight_turn.c ------------------------------------------------------------------------------------- */
/* Movable arrivals of the loop a turn later, so that its products stay under way across the end of a turn, if
 * nothing else in it needs what they make; the op that stands for the loop then. */
Op *release_late(Kernel *k, Op *loop);

/* ---- flight_early.c ------------------------------------------------------------------------------------ */
/* A movable arrival behind a product of warps: in front of the product's last step, which reads nothing. */
void release_early(Op *arrive);

/* ---- flight_zero.c ------------------------------------------------------------------------------------- */
/* Of loops in b whose sums begin with zeros: the first product reads none. */
void begin_without_zeros(Block *b);

/* ---- flight_part.c ------------------------------------------------------------------------------------- */
/* Products of factors that a loop makes anew in registers: steps of k one by one. */
void part_products(Block *b);

/* flight_empty.c: waits are dropped at which no more groups can be under way than they let be. */
void drop_empty_waits(Block *b);
#endif
