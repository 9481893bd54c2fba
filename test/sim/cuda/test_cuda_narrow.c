/* test_cuda_narrow.c - tests CUDA kernels on f16, bf16, fp8 and small integers. */
#include <fenv.h>
#include "test/sim/cuda/cuda.h"

enum { N = 64 };

/* Round once: all of these are exact in double but the quotient, the root and the functions, whose double
 * is never so near to the middle of two f16 that its own rounding counts. */
static double
rounded(double v, bool bf)
{
	return bf ? value_bf16(nearest_bf16(v)) : value_f16(nearest_f16(v));
}

static void
judge_arithmetic(Run *r, bool bf)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), y = before(r, 1, i), v[15] = {
			x + y, x - y, x * y, fma(x, y, x), fmax(x, y), fmin(x, y), fabs(x), -y, x / y,
			x > y ? x : y, floor(x), nearbyint(y), fmin(fmax(x + y, 0), 1),
			fmin(fmax(fma(x, y, y), 0), 1), sqrt(fabs(x)),
		};
		/* the quotient and the root pass through f32, and may be one unit off */
		for (unsigned k = 0; k < 15; k++)
			near(r, 2, k * N + i, rounded(v[k], bf),
			     k == 8 || k == 14 ? ulp(v[k], bf ? 8 : 11) : 0x1p-30);
	}
}
static void half_arithmetic(Run *r) { judge_arithmetic(r, false); }
static void bfloat_arithmetic(Run *r) { judge_arithmetic(r, true); }

static void
half_pairs(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		uint32_t less = 0;
		double x[2], y[2], want[7][2];
		for (unsigned k = 0; k < 2; k++) {
			x[k] = before(r, 0, 2 * i + k);
			y[k] = before(r, 1, 2 * i + k);
			less |= x[k] < y[k] ? 0xffffu << 16 * k : 0;
		}
		for (unsigned k = 0; k < 2; k++) {
			want[0][k] = x[k] + y[k];
			want[1][k] = x[k] * y[0];
			want[2][k] = fma(x[k], y[k], y[1 - k]);
			want[3][k] = fmax(x[k], -y[k]);
			want[4][k] = k ? y[0] : x[1];
			want[5][k] = fabs(x[k]) - 0.5;
			want[6][k] = k ? (double)((float)y[1] / 3.0f) : x[0] * 3;
		}
		for (unsigned op = 0; op < 7; op++)
			for (unsigned k = 0; k < 2; k++)
				near(r, 2, 2 * (op * N + i) + k, rounded(want[op][k], false), 0x1p-30);
		same(r, 3, i, less ^ 0xffffffffu);
		same(r, 3, N + i, (x[0] > y[0] && x[1] > y[1]) * 2 + 1);
	}
}

/* Two units of the last place of f16, and 2^-10 around zeros of sin and cos: the header computes by
 * approximations of f32 and rounds. */
static void
half_functions(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), m = fabs(x);
		double v[8] = { exp(x), exp2(x), log(m), log2(m), sin(x), cos(x), 1 / x, 1 / sqrt(m) };
		for (unsigned k = 0; k < 8; k++)
			near(r, 1, k * N + i, v[k],
			     2 * ulp(v[k], 11) + (k == 4 || k == 5 ? 0x1p-10 : 0x1p-24));
	}
}

/* Rounding to p bits in a direction, for what is in range. */
static double
directed(double v, int p, int low, unsigned mode)
{
	int e;
	double s;

	if (v == 0)
		return v;
	frexp(v, &e);
	s = ldexp(1, e - p < low ? low : e - p);
	v /= s;
	return s * (mode == 0 ? nearbyint(v) : mode == 1 ? trunc(v) : mode == 2 ? ceil(v) : floor(v));
}

static void
conversions(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), h = value_f16(nearest_f16(x));
		for (unsigned m = 0; m < 4; m++) {
			near(r, 1, m * N + i, directed(x, 11, -24, m), 0x1p-40);
			near(r, 2, m * N + i, directed(x, 8, -133, m), 0x1p-140);
		}
		near(r, 1, 4 * N + i, value_f16(nearest_f16(x * 1.0000001)), 0x1p-40);
		near(r, 1, 5 * N + i, value_f16(nearest_f16((double)(int)((float)x * 100))), 0x1p-40);
		same(r, 3, i, (int64_t)nearbyint(h));
		same(r, 3, N + i, (int64_t)h);
		same(r, 3, 2 * N + i, (int64_t)floor(h));
		same(r, 3, 3 * N + i, h < 0 ? 0 : (int64_t)ceil(h));
		near(r, 4, i, h, 0x1p-40);
		near(r, 4, N + i, value_bf16(nearest_bf16(x)), 0x1p-140);
	}
}

static void
half_atomics(Run *r)
{
	double sum = 0;

	for (unsigned i = 0; i < r->a[0].n; i++)
		sum += before(r, 0, i);
	near(r, 1, 0, sum, 0x1p-40);
	near(r, 2, 0, sum, 0x1p-40);
	near(r, 2, 1, -sum, 0x1p-40);
	near(r, 3, 0, sum, 0x1p-40);
}

static void
small_wholes(Run *r)
{
	for (unsigned i = 0; i < r->a[0].n; i++)
		put(r, 0, i, (double)(mix(i) % 5) - 2);
}

/* The value of a pattern of fp8; E4M3 has no infinity, and its NaN is all ones. */
static double
fp8_value(unsigned b, bool e5)
{
	int m = e5 ? 2 : 3, bias = e5 ? 15 : 7;
	int e = (int)(b >> m) & (e5 ? 31 : 15), f = (int)b & ((1 << m) - 1);
	double v = e ? ldexp((1 << m) + f, e - bias - m) : ldexp(f, 1 - bias - m);

	if (e5 ? e == 31 : (b & 127) == 127)
		v = e5 && f == 0 ? (double)INFINITY : (double)NAN;
	return b & 128 ? -v : v;
}

/* The nearest pattern, even for ties, found by looking at all; too large ones saturate, or become Inf. */
static unsigned
fp8_of(double v, bool e5, bool saturate)
{
	unsigned best = 0, top = e5 ? 0x7b : 0x7e;
	double err = (double)INFINITY;

	for (unsigned b = 0; b <= top; b++) {
		double e = fabs(fabs(v) - fp8_value(b, e5));
		if (e < err || (e == err && !(b & 1))) {
			err = e;
			best = b;
		}
	}
	if (!saturate && fabs(v) >= fp8_value(top, e5) * (1 + 0x1p-3 * (1 / 1.75)))
		best = top + 1;
	return best | (signbit(v) ? 128 : 0);
}

static void
spread(Run *r)
{
	for (unsigned i = 0; i < N; i++)
		put(r, 0, i, ldexp(before(r, 0, i), (int)(mix(i) % 34) - 17));
}

static void
fp8_from_float(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), h = value_f16(nearest_f16(x)), q = value_f16(nearest_f16(x / 4));
		same(r, 1, i, fp8_of(x, false, true));
		same(r, 1, N + i, fp8_of(x, true, true));
		same(r, 1, 2 * N + i, fp8_of(x, true, false));
		same(r, 1, 3 * N + i, fp8_of(x, false, true));
		same(r, 2, i, fp8_of(x, false, true) | fp8_of(-2 * x, false, true) << 8);
		same(r, 2, N + i, fp8_of(h, true, true) | fp8_of(q, true, true) << 8);
	}
}

static void
all_bytes(Run *r)
{
	for (unsigned i = 0; i < 256; i++)
		put(r, 0, i, i);
}

static void
fp8_to_float(Run *r)
{
	for (unsigned i = 0; i < 256; i++) {
		near(r, 1, i, fp8_value(i, false), 0);
		near(r, 1, 256 + i, fp8_value(i, true), 0);
		near(r, 2, 2 * i, fp8_value(i, false), 0);
		near(r, 2, 2 * i + 1, fp8_value((i + 77) % 256, false), 0);
	}
}

static void
no_nan(Run *r)
{
	for (unsigned a = 0; a < 2; a++)
		for (unsigned i = 0; i < r->a[a].n; i++)
			r->a[a].in.b[i] &= 0xbf;        /* below 2 */
}

static void
fp8_dot(Run *r)
{
	enum { K = 64 };

	for (unsigned i = 0; i < 32; i++) {
		double sum = 0, mag = 0;
		for (unsigned k = 0; k < K; k++) {
			double v = fp8_value(r->a[0].in.b[i * K + k], false);
			v *= fp8_value(r->a[1].in.b[k], false);
			sum += v;
			mag += fabs(v);
		}
		near(r, 2, i, sum, K * mag * 0x1p-24);
	}
}

static void
int8_dot(Run *r)
{
	enum { K = 64 };

	for (unsigned i = 0; i < 64; i++) {
		int sum = 0;
		for (unsigned k = 0; k < K; k++)
			sum += (int8_t)r->a[0].in.b[i * K + k] * (int8_t)r->a[1].in.b[k];
		same(r, 2, i, sum);
	}
}

static void
int4_unpack(Run *r)
{
	for (unsigned i = 0; i < 32; i++)
		for (unsigned k = 0; k < 8; k++)
			near(r, 1, i * 8 + k,
			     (double)(r->a[0].in.u[i] >> (k / 2 * 4 + k % 2 * 16) & 15) - 8, 0x1p-30);
}

static const Case cases[] = {
	K1(half_arithmetic, 75, 1, N, "<h64:-9,9 <h64:-4,4 >h960 =i64"),
	K1(bfloat_arithmetic, 80, 1, N, "<g64:-9,9 <g64:-4,4 >g960 =i64"),
	K1(half_pairs, 75, 1, N, "<h128:-9,9 <h128:-4,4 >h896 >u128 =i64"),
	K1(half_functions, 75, 1, N, "<h64:-6,6 >h512 =i64"),
	K1(conversions, 75, 1, N, "<f64:-300,300 >h384 >g256 >i256 >f128 =i64"),
	KX(half_atomics, 75, 1, N, "<h64 +h1:0 +h2:0 +g1:0", small_wholes, 0, 0),
	KX(fp8_from_float, 75, 1, N, "<f64 >b256 >w128 =i64", spread, 0, 0),
	KX(fp8_to_float, 75, 4, N, "<b256 >f512 >h512", all_bytes, 0, 0),
	KX(fp8_dot, 75, 1, 32, "<b2048 <b64 >f32 =i64", no_nan, 0, 0),
	K1(int8_dot, 75, 1, 64, "<b4096 <b64 >i64 =i64"),
	K1(int4_unpack, 75, 1, 32, "<u32 >h256"),
};

/* Not -G: there atomicCAS is a function of its own, and the load before a loop of it a race to the
 * simulator. */
static const Variant variants[] = { { 80, "-lineinfo" }, { 90, "--use_fast_math" } };

CUDA_PROGRAM("narrow.cu", 75);
