/* linear_form.h - linear forms over values: (sum k[i] * atom[i] + c) / den, in exact 64-bit
 * arithmetic. */
#ifndef HEXC_LINEAR_FORM_H
#define HEXC_LINEAR_FORM_H
#include "hexc/analysis/value_range.h"

enum { LIN_TERMS = 12 };

typedef struct Lin {
	bool ok;      /* false: did not fit; nothing else holds then */
	int64_t den;  /* >= 1 */
	int64_t c;
	int n;
	struct {
		int64_t k; /* not 0 */
		const Val *v;
	} t[LIN_TERMS];
} Lin;

Lin lin_const(int64_t c);
Lin lin_atom(const Val *v);
Lin lin_add(Lin x, Lin y, int64_t scale); /* x + scale * y */
Lin lin_scale(Lin x, int64_t scale, int64_t over); /* x * scale / over; over >= 1 */
/* (x / c) rounded down, for den == 1 and a divisor c of all terms for every value of the atoms
 * (their facts say so); false otherwise. */
bool lin_floor(Asking *a, Lin x, int64_t c, Lin *out);
/* A number that divides den * x for every value of the atoms; 0: x is 0. */
int64_t lin_mult(Asking *a, const Lin *x);
/* What x * den is at least, for all values that the facts of the atoms allow; false: it does not fit. */
bool lin_least(Asking *a, const Lin *x, int64_t *out);
/* x >= 0 for all values that the facts of the atoms allow?  false: not known. */
bool lin_nonneg(Asking *a, const Lin *x);
/* i64 scalar v as it is where op `at` runs: over counters, and what arithmetic does not lead beyond. */
Lin lin_exact(const Op *at, const Val *v);
#endif
