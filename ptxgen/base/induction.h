/* induction.h - declares induction variables: values linear in the counter of a loop, or in quotients of
 * it, and their increments. */
#ifndef HEXC_INDUCTION_H
#define HEXC_INDUCTION_H
#include "hexc/ir/ids.h"
#include "ptxgen/base/codegen.h"

/* Maximum per loop. */
enum { WHEELS_MAX = 6 };
typedef struct DivmodIv DivmodIv; /* ptxgen/base/divmod_iv.h */

/* An index in a loop's body: its value in the first iteration, and the increment per iteration. */
typedef struct InductionVar {
	bool ok;
	int64_t by;
	LV first;             /* i64, computed before the loop, as are .. */
	LV carry[WHEELS_MAX]; /* .. i64: added when digit i wraps around; NULL: nothing */
} InductionVar;

/* The increment of a value per iteration, computed before the loop. */
typedef struct IvIncrement {
	LV by;                /* i64; NULL: nothing */
	LV carry[WHEELS_MAX]; /* added when digit i wraps around; NULL: nothing */
} IvIncrement;

/* The innermost loop around the insertion point. */
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
	DivmodIv *wheel[WHEELS_MAX]; /* digits of a row are contiguous, the lowest first */
	int nwheel;
	struct Span {             /* v is represented by the digits from one on, below another */
		const Val *v;
		DivmodIv *from, *to; /* to NULL: all higher ones */
	} *span;
	int nspan, span_cap;
	struct KnownLinear {
		InductionVar var;
		int nwheel; /* when it was computed */
	} **linear; /* by ids_val: results of linear_of, each computed once */
	Ids ids;    /* of the body, once there is `linear` */
};

/* Returns v as an induction variable of g->loop. Not ok: v is not linear, its step is unknown, or there is
 * no loop. */
InductionVar linear_of(Codegen *g, Val *v);
InductionVar linear_add(Codegen *g, InductionVar x, InductionVar y);
/* Adds the loop-invariant terms of the sum v to *steady, which is computed before the loop, the others to
 * *rest: i64, NULL for 0. */
void linear_terms(Codegen *g, Val *v, LV *steady, LV *rest);
/* Is the increment the same in all iterations? */
bool linear_even(const InductionVar *x);
/* Is there a loop with more than a few iterations? The remainder of a split loop recomputes values instead
 * of keeping them through the main loop. */
bool moving_pays(const Codegen *g);
/* Moves the builder to before g->loop, until moving_back. */
LLVMBasicBlockRef moving_front(Codegen *g);
void moving_back(Codegen *g, LLVMBasicBlockRef block);
/* Returns a phi of first's type that is `first` in the first iteration; the caller adds the other values. */
LV moving_phi(Codegen *g, LV first);
/* Returns an i64 that is `first` in the first iteration, incremented by `turn` in each following one. */
LV moving(Codegen *g, LV first, const IvIncrement *turn);
/* At the end of the loop's body: emits the increments. */
void moving_next(Codegen *g);
#endif
