/* test_bound.c - tests that the error bounds of hexc_run_tile hold for other correct executions, and are not
 * vacuous.
 *
 * The other executions are the same formulas with other tile sizes and other orders of k: each must be within
 * the bounds of the first. One with a wrong term must not. */
#include "test/check.h"
#include "test/lib/util_lib.h"
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
	arg[0] = (hexc_arg){ a, NULL, M * K * 2, 0, 0, { 0 } };
	arg[1] = (hexc_arg){ b, NULL, N * K * 2, 0, 0, { 0 } };
	arg[2] = (hexc_arg){ c, bound, bytes, 0, 0, { 0 } };
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

TEST_EACH(orders, 2)
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
		o.stop = "mask_bounds";
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

/* The same products by a producer and a consumer, whose first one starts from nothing; by teams of both
 * halves. */
static const char role_gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    tune BK = 16|32|128, TEAMS = 1|2\n"
	"{\n"
	"    grid(ceil(M, 16), ceil(N, 16));\n"
	"    let m = block.x * 16, n = block.y * 16;\n"
	"    let a: shared f16[2, 16, BK], b: shared f16[2, 16, BK];\n"
	"    let full: mbarrier[2] = 1, empty: mbarrier[2] = TEAMS;\n"
	"    roles {\n"
	"        producer warps 1 {\n"
	"            for k in 0..K step BK {\n"
	"                await empty[k / BK % 2], k / BK / 2 + 1;\n"
	"                async copy(A[m :+ 16, k :+ BK], a[k / BK % 2], full[k / BK % 2]);\n"
	"                async copy(B[n :+ 16, k :+ BK], b[k / BK % 2], full[k / BK % 2]);\n"
	"                arrive full[k / BK % 2];\n"
	"            }\n"
	"        }\n"
	"        consumer warps 4 teams TEAMS {\n"
	"            var acc: register f32[16 / TEAMS, 16] = 7;\n"
	"            let row = team * (16 / TEAMS);\n"
	"            for k in 0..K step BK {\n"
	"                await full[k / BK % 2], k / BK / 2;\n"
	"                if k == 0 {\n"
	"                    acc = async dot(a[k / BK % 2, row :+ 16 / TEAMS, :], b[k / BK % 2].T);\n"
	"                } else {\n"
	"                    acc += async dot(a[k / BK % 2, row :+ 16 / TEAMS, :], b[k / BK % 2].T);\n"
	"                }\n"
	"                wait dots 0;\n"
	"                arrive empty[k / BK % 2];\n"
	"            }\n"
	"            let c: shared = acc;\n"
	"            async store(c, C[m + row :+ 16 / TEAMS, n :+ 16]);\n"
	"            wait stores 0;\n"
	"        }\n"
	"    }\n"
	"}\n";

static void
bounds_of(const char *src, const hexc_define *d, int n, uint16_t *a, uint16_t *b, float *c, double *bound)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.define = d;
	o.ndefine = (size_t)n;
	o.stop = "mask_bounds";
	o.arch = "sm_90a"; /* which has roles */
	m = lib_must(src, &o);
	memset(bound, 0, M * N * sizeof *bound);
	run_gemm(m, a, b, c, M * N * sizeof *c, bound);
	hexc_module_free(m);
}

/* To the bit what the plain product gives, and nearly its bounds. */
TEST_EACH(roles, 4)
{
	static uint16_t a[M * K], b[N * K];
	static float c[M * N], other[M * N];
	static double bound[M * N], same[M * N];
	const hexc_define d[] = { { "BK", _i < 2 ? 16 : 32 }, { "TEAMS", _i % 2 + 1 } };

	fill(hexc_dtype_find("f16"), a, M * K, 1, false);
	fill(hexc_dtype_find("f16"), b, N * K, 2, false);
	bounds_of(f32_gemm, d, 1, a, b, c, bound);
	bounds_of(role_gemm, d, 2, a, b, other, same);
	for (int i = 0; i < M * N; i++) {
		ck_assert(c[i] == other[i]);
		ck_assert_msg(fabs(same[i] - bound[i]) <= bound[i] / 100, "%d: %g, not %g", i, same[i],
		              bound[i]);
	}
}

/* Rounded once more behind the sum: one unit of f16, and a little. */
TEST(rounding)
{
	static uint16_t a[M * K], b[N * K], c[M * N];
	static double bound[M * N];
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "mask_bounds";
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

/* Programs of one input and one output of f32[16, 64]; and what the bound may be at most. */
static const struct {
	const char *body;
	double most; /* relative to 1 + |result| */
	bool exact; /* every bound is 0 */
} chain[] = {
	{ "C[0 :+ 16, 0 :+ 64] = X[0 :+ 16, 0 :+ 64] * 3.0 + 1.0;", 0, true },
	{ "C[0 :+ 16, 0 :+ 64] = exact(sqrt(abs(X[0 :+ 16, 0 :+ 64])) / 7.0);", 0, true },
	{ "C[0 :+ 16, 0 :+ 64] = X[0 :+ 16, 0 :+ 64] / 0.25;", 0, true },
	/* 2^-128, which a device takes for 0 */
	{ "C[0 :+ 16, 0 :+ 64] = (X[0 :+ 16, 0 :+ 64] * 1e-39) / 2.938735877055719e-39;", INFINITY, false },
	{ "C[0 :+ 16, 0 :+ 64] = sqrt(abs(X[0 :+ 16, 0 :+ 64])) / 7.0;", 1e-6, false },
	{ "let x = X[0 :+ 16, 0 :+ 64]; C[0 :+ 16, 0 :+ 64] = x / reduce_max(abs(x), 1);", 1e-6, false },
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

TEST_EACH(chains, sizeof chain / sizeof chain[0])
{
	static float x[16 * 64], c[16 * 64];
	static double bound[16 * 64];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0, { 0 } }, { c, bound, sizeof c, 0, 0, { 0 } } };
	char src[600];
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	bool any = false;

	snprintf(src, sizeof src,
	         "kernel k(X: f32[16, 64], C: out f32[16, 64])\n{\ngrid(1);\n%s\n}\n",
	         chain[_i].body);
	o.stop = "mask_bounds";
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

/* Added to 1 one after the other 63 numbers of half its roundoff are all lost.  Rows that cancel have the sum
 * 0, each as far off as its bound: so the product of two is as far off as both together. */
TEST(lost_terms)
{
	static const char src[] = "kernel k(X: f32[16, 64], S: out f32[16, 1], P: out f32[16, 1])\n"
				  "{\ngrid(1);\nlet s = sum(X[:, :], 1);\n"
				  "S[:, :] = s;\nP[:, :] = s * s;\n}\n";
	static float x[16][64], sum[16], product[16];
	double far[16] = { 0 }, both[16] = { 0 };
	hexc_arg arg[3] = { { x, NULL, sizeof x, 0, 0, { 0 } },
		            { sum, far, sizeof sum, 0, 0, { 0 } },
		            { product, both, sizeof product, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 64; j++)
			x[i][j] = i == 0 ? (j ? 0x1p-25f : 1) : (j % 2 ? -1 : 1) * ((float)i + 0.3f);
	o.stop = "mask_bounds";
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	ck_assert(far[0] >= fabs((double)sum[0] - 1) && far[0] >= fabs((double)sum[0] - (1 + 63 * 0x1p-25)));
	for (int i = 1; i < 16; i++) {
		ck_assert(sum[i] == 0 && product[i] == 0);
		ck_assert(far[i] > 0 && both[i] >= far[i] * far[i]);
	}
	hexc_module_free(m);
}

/* What a loop adds to may be carried in parts: 1 and -1 in two lanes, of which the first then loses what
 * follows, half its roundoff at a time, a thousand times. */
TEST(lost_turns)
{
	static const char src[] = "kernel k(X: f32[1, N], S: out f32[1, 1], P: out f32[1, 1])\n"
				  "{\ngrid(1);\nvar s: register f32[1, 1] = 0;\n"
				  "var p: register f32[1, 4] = 0;\n"
				  "for n in 0..N step 4 {\n"
				  "let x: register = X[:, n :+ 4];\ns += sum(x, 1);\np += x;\n}\n"
				  "S[:, :] = s;\nP[:, :] = sum(p, 1);\n}\n";
	enum { TURNS = 1000 };
	static float x[4 * TURNS];
	_Alignas(16) float sum = 0, parts = 0;
	double far = 0, any = 0;
	hexc_arg arg[4] = { { x, NULL, sizeof x, 0, 0, { 0 } },
		            { &sum, &far, sizeof sum, 0, 0, { 0 } },
		            { &parts, &any, sizeof parts, 0, 0, { 0 } },
		            { .i = 4 * TURNS } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	x[0] = 1;
	x[1] = -1;
	for (int i = 1; i < TURNS; i++)
		x[4 * i] = 0x1p-25f;
	o.stop = "mask_bounds";
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	ck_assert(parts >= 0 && parts <= 0 && sum >= 900 * 0x1p-25f);
	ck_assert_msg(far >= fabs((double)sum - (double)parts), "%g differs by %g", far, (double)sum);
	ck_assert(far < 0.01);
	hexc_module_free(m);
}

/* Between the last two numbers of nf4, 0.7229568 and 1, either is right. */
TEST(between_numbers)
{
	static const char src[] = "kernel k(X: f32[16], C: out nf4[16])\n{\ngrid(1);\n"
				  "C[:] = nf4(exp(X[:]));\n}\n";
	static float x[16];
	_Alignas(16) unsigned char c[8];
	double bound[16] = { 0 };
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0, { 0 } }, { c, bound, sizeof c, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "mask_bounds";
	for (int i = 0; i < 16; i++)
		x[i] = (float)log((1 + 0.7229568) / 2);
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 16; i++)
		ck_assert(bound[i] >= 1 - 0.72296 && bound[i] < 1.001);
	hexc_module_free(m);
}

static double
ref_power(double x)
{
	return pow(x, 1.75);
}

static double
ref_gelu(double x)
{
	return x * erfc(-x / sqrt(2)) / 2;
}

/* Where 1 - erf is so much: between 0.9 and 2.5. */
static double
where_erfc(double y)
{
	double a = 0.9, b = 2.5;

	while (b - a > 1e-12)
		*(erfc((a + b) / 2) > y ? &a : &b) = (a + b) / 2;
	return a;
}

/* An argument whose exp is near something: powers of sqrt(2); what makes erfc 2^-2.5, 2^-3.5, .. of itself or
 * of its quotient by sqrt(2), as gelu takes it; anything up to 2.8. */
static double
inexact_argument(int i, uint64_t *seed)
{
	if (i < 16)
		return log(2) * (i - 12) / 2;
	if (i < 32)
		return log(where_erfc(ldexp(sqrt(0.5), -(i / 2 - 6))) * (i % 2 ? sqrt(2) : 1));
	return (double)(next(seed) >> 7) / 0x400000 - 3;
}

/* Functions that are written in the language, where their argument is a little off: at the ends of binades,
 * too, where another exponent goes with it.  What an exp that is off by as much as it may gives is within the
 * bound, which is not much larger than that. */
static const struct {
	const char *text;
	double (*f)(double);
} inexact[] = {
	{ "log2(e)", log2 }, { "log1p(e)", log1p }, { "expm1(e)", expm1 }, { "erf(e)", erf },
	{ "erfc(e)", erfc }, { "pow(e, 1.75)", ref_power }, { "sin(e)", sin }, { "cos(e)", cos },
	{ "gelu(e)", ref_gelu },
};

TEST_EACH(inexact_arguments, sizeof inexact / sizeof inexact[0])
{
	enum { MANY = 512 };
	static float x[MANY], c[MANY];
	static double bound[MANY];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0, { 0 } }, { c, bound, sizeof c, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	uint64_t seed = 7;
	char src[300];

	snprintf(src, sizeof src,
	         "kernel k(X: f32[512], C: out f32[512])\n{\ngrid(1);\nlet e = exp(X[:]);\nC[:] = %s;\n}\n",
	         inexact[_i].text);
	o.stop = "mask_bounds";
	for (int i = 0; i < MANY; i++)
		x[i] = (float)inexact_argument(i, &seed);
	m = lib_must(src, &o);
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < MANY; i++) {
		double e = exp(x[i]), off = ldexp(1, -21), y = inexact[_i].f(e), far = 0;

		for (int side = -1; side <= 1; side += 2) {
			double other = inexact[_i].f(e * (1 + side * off));

			ck_assert_msg(fabs(other - c[i]) <= bound[i], "%s at %.9g: %.17g and %.17g, bound %g",
			              inexact[_i].text, e, other, c[i], bound[i]);
			far = fmax(far, fabs(other - y));
		}
		ck_assert_msg(bound[i] <= 5 * (far + off * fmax(fabs(y), e)), "%s at %.9g: %g is too much",
		              inexact[_i].text, e, bound[i]);
	}
	hexc_module_free(m);
}

/* A choice that rounding may turn is bounded by the distance of the sides; control flow by nothing. */
TEST(choices)
{
	static const char src[] =
		"kernel k(X: f32[16, 16], C: out f32[16, 16])\n{\ngrid(1);\n"
		"let e: register = exp(X[0 :+ 16, 0 :+ 16]);\n"
		"C[0 :+ 16, 0 :+ 16] = where(e <= exp(0.0 * X[0 :+ 16, 0 :+ 16]), e, e + 5.0);\n}\n";
	static float x[256], c[256];
	static double bound[256];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0, { 0 } }, { c, bound, sizeof c, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "mask_bounds";
	m = lib_must(src, &o);
	x[3] = 1.0f; /* the others compare equal */
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	ck_assert(bound[3] < 0.001 && bound[4] >= 5 && bound[4] < 5.001);
	hexc_module_free(m);
}

/* The place of a largest element is certain where no other comes near; what is read there is known then.
 * Row 3 has equal ones at 2 and 9. */
TEST(places)
{
	static const char src[] =
		"kernel k(X: f32[16, 16], T: f32[16, 8], I: out i32[16], Y: out f32[16, 8])\n{\ngrid(1);\n"
		"let i = reshape(argmax(exp(X[0 :+ 16, 0 :+ 16]), 1), 16);\n"
		"I[0 :+ 16] = i;\nY[0 :+ 16, 0 :+ 8] = T[i, 0 :+ 8];\n}\n";
	static float x[256], t[128], y[128];
	static double far[16], bound[128];
	int32_t at[16];
	hexc_arg arg[4] = { { x, NULL, sizeof x, 0, 0, { 0 } },
		            { t, NULL, sizeof t, 0, 0, { 0 } },
		            { at, far, sizeof at, 0, 0, { 0 } },
		            { y, bound, sizeof y, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	o.stop = "mask_bounds";
	m = lib_must(src, &o);
	for (int i = 0; i < 256; i++)
		x[i] = (float)(i * 7 % 16) / 8;
	x[3 * 16 + 2] = x[3 * 16 + 9] = 3;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 16; i++) {
		ck_assert_int_eq((int)far[i], i == 3 ? 7 : 0);
		for (int j = 0; j < 8; j++)
			ck_assert(i == 3 ? isinf(bound[i * 8 + j]) : bound[i * 8 + j] <= 0);
	}
	hexc_module_free(m);
}

/* Where rounding turns a condition, moves a store or a loop's end, no bound counts; where it cannot, all
 * do. */
TEST(doubts)
{
	static const char *const body[] = {
		"if s[0, 0] > 1 { C[0 :+ 16] = reshape(sum(s, 1), 16); }",
		"C[i] = reshape(sum(s, 1), 16);",
		"for j in 0..i64(s[0, 0]) { C[j :+ 1] = 1; }",
		"var n: i32 = 0;\nfor j in 0..3 { n = i32(s[0, 0]) + 1; }\nC[i64(n) :+ 1] = 1;",
	};
	static float x[256], c[16];
	static double bound[16];
	hexc_arg arg[2] = { { x, NULL, sizeof x, 0, 0, { 0 } }, { c, bound, sizeof c, 0, 0, { 0 } } };

	for (int i = 0; i < (int)(sizeof body / sizeof *body); i++)
		for (int near = 0; near < 2; near++) {
			char src[500];
			hexc_opts o = HEXC_OPTS_INIT;
			hexc_module *m;

			snprintf(src, sizeof src,
			         "kernel k(X: f32[16, 16], C: out f32[16])\n{\ngrid(1);\n"
			         "let s: shared = exp(X[0 :+ 16, 0 :+ 16]);\n"
			         "let i = reshape(argmax(s, 1), 16);\n%s\n}\n",
			         body[i]);
			o.stop = "mask_bounds";
			m = lib_must(src, &o);
			memset(bound, 0, sizeof bound);
			for (int j = 0; j < 256; j++)
				x[j] = near ? 0 : 0.25f + (float)(j % 16) / 8;
			ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
			for (int j = 0; j < 16; j++)
				ck_assert_msg(near ? isinf(bound[j]) : bound[j] < 0.001, "%s: %g",
				              body[i], bound[j]);
			hexc_module_free(m);
		}
}

/* ---- atomic additions ------------------------------------------------------------------------------ */

enum { ADDS = 600, BINS = 16 };

/* Blocks of 32 add to 16 elements chosen by the data: about 37 meet in each. */
static const char adds[] = "kernel k(X: f32[N], I: i32[N], F: inout f32[B], H: inout f16[B],\n"
			   "    D: inout f64[B], C: inout f32[B], E: inout f32[B])\n"
			   "{\n"
			   "    grid(ceil(N, 32));\n"
			   "    let i = block.x * 32;\n"
			   "    let x: register = X[i :+ 32], at: register = I[i :+ 32];\n"
			   "    atomic_add(F[at], x);\n"
			   "    atomic_add(H[at], f16(x));\n"
			   "    atomic_add(D[at], f64(x));\n"
			   "    atomic_add(C[at], 1);\n"
			   "    atomic_add(E[at], exp(x));\n"
			   "}\n";

typedef struct Adds {
	float x[ADDS];
	int32_t at[ADDS];
	float f[BINS], c[BINS], e[BINS];
	uint16_t h[BINS];
	double d[BINS], bound[5][BINS];
} Adds;

static void
run_adds(const hexc_module *m, Adds *a, bool bounds)
{
	void *p[7] = { a->x, a->at, a->f, a->h, a->d, a->c, a->e };
	size_t bytes[7] = { sizeof a->x, sizeof a->at, sizeof a->f, sizeof a->h,
		            sizeof a->d, sizeof a->c, sizeof a->e };
	hexc_arg arg[9] = { [7].i = ADDS, [8].i = BINS };

	memset(a->bound, 0, sizeof a->bound);
	for (int i = 0; i < 7; i++)
		arg[i] = (hexc_arg){ p[i], bounds && i >= 2 ? a->bound[i - 2] : NULL, bytes[i], 0, 0, { 0 } };
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
}

static void
fill_adds(Adds *a, uint64_t seed)
{
	memset(a, 0, sizeof *a);
	for (int i = 0; i < ADDS; i++) {
		a->x[i] = (float)next(&seed) / 0x40000000 - 1;
		a->at[i] = (int32_t)(next(&seed) % BINS);
	}
	for (int i = 0; i < BINS; i += 3) {
		a->f[i] = (float)i - 4;
		hexc_put(hexc_dtype_find("f16"), a->h, (uint64_t)i, 0.1);
		a->c[i] = (float)i;
		a->d[i] = -0.3;
	}
}

/* The updates come in any order: each bin of each tensor is within its bound.  Returns how many differ. */
static int
within(const Adds *a, const Adds *b, int *outside)
{
	const hexc_dtype *f16 = hexc_dtype_find("f16");
	int differ = 0;

	*outside = 0;
	for (uint64_t i = 0; i < BINS; i++) {
		double err[5] = { fabs((double)a->f[i] - b->f[i]),
			          fabs(hexc_get(f16, a->h, i) - hexc_get(f16, b->h, i)),
			          fabs(a->d[i] - b->d[i]), fabs((double)a->c[i] - b->c[i]),
			          fabs((double)a->e[i] - b->e[i]) };

		for (int t = 0; t < 5; t++) {
			differ += err[t] > 0;
			*outside += err[t] > a->bound[t][i];
		}
	}
	return differ;
}

TEST_EACH(atomics, 5)
{
	static Adds a, b;
	hexc_opts o = HEXC_OPTS_INIT;
	uint64_t seed = (uint64_t)_i;
	hexc_module *m;
	int outside;

	o.stop = "mask_bounds";
	m = lib_must(adds, &o);
	fill_adds(&a, (uint64_t)_i + 10);
	b = a;
	run_adds(m, &a, true);
	for (int i = ADDS - 1; i > 0; i--) { /* another order */
		int j = (int)(next(&seed) % (uint64_t)(i + 1)), at = b.at[i];
		float x = b.x[i];

		b.x[i] = b.x[j];
		b.at[i] = b.at[j];
		b.x[j] = x;
		b.at[j] = at;
	}
	run_adds(m, &b, false);
	ck_assert_int_gt(within(&a, &b, &outside), 10);
	ck_assert_int_eq(outside, 0);
	for (int i = 0; i < BINS; i++) {
		ck_assert(a.bound[0][i] > 0 && a.bound[0][i] < 1e-3);
		ck_assert(a.bound[1][i] > 0 && a.bound[1][i] < 2);
		ck_assert(a.bound[2][i] > 0 && a.bound[2][i] < 1e-11);
		ck_assert(a.bound[3][i] == 0); /* counts are exact */
		ck_assert(a.bound[4][i] > 0 && a.bound[4][i] < 1e-2);
	}
	hexc_module_free(m);
}

/* An update that is lost, or comes twice, or is off by more than rounding, is told. */
TEST_EACH(wrong_atomics, 3)
{
	static Adds a, b;
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;
	int outside;

	o.stop = "mask_bounds";
	m = lib_must(adds, &o);
	fill_adds(&a, 77);
	a.x[100] = 0.5;
	b = a;
	run_adds(m, &a, true);
	switch (_i) {
	case 0: b.at[100] = -1; break;
	case 1: b.x[100] = 1; break;
	default: b.x[100] = 0.499f; break;
	}
	run_adds(m, &b, false);
	within(&a, &b, &outside);
	ck_assert_int_ge(outside, _i == 0 ? 4 : 2);
	hexc_module_free(m);
}

/* What is stored before counts as a term; nothing is known of what is read back. */
TEST_EACH(store_then_add, 3)
{
	static const char src[] = "kernel k(X: f32[16], F: inout f32[16], Y: out f32[16])\n{\n"
				  "    grid(1);\n"
				  "    F[0 :+ 16] = X[0 :+ 16];\n"
				  "    atomic_add(F[0 :+ 16], X[0 :+ 16]);\n"
				  "    %s\n"
				  "    Y[0 :+ 16] = %s;\n}\n";
	float x[16], f[16], y[16];
	double bf[16], by[16];
	hexc_arg arg[3] = { { x, NULL, sizeof x, 0, 0, { 0 } },
		            { f, bf, sizeof f, 0, 0, { 0 } },
		            { y, by, sizeof y, 0, 0, { 0 } } };
	hexc_opts o = HEXC_OPTS_INIT;
	char text[400];
	hexc_module *m;

	o.stop = "mask_bounds";
	snprintf(text, sizeof text, src, _i ? "atomic_add(F[0 :+ 16], X[0 :+ 16]);" : "",
	         _i == 2 ? "F[0 :+ 16]" : "X[0 :+ 16]");
	m = lib_must(text, &o);
	for (int i = 0; i < 16; i++) {
		x[i] = 0.1f + (float)i / 7;
		f[i] = 1e30f; /* in nothing */
		bf[i] = by[i] = 0;
	}
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, NULL), HEXC_OK);
	for (int i = 0; i < 16; i++) {
		if (_i == 2) {
			ck_assert(isinf(bf[i]) && isinf(by[i]));
			continue;
		}
		/* two terms have one sum, but for subnormal ones; three have several */
		ck_assert(_i ? bf[i] > 0.1 * 0x1p-24 && bf[i] < 1e-5 : bf[i] < 1e-36);
		ck_assert(by[i] == 0);
	}
	hexc_module_free(m);
}
