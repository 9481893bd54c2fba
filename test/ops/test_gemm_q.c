/* test_gemm_q.c - the operator gemm_q: integers exactly, 8-bit floats within the bound of their
 * sums, and scales. */
#include "test/ops/util_op.h"
#include <math.h>

TEST_PROGRAM(.start = op_start, .one_process = true);

/* Lines of the table: split, then by rows. */
static const struct {
	int m, n, k;
	size_t line;
} size[] = {
	{ 1, 40, 2064, 0 }, { 16, 65, 2048, 0 }, { 5, 72, 48, 1 },
	{ 16, 130, 1008, 1 }, { 17, 64, 80, 2 },
	{ 64, 33, 144, 2 }, { 65, 129, 80, 3 },  { 130, 24, 64, 3 }, { 257, 1030, 32, 4 },
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
