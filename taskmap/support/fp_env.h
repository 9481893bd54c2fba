/* fp_env.h - the floating-point environment of the host's thread, which hexc must not depend on. */
#ifndef HEXC_FP_ENV_H
#define HEXC_FP_ENV_H
#include <fenv.h>
#include <stdbool.h>

/* The host's environment, which may round differently, flush subnormals to zero, or trap. */
typedef struct Arithmetic {
	fenv_t host;
	bool plain; /* it is the default already, nothing to restore */
} Arithmetic;

/* Between the two calls, results are rounded to nearest, including subnormals, and nothing traps.  New
 * threads inherit this. */
void arithmetic_enter(Arithmetic *a);
void arithmetic_leave(const Arithmetic *a);
#endif
