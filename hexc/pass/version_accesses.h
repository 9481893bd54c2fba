/* version_accesses.h - declares run-time conditions and op ranges that the files of pass version_accesses
 * share. */
#ifndef HEXC_VERSION_ACCESSES_H
#define HEXC_VERSION_ACCESSES_H
#include "hexc/ir/ir.h"

enum { ASKED_MAX = 12 }; /* maximum conditions of one kind */

/* v % by == 0 */
typedef struct Multiple {
	Val *v;
	int64_t by;
} Multiple;

/* start + extent <= size */
typedef struct Room {
	Val *start, *size;
	int64_t extent;
} Room;

/* Useful conditions: multiples for starts, strides, and sizes of contiguous dims. */
typedef struct Asked {
	Multiple mult[ASKED_MAX];
	Room room[ASKED_MAX];
	int nmult, nroom;
	bool strides; /* strides are among them */
	bool starts; /* sizes that determine starts are among them */
	bool no_room; /* no condition exists for the end of a contiguous dim */
} Asked;

/* The ops from `first` to `last`; NULL: to the end of the block. */
typedef struct OpRange {
	Kernel *k;
	Op *first, *last;
	bool *before; /* by op id: it is in the body, before the range */
	uint32_t n;
} OpRange;

/* Goal of versioning a range. */
typedef enum VersionGoal {
	WIDE, /* accesses as wide as their tiles allow */
	INSIDE, /* no out-of-bounds element */
} VersionGoal;

/* ---- version_conditions.c --------------------------------------------------------------------------- */

/* Returns the op of the range after o; NULL: o is the last one. */
Op *run_next(const OpRange *r, const Op *o);
/* Returns the view of a tensor through which o accesses a tile, or the base of a longer view; NULL: none. */
Op *moved_by(const Op *o);
bool is_before(const OpRange *r, const Val *v); /* available before the range */
/* Adds the conditions that help o, including all ops in it; or all ops of the range. */
void ask_op(const OpRange *r, Asked *a, const Op *o, VersionGoal wish);
void ask_run(const OpRange *r, Asked *a, VersionGoal wish);

/* ---- version_emit.c -------------------------------------------------------------------------------- */

/* Creates an if on the conditions before the range, with empty regions. */
Op *branch_new(const OpRange *r, const Asked *a);
/* Would the first region make a mask of the range redundant? */
bool branch_spares_masks(const OpRange *r, const Op *branch);
/* Moves the range into the first region, and a copy of it into the other. */
void branch_fill(const OpRange *r, Op *branch);
#endif
