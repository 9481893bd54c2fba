/* loop_split.h - what the files of the checker of split loops share. */
#ifndef HEXC_LOOP_SPLIT_H
#define HEXC_LOOP_SPLIT_H
#include "infer/validate/linear_form.h"
#include "infer/validate/validate.h"

/* A loop without masks and the one that it is held against. */
typedef struct Pair {
	Prove *p;
	const Op *front; /* the loop in front of clear that it goes on with; NULL: there is none */
	const Op *clear, *rest;
	const Val **to; /* by id of a value of rest's body: the one of clear's */
	Known known;    /* in a turn of clear */
	LinearForm *must;   /* what the condition asked about takes; of those a constant apart the least */
	int nmust, cap;
} Pair;

/* ---- loop_split.c ------------------------------------------------------------------------------------------ */

/* A violation; gives false. */
bool split_wrong(Pair *x, const char *what);

/* ---- redundant_masks.c ------------------------------------------------------------------------------------- */

/* What the bounds of clear say of its counter, for which that of the rest stands, is known from now on. */
void split_know_turn(Pair *x);
/* Is bool v, everywhere, `want` in every turn of the clear loop? */
bool split_always(Pair *x, const Val *v, bool want);
/* Does mask o leave every element as it is? */
bool split_masks_nothing(Pair *x, const Op *o);

/* ---- loop_split_body.c ------------------------------------------------------------------------------------- */

/* Does a turn of clear do what one of the rest does, but for what has no effect there? */
bool split_same_turns(Pair *x);
#endif
