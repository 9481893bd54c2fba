/* plan.h - the free choices of the search; everything else in a solution follows from them. */
#ifndef HEXC_PLAN_H
#define HEXC_PLAN_H
#include "hexc/ir/dot.h"
#include "infer/core/instr.h"

/* The choices made before a kernel runs through the passes up to infer: memory spaces of tiles for which
 * the program specifies none, dense or sparse lowering of dots, number of warps per block, schedule of the
 * loops, lowering of skinny dots. */
typedef struct VariantChoices {
	const SpaceChoice *tile;
	int n;
	bool dense; /* dots are dense: zeros of sparse operands are multiplied, scales applied beforehand */
	SkinnyDotKind thin; /* lowering of skinny dots */
	int warps; /* warps per block; 0: no choice */
	bool rows; /* warps are chosen by row length (infer/warp_count.c), not to avoid spills */
	Schedule schedule;
	bool schedules; /* other schedules are tried too */
} VariantChoices;

/* The lowering of one dot. */
typedef struct DotChoice {
	const Instr *inst;
	bool swap; /* computes the transpose: the instruction's m is the tile's n */
	int n; /* wgmma: columns of an instance */
	/* Warps along m, n and the batches; any other warps of the block repeat the work.  wgmma:
	 * warpgroups. */
	int wm, wn, wb;
	/* mma: contiguous elements along k that a lane owns; 0: those of one register, k unpermuted */
	int64_t run;
	bool along_k; /* fma: a lane's registers run along k if the memory is contiguous along k */
	bool batch_lanes; /* fma: lanes are distributed over batches first */
	/* Contiguous elements along m and n that a lane owns, from adjacent instances; 1: unpermuted. */
	int64_t mix[2];
	const Layout *order; /* index along k -> position in the instances; NULL: identity */
	const Layout *side[2]; /* the same along m and n */
	Layout a, b, c, e[2]; /* e: metadata of a sparse operand; scales of both */
} DotChoice;

/* For accesses without layout constraints lanes are distributed along memory; warps ... */
typedef enum WarpOrder {
	WARPS_ALONG, /* along memory too */
	WARPS_OUTER, /* over the outer dims */
	WARP_ORDERS
} WarpOrder;
/* Stores of computed tiles to global memory. */
typedef enum StoreStrategy {
	STORE_AS_IS,
	STORE_COALESCED, /* converted to a coalesced layout first */
	STORE_TRADED,    /* lanes exchange elements for wider accesses */
	STORE_WAYS
} StoreStrategy;
/* Loads of global tiles. */
typedef enum LoadStrategy {
	LOAD_AS_WANTED,
	LOAD_COALESCED /* if that moves fewer sectors; then converted */
} LoadStrategy;
/* Layouts of shifts, slices, concats. */
typedef enum ShiftStrategy {
	LINE_FIRST, /* their tiles get layouts before accesses do */
	LINE_AS_IS,
	LINE_WAYS
} ShiftStrategy;
/* Loads of elements narrower than 32 bits from shared memory. */
typedef enum SubwordLoadStrategy {
	NARROW_ELEMENTS,
	NARROW_WORDS, /* whole 32-bit words, then unpacked */
	NARROW_WAYS
} SubwordLoadStrategy;

typedef struct SearchPlan {
	const DotChoice **dot; /* [ndot] in program order */
	WarpOrder warp_major;
	StoreStrategy store;
	LoadStrategy load;
	ShiftStrategy line;
	SubwordLoadStrategy widen;
	/* Narrow tiles in global memory: a lane also owns contiguous elements along another dim, so that a
	 * transposition moves whole 32-bit registers.  0: no.  1 .. rank - 1: index of that dim in memory
	 * order.  The next rank - 1 values select the same dims, with accesses shortened towards equal
	 * runs along both dims. */
	int turned;
} SearchPlan;
#endif
