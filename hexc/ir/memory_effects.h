/* memory_effects.h - what loads, stores and copies do with memory, and two that meet there. */
#ifndef HEXC_MEMORY_EFFECTS_H
#define HEXC_MEMORY_EFFECTS_H
#include "hexc/ir/ir.h"

/* The memory that a load or copy reads, and that a store or copy writes; NULL: other ops. */
Val *access_source(const Op *o);
Val *access_target(const Op *o);
/* The shared memory where an update leaves what it found; NULL: others. */
Val *access_found(const Op *o);

/* The layout that says which thread moves an element, where one thread alone does; NULL: several may. */
const Layout *access_owners(const Op *o);
/* Is element i of the tile that load or store a moves in the hands of one thread, the same as for b? */
bool access_same_threads(const Op *a, const Op *b);
/* Is o a `spare` if that does nothing but copy?  It needs no branch. */
bool if_is_copies(const Op *o);
/* Does loop b go on where loop a, in front of it, has ended, as pass split_loops made them of one? */
bool split_goes_on(const Op *a, const Op *b);
/* Is o an atomic store? */
bool access_is_update(const Op *o);
/* Does o store zeros, without an update? In a tile that something else fills as a whole they leave the
 * edges as they are: what is outside is 0 as before. */
bool access_clears(const Op *o);
/* Are both atomic stores of one kind?  They may meet in an element in any order. */
bool access_same_update(const Op *a, const Op *b);
/* Is o an update of elements narrower than what memory compares and swaps, which reads and writes back what
 * is beside them in their 32-bit words? */
bool access_takes_words(const Op *o);
#endif
