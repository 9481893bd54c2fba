/* test_op_quantize.c - tests that the operator quantize gives exactly the results of f32 operations. */
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

/* The scale of numbers of which the largest is `top`, as it is stored. */
static float
scale_of(double top, double limit, const hexc_dtype *type, bool power)
{
	float s = top > 0 ? (float)top / (float)limit : 1;
	uint32_t bits = 0;
	int e;

	if (power && frexp(s, &e) != 0.5)
		s = (float)ldexp(1, e);
	hexc_put(type, &bits, 0, s);
	return (float)hexc_get(type, &bits, 0);
}

static double
quotient(double x, float s, const hexc_dtype *type)
{
	float y = (float)x / s;
	uint32_t bits = 0;

	hexc_put(type, &bits, 0, type->kind == 'f' ? (double)y : rint((double)y));
	return hexc_get(type, &bits, 0);
}

typedef struct As {
	const char *in, *out, *scale;
	double limit;
	bool power;
	const char *set[6];
} As;

/* Q and S of z, in blocks of rows by cols. */
static void
blocks(const As *as, Buf *q, Buf *s, const double *z, int m, int n, int rows, int cols)
{
	int across = (n + cols - 1) / cols;

	for (int b = 0; b < s->n; b++) {
		int top = b / across * rows, left = b % across * cols;
		double most = 0;

		for (int i = top; i < m && i < top + rows; i++)
			for (int j = left; j < n && j < left + cols; j++)
				most = fmax(most, fabs(z[i * n + j]));
		float scale = scale_of(most, as->limit, s->type, as->power);

		s->v[b] = scale;
		for (int i = top; i < m && i < top + rows; i++)
			for (int j = left; j < n && j < left + cols; j++)
				q->v[i * n + j] = quotient(z[i * n + j], scale, q->type);
	}
}

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 1, 1, 0 }, { 9, 100, 0 }, { 5, 129, 1 }, { 2, 1000, 2 }, { 1, 4096, 3 }, { 2, 8000, 4 },
	{ 2, 8193, 5 }, { 1, 12500, 5 },
};
enum { SHAPES = sizeof shape / sizeof shape[0] };

static const As form[] = {
	{ "f16", "i8", "f32", 127, false, { "IN=f16", "OUT=i8" } },
	{ "f32", "e4m3", "f32", 448, false, { "IN=f32", "OUT=e4m3" } },
	{ "bf16", "e5m2", "e8m0", 57344, true, { "IN=bf16", "OUT=e5m2", "SCALE=e8m0", "POWER=1" } },
};
enum { FORMS = sizeof form / sizeof form[0] };

/* The first row is of zeros. */
TEST_EACH(rows, SHAPES * FORMS)
{
	const As *as = &form[_i / SHAPES];
	int m = shape[_i % SHAPES].m, n = shape[_i % SHAPES].n;
	Case c;

	case_start(&c, 30 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", as->in, -3, 3, m, n, 0);
	Buf *q = case_out(&c, "Q", as->out, m, n, 0), *s = case_out(&c, "S", as->scale, m, 1, 0);

	for (int j = 0; j < n && m > 1; j++)
		buf_set(x, j, 0);
	blocks(as, q, s, x->v, m, n, 1, n);
	ck_assert_uint_eq(op_run(&c, _i % 2 ? "sm_80" : "sm_90a", "quantize", as->set),
	                  shape[_i % SHAPES].line);
	case_end(&c);
}

/* Twice the number, which is exact, by an expression. */
TEST_EACH(expression, SHAPES)
{
	int m = shape[_i].m, n = shape[_i].n;
	Case c;

	case_start(&c, 90 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", "f16", -3, 3, m, n, 0);
	Buf *q = case_out(&c, "Q", "i8", m, n, 0), *s = case_out(&c, "S", "f32", m, 1, 0);

	case_num(&c, "two", 2);
	for (int64_t i = 0; i < x->n; i++)
		x->v[i] = fabs(x->v[i]) * 2;
	blocks(&form[0], q, s, x->v, m, n, 1, n);
	OP_RUN(&c, "sm_80", "quantize", "IN=f16", "input=abs(x) * two", "tensors=two: f32");
	case_end(&c);
}

static const struct {
	int m, n, rows, cols, form;
} block[] = {
	{ 1, 128, 1, 128, 1 },     { 17, 300, 1, 128, 1 },   { 5, 77, 1, 128, 0 },  { 128, 256, 128, 128, 1 },
	{ 130, 200, 128, 128, 1 }, { 3, 64, 1, 32, 2 },      { 40, 1000, 1, 32, 2 }, { 20, 100, 4, 64, 0 },
	{ 1, 1, 4, 64, 0 },
};
enum { BLOCKS = sizeof block / sizeof block[0] };

TEST_EACH(by_block, BLOCKS)
{
	const As *as = &form[block[_i].form];
	int m = block[_i].m, n = block[_i].n, rows = block[_i].rows, cols = block[_i].cols;
	char by[20], along[20];
	Case c;

	case_start(&c, 130 + (uint64_t)_i);
	Buf *x = case_in(&c, "X", as->in, -3, 3, m, n, 0);
	Buf *q = case_out(&c, "Q", as->out, m, n, 0);
	Buf *s = case_out(&c, "S", as->scale, (m + rows - 1) / rows, (n + cols - 1) / cols, 0);

	blocks(as, q, s, x->v, m, n, rows, cols);
	snprintf(by, sizeof by, "ROWS=%d", rows);
	snprintf(along, sizeof along, "COLS=%d", cols);
	OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "quantize", by, along, as->set[0], as->set[1],
	       as->power ? as->set[2] : NULL, as->set[3]);
	case_end(&c);
}
