/* test_bound.c - the error bounds of hexc_run_tile hold for other correct executions, and are not idle.
 *
 * The other executions are the same formulas with other tile sizes and other orders of k: every one of them
 * must lie within the bounds of the first.  A wrong term must not. */
#include "test/lib/util_lib.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 48, N = 40, K = 264 };

static uint64_t
next(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

/* Uniform in [-1, 1), or small integers. */
static void
fill(const hexc_dtype *t, void *buf, uint64_t n, uint64_t seed, bool ints)
{
	for (uint64_t i = 0; i < n; i++) {
		double x = (double)next(&seed) / 0x40000000 - 1;
		hexc_put(t, buf, i, ints ? floor(x * 8) : x);
	}
}

/* A' B'^T with the k dimension of both reversed: the same products in another order. */
static void
reverse_rows(const uint16_t *from, uint16_t *to, int rows, int cols)
{
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < cols; c++)
			to[r * cols + c] = from[r * cols + cols - 1 - c];
}

static void
run_gemm(const hexc_module *m, uint16_t *a, uint16_t *b, void *c, size_t bytes, double *bound)
{
	hexc_arg arg[6];
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	char why[200];

	memset(arg, 0, sizeof arg);
	arg[0] = (hexc_arg){ a, NULL, M * K * 2, 0, 0 };
	arg[1] = (hexc_arg){ b, NULL, N * K * 2, 0, 0 };
	arg[2] = (hexc_arg){ c, bound, bytes, 0, 0 };
	for (size_t i = 3; i < 6; i++) {
		hexc_param_info p = HEXC_PARAM_INFO_INIT;
		hexc_param(m, 0, i, &p);
		arg[i].i = *p.name == 'M' ? M : (*p.name == 'N' ? N : K);
	}
	o.why = why;
	o.why_size = sizeof why;
	ck_assert_msg(hexc_run_tile(m, 0, arg, &o) == HEXC_OK, "%s", why);
}

static const char f32_gemm[] = "kernel gemm(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
                               "    tune BK = 16|32|128\n"
                               "{\n"
                               "    grid(ceil(M, 16), ceil(N, 16));\n"
                               "    let m = block.x * 16, n = block.y * 16;\n"
                               "    var acc: register f32[16, 16] = 0;\n"
                               "    for k in 0..K step BK {\n"
                               "        acc += dot(A[m :+ 16, k :+ BK], B[n :+ 16, k :+ BK].T);\n"
                               "    }\n"
                               "    C[m :+ 16, n :+ 16] = acc;\n"
                               "}\n";

START_TEST(orders)
{
	static uint16_t a[M * K], b[N * K], ra[M * K], rb[N * K];
	static float c[M * N], other[M * N];
	static double bound[M * N];
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	bool ints = _i == 1;

	fill(f16, a, M * K, 1, ints);
	fill(f16, b, N * K, 2, ints);
	reverse_rows(a, ra, M, K);
	reverse_rows(b, rb, N, K);
	for (int64_t bk = 16; bk <= 128; bk *= bk == 32 ? 4 : 2) {
		const hexc_define d = { "BK", bk };
		hexc_opts o = HEXC_OPTS_INIT;
		hexc_module *m;
		double worst = 0;
		o.define = &d;
		o.ndefine = 1;
		o.stop = "bounds";
		m = lib_must(f32_gemm, &o);
		if (bk == 16) {
			memset(bound, 0, sizeof bound);
			run_gemm(m, a, b, c, sizeof c, bound);
		}
		run_gemm(m, ra, rb, other, sizeof other, NULL);
		for (int i = 0; i < M * N; i++) {
			double err = fabs((double)c[i] - (double)other[i]);
			ck_assert_msg(err <= bound[i], "BK %d: element %d differs by %g, bound %g",
			              (int)bk, i, err, bound[i]);
			worst = err > worst ? err : worst;
			/* one lost product of ordinary size must show */
			ck_assert_msg(bound[i] < 0.01, "element %d has the idle bound %g", i, bound[i]);
			if (ints)
				ck_assert(bound[i] == 0);
			else
				ck_assert(bound[i] > 0);
		}
		ck_assert(ints ? worst == 0 : worst > 0);
		hexc_module_free(m);
	}
}
END_TEST

/* Rounded once more behind the sum: one unit of f16, and a little. */
START_TEST(rounding)
{
	static uint16_t a[M * K], b[N * K], c[M * N];
	static double bound[M * N];
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "bounds";
	m = lib_must(lib_gemm, &o);
	fill(f16, a, M * K, 3, false);
	fill(f16, b, N * K, 4, false);
	memset(bound, 0, sizeof bound);
	run_gemm(m, a, b, c, sizeof c, bound);
	for (int i = 0; i < M * N; i++) {
		double x = fabs(hexc_get(f16, c, (uint64_t)i));
		ck_assert_msg(bound[i] >= x * 0x1p-11 && bound[i] <= x * 0x1p-10 + 0.01, "%g: %g",
		              x, bound[i]);
	}
	hexc_module_free(m);
}
END_TEST

/* Programs of one input and one output of f32[16, 64]; and what the bound may be at most. */
static const struct {
	const char *body;
	double most;  /* relative to 1 + |result| */
	bool exact;   /* every bound is 0 */
} chain[] = {
	{ "C[0 :+ 16, 0 :+ 64] = X[0 :+ 16, 0 :+ 64] * 3.0 + 1.0;", 0, true },
	{ "C[0 :+ 16, 0 :+ 64] = sqrt(abs(X[0 :+ 16, 0 :+ 64])) / 7.0;", 0, true },
	{ "let x: register = X[0 :+ 16, 0 :+ 64]; C[0 :+ 16, 0 :+ 64] = exp(x) * 2.0;", 1e-5,
	  false },
	{ "let x: register = X[0 :+ 16, 0 :+ 64]; let u: register = x - mean(x, 1);"
	  " C[0 :+ 16, 0 :+ 64] = u * rsqrt(mean(u * u, 1) + 0.001);",
	  1e-2, false },
	{ "let x: register = X[0 :+ 16, 0 :+ 64]; let e: register = exp(x);"
	  " C[0 :+ 16, 0 :+ 64] = where(e < 1.0, e, -e);",
	  1e-5, false },
	{ "let x: register = X[0 :+ 16, 0 :+ 64]; C[0 :+ 16, 0 :+ 64] = max(min(exp2(x), 1.5), x);",
	  1e-5, false },
	{ "let b: shared f32[16, 64]; b[0 :+ 16, 0 :+ 64] = exp(X[0 :+ 16, 0 :+ 64]);"
	  " C[0 :+ 16, 0 :+ 64] = b[0 :+ 16, 0 :+ 64];",
	  1e-5, false },
};

START_TEST(chains)
{
	static float x[16 * 64], c[16 * 64];
	static double bound[16 * 64];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0 }, { c, bound, sizeof c, 0, 0 } };
	char src[600];
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	bool any = false;

	snprintf(src, sizeof src,
	         "kernel k(X: f32[16, 64], C: out f32[16, 64])\n{\ngrid(1);\n%s\n}\n",
	         chain[_i].body);
	o.stop = "bounds";
	m = lib_must(src, &o);
	fill(hexc_dtype_find("f32"), x, 16 * 64, 7, false);
	memset(bound, 0, sizeof bound);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 16 * 64; i++) {
		ck_assert(isfinite(c[i]));
		any = any || bound[i] > 0;
		ck_assert_msg(bound[i] <= chain[_i].most * (1 + fabs((double)c[i])),
		              "%s: %g has bound %g", chain[_i].body, (double)c[i], bound[i]);
	}
	ck_assert_msg(any == !chain[_i].exact, "%s", chain[_i].body);
	hexc_module_free(m);
}
END_TEST

/* A choice that rounding may turn is bounded by the distance of the sides; control flow by nothing. */
START_TEST(choices)
{
	static const char src[] =
		"kernel k(X: f32[16, 16], C: out f32[16, 16])\n{\ngrid(1);\n"
		"let e: register = exp(X[0 :+ 16, 0 :+ 16]);\n"
		"C[0 :+ 16, 0 :+ 16] = where(e <= exp(0.0 * X[0 :+ 16, 0 :+ 16]), e, e + 5.0);\n}\n";
	static float x[256], c[256];
	static double bound[256];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0 }, { c, bound, sizeof c, 0, 0 } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "bounds";
	m = lib_must(src, &o);
	x[3] = 1.0f; /* the others compare equal */
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	ck_assert(bound[3] < 0.001 && bound[4] >= 5 && bound[4] < 5.001);
	hexc_module_free(m);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("bound");
	TCase *t = tcase_create("bound");
	SRunner *r;
	int failed;

	tcase_add_loop_test(t, orders, 0, 2);
	tcase_add_test(t, rounding);
	tcase_add_loop_test(t, chains, 0, (int)(sizeof chain / sizeof chain[0]));
	tcase_add_test(t, choices);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
