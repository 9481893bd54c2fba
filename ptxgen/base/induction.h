/* induction.h - what is linear in the counter of a loop, or in quotients of it: how it moves in a turn. */
#ifndef HEXC_INDUCTION_H
#define HEXC_INDUCTION_H
#include "ptxgen/base/codegen.h"

/* Of one loop. */
enum { WHEELS_MAX = 6 };
typedef struct DivmodIv DivmodIv; /* ptxgen/base/divmod_iv.h */

/* An index of a loop's body: what it is in the first turn, and how much more in each next. */
typedef struct InductionVar {
	bool ok;
	int64_t by;
	LV first;             /* i64, made in front of the loop, as are .. */
	LV carry[WHEELS_MAX]; /* .. i64: so much more still where wheel i starts again; NULL: nothing */
} InductionVar;

/* What a turn adds to something: all made in front of the loop. */
typedef struct IvIncrement {
	LV by;                /* i64; NULL: nothing */
	LV carry[WHEELS_MAX]; /* more where wheel i starts again; NULL: nothing */
} IvIncrement;

/* The innermost loop around what is emitted. */
struct Loop {
	Loop *outer;
	Op *op;
	LLVMBasicBlockRef before, head;
	LV lo;
	struct Moving {
		LV now;
		IvIncrement turn;
	} *moved;
	int nmoved, moved_cap;
	DivmodIv *wheel[WHEELS_MAX]; /* a row of wheels stands together, the lowest first */
	int nwheel;
	struct Span {             /* v is what the wheels show from one on, below another */
		const Val *v;
		DivmodIv *from, *to; /* to NULL: all that are above */
	} *span;
	int nspan, span_cap;
};

/* Of v in g->loop.  Not ok: v is not linear, its step is not known, or there is no loop. */
InductionVar linear_of(Codegen *g, Val *v);
InductionVar linear_add(Codegen *g, InductionVar x, InductionVar y);
/* The terms of the sum v that are the same in all turns of g->loop are added to *steady, which is made in
 * front, the others to *rest: i64, NULL for 0. */
void linear_terms(Codegen *g, Val *v, LV *steady, LV *rest);
/* It moves by the same each turn. */
bool linear_even(const InductionVar *x);
/* Is there a loop, of more than a few turns?  A split loop's rest makes anew what would be kept for it
 * meanwhile. */
bool moving_pays(const Codegen *g);
/* Emit in front of g->loop from now on; moving_back ends that. */
LLVMBasicBlockRef moving_front(Codegen *g);
void moving_back(Codegen *g, LLVMBasicBlockRef block);
/* Something of first's type that is `first` in the first turn; both are made in front. */
LV moving_phi(Codegen *g, LV first);
/* An i64 that is `first` in the first turn, and as much as `turn` says more in each next. */
LV moving(Codegen *g, LV first, const IvIncrement *turn);
/* At the end of the loop's body. */
void moving_next(Codegen *g);
#endif
