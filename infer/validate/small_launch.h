/* small_launch.h - declares the evaluation of one block of a small launch. */
#ifndef HEXC_SMALL_LAUNCH_H
#define HEXC_SMALL_LAUNCH_H
#include "hexc/ir/ir.h"

enum { LAUNCHES = 18 };

typedef struct SmallLaunch {
	/* set by the caller */
	void (*op)(struct SmallLaunch *run, const Op *o); /* called for ops without regions; NULL: none */
	void *user;
	bool strict;  /* any unknown condition or trip count ends the evaluation */
	bool guesses; /* a number loaded from a tensor is guessed, as a function of its address */
	bool odd;     /* sizes have no larger divisors than the kernel requires, where possible */
	int most;     /* maximum number of ops evaluated; 0: many */
	/* and per launch */
	Kernel *k;
	int64_t *num; /* [nval+1] by a value's id */
	bool *known;  /* likewise; an unknown value has no number */
	int64_t grid[3];
	bool last;    /* it is the last block */
	int team;     /* consumer group; -1: the producers */
	int steps;
	bool lost;    /* the evaluation cannot continue */
} SmallLaunch;

/* Starts launch i: sizes that satisfy the kernel's assumptions, and the first block or, if i is odd, the
 * last. Returns false if it does not accept these sizes. */
bool launch_start(SmallLaunch *run, Kernel *k, int i);
/* Evaluates the ops of a block up to its roles, which are skipped. */
void launch_run(SmallLaunch *run, const Block *b);
bool launch_number(const SmallLaunch *run, const Val *v, int64_t *x);
#endif
