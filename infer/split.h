/* split.h - inside pass split: what it takes for the masks of a loop's body to be without effect. */
#ifndef HEXC_SPLIT_H
#define HEXC_SPLIT_H
#include "hexc/ir/facts_lin.h"

/* Linear forms that are not negative in the turns without masks: over values from in front of the loop, and
 * minus the counter (`falls`), so that they hold in the first turns, or in all or none. */
typedef struct Form {
	Lin lin;
	bool falls;
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

/* The counter at which the first turn with a form that does not hold may be, i64, in front of the loop: from
 * its end on, or from its start. */
Val *forms_end(const Turns *t, const Forms *f);
#endif
