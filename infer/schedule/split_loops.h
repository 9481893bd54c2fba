/* split_loops.h - inside pass split_loops: what it takes for the masks of a loop's body to be without effect, and which
 * of them are. */
#ifndef HEXC_SPLIT_LOOPS_H
#define HEXC_SPLIT_LOOPS_H
#include "hexc/analysis/linear_form.h"

/* A linear form that is not negative in the turns without masks: over values from in front of the loop, and
 * `by` times the counter.  By -1 it holds in first turns, by 1 in last ones, by 0 in all or none. */
typedef struct SplitCondition {
	Lin lin;
	int by;
} SplitCondition;

/* Counters, and forms that are computed: sums of a few do not wrap around. */
#define COUNTER_MOST ((int64_t)1 << 60)

typedef struct Forms {
	SplitCondition *form;
	int n, cap;
} Forms;

/* The loop that is asked about. */
typedef struct SplitIterations {
	Kernel *k;
	Op *loop;
	Block *body;
} SplitIterations;

/* ---- split_loops_conditions.c ------------------------------------------------------------------------------------- */

/* Each adds forms to f, which hold only if ..  False: nothing of the kind is known, and f is of no use. */
/* .. bool v, or each element of it, is `want`. */
bool forms_condition(const SplitIterations *t, Forms *f, const Val *v, bool want);
/* .. no element is masked by o. */
bool forms_mask(const SplitIterations *t, Forms *f, const Op *o);
/* .. global view o is inside its tensor, which cannot be proved without; *n is how many dims that takes. */
bool forms_view(const SplitIterations *t, Forms *f, const Op *o, int *n);
/* All of `more` too; of two that differ by a constant the one that says more stays. */
void forms_join(const SplitIterations *t, Forms *f, const Forms *more);

/* Is there a form with this factor of the counter? */
bool forms_have(const Forms *f, int by);

/* ---- split_loops_bounds.c -------------------------------------------------------------------------------------- */

/* The counter from which on those forms hold that hold in last turns, at most the loop's end; i64, in front
 * of the loop. */
Val *forms_start(const SplitIterations *t, const Forms *f);
/* .. at which the first turn may be in which another form does not hold: the loop's end, or before; its
 * start, where those without the counter do not hold. */
Val *forms_end(const SplitIterations *t, const Forms *f);

/* ---- split_loops_select.c ------------------------------------------------------------------------------------- */

/* A mask, choice or if that the clear loop does without. */
typedef struct Idle {
	int at;  /* the how manieth op of the body, those inside others too, allocs not */
	int way; /* of a choice or if: 0 it holds, 1 it fails */
} Idle;

typedef struct SplitPlan {
	SplitIterations turns;
	Forms forms;
	Idle *idle;
	int nidle, cap;
	bool early; /* no loop in front: what only last turns do without stays */
	/* instructions of a thread, about: what a turn lacks without masks, what only last turns lack, and
	 * what one with masks has */
	double gain, late, size;
	int products;
} SplitPlan;

/* What of the loop is idle where, in *p; SPLIT_CLEAR: it is worth a second loop, else why not.  A loop that
 * holds loops stays whole: the inner ones are split. */
SplitKind split_plan(SplitPlan *p, Kernel *k, Op *loop);
#endif
