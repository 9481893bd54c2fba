/* contiguity.h - how many neighbours a lane should hold of a tile: as accesses ask for them (infer/memory/vector_width.c). */
#ifndef HEXC_CONTIGUITY_H
#define HEXC_CONTIGUITY_H
#include "infer/core/search_state.h"

/* Of tiles that are tied: the contiguous dim of their global memory, and how long a run is. */
typedef struct Contiguity {
	int unit; /* below 0, and no run: there are several, or none is known */
	int grain; /* bits of the narrowest elements */
	int64_t wanted; /* elements of the widest access */
	int64_t once; /* of the narrowest: no access asks for a sector that another one asks for */
	int64_t most; /* that all accesses can do with */
} Contiguity;

/* Neighbours along `dim` that a lane should hold of v, so that the accesses of all tiles which are laid out
 * as v are wide; 1: no access asks for more than its own. */
int64_t lane_run(const Solve *s, const Val *v, int dim);
#endif
