/* test_math.c - tests the CUDA math library against long double, rounding against the host's rounding modes,
 * integers against the host's integers. */
#include <fenv.h>
#include <limits.h>
#include "test/sim/cuda/cuda.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

typedef struct Function {
	const char *name;
	double low, high;
	int ulps64, ulps32;
	long double (*value)(long double);
} Function;

/* sin(pi * x), for x exact: the sine of a small angle. */
static long double
sin_pi(long double x)
{
	const long double pi = 3.14159265358979323846264338328L;
	long double r = remainderl(x, 2);

	if (fabsl(r) > 0.5L)
		r = copysignl(1, r) - r;
	return fabsl(r) <= 0.25L ? sinl(pi * r) : copysignl(cosl(pi * (0.5L - fabsl(r))), r);
}

#define M(name, low, high, u64, u32, value) \
	static long double value_##name(long double x) { return value; }
#include "test/sim/cuda/math.def"
#undef M
static const Function function[] = {
#define M(name, low, high, u64, u32, value) { #name, low, high, u64, u32, value_##name },
#include "test/sim/cuda/math.def"
#undef M
};
enum { FUNCTIONS = sizeof function / sizeof *function, N = 64 };

static const double special[] = {
	0.0, -0.0, 1, -1, 0.5, 2, 3, (double)INFINITY, -(double)INFINITY, (double)NAN, 0x1p-120, 0x1.8p100,
};
enum { SPECIAL = sizeof special / sizeof *special };

static void
arguments(Run *r)
{
	for (unsigned f = 0; f < FUNCTIONS; f++)
		for (unsigned i = 0; i < N; i++) {
			double low = function[f].low, high = function[f].high;
			double u = mix(f * N + i) / 4294967296.0;
			if (r->a[0].type == 'f' && high > 80 && high < 1000)    /* stay inside of f32 */
				low *= 0.03, high *= 0.03;
			put(r, 0, f * N + i, i < SPECIAL ? special[i] : low + u * (high - low));
		}
}

static void
judge_functions(Run *r, int p)
{
	for (unsigned f = 0; f < FUNCTIONS; f++)
		for (unsigned i = 0; i < N; i++) {
			double x = before(r, 0, f * N + i);
			long double exact = function[f].value((long double)x);
			double want = p == 24 ? (double)(float)exact : (double)exact;
			double tol = (p == 24 ? function[f].ulps32 : function[f].ulps64) * ulp(want, p);
			near(r, 1, f * N + i, want, tol);
		}
}
static void math_f64(Run *r) { judge_functions(r, 53); }
static void math_f32(Run *r) { judge_functions(r, 24); }

static void
math_two(Run *r)
{
	/* the tables of the Programming Guide again: pow, atan2, hypot; the others are exact */
	static const int ulps[2][3] = { { 2, 2, 2 }, { 8, 3, 3 } };

	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < N; i++) {
			double a = before(r, 0, i), b = before(r, 1, i);
			volatile float fa = (float)a, fb = (float)b, big = fa * 1e6f;
			long double la = (long double)a, lb = (long double)b, v[10];
			if (t == 1)
				la = (long double)fa, lb = (long double)fb;
			v[0] = powl(fabsl(la), lb);
			v[1] = atan2l(la, lb);
			v[2] = hypotl(la, lb);
			v[3] = t ? (long double)fmodf(big, fb) : (long double)fmod(a * 1e6, b);
			v[4] = t ? (long double)remainderf(big, fb) : (long double)remainder(a * 1e6, b);
			v[5] = fdiml(la, lb);
			v[6] = t ? (long double)nextafterf(fa, fb) : (long double)nextafter(a, b);
			v[7] = copysignl(la, lb);
			v[8] = t ? (long double)ldexpf(fa, (int)(fb * 40))
			         : (long double)ldexp(a, (int)(b * 300));
			v[9] = t ? (long double)fmaf(fa, fb, -fa) : (long double)fma(a, b, -a);
			for (unsigned k = 0; k < 10; k++) {
				double want = t ? (double)(float)v[k] : (double)v[k];
				near(r, 2 + t, k * N + i, want,
				     k < 3 ? ulps[t][k] * ulp(want, t ? 24 : 53) : 0);
			}
		}
}

static void
math_parts(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), whole;
		double s = (double)sinl((long double)x), c = (double)cosl((long double)x);
		int e, q;
		near(r, 1, i, frexp(x, &e), 0);
		near(r, 1, N + i, modf(x, &whole), 0);
		near(r, 1, 2 * N + i, whole, 0);
		near(r, 1, 3 * N + i, remquo(x, 3.7, &q), 0);
		near(r, 1, 4 * N + i, s, 2 * ulp(s, 53));
		near(r, 1, 5 * N + i, c, 2 * ulp(c, 53));
		same(r, 2, i, e);
		same(r, 2, N + i, q & 7);
		same(r, 2, 2 * N + i, ilogb(x));
		same(r, 2, 3 * N + i, llrint(x));
		same(r, 2, 4 * N + i, 1 | (signbit(x) ? 4 : 0));
	}
}

/* Bounds for intrinsics: the Programming Guide's second table, plus the rounding of the reference. */
static void
math_intrinsics(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		double x = before(r, 0, i), m = fabs(x), v[11], tol[11];
		v[0] = exp(x);
		tol[0] = (2 + floor(1.173 * m)) * ulp(v[0], 24);
		v[1] = pow(10, x);
		tol[1] = (2 + floor(2.97 * m)) * ulp(v[1], 24);
		v[2] = log(m);
		tol[2] = m > 0.5 && m < 2 ? 0x1p-21 : 3 * ulp(v[2], 24);
		v[3] = log2(m);
		tol[3] = m > 0.5 && m < 2 ? 0x1p-21 : 2 * ulp(v[3], 24);
		v[4] = sin(x);
		v[5] = cos(x);
		tol[4] = tol[5] = 0x1p-21;      /* for |x| <= pi, as all of them are */
		v[6] = 1.5 / x;
		tol[6] = 2 * ulp(v[6], 24);
		v[7] = pow(m, 1.25);            /* exp2(1.25 * log2(m)): the exponent errs by 2 ulps of it */
		tol[7] = v[7] * (1.25 * tol[3] + 2 * ulp(1.25 * v[3], 24)) + 2 * ulp(v[7], 24);
		v[8] = fmin(fmax(x, 0), 1);
		tol[8] = 0;
		v[9] = (double)(float)(1 / x);
		tol[9] = 0;
		v[10] = (double)(float)(1 / sqrt(m));
		tol[10] = 0;
		for (unsigned k = 0; k < 11; k++)
			near(r, 1, k * N + i, v[k], tol[k] + (k < 8 ? ulp(v[k], 24) / 2 : 0));
	}
}

static const int mode[4] = { FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD };

static void
spread(Run *r)          /* arguments of very different sizes */
{
	for (unsigned a = 0; a < 3; a++)
		for (unsigned i = 0; i < N; i++)
			put(r, a, i, ldexp(before(r, a, i), (int)(mix(i + a * N) % (i % 2 ? 8 : 40)) - 20));
}

static void
rounding_f32(Run *r)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned m = 0; m < 4; m++) {
			volatile float a = r->a[0].in.f[i], b = r->a[1].in.f[i], c = r->a[2].in.f[i], v[7];
			fesetround(mode[m]);
			v[0] = a + b;
			v[1] = a - b;
			v[2] = a * b;
			v[3] = a / b;
			v[4] = fmaf(a, b, c);
			v[5] = sqrtf(fabsf(a));
			v[6] = 1 / a;
			fesetround(FE_TONEAREST);
			for (unsigned k = 0; k < 7; k++)
				near(r, 3, (4 * k + m) * N + i, (double)v[k], 0);
		}
}

static void
rounding_f64(Run *r)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned m = 0; m < 4; m++) {
			volatile double a = r->a[0].in.d[i], b = r->a[1].in.d[i], c = r->a[2].in.d[i], v[7];
			fesetround(mode[m]);
			v[0] = a + b;
			v[1] = a - b;
			v[2] = a * b;
			v[3] = a / b;
			v[4] = fma(a, b, c);
			v[5] = sqrt(fabs(a));
			v[6] = 1 / a;
			fesetround(FE_TONEAREST);
			for (unsigned k = 0; k < 7; k++)
				near(r, 3, (4 * k + m) * N + i, v[k], 0);
		}
}

static const double edge[] = {
	0.5, -0.5, 1.5, 2.5, -2.5, 0.999999999, 2147483647.5, 2147483648.0, -2147483648.5, -2147483649.0,
	4294967295.5, 4294967296.0, 9.3e18, -9.3e18, 1.9e19, 1e300, -1e300, (double)INFINITY,
	-(double)INFINITY, 0x1p-1000, -0.0, 9007199254740993.0, -7.0,
};

static void
edges(Run *r)
{
	for (unsigned i = 0; i < sizeof edge / sizeof *edge; i++)
		put(r, 0, i, edge[i]);
}

static double
whole(double x, unsigned m)
{
	return m == 0 ? nearbyint(x) : m == 1 ? trunc(x) : m == 2 ? ceil(x) : floor(x);
}

/* Out of range saturates (PTX ISA, cvt). */
static void
to_integers(Run *r)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned t = 0; t < 2; t++)
			for (unsigned m = 0; m < 4; m++) {
				double x = before(r, 0, i), v = whole(t ? (double)(float)x : x, m);
				size_t at = (4 * t + m) * N + i;
				same(r, 1, at, v < -0x1p31 ? INT_MIN : v >= 0x1p31 ? INT_MAX : (int64_t)v);
				same(r, 2, at, v < 0 ? 0 : v >= 0x1p32 ? UINT_MAX : (int64_t)v);
				same(r, 3, at,
				     v < -0x1p63 ? INT64_MIN : v >= 0x1p63 ? INT64_MAX : (int64_t)v);
				same(r, 4, at, v < 0 ? 0 : v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v);
			}
}

static void
finite(Run *r)          /* as doubles in range of f32, they are converted too */
{
	for (unsigned i = 0; i < N; i++)
		if (i % 2)
			r->a[0].in.l[i] >>= mix(i) % 63;
		else
			r->a[0].in.q[i] = (r->a[0].in.q[i] & 0x800fffffffffffffu) |
			                  (uint64_t)(900 + mix(i) % 250) << 52;
}

static void
from_integers(Run *r)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned m = 0; m < 4; m++) {
			volatile int64_t v = r->a[0].in.l[i];
			volatile uint64_t u = (uint64_t)v;
			volatile double d, dv[2];
			volatile float f[5];
			memcpy((void *)(uintptr_t)&d, (const void *)(uintptr_t)&v, 8);
			fesetround(mode[m]);
			f[0] = (float)(int32_t)v;
			f[1] = (float)(uint32_t)v;
			f[2] = (float)v;
			f[3] = (float)u;
			f[4] = (float)d;
			dv[0] = (double)v;
			dv[1] = (double)u;
			fesetround(FE_TONEAREST);
			for (unsigned k = 0; k < 5; k++)
				near(r, 1, (4 * k + m) * N + i, (double)f[k], 0);
			for (unsigned k = 0; k < 2; k++)
				near(r, 2, (4 * k + m) * N + i, dv[k], 0);
		}
}

static void
narrowed(Run *r)        /* quotients of all sizes */
{
	for (unsigned i = 0; i < r->a[1].n; i++)
		r->a[1].in.l[i] >>= mix(i) % 64;
}

static void
wide_integers(Run *r)
{
	size_t n = r->a[0].n;

	for (size_t i = 0; i < n; i++) {
		int64_t x = r->a[0].in.l[i], y = r->a[1].in.l[i] ? r->a[1].in.l[i] : 1;
		uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
		wide w = (wide)x * y + x;
		same(r, 2, i, x / y);
		same(r, 2, n + i, x % y);
		same(r, 2, 2 * n + i, (int64_t)(ux / uy));
		same(r, 2, 3 * n + i, (int64_t)(ux % uy));
		same(r, 2, 4 * n + i, (int64_t)((wide)x * y >> 64));
		same(r, 2, 5 * n + i, (int64_t)((uwide)ux * uy >> 64));
		same(r, 2, 6 * n + i, (int64_t)(w >> 64));
		same(r, 2, 7 * n + i, (int64_t)(w / 1000000007));
		same(r, 2, 8 * n + i, (int64_t)((uwide)w % uy));
		same(r, 2, 9 * n + i, x >> (y & 63));
		same(r, 2, 10 * n + i, (int64_t)(ux << (y & 63)));
		same(r, 2, 11 * n + i,
		     (int64_t)((x < 0 ? -ux : ux) + (uint64_t)(x < y ? x : y) + (ux > uy ? ux : uy)));
		same(r, 2, 12 * n + i, (int32_t)x / ((int32_t)y | 1));
		same(r, 2, 13 * n + i, (uint32_t)x % ((uint32_t)y | 1));
		same(r, 2, 14 * n + i, (int16_t)x / (int8_t)(y | 1));
	}
}

static uint32_t
reverse(uint64_t v, unsigned n, unsigned shift)
{
	uint64_t w = 0;

	for (unsigned i = 0; i < n; i++)
		w |= (v >> i & 1) << (n - 1 - i);
	return (uint32_t)(w >> shift);
}

static uint32_t
by_bytes(uint32_t x, uint32_t y, int op)
{
	uint32_t out = 0;

	for (unsigned k = 0; k < 32; k += 8) {
		uint32_t a = x >> k & 255, b = y >> k & 255, v;
		switch (op) {
		case '+': v = a + b; break;
		case '-': v = a > b ? a - b : b - a; break;
		case '<': v = a < b ? a : b; break;
		case '>': v = a > b; break;
		default: v = (a + b + 1) / 2; break;
		}
		out |= (v & 255) << k;
	}
	return out;
}

static uint32_t
dot(uint32_t x, uint32_t y, uint32_t c, bool sign)
{
	for (unsigned k = 0; k < 32; k += 8)
		c += sign ? (uint32_t)((int8_t)(x >> k) * (int8_t)(y >> k)) : (x >> k & 255) * (y >> k & 255);
	return c;
}

/* Bits from `at`, `len` of them; the sign is the field's last bit, or the word's where the field ends
 * beyond. */
static uint32_t
field(uint32_t x, uint32_t at, uint32_t len, bool sign)
{
	uint32_t out = 0, last = at + len - 1 > 31 ? 31 : at + len - 1;

	for (uint32_t i = 0; i < 32; i++) {
		uint32_t from = i < len && at + i <= 31 ? at + i : last;
		bool in = i < len && at + i <= 31;
		if (len && (in || sign))
			out |= (x >> from & 1) << i;
	}
	return out;
}

static uint32_t
min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void
bits(Run *r)
{
	for (unsigned i = 0; i < N; i++) {
		uint32_t x = r->a[0].in.u[i], y = r->a[1].in.u[i], perm = 0, mask = 0, s = i & 31, half = 0;
		uint64_t w = (uint64_t)x << 32 | y, yx = (uint64_t)y << 32 | x, lo = w >> (y & 63);
		int32_t ix = (int32_t)x, iy = (int32_t)y;
		for (unsigned k = 0; k < 4; k++)
			perm |= (uint32_t)(yx >> (i * 0x1357 >> 4 * k & 7) * 8 & 255) << 8 * k;
		for (unsigned k = 0; k < 32; k += 16)
			half |= ((int16_t)(x >> k) > (int16_t)(y >> k) ? x : y) & 0xffffu << k;
		for (unsigned k = 0; k < (y & 31) && (x & 31) + k < 32; k++)
			mask |= 1u << ((x & 31) + k);
		const uint32_t want[27] = {
			reverse(x, 32, 0), reverse(w, 64, 7),
			(uint32_t)(__builtin_ffs(ix) * 100 + __builtin_ffsll((int64_t)w)),
			(uint32_t)((x ? __builtin_clz(x) : 32) * 100 + (lo ? __builtin_clzll(lo) : 64)),
			(uint32_t)(__builtin_popcount(x) * 100 + __builtin_popcountll(w)), perm,
			(uint32_t)(yx << s >> 32), (uint32_t)(yx >> s),
			min32(i, 32) == 32 ? x : (uint32_t)(yx << i >> 32), (uint32_t)(yx >> min32(i, 32)),
			(uint32_t)((uint64_t)x * y >> 32) ^ (uint32_t)((int64_t)ix * iy >> 32),
			(x & 0xffffff) * (y & 0xffffff) +
				(uint32_t)(((int32_t)(x << 8) >> 8) * (int64_t)((int32_t)(y << 8) >> 8)),
			(x > y ? x - y : y - x) + 5 + (ix > iy ? x - y : y - x) + 7,
			(uint32_t)(((int64_t)ix + iy) >> 1),
			(uint32_t)(((uint64_t)x + y) >> 1) ^ (uint32_t)(((uint64_t)x + y + 1) >> 1),
			by_bytes(x, y, '+'), by_bytes(x, y, '-'), half ^ by_bytes(x, y, '<'),
			dot(x, y, 11, true), dot(x, y, 13, false),
			(3 + (uint32_t)((int16_t)x * (int8_t)y) +
			 (uint32_t)((int16_t)(x >> 16) * (int8_t)(y >> 8))) ^
			(4 + (x & 0xffff) * (y >> 16 & 255) + (x >> 16) * (y >> 24)),
			by_bytes(x, y, '>') + by_bytes(x, y, 'v'),
			field(x, y & 31, y >> 5 & 31, false) ^ field(x, y & 31, y >> 5 & 31, true) << 1,
			(y & ~mask) | (x << (x & 31) & mask), x ^ y ^ x >> 3, (x & y) | (~x & (y >> 1)),
			(uint32_t)(w >> (x & 63)) + x,
		};
		for (unsigned k = 0; k < 27; k++)
			same(r, 2, k * N + i, want[k]);
	}
}

#define FN2(name, grid_y, args, prepare) \
	{ #name, 75, { 1, grid_y, 1 }, { N, 1, 1 }, args, name, prepare, 0, 0 }
static const Case cases[] = {
	FN2(math_f64, FUNCTIONS, "<d2368 >d2368 =i64", arguments),
	FN2(math_f32, FUNCTIONS, "<f2368 >f2368 =i64", arguments),
	K1(math_two, 75, 1, N, "<d64:-9,9 <d64:-3,3 >d640 >f640 =i64"),
	K1(math_parts, 75, 1, N, "<d64:-1000,1000 >d384 >i320 =i64"),
	K1(math_intrinsics, 75, 1, N, "<f64:-3.1,3.1 >f704 =i64"),
	KX(rounding_f32, 75, 1, N, "<f64 <f64 <f64 >f1792 =i64", spread, 0, 0),
	KX(rounding_f64, 75, 1, N, "<d64 <d64 <d64 >d1792 =i64", spread, 0, 0),
	KX(to_integers, 75, 1, N, "<d64:-3e9,6e9 >i512 >u512 >l512 >q512 =i64", edges, 0, 0),
	KX(from_integers, 75, 1, N, "<l64 >f1280 >d512 =i64", finite, 0, 0),
	KX(wide_integers, 75, 3, 128, "<l300 <l300 >l4500 =i300", narrowed, 0, 0),
	K1(bits, 75, 1, N, "<u64 <u64 >u1728 =i64"),
};

static const Variant variants[] = { { 80, "-G" }, { 89, "-Xcicc -O1" } };

CUDA_PROGRAM("math.cu", 75);
