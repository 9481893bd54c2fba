/* contiguity.h - number of contiguous elements that a thread should own, derived from accesses in
 * infer/memory/vector_width.c. */
#ifndef HEXC_CONTIGUITY_H
#define HEXC_CONTIGUITY_H
#include "infer/core/search_state.h"

/* Of a set of tiles with equal layouts: the contiguous dim in global memory, and the run lengths for
 * accesses. */
typedef struct Contiguity {
	int unit; /* negative: several dims are contiguous, or none is known; no runs */
	int grain; /* bits of the narrowest elements */
	int64_t wanted; /* elements of the widest access */
	int64_t once; /* elements of the narrowest access: no two accesses request the same sector */
	int64_t most; /* elements that suit all accesses */
} Contiguity;

/* Returns the number of contiguous elements along `dim` that a thread should own of v, so that the
 * accesses of all tiles with the layout of v are wide; 1: no access benefits. */
int64_t lane_run(const Solve *s, const Val *v, int dim);
#endif
