/* small_launch.h - a block of a small launch: the numbers that its scalars have. */
#ifndef HEXC_SMALL_LAUNCH_H
#define HEXC_SMALL_LAUNCH_H
#include "hexc/ir/ir.h"

enum { LAUNCHES = 18 };

typedef struct SmallLaunch {
	/* of whoever asks */
	void (*op)(struct SmallLaunch *run, const Op *o); /* of ops without regions; NULL: none */
	void *user;
	bool strict;  /* whatever cannot be told ends it */
	bool guesses; /* a number that a tensor holds is one that its place gives, the same whoever asks */
	bool odd;     /* sizes are multiples of no more than the kernel asks for, where they can be */
	int most;     /* ops that are run; 0: many */
	/* and of the launch */
	Kernel *k;
	int64_t *num; /* [nval+1] by a value's id */
	bool *known;  /* likewise; what is unknown has no number */
	int64_t grid[3];
	bool last;    /* it is the last block */
	int team;     /* -1: the producers */
	int steps;
	bool lost;    /* it cannot be told any further */
} SmallLaunch;

/* Launch i of so many: sizes as the kernel asks for them, of the first block or, where i is odd, of
 * the last. False: it takes no such sizes. */
bool launch_start(SmallLaunch *run, Kernel *k, int i);
/* Runs the ops of a block; roles it leaves alone, and ends there. */
void launch_run(SmallLaunch *run, const Block *b);
bool launch_number(const SmallLaunch *run, const Val *v, int64_t *x);
#endif
