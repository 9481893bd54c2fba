/* assign_space.h - tiles of which the program does not say whether they live in shared memory or in
 * registers.
 *
 * A load with IMM(o, free) made one: `let a = A[..]` with neither `shared` nor `register`.  Where that can
 * matter, the search tries both (infer/variant_search.c); pass assign_space writes what was decided. */
#ifndef HEXC_ASSIGN_SPACE_H
#define HEXC_ASSIGN_SPACE_H
#include "hexc/ir/ir.h"

/* The n tiles that are free, in program order, all of them shared: those that dots read.  Others lose their
 * mark and stay in registers. */
void space_find(Kernel *k, SpaceChoice **out, int *n);
/* Tile i of them goes to registers where registers[i]: the rest keep their mark. */
void space_decide(Kernel *k, const bool *registers);
#endif
