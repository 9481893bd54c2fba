/* test_choose.c - the operators top_k and sample: the largest of rows of any length, and tokens by given numbers. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TEST_PROGRAM(.start = op_start, .one_process = true);

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 3, 50, 0 },   { 2, 1000, 0 },  { 1, 1024, 0 },  { 2, 1025, 1 },
	{ 1, 4096, 1 }, { 2, 4097, 2 },  { 1, 9001, 2 },  { 1, 20000, 2 },
};
enum { SHAPES = sizeof shape / sizeof shape[0] };

static void
numbers(Buf *b, int every)
{
	for (int64_t i = 0; i < b->n; i++)
		buf_set(b, i, i % every == 3 ? -INFINITY : rint(b->v[i] * 8) / 8);
}

/* Places of the k largest of x[0..n), of equal ones the first. */
static void
largest(const double *x, int n, int k, int *at)
{
	char *taken = calloc((size_t)n, 1);

	for (int i = 0; i < k; i++) {
		int best = -1;

		for (int j = 0; j < n; j++)
			if (!taken[j] && (best < 0 || x[j] > x[best]))
				best = j;
		taken[best] = 1;
		at[i] = best;
	}
	free(taken);
}

/* Many are equal, some are -inf; for K = 8 in f32, for 50 in bf16, twice the number. */
TEST_EACH(top_k, SHAPES * 2)
{
	int m = shape[_i / 2].m, n = shape[_i / 2].n, k = _i % 2 ? 50 : 8, at[50];
	Case c;

	case_start(&c, 20 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", _i % 2 ? "bf16" : "f32", -40, 40, m, n, 0);
	Buf *v = case_out(&c, "V", "f32", m, k, 0), *w = case_out(&c, "I", "i32", m, k, 0);

	numbers(x, n > 100 ? 5 : 2);
	for (int i = 0; i < m; i++) {
		largest(x->v + i * n, n, k, at);
		for (int j = 0; j < k; j++) {
			w->v[i * k + j] = at[j];
			v->v[i * k + j] = x->v[i * n + at[j]] * (1 + _i % 2);
		}
	}
	size_t line = _i % 2 ? OP_RUN(&c, "sm_80", "top_k", "IN=bf16", "K=50", "input=x + x")
	                     : OP_RUN(&c, "sm_90a", "top_k", "IN=f32");
	ck_assert_uint_eq(line, shape[_i / 2].line);
	case_end(&c);
}
