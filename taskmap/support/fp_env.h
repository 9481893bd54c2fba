/* fp_env.h - how the host's thread computes, which is not ours to depend on. */
#ifndef HEXC_FP_ENV_H
#define HEXC_FP_ENV_H
#include <fenv.h>
#include <stdbool.h>

/* It may round otherwise, flush subnormal numbers to zero, or trap. */
typedef struct Arithmetic {
	fenv_t host;
	bool plain; /* it computes as we do */
} Arithmetic;

/* Between the two, numbers are rounded to nearest, subnormal ones too, and nothing traps.  Threads inherit
 * it. */
void arithmetic_enter(Arithmetic *a);
void arithmetic_leave(const Arithmetic *a);
#endif
