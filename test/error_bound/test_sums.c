/* test_sums.c - tests bounds of sums and dots: any order, fused or not, errors of terms; sums that are
 * exact.
 *
 * In C, because the bounds of the terms are inputs. The expected bound is the contract of
 * hexc/LANGUAGE.md, "Precision": 2 n u times the sum of magnitudes S for n terms (a dot of k has n = k
 * + 4), besides the errors E of the terms, and one rounding of each side to the result's type. The
 * contract is reached within a factor of 2 by sums in which all roundings go one way (truncated, in
 * test `one_way`), so half a bound fails. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

#define INF ((double)INFINITY)
#define F32_MAX 0x1.fffffep127

/* Sums of up to 8 terms x[i] with errors e[i]; the others are 0. `text` sums tile x, of type `type`, to
 * one number of type `to`. The bound is from `low` to `high`. */
typedef struct Sum {
	const char *type, *to, *text;
	double x[8], e[8], low, high;
} Sum;

#define N8 (2 * 8 * 0x1p-24) /* 2 n u for 8 terms of f32 */
#define ABOUT(e) (e), (e) * 1.001
#define SURE 0, 0
#define LOST INF, INF

static const Sum sums[] = {
	/* S = 1.75; each side is rounded once more, by 2^-24 of 1.75 */
	{ "f32", "f32", "sum(x, 1)", { 1, .5, .25 }, { 0 }, ABOUT(1.75 * N8 + 1.75 * 0x1p-23) },
	{ "f32", "f32", "sum(x, 1)", { 1.5, .5, .25 }, { 0 }, ABOUT(2.25 * N8 + 2.25 * 0x1p-23) },
	{ "f32", "f32", "sum(x, 1)", { 1.5, -.5, .25 }, { 0 }, ABOUT(2.25 * N8 + 1.25 * 0x1p-23) },
	{ "f32", "f32", "sum(x, 1)", { 1.5, -.5, .25 }, { .5, 0, .25 }, ABOUT(.75 + 3 * N8 + 2 * 0x1p-23) },
	{ "f32", "f32", "sum(x, 1)", { 0 }, { 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { 0 }, { .5 }, ABOUT(.5) },
	/* integers whose magnitudes sum to at most 2^24 */
	{ "f32", "f32", "sum(x, 1)", { 1, -5, 1000 }, { 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { 1 << 23, -(1 << 22), 1 << 22 }, { 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { 1 << 23, -(1 << 22), 1 << 22, 1 }, { 0 }, 16, 20 },
	{ "f32", "f32", "sum(x, 1)", { 3, 2, .5 }, { 0 }, ABOUT(5.5 * N8 + 5.5 * 0x1p-23) },
	{ "f32", "f32", "sum(x, 1)", { 3, 2, 5 }, { 0, 1 }, 1 + 11 * N8 + 11 * 0x1p-23, 1.00002 },
	{ "f16", "f16", "sum(x, 1)", { 2048, 2048, 1, 1 }, { 0 }, SURE },
	/* half types are summed in f32 and rounded once: 4097.5 +- 16 u S is 4096 or 4100 */
	{ "f16", "f16", "sum(x, 1)", { 2048, 2048, 1.5 }, { 0 }, ABOUT(4096 * 0x1p-10 + 4097.5 * N8) },
	{ "bf16", "bf16", "sum(x, 1)", { 1, .5 }, { 0 }, ABOUT(1.5 * 0x1p-7 + 1.5 * N8) },
	{ "f64", "f64", "sum(x, 1)", { 1, .5 }, { 0 }, ABOUT(1.5 * 16 * 0x1p-53 + 1.5 * 0x1p-52) },
	/* 2^53 + 1 is no f64: in another order the sum is 2^53 + 2 */
	{ "f64", "f64", "sum(x, 1)", { 0x1p53, 1, 1 }, { 0 }, 2, 32 },
	{ "f64", "f64", "sum(x, 1)", { 0x1p52, 1, 1 }, { 0 }, SURE },
	/* numbers below 2^-126 */
	{ "f32", "f32", "sum(x, 1)", { 0x1p-140, 0x1p-141 }, { 0 }, 0, 0x1.01p-126 },
	/* integers */
	{ "i32", "i32", "sum(x, 1)", { 10, 20 }, { 1, 2 }, ABOUT(3) },
	{ "i32", "i32", "sum(x, 1)", { 10, 20 }, { 0 }, SURE },
	{ "i32", "i32", "sum(x, 1)", { 2147483647, 0 }, { 0, 1 }, LOST },
	/* Some orders overflow, e.g. both positive terms first. */
	{ "f32", "f32", "sum(x, 1)", { 3e38, 3e38, -3e38 }, { 0 }, LOST },
	{ "f32", "f32", "sum(x, 1)", { 3e38, -3e38, 3e38 }, { 1e30, 0 }, LOST },
	{ "f64", "f64", "sum(x, 1)", { 1.5e308, -1.5e308, 1.5e308 }, { 0 }, LOST },
	{ "f16", "f16", "sum(x, 1)", { 60000, 60000, -60000 }, { 0 }, SURE }, /* not in f32 */
	/* All orders overflow, to one side or to both. */
	{ "f32", "f32", "sum(x, 1)", { 3e38, 3e38 }, { 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { 3e38, 3e38, 3e38, 3e38, -3e38, -3e38 }, { 0 }, LOST },
	{ "f32", "f32", "sum(x, 1)", { INF, 3 }, { 0, 1 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { INF, -INF, 3 }, { 0, 0, 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { NAN, .5 }, { 0, 0 }, SURE },
	{ "f32", "f32", "sum(x, 1)", { 1, 3 }, { 0, INF }, LOST },
	{ "f64", "f64", "sum(x, 1)", { INF, 3 }, { 0 }, SURE },
	/* Products of f32 may be added unrounded: (1 + 2^-13) (1 - 2^-13) - 1 is 0, or -2^-26. */
	{ "f32", "f32", "sum(x * (2.0 - x), 1)", { 1 + 0x1p-13, 2.414213562373095 }, { 0 }, 0x1p-26, 1e-5 },
	{ "f32", "f32", "sum(x * y, 1)", { 1 + 0x1p-13, -1 }, { 0 }, 0x1p-26, 1e-5 },
	{ "f32", "f32", "sum(x * 0.3333333432674408, 1)", { 3, 3, -6 }, { 0 }, 0x1p-25, 1e-5 },
	{ "f32", "f32", "sum(0.3333333432674408 * x, 1)", { 3, 3, -6 }, { 0 }, 0x1p-25, 1e-5 },
	{ "f32", "f32", "reshape(sum(reshape(x * y, 8), 0), 1, 1)", { 1 + 0x1p-13, -1 }, { 0 }, 0x1p-26,
	  1e-5 },
	{ "f32", "f32", "sum(reshape(x * y, 1, 8), 1)", { 1 + 0x1p-13, -1 }, { 0 }, 0x1p-26, 1e-5 },
	{ "f32", "f32", "sum(y * x, 1)", { 1 + 0x1p-13, -1 }, { 0 }, 0x1p-26, 1e-5 },
	{ "f32", "f32", "sum(exact(x * y), 1)", { 1 + 0x1p-13, -1 }, { 0 }, SURE },
	{ "f32", "f32", "sum(x * x, 1)", { 3, -1, 5 }, { 0 }, SURE },
	{ "f32", "f32", "reshape(sum(reshape(x * x, 8), 0), 1, 1)", { 3, -1, 5 }, { 0 }, SURE },
	{ "f32", "f32", "reshape(sum(reshape(x, 8), 0), 1, 1)", { 3, -1, .5 }, { 0 },
	  ABOUT(4.5 * N8 + 2.5 * 0x1p-23) },
	{ "f32", "f32", "sum(reshape(x * x, 1, 8), 1)", { 3, -1, 5 }, { 0 }, SURE },
	/* Extremes are as far off as any element may be. */
	{ "f32", "f32", "reduce_max(x, 1)", { 3, 2 }, { .5, .75 }, .5, .75 },
	{ "f32", "f32", "reduce_max(x, 1)", { 3, 2 }, { .5, 0 }, .5, .5 },
	{ "f32", "f32", "reduce_min(x, 1)", { -3, 2 }, { .5, 0 }, .5, .5 },
	{ "f32", "f32", "reduce_min(x, 1)", { 3, 2 }, { 0, 0 }, SURE },
	{ "i32", "i32", "reduce_min(x, 1)", { -3, 2 }, { 1, 0 }, 1, 1 },
	/* The place of the largest: any that may be, as far as they are apart; the lowest of equal ones. */
	{ "f32", "i32", "argmax(x, 1)", { 3, 2, 1, 2.5 }, { .1, .1, 9, .1 }, 2, 2 },
	{ "f32", "i32", "argmax(x, 1)", { 3, 2, 1, 2.5 }, { .25, 0, 0, .25 }, 3, 3 },
	{ "f32", "i32", "argmax(x, 1)", { 3, 2, 1, 2.5 }, { .25, 0, 0, .24 }, SURE },
	{ "f32", "i32", "argmax(x, 1)", { 3, 2, 1, 2.5 }, { .5, 0, 0, 0 }, 3, 3 },
	{ "f32", "i32", "argmax(x, 1)", { 3, 2, 1, 2.5 }, { 0, 0, 0, .5 }, 3, 3 },
	{ "f32", "i32", "argmax(x, 1)", { 3, 3, 3, 2.5 }, { 0 }, SURE },
	{ "f32", "i32", "argmax(x, 1)", { 1, 3, 2, 0, 0, 3 }, { 0, 0, .5, 0, 0, .1 }, 4, 4 },
	{ "f32", "i32", "argmin(x, 1)", { -3, 2, 1, -2.5 }, { .25, 0, 0, .25 }, 3, 3 },
	{ "f32", "i32", "argmin(x, 1)", { -3, 2, 1, -2.5 }, { .25, 0, 0, .24 }, SURE },
	{ "f32", "i32", "argmax(x, 1)", { 1, INF, 2, 0, 0, 3 }, { 0, 0, .5, 0, 0, .1 }, SURE },
	/* not argmax: the extreme of another tile, an index along another dimension, the last of equal
	 * ones */
	{ "f32", "i32", "reduce_min(where(x == reduce_max(x, 1), iota(1, 1, 8), 99), 1)", { 3, 2.9 },
	  { .1, .1 }, 1, 99 },
	{ "f32", "i32", "reduce_min(where(y == reduce_max(x, 1), iota(1, 1, 8), 99), 1)", { .5, .25 },
	  { .1 }, 99, 99 },
	{ "f32", "i32", "reduce_min(where(x == reduce_max(x, 1), iota(0, 1, 8), 99), 1)", { 3, 2.9 },
	  { .1, .1 }, 99, 99 },
	{ "f32", "i32", "reduce_max(where(x == reduce_max(x, 1), iota(1, 1, 8), -1), 1)", { 3, 2.9 },
	  { .1, .1 }, 2, 2 },
	{ "f32", "i32", "reduce_min(where(x <= reduce_max(x, 1), iota(1, 1, 8), 99), 1)", { 3, 2.9 },
	  { .1, .1 }, 98, 99 },
	{ "f32", "i32", "reduce_min(where(x == reduce_max(x, 1), 5 - iota(1, 1, 8), 99), 1)", { 3, 2.9 },
	  { .1, .1 }, 94, 99 },
	{ "f32", "i32", "reduce_min(where(x == 3.0, iota(1, 1, 8), 99), 1)", { 3, 2.9 }, { .1, .1 }, 98, 99 },
	{ "f32", "i32", "argmax(x, 1)", { 1, 5, 2, 0, 0, 3 }, { 0, INF }, 6, 6 },
};

static bool
inexact(const double *e, int n)
{
	for (int i = 0; i < n; i++)
		if (e[i] > 0)
			return true;
	return false;
}

/* Element (0, 0) of a tile of one row; y is the same, but 1 - 2^-13 for 1 + 2^-13, and 1 for -1. */
static void
check_sum(const Sum *s, bool inout, int row)
{
	char src[500];
	Bounded *b;
	double bound;

	snprintf(src, sizeof src,
	         "kernel k(X: %s%s[2, 8], Y: %s[2, 8], C: out %s[2, 1])\n{\n    grid(1);\n"
	         "    let x: register = X[%d :+ 1, :], y: register = Y[%d :+ 1, :];\n"
	         "    C[%d :+ 1, :] = %s;\n}\n",
	         inout ? "inout " : "", s->type, s->type, s->to, row, row, row, s->text);
	b = bounded(u, src, "");
	for (int i = 0; i < 8; i++) {
		bounded_put(b, "X", row * 8 + i, s->x[i], s->e[i]);
		bounded_put(b, "Y", row * 8 + i, s->x[i] > 1 ? 2 - s->x[i] : fabs(s->x[i]), 0);
	}
	bounded_run(b);
	bound = bounded_bound(b, "C", row);
	ck_assert_msg(bound >= s->low && bound <= s->high,
	              "%s (%s) of %g +- %g, %g +- %g, .. is %g: bound %.9g, not "
	              "between %.9g and %.9g", s->text, s->type, s->x[0], s->e[0], s->x[1], s->e[1],
	              bounded_get(b, "C", row), bound, s->low, s->high);
}

TEST_EACH(rows, sizeof sums / sizeof *sums)
{
	check_sum(&sums[_i], true, 1);
	if (!inexact(sums[_i].e, 8))
		check_sum(&sums[_i], false, 0);
}

/* 1 and 63 numbers of almost 2^-23: a truncating accumulator that starts with the 1 loses all of them,
 * one that ends with it none. The bound is 2 * 64 * 2^-24 and the last rounding: at most 10 % more.
 * Along both dimensions. */
TEST_EACH(one_way, 2)
{
	static const char *const src[] = {
		"kernel k(X: f32[64, 1], C: out f32[1, 1]) { grid(1); C[:, :] = sum(X[:, :], 0); }",
		"kernel k(X: f32[1, 64], C: out f32[1, 1]) { grid(1); C[:, :] = sum(X[:, :], 1); }",
	};
	Bounded *b = bounded(u, src[_i], "");
	double bound;

	for (int i = 0; i < 64; i++)
		bounded_put(b, "X", i, i ? 0x1.fep-24 : 1, 0);
	bounded_run(b);
	bound = bounded_bound(b, "C", 0);
	ck_assert(bound >= 63 * 0x1.fep-24 && bound <= 1.1 * 63 * 0x1.fep-24);
}

/* A tile that reaches past the tensor: what is not there has no error, and is no extreme. Of the 6
 * elements that are there 2 and 5 may be the largest. */
TEST(masked)
{
	Bounded *b = bounded(u,
	                     "kernel k(X: inout f32[N], I: out i32[1], S: out f32[1], P: out f32[1])\n{\n"
	                     "    grid(1);\n    let x: register = X[0 :+ 8];\n    I[:] = argmax(x, 0);\n"
	                     "    S[:] = sum(x, 0);\n"
	                     "    P[:] = sum(x * (x - 4.0), 0);\n}\n",
	                     "N=6");

	bounded_set(b, "X2=5~.25 X5=4.75~.125 X3=4.5~.0625");
	bounded_run(b);
	/* E = .4375; E of the products: e (|x| + |x - 4|) + e^2 */
	bounded_expect(b, "I0=3 S0=.4375:.4376 P0=2.582", "masked");
	b = bounded(u,
	            "kernel k(X: f32[N], P: out f32[1])\n"
	            "{ grid(1); let x = X[0 :+ 8]; P[:] = sum(x * x, 0); }",
	            "N=6");
	bounded_set(b, "X2=5 X5=3");
	bounded_run(b);
	bounded_expect(b, "P0=0", "masked integers");
	/* (1 + 2^-13) (1 - 2^-13) is rounded to 1, or not */
	b = bounded(u,
	            "kernel k(X: f32[N], P: out f32[1])\n"
	            "{ grid(1); let x = X[0 :+ 8]; P[:] = sum(x * (2.0 - x), 0); }",
	            "N=6");
	bounded_set(b, "X2=0x1.0008p0 X5=-1");
	bounded_run(b);
	bounded_expect(b, "P0=0x1p-26:1e-5", "masked products");
}

/* Products that are rearranged before they are added: their rounded values are integers, and those that the
 * sum may add unrounded are not. */
static const char *const rearranged[] = {
	"p",
	"reshape(transpose(reshape(p, 2, 4), 1, 0), 8)",
	"p[0 :+ 4]",
	"reshape(reshape(p, 2, 4)[:, 0 :+ 2], 4)",
};

TEST_EACH(rearranged_products, COUNT_OF(rearranged))
{
	Bounded *b = bounded(u,
	                     arena_printf(u->arena,
	                                  "kernel k(X: f32[8], P: out f32[1])\n{ grid(1); let x: register = "
	                                  "X[:], p: register = x * (2.0 - x); P[:] = sum(%s, 0); }",
	                                  rearranged[_i]),
	                     "");

	bounded_set(b, "X0=0x1.0008p0 X1=-1");
	bounded_run(b);
	bounded_expect(b, "P0=0x1p-26:1e-5", rearranged[_i]);
}

/* ---- dots ------------------------------------------------------------------------------------------ */

/* C + A B: A is rows x 16, B 16 x 8. The first row and column have three elements of errors; others are
 * 0. */
typedef struct Dot {
	const char *type, *acc;
	double a[3], ea[3], b[3], eb[3], c, ec, low, high;
} Dot;

#define K20 (2 * 20 * 0x1p-24) /* 2 n u for n = 16 + 4 */

static const Dot dots[] = {
	/* S = 1.5 * 2 + .25 */
	{ "f16", "f32", { 1.5 }, { 0 }, { 2 }, { 0 }, .25, 0, ABOUT(3.25 * K20 + 3.25 * 0x1p-23) },
	{ "f16", "f32", { 1.5, 1 }, { 0 }, { 2, -1.5 }, { 0 }, .25, 0, ABOUT(4.75 * K20 + 1.75 * 0x1p-23) },
	/* E = ea |b| + (|a| + ea) eb + ec */
	{ "f16", "f32", { 3 }, { 1 }, { 2 }, { 0 }, 5, 0, ABOUT(2) },
	{ "f16", "f32", { 3 }, { 0 }, { 2 }, { 1 }, 5, 0, ABOUT(3) },
	{ "f16", "f32", { 3 }, { 1 }, { -2 }, { 1 }, 5, 0, ABOUT(2 + 4) },
	{ "f16", "f32", { -3 }, { 1 }, { 2 }, { 1 }, 5, 1, ABOUT(2 + 4 + 1) },
	{ "f16", "f32", { 3 }, { 0 }, { 2 }, { 0 }, 5, 1, ABOUT(1) },
	{ "f16", "f32", { 3, 5 }, { 1, 0 }, { 2, 1 }, { 0, .5 }, 5, 0, ABOUT(2 + 2.5) },
	{ "bf16", "f32", { 0 }, { .5 }, { 0 }, { .25 }, 0, 0, ABOUT(.125) },
	/* integers up to 2^24, and one that is none: of a, b, or c */
	{ "f16", "f32", { 2048, 2048 }, { 0 }, { 2048, -2048 }, { 0 }, 1 << 23, 0, SURE },
	{ "f16", "f32", { 2048, 2048 }, { 0 }, { 2048, -2048 }, { 0 }, (1 << 23) + 1, 0,
	  ABOUT(0x1p24 * K20 + 1) },
	{ "f16", "f32", { 3 }, { 0 }, { 1, .5 }, { 0 }, 0, 0, ABOUT(3 * K20 + 3 * 0x1p-23) },
	{ "f16", "f32", { 3, .5 }, { 0 }, { 1 }, { 0 }, 0, 0, ABOUT(3 * K20 + 3 * 0x1p-23) },
	{ "f16", "f32", { 3 }, { 0 }, { 1 }, { 0 }, 4, 0, SURE },
	{ "f16", "f16", { 3 }, { 0 }, { 1 }, { 0 }, .5, 0, ABOUT(3.5 * 40 * 0x1p-11 + 3.5683 * 0x1p-10) },
	{ "f16", "f16", { 32, 32 }, { 0 }, { 32, -32 }, { 0 }, 0, 0, SURE },
	{ "f16", "f16", { 200, 200 }, { 0 }, { 200, -200 }, { 0 }, 0, 0, LOST }, /* 40000 + 40000 overflows */
	{ "f16", "f32", { 200, 200 }, { 0 }, { 200, -200 }, { 0 }, 0, 0, SURE },
	{ "bf16", "f32", { 1e38, 1 }, { 0 }, { 4, 1 }, { 0 }, 0, 0, LOST },
	{ "bf16", "f32", { 1e38, 1e38 }, { 0 }, { 4, -4 }, { 0 }, 0, 0, LOST },
	{ "f16", "f32", { INF }, { 0 }, { 2 }, { 0 }, 1, 0, SURE },
	{ "f16", "f32", { 2 }, { INF }, { 2 }, { 0 }, 1, 0, LOST },
	{ "f64", "f64", { 1 }, { 0 }, { .5 }, { 0 }, 0, 0, ABOUT(.5 * 40 * 0x1p-53 + .5 * 0x1p-52) },
	{ "i8", "i32", { 3, 5 }, { 1 }, { 2, 3 }, { 0, 1 }, 7, 2, ABOUT(2 + 5 + 2) },
	{ "i8", "i32", { 3, 5 }, { 0 }, { 2, 3 }, { 0 }, 7, 0, SURE },
	{ "i8", "i32", { 3, 5 }, { 0 }, { 2, 3 }, { 0 }, 2147483600, 100, LOST },
	{ "i8", "i32", { 3, 5 }, { INF }, { 2, 3 }, { 0 }, 7, 0, LOST },
};

/* A x B with B as it is or transposed, alone or as second of a batch. Row 2, column 3. */
static void
check_dot(const Dot *d, bool turned, bool batch, const bool inout[3])
{
	const char *two = batch ? "2, " : "", *all = batch ? ":, " : "";
	char src[700], b_shape[20];
	Bounded *b;
	double bound;

	snprintf(b_shape, sizeof b_shape, turned ? "%s8, 16" : "%s16, 8", two);
	snprintf(src, sizeof src,
	         "kernel k(A: %s%s[%s16, 16], B: %s%s[%s], C: %s%s[%s16, 8], D: out %s[%s16, 8])\n{\n    "
	         "grid(1);\n"
	         "    var acc: register %s[%s16, 8] = C[%s:, :];\n"
	         "    acc += dot(A[%s:, :], B[%s:, :]%s%s);\n    D[%s:, :] = acc;\n}\n",
	         inout[0] ? "inout " : "", d->type, two, inout[1] ? "inout " : "", d->type, b_shape,
	         inout[2] ? "inout " : "", d->acc, two, d->acc, two, d->acc, two, all, all, all,
	         turned ? ".T" : "",
	         strcmp(d->acc, "f16") == 0 ? ", f16" : "", all);
	b = bounded(u, src, "");
	for (int i = 0; i < 3; i++) {
		int k = 5 * i + 1;

		bounded_put(b, "A", batch * 256 + 2 * 16 + k, d->a[i], d->ea[i]);
		bounded_put(b, "B", batch * 128 + (turned ? 3 * 16 + k : k * 8 + 3), d->b[i], d->eb[i]);
	}
	bounded_put(b, "C", batch * 128 + 2 * 8 + 3, d->c, d->ec);
	bounded_run(b);
	bound = bounded_bound(b, "D", batch * 128 + 2 * 8 + 3);
	ck_assert_msg(bound >= d->low && bound <= d->high,
	              "(%g +- %g) (%g +- %g) + %g +- %g (%s) is %g: bound %.9g, not between %.9g and "
	              "%.9g", d->a[0],
	              d->ea[0], d->b[0], d->eb[0], d->c, d->ec, d->type,
	              bounded_get(b, "D", batch * 128 + 2 * 8 + 3), bound, d->low, d->high);
}

TEST_EACH(products, sizeof dots / sizeof *dots)
{
	const Dot *d = &dots[_i];

	check_dot(d, false, false, (bool[]){ true, true, true });
	check_dot(d, true, false,
	          (bool[]){ inexact(d->ea, 3), inexact(d->eb, 3), inexact(&d->ec, 1) });
	if (strcmp(d->type, "f64") != 0)
		check_dot(d, false, true, (bool[]){ true, true, inexact(&d->ec, 1) });
}

TEST_PROGRAM(UNIT_FIXTURE);
