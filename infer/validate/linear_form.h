/* linear_form.h - declares the validators' own arithmetic: linear forms of scalars, and what follows from
 * some of them being nonnegative. */
#ifndef HEXC_LINEAR_FORM_H
#define HEXC_LINEAR_FORM_H
#include "hexc/ir/ir.h"

enum { AFFINE_TERMS = 12 };

/* c + k[0] * v[0] + ..; !ok: unknown, or out of capacity or range. */
typedef struct LinearForm {
	bool ok;
	int n;
	int64_t c, k[AFFINE_TERMS];
	const Val *v[AFFINE_TERMS];
} LinearForm;

LinearForm affine_const(int64_t c);
LinearForm affine_add(LinearForm x, LinearForm y, int64_t times); /* x + times * y */
/* Returns the linear form of i64 scalar v: expanded through additions, subtractions and multiplications by
 * constants. A value that may have overflowed is an atom. */
LinearForm affine_of(Kernel *k, const Val *v);
bool affine_equal(const LinearForm *x, const LinearForm *y);

/* Forms that are known to be nonnegative. */
typedef struct Known {
	Kernel *k;
	LinearForm *sum;
	int n, cap;
} Known;

void known_add(Known *h, LinearForm x);
/* Adds that condition v has value `is`: an integer comparison, or several combined by `and` or `or`. */
void known_condition(Known *h, const Val *v, bool is);
/* Adds the conditions of the branches and the bounds of the loops around `at`. */
void known_around(Known *h, const Op *at);
/* Is x >= 0 by the ranges of its values and at most two known forms? Divisions by constants are replaced by
 * bounds on their dividends. */
bool known_implies(const Known *h, const LinearForm *x);
#endif
