/* test_library_functions.c - tests bounds of functions that are written in the language, at inexact
 * arguments.
 *
 * In C, because it compares with the C library's functions, in long double (64-bit significands; the
 * functions' own error is 2^-23 and more, that of exp and log of f64 2^-52). A function of relative
 * error r, that rises or falls between x - e and x + e, returns at most the difference to the ends, and
 * 2 r of the largest result for the errors of both sides. The bound also contains the errors of the
 * results at the ends, computed by the same function (2 r more), and the rounding of the ends, 3 u |x|.
 * Correct executions compute the same ops at another argument, as the tile interpreter does. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

#define INF ((double)INFINITY)

typedef long double Real;

static Real power(Real x) { return powl(x, 1.75L); }
static Real remainder3(Real x) { return fmodl(x, 3); }

/* `slow`: a function whose slope is at most 1, which need not be monotone. */
typedef struct Function {
	const char *text, *type;
	Real (*f)(Real);
	double low, high, error, reached;
	bool slow;
} Function;

static const Function function[] = {
	{ "log2(x)", "f32", log2l, .01, 100, 0x1p-22, .8, false },
	{ "log1p(x)", "f32", log1pl, -.4, 10, 0x1p-23, .8, false },
	{ "expm1(x)", "f32", expm1l, -10, 10, 0x1p-22, .8, false },
	{ "erf(x)", "f32", erfl, -3, 3, 0x1p-23, .8, false },
	{ "erfc(x)", "f32", erfcl, -3, 5, 0x1p-21, .8, false },
	{ "pow(x, 1.75)", "f32", power, .1, 30, 0x1p-21, .8, false },
	{ "sin(x)", "f32", sinl, -9, 9, 0x1p-22, .8, true },
	{ "cos(x)", "f32", cosl, -9, 9, 0x1p-22, .8, true },
	{ "exp(x)", "f64", expl, -10, 10, 0x1p-52, .8, false },
	{ "log(x)", "f64", logl, .01, 100, 0x1p-52, .8, false },
	{ "x % 3.0", "f32", remainder3, .5, 2.4, 0, .8, false },
	{ "x % 3.0", "f32", remainder3, -2.4, -.5, 0, .8, false },
};

enum { MANY = 256 };

TEST_EACH(functions, sizeof function / sizeof *function)
{
	const Function *f = &function[_i];
	double u2 = strcmp(f->type, "f64") == 0 ? 0x1p-52 : 0x1p-23, reached = 0;
	uint64_t seed = (uint64_t)_i;
	double x[MANY], e[MANY];
	char src[300];
	Bounded *b;

	snprintf(src, sizeof src, "kernel k(X: inout %s[256], C: out %s[256]) { grid(1); let x: register "
	         "= X[:]; C[:] = %s; }",
	         f->type, f->type, f->text);
	b = bounded(u, src, "");
	for (int i = 0; i < MANY; i++) {
		x[i] = f->low + (f->high - f->low) * uniform(&seed);
		x[i] = u2 > 0x1p-30 ? (double)(float)x[i] : x[i];
		e[i] = i % 8 ? fabs(x[i]) * exp2(-3 - 17 * uniform(&seed)) : 0;
		bounded_put(b, "X", i, x[i], e[i]);
	}
	bounded_run(b);
	for (int side = -4; side <= 4; side++) {
		Bounded *other = bounded(u, src, "");

		for (int i = 0; i < MANY; i++)
			bounded_put(other, "X", i,
			            x[i] + side * .25 * (1 - u2) * fmax(0, e[i] - u2 * fabs(x[i])), 0);
		bounded_run(other);
		for (int i = 0; i < MANY; i++) {
			double r = bounded_get(b, "C", i), bound = bounded_bound(b, "C", i);

			ck_assert_msg(fabs(bounded_get(other, "C", i) - r) <= bound,
			              "%s of %.9g +- %g: %.9g, and %.9g, "
			              "bound %g", f->text, x[i], e[i], r, bounded_get(other, "C", i), bound);
		}
	}
	for (int i = 0; i < MANY; i++) {
		double r = bounded_get(b, "C", i), bound = bounded_bound(b, "C", i), worst = 0, wide,
		       most = 0, top = 0;

		if (e[i] <= 0) {
			ck_assert_msg(bound <= 0, "%s of %g: %g", f->text, x[i], bound);
			continue;
		}
		wide = e[i] + 1.5 * u2 * fabs(x[i]);
		for (int j = -8; j <= 8; j++) {
			Real y = f->f((Real)x[i] + j / 8.0L * (Real)e[i]), end;

			worst = fmax(worst, (double)fabsl(y - r));
			end = f->f((Real)x[i] + j / 8.0L * (Real)wide);
			most = fmax(most, (double)fabsl(end - r));
			top = fmax(top, (double)fabsl(end));
		}
		most += 4 * f->error * (top + u2);
		if (f->slow)
			most = e[i] + f->error * (2 * fabs(r) + e[i]);
		/* the ends' results have errors, too */
		ck_assert_msg(bound <= 1.02 * most + 2 * f->error * top,
		              "%s of %.9g +- %g: %.9g has bound %g, not %g", f->text,
		              x[i], e[i], r, bound, most);
		reached = fmax(reached, worst / bound);
	}
	ck_assert_msg(reached >= f->reached, "%s reaches %g of its bound", f->text, reached);
}

/* Arguments at which the function is not defined for sure, or jumps. */
typedef struct Place {
	const char *text, *in, *bounds;
} Place;

static const Place place[] = {
	{ "log2(x)", "X0=1~1 X1=1~2 X2=1~.5", "C0=inf C1=inf C2=1:1.01" },
	{ "log1p(x)", "X0=0~1 X1=0~.5", "C0=inf C1=.69:.70" },
	{ "pow(x, 1.75)", "X0=1~1 X1=1~2 X2=1~.5", "C0=inf C1=inf C2=1.03:1.04" },
	/* 3.1 +- .2 leaves 2.9 .. 0.3: they are far apart; the bound of the ops says so, or nothing */
	{ "x % 3.0", "X0=3.1~.2 X1=4.5~.25 X2=3.25~.125 X3=3~.125 X4=7~3",
	  "C0=2.6:inf C1=.25 C2=.125 C3=2.8:inf C4=1.9:inf" },
	{ "x % y", "X0=4.5~.25 Y0=3~.125 X1=4.5~.25 Y1=3", "C0=.375:inf C1=.25:inf" },
	{ "pow(x, y)", "X0=2 Y0=3~.5 X1=2~.5 Y1=3~.5 X2=2 Y2=3", "C0=3.3:inf C1=14:inf C2=0" },
	{ "pow(x, z)", "X0=1~2 Z0=-2 X1=1~.5 Z1=-2", "C0=inf C1=3:3.01" },
	{ "pow(z, x)", "X0=2~.5 Z0=4", "C0=16:inf" },
	{ "sin(x)", "X0=1e-3~.5 X1=0~1e-40", "C0=.5 C1=0:1e-37" },
	{ "log2(x) + log2(y)", "X0=4~1 Y0=8", "C0=.41:.43" },
	{ "log2(x * y)", "X0=4~1 Y0=8~0", "C0=.41:.43" },
	{ "log2(max(x, y))", "X0=4~1 Y0=2~1", "C0=.41:.43" },
};

TEST_EACH(places, sizeof place / sizeof *place)
{
	const Place *p = &place[_i];
	char src[300];
	Bounded *b;

	snprintf(src, sizeof src,
	         "kernel k(X: inout f32[16], Y: inout f32[16], Z: f32[16], C: out f32[16])\n{\n    grid(1);\n"
	         "    let x: register = X[:], y: register = Y[:], z: register = Z[:];\n    C[:] = %s;\n}\n",
	         p->text);
	b = bounded(u, src, "");
	bounded_set(b, p->in);
	bounded_run(b);
	bounded_expect(b, p->bounds, p->text);
}

TEST_PROGRAM(UNIT_FIXTURE);
