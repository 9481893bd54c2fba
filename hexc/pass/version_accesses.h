/* version_accesses.h - what the files of pass version_accesses share. */
#ifndef HEXC_VERSION_ACCESSES_H
#define HEXC_VERSION_ACCESSES_H
#include "hexc/ir/ir.h"

enum { ASKED_MAX = 12 }; /* conditions of one kind */

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

/* What would help: multiples of starts, of strides, of the sizes of contiguous dims. */
typedef struct Asked {
	Multiple mult[ASKED_MAX];
	Room room[ASKED_MAX];
	int nmult, nroom;
	bool strides; /* there are such */
	bool starts; /* sizes that starts are made of are among them */
	bool no_room; /* a contiguous dim's end cannot be asked about */
} Asked;

/* The ops from `first` to `last`; NULL: to the end of its block. */
typedef struct OpRange {
	Kernel *k;
	Op *first, *last;
	bool *before; /* by id of ops: stands in the body, in front of the run */
	uint32_t n;
} OpRange;

/* What a run of ops could ask for. */
typedef enum VersionGoal {
	WIDE, /* accesses as wide as their tiles allow */
	INSIDE, /* no element outside of a tensor */
} VersionGoal;

/* ---- version_conditions.c --------------------------------------------------------------------------------- */

/* The op of the run behind o; NULL: it is the last one. */
Op *run_next(const OpRange *r, const Op *o);
/* The view of a tensor that o moves a tile by, or the tile of a longer one; NULL: none. */
Op *moved_by(const Op *o);
bool is_before(const OpRange *r, const Val *v); /* known in front of the run */
/* What would help o, with all that is in it; or all ops of the run. */
void ask_op(const OpRange *r, Asked *a, const Op *o, VersionGoal wish);
void ask_run(const OpRange *r, Asked *a, VersionGoal wish);

/* ---- version_emit.c -------------------------------------------------------------------------------- */

/* An if in front of the run, of what was asked, that does nothing. */
Op *branch_new(const OpRange *r, const Asked *a);
/* Would a mask of the run go in its first region? */
bool branch_spares_masks(const OpRange *r, const Op *branch);
/* The run goes there, and a copy of it into the other region. */
void branch_fill(const OpRange *r, Op *branch);
#endif
