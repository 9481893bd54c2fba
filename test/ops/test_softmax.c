/* test_softmax.c - tests the operator softmax: rows of any length, masks, scales, its logarithm. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int m, n;
	size_t line;
} shape[] = {
	{ 1, 1, 0 },    { 9, 100, 0 },  { 17, 128, 0 },  { 3, 129, 1 },  { 6, 512, 1 },  { 2, 1000, 2 },
	{ 3, 1025, 3 }, { 1, 4096, 3 }, { 2, 8000, 4 },  { 2, 8193, 5 }, { 1, 12500, 5 },
};
enum { SHAPES = sizeof shape / sizeof shape[0] };

/* Of rows of numbers up to `big`, each with 4 u of it: exp(d) as ex2.approx of d log2 e, off by 2^-21 +
 * |d| 2^-23 (LANGUAGE.md, precision), in the sum, of n numbers and n / 2048 pieces, as in the numerator. */
static void
right(const double *x, int n, double big, bool logs, double *y, double *allow)
{
	double top = -INFINITY, total = 0, one = 0x1p-21 + 2 * big * (0x1p-23 + 4 * U32), off;

	for (int j = 0; j < n; j++)
		top = fmax(top, x[j]);
	for (int j = 0; j < n && top > -INFINITY; j++)
		total += exp(x[j] - top);
	off = one + (2.0 * n + 4) * U32 + n / 2048 * 0x1p-20;
	for (int j = 0; j < n; j++) {
		y[j] = total > 0 ? exp(x[j] - top) / total : 0;
		allow[j] = y[j] * (off + one + 0x1p-19) + 0x1p-126;
		if (!logs)
			continue;
		y[j] = total > 0 ? x[j] - top - log(total) : -INFINITY;
		allow[j] = isinf(y[j]) ? 0 : off + 2 * big * 6 * U32 + fmax(1, log(total)) * 0x1p-20;
	}
}

static void
rounded(Buf *y)
{
	for (int64_t i = 0; i < y->n; i++)
		y->allow[i] += isinf(y->v[i]) ? 0 : ulp2(y->type, y->v[i]) * 1.01;
}

TEST_EACH(plain, SHAPES * 2)
{
	static const char *const type[] = { "f32", "bf16" };
	int m = shape[_i / 2].m, n = shape[_i / 2].n;
	Case c;

	case_start(&c, 20 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", type[_i % 2], -8, 8, m, n, 0);
	Buf *y = case_out(&c, "Y", type[_i % 2], m, n, 0);

	for (int64_t i = 0; i < m; i++)
		right(x->v + i * n, n, 8, false, y->v + i * n, y->allow + i * n);
	rounded(y);
	ck_assert_uint_eq(OP_RUN(&c, _i % 4 == 2 ? "sm_90a" : "sm_80", "softmax",
	                         _i % 2 ? "IN=bf16" : "IN=f32"),
	                  shape[_i / 2].line);
	case_end(&c);
}

/* Masked, scaled, and the logarithm: the first rows see few or none. */
TEST_EACH(masked, SHAPES * 2)
{
	int m = shape[_i / 2].m, n = shape[_i / 2].n;
	double row[12500];
	Case c;

	ck_assert_int_le(n, 12500);
	case_start(&c, 70 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "f16", -8, 8, m, n, 0),
	          *bias = case_in(&c, "bias", "f32", -1, 1, n, 0);
	Buf *y = case_out(&c, "Y", "f32", m, n, 0);

	case_num(&c, "first", 0);
	case_num(&c, "scale", 0.5);
	for (int64_t i = 0; i < m; i++) {
		for (int j = 0; j < n; j++)
			row[j] = j < i * 3000 ? x->v[i * n + j] * 0.5 + bias->v[j] : -INFINITY;
		right(row, n, 5, _i % 2, y->v + i * n, y->allow + i * n);
	}
	rounded(y);
	ck_assert_uint_eq(OP_RUN(&c, "sm_80", "softmax", "IN=f16", "OUT=f32", _i % 2 ? "LOG=1" : "LOG=0",
	                         "tensors=bias: f32[N], scale: f32, first: i32",
	                 "input=where(col < row * 3000 + first, x * scale + bias[n], -inf)"),
	                  shape[_i / 2].line);
	case_end(&c);
}
