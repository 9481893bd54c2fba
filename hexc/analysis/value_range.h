/* value_range.h - declares what the files of the range analysis share: queries, range and divisor arithmetic,
 * symbolic bounds of index values. */
#ifndef HEXC_VALUE_RANGE_H
#define HEXC_VALUE_RANGE_H
#include "hexc/analysis/analysis.h"

enum { FACT_ASSUMED = 8 };

/* One query. Every visited value costs a step; when the steps are spent the result is the full range. */
typedef struct Asking {
	Kernel *k;
	const Op *at; /* use the conditions of the ifs around it; NULL: none */
	int steps;
	/* loop-carried values whose range is being proved by induction */
	int nassumed;
	const Val *assumed[FACT_ASSUMED];
	Fact as[FACT_ASSUMED];
} Asking;

Asking fact_asking(Kernel *k);
Asking fact_asking_at(Kernel *k, const Op *at); /* for values where op `at` runs */
Fact fact_of(Asking *a, const Val *v);
/* For a condition `x % c == 0`: returns c, and sets *x. Returns 0 for other conditions. */
int64_t cond_multiple(const Val *cond, const Val **x);
/* Arithmetic of range_arith.c. A result with f.lo > f.hi is empty: no value is possible. */
Fact fact_const(int64_t c);
Fact fact_type(DType d);                  /* every value of the type */
Fact fact_tighten(Fact f);                /* rounds the range inward to multiples of mult */
Fact fact_join(Fact x, Fact y);           /* union */
Fact fact_neg(DType d, Fact x);
Fact fact_binary(DType d, OpCode code, Fact x, Fact y);
Fact fact_compare(OpCode code, Fact x, Fact y);
Fact fact_cast(DType to, DType from, Fact x);
bool fact_is_full(Fact f); /* the range is unknown: the value may have wrapped around */

/* Are these i64 scalars equal whenever op `at` runs? Returns false if unknown. */
bool index_equal(const Op *at, const Val *x, const Val *y);
/* Is v equal in all iterations of all loops? Returns false if unknown. */
bool val_is_invariant(const Val *v);
/* start[0] + .. + start[n-1] + extent <= size whenever op `at` runs? */
bool prove_inside(Kernel *k, const Op *at, Val *const *start, int n, int64_t extent, const Val *size);

/* Is no element of float v NaN, or none below 0 (NaNs are possible)? Returns false if unknown
 * (float_range.c). */
typedef enum FloatKind { FLOAT_NAN, FLOAT_BELOW_0 } FloatKind;
bool float_never(const Val *v, FloatKind kind);

/* Does a value differ between blocks of the grid? NO: equal in all; MAYBE: unknown; UNSEEN: not computed. */
typedef enum Differs { DIFFERS_UNSEEN, DIFFERS_NO, DIFFERS_MAYBE, DIFFERS_YES } Differs;
/* Computes this for all values that ops of the body read, by id. */
Differs *facts_differ(Kernel *k);
/* Does v depend on the block's index, or on what an atomic update found? Returns false for what blocks read
 * from memory that the kernel writes, which they may order. */
bool grid_varies(Kernel *k, const Val *v);
/* Returns a value that varies so and decides whether, or how often, the regions of a loop or branch run;
 * NULL: there is none. */
const Val *grid_decider(Kernel *k, const Op *owner);
#endif
