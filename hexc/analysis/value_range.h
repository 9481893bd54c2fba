/* value_range.h - inside facts*.c: ranges, divisibility, symbolic bounds of index values. */
#ifndef HEXC_VALUE_RANGE_H
#define HEXC_VALUE_RANGE_H
#include "hexc/analysis/analysis.h"

enum { FACT_ASSUMED = 8 };

/* One question.  Every value looked at costs a step; when they are spent the answer is "anything". */
typedef struct Asking {
	Kernel *k;
	const Op *at; /* the conditions of ifs around it hold; NULL: there are none */
	int steps;
	/* loop-carried values whose fact is being proved by induction */
	int nassumed;
	const Val *assumed[FACT_ASSUMED];
	Fact as[FACT_ASSUMED];
} Asking;

Asking fact_asking(Kernel *k);
Asking fact_asking_at(Kernel *k, const Op *at); /* of values as they are where op `at` runs */
Fact fact_of(Asking *a, const Val *v);
/* c of a condition `x % c == 0`, and x; 0: it is no such condition. */
int64_t cond_multiple(const Val *cond, const Val **x);
/* Facts of range_arith.c; f.lo > f.hi in a result: no such value exists. */
Fact fact_const(int64_t c);
Fact fact_type(DType d);                  /* every value of the type */
Fact fact_tighten(Fact f);                /* pull the range in to multiples of mult */
Fact fact_join(Fact x, Fact y);           /* of either */
Fact fact_neg(DType d, Fact x);
Fact fact_binary(DType d, OpCode code, Fact x, Fact y);
Fact fact_compare(OpCode code, Fact x, Fact y);
Fact fact_cast(DType to, DType from, Fact x);
bool fact_is_full(Fact f); /* nothing known of the range: the value may have wrapped around */

/* Are these i64 scalars equal whenever op `at` runs?  False: not known. */
bool index_equal(const Op *at, const Val *x, const Val *y);
/* start[0] + .. + start[n-1] + extent <= size whenever op `at` runs? */
bool prove_inside(Kernel *k, const Op *at, Val *const *start, int n, int64_t extent, const Val *size);

/* Is no element of float v a NaN, or below 0 (a NaN may be among them)?  False: not known (float_range.c). */
typedef enum FloatKind { FLOAT_NAN, FLOAT_BELOW_0 } FloatKind;
bool float_never(const Val *v, FloatKind kind);

/* Is a value another one in other blocks of the grid?  NO: it is the same in all; MAYBE: who knows. */
typedef enum Differs { DIFFERS_UNSEEN, DIFFERS_NO, DIFFERS_MAYBE, DIFFERS_YES } Differs;
/* Of all that ops of the body read, by id. */
Differs *facts_differ(Kernel *k);
#endif
