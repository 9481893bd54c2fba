/* divmod_iv.h - declares mixed-radix induction variables for quotients and remainders of a loop counter. */
#ifndef HEXC_DIVMOD_IV_H
#define HEXC_DIVMOD_IV_H
#include "ptxgen/base/induction.h"

/* A digit of a value that is linear in the loop's counter. It counts below its radix; when it wraps around,
 * the digit above is incremented. */
struct DivmodIv {
	DivmodIv *up;     /* NULL: this is the last one, which is unbounded */
	Val *over;     /* loop-invariant radix; NULL: the radix is .. */
	int64_t below; /* .. this constant; 0: it is the last one */
	int64_t add;   /* increment per iteration, besides the carry of the digit below */
	int number;    /* index in Loop.wheel[] */
	bool meets;    /* it never exceeds its radix before it wraps around */
	LV first, now, end; /* of one type; end: its radix, computed before the loop, NULL for the last one */
	LV carry;      /* i1, after wheels_next: it wraps around */
};

/* At the start of g->loop's body: creates digits for quotients and remainders, where profitable. */
void wheels_new(Codegen *g);
/* Returns v in this iteration, i64; NULL if no digits represent it. */
LV wheels_value(Codegen *g, const Val *v);
/* Returns v as an induction variable; not ok if no digits represent it. */
InductionVar wheels_linear(Codegen *g, const Val *v);
/* At the end of the body: increments all digits of g->loop. */
void wheels_next(Codegen *g);
/* Returns, after wheels_next, what this iteration adds, i64. */
LV wheels_turn(Codegen *g, const IvIncrement *turn);
#endif
