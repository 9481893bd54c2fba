/* assign_space.h - declares the choice of shared memory or registers for tiles with an unspecified space,
 * between the search and pass assign_space.
 *
* A load with IMM(o, space_open) creates such a tile: `let a = A[..]` with neither `shared` nor
 * `register`. If
 * the space can matter, the search tries both (infer/variant_search.c); pass assign_space applies the
 * decision. */
#ifndef HEXC_ASSIGN_SPACE_H
#define HEXC_ASSIGN_SPACE_H
#include "hexc/ir/ir.h"

/* Returns the n tiles with an unspecified space that dots read, in program order, all shared. Other loads
 * lose their mark and stay in registers. */
void space_find(Kernel *k, SpaceChoice **out, int *n);
/* Keeps tile i in registers if registers[i]; the others keep their mark. */
void space_decide(Kernel *k, const bool *registers);
#endif
