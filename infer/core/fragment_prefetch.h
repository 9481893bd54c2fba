/* fragment_prefetch.h - loops whose first MMA's fragments can be loaded before the barrier: found here,
 * transformed by infer/schedule/prefetch_fragments.c. */
#ifndef HEXC_FRAGMENT_PREFETCH_H
#define HEXC_FRAGMENT_PREFETCH_H
#include "infer/core/search_state.h"

typedef struct Rotate {
	Kernel *k;
	const LayoutSolution *sol; /* the solution to inspect; NULL: the lowerings are in the IR */
	Op *loop;
	Block *body;
	Op *wait, *barrier;
	int slot;         /* index of the carried value that selects the stage read; -1: none yet */
	Op *first, *last; /* first and last MMA */
	bool ring;        /* some load reads a pipeline stage */
	bool meets;       /* threads synchronize before the first MMA: all k steps are prefetched */
	bool expands;     /* has an expanded sparse operand: no registers left to prefetch */
	Op **load;        /* loads of the first MMA's operands */
	int nload, cap;
	const char *why;  /* reason why not; NULL: possible */
} Rotate;

/* ---- fragment_prefetch.c ---------------------------------------------------------------------------- */
/* Can the loop prefetch fragments?  The caller sets k, sol and loop; fills the rest of *r. */
bool rotate_find(Rotate *r);
/* Returns the index of v among the loop-carried values; -1: v is none. */
int rotate_carried(const Rotate *r, const Val *v);
/* Is v defined outside of the loop? */
bool rotate_outside(const Rotate *r, const Val *v);
#endif
