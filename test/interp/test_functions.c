/* test_functions.c - tests the functions of hexc/prelude/prelude.def, computed by the tile interpreter,
 * against the long double functions of the C library: for every value of f16 and bf16, and for a million of
 * f32 and of f64 (QUICK=1: an eighth), within the errors stated in hexc/LANGUAGE.md (test/lang/run-prelude.sh
 * compares). */
#include "test/interp/util_interp.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = SANITIZED ? 1 << 14 : 1 << 20 };

typedef long double Reference(long double x, long double y);

#define ONE(name, value)                                                                           \
	static long double name##_of(long double x, long double y)                                 \
	{                                                                                          \
		(void)y;                                                                           \
		return value;                                                                      \
	}
ONE(sin, sinl(x))
ONE(cos, cosl(x))
ONE(erf, erfl(x))
ONE(erfc, erfcl(x))
ONE(log2, log2l(x))
ONE(log1p, log1pl(x))
ONE(expm1, expm1l(x))
ONE(exp, expl(x))
ONE(log, logl(x))
ONE(sigmoid, 1 / (1 + expl(-x)))
/* limits where the formula has none */
ONE(silu, isinf(x) && x < 0 ? 0 : x / (1 + expl(-x)))
ONE(gelu, isinf(x) && x < 0 ? 0 : x / 2 * erfcl(-x * 0.707106781186547524400844362L))
#define TANH_OF(x) ((x) * (1 + 0.044715L * (x) * (x)) * 0.797884560802865355879892119L)
ONE(gelu_tanh, isinf(x) && x < 0 ? 0 : x / (1 + expl(-2 * TANH_OF(x))))

/* Of a result y for x the error is at most 2^of_y abs(y) + 2^of_xy abs(x y) + 2^of_x abs(x), and what is
 * below 2^floor may be 0; an exponent of 0: no such part.  Half of the points are between low and high. */
static const struct Case {
	const char *name;
	Reference *f;
	int of_y, of_xy, of_x, floor;
	double low, high;
} cases[] = {
	/* the errors that hexc/LANGUAGE.md has */
	{ "sin", sin_of, -22, 0, 0, 0, -100, 100 },
	{ "cos", cos_of, -22, 0, 0, 0, -100, 100 },
	{ "erf", erf_of, -23, 0, 0, 0, -5, 5 },
	{ "erfc", erfc_of, -21, 0, 0, 0, -5, 11 },
	{ "log2", log2_of, -22, 0, 0, 0, 0, 4 },
	{ "log1p", log1p_of, -23, 0, 0, 0, -1, 4 },
	{ "expm1", expm1_of, -22, 0, 0, 0, -20, 90 },
	{ "pow", powl, -21, 0, 0, 0, 0, 0 },
	{ "sigmoid", sigmoid_of, -19, -23, 0, -126, -90, 20 },
	{ "silu", silu_of, -19, -23, 0, -119, -90, 20 },
	{ "gelu", gelu_of, 0, 0, -22, 0, -10, 10 },
	{ "gelu_tanh", gelu_tanh_of, 0, 0, -19, -126, -10, 10 },
	/* of f64 */
	{ "exp", exp_of, -52, 0, 0, 0, -746, 710 },
	{ "log", log_of, -52, 0, 0, 0, 0, 4 },
};
enum { WIDE = 2, NARROW = COUNT_OF(cases) - WIDE };

static Run r;

static void
start(const struct Case *c, DType d, int n)
{
	const char *t = dtype_info[d].name;

	run_bounded(&r, u,
	            arena_printf(u->arena,
	                         "kernel t(A: %s[N], B: %s[N], Y: out %s[N])\n{\n"
	                         "    grid(ceil(N, 512));\n    let i = block.x * 512;\n"
	                         "    let a: register = A[i :+ 512], _b: register = B[i :+ 512];\n"
	                         "    Y[i :+ 512] = %s(a%s);\n}\n",
	                         t, t, t, c->name, c->f == powl ? ", _b" : ""),
	            "", arena_printf(u->arena, "N=%d", n), 5);
}

static double
error_of(const struct Case *c, DType d, long double x, long double y)
{
	DType in = d == D_f64 ? D_f64 : D_f32;
	double size = (double)fabsl(y), e = ldexp(1, in == D_f64 ? -1074 : -149);

	e += c->of_y ? ldexp(size, c->of_y) : 0;
	e += c->of_xy && !isinf(x) ? ldexp(size * (double)fabsl(x), c->of_xy) : 0;
	e += c->of_x ? ldexp((double)fabsl(x), c->of_x) : 0;
	e += c->floor ? ldexp(1, c->floor) : 0;
	if (d != in) /* rounded once more */
		e += (size + e) * ldexp(1, -1 - dtype_info[d].man) +
		     ldexp(1, d == D_f16 ? -25 : -134);
	return e;
}

static void
compare(const struct Case *c, DType d, int n)
{
	run_ok(&r, NULL);
	for (int i = 0; i < n; i++) {
		double x = run_get(&r, "A", i), b = run_get(&r, "B", i), y = run_get(&r, "Y", i);
		long double want = c->f(x, b);
		double e = isfinite(want) ? error_of(c, d, x, want) : 0;

		if (isnan(want) ? isnan(y) : fabsl(y - want) <= e)
			continue;
		/* infinities, of the reference too once it is rounded, and zeros with their sign */
		if (!isnan(want) && (isinf(y) || isinf(want)) &&
		    (y == num_round(d, (double)want) ||
		     y == num_round(d, (double)(want + copysignl(e, want)))))
			continue;
		ck_abort_msg("%s of %s: (%.17g, %.17g) is %.17g, not %.20Lg", c->name, dtype_info[d].name,
		             x, b, y, want);
	}
}

/* Is the zero of a zero of its sign?  Odd functions say so. */
static void
compare_zeros(const struct Case *c)
{
	static const char *const odd[] = { "sin", "erf", "log1p", "expm1", "silu", "gelu", "gelu_tanh" };

	for (int i = 0; i < (int)COUNT_OF(odd); i++) {
		if (strcmp(odd[i], c->name) != 0)
			continue;
		start(c, D_f32, 512);
		run_put(&r, "A", 0, -0.0);
		run_put(&r, "A", 1, 0.0);
		run_ok(&r, NULL);
		ck_assert(signbit(run_get(&r, "Y", 0)) && !signbit(run_get(&r, "Y", 1)));
	}
}

static const DType half[] = { D_f16, D_bf16 };

TEST_EACH(every_half, NARROW * 2)
{
	const struct Case *c = &cases[_i / 2];
	DType d = half[_i % 2];
	uint64_t state = 11;

	start(c, d, 1 << 16);
	for (int i = 0; i < 1 << 16; i++) {
		run_put(&r, "A", i, num_of_code(d, (unsigned)i));
		run_put(&r, "B", i, num_of_code(d, (unsigned)(run_random(&state) >> 48)));
	}
	compare(c, d, 1 << 16);
}

/* A power that the type holds: x^y = 2^z for a z in its range. */
static void
put_power(int i, uint64_t a, uint64_t b)
{
	double y = ldexp((double)(int64_t)b * 0x1p-63, (int)(a % 24) - 8);
	double z = 152 * ((double)(a >> 11) * 0x1p-52 - 1), x = exp2(z / y);

	if (i % 4 == 0)
		x = 1 + ldexp((double)(int64_t)a, -63 - 8);
	if (i % 4 == 2) {
		y = nearbyint(y);
		x = -x;
	}
	run_put(&r, "A", i, x);
	run_put(&r, "B", i, y);
}

TEST_EACH(million, COUNT_OF(cases))
{
	const struct Case *c = &cases[_i];
	DType d = _i < NARROW ? D_f32 : D_f64;
	int points = getenv("QUICK") ? POINTS / 8 : POINTS;
	uint64_t state = 7;

	start(c, d, points);
	for (int i = 0; i < points; i++) {
		uint64_t a = run_random(&state), b = run_random(&state);

		if (i % 2) {
			memcpy((char *)run_arg(&r, "A")->data + (size_t)i * dtype_info[d].bits / 8, &a,
			       dtype_info[d].bits / 8);
			memcpy((char *)run_arg(&r, "B")->data + (size_t)i * dtype_info[d].bits / 8, &b,
			       dtype_info[d].bits / 8);
		} else if (c->f == powl) {
			put_power(i, a, b);
		} else {
			run_put(&r, "A", i, c->low + (c->high - c->low) * (double)(a >> 11) * 0x1p-53);
		}
	}
	compare(c, d, points);
	compare_zeros(c);
}

/* What no random number is. */
TEST_EACH(ends, NARROW)
{
	static const float at[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -2, 0.5f, -0.5f, 3, -3,
		                    0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f,
		                    0x1.fffffep-1f, 0x1.000002p0f, 16777216, 16777215, -16777215 };
	enum { N = COUNT_OF(at) };
	const struct Case *c = &cases[_i];

	start(c, D_f32, N * N);
	for (int i = 0; i < N * N; i++) {
		run_put(&r, "A", i, (double)at[i / N]);
		run_put(&r, "B", i, (double)at[i % N]);
	}
	compare(c, D_f32, N * N);
}

/* ---- random bits --------------------------------------------------------------------------------------- */

static const char philox[] =
	"kernel t(A: u32[6, 64], Y: out u32[4, 64], Z: out u32[5, 64], W: out u32[64])\n{\n    grid(1);\n"
	"    let (a, b, c, d) = philox(A[0, :], A[1, :], A[2, :], A[3, :], A[4, :], A[5, :]);\n"
	"    Y[0, :] = a;\n    Y[1, :] = b;\n    Y[2, :] = c;\n    Y[3, :] = d;\n"
	"    let seed = u64(A[5, :]) << 32 | u64(A[4, :]), at = u64(A[1, :]) << 32 | u64(A[0, :]);\n"
	"    let (e, f, g, h) = random(seed, at);\n"
	"    Z[0, :] = e;\n    Z[1, :] = f;\n    Z[2, :] = g;\n    Z[3, :] = h;\n"
	"    Z[4, :] = random(seed, at);\n    W[:] = random(0, 0);\n}\n";

/* philox4x32 with 10 rounds of Random123's tests/kat_vectors (D. E. Shaw Research): counter, key, result. */
static const uint32_t known[3][10] = {
	{ 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
	{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
	  0xa20bc7c6, 0x6d5451fd },
	{ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
	  0x5001e420, 0x24126ea1 },
};

static int64_t
word(const char *name, int64_t i)
{
	return num_get_i(D_u32, run_arg(&r, name)->data, i);
}

TEST(philox_is_the_published_one)
{
	run_bounded(&r, u, philox, "", "", 5);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 6; j++)
			num_put_i(D_u32, run_arg(&r, "A")->data, j * 64 + i, known[i % 3][j]);
	run_ok(&r, NULL);
	for (int i = 0; i < 64; i++)
		for (int j = 0; j < 4; j++)
			ck_assert_int_eq(word("Y", j * 64 + i), known[i % 3][6 + j]);
	ck_assert_int_eq(word("W", 0), known[0][6]);
}

/* The counter's upper words are 0. */
TEST(random_is_philox)
{
	uint32_t x[4][64];

	run_bounded(&r, u, philox, "", "", 5);
	run_ok(&r, NULL);
	for (int i = 0; i < 256; i++)
		x[i / 64][i % 64] = (uint32_t)word("Z", i);
	for (int i = 0; i < 64; i++) {
		ck_assert_int_eq(word("Z", 256 + i), x[0][i]);
		num_put_i(D_u32, run_arg(&r, "A")->data, 128 + i, 0);
		num_put_i(D_u32, run_arg(&r, "A")->data, 192 + i, 0);
	}
	run_ok(&r, NULL);
	for (int i = 0; i < 256; i++)
		ck_assert_int_eq(word("Y", i), x[i / 64][i % 64]);
}

/* ---- what is exact ------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	double (*of)(double);
} wholes[] = { { "floor(a)", floor }, { "ceil(a)", ceil }, { "round(a)", nearbyint }, { "trunc(a)", trunc } };

TEST_EACH(whole_numbers, COUNT_OF(wholes) * 2)
{
	DType d = half[_i % 2];

	run_bounded(&r, u,
	            arena_printf(u->arena,
	                         "kernel t(A: %s[N], Y: out %s[N])\n{\n    grid(ceil(N, 512));\n"
	                         "    let a: register = A[block.x * 512 :+ 512];\n"
	                         "    Y[block.x * 512 :+ 512] = %s;\n}\n",
	                         dtype_info[d].name, dtype_info[d].name, wholes[_i / 2].text),
	            "", "N=65536", 5);
	for (int i = 0; i < 1 << 16; i++)
		run_put(&r, "A", i, num_of_code(d, (unsigned)i));
	run_ok(&r, NULL);
	for (int i = 0; i < 1 << 16; i++) {
		double want = wholes[_i / 2].of(num_of_code(d, (unsigned)i)), y = run_get(&r, "Y", i);

		ck_assert_msg(isnan(want) ? isnan(y) : double_bits(want) == double_bits(y),
		              "%s of code %d is %g", wholes[_i / 2].text, i, y);
	}
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 600);
