/* test_choose_line.c - tests the operators top_k and sample: the largest elements of rows of any length, and
 * tokens drawn by given random numbers. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 3, 50, 0 },   { 2, 1000, 0 },  { 1, 1024, 0 },  { 2, 1025, 1 },
	{ 1, 4096, 1 }, { 2, 4097, 2 },  { 1, 9001, 2 },  { 1, 20000, 2 },
	{ 4, 77, 0 },   { 1, 2500, 1 },
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

	numbers(x, n > 100 ? 5 : 4);
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

/* A number that falls into the middle of the part of slot j, of the weights w in the order of their slots. */
static double
middle(const double *w, int n, int j)
{
	double before = 0, total = 0;

	for (int i = 0; i < n; i++) {
		before += i < j ? w[i] : 0;
		total += w[i];
	}
	return (before + w[j] / 2) / total;
}

/* A slot that weighs enough for the middle of it to be told from its ends: sums of n numbers are off by 2
 * n u. */
static int
heavy(const double *w, int n, int from)
{
	double total = 0;

	for (int i = 0; i < n; i++)
		total += w[i];
	for (int i = from; i < from + n; i++)
		if (w[i % n] > total * (8.0 * n * U32 + 0x1p-16))
			return i % n;
	ck_abort_msg("no slot is heavy");
	return 0;
}

enum { K = 64 };

/* Of the k largest, by top_p; every third time the largest. */
TEST_EACH(sample, SHAPES * 3)
{
	int m = shape[_i / 3].m, n = shape[_i / 3].n, k = 5 + _i * 7 % 40, at[K], kept;
	double w[K], temperature = _i % 3 ? 0.7 * (_i % 3) : 0, top_p = _i % 2 ? 1 : 0.6;
	Case c;

	if (n < K)
		n = K;
	case_start(&c, 60 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", "f16", -10, 10, m, n, 0), *u = case_in(&c, "U", "f32", 0, 1, m, 0);
	Buf *token = case_out(&c, "TOKEN", "i32", m, 0);

	numbers(x, 7);
	for (int i = 0; i < m; i++) {
		double total = 0, before = 0, t = temperature ? temperature : 1;

		largest(x->v + i * n, n, K, at);
		for (int j = 0; j < k; j++)
			total += w[j] = exp((x->v[i * n + at[j]] - x->v[i * n + at[0]]) / t);
		if (i == 0 && top_p < 1) /* the end of what is kept is in the middle of a slot */
			top_p = middle(w, k, heavy(w, k, 2));
		for (kept = 0; kept < k && (top_p == 1 || before < top_p * total); kept++)
			before += w[kept];
		/* of other rows too, if all is well told from it */
		int j = heavy(w, kept, i + _i);
		buf_set(u, i, middle(w, kept, j));
		token->v[i] = at[temperature > 0 ? j : 0];
		if (i > 0 && top_p < 1) { /* rows have other ends */
			buf_set(u, i, 0);
			token->v[i] = at[0];
		}
	}
	case_num(&c, "temperature", temperature);
	case_num(&c, "top_p", top_p);
	case_num(&c, "k", k);
	OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "sample", "IN=f16", "K=64");
	case_end(&c);
}

/* K = 1: the largest, the first of equal, whatever the temperature and the random number say. */
TEST_EACH(sample_one, SHAPES * 2)
{
	int m = shape[_i / 2].m, n = shape[_i / 2].n, at[1];
	Case c;

	case_start(&c, 120 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", "f32", -10, 10, m, n, 0), *token = case_out(&c, "TOKEN", "i32", m, 0);

	case_in(&c, "U", "f32", 0, 1, m, 0);
	numbers(x, 7);
	for (int i = 0; i < m; i++) {
		largest(x->v + i * n, n, 1, at);
		token->v[i] = at[0];
	}
	case_num(&c, "temperature", _i % 2 ? 0.7 : 0);
	case_num(&c, "top_p", _i % 2 ? 0.6 : 1);
	case_num(&c, "k", 1);
	OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "sample", "IN=f32", "K=1");
	case_end(&c);
}

/* Of a whole row, with a bias. */
TEST_EACH(draw, SHAPES * 3)
{
	int m = shape[_i / 3].m, n = shape[_i / 3].n, best = 0;
	double *w = malloc(sizeof *w * (size_t)n), temperature = _i % 3 ? 0.7 * (_i % 3) : 0;
	Case c;

	case_start(&c, 160 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", "f32", -6, 6, m, n, 0), *u = case_in(&c, "U", "f32", 0, 1, m, 0);
	Buf *bias = case_in(&c, "bias", "f32", -1, 1, n, 0), *token = case_out(&c, "TOKEN", "i32", m, 0);

	numbers(x, 7);
	for (int j = 0; j < n; j++)
		buf_set(bias, j, rint(bias->v[j] * 8) / 8 + (j % 997 == 17 ? 8 : 0)); /* a few are heavy */
	for (int i = 0; i < m; i++) {
		best = 0;
		for (int j = 0; j < n; j++) {
			double z = x->v[i * n + j] + bias->v[j];

			best = z > x->v[i * n + best] + bias->v[best] ? j : best;
			w[j] = exp(z / (temperature ? temperature : 1));
		}
		int j = heavy(w, n, (i + 1) * n / 3);

		buf_set(u, i, middle(w, n, j));
		token->v[i] = temperature > 0 ? j : best;
	}
	case_num(&c, "temperature", temperature);
	OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "sample", "IN=f32", "K=0", "tensors=bias: f32[N]",
	        "input=x + bias[n]");
	free(w);
	case_end(&c);
}
