/* place.h - tiles of which the program does not say whether they live in shared memory or in registers.
 *
 * A load with IMM(o, free) made one: `let a = A[..]` with neither `shared` nor `register`.  Where that can
 * matter, the search tries both (infer/places.c); pass place writes what was decided. */
#ifndef HEXC_PLACE_H
#define HEXC_PLACE_H
#include "hexc/ir/ir.h"

/* The n tiles that are free, in program order, all of them shared: those that dots read.  Others lose their
 * mark and stay in registers. */
void place_find(Kernel *k, FreeTile **out, int *n);
/* Tile i of them goes to registers where registers[i]: the rest keep their mark. */
void place_decide(Kernel *k, const bool *registers);
#endif
