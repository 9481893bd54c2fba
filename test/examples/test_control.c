/* test_control.c - tests loops and blocks with early exits (control.hexc) against plain C loops. */
#include "test/examples/util_case.h"
#include <math.h>

#define PROGRAM "../test/examples/control"

static void
halve(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *times, *x, *y;

	case_start(&c, 1);
	times = case_in(&c, "S", "i32", -3, 9, s->m, 0);
	x = case_in(&c, "X", "f32", -1, 1, s->m, s->n, 0);
	y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	for (int64_t i = 0; i < y->n; i++)
		y->v[i] = times->v[i / s->n] > 0 ? ldexp(x->v[i], -(int)times->v[i / s->n]) : x->v[i];
	*ncand = case_run(&c, PROGRAM, "halve", arch, cand);
	case_end(&c);
}

/* The largest change that a step from y makes in a row, all in f32. */
static double
newton_step(const double *x, double *y, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++) {
		double z = (y[i] + x[i] / y[i]) * 0.5;

		most = fmax(most, fabs(z - y[i]));
		y[i] = z;
	}
	return most;
}

static void
newton(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	const double least = 0.25; /* changes are 2^-5 from it at least, in these rows: see below */
	Case c;
	Buf *x, *y, *t;

	case_start(&c, 2);
	case_num(&c, "least", least);
	x = case_in(&c, "X", "f32", 1, 1000, s->m, s->n, 0);
	y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	t = case_out(&c, "T", "i32", s->m, 0);
	for (int m = 0; m < s->m; m++) {
		double change = INFINITY, near = INFINITY;

		for (int i = 0; i < s->n; i++)
			y->v[m * s->n + i] = 1;
		for (; change > least; t->v[m]++) {
			change = newton_step(x->v + m * s->n, y->v + m * s->n, s->n);
			near = fmin(near, fabs(change - least));
		}
		ck_assert_double_gt(near, 0x1p-14); /* far more than f32 makes of numbers below 512 */
		/* Newton's steps halve what is off at least; each adds a division, a sum and a product */
		for (int i = 0; i < s->n; i++)
			y->allow[m * s->n + i] = 8 * U32 * y->v[m * s->n + i];
	}
	*ncand = case_run(&c, PROGRAM, "newton", arch, cand);
	case_end(&c);
}

/* Products of rows m .. of a with columns of b over k .. k + 15, added to `sum`. */
static void
add_products(Sum *sum, const Buf *a, const Buf *b, const Size *s, int m, int k)
{
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < s->n; j++)
			for (int p = k; p < k + 16; p++) {
				double x = a->v[(m + i) * s->k + p] * b->v[p * s->n + j];

				sum[i * s->n + j].x += x;
				sum[i * s->n + j].mag += fabs(x);
			}
}

/* What a block of 16 rows does: 1 it stores the sums, -1 their negatives, 0 nothing. */
static int
leave_block(Sum *sum, const Buf *rows, const Buf *skip, const Buf *a, const Buf *b, const Size *s, int m)
{
	const double *row = rows->v + m;

	if (row[0] < 0)
		return 0;
	for (int k = s->k - 16; k >= 0; k -= 16) {
		int what = (int)skip->v[k / 16];

		if (what == 1)
			continue;
		add_products(sum, a, b, s, m, k);
		if (row[0] >= k)
			break;
		for (int i = 0; i < 16 && what == 2; i++) {
			if (row[i] == 7)
				return -1;
			if (row[i] > 0)
				break;
			for (int e = 0; e < 16 * s->n; e++)
				sum[e].x += 1, sum[e].mag += 1;
		}
	}
	return 1;
}

static void
leave(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *rows, *skip, *a, *b, *out;

	case_start(&c, 3);
	rows = case_in(&c, "S", "i32", -1, 8, s->m, 0);
	for (int m = 0; m < s->m; m += 16) /* one block of each kind */
		for (int i = 0; i < 3; i++)
			buf_set(rows, m + i, m == 0 ? -1 : m == 16 ? 0
			                           : m == 32       ? (i == 2) * 7
			                           : m == 48       ? 20
			                                     : i);
	skip = case_in(&c, "SKIP", "i32", 0, 2, s->k / 16, 0);
	a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	b = case_in(&c, "B", "f16", -1, 1, s->k, s->n, 0);
	out = case_out(&c, "C", "f32", s->m, s->n, 0);
	for (int m = 0; m < s->m; m += 16) {
		Sum sum[16 * 64] = { { 0, 0 } };
		int what = leave_block(sum, rows, skip, a, b, s, m);

		for (int e = 0; e < 16 * s->n; e++) {
			out->v[m * s->n + e] = what * sum[e].x;
			out->allow[m * s->n + e] = what ? sum_error(sum[e].mag, s->k + s->k) : -1;
		}
	}
	*ncand = case_run(&c, PROGRAM, "leave", arch, cand);
	case_end(&c);
}

static void
down(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *times, *a, *b, *out;

	case_start(&c, 4);
	times = case_in(&c, "S", "i32", 0, 3, (s->m + 63) / 64, 0);
	buf_set(times, 0, 2);
	a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0);
	out = case_out(&c, "C", "f32", s->m, s->n, 0);
	for (int m = 0; m < s->m; m++)
		for (int n = 0; n < s->n; n++) {
			Sum d = sum_products(a, m * s->k, b, n * s->k, s->k);
			double t = times->v[m / 64];

			out->v[m * s->n + n] = t * d.x;
			out->allow[m * s->n + n] = sum_error(t * d.mag, (int64_t)t * s->k);
		}
	*ncand = case_run(&c, PROGRAM, "down", arch, cand);
	case_end(&c);
}

/* The third size is ragged. */
static const Example example[] = {
	{ .fn = halve,
	  .size = { { .m = 7, .n = 128 }, { .m = 3, .n = 64 }, { .m = 5, .n = 200 }, { .m = 1, .n = 1 },
	    { .m = 2, .n = 33 }, { .m = 40, .n = 8 }, { .m = 9, .n = 129 }, { .m = 4, .n = 256 } } },
	{ .fn = newton,
	  .size = { { .m = 5, .n = 64 }, { .m = 2, .n = 1 }, { .m = 3, .n = 33 }, { .m = 4, .n = 7 },
	    { .m = 1, .n = 63 }, { .m = 6, .n = 48 }, { .m = 2, .n = 16 }, { .m = 7, .n = 50 } } },
	{ .fn = leave,
	  .size = { { .m = 80, .n = 64, .k = 96 }, { .m = 64, .n = 32, .k = 48 },
	    { .m = 80, .n = 24, .k = 112 },
	    { .m = 48, .n = 40, .k = 16 }, { .m = 64, .n = 1, .k = 64 }, { .m = 80, .n = 7, .k = 32 },
	    { .m = 96, .n = 64, .k = 80 }, { .m = 80, .n = 33, .k = 160 } } },
	{ .fn = down,
	  .size = { { .m = 70, .n = 72, .k = 200 }, { .m = 128, .n = 64, .k = 64 },
	    { .m = 100, .n = 40, .k = 104 },
	    { .m = 1, .n = 8, .k = 8 }, { .m = 64, .n = 64, .k = 32 }, { .m = 65, .n = 128, .k = 72 },
	    { .m = 130, .n = 16, .k = 320 }, { .m = 30, .n = 24, .k = 33 } },
	  .faults = { { .m = 70, .n = 72, .k = 328 }, { .m = 130, .n = 136, .k = 456 } } },
};

TEST_EACH(sizes, COUNT_OF(example))
{
	example_sizes(&example[_i]);
}

TEST_EACH(candidates, COUNT_OF(example))
{
	example_candidates(&example[_i]);
}

/* Which barriers of `leave` are needed depends on which of its ways a block takes. */
TEST_EACH(faults, COUNT_OF(example))
{
	if (example[_i].fn != leave)
		example_faults(&example[_i]);
}
TEST_PROGRAM(.timeout = 3600);
