/* test_special_values.c - tests bounds of single ops at infinities, NaN, zeros, the ends of formats,
 * and operands of which one value more or less decides.
 *
 * In C, and not as a text test, because the bounds of the operands are inputs. A row's expectation is
 * derived from what a correct execution may return: `low` is the largest difference that two correct
 * executions have, or a lower bound of it, and the bound is at most `high`. */
#include "test/error_bound/util_bound.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "test/ir/util_unit.h"

#define INF ((double)INFINITY)
#define TINY 0x1p-126
#define F32_MAX 0x1.fffffep127

/* The operands and their bounds. */
typedef struct Operand {
	double x, e;
} Operand;

/* `text` is a formula of x, y and z, which have type `from`; its value has type `to`. */
typedef struct Row {
	const char *from, *to, *text;
	Operand in[3];
	double low, high;
} Row;

#define SURE 0, 0
#define LOST INF, INF
#define WITHIN(low, high) low, high
#define ABOUT(e) (e), (e) * 1.001

static const Row row[] = {
	/* Sums of infinities: certain if one operand is, and if both have to overflow. */
	{ "f32", "f32", "x + y", { { INF, 0 }, { 1, .5 } }, SURE },
	{ "f32", "f32", "x + y", { { -INF, 0 }, { 1, .5 } }, SURE },
	{ "f32", "f32", "x + y", { { INF, INF }, { 1, .5 } }, LOST },
	{ "f32", "f32", "x + y", { { 3e38, 1e37 }, { 3e38, 1e37 } }, SURE },
	{ "f32", "f32", "x + y", { { 1.7e38, 1e38 }, { 1.8e38, 0 } }, LOST },
	{ "f32", "f32", "x - y", { { INF, 0 }, { INF, 0 } }, SURE },
	{ "f32", "f32", "x - y", { { INF, INF }, { INF, 0 } }, LOST },
	{ "f32", "f32", "x + y", { { 1, INF }, { 1, 0 } }, LOST },
	/* The largest number, plus half its distance to 2^128, rounds to infinity; a little less does
	 * not. */
	{ "f32", "f32", "x + y", { { F32_MAX, 0x1p103 }, { 0, 0 } }, LOST },
	{ "f32", "f32", "x - y", { { -F32_MAX, 0x1p103 }, { 0, 0 } }, LOST },
	{ "f32", "f32", "x + y", { { 0x1p127, 0x1p126 }, { 0, 0 } }, WITHIN(0x1p126, 0x1.001p126) },
	{ "f16", "f16", "x * y", { { 60000, 6000 }, { 1, 0 } }, LOST },
	{ "f16", "f16", "x * y", { { 60000, 5000 }, { 1, 0 } }, ABOUT(5000 + 65000 * 0x1p-10) },
	/* These types have no infinity: what is larger becomes the largest number. */
	{ "f32", "e4m3", "e4m3(x)", { { 440, 100 } }, WITHIN(448 - 352, 170) },

	/* 0 * x is 0 as long as x is finite, and inf * x is infinite as long as x is not 0. */
	{ "f32", "f32", "x * y", { { 0, 0 }, { 3, 1 } }, SURE },
	{ "f32", "f32", "x * y", { { 0, 0 }, { 3, INF } }, LOST },
	{ "f32", "f32", "x * y", { { INF, 0 }, { 3, 1 } }, SURE },
	{ "f32", "f32", "x * y", { { 3, 1 }, { INF, 0 } }, SURE },
	{ "f32", "f32", "x * y", { { INF, 0 }, { -3, 1 } }, SURE },
	{ "f32", "f32", "x * y", { { INF, 0 }, { 3, 3 } }, LOST },
	{ "f32", "f32", "x * y", { { INF, 0 }, { 1, 2 } }, LOST },
	{ "f32", "f32", "x * y", { { 1e30, 1e29 }, { 1e30, 1e29 } }, SURE },
	{ "f32", "f32", "x * y", { { 1e20, 9e19 }, { 1e20, 9e19 } }, LOST },
	{ "f32", "f32", "x * y + z", { { INF, 0 }, { 3, 1 }, { 1, 1 } }, SURE },
	{ "f32", "f32", "x * y + z", { { INF, 0 }, { 3, 1 }, { -INF, 0 } }, SURE }, /* NaN */
	{ "f32", "f32", "x * y + z", { { INF, 0 }, { 3, 3 }, { 1, 1 } }, LOST },
	{ "f32", "f32", "x * y + z", { { 2, .5 }, { 3, .25 }, { 1, .125 } },
	  ABOUT(2 * .25 + 3 * .5 + .125 + .125) },

	/* Quotients: (|x| + ex) / (|y| - ey) - |x / y|, unless y may be 0. */
	{ "f32", "f32", "exact(x / y)", { { 6, 1 }, { 2, 1 } }, ABOUT(7 - 3) },
	{ "f32", "f32", "exact(x / y)", { { 6, 0 }, { 2, 1 } }, ABOUT(3) },
	{ "f32", "f32", "exact(x / y)", { { 6, 1 }, { 2, 0 } }, ABOUT(.5) },
	{ "f32", "f32", "exact(x / y)", { { -6, 1 }, { -2, 1 } }, ABOUT(7 - 3) },
	{ "f32", "f32", "exact(x / y)", { { 6, 0 }, { 2, 2 } }, LOST },
	{ "f32", "f32", "exact(x / y)", { { 6, 0 }, { -2, 3 } }, LOST },
	{ "f32", "f32", "exact(x / y)", { { INF, 0 }, { 2, 1 } }, SURE },
	{ "f32", "f32", "exact(x / y)", { { INF, 0 }, { 2, 2 } }, LOST },
	{ "f32", "f32", "exact(x / y)", { { INF, INF }, { 2, 1 } }, LOST },
	{ "f32", "f32", "exact(x / y)", { { 6, 1 }, { INF, 0 } }, SURE },
	{ "f32", "f32", "exact(x / y)", { { 6, 0 }, { 0, 0 } }, SURE },
	{ "f32", "f32", "exact(x / y)", { { 0, 0 }, { 0, 0 } }, SURE },
	{ "f32", "f32", "exact(x / y)", { { 6, 0 }, { 2, INF } }, LOST },
	{ "f32", "f32", "x / y", { { 6, 1 }, { 2, 1 } }, ABOUT(7 - 3) },
	{ "f32", "f32", "x / y", { { 6, 0 }, { 2, 0 } }, WITHIN(3 * 0x1p-20, 3 * 0x1.4p-20) },
	{ "f32", "f32", "x / y", { { 6, 0 }, { 0, 0 } }, SURE },
	{ "f32", "f32", "x / y", { { 0, 0 }, { 0, 0 } }, SURE },
	{ "f32", "f32", "x / y", { { 6, 1 }, { 1, 1 } }, LOST },
	{ "f32", "f32", "x / y", { { 1e30, 0 }, { 1e-30, 0 } }, SURE },
	{ "f32", "f32", "x / y", { { INF, 0 }, { 3, 0 } }, SURE },
	{ "f32", "f32", "x / y", { { 3, 0 }, { INF, 0 } }, WITHIN(0, 1.01 * TINY) },
	{ "f32", "f32", "x / y", { { F32_MAX, 0 }, { 1, 0 } }, LOST }, /* 2^-20 more is infinite */
	/* Numbers below 2^-126 may count as 0: x / 0 is infinite, 0 / 0 is NaN, 0 / y is 0. */
	{ "f32", "f32", "x / y", { { 0x1p-128, 0 }, { 0, 0 } }, LOST },
	{ "f32", "f32", "x / y", { { 1, 0 }, { 0x1p-127, 0 } }, LOST },
	{ "f32", "f32", "x / y", { { 1, 0 }, { TINY, 0 } }, WITHIN(0x1p106, 0x1.21p106) },
	{ "f32", "f32", "x / y", { { 1, 0 }, { 1.5 * TINY, TINY } }, LOST },
	{ "f32", "f32", "x / y", { { 0x1p-127, 0 }, { 0x1p-20, 0 } }, WITHIN(0x1p-107, 0x1.01p-107) },
	{ "f32", "f32", "x / y", { { TINY, 0 }, { 0x1p-20, 0 } }, WITHIN(0x1p-126, 0x1.2p-125) },
	{ "f32", "f32", "x / y", { { TINY, 0x1p-130 }, { 0x1p-20, 0 } }, WITHIN(0x1p-106, 0x1.21p-106) },
	{ "f32", "f32", "x / y", { { TINY, 0 }, { 4, 0 } }, WITHIN(TINY / 4, 1.01 * TINY) },
	{ "f32", "f32", "exact(x / y)", { { 1, 0 }, { 0x1p-127, 0 } }, SURE },
	{ "f64", "f64", "x / y", { { 1, 0 }, { 3, 0 } }, SURE },
	/* By a power of two it is a product, if the reciprocal is a number; 2^-128 has none, and 3 is
	 * none. */
	{ "f32", "f32", "x / 4.0", { { 6, 0 } }, SURE },
	{ "f32", "f32", "x / -0.25", { { 6, 0 } }, SURE },
	{ "f32", "f32", "x / 4.0", { { 6, 1 } }, ABOUT(.25) },
	{ "f32", "f32", "x / 3.0", { { 6, 0 } }, WITHIN(2 * 0x1p-20, 2 * 0x1.4p-20) },
	{ "f32", "f32", "x / 1.7014118346046923e38", { { 6, 0 } }, SURE },
	{ "f32", "f32", "x / 2.938735877055719e-39", { { 6, 0 } }, LOST },
	{ "f16", "f16", "x / 0.00048828125", { { 6, 0 } }, SURE },
	{ "f16", "f16", "x / 0.0000152587890625", { { 1, 0 } }, WITHIN(0, INF) },

	/* Roots: what may be below 0 may be NaN, unless its sign is known. */
	{ "f32", "f32", "exact(sqrt(x))", { { 9, 0 } }, SURE },
	{ "f32", "f32", "exact(sqrt(x))", { { 9, 7 } }, WITHIN(3 - 1.41421357, 1.001 * (4 - 1.41421356)) },
	{ "f32", "f32", "exact(sqrt(x))", { { 4, 5 } }, LOST },
	{ "f32", "f32", "exact(sqrt(x))", { { 4, 4 } }, WITHIN(2, 1.001 * 2.82842713) },
	{ "f32", "f32", "exact(sqrt(abs(x)))", { { 4, 5 } }, WITHIN(2, 3.001) },
	{ "f32", "f32", "exact(sqrt(x))", { { -1, 0 } }, SURE },
	{ "f32", "f32", "exact(sqrt(x))", { { INF, 0 } }, SURE },
	{ "f32", "f32", "sqrt(x)", { { 9, 0 } }, WITHIN(3 * 0x1p-22, 3 * 0x1.9p-22) },
	{ "f32", "f32", "sqrt(x)", { { INF, 0 } }, SURE },
	{ "f32", "f32", "sqrt(x)", { { 9, 7 } }, WITHIN(3 - 1.41421357, 1.001 * (4 - 1.41421356)) },
	{ "f32", "f32", "sqrt(x)", { { 4, 5 } }, LOST },
	{ "f64", "f64", "sqrt(x)", { { 2, 0 } }, SURE },

	/* exp is infinite above 88.72, and what is below 2^-126 may be 0. */
	{ "f32", "f32", "exp(x)", { { 100, .25 } }, SURE },
	{ "f32", "f32", "exp(x)", { { INF, 0 } }, SURE },
	{ "f32", "f32", "exp(x)", { { 88.8, .2 } }, LOST },
	{ "f32", "f32", "exp(x)", { { 88.7, .2 } }, LOST },
	{ "f32", "f32", "exp(x)", { { 90, 0 } }, SURE },
	{ "f32", "f32", "exp(x)", { { 0, INF } }, LOST },
	{ "f32", "f32", "exp(x)", { { -100, 0 } }, WITHIN(3.7e-44, 1.01 * TINY) },
	{ "f32", "f32", "exact(exp(x))", { { -100, 0 } }, WITHIN(3.7e-44 * 0x1p-21, 3 * 0x1p-149) },
	{ "f32", "f32", "exact(exp2(x))", { { -130, 0 } }, WITHIN(0x1p-151, 3 * 0x1p-149) },
	{ "f32", "f32", "exp2(x)", { { 200, .25 } }, SURE },
	/* The logarithm of 0 is certain, that of a number that may be 0 is not. */
	{ "f32", "f32", "log(x)", { { 0, 0 } }, SURE },
	{ "f32", "f32", "log(x)", { { 1, 1 } }, LOST },
	{ "f32", "f32", "log(x)", { { 1, 2 } }, LOST },
	{ "f32", "f32", "log(x)", { { 1, 0 } }, WITHIN(0x1p-21, 0x1.01p-21) },
	{ "f32", "f32", "log(x)", { { INF, 0 } }, SURE },
	{ "f32", "f32", "rsqrt(x)", { { 0, 0 } }, SURE },
	{ "f32", "f32", "rsqrt(x)", { { 1, 1 } }, LOST },
	{ "f32", "f32", "rsqrt(x)", { { 1, 2 } }, LOST },
	{ "f32", "f32", "tanh(x)", { { 100, 1 } }, WITHIN(0x1p-20, 0x1.3p-20) },
	{ "f16", "f16", "tanh(x)", { { 100, 1 } }, WITHIN(0x1p-10, 0x1.02p-9) },

	/* Steps: 0 if the interval has none, else their number. */
	{ "f32", "f32", "floor(x)", { { 2.5, .4 } }, SURE },
	{ "f32", "f32", "floor(x)", { { 2.5, .6 } }, WITHIN(1, 2) },
	{ "f32", "f32", "floor(x)", { { 2, .1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "ceil(x)", { { 2, .1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "ceil(x)", { { 2.5, .4 } }, SURE },
	{ "f32", "f32", "round(x)", { { 2.5, .1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "round(x)", { { 2, .4 } }, SURE },
	{ "f32", "f32", "trunc(x)", { { .5, 1.4 } }, WITHIN(1, 1) },
	{ "f32", "f32", "trunc(x)", { { 0, .9 } }, SURE },
	{ "f32", "f32", "floor(x)", { { 2, INF } }, LOST },
	{ "f32", "f32", "floor(x)", { { INF, INF } }, LOST },
	{ "f32", "f32", "max(floor(x), y)", { { INF, INF }, { 0, 1 } }, LOST },
	{ "f32", "f32", "floor(x)", { { NAN, INF } }, LOST },
	{ "f32", "f32", "floor(x)", { { INF, 0 } }, SURE },

	/* Signs, extremes: they differ by no more than the operands. */
	{ "f32", "f32", "-x", { { 3, 1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "abs(x)", { { -3, 1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "max(x, y)", { { 3, 1 }, { 2, 4 } }, WITHIN(4, 4) },
	{ "f32", "f32", "max(x, y)", { { 3, .25 }, { 2, .5 } }, WITHIN(.25, .25) },
	{ "f32", "f32", "max(x, y)", { { 3, .25 }, { 4, .5 } }, WITHIN(.5, .5) },
	{ "f32", "f32", "max(x, y)", { { 3, .25 }, { 4, .75 } }, WITHIN(.5, .75) },
	{ "f32", "f32", "max(x, y)", { { 3, 0 }, { 2, .5 } }, SURE },
	{ "f32", "f32", "max(x, y)", { { 3, .5 }, { 4, 0 } }, SURE },
	{ "f32", "f32", "max(x, y)", { { INF, 0 }, { 4, 1 } }, SURE },
	{ "f32", "f32", "max(x, y)", { { NAN, 0 }, { 4, 1 } }, WITHIN(1, 1) },
	{ "f32", "f32", "max(x, y)", { { NAN, INF }, { 4, 1 } }, LOST },
	{ "f32", "f32", "min(x, y)", { { 3, .25 }, { 2, .5 } }, WITHIN(.5, .5) },
	{ "f32", "f16", "f16(min(x, 65504.0))", { { 1e6, 10 } }, SURE }, /* clamped */
	{ "f32", "f32", "max(x, y)", { { 3, 0 }, { 2, 4 } }, WITHIN(3, 4) }, /* up to 6 */
	{ "f32", "f32", "min(x, y)", { { 3, 3 }, { 2, 0 } }, WITHIN(2, 3) },
	{ "f32", "f32", "min(x, y)", { { 3, 2 }, { 2, 4 } }, WITHIN(4, 4) },

	/* Comparisons turn where the intervals touch. */
	{ "f32", "i32", "i32(x < y)", { { 1, .5 }, { 2, .25 } }, SURE },
	{ "f32", "i32", "i32(x < y)", { { 1, .5 }, { 2, .5 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < y)", { { 1, 0 }, { 2, 1 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < y)", { { 1, 1 }, { 2, 0 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < y)", { { 1, 0 }, { 2, .99 } }, SURE },
	{ "f32", "i32", "i32(x < y)", { { 1, 0 }, { 1, 0 } }, SURE },
	{ "f32", "i32", "i32(x > y)", { { 1, .7 }, { 2, .7 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x <= y)", { { 5, .7 }, { 2, .7 } }, SURE },
	{ "f32", "i32", "i32(x == y)", { { 2, .1 }, { 2, 0 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x != y)", { { 2, .1 }, { 3, .1 } }, SURE },
	{ "f32", "i32", "i32(x < y)", { { INF, 0 }, { 2, 1 } }, SURE },
	{ "f32", "i32", "i32(x == y)", { { INF, 0 }, { INF, 0 } }, SURE },
	{ "f32", "i32", "i32(x < y)", { { INF, INF }, { 2, 1 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < y)", { { NAN, INF }, { 2, 0 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < y)", { { NAN, 0 }, { 2, 1 } }, SURE },
	{ "f32", "i32", "i32(x < y)", { { 1, INF }, { 2, 0 } }, WITHIN(1, 1) },
	{ "i32", "i32", "i32(x < y)", { { 1, 1 }, { 2, 0 } }, WITHIN(1, 1) },
	{ "i32", "i32", "i32(x < y)", { { 1, 1 }, { 3, 0 } }, SURE },

	/* 2^60 + 127 and 2^60 + 129 are 256 apart in f64 */
	{ "i64", "i32", "i32(x + 127 < y + 129)", { { 0x1p60, 3 }, { 0x1p60, 0 } }, WITHIN(1, 1) },
	{ "i64", "i32", "i32(x + 127 < y + 129)", { { 0x1p60, 0 }, { 0x1p60, 0 } }, SURE },
	{ "i64", "i32", "i32(x < y)", { { 0x1p60, 1000 }, { 0x1.1p60, 1000 } }, SURE },
	{ "i64", "i64", "max(x + 127, y + 129)", { { 0x1p60, 9 }, { 0x1p60, 0 } }, WITHIN(7, 9.001) },
	{ "i64", "i64", "where(x < y, y + 64, y - 64)", { { 1, 9 }, { 4, 0 } }, ABOUT(128) },
	/* 128 apart, and equal in f64 */
	{ "i64", "i64", "where(x > 0, y + 128, y)", { { 1, 9 }, { 0x1p60, 0 } }, WITHIN(128, 1024) },

	/* Bools: unsure where an operand is, unless the other one decides. */
	{ "f32", "i32", "i32(x < 0.0 && y < 0.0)", { { 1, 2 }, { -1, 0 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < 0.0 && y < 0.0)", { { -1, 0 }, { -1, 2 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < 0.0 && y < 0.0)", { { 1, .5 }, { -1, .5 } }, SURE },
	{ "f32", "i32", "i32(x < 0.0 && y < 0.0)", { { 1, 2 }, { 1, 0 } }, SURE },
	{ "f32", "i32", "i32(x < 0.0 && y < 0.0)", { { 1, .5 }, { 1, 2 } }, SURE },
	{ "f32", "i32", "i32(x < 0.0 || y < 0.0)", { { 1, 2 }, { 1, 0 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(x < 0.0 || y < 0.0)", { { 1, 2 }, { -1, 0 } }, SURE },
	{ "f32", "i32", "i32(x < 0.0 || y < 0.0)", { { -1, .5 }, { 1, 2 } }, SURE },
	{ "f32", "i32", "i32(!(x < 0.0))", { { 1, 2 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32((x < 0.0) != (y < 0.0))", { { 1, 2 }, { 1, 0 } }, WITHIN(1, 1) },

	/* Choices: by the distance of both sides where the condition is unsure, else that of the side
	 * chosen. */
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 0 }, { 5, 1 }, { 7, 2 } }, WITHIN(2, 2) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { -1, 0 }, { 5, 1 }, { 7, 2 } }, WITHIN(1, 1) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 0 }, { 5, 1 }, { 7, 0 } }, SURE },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { -1, 0 }, { 5, 0 }, { 7, 2 } }, SURE },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, .5 }, { 5, 1 }, { 7, 2 } }, WITHIN(2, 2) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { -1, .5 }, { 5, 1 }, { 7, 2 } }, WITHIN(1, 1) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { -1, 1 }, { 5, 0 }, { 7, 0 } }, WITHIN(2, 2) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { -1, 1 }, { 5, .5 }, { 7, 1 } }, WITHIN(3, 3) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 1 }, { 5, 1 }, { 7, .5 } }, WITHIN(3, 3) },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 1 }, { INF, 0 }, { INF, 0 } }, SURE },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 1 }, { INF, 0 }, { 7, 0 } }, LOST },
	{ "f32", "f32", "where(x < 0.0, y, z)", { { 1, 1 }, { NAN, 0 }, { 7, 0 } }, LOST },

	/* Casts of floats to integers: toward zero, saturating, NaN is 0. */
	{ "f32", "i8", "i8(x)", { { 3.5, .4 } }, SURE },
	{ "f32", "i8", "i8(x)", { { 3.5, .6 } }, WITHIN(1, 2) },
	{ "f32", "i8", "i8(x)", { { 0, .9 } }, SURE },
	{ "f32", "i8", "i8(x)", { { 127.5, 10 } }, WITHIN(10, 10) },
	{ "f32", "i8", "i8(x)", { { 200, 10 } }, SURE },
	{ "f32", "u8", "u8(x)", { { -3, 2 } }, SURE },
	{ "f32", "u8", "u8(x)", { { 1, 2 } }, WITHIN(2, 3) },
	{ "f32", "i8", "i8(x)", { { 1, INF } }, WITHIN(129, 256) },
	{ "f32", "i8", "i8(x)", { { INF, INF } }, WITHIN(255, INF) },
	{ "f32", "i8", "i8(x)", { { -INF, INF } }, WITHIN(255, INF) },
	{ "f32", "i8", "i8(x)", { { NAN, INF } }, WITHIN(128, INF) },
	{ "f32", "i32", "i32(x)", { { 1000, 3 } }, WITHIN(3, 6) },
	{ "f32", "i32", "i32(bool(x))", { { .5, .5 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(bool(x))", { { -.5, .5 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(bool(x))", { { .5, .4 } }, SURE },
	{ "f32", "i32", "i32(bool(x))", { { 0, .1 } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(bool(x))", { { 0, 0 } }, SURE },
	{ "f32", "i32", "i32(bool(x))", { { NAN, INF } }, WITHIN(1, 1) },
	{ "f32", "i32", "i32(bool(x))", { { INF, INF } }, WITHIN(1, 1) },
	{ "f32", "i8", "i8(x < y)", { { 0, 1 }, { 0, 0 } }, WITHIN(1, 1) },
	/* Integers to wider ones, unless a negative number becomes a large one; to others nothing is
	 * known. */
	{ "i8", "i32", "i32(x)", { { -5, 1 } }, WITHIN(1, 1) },
	{ "i8", "i32", "i32(x)", { { 0, 1 } }, WITHIN(1, 1) },
	{ "u8", "i32", "i32(x)", { { 5, 1 } }, WITHIN(1, 1) },
	{ "u8", "i32", "i32(x)", { { 0, 1 } }, WITHIN(1, 1) },
	{ "u8", "u32", "u32(x)", { { 5, 1 } }, WITHIN(1, 1) },
	{ "i8", "u32", "u32(x)", { { 5, 1 } }, WITHIN(1, 1) },
	{ "i8", "u32", "u32(x)", { { 0, 1 } }, WITHIN(4294967295.0, INF) },
	{ "i8", "u32", "u32(x)", { { -1, 1 } }, WITHIN(4294967295.0, INF) },
	{ "i32", "i8", "i8(x)", { { 5, 1 } }, WITHIN(1, INF) },
	{ "i32", "i8", "i8(x)", { { 127, 1 } }, WITHIN(255, INF) },
	{ "i32", "i8", "i8(x)", { { 5, 0 } }, SURE },
	{ "i32", "u32", "u32(x)", { { 0, 1 } }, WITHIN(4294967295.0, INF) },
	{ "u32", "i32", "i32(x)", { { 2147483647, 1 } }, WITHIN(4294967295.0, INF) },
	{ "i32", "f32", "f32(x)", { { 5, 1 } }, ABOUT(1) },
	{ "i32", "f32", "f32(x)", { { 1 << 24, 1 } }, WITHIN(2, 6) }, /* 2^24 + 2 is the next number */
	{ "i32", "f32", "f32(x)", { { (1 << 24) + 1, 0 } }, SURE },
	{ "f32", "f16", "f16(x)", { { 1 + 0x1p-11, 0x1p-20 } }, WITHIN(0x1p-10, 0x1.01p-10) },
	{ "f32", "f16", "f16(x)", { { 1, 0 } }, SURE },
	{ "f32", "f16", "f16(x)", { { 65504, 16 } }, LOST },
	{ "f32", "f16", "f16(x)", { { 66000, 400 } }, SURE },
	{ "f32", "f16", "f16(x)", { { 0x1p-25, 0x1p-30 } }, WITHIN(0x1p-24, 0x1.2p-24) },
	{ "f32", "bf16", "bf16(x)", { { 1 + 0x1p-8, 0x1p-20 } }, WITHIN(0x1p-7, 0x1.01p-7) },
	/* Between its last numbers, 0.723 and 1, nf4 has the widest gap. */
	{ "f32", "nf4", "nf4(x)", { { .86, .01 } }, ABOUT(1.01 - .72296) },

	/* Integers wrap: one more than the largest is the smallest. */
	{ "i8", "i8", "x + y", { { 100, 1 }, { 1, 2 } }, ABOUT(3) },
	{ "i8", "i8", "x + y", { { 126, 1 }, { 1, 0 } }, WITHIN(255, INF) },
	{ "i8", "i8", "x + y", { { 125, 1 }, { 1, 0 } }, ABOUT(1) },
	{ "i8", "i8", "x - y", { { -127, 0 }, { 1, 1 } }, WITHIN(255, INF) },
	{ "i8", "i8", "x - y", { { -126, 0 }, { 1, 1 } }, ABOUT(1) },
	{ "u8", "u8", "x - y", { { 1, 0 }, { 1, 1 } }, WITHIN(255, INF) },
	{ "u8", "u8", "x - y", { { 2, 0 }, { 1, 1 } }, ABOUT(1) },
	{ "u8", "u8", "x + y", { { 254, 0 }, { 1, 1 } }, WITHIN(255, INF) },
	{ "i8", "i8", "x * y", { { 10, 1 }, { 12, 0 } }, WITHIN(256 - 12, INF) },
	{ "i8", "i8", "x * y", { { 10, 1 }, { 11, 0 } }, ABOUT(11) },
	{ "i8", "i8", "-x", { { -127, 1 } }, WITHIN(255, INF) },
	{ "i8", "i8", "-x", { { -126, 1 } }, ABOUT(1) },
	{ "i8", "i8", "abs(x)", { { -127, 1 } }, WITHIN(255, INF) },
	{ "i8", "i8", "abs(x)", { { 0, 1 } }, ABOUT(1) },
	{ "i32", "i32", "x * y + z", { { 10, 1 }, { 12, 2 }, { 3, 4 } }, ABOUT(20 + 12 + 2 + 4) },
	{ "i32", "i32", "max(x, y)", { { 10, 1 }, { 12, 2 } }, WITHIN(2, 2) },
	{ "i32", "i32", "x / y", { { 7, 1 }, { 2, 0 } }, WITHIN(1, INF) },
	{ "i32", "i32", "x / y", { { 7, 0 }, { 2, 0 } }, SURE },
	{ "i32", "i32", "x % y", { { 7, 0 }, { 2, 0 } }, SURE },
	{ "i32", "i32", "x % y", { { 7, 1 }, { 8, 0 } }, WITHIN(7, INF) },
	{ "i32", "i32", "x % y", { { 7, 0 }, { 8, 1 } }, WITHIN(7, INF) },
	{ "i32", "i32", "x & y", { { 7, 1 }, { 8, 0 } }, WITHIN(8, INF) },
	{ "i32", "i32", "x & y", { { 7, 0 }, { 8, 0 } }, SURE },
	{ "i32", "i32", "x << y", { { 1, 0 }, { 8, 1 } }, WITHIN(256, INF) },
	{ "i32", "i32", "x >> y", { { 256, 0 }, { 8, 1 } }, WITHIN(1, INF) },
	{ "i32", "f32", "bitcast(x, f32)", { { 7, 1 } }, WITHIN(0x1p-149, INF) },
	{ "i32", "f32", "bitcast(x, f32)", { { 7, 0 } }, SURE },
	{ "i32", "i32", "popcount(x)", { { 7, 1 } }, WITHIN(2, INF) },
	{ "i32", "i32", "popcount(x)", { { 7, 0 } }, SURE },
};

/* All operands inexact, by 0 or more; or only those that are. */
static void
check(const Row *r, bool all)
{
	char src[600];
	const char *inout[3];
	Bounded *b;
	double bound;

	for (int i = 0; i < 3; i++)
		inout[i] = all || r->in[i].e > 0 ? "inout " : "";
	snprintf(src, sizeof src,
	         "kernel k(X: %s%s[16], Y: %s%s[16], Z: %s%s[16], C: out %s[16])\n{\n    grid(1);\n"
	         "    let x: register = X[:], y: register = Y[:], z: register = Z[:];\n    C[:] = %s;\n}\n",
	         inout[0], r->from, inout[1], r->from, inout[2], r->from, r->to, r->text);
	b = bounded(u, src, "");
	for (int i = 0; i < 3; i++)
		bounded_put(b, (const char *[]){ "X", "Y", "Z" }[i], 5, r->in[i].x, r->in[i].e);
	bounded_run(b);
	bound = bounded_bound(b, "C", 5);
	ck_assert_msg(bound >= r->low && bound <= r->high,
	              "%s (%s) of %g +- %g, %g +- %g, %g +- %g is %g: bound %.9g, not between %.9g and "
	              "%.9g", r->text,
	              r->from, r->in[0].x, r->in[0].e, r->in[1].x, r->in[1].e, r->in[2].x, r->in[2].e,
	              bounded_get(b, "C", 5), bound, r->low, r->high);
}

TEST_EACH(rows, sizeof row / sizeof *row)
{
	check(&row[_i], true);
	check(&row[_i], false);
}

TEST_PROGRAM(UNIT_FIXTURE);
