/* divmod_iv.h - quotients and remainders of what a loop counts: a counter with wheels. */
#ifndef HEXC_DIVMOD_IV_H
#define HEXC_DIVMOD_IV_H
#include "ptxgen/base/induction.h"

/* A digit of something linear in the loop's counter: it counts below a number, and where it starts again the
 * wheel above goes on by one. */
struct DivmodIv {
	DivmodIv *up;     /* NULL: this is the last, which counts without an end */
	Val *over;     /* it counts below this number, the same in all turns; NULL: below .. */
	int64_t below; /* .. this constant; 0: it is the last */
	int64_t add;   /* how much a turn adds, besides what the wheel below does */
	int number;    /* Loop.wheel[number] */
	bool meets;    /* it never gets past its number but meets it */
	LV first, now, end; /* of one type; end, made in front of the loop: its number, NULL of the last */
	LV carry;      /* i1, behind wheels_next: it starts again */
};

/* At the start of g->loop's body: which quotients and remainders wheels keep, those where that pays. */
void wheels_new(Codegen *g);
/* v in this turn, i64; NULL: no wheels keep it. */
LV wheels_value(Codegen *g, const Val *v);
/* v from turn to turn; not ok: no wheels keep it. */
InductionVar wheels_linear(Codegen *g, const Val *v);
/* At the end of the body: all wheels of g->loop go on. */
void wheels_next(Codegen *g);
/* i64, behind that: what this turn adds. */
LV wheels_turn(Codegen *g, const IvIncrement *turn);
#endif
