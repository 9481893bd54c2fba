/* util_bound.h - runs kernels with their error bounds, for tests that choose the bounds of the inputs. */
#ifndef TEST_UTIL_BOUND_H
#define TEST_UTIL_BOUND_H
#include "lib/error_bound/error_bound.h"
#include "test/interp/util_interp.h"

/* A kernel and its bounds. All elements, and the bounds of written tensors, are 0 before the run. A
 * tensor that is declared `inout` has inexact elements if the test sets their bounds; others are exact. */
typedef struct Bounded {
	Unit *u;
	Kernel *k, *twin; /* twin NULL: no run can have a bound */
	BoundOps ops;
	InterpArg *arg;
	int narg;
	const char *why; /* after the run: how the first op that lost a bound did that */
	const Op *lost;
} Bounded;

/* Rewrites the program's first kernel, after passes mark_reductions and mask_bounds. Sizes as "M=100
 * K=256". */
Bounded *bounded(Unit *u, const char *src, const char *sizes);
Bounded *bounded_kernel(Unit *u, Kernel *k, const char *sizes);
void bounded_put(Bounded *b, const char *tensor, int64_t i, double x, double bound);
/* Runs it once; bounds of atomic sums, and of runs in doubt, as hexc_run_tile returns them. */
void bounded_run(Bounded *b);
double bounded_get(const Bounded *b, const char *tensor, int64_t i);
double bounded_bound(const Bounded *b, const char *tensor, int64_t i);

/* "X1=2~.5 I0=3": element 1 of X is 2, with bound .5, element 0 of I is 3. */
void bounded_set(Bounded *b, const char *values);
/* "C0=0 C3=.5 C4=1:2": after the run, element 3 of C has a bound of .5, or 0.1 % more; that of element
 * 4 is from 1 to 2. "C=0": all elements. */
void bounded_expect(const Bounded *b, const char *bounds, const char *what);

/* Uniform in [0, 1). */
double uniform(uint64_t *state);
#endif
