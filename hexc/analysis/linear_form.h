/* linear_form.h - declares linear forms over values, (sum k[i] * atom[i] + c) / den, in exact 64-bit
 * arithmetic, for symbolic bounds. */
#ifndef HEXC_LINEAR_FORM_H
#define HEXC_LINEAR_FORM_H
#include "hexc/analysis/value_range.h"

enum { LIN_TERMS = 12 };

typedef struct Lin {
	bool ok;      /* false: overflow, or too many terms; the other fields are then undefined */
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
/* Computes x / c rounded down, if den == 1 and the divisor c divides all terms for every value of the atoms,
 * by range analysis. Returns false otherwise. */
bool lin_floor(Asking *a, Lin x, int64_t c, Lin *out);
/* Returns a divisor of den * x for every value of the atoms; 0: x is 0. */
int64_t lin_mult(Asking *a, const Lin *x);
/* Computes a lower bound of x * den over the ranges of the atoms. Returns false on overflow. */
bool lin_least(Asking *a, const Lin *x, int64_t *out);
/* Is x >= 0 over the ranges of the atoms? Returns false if unknown. */
bool lin_nonneg(Asking *a, const Lin *x);
/* Returns the exact form of i64 scalar v where op `at` runs: over counters, and values that arithmetic does
 * not expand. */
Lin lin_exact(const Op *at, const Val *v);
#endif
