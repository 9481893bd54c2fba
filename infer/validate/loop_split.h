/* loop_split.h - declares the pair of loops, and the checks on it, shared by the files that validate loop
 * splitting. */
#ifndef HEXC_LOOP_SPLIT_H
#define HEXC_LOOP_SPLIT_H
#include "infer/validate/linear_form.h"
#include "infer/validate/validate.h"

/* A loop without masks, and the one that it is compared with. */
typedef struct Pair {
	Prove *p;
	const Op *front; /* the loop that clear continues; NULL: none */
	const Op *clear, *rest;
	const Val **to; /* by id of a value of rest's body: the corresponding value of clear's */
	Known known;    /* in an iteration of clear */
	/* forms that the queried condition requires; of those that differ by a constant, the smallest */
	LinearForm *must;
	int nmust, cap;
} Pair;

/* ---- loop_split.c ----------------------------------------------------------------------------------- */

/* Reports a violation; returns false. */
bool split_wrong(Pair *x, const char *what);

/* ---- redundant_masks.c ------------------------------------------------------------------------------ */

/* Adds what the bounds of clear imply for its counter, which the counter of rest represents. */
void split_know_turn(Pair *x);
/* Is bool v, in every element, `want` in every iteration of the main loop? */
bool split_always(Pair *x, const Val *v, bool want);
/* Does mask o leave every element unchanged? */
bool split_masks_nothing(Pair *x, const Op *o);

/* ---- loop_split_body.c ------------------------------------------------------------------------------ */

/* Does an iteration of clear do the same as one of rest, except what is redundant there? */
bool split_same_turns(Pair *x);
#endif
