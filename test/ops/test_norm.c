/* test_norm.c - tests the operator norm: rows of any length, residuals, gains, element types. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} size[] = {
	{ 1, 1, 0 },    { 9, 100, 0 },  { 17, 128, 0 },  { 3, 129, 1 },  { 6, 512, 1 },  { 2, 1000, 2 },
	{ 3, 1025, 3 }, { 1, 4096, 3 }, { 2, 8000, 4 },  { 2, 8193, 5 }, { 1, 12500, 5 },
};
enum { SIZES = sizeof size / sizeof size[0] };

/* What is normalized: exact in f32, so that it is rounded as here. */
static Buf *
steps_of(Case *c, const char *name, const char *type, int m, int n)
{
	Buf *b = case_in(c, name, type, -127, 127, m, n, 0);

	for (int64_t i = 0; i < b->n; i++)
		buf_set(b, i, rint(b->v[i]) / 64);
	return b;
}

/* The row x in y[0..n), and what a right one may be off by: sums of n numbers are off by 2 n u of their
 * magnitudes (LANGUAGE.md, precision), where moments are joined, a few u more at each of n / 2048 pieces. */
static void
norm_row(const double *x, int n, int center, double eps, double *y, double *off)
{
	double u = (2.0 * n + n / 128.0 + 8) * U32, middle = 0, spread = 0, square = 0, far = 0, slack, scale;

	for (int j = 0; j < n; j++) {
		middle += center * x[j] / n;
		spread += center * fabs(x[j]) / n;
	}
	for (int j = 0; j < n; j++) {
		square += (x[j] - middle) * (x[j] - middle) / n;
		far += fabs(x[j] - middle) / n;
	}
	spread *= u; /* of the mean */
	slack = square * u + 2 * spread * far + spread * spread;
	scale = 1 / sqrt(square + eps);
	for (int j = 0; j < n; j++) {
		y[j] = (x[j] - middle) * scale;
		off[j] = (spread + fabs(x[j] - middle) * 2 * U32) * scale +
		         fabs(y[j]) * (0.5 * slack * scale * scale + 0x1p-20);
	}
}

typedef struct Norm {
	int center;
	const char *in, *out, *sum;
	bool gain, bias;
	const char *set[8];
} Norm;

static const Norm variant[] = {
	{ 0, "f16", "f16", NULL, true, false, { "IN=f16", "tensors=gain: f16[N]", "epilogue=x * gain[n]" } },
	{ 1, "f32", "f32", NULL, true, true,
	  { "IN=f32", "CENTER=1", "tensors=gain: f32[N], bias: f32[N]", "epilogue=x * gain[n] + bias[n]" } },
	{ 0, "bf16", "bf16", "bf16", true, false,
	  { "IN=bf16", "tensors=residual: bf16[M, N], gain: f32[N]", "input=x + residual[m, n]", "sum=bf16",
	    "epilogue=x * gain[n]" } },
	{ 1, "f16", "e4m3", NULL, false, false, { "IN=f16", "OUT=e4m3", "CENTER=1" } },
	{ 1, "f16", "bf16", "f32", false, true,
	  { "IN=f16", "OUT=bf16", "CENTER=1", "tensors=residual: f16[M, N], bias: f32[N]",
	  "input=x + residual[m, n]",
	    "sum=f32", "epilogue=x + bias[n]" } },
};
enum { VARIANTS = sizeof variant / sizeof variant[0] };

static void
norm_case(Case *c, const Norm *v, int m, int n, double eps)
{
	const Buf *x = steps_of(c, "X", v->in, m, n),
	          *more = v->sum ? steps_of(c, "residual", v->in, m, n) : NULL;
	const char *wide = strcmp(v->in, "f16") ? "f32" : "f16";
	const Buf *gain = v->gain ? case_in(c, "gain", wide, 0.5, 2, n, 0) : NULL;
	const Buf *bias = v->bias ? case_in(c, "bias", "f32", -1, 1, n, 0) : NULL;
	Buf *sum = v->sum ? case_out(c, "SUM", v->sum, m, n, 0) : NULL,
	          *out = case_out(c, "Y", v->out, m, n, 0);
	double *row = malloc(sizeof *row * (size_t)n), *y = malloc(sizeof *y * (size_t)n);
	double *off = malloc(sizeof *off * (size_t)n);

	case_num(c, "eps", eps);
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			row[j] = x->v[i * n + j];
			if (!sum)
				continue;
			uint32_t bits = 0;
			hexc_put(sum->type, &bits, 0, row[j] + more->v[i * n + j]);
			sum->v[i * n + j] = row[j] = hexc_get(sum->type, &bits, 0);
			sum->allow[i * n + j] = 0;
		}
		norm_row(row, n, v->center, eps, y, off);
		for (int64_t j = 0; j < n; j++) {
			double g = gain ? gain->v[j] : 1, z = y[j] * g + (bias ? bias->v[j] : 0);

			out->v[i * n + j] = z;
			out->allow[i * n + j] = off[j] * g + fabs(z) * 2 * U32 + ulp2(out->type, z) * 1.01;
		}
	}
	free(row);
	free(y);
	free(off);
}

TEST_EACH(norm, SIZES * VARIANTS)
{
	int at = _i % SIZES;
	const Norm *v = &variant[_i / SIZES];
	Case c;

	case_start(&c, 100 + (uint64_t)_i);
	norm_case(&c, v, size[at].m, size[at].n, 1e-3);
	ck_assert_uint_eq(op_run(&c, _i % 2 ? "sm_90a" : "sm_80", "norm", v->set), size[at].line);
	case_end(&c);
}
