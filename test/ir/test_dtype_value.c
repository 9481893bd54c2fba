/* test_dtype_value.c - tests the values of element types: every 16-bit code, rounding against exact
 * neighbours. */
#include "hexc/ir/dtype_value.h"
#include "test/check.h"
#include "test/interp/util_interp.h"
#include "test/ir/util_number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 200000 };

static const DType small_types[] = {
	// clang-format off
	D_f16, D_bf16, D_e1m1, D_e1m2, D_e2m1, D_e1m3, D_e2m2, D_e3m1, D_e1m4, D_e2m3, D_e3m2, D_e4m1, D_e1m5,
	D_e2m4, D_e3m3, D_e4m2, D_e5m1, D_e1m6, D_e2m5, D_e3m4, D_e4m3, D_e5m2, D_e6m1,
	// clang-format on
};

TEST_EACH(every_code, COUNT_OF(small_types))
{
	DType d = small_types[_i];
	unsigned sign = 1u << (dtype_info[d].bits - 1);

	for (unsigned code = 0; code < 2 * sign; code++) {
		double want = code_value(d, code), got = num_of_code(d, code);

		if (isnan(want)) {
			ck_assert(isnan(got));
			ck_assert_uint_eq(num_code(d, got), sign - 1);
			continue;
		}
		ck_assert(memcmp(&got, &want, sizeof got) == 0);
		if (isinf(want) && d == D_e5m2) { /* saturates */
			ck_assert(fabs(num_round(d, want)) == 57344);
			continue;
		}
		ck_assert_uint_eq(num_code(d, want), code);
		ck_assert(num_round(d, want) == want);
	}
}

/* Between two neighbours: below the middle, the middle, above it. */
TEST_EACH(every_gap, COUNT_OF(small_types))
{
	DType d = small_types[_i];
	bool sat = dtype_info[d].round == R_sat;
	unsigned sign = 1u << (dtype_info[d].bits - 1), top = 0, over;

	while (top + 1 < sign && isfinite(code_value(d, top + 1)))
		top++;
	over = sat ? top : top + 1; /* where overflow goes */
	ck_assert(num_largest(d) == code_value(d, top));
	for (unsigned code = 0; code <= top; code++) {
		double a = code_value(d, code), b = code_value(d, code + 1), mid;
		unsigned up = code == top ? over : code + 1, even = code & 1 ? up : code;

		if (code == top) /* where the next number would be */
			b = a + (a - code_value(d, code - 1));
		mid = a + (b - a) / 2;
		ck_assert_uint_eq(num_code(d, mid), even);
		ck_assert_uint_eq(num_code(d, nextafter(mid, 0)), code);
		ck_assert_uint_eq(num_code(d, nextafter(mid, INFINITY)), up);
		ck_assert_uint_eq(num_code(d, -mid), even | sign);
		ck_assert(num_round(d, mid) == code_value(d, even));
		ck_assert(num_round(d, -nextafter(mid, 0)) == -a);
	}
	ck_assert_uint_eq(num_code(d, 1e300), over);
	ck_assert_uint_eq(num_code(d, -1e300), over | sign);
	ck_assert_uint_eq(num_code(d, -0.0), sign);
	ck_assert_uint_eq(num_code(d, 5e-324), 0);
	ck_assert_uint_eq(num_code(d, (double)NAN), sign - 1);
	if (top + 1 == sign) /* no NaN: the largest number */
		ck_assert(num_round(d, (double)NAN) == code_value(d, top));
	else
		ck_assert(isnan(num_round(d, (double)NAN)));
}

/* The tables of the OCP Microscaling Formats Specification 1.0, 5.3: largest and smallest numbers. */
TEST(ocp_formats)
{
	ck_assert(num_of_code(D_e3m2, 0x1f) == 28 && num_of_code(D_e3m2, 1) == 0.0625);
	ck_assert(num_of_code(D_e2m3, 0x1f) == 7.5 && num_of_code(D_e2m3, 1) == 0.125);
	ck_assert(num_of_code(D_e2m1, 7) == 6 && num_of_code(D_e2m1, 1) == 0.5);
	ck_assert(num_of_code(D_e2m1, 15) == -6);
	ck_assert(num_of_code(D_e4m3, 0x7e) == 448 && num_of_code(D_e5m2, 0x7b) == 57344);
	ck_assert(num_of_code(D_e1m1, 3) == 3 && num_of_code(D_e1m1, 5) == -1);
}

/* Powers of two, from the definition: the nearest, the larger one in the middle, without sign. */
TEST(scales)
{
	for (unsigned code = 0; code < 255; code++) {
		double x = ldexp(1, (int)code - 127), mid = x * 1.5;
		unsigned up = code < 254 ? code + 1 : 254;

		ck_assert(num_of_code(D_e8m0, code) == x);
		ck_assert_uint_eq(num_code(D_e8m0, x), code);
		ck_assert_uint_eq(num_code(D_e8m0, -x), code);
		ck_assert_uint_eq(num_code(D_e8m0, nextafter(mid, 0)), code);
		ck_assert_uint_eq(num_code(D_e8m0, mid), up);
		ck_assert(num_round(D_e8m0, mid) == ldexp(1, (int)up - 127));
	}
	ck_assert(isnan(num_of_code(D_e8m0, 255)) && isnan(num_round(D_e8m0, (double)NAN)));
	ck_assert_uint_eq(num_code(D_e8m0, (double)NAN), 255);
	ck_assert_uint_eq(num_code(D_e8m0, (double)INFINITY), 254);
	ck_assert_uint_eq(num_code(D_e8m0, 0), 0);
	ck_assert_uint_eq(num_code(D_e8m0, 0x1p-140), 0);
	ck_assert(num_largest(D_e8m0) == 0x1p127);
}

/* QLoRA's construction: quantiles of both halves of the normal distribution, evenly spaced in probability up
 * to 1 - (1/30 + 1/32) / 2, scaled to 1. */
TEST(normal_floats)
{
	double offset = 1 - (1.0 / 30 + 1.0 / 32) / 2;

	for (unsigned code = 0; code < 16; code++) {
		/* code 7 is 0; 8 steps up and 7 steps down from probability 1/2 */
		double x = num_of_code(D_nf4, code), steps = code > 7 ? 8 : 7;
		double p = 0.5 + (offset - 0.5) * fabs((double)code - 7) / steps;
		double top = 1.8481308237203835; /* the quantile of `offset`, from tables */

		ck_assert(fabs(0.5 * erfc(-fabs(x) * top / sqrt(2)) - p) < 2e-6);
		ck_assert(code == 0 || x > num_of_code(D_nf4, code - 1));
		ck_assert_uint_eq(num_code(D_nf4, x), code);
		if (code < 15) {
			double mid = (x + num_of_code(D_nf4, code + 1)) / 2;

			ck_assert_uint_eq(num_code(D_nf4, mid), code);
			ck_assert_uint_eq(num_code(D_nf4, nextafter(mid, 2)), code + 1);
		}
	}
	ck_assert(num_of_code(D_nf4, 0) == -1 && num_of_code(D_nf4, 7) == 0 && num_of_code(D_nf4, 15) == 1);
	ck_assert(num_round(D_nf4, 7) == 1 && num_round(D_nf4, -(double)INFINITY) == -1);
	ck_assert(num_round(D_nf4, (double)NAN) == 0);
}

/* tf32: ties away from zero, at both ends of the range too. */
TEST(tf32)
{
	static const double x[][2] = {
		{ 1 + 0x1p-11, 1 + 0x1p-10 },
		{ -1 - 0x1p-11, -1 - 0x1p-10 },
		{ 1 + 0x1p-11 - 0x1p-50, 1 },
		{ 1 + 3 * 0x1p-11, 1 + 0x1p-9 },
		{ 0x1p-137, 0x1p-136 },
		{ 0x1p-137 - 0x1p-180, 0 },
		{ 3 * 0x1p-137, 0x1p-135 },
		{ 0x1.ffcp127, 0x1.ffcp127 },
		{ 0x1.ffep127 - 0x1p100, 0x1.ffcp127 },
		{ 0x1.ffep127, (double)INFINITY },
		{ (double)INFINITY, (double)INFINITY },
	};

	for (int i = 0; i < (int)COUNT_OF(x); i++)
		ck_assert_msg(num_round(D_tf32, x[i][0]) == x[i][1], "%a: %a", x[i][0],
		              num_round(D_tf32, x[i][0]));
	ck_assert(isnan(num_round(D_tf32, (double)NAN)));
}

TEST(round_many_as_one)
{
	uint64_t seed = 7;
	double x[64], y[64];

	for (int d = 0; d < D_COUNT; d++) {
		if (!dtype_is_float((DType)d))
			continue;
		for (int i = 0; i < 64; i++) {
			x[i] = ldexp((double)(int64_t)run_random(&seed),
			             (int)(run_random(&seed) % 400) - 260);
			y[i] = num_round((DType)d, x[i]);
		}
		num_round_n((DType)d, x, 64);
		ck_assert(memcmp(x, y, sizeof x) == 0);
	}
}

/* fma rounds once: the exact result in long double where that holds it, else against fmaf. */
TEST(fma_rounds_once)
{
	uint64_t seed = 3;

	for (int i = 0; i < CASES; i++) {
		float x[3], want;

		for (int j = 0; j < 3; j++) {
			uint32_t bits = (uint32_t)run_random(&seed);

			/* exponents near each other, so that the sum has long tails */
			bits = (bits & 0x807fffff) | (uint32_t)(100 + run_random(&seed) % 50) << 23;
			memcpy(&x[j], &bits, sizeof bits);
		}
		want = fmaf(x[0], x[1], x[2]);
		ck_assert(num_fma(D_f32, (double)x[0], (double)x[1], (double)x[2]) == (double)want);
	}
	/* 1 + 2^-11 + 2^-60: a tie in double, not in f16 */
	ck_assert(num_fma(D_f16, 1, 1, ldexp(1, -11) + ldexp(1, -60)) == 1 + ldexp(1, -10));
	ck_assert(num_fma(D_f16, ldexp(1, -24), ldexp(1, -24), 1 + ldexp(1, -11)) == 1 + ldexp(1, -10));
	ck_assert(num_fma(D_f16, ldexp(1, -24), ldexp(-1, -24), 1 + ldexp(1, -11)) == 1);
}

TEST(integers_to_floats)
{
	uint64_t seed = 11;

	for (int i = 0; i < CASES; i++) {
		uint64_t u = run_random(&seed) >> (run_random(&seed) % 64);
		int64_t s = (int64_t)u;

		ck_assert(num_from_int(D_f32, D_u64, s) == (double)(float)u);
		ck_assert(num_from_int(D_f32, D_i64, s) == (double)(float)s);
		ck_assert(num_from_int(D_f64, D_i64, s) == (double)s);
		ck_assert(num_from_int(D_f64, D_u64, s) == (double)u);
	}
	ck_assert(isinf(num_from_int(D_f16, D_i32, 65520)));
	ck_assert(num_from_int(D_f16, D_i32, 65519) == 65504);
	ck_assert(num_from_int(D_bf16, D_i32, 257) == 256);
	ck_assert(num_from_int(D_bf16, D_i32, 259) == 260);
}

TEST(floats_to_integers)
{
	static const struct {
		DType d;
		double x;
		int64_t want;
	} c[] = {
		// clang-format off
		{ D_i8, 3.9, 3 }, { D_i8, -3.9, -3 }, { D_i8, 200, 127 }, { D_i8, -200, -128 },
		{ D_u8, -1, 0 }, { D_u8, 255.9, 255 }, { D_u8, 1e30, 255 }, { D_i4, 7.5, 7 },
		{ D_u4, 16, 15 }, { D_i32, 2147483648.0, INT32_MAX }, { D_i64, 1e19, INT64_MAX },
		{ D_i64, -1e19, INT64_MIN }, { D_u64, 1e19, (int64_t)10000000000000000000u },
		{ D_u64, 1e20, -1 }, { D_u64, -5, 0 }, { D_bool, 0.25, 1 }, { D_bool, -0.0, 0 },
		{ D_i32, (double)NAN, 0 }, { D_i64, -(double)INFINITY, INT64_MIN },
		// clang-format on
	};

	for (size_t i = 0; i < COUNT_OF(c); i++)
		ck_assert_int_eq(num_from_float(c[i].d, c[i].x), c[i].want);
}

TEST(wrapping)
{
	ck_assert_int_eq(num_wrap(D_i4, 8), -8);
	ck_assert_int_eq(num_wrap(D_i4, -9), 7);
	ck_assert_int_eq(num_wrap(D_u4, -1), 15);
	ck_assert_int_eq(num_wrap(D_i32, (int64_t)1 << 31), INT32_MIN);
	ck_assert_int_eq(num_wrap(D_u16, 65537), 1);
	ck_assert_int_eq(num_wrap(D_bool, 256), 1);
	ck_assert_int_eq(num_min(D_i8), -128);
	ck_assert_int_eq(num_max(D_i64), INT64_MAX);
	ck_assert_int_eq(num_max(D_u64), -1);
	ck_assert_int_eq(num_max(D_u4), 15);
	for (int d = 0; d < D_COUNT; d++) {
		uint64_t seed = 5;
		int64_t x[32], y[32];

		if (dtype_is_float((DType)d))
			continue;
		for (int i = 0; i < 32; i++) {
			x[i] = (int64_t)run_random(&seed);
			y[i] = num_wrap((DType)d, x[i]);
		}
		num_wrap_n((DType)d, x, 32);
		ck_assert(memcmp(x, y, sizeof x) == 0);
	}
}

/* What is put is got, and neighbours stay. */
TEST(storage)
{
	for (int t = 0; t < D_COUNT; t++) {
		DType d = (DType)t;
		unsigned char buf[64];
		double want[8];
		uint64_t seed = 9;
		/* what the type holds, up to 8 numbers */
		bool small = dtype_info[d].bits < 8 && !dtype_is_float(d);
		int64_t lo = small ? num_min(d) : 0;
		int64_t n = small ? num_max(d) - lo + 1 : d == D_bool ? 2
		                                                      : 8;

		memset(buf, 0xff, sizeof buf);
		ck_assert_uint_eq(num_bytes(d, 7), ((size_t)dtype_info[d].bits * 7 + 7) / 8);
		for (int i = 6; i >= 0; i--) {
			want[i] = (double)(lo + (int64_t)(run_random(&seed) % (uint64_t)n));
			if (dtype_is_float(d))
				want[i] = num_round(d, want[i]);
			num_put(d, buf, i, want[i]);
		}
		for (int i = 0; i < 7; i++)
			ck_assert(num_get(d, buf, i) == want[i]);
		want[3] = dtype_is_float(d) ? num_largest(d) : (double)(lo + n - 1);
		num_put(d, buf, 3, want[3]);
		for (int i = 0; i < 7; i++)
			ck_assert(num_get(d, buf, i) == want[i]);
		ck_assert_uint_eq(buf[num_bytes(d, 7)], 0xff);
	}
}

/* Byte order is the device's: lowest first. */
TEST(storage_order)
{
	unsigned char buf[8] = { 0 };

	num_put_i(D_u4, buf, 0, 3);
	num_put_i(D_u4, buf, 1, 10);
	ck_assert_uint_eq(buf[0], 0xa3);
	for (int i = 0; i < 8; i++)
		num_put_i(D_u3, buf, i, i);
	ck_assert(buf[0] == 0x88 && buf[1] == 0xc6 && buf[2] == 0xfa); /* 0, 1, 2 ... : octal 76543210 */
	num_put_i(D_i32, buf, 1, 0x01020304);
	ck_assert_uint_eq(buf[4], 4);
	ck_assert_uint_eq(buf[7], 1);
	num_put_f(D_f16, buf, 0, 1);
	ck_assert_uint_eq(buf[0], 0);
	ck_assert_uint_eq(buf[1], 0x3c);
}

TEST_PROGRAM(.timeout = 60);
