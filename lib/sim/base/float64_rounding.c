/* float64_rounding.c - computes f64 arithmetic in the directed rounding modes of PTX by switching the host's
 * rounding mode.
 *
 * Operands and result are volatile, which keeps the operation between the two calls that change the mode,
 * whatever the compiler assumes about them. */
#include <fenv.h>
#include <math.h>
#include "lib/sim/base/float_formats.h"

double
dir64(int op, double a, double b, double c, int rnd)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
	volatile double x = a, y = b, z = c, r = 0;
	int old = fegetround();

	fesetround(modes[rnd & 3]);
	switch (op) {
	case '+': r = x + y; break;
	case '-': r = x - y; break;
	case '*': r = x * y; break;
	case '/': r = x / y; break;
	case 'f': r = fma(x, y, z); break;
	default: r = sqrt(x); break;
	}
	fesetround(old);
	return r;
}
