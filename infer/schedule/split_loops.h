/* split_loops.h - declares the conditions under which masks of a loop body are redundant, and the plan of a
 * split, for the files of pass split_loops. */
#ifndef HEXC_SPLIT_LOOPS_H
#define HEXC_SPLIT_LOOPS_H
#include "hexc/analysis/linear_form.h"

/* A linear form over values defined before the loop, plus `by` times the counter; nonnegative in iterations
 * without masks. With by = -1 it holds in the first iterations, with 1 in the last ones, with 0 in all or
 * none. */
typedef struct SplitCondition {
	Lin lin;
	int by;
} SplitCondition;

/* Bound on counters and on computed forms: sums of a few do not overflow. */
#define COUNTER_MOST ((int64_t)1 << 60)

typedef struct Forms {
	SplitCondition *form;
	int n, cap;
} Forms;

/* The loop to split. */
typedef struct SplitIterations {
	Kernel *k;
	Op *loop;
	Block *body;
} SplitIterations;

/* ---- split_loops_conditions.c ----------------------------------------------------------------------- */

/* Each adds to f the forms that must be nonnegative. Returns false if none are known; f is then unusable. */
/* .. for bool v, or each of its elements, to be `want`. */
bool forms_condition(const SplitIterations *t, Forms *f, const Val *v, bool want);
/* .. for mask o to mask no element. */
bool forms_mask(const SplitIterations *t, Forms *f, const Op *o);
/* The dims of a global view along which it is not provable without forms that it is in bounds. */
typedef struct ViewDims {
	int n;    /* those for which there are forms */
	int rows; /* of these, all but the contiguous one */
	bool all; /* there are forms for all of them */
} ViewDims;

/* .. for global view o to be in bounds of its tensor, as far as possible. */
ViewDims forms_view(const SplitIterations *t, Forms *f, const Op *o);
/* Adds all forms of `more`. Of two that differ by a constant, the stronger one is kept. */
void forms_join(const SplitIterations *t, Forms *f, const Forms *more);

/* Is there a form with this factor of the counter? */
bool forms_have(const Forms *f, int by);

/* ---- split_loops_bounds.c --------------------------------------------------------------------------- */

/* Emits before the loop the i64 counter from which on the forms of last iterations hold; at most the loop's
 * end. */
Val *forms_start(const SplitIterations *t, const Forms *f);
/* .. the counter of the first iteration in which another form may not hold: at most the loop's end; its
 * start if forms without the counter do not hold. */
Val *forms_end(const SplitIterations *t, const Forms *f);

/* ---- split_loops_select.c --------------------------------------------------------------------------- */

/* A mask, select or if that is redundant in the main loop. */
typedef struct Idle {
	int at;  /* index among the ops of the body, nested ones included, allocs not */
	int way; /* of a select or if: 0 if the condition is true, 1 if it is false */
} Idle;

typedef struct SplitPlan {
	SplitIterations turns;
	Forms forms;
	Idle *idle;
	int nidle, cap;
	bool *varies; /* by value id: it may differ from iteration to iteration */
	bool early; /* no prologue loop: what is redundant in last iterations only is kept */
	/* approximate instructions per thread: saved in an iteration without masks; of these, saved in last
	 * iterations only; and of an iteration with masks */
	double gain, late, size;
	int products;
} SplitPlan;

/* Determines in *p what is redundant in which iterations. Returns SPLIT_CLEAR if a second loop is
 * profitable, else the reason why not. A loop that contains loops is not split: the inner ones are. */
SplitKind split_plan(SplitPlan *p, Kernel *k, Op *loop);
#endif
