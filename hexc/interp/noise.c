/* noise.c - adds random errors to every rounded result, as large as those of a correct execution on the
 * device may be.
 *
 * The spread of a few runs estimates how far rounding moves a result, where no bound does: discrete
 * stochastic arithmetic (J. Vignes, "A stochastic arithmetic for reliable scientific computation", 1993).
 * Noise is uniform between -sqrt(3) e and sqrt(3) e, where e is the maximum error of an execution. Its
 * standard deviation is e, and no error of at most e has a larger one. For a sum of n terms e is u sqrt(n)
 * times the sum of their magnitudes, as each of n additions is off by at most u of that. In every other run
 * numbers below 2^-126 are flushed to 0 where that is permitted. Exact results are unchanged. The noise
 * depends on the run number and the result only, not on threads. */
#include "hexc/interp/interp_internal.h"
#include <math.h>
#include <string.h>

/* Returns a pseudorandom number from -1 to 1 (splitmix64, S. Vigna). */
static double
draw(uint64_t run, double x, int64_t j)
{
	uint64_t z;

	memcpy(&z, &x, sizeof z);
	z ^= run * 0x9e3779b97f4a7c15 + (uint64_t)j * 0xd1342543de82ef95;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return ldexp((double)(z >> 11), -52) - 1;
}

/* Returns `exact` with noise of deviation `off`, if rounding to d changes it. An f64 has been rounded
 * already, and counts as changed. */
static double
noisy(const Interp *it, DType d, double exact, double off, int64_t j)
{
	if (!isfinite(exact) || (d != D_f64 && num_round(d, exact) == exact))
		return exact;
	return exact + off * it->opt.noise_times * 1.7320508075688772 * draw(it->opt.noise, exact, j);
}

static double
roundoff(DType d)
{
	return ldexp(1, -(dtype_info[d].man + 1));
}

/* Relative error permitted by the precision table in hexc/LANGUAGE.md. */
static double
admitted(const Op *o, DType d, double x)
{
	double u = roundoff(d), rel = 0;

	if (d == D_f64)
		return u;
	switch ((int)o->code) {
	case O_div: rel = IMM(o, exact) ? 0 : ldexp(1, -20); break;
	case O_sqrt: rel = IMM(o, exact) ? 0 : ldexp(1, -22); break;
	case O_exp: rel = ldexp(1, -21) + fmin(fabs(x), 1000) * ldexp(1, -23); break;
	case O_exp2:
	case O_log:
	case O_rsqrt: rel = ldexp(1, -21); break;
	case O_tanh: rel = dtype_info[d].bits < 32 ? ldexp(1, -10) : ldexp(1, -20); break;
	default: break;
	}
	return fmax(u, rel);
}

/* Flushes a number below 2^-126 to 0. */
static double
flushed(double x)
{
	return fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

/* In every other run flushes what may be flushed: dividend, divisor and quotient below 2^-126, and results of
 * exp. */
static void
flush(const Interp *it, const Op *o, DType d, InterpValue *const *in, InterpValue *r)
{
	bool div = o->code == O_div;

	if (it->opt.noise % 2 || d == D_f64 || !(div || o->code == O_exp || o->code == O_exp2) ||
	    IMM(o, exact))
		return;
	for (int64_t j = 0; j < r->n; j++)
		r->f[j] = flushed(div ? flushed(in[0]->f[j]) / flushed(in[1]->f[j]) : r->f[j]);
}

/* Does the op round its f64 result? */
static bool
rounds(OpCode code)
{
	switch ((int)code) {
	case O_add:
	case O_sub:
	case O_mul:
	case O_fma:
	case O_div:
	case O_sqrt:
	case O_rsqrt:
	case O_exp:
	case O_exp2:
	case O_log:
	case O_tanh: return true;
	default: return false;
	}
}

void
interp_noise_elt(const Interp *it, const Op *o, DType d, InterpValue *const *in, InterpValue *r)
{
	if (!it->opt.noise || (d == D_f64 && !rounds(o->code)))
		return;
	flush(it, o, d, in, r);
	for (int64_t j = 0; j < r->n; j++)
		r->f[j] = noisy(it, d, r->f[j], fabs(r->f[j]) * admitted(o, d, in[0]->f[j]), j);
}

/* For a sum of n terms whose magnitudes sum to `size`. */
double
interp_noise_sum(const Interp *it, DType d, double exact, int64_t n, double size, int64_t j)
{
	return noisy(it, d, exact, roundoff(d) * sqrt((double)n) * size, j);
}
