/* test_num.c - tests floats: conversions of f16, bf16, tf32 and the 8-bit formats at every value and every
 * boundary, arithmetic in every rounding, against tables and the host's own arithmetic.
 *
 * Reference for a format: the sorted table of all its magnitudes, as doubles; rounding is a search in it. */
#include <fenv.h>
#include <math.h>
#include "test/check.h"
#include "test/sim/bits.h"
#include "test/sim/exec/eval.h"
#include "test/sim/random.h"

typedef struct Format { int exp, man, bias, n; double *mag; } Format;

/* Codes 0 .. n-1 are finite magnitudes in rising order. */
static Format
format(int exp, int man, int n)
{
	Format f = { exp, man, (1 << (exp - 1)) - 1, n, malloc((size_t)n * sizeof(double)) };

	for (int c = 0; c < n; c++) {
		int e = c >> man, m = c & ((1 << man) - 1);
		f.mag[c] = e ? ldexp((1 << man) + m, e - f.bias - man) : ldexp(m, 1 - f.bias - man);
	}
	return f;
}

/* Code of |v| rounded; n means beyond the largest (infinity).  up, down: direction for |v|. */
enum { NEAREST, ZERO, DOWN, UP, AWAY };
static uint32_t
round_code(const Format *f, double v, int mode)
{
	double a = fabs(v), top = 2 * f->mag[f->n - 1] - f->mag[f->n - 2];
	int lo = 0, hi = f->n;          /* mag[lo] <= a < mag[hi] */

	while (hi - lo > 1) {
		int mid = (lo + hi) / 2;
		if (f->mag[mid] <= a)
			lo = mid;
		else
			hi = mid;
	}
	if (f->mag[lo] == a)
		return (uint32_t)lo;
	double next = hi < f->n ? f->mag[hi] : top;
	double below = a - f->mag[lo], above = next - a;
	switch (mode) {
	case NEAREST: return (uint32_t)(below < above || (below == above && lo % 2 == 0) ? lo : hi);
	case AWAY: return (uint32_t)(below < above ? lo : hi);
	case ZERO: return (uint32_t)lo;
	case DOWN: return (uint32_t)(signbit(v) ? hi : lo);
	default: return (uint32_t)(signbit(v) ? lo : hi);
	}
}

/* Every magnitude of the format, the middle to the next, and floats just beside both. */
static unsigned
boundaries(const Format *f, Eval **out)
{
	Eval *v = calloc((size_t)f->n * 10 + 20, sizeof *v);
	unsigned n = 0;

	for (int c = 0; c < f->n; c++) {
		double next = c + 1 < f->n ? f->mag[c + 1] : 2 * f->mag[c] - f->mag[c - 1];
		double at[2] = { f->mag[c], (f->mag[c] + next) / 2 };
		for (int k = 0; k < 2; k++) {
			float x = (float)at[k];
			v[n++].a = bits_of(x) | (c % 2 ? 0x80000000u : 0);
			v[n++].a = bits_of(nextafterf(x, INFINITY)) | (c % 3 ? 0x80000000u : 0);
			v[n++].a = bits_of(nextafterf(x, 0)) | (c % 5 ? 0x80000000u : 0);
		}
	}
	v[n++].a = 0x7f800000;
	v[n++].a = 0xff800000;
	v[n++].a = 0x7f7fffff;
	v[n++].a = 0x00000001;
	*out = v;
	return n;
}

TEST_EACH(from_f32, 10)
{
	static const struct { const char *ptx; char kind; int fmt, mode; } t[] = {
		{ "cvt.rn.f16.f32 %ho, %ra;", 'h', 0, NEAREST }, { "cvt.rz.f16.f32 %ho, %ra;", 'h', 0, ZERO },
		{ "cvt.rm.f16.f32 %ho, %ra;", 'h', 0, DOWN }, { "cvt.rp.f16.f32 %ho, %ra;", 'h', 0, UP },
		{ "cvt.rn.bf16.f32 %ho, %ra;", 'h', 1, NEAREST },
		        { "cvt.rz.bf16.f32 %ho, %ra;", 'h', 1, ZERO },
		{ "cvt.rna.tf32.f32 %ro, %ra;", 'r', 2, AWAY },
		        { "cvt.rn.tf32.f32 %ro, %ra;", 'r', 2, NEAREST },
		{ "cvt.rn.satfinite.e4m3x2.f32 %ho, 0f00000000, %ra;", 'h', 3, NEAREST },
		{ "cvt.rn.satfinite.e5m2x2.f32 %ho, 0f00000000, %ra;", 'h', 4, NEAREST },
	};
	Format f = t[_i].fmt == 0 ? format(5, 10, 0x7c00) : t[_i].fmt == 1 ? format(8, 7, 0x7f80)
	         : t[_i].fmt == 2 ? format(8, 10, 0x3fc00) : t[_i].fmt == 3 ? format(4, 3, 0x7f)
	                                                             : format(5, 2, 0x7c);
	int total = 1 + f.exp + f.man, shift = t[_i].fmt == 2 ? 13 : 0, sat = t[_i].fmt >= 3;
	Eval *v;
	unsigned n = boundaries(&f, &v);

	eval(t[_i].ptx, t[_i].kind, v, n);
	for (unsigned i = 0; i < n; i++) {
		double x = (double)f32_of(v[i].a);
		uint32_t code = isinf(x) ? (uint32_t)f.n : round_code(&f, x, t[_i].mode);
		if (sat && code >= (uint32_t)f.n)
			code = (uint32_t)f.n - 1;
		code |= (signbit(x) ? 1u : 0u) << (total - 1);
		ck_assert_msg(v[i].out == (uint64_t)code << shift, "%s: %a gives %llx, not %x", t[_i].ptx, x,
		              (unsigned long long)v[i].out, code << shift);
	}
	free(v);
	free(f.mag);
}

TEST_EACH(to_f32, 4)
{
	static const struct { const char *ptx; char kind; int fmt; } t[] = {
		{ "cvt.f32.f16 %ro, %ha;", 'r', 0 }, { "cvt.f32.bf16 %ro, %ha;", 'r', 1 },
		{ "cvt.rn.f16x2.e4m3x2 %t0, %ha;\nmov.b32 {%v0, %v1}, %t0;\ncvt.f32.f16 %ro, %v0;", 'r', 3 },
		{ "cvt.rn.f16x2.e5m2x2 %t0, %ha;\nmov.b32 {%v0, %v1}, %t0;\ncvt.f32.f16 %ro, %v0;", 'r', 4 },
	};
	int k = t[_i].fmt;
	Format f = k == 0 ? format(5, 10, 0x7c00) : k == 1 ? format(8, 7, 0x7f80)
	                                    : k == 3 ? format(4, 3, 0x7f)
	                                             : format(5, 2, 0x7c);
	int sign = f.exp + f.man;
	unsigned n = 1u << (sign + 1);
	Eval *v = calloc(n, sizeof *v);

	for (unsigned i = 0; i < n; i++)
		v[i].a = i;
	eval(t[_i].ptx, t[_i].kind, v, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned c = i & ((1u << sign) - 1);
		float got = f32_of(v[i].out), want;
		if (c < (unsigned)f.n) {
			want = (float)f.mag[c];
			want = i >> sign ? -want : want;
			ck_assert_msg(bits_of(got) == bits_of(want), "%s: %x", t[_i].ptx, i);
		} else if (c == (unsigned)f.n && k != 3) {
			ck_assert(isinf(got) && (signbit(got) != 0) == (i >> sign != 0));
		} else {
			ck_assert(isnan(got));
		}
	}
	free(v);
	free(f.mag);
}

static uint64_t state = 88172645463325252ull;
static uint64_t
rnd(void)
{
	return xorshift(&state);
}

/* Operands that cancel, overflow, underflow and tie often. */
static uint64_t
float_bits(int exp, int man)
{
	uint64_t s = rnd() & 1, e, m = rnd() & ((1ull << man) - 1);
	uint64_t mid = (1ull << (exp - 1)) - 1, top = (1ull << exp) - 1;

	switch (rnd() % 8) {
	case 0: e = 0; break;
	case 1: e = top - 1; break;
	case 2: e = rnd() % top; break;
	case 3: e = top; m &= rnd() % 3 ? 0 : m; break;
	default: e = mid - 3 + rnd() % 7; break;
	}
	if (rnd() % 3 == 0)
		m &= ~((1ull << (man / 2)) - 1);
	return s << (exp + man) | e << man | m;
}

static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
static const char *const rnds[] = { "rn", "rz", "rm", "rp" };

TEST_EACH(f32_arith, 28)
{
	static const char *const ops[] = { "add", "sub", "mul", "div", "sqrt", "rcp", "fma" };
	int op = _i / 4, mode = _i % 4;
	enum { N = 20000 };
	static Eval v[N];
	char text[100];

	for (int i = 0; i < N; i++) {
		v[i].a = float_bits(8, 23);
		v[i].b = rnd() % 8 ? float_bits(8, 23) : v[i].a ^ 0x80000000u;
		v[i].c = float_bits(8, 23);
	}
	snprintf(text, sizeof text, "%s.%s.f32 %%ro, %%ra%s%s;", ops[op], rnds[mode],
	         op == 4 || op == 5 ? "" : ", %rb", op == 6 ? ", %rc" : "");
	eval(text, 'r', v, N);
	for (int i = 0; i < N; i++) {
		volatile float a = f32_of(v[i].a), b = f32_of(v[i].b), c = f32_of(v[i].c), r;
		float got = f32_of(v[i].out);
		fesetround(modes[mode]);
		switch (op) {
		case 0: r = a + b; break;
		case 1: r = a - b; break;
		case 2: r = a * b; break;
		case 3: r = a / b; break;
		case 4: r = sqrtf(a); break;
		case 5: r = 1.0f / a; break;
		default: r = fmaf(a, b, c); break;
		}
		fesetround(FE_TONEAREST);
		if (isnan(r))
			ck_assert_uint_eq(v[i].out, 0x7fffffff);
		else
			ck_assert_msg(bits_of(got) == bits_of(r), "%s: %a %a %a: %a, not %a", text, (double)a,
			              (double)b,
			              (double)c, (double)got, (double)r);
	}
}

TEST_EACH(f64_arith, 16)
{
	static const char *const ops[] = { "add", "mul", "div", "fma" };
	int op = _i / 4, mode = _i % 4;
	enum { N = 5000 };
	static Eval v[N];
	char text[100];

	for (int i = 0; i < N; i++) {
		v[i].a = float_bits(11, 52);
		v[i].b = float_bits(11, 52);
		v[i].c = float_bits(11, 52);
	}
	snprintf(text, sizeof text, "%s.%s.f64 %%do, %%da, %%db%s;", ops[op], rnds[mode],
	         op == 3 ? ", %dc" : "");
	eval(text, 'd', v, N);
	for (int i = 0; i < N; i++) {
		volatile double a, b, c, r;
		double x[3], want;
		uint64_t w;
		memcpy(&x[0], &v[i].a, 8);
		memcpy(&x[1], &v[i].b, 8);
		memcpy(&x[2], &v[i].c, 8);
		a = x[0];
		b = x[1];
		c = x[2];
		fesetround(modes[mode]);
		r = op == 0 ? a + b : op == 1 ? a * b : op == 2 ? a / b : fma(a, b, c);
		fesetround(FE_TONEAREST);
		want = r;
		memcpy(&w, &want, 8);
		if (isnan(want)) {
			memcpy(&want, &v[i].out, 8);
			ck_assert(isnan(want));
		} else {
			ck_assert_uint_eq(v[i].out, w);
		}
	}
}

/* f16 and bf16: the exact result in long double (64-bit mantissa holds sums and products of
 * operands of moderate exponents), then the table. */
TEST_EACH(half_arith, 8)
{
	static const char *const ops[] = { "add", "sub", "mul", "fma" };
	int op = _i / 2, bf = _i % 2, man = bf ? 7 : 10;
	Format f = bf ? format(8, 7, 0x7f80) : format(5, 10, 0x7c00);
	enum { N = 20000 };
	static Eval v[N];
	char text[100];

	for (int i = 0; i < N; i++) {
		uint64_t s = rnd();
		unsigned e0 = bf ? 120 : 1, span = bf ? 14 : 29;
		for (int k = 0; k < 3; k++) {
			uint64_t x = (s >> k & 1) << 15 | (e0 + rnd() % span) << man |
			             (rnd() & ((1u << man) - 1));
			if (!bf && rnd() % 10 == 0)
				x &= 0x83ff;
			*(k == 0 ? &v[i].a : k == 1 ? &v[i].b : &v[i].c) = x;
		}
	}
	snprintf(text, sizeof text, "%s.rn.%s %%ho, %%ha, %%hb%s;", ops[op], bf ? "bf16" : "f16",
	         op == 3 ? ", %hc" : "");
	eval(text, 'h', v, N);
	for (int i = 0; i < N; i++) {
		long double x[3], r;
		uint64_t c[3] = { v[i].a, v[i].b, v[i].c };
		uint32_t want;
		double d, err;
		for (int k = 0; k < 3; k++) {
			x[k] = f.mag[c[k] & 0x7fff];
			x[k] = c[k] & 0x8000 ? -x[k] : x[k];
		}
		r = op == 0 ? x[0] + x[1] : op == 1 ? x[0] - x[1] : op == 2 ? x[0] * x[1] : x[0] * x[1] +
		                                        x[2];
		d = (double)r;          /* keep what the conversion loses as a nudge */
		err = (double)(r - d);
		if (err != 0)
			d = nextafter(d, err > 0 ? INFINITY : -INFINITY);
		want = round_code(&f, d, NEAREST) | (signbit(d) ? 0x8000u : 0);
		if (r == 0)
			ck_assert_uint_eq(v[i].out & 0x7fff, 0);
		else
			ck_assert_msg(v[i].out == want, "%s: %llx %llx %llx: %llx, not %x", text,
			              (unsigned long long)c[0], (unsigned long long)c[1],
			              (unsigned long long)c[2],
			              (unsigned long long)v[i].out, want);
	}
	free(f.mag);
}

/* Float to integer and back, in every rounding. */
TEST_EACH(integers, 4)
{
	static const char *const how[] = { "rni", "rzi", "rmi", "rpi" };
	enum { N = 4000 };
	static Eval v[N];
	char text[200];
	double x;

	for (int i = 0; i < N; i++) {
		x = (double)((int64_t)rnd() >> (rnd() % 63)) / (double)(1 << rnd() % 5);
		if (i % 4 == 0)
			x = (double)((int)(rnd() % 41) - 20) / 2;
		memcpy(&v[i].a, &x, 8);
	}
	snprintf(text, sizeof text, "cvt.%s.s32.f64 %%t0, %%da;\ncvt.%s.u16.f64 %%v0, %%da;\n"
	         "mov.b32 %%t1, {%%v0, %%v0};\nmov.b64 %%do, {%%t0, %%t1};", how[_i], how[_i]);
	eval(text, 'd', v, N);
	for (int i = 0; i < N; i++) {
		double r;
		memcpy(&x, &v[i].a, 8);
		r = _i == 0 ? nearbyint(x) : _i == 1 ? trunc(x) : _i == 2 ? floor(x) : ceil(x);
		ck_assert_int_eq((int32_t)v[i].out, (int32_t)fmin(fmax(r, -2147483648.0), 2147483647.0));
		ck_assert_uint_eq(v[i].out >> 48, (uint64_t)fmin(fmax(r, 0), 65535));
	}
	for (int i = 0; i < N; i++)
		v[i].a = rnd() >> rnd() % 64;
	snprintf(text, sizeof text, "cvt.%s.f32.u64 %%t0, %%da;\ncvt.%s.f32.s32 %%t1, %%ra;\n"
	         "mov.b64 %%do, {%%t0, %%t1};", rnds[_i], rnds[_i]);
	eval(text, 'd', v, N);
	for (int i = 0; i < N; i++) {
		volatile float a, b;
		volatile uint64_t u = v[i].a;
		volatile int32_t s = (int32_t)v[i].a;
		fesetround(modes[_i]);
		a = (float)u;
		b = (float)s;
		fesetround(FE_TONEAREST);
		if (_i == 0)    /* libgcc's own conversion only rounds to nearest */
			ck_assert_uint_eq((uint32_t)v[i].out, bits_of(a));
		ck_assert_uint_eq(v[i].out >> 32, bits_of(b));
	}
}

/* The rest: flags and special cases, one by one. */
static const struct { const char *ptx; uint32_t a, b, want; } special[] = {
	{ "min.f32 %ro, %ra, %rb;", 0x7fc00000, 0x3f800000, 0x3f800000 },
	{ "max.f32 %ro, %ra, %rb;", 0x3f800000, 0x7fc00000, 0x3f800000 },
	{ "min.NaN.f32 %ro, %ra, %rb;", 0x7fc00000, 0x3f800000, 0x7fffffff },
	{ "min.f32 %ro, %ra, %rb;", 0x00000000, 0x80000000, 0x80000000 },
	{ "max.f32 %ro, %ra, %rb;", 0x80000000, 0x00000000, 0x00000000 },
	{ "add.ftz.f32 %ro, %ra, %rb;", 0x00000001, 0x80000000, 0x00000000 },
	{ "mul.ftz.f32 %ro, %ra, %rb;", 0x00800000, 0x3f000000, 0x00000000 },
	{ "add.sat.f32 %ro, %ra, %rb;", 0x3f800000, 0x3f800000, 0x3f800000 },
	{ "add.sat.f32 %ro, %ra, %rb;", 0x7fc00000, 0x3f800000, 0x00000000 },
	{ "abs.f32 %ro, %ra;", 0xbf800000, 0, 0x3f800000 }, { "neg.f32 %ro, %ra;", 0, 0, 0x80000000 },
	{ "copysign.f32 %ro, %ra, %rb;", 0x80000000, 0x3f800000, 0xbf800000 },
	{ "rcp.approx.ftz.f32 %ro, %ra;", 0x40000000, 0, 0x3f000000 },
	{ "rsqrt.approx.f32 %ro, %ra;", 0x40800000, 0, 0x3f000000 },
	{ "ex2.approx.ftz.f32 %ro, %ra;", 0x40400000, 0, 0x41000000 },
	{ "lg2.approx.f32 %ro, %ra;", 0x41000000, 0, 0x40400000 },
	{ "sin.approx.f32 %ro, %ra;", 0, 0, 0 }, { "cos.approx.f32 %ro, %ra;", 0, 0, 0x3f800000 },
	{ "tanh.approx.f32 %ro, %ra;", 0x7f800000, 0, 0x3f800000 },
	{ "div.approx.f32 %ro, %ra, %rb;", 0x40c00000, 0x40400000, 0x40000000 },
	{ "div.full.f32 %ro, %ra, %rb;", 0x40c00000, 0x40400000, 0x40000000 },
	{ "sqrt.approx.f32 %ro, %ra;", 0x41100000, 0, 0x40400000 },
	{ "fma.rn.f16x2 %ro, %ra, %rb, %rb;", 0x40003c00, 0x3c004000, 0x42004400 },
	{ "fma.rn.relu.f16x2 %ro, %ra, %rb, %rb;", 0xc0003c00, 0x3c004000, 0x00004400 },
	{ "add.f16x2 %ro, %ra, %rb;", 0x3c004000, 0x3c003c00, 0x40004200 },
	{ "mul.bf16x2 %ro, %ra, %rb;", 0x40003f80, 0x40404000, 0x40c04000 },
	{ "max.f16x2 %ro, %ra, %rb;", 0x7e003c00, 0xbc00c000, 0xbc003c00 },
	{ "max.NaN.f16x2 %ro, %ra, %rb;", 0x7e003c00, 0xbc00c000, 0x7fff3c00 },
	{ "neg.f16x2 %ro, %ra;", 0x3c00bc00, 0, 0xbc003c00 },
	{ "abs.bf16x2 %ro, %ra;", 0xbf80bf80, 0, 0x3f803f80 },
	{ "ex2.approx.f16x2 %ro, %ra;", 0x40003c00, 0, 0x44004000 },
	{ "cvt.rn.f16x2.f32 %ro, %ra, %rb;", 0x3f800000, 0x40000000, 0x3c004000 },
	{ "cvt.rn.relu.bf16x2.f32 %ro, %ra, %rb;", 0xbf800000, 0x40000000, 0x00004000 },
	{ "cvt.rzi.f32.f32 %ro, %ra;", 0x402ccccd, 0, 0x40000000 },
	{ "cvt.rni.f32.f32 %ro, %ra;", 0x40200000, 0, 0x40000000 },
	{ "cvt.sat.f32.f32 %ro, %ra;", 0x40200000, 0, 0x3f800000 },
	{ "cvt.rni.s32.f32 %ro, %ra;", 0x7fc00000, 0, 0 },
	{ "testp.subnormal.f32 %p1, %ra;\nselp.b32 %ro, 1, 0, %p1;", 1, 0, 1 },
	{ "testp.finite.f32 %p1, %ra;\nselp.b32 %ro, 1, 0, %p1;", 0x7f800000, 0, 0 },
	{ "setp.ltu.f32 %p1, %ra, %rb;\nselp.b32 %ro, 1, 0, %p1;", 0x7fc00000, 0, 1 },
	{ "setp.lt.f32 %p1, %ra, %rb;\nselp.b32 %ro, 1, 0, %p1;", 0x7fc00000, 0, 0 },
	{ "setp.nan.f32 %p1, %ra, %rb;\nselp.b32 %ro, 1, 0, %p1;", 0x7fc00000, 0, 1 },
	{ "setp.num.f32 %p1, %ra, %rb;\nselp.b32 %ro, 1, 0, %p1;", 0x3f800000, 0, 1 },
	{ "setp.gt.f16x2 %p1|%p2, %ra, %rb;\nselp.b32 %t0, 1, 0, %p1;\nselp.b32 %t1, 2, 0, %p2;\n"
	  "or.b32 %ro, %t0, %t1;", 0x3c004000, 0x40003c00, 1 },
	{ "set.gtu.f16x2.f16x2 %ro, %ra, %rb;", 0x7e004000, 0x40003c00, 0x3c003c00 },
	{ "slct.b32.f32 %ro, 5, 6, %ra;", 0x80000000, 0, 5 },
	{ "add.f32 %ro, %ra, 0f3F800000;", 0x3f800000, 0, 0x40000000 },
	{ "mov.f32 %ro, 1.5;", 0, 0, 0x3fc00000 },
};
enum { N_SPECIAL = sizeof special / sizeof *special };

TEST_EACH(specials, N_SPECIAL)
{
	Eval v = { special[_i].a, special[_i].b, 0, 0 };

	eval(special[_i].ptx, 'r', &v, 1);
	ck_assert_msg(v.out == special[_i].want, "%s: %llx, not %x", special[_i].ptx,
	              (unsigned long long)v.out,
	              special[_i].want);
}

TEST_PROGRAM(.timeout = 120);
