/* paths.h - declares the walk over all paths through a kernel, with any number of loop iterations, for
 * validators of asynchronous operations; paths with equal validator state are merged. */
#ifndef HEXC_PATHS_H
#define HEXC_PATHS_H
#include "hexc/ir/ir.h"

enum { OPEN = -1, COPIES = 32, NUMBERS = 40, DEPTH = 16 };
#define UNKNOWN INT64_MIN

/* n indices of a shared tile's first dim, from lo on. */
typedef struct StageRange {
	const Val *tile;
	int64_t lo, n; /* lo UNKNOWN: any position */
	bool whole; /* all elements of these; else some, at least one */
	bool all; /* .. of the whole tile */
} StageRange;

typedef enum MovingKind {
	BRINGS, /* a copy that writes the part */
	TAKES,  /* a bulk copy to a tensor, which reads it */
	HIDES,  /* lanes wrote it, and no proxy fence has followed */
} MovingKind;

/* A copy in flight. */
typedef struct Moving {
	StageRange part;
	MovingKind kind;
	int age; /* groups of its kind closed since its own; OPEN: its own is still open */
} Moving;

/* A possible state before an op. */
typedef struct Way {
	Moving copy[COPIES];
	int n;
	int64_t number[NUMBERS]; /* values that PathWalk.slot maps to */
	bool ended; /* the path comes from the end of an iteration; not compared */
} Way;

typedef struct Ways {
	Way *a;
	int n, cap;
} Ways;

typedef struct PathWalk {
	Kernel *k;
	bool ok;
	bool lost; /* too many paths, or copies: the kernel is not followed any further */
	bool engines; /* some op reads shared memory through the async proxy */
	/* called for ops that read, write or order memory */
	void (*op)(struct PathWalk *f, Way *w, const Op *o);
	/* [nval+1] 1 + index in Way.number: values that stage indices are computed from; 0: none */
	uint8_t *slot;
	uint8_t nslot;
	bool *asked; /* [nval+1] values that ways_ask has met */
	const Block *home[NUMBERS]; /* for each, the block that defines the value */
	int made; /* paths created so far; bounded, since each takes memory */
} PathWalk;

/* Are both copies of the same kind, of the same part? */
bool ways_same_copy(const Moving *a, const Moving *b);
/* Returns the value of an i64 or bool scalar on that path, or UNKNOWN. */
int64_t ways_number(const PathWalk *f, const Way *w, const Val *v, int depth);
/* Tracks the values that v is computed from in other iterations or branches. */
void ways_ask(PathWalk *f, const Val *v);
/* Follows all paths from the start of the kernel's body; returns the states at its end. */
Ways ways_follow(PathWalk *f);
#endif
