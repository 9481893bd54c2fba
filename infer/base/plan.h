/* plan.h - the free choices of a search: what a plan fixes, and nothing follows from. */
#ifndef HEXC_PLAN_H
#define HEXC_PLAN_H
#include "infer/base/instr.h"

/* What is chosen before a kernel goes through the passes up to infer: where tiles live of which the program
 * does not say, and whether products of sparse tiles go over zeros and all. */
typedef struct Spaces {
	const FreeTile *tile;
	int n;
	bool dense;
} Spaces;

/* How one dot is done. */
typedef struct DotChoice {
	const Instr *inst;
	bool swap; /* as the transposed product: the instruction's m is the tile's n */
	int wm, wn; /* warps along m and n; the rest of the block's warps repeat the work */
	/* mma: neighbours along k that a lane holds; 0: those of one register, k in its own order.
	 * fma: 1, a lane's registers run along k where memory does; 0, they do not */
	int64_t run;
	/* neighbours along m and n that a lane holds, of instances next to each other; 1: as the instances
	 * have it */
	int64_t mix[2];
	const Layout *order; /* index along k -> position in the instances; NULL: the same */
	const Layout *side[2]; /* likewise along m and n */
	Layout a, b, c, e; /* e: positions of a sparse operand */
} DotChoice;

typedef struct Plan {
	const DotChoice **dot; /* [ndot] by order of appearance */
	int spread; /* anchors without a dot: 0 lanes then warps along memory, 1 warps on outer dims */
	int store; /* stores of computed tiles: 0 as the tile lies, 1 through a coalesced layout,
	            * 2 lanes trade neighbours for wider accesses */
	/* loads of global tiles: 0 as they are wanted, 1 coalesced where that moves less, then converted */
	int load;
	int line; /* shifts, slices, concats: 0 lay their tiles out first, 1 take them as they lie */
	int widen; /* sub-word shared loads: 1 whole words and pick, 0 element accesses */
} Plan;
#endif
