/* paths.h - all ways through a kernel, for checkers of what is under way: with loops of any number of turns,
 * as far as they differ in what the checker keeps. */
#ifndef HEXC_PATHS_H
#define HEXC_PATHS_H
#include "hexc/ir/ir.h"

enum { OPEN = -1, COPIES = 32, NUMBERS = 40, DEPTH = 16 };
#define UNKNOWN INT64_MIN

/* The part of a shared tile from index lo of its first dim on, n of them. */
typedef struct StageRange {
	const Val *tile;
	int64_t lo, n; /* lo UNKNOWN: somewhere */
	bool whole; /* all elements of these; else some, at least one */
	bool all; /* .. of the whole tile */
} StageRange;

typedef enum MovingKind {
	BRINGS, /* a copy that writes the part */
	TAKES,  /* a bulk copy to a tensor, which reads it */
	HIDES,  /* lanes wrote it, and no `proxy` has shown it to the engines */
} MovingKind;

/* A copy under way. */
typedef struct Moving {
	StageRange part;
	MovingKind kind;
	int age; /* groups of its kind that were closed since its own; OPEN: its own is not */
} Moving;

/* What may be where an op runs. */
typedef struct Way {
	Moving copy[COPIES];
	int n;
	int64_t number[NUMBERS]; /* of Follow.slot */
	bool ended; /* it comes from the end of a turn; not compared */
} Way;

typedef struct Ways {
	Way *a;
	int n, cap;
} Ways;

typedef struct PathWalk {
	Kernel *k;
	bool ok;
	bool lost; /* too many ways, or copies: the kernel is not followed any further */
	bool engines; /* something reads shared memory as the asynchronous proxy does */
	void (*op)(struct PathWalk *f, Way *w, const Op *o); /* of ops that read, write or order memory */
	uint8_t *slot; /* [nval+1] 1 + which number of a way it is: what slots are made from; 0: none */
	uint8_t nslot;
	const Block *home[NUMBERS]; /* of each, where the value is */
	int made; /* ways so far, of which memory is taken */
} PathWalk;

/* The same part, by the same kind of copy? */
bool ways_same_copy(const Moving *a, const Moving *b);
/* An i64 or bool scalar on that way, or UNKNOWN. */
int64_t ways_number(const PathWalk *f, const Way *w, const Val *v, int depth);
/* What v is made from in other turns or branches is to be followed. */
void ways_ask(PathWalk *f, const Val *v);
/* Follow all ways from the start of the kernel's body; those to its end. */
Ways ways_follow(PathWalk *f);
#endif
