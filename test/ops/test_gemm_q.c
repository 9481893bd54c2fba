/* test_gemm_q.c - tests the operator gemm_q: integers exactly, 8-bit floats within the bound of their sums,
 * and scales. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

/* Lines of the table: split, then by rows. */
static const struct {
	int m, n, k;
	size_t line;
} size[] = {
	{ 1, 40, 2064, 0 }, { 16, 65, 2048, 0 }, { 5, 72, 48, 1 },
	{ 16, 130, 1008, 1 }, { 17, 64, 80, 2 },
	{ 64, 33, 144, 2 }, { 65, 129, 80, 3 },  { 130, 24, 64, 3 }, { 257, 1030, 32, 4 },
	{ 2, 8, 16, 1 }, { 9, 33, 32, 1 }, { 1, 1, 16, 1 }, { 8, 257, 112, 1 }, { 33, 40, 48, 2 },
	{ 20, 129, 64, 2 }, { 48, 65, 16, 2 }, { 100, 72, 32, 3 }, { 128, 128, 128, 3 }, { 70, 200, 16, 3 },
	{ 12, 64, 2560, 0 },
};
enum { SIZES = sizeof size / sizeof size[0] };

static const Buf *sa, *sb;

static void
product(Case *c, const char *left, const char *right, int i, double most)
{
	int m = size[i].m, n = size[i].n, k = size[i].k;
	const Buf *a = case_in(c, "A", left, left[0] == 'u' ? 0 : -most, most, m, k, 0);
	const Buf *b = case_in(c, "B", right, -most, most, n, k, 0);

	sa = case_in(c, "sa", "f32", 0.001, 0.01, m, 0);
	sb = case_in(c, "sb", "f32", 0.001, 0.01, n, 0);
	Buf *out = case_out(c, "C", "bf16", m, n, 0);

	for (int r = 0; r < m; r++)
		for (int j = 0; j < n; j++) {
			Sum s = sum_products(a, (int64_t)r * k, b, (int64_t)j * k, k);
			double scale = sa->v[r] * sb->v[j], y = s.x * scale;
			double err = left[0] == 'e' ? sum_error(s.mag, k) * scale : 0;

			out->v[r * n + j] = y;
			/* the sum as f32, and two products */
			out->allow[r * n + j] = err + fabs(y) * 0x1.8p-22;
			out->allow[r * n + j] += ulp2(out->type, fabs(y) + err) * 1.01;
		}
}

TEST_EACH(integers, SIZES)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };
	Case c;

	case_start(&c, 17 + (uint64_t)_i);
	product(&c, "i8", "i8", _i, 127);
	ck_assert_uint_eq(OP_RUN(&c, arch[_i % 2], "gemm_q", "OUT=bf16", "tensors=sa: f32[M], sb: f32[N]",
	                         "epilogue=x * sa[m] * sb[n]"),
	                  size[_i].line);
	case_end(&c);
}

TEST_EACH(floats, SIZES)
{
	static const char *const arch[] = { "sm_89", "sm_90a", "sm_80" };
	Case c;

	case_start(&c, 27 + (uint64_t)_i);
	product(&c, "e4m3", "e5m2", _i, 8);
	ck_assert_uint_eq(OP_RUN(&c, arch[_i % 3], "gemm_q", "LEFT=e4m3", "RIGHT=e5m2", "SUM=f32", "OUT=bf16",
	                         "tensors=sa: f32[M], sb: f32[N]", "epilogue=x * sa[m] * sb[n]"),
	                  size[_i].line);
	case_end(&c);
}

TEST(unsigned_left)
{
	Case c;

	case_start(&c, 3);
	product(&c, "u8", "i8", 2, 100);
	OP_RUN(&c, "sm_80", "gemm_q", "LEFT=u8", "RIGHT=i8", "BM=16", "OUT=bf16",
	       "tensors=sa: f32[M], sb: f32[N]", "epilogue=x * sa[m] * sb[n]");
	case_end(&c);
}

/* ---- scales of blocks ------------------------------------------------------------------------------- */

static const struct {
	int m, n, k;
	size_t line;
} block[] = {
	{ 1, 40, 2064, 0 }, { 16, 65, 2048, 0 }, { 3, 129, 2304, 0 },
	{ 1, 128, 128, 1 }, { 5, 72, 48, 1 },
	{ 16, 130, 1008, 1 }, { 7, 1, 16, 1 }, { 2, 257, 256, 1 },
	{ 17, 64, 80, 2 }, { 64, 33, 144, 2 },
	{ 33, 128, 384, 2 }, { 50, 200, 272, 2 }, { 65, 129, 80, 3 },
	{ 130, 24, 64, 3 }, { 100, 256, 128, 3 },
	{ 256, 40, 304, 3 }, { 300, 300, 16, 3 }, { 70, 128, 1024, 3 },
	{ 128, 127, 256, 3 }, { 257, 1030, 32, 4 },
	{ 260, 1025, 144, 4 },
};

/* Of blocks of 128 along k each sum is within sum_error, exact of integers (2^14 * 128 < 2^24); scaled by
 * a product of two, and added to as many others as there are. */
TEST_EACH(blocks, sizeof block / sizeof block[0])
{
	static const char *const arch[] = { "sm_89", "sm_90a", "sm_80" };
	int m = block[_i].m, n = block[_i].n, k = block[_i].k, kb = (k + 127) / 128, nb = (n + 127) / 128;
	bool whole = _i % 4 == 3;
	Case c;

	case_start(&c, 47 + (uint64_t)_i);
	const Buf *a = case_in(&c, "A", whole ? "i8" : "e4m3", whole ? -127 : -8, whole ? 127 : 8, m, k, 0);
	const Buf *b = case_in(&c, "B", whole ? "i8" : "e4m3", whole ? -127 : -8, whole ? 127 : 8, n, k, 0);
	const Buf *ra = case_in(&c, "SA", "f32", 0.001, 0.01, m, kb, 0);
	const Buf *rb = case_in(&c, "SB", "f32", 0.001, 0.01, nb, kb, 0);
	const Buf *bias = case_in(&c, "bias", "f32", -1, 1, n, 0);
	Buf *out = case_out(&c, "C", "bf16", m, n, 0);

	for (int r = 0; r < m; r++)
		for (int j = 0; j < n; j++) {
			double y = 0, mag = 0, err = 0;

			for (int g = 0; g < kb; g++) {
				int64_t from = g * 128, len = k - from < 128 ? k - from : 128;
				Sum s = sum_products(a, (int64_t)r * k + from, b, (int64_t)j * k + from, len);
				double scale = ra->v[r * kb + g] * rb->v[j / 128 * kb + g];

				y += s.x * scale;
				mag += s.mag * scale;
				err += (whole ? 0 : sum_error(s.mag, len)) * scale;
			}
			err += mag * (kb + 3) * U32;
			y += bias->v[j];
			err += fabs(y) * U32;
			out->v[r * n + j] = y;
			out->allow[r * n + j] = err + ulp2(out->type, fabs(y) + err) * 1.01;
		}
	const char *const set[] = { "OUT=bf16", "tensors=bias: f32[N]", "epilogue=x + bias[n]",
		                    whole ? "LEFT=i8" : NULL, NULL };
	size_t line = op_run(&c, arch[whole ? 1 + _i % 2 : _i % 3], "gemm_block", set);

	ck_assert_uint_eq(line, block[_i].line);
	case_end(&c);
}
