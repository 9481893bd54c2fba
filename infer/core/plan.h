/* plan.h - the free choices of a search: what a plan fixes, and nothing follows from. */
#ifndef HEXC_PLAN_H
#define HEXC_PLAN_H
#include "hexc/ir/dot.h"
#include "infer/core/instr.h"

/* What is chosen before a kernel goes through the passes up to infer: where tiles live of which the program
 * does not say, whether products of sparse tiles go over zeros and all, how many warps a block has, and how
 * they share the work of its loops. */
typedef struct VariantChoices {
	const SpaceChoice *tile;
	int n;
	bool dense; /* or are of products with scales, not of values and scales */
	SkinnyDotKind thin; /* of products of few rows or columns */
	int warps; /* of a block, 0: there is no choice */
	bool rows; /* they are chosen by rows that they share (infer/warp_count.c), not as fewer spill */
	Schedule schedule;
	bool schedules; /* there are others */
} VariantChoices;

/* How one dot is done. */
typedef struct DotChoice {
	const Instr *inst;
	bool swap; /* as the transposed product: the instruction's m is the tile's n */
	int n; /* wgmma: of an instance */
	/* warps along m and n, and of those between which batches; the block's others repeat the work.
	 * wgmma: warpgroups */
	int wm, wn, wb;
	/* mma: neighbours along k that a lane holds; 0: those of one register, k in its own order */
	int64_t run;
	bool along_k; /* fma: a lane's registers run along k where memory does */
	bool batch_lanes; /* fma: lanes go to batches first */
	/* neighbours along m and n that a lane holds, of instances next to each other; 1: as the instances
	 * have it */
	int64_t mix[2];
	const Layout *order; /* index along k -> position in the instances; NULL: the same */
	const Layout *side[2]; /* likewise along m and n */
	Layout a, b, c, e[2]; /* e: positions of a sparse operand; scales of both */
} DotChoice;

/* Accesses that nothing demands otherwise have lanes dealt out along memory, and warps ... */
typedef enum WarpOrder {
	WARPS_ALONG, /* likewise */
	WARPS_OUTER, /* over the outer dims */
	WARP_ORDERS
} WarpOrder;
/* Stores of computed tiles to global memory. */
typedef enum StoreStrategy {
	STORE_AS_IS,
	STORE_COALESCED, /* converted before */
	STORE_TRADED,    /* lanes trade neighbours for wider accesses */
	STORE_WAYS
} StoreStrategy;
/* Loads of global tiles. */
typedef enum LoadStrategy {
	LOAD_AS_WANTED,
	LOAD_COALESCED /* where that moves less; then converted */
} LoadStrategy;
/* Shifts, slices, concats. */
typedef enum ShiftStrategy {
	LINE_FIRST, /* lay their tiles out before accesses do */
	LINE_AS_IS,
	LINE_WAYS
} ShiftStrategy;
/* Loads of elements narrower than a word from shared memory. */
typedef enum SubwordLoadStrategy {
	NARROW_ELEMENTS,
	NARROW_WORDS, /* whole words, picked apart */
	NARROW_WAYS
} SubwordLoadStrategy;

typedef struct SearchPlan {
	const DotChoice **dot; /* [ndot] by order of appearance */
	WarpOrder warp_major;
	StoreStrategy store;
	LoadStrategy load;
	ShiftStrategy line;
	SubwordLoadStrategy widen;
	/* Tiles of narrow elements that global memory brings: a lane has neighbours along this other dim of
	 * the tile, counted as memory's steps grow, so that what is turned is moved by the word; behind
	 * those dims they come once more, with as many neighbours as accesses are long; 0: it has none */
	int turned;
} SearchPlan;
#endif
