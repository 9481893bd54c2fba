/* test_copy.c - tests the operators transpose and copy: transposed matrices, strides of any kind. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

static const struct {
	int p, m, n;
	size_t line;
} matrix[] = {
	{ 1, 1, 1, 0 }, { 2, 8, 100, 0 }, { 1, 9, 8, 1 }, { 3, 130, 3, 1 }, { 1, 64, 64, 2 },
	{ 2, 65, 129, 2 }, { 1, 100, 200, 2 }, { 1, 8, 64, 0 }, { 2, 70, 8, 1 },
	{ 1, 128, 65, 2 },
};
enum { MATRICES = sizeof matrix / sizeof matrix[0] };

TEST_EACH(transpose, MATRICES * 3)
{
	static const char *const type[] = { "f16", "i64", "e4m3" };
	static const char *const in[] = { "IN=f16", "IN=i64", "IN=e4m3" };
	int p = matrix[_i / 3].p, m = matrix[_i / 3].m, n = matrix[_i / 3].n;
	Case c;

	case_start(&c, 20 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", type[_i % 3], -100, 100, p, m, n, 0);
	Buf *y = case_out(&c, "Y", type[_i % 3], p, n, m, 0);

	for (int64_t i = 0; i < y->n; i++)
		y->v[i / n / m * n * m + i % n * m + i / n % m] = x->v[i];
	ck_assert_uint_eq(OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "transpose", in[_i % 3]),
	                  matrix[_i / 3].line);
	case_end(&c);
}

TEST_EACH(scaled, MATRICES)
{
	int p = matrix[_i].p, m = matrix[_i].m, n = matrix[_i].n;
	Case c;

	case_start(&c, 90 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "i8", -100, 100, p, m, n, 0),
	          *scale = case_in(&c, "scale", "f32", 0, 1, m, 0);
	const Buf *bias = case_in(&c, "bias", "f32", -1, 1, n, 0);
	Buf *y = case_out(&c, "Y", "bf16", p, n, m, 0);

	for (int64_t i = 0; i < y->n; i++) {
		int64_t at = i / n / m * n * m + i % n * m + i / n % m;

		y->v[at] = x->v[i] * scale->v[i / n % m] + bias->v[i % n];
		y->allow[at] = ulp2(y->type, y->v[at]) * 1.01 + 101 * U32;
	}
	OP_RUN(&c, "sm_80", "transpose", "IN=i8", "OUT=bf16", "tensors=scale: f32[M], bias: f32[N]",
	       "epilogue=x * scale[m] + bias[n]");
	case_end(&c);
}

/* Sizes, the strides of X and of Y, what both take in all. */
static const struct {
	int dim[4], from[4], to[4], take, give;
	size_t line;
} strided[] = {
	/* rows of a wider matrix */
	{ { 1, 1, 3, 600 }, { 0, 0, 700, 1 }, { 0, 0, 600, 1 }, 2100, 1800, 0 },
	/* heads in front of tokens */
	{ { 2, 3, 5, 40 }, { 600, 40, 120, 1 }, { 600, 200, 40, 1 }, 1200, 1200, 1 },
	{ { 2, 3, 17, 33 }, { 0, 1683, 99, 3 }, { 1683, 561, 1, 17 }, 5049, 3366, 2 }, /* repeated, turned */
	{ { 1, 2, 9, 8 }, { 0, 1, 16, 2 }, { 0, 72, 8, 1 }, 144, 144, 2 },             /* pairs taken apart */
	{ { 1, 1, 1, 100 }, { 0, 0, 0, 1 }, { 0, 0, 0, 2 }, 100, 200, 2 },             /* every second one */
	{ { 3, 1, 20, 70 }, { 1400, 0, 70, 1 }, { 1, 1, 3, 60 }, 4200, 4200, 2 },
	{ { 1, 1, 1, 1 }, { 0, 0, 0, 1 }, { 0, 0, 0, 1 }, 1, 1, 1 },
	{ { 1, 1, 1, 257 }, { 0, 0, 0, 1 }, { 0, 0, 0, 1 }, 257, 257, 0 },
	{ { 1, 1, 2, 512 }, { 0, 0, 600, 1 }, { 0, 0, 520, 1 }, 1200, 1040, 0 },
	{ { 2, 2, 2, 300 }, { 1200, 600, 300, 1 }, { 600, 1200, 300, 1 }, 2400, 2400, 0 },
	{ { 1, 1, 33, 7 }, { 0, 0, 7, 1 }, { 0, 0, 9, 1 }, 231, 297, 1 },
	{ { 1, 4, 16, 64 }, { 0, 64, 256, 1 }, { 0, 1024, 64, 1 }, 4096, 4096, 1 },
	{ { 3, 1, 1, 65 }, { 0, 0, 0, 1 }, { 65, 0, 0, 1 }, 65, 195, 1 },
	{ { 1, 1, 65, 256 }, { 0, 0, 256, 1 }, { 0, 0, 256, 1 }, 16640, 16640, 1 },
	{ { 1, 1, 7, 9 }, { 0, 0, 1, 7 }, { 0, 0, 9, 1 }, 63, 63, 2 },
	{ { 1, 1, 7, 9 }, { 0, 0, 9, 1 }, { 0, 0, 1, 7 }, 63, 63, 2 },
	{ { 1, 1, 8, 300 }, { 0, 0, 1, 8 }, { 0, 0, 300, 1 }, 2400, 2400, 2 },
	{ { 2, 2, 3, 5 }, { 0, 0, 0, 0 }, { 30, 15, 5, 1 }, 1, 60, 2 }, /* one number for all */
	{ { 1, 1, 1, 1000 }, { 0, 0, 0, 3 }, { 0, 0, 0, 1 }, 3000, 1000, 2 },
	{ { 1, 2, 5, 6 }, { 0, 36, 6, 1 }, { 0, 1, 2, 10 }, 72, 60, 2 },
};
enum { STRIDED = sizeof strided / sizeof strided[0] };

TEST_EACH(copy, STRIDED)
{
	static const char *const name[3][4] = {
		{ "P", "Q", "M", "N" }, { "xp", "xq", "xm", "xn" }, { "yp", "yq", "ym", "yn" },
	};
	const int *dim = strided[_i].dim;
	Case c;

	case_start(&c, 120 + (uint64_t)_i);
	const Buf *x = case_in(&c, "X", "bf16", -9, 9, 1, 1, 1, strided[_i].take, 0);
	Buf *y = case_inout(&c, "Y", "f32", -9, 9, 1, 1, 1, strided[_i].give, 0);

	for (int d = 0; d < 4; d++) {
		case_num(&c, name[0][d], dim[d]);
		case_num(&c, name[1][d], strided[_i].from[d]);
		case_num(&c, name[2][d], strided[_i].to[d]);
	}
	for (int i = 0; i < dim[0] * dim[1] * dim[2] * dim[3]; i++) {
		int left = i, from = 0, to = 0;

		for (int d = 4; d-- > 0; left /= dim[d]) {
			from += left % dim[d] * strided[_i].from[d];
			to += left % dim[d] * strided[_i].to[d];
		}
		y->v[to] = x->v[from];
	}
	ck_assert_uint_eq(OP_RUN(&c, _i % 2 ? "sm_80" : "sm_90a", "copy", "IN=bf16", "OUT=f32"),
	                  strided[_i].line);
	case_end(&c);
}
