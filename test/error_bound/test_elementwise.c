/* test_elementwise.c - tests that no correct execution of an elementwise op exceeds its bound, and that
 * the bound is not much larger than what correct executions reach.
 *
 * In C, because it draws operands with errors and computes the formulas itself: in long double, at all
 * corners of the operands' intervals, times the approximation's error that hexc/LANGUAGE.md permits
 * ("Precision"), rounded. Every formula is monotone in each operand on its intervals, so the extremes
 * are at corners. Long double is exact enough (64 bits, relative 2^-64): what is compared differs by
 * 2^-53 and more. It needs no library that CI may lack. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

typedef long double Real;

static Real add(const Real *x) { return x[0] + x[1]; }
static Real sub(const Real *x) { return x[0] - x[1]; }
static Real mul(const Real *x) { return x[0] * x[1]; }
static Real fma3(const Real *x) { return fmal(x[0], x[1], x[2]); }
static Real div2(const Real *x) { return x[0] / x[1]; }
static Real root(const Real *x) { return sqrtl(x[0]); }
static Real rroot(const Real *x) { return 1 / sqrtl(x[0]); }
static Real exp_e(const Real *x) { return expl(x[0]); }
static Real exp_2(const Real *x) { return exp2l(x[0]); }
static Real log_e(const Real *x) { return logl(x[0]); }
static Real tanh1(const Real *x) { return tanhl(x[0]); }
static Real minus(const Real *x) { return -x[0]; }
static Real size(const Real *x) { return fabsl(x[0]); }
static Real larger(const Real *x) { return fmaxl(x[0], x[1]); }
static Real smaller(const Real *x) { return fminl(x[0], x[1]); }
static Real down(const Real *x) { return floorl(x[0]); }
static Real up(const Real *x) { return ceill(x[0]); }
static Real nearest(const Real *x) { return nearbyintl(x[0]); }
static Real cut(const Real *x) { return truncl(x[0]); }
static Real same(const Real *x) { return x[0]; }

/* The error that LANGUAGE.md permits: rel times the result, or times 1 if that is more and `of_1`;
 * per_x per unit of |x|. `times`: the bound is up to so many times the largest error, e.g. because it
 * is f(x + e) - f(x - e). `reached`: a correct execution comes so near to the bound of some element. */
typedef struct Formula {
	const char *text, *from, *to;
	int n;
	Real (*f)(const Real *);
	double low, high; /* of operands; their signs are random if low is negative */
	double rel, per_x;
	bool of_1, exact; /* exact: the result is not rounded */
	double times, reached;
} Formula;

static const Formula formula[] = {
	{ "x + y", "f32", "f32", 2, add, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x - y", "f32", "f32", 2, sub, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x * y", "f32", "f32", 2, mul, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x * y + z", "f32", "f32", 3, fma3, -8, 8, 0, 0, false, false, 1, .95 },
	{ "exact(x / y)", "f32", "f32", 2, div2, .5, 8, 0, 0, false, false, 1, .95 },
	{ "x / y", "f32", "f32", 2, div2, .5, 8, 0x1p-20, 0, false, false, 1, .95 },
	{ "exact(sqrt(x))", "f32", "f32", 1, root, .5, 8, 0, 0, false, false, 2, .45 },
	{ "sqrt(x)", "f32", "f32", 1, root, .5, 8, 0x1p-22, 0, false, false, 2, .7 },
	{ "rsqrt(x)", "f32", "f32", 1, rroot, .5, 8, 0x1p-21, 0, false, false, 2, .8 },
	{ "exp(x)", "f32", "f32", 1, exp_e, -20, 20, 0x1p-21, 0x1p-23, false, false, 2, .9 },
	{ "exp2(x)", "f32", "f32", 1, exp_2, -20, 20, 0x1p-21, 0, false, false, 2, .8 },
	{ "log(x)", "f32", "f32", 1, log_e, .01, 100, 0x1p-21, 0, true, false, 2, .8 },
	{ "tanh(x)", "f32", "f32", 1, tanh1, -3, 3, 0x1p-20, 0, false, false, 2, .85 },
	{ "-x", "f32", "f32", 1, minus, -8, 8, 0, 0, false, true, 1, .95 },
	{ "abs(x)", "f32", "f32", 1, size, -8, 8, 0, 0, false, true, 1, .95 },
	{ "max(x, y)", "f32", "f32", 2, larger, -8, 8, 0, 0, false, true, INFINITY, .95 },
	{ "min(x, y)", "f32", "f32", 2, smaller, -8, 8, 0, 0, false, true, INFINITY, .95 },
	{ "floor(x)", "f32", "f32", 1, down, -80, 80, 0, 0, false, true, 2, .45 },
	{ "ceil(x)", "f32", "f32", 1, up, -80, 80, 0, 0, false, true, 2, .45 },
	{ "round(x)", "f32", "f32", 1, nearest, -80, 80, 0, 0, false, true, 2, .45 },
	{ "trunc(x)", "f32", "f32", 1, cut, -80, 80, 0, 0, false, true, 2, .45 },
	{ "i32(x)", "f32", "i32", 1, cut, -80, 80, 0, 0, false, true, 2, .45 },
	{ "f16(x)", "f32", "f16", 1, same, -8, 8, 0, 0, false, false, 1, .95 },
	{ "bf16(x)", "f32", "bf16", 1, same, -8, 8, 0, 0, false, false, 1, .95 },
	{ "e4m3(x)", "f32", "e4m3", 1, same, -8, 8, 0, 0, false, false, 1, .75 },
	{ "f32(x)", "f16", "f32", 1, same, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x + y", "f16", "f16", 2, add, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x * y", "f16", "f16", 2, mul, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x / y", "f16", "f16", 2, div2, .5, 8, 0x1p-20, 0, false, false, 1, .95 },
	{ "exp(x)", "f16", "f16", 1, exp_e, -5, 5, 0x1p-21, 0x1p-23, false, false, 2, .5 },
	{ "tanh(x)", "f16", "f16", 1, tanh1, -3, 3, 0x1p-10, 0, false, false, 2, .8 },
	{ "x * y", "bf16", "bf16", 2, mul, -8, 8, 0, 0, false, false, 1, .95 },
	{ "rsqrt(x)", "bf16", "bf16", 1, rroot, .5, 8, 0x1p-21, 0, false, false, 2, .45 },
	{ "x + y", "f64", "f64", 2, add, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x * y", "f64", "f64", 2, mul, -8, 8, 0, 0, false, false, 1, .95 },
	{ "x / y", "f64", "f64", 2, div2, .5, 8, 0, 0, false, false, 1, .95 },
	{ "sqrt(x)", "f64", "f64", 1, root, .5, 8, 0, 0, false, false, 2, .45 },
};

enum { MANY = 256 };

typedef struct Sample {
	double x[3], e[3];
} Sample;

/* Operands with errors from 2^-30 to 2^-3 of them, or none. */
static Sample
draw(const Formula *f, unsigned inexact, uint64_t *seed)
{
	Sample s = { { 0 }, { 0 } };
	DType d = dtype_find(f->from, strlen(f->from));

	for (int i = 0; i < f->n; i++) {
		double low = fmax(f->low, 0), x = low + (f->high - low) * uniform(seed);

		if (f->low < 0 && uniform(seed) < .5)
			x = -x;
		s.x[i] = num_round(d, x);
		if (inexact >> i & 1 && uniform(seed) < .9)
			s.e[i] = fabs(s.x[i]) * exp2(-3 - 27 * uniform(seed)) *
			         (f->n == 1 && uniform(seed) < .3 ? 2 : 1);
	}
	return s;
}

static double
rounded(const Formula *f, DType d, Real x)
{
	if (f->exact)
		return (double)x;
	return d == D_f64 ? (double)x : num_round(d, (double)x);
}

/* What correct executions return at the corners: *worst is the largest difference from r, *off that of
 * exact results before rounding. */
static void
corners(const Formula *f, DType d, const Sample *s, double r, double *worst, double *off)
{
	Real x[3] = { s->x[0], s->x[1], s->x[2] }, c = f->f(x);

	*worst = *off = 0;
	for (int i = 0; i < 81; i++) {
		int side[4] = { i % 3 - 1, i / 3 % 3 - 1, i / 9 % 3 - 1, i / 27 - 1 };
		Real y, rel;

		for (int j = 0; j < 3; j++)
			x[j] = (Real)s->x[j] + side[j] * (Real)s->e[j];
		y = f->f(x);
		rel = f->rel + (Real)f->per_x * fabsl(x[0]);
		y += side[3] * rel * (f->of_1 ? fmaxl(1, fabsl(y)) : fabsl(y));
		*worst = fmax(*worst, fabs(rounded(f, d, y) - r));
		*off = fmax(*off, (double)fabsl(y - c));
	}
}

static void
check(const Formula *f, unsigned inexact, uint64_t *seed, double *nearest_to_bound)
{
	static const char *const name[] = { "X", "Y", "Z" };
	DType d = dtype_find(f->to, strlen(f->to));
	double unit = dtype_is_float(d) && !f->exact ? ldexp(1, -dtype_info[d].man - 1) : 0;
	Sample s[MANY];
	char src[600];
	Bounded *b;

	snprintf(src, sizeof src,
	         "kernel k(X: %s%s[256], Y: %s%s[256], Z: %s%s[256], C: out %s[256])\n{\n    grid(1);\n"
	         "    let x: register = X[:], y: register = Y[:], z: register = Z[:];\n    C[:] = %s;\n}\n",
	         inexact & 1 ? "inout " : "", f->from, inexact & 2 ? "inout " : "", f->from,
	         inexact & 4 ? "inout " : "", f->from, f->to, f->text);
	b = bounded(u, src, "");
	for (int i = 0; i < MANY; i++) {
		s[i] = draw(f, inexact, seed);
		for (int j = 0; j < f->n; j++)
			bounded_put(b, name[j], i, s[i].x[j], s[i].e[j]);
	}
	bounded_run(b);
	for (int i = 0; i < MANY; i++) {
		double r = bounded_get(b, "C", i), bound = bounded_bound(b, "C", i), worst, off, most,
		       times = f->times;

		corners(f, d, &s[i], r, &worst, &off);
		if (s[i].e[0] <= 0 && s[i].e[1] <= 0 && s[i].e[2] <= 0)
			times = 1;
		if (off <= 0) {
			ck_assert_msg(bound <= s[i].e[0] + s[i].e[1], "%s of exact operands: bound %g",
			              f->text, bound);
			continue;
		}
		ck_assert_msg(worst <= bound + 0x1p-50 * fabs(r),
		              "%s of %.9g +- %g, %.9g +- %g: %g differs by %g, bound %g", f->text,
		              s[i].x[0], s[i].e[0], s[i].x[1], s[i].e[1], r, worst, bound);
		/* each side is rounded by at most u of its magnitude; formats end in 2^-24 (f16), 2^-9
		 * (e4m3) */
		most = times * off + 2 * unit * (fabs(r) + times * off);
		most += d == D_f16 ? 0x1p-24 : d == D_e4m3 ? 0x1p-9 : 0;
		most = isinf(times) ? fmax(s[i].e[0], s[i].e[1]) : most;
		ck_assert_msg(bound <= 1.0001 * most + 0x1p-125,
		              "%s of %.9g +- %g, %.9g +- %g: %g has bound %g, not %g",
		              f->text, s[i].x[0], s[i].e[0], s[i].x[1], s[i].e[1], r, bound, most);
		*nearest_to_bound = fmax(*nearest_to_bound, worst / bound);
	}
}

TEST_EACH(formulas, sizeof formula / sizeof *formula)
{
	const Formula *f = &formula[_i];
	uint64_t seed = (uint64_t)_i;
	double reached = 0;

	for (unsigned inexact = 0; inexact < 1u << f->n; inexact++)
		check(f, inexact, &seed, &reached);
	ck_assert_msg(reached >= f->reached, "%s (%s): correct executions reach %g of the bound", f->text,
	              f->from,
	              reached);
}

TEST_PROGRAM(UNIT_FIXTURE);
