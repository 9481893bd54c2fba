/* linear_form.h - the checker's own arithmetic: sums of scalars with factors, and what follows from some of them
 * not being negative. */
#ifndef HEXC_LINEAR_FORM_H
#define HEXC_LINEAR_FORM_H
#include "hexc/ir/ir.h"

enum { AFFINE_TERMS = 12 };

/* c + k[0] * v[0] + ..; !ok: not known, or it did not fit. */
typedef struct LinearForm {
	bool ok;
	int n;
	int64_t c, k[AFFINE_TERMS];
	const Val *v[AFFINE_TERMS];
} LinearForm;

LinearForm affine_const(int64_t c);
LinearForm affine_add(LinearForm x, LinearForm y, int64_t times); /* x + times * y */
/* Integer scalar v, of i64, as sums, differences and products by constants make it of others; where it may
 * have wrapped around, of itself. */
LinearForm affine_of(Kernel *k, const Val *v);
bool affine_equal(const LinearForm *x, const LinearForm *y);

/* What is known not to be negative. */
typedef struct Known {
	Kernel *k;
	LinearForm *sum;
	int n, cap;
} Known;

void known_add(Known *h, LinearForm x);
/* Condition v is true, or false: comparisons of integers, and several of them by `and` or `or`. */
void known_condition(Known *h, const Val *v, bool is);
/* What the branches and the bounds of the loops say that `at` stands in. */
void known_around(Known *h, const Op *at);
/* x >= 0, by the ranges of its values and at most two of what is known; quotients by constants count as
 * what they are of. */
bool known_implies(const Known *h, const LinearForm *x);
#endif
