/* memory_effects.h - declares queries on memory effects of loads, stores and copies, and on pairs that access
 * the same memory. */
#ifndef HEXC_MEMORY_EFFECTS_H
#define HEXC_MEMORY_EFFECTS_H
#include "hexc/ir/ir.h"

/* The memory that a load or copy reads, and that a store or copy writes. NULL: other ops. */
Val *access_source(const Op *o);
Val *access_target(const Op *o);
/* The shared memory that receives the old value of an update. NULL: other ops. */
Val *access_found(const Op *o);

/* Returns the layout that maps an element to the one thread that accesses it. NULL: several threads may. */
const Layout *access_owners(const Op *o);
/* Is element i of the tile owned by one thread, the same for load or store a and for b? */
bool access_same_threads(const Op *a, const Op *b);
/* Is o an `if` with IMM spare that contains only copies? It needs no branch. */
bool if_is_copies(const Op *o);
/* Does loop b continue at the iteration where the preceding loop a ended, after pass split_loops? */
bool split_goes_on(const Op *a, const Op *b);
/* Is o a barrier of the block, alone or as part of one of the grid? Ops with scratch have theirs inside. */
bool op_is_barrier(const Op *o);
/* Is o an atomic store? */
bool access_is_update(const Op *o);
/* Is o an atomic store to one element of a tensor, by which blocks can hand memory to each other? If it has
 * access_found, what other blocks stored before theirs may be read after it. */
bool access_is_signal(const Op *o);
/* Are both atomic stores of one kind? They commute on an element. */
bool access_same_update(const Op *a, const Op *b);
/* Is o an update of elements below the width of compare-and-swap, which reads and rewrites the rest of their
 * 32-bit word? */
bool access_takes_words(const Op *o);
#endif
