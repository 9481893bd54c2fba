/* split.h - inside pass split: what it takes for the masks of a loop's body to be without effect. */
#ifndef HEXC_SPLIT_H
#define HEXC_SPLIT_H
#include "hexc/ir/facts_lin.h"

/* A linear form that is not negative in the turns without masks: over values from in front of the loop, and
 * `by` times the counter.  By -1 it holds in first turns, by 1 in last ones, by 0 in all or none. */
typedef struct Form {
	Lin lin;
	int by;
} Form;

/* Counters, and forms that are computed: sums of a few do not wrap around. */
#define COUNTER_MOST ((int64_t)1 << 60)

typedef struct Forms {
	Form *form;
	int n, cap;
} Forms;

/* The loop that is asked about. */
typedef struct Turns {
	Kernel *k;
	Op *loop;
	Block *body;
} Turns;

/* Each adds forms to f, which hold only if ..  False: nothing of the kind is known, and f is of no use. */
/* .. bool v, or each element of it, is `want`. */
bool forms_condition(const Turns *t, Forms *f, const Val *v, bool want);
/* .. no element is masked by o. */
bool forms_mask(const Turns *t, Forms *f, const Op *o);
/* .. global view o is inside its tensor, which cannot be proved without; *n is how many dims that takes. */
bool forms_view(const Turns *t, Forms *f, const Op *o, int *n);
/* All of `more` too; of two that differ by a constant the one that says more stays. */
void forms_join(const Turns *t, Forms *f, const Forms *more);

/* Is there a form with this factor of the counter? */
bool forms_have(const Forms *f, int by);
/* The counter from which on those forms hold that hold in last turns, at most the loop's end; i64, in front
 * of the loop. */
Val *forms_start(const Turns *t, const Forms *f);
/* .. at which the first turn may be in which another form does not hold: the loop's end, or before; its
 * start, where those without the counter do not hold. */
Val *forms_end(const Turns *t, const Forms *f);
#endif
