/* test_op_gemm.c - tests the operator gemm: every size finds a kernel, epilogues are expressions. */
#include "test/ops/util_op.h"
#include <math.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .passed = op_passed);

/* Lines of the table: split, then by rows. */
static const struct {
	int m, n, k;
	size_t line;
} size[] = {
	{ 1, 40, 1032, 0 }, { 16, 64, 1024, 0 }, { 3, 72, 64, 1 },    { 16, 130, 1016, 1 },
	{ 17, 64, 40, 2 },  { 64, 33, 136, 2 },  { 65, 129, 72, 3 },  { 300, 8, 64, 3 },
	{ 257, 1030, 24, 4 }, { 2, 8, 8, 1 },
};
enum { SIZES = sizeof size / sizeof size[0] };

static void
product(Case *c, const char *type, const char *to, int m, int n, int k,
        double (*then)(double x, int i, int j),
        double slope)
{
	const Buf *a = case_in(c, "A", type, -1, 1, m, k, 0), *b = case_in(c, "B", type, -1, 1, n, k, 0);
	Buf *out = case_out(c, "C", to, m, n, 0);

	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			Sum s = sum_products(a, (int64_t)i * k, b, (int64_t)j * k, k);
			double y = then ? then(s.x, i, j) : s.x;

			out->v[i * n + j] = y;
			out->allow[i * n + j] = slope * sum_error(s.mag, k) + ulp2(out->type, y) * 1.01;
		}
}

TEST_EACH(sizes, SIZES)
{
	static const char *const arch[] = { "sm_80", "sm_90a" };

	for (int i = 0; i < 2; i++) {
		Case c;

		case_start(&c, 7 + (uint64_t)_i);
		product(&c, "f16", "f16", size[_i].m, size[_i].n, size[_i].k, NULL, 1);
		ck_assert_uint_eq(OP_RUN(&c, arch[i], "gemm", "ACT=f16"), size[_i].line);
		case_end(&c);
	}
}

static const Buf *bias, *scale;

static double
silu_of(double x, int i, int j)
{
	x = (x + bias->v[j]) * scale->v[i] * 0.5;
	return x / (1 + exp(-x));
}

TEST_EACH(epilogue, SIZES)
{
	Case c;

	case_start(&c, 70 + (uint64_t)_i);
	bias = case_in(&c, "bias", "f16", -1, 1, size[_i].n, 0);
	scale = case_in(&c, "scale", "f32", -1, 1, size[_i].m, 0);
	case_num(&c, "half", 0.5);
	/* |silu'| <= 1.1, the factors are at most a half; f32 operations on numbers up to |x| + 1 */
	product(&c, "bf16", "f32", size[_i].m, size[_i].n, size[_i].k, silu_of, 0.56);
	for (int64_t i = 0; i < c.buf[c.nbuf - 1].n; i++)
		c.buf[c.nbuf - 1].allow[i] += ldexp(fabs(c.buf[c.nbuf - 1].v[i]) + 1, -20);
	OP_RUN(&c, "sm_80", "gemm", "ACT=bf16", "OUT=f32", "tensors=bias: f16[N], scale: f32[M], half: f32",
	       "epilogue=silu((x + bias[n]) * scale[m] * half)");
	case_end(&c);
}

/* What a plan hands out is what was compiled: a bundle of its own, which a host without a compiler opens. */
TEST(handed_out)
{
	static const char table[] = "hexc-family 1\n"
	                            "family gemm\n"
	                            "take gemm BM=32 BN=64 BK=64 when M % 2 == 0\n"
	                            "take gemm BM=16 BN=64 BK=64 when 1\n";
	const hexc_op_set s = { "epilogue", "x * 0.125" };
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_bundle_info b = HEXC_BUNDLE_INFO_INIT;
	hexc_family_info f = HEXC_FAMILY_INFO_INIT;
	hexc_bundle *opened;
	hexc_family *family;
	hexc_op *op;
	char why[600];
	size_t n;

	o.arch = "sm_86";
	o.families = table;
	ck_assert_msg(hexc_op_plan(&op, "gemm", &s, 1, &o, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_ptr_nonnull(strstr(hexc_op_program(op), "OUT(x * 0.125)"));
	ck_assert_int_eq(hexc_bundle_describe(hexc_op_bundle(op), &b), 1);
	ck_assert_uint_eq(b.nkernel, 2);
	ck_assert_int_eq(hexc_family_describe(hexc_op_family(op), &f), 1);
	ck_assert_uint_eq(f.nline, 2);
	ck_assert_ptr_nonnull(hexc_op_bytes(op, &n));
	ck_assert_int_eq(hexc_bundle_memory(&opened, hexc_op_bytes(op, &n), n, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(hexc_bundle_verify(opened, why, sizeof why), HEXC_OK);
	ck_assert_msg(hexc_family_open(&family, opened, "gemm", "sm_86", why, sizeof why) == HEXC_OK,
	        "%s", why);
	hexc_family_close(family);
	hexc_bundle_close(opened);
	hexc_op_free(op);
	o.families = "hexc-family 1\nfamily gemm\ntake gem when 1\n";
	ck_assert_int_eq(hexc_op_plan(&op, "gemm", &s, 1, &o, why, sizeof why), HEXC_E_FILE);
	ck_assert_msg(strstr(why, "its dispatch table names an unknown kernel gem") != NULL, "%s", why);
}

/* Each operator has a name of its own, by which it is found. */
TEST(list)
{
	hexc_op_info i;
	size_t n = 0;

	for (; hexc_op_at(n, &i); n++) {
		ck_assert_int_eq(hexc_op_find(i.name), (int)n);
		ck_assert(*i.what && strstr(i.program, "//: op "));
	}
	ck_assert_uint_ge(n, 20);
	ck_assert_int_eq(hexc_op_find("gem"), -1);
	ck_assert_int_eq(hexc_op_find(NULL), -1);
}
