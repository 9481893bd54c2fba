/* float_formats.c - decodes f16, bf16, tf32, f32 and fp8 codes to exact values and rounds values to these
 * formats. */
#include <math.h>
#include "lib/sim/base/float_formats.h"

float
f16_value(u32 h)
{
	u32 s = (h & 0x8000u) << 16, em = h & 0x7fffu;

	if (em >= 0x7c00)
		return f32_of(s | 0x7f800000u | (em & 0x3ff) << 13);
	if (em >= 0x400)
		return f32_of(s | ((em << 13) + 0x38000000u));
	return f32_of(s | bits_of((float)em * 0x1p-24f));
}

float
bf16_value(u32 h)
{
	return f32_of(h << 16);
}

/* Magnitude of v rounded to a format with `p` stored mantissa bits and lowest normal exponent
 * `emin`, as (exponent field << p) + mantissa, with no upper limit on the field. */
static u64
magnitude(double v, int p, int emin, int rnd)
{
	u64 b = bits64_of(v), m, n, rest, half;
	int e, shift;
	bool neg, up;

	neg = b >> 63;
	e = (int)(b >> 52 & 0x7ff);
	m = b & ((1ull << 52) - 1);
	if (e)
		m |= 1ull << 52;
	else
		e = 1;
	e -= 1023;
	shift = 52 - p + (e < emin ? emin - e : 0);
	if (shift > 60) {               /* far below the smallest subnormal: only a sticky bit */
		n = 0;
		rest = m != 0;
		half = 2;
	} else {
		n = m >> shift;
		rest = m & ((1ull << shift) - 1);
		half = 1ull << (shift - 1);
	}
	switch (rnd) {
	case RN: up = rest > half || (rest == half && n & 1); break;
	case RNA: up = rest >= half; break;
	case RM: up = neg && rest; break;
	case RP: up = !neg && rest; break;
	default: up = false; break;
	}
	n += up;
	return n + (e > emin ? (u64)(e - emin) << p : 0);
}

/* IEEE-like 16-bit formats: `top` is the code of infinity. */
static u32
round16(double v, int p, int emin, u32 top, int rnd)
{
	u32 s = signbit(v) ? 0x8000u : 0;
	u64 n;

	if (isnan(v))
		return 0x7fff;
	if (isinf(v))
		return s | top;
	n = magnitude(v, p, emin, rnd);
	if (n >= top)
		return s | (rnd == RZ || (rnd == RM && !s) || (rnd == RP && s) ? top - 1 : top);
	return s | (u32)n;
}

u32
f16_round(double v, int rnd)
{
	return round16(v, 10, -14, 0x7c00, rnd);
}

u32
bf16_round(double v, int rnd)
{
	return round16(v, 7, -126, 0x7f80, rnd);
}

/* Nearest even. Adding a number of the right magnitude makes the hardware round. */
u32
f16_from_f32(float v)
{
	u32 b = bits_of(v), s = b >> 16 & 0x8000u, a = b & 0x7fffffffu;

	if (a > 0x7f800000u)
		return 0x7fff;
	if (a >= 0x47800000u)                   /* 2^16 and more */
		return s | 0x7c00;
	if (a < 0x38800000u)                    /* below 2^-14: subnormal */
		return s | (bits_of(f32_of(a) + 0.5f) - 0x3f000000u);
	a += 0xfffu + (a >> 13 & 1);
	return s | (a - 0x38000000u) >> 13;
}

float
f32_round(double v, int rnd)
{
	float f = (float)v;
	u32 b = bits_of(f);
	bool away, toward;

	if (rnd == RN || isnan(v) || isinf(v) || (double)f == v)
		return f;
	if (f == 0)
		b = signbit(v) ? 0x80000000u : 0;
	away = fabs((double)f) > fabs(v);       /* f is too large in magnitude */
	toward = rnd == RZ || (rnd == RM && v > 0) || (rnd == RP && v < 0);
	if (toward && away)
		b--;
	else if (!toward && !away)
		b++;
	return f32_of(b);
}

u32
tf32_round(u32 b, int rnd)
{
	u32 a = b & 0x7fffffffu;

	if (a > 0x7f800000u)
		return 0x7fffffffu;
	if (a < 0x7f800000u) {
		if (rnd == RNA)
			a += 0x1000;
		else if (rnd == RN)
			a += 0xfff + (a >> 13 & 1);
	}
	return (b & 0x80000000u) | (a & ~0x1fffu);
}

u32
fp8_round(double v, bool e5m2, bool relu)
{
	u32 s = signbit(v) ? 0x80u : 0, top = e5m2 ? 0x7bu : 0x7eu;
	u64 n;

	if (isnan(v))
		return 0x7f;
	if (relu && s)
		return 0;
	n = isinf(v) ? 0xff : e5m2 ? magnitude(v, 2, -14, RN) : magnitude(v, 3, -6, RN);
	return s | (n > top ? top : (u32)n);
}

double
fp8_value(u32 b, bool e5m2)
{
	u32 s = b >> 7 & 1, p = e5m2 ? 2 : 3, m = b & ((1u << p) - 1), e = (b & 0x7f) >> p;
	double v;

	if (e5m2)
		return (double)f16_value(b << 8);
	if ((b & 0x7f) == 0x7f)
		return (double)NAN;
	v = e ? ldexp(8 + m, (int)e - 10) : ldexp(m, -9);
	return s ? -v : v;
}

/* The neighbour of s with an odd last bit, on the side of the exact value. */
static double
to_odd(double s, double err)
{
	u64 b = bits64_of(s);

	if (err == 0 || isnan(err) || isinf(s))
		return s;
	if (!(b & 1))
		b = (err > 0) == (s > 0) ? b + 1 : b - 1;
	return f64_of(b);
}

double
odd_add(double a, double b)
{
	double s = a + b, t = s - a;

	return to_odd(s, (a - (s - t)) + (b - t));
}

double
odd_fma(double a, double b, double c)
{
	return odd_add(a * b, c);
}

double
odd_div(double a, double b)
{
	double q = a / b, r;

	if (isnan(q) || isinf(q) || q == 0)
		return q;
	r = fma(-q, b, a);
	return to_odd(q, b < 0 ? -r : r);
}

double
odd_sqrt(double a)
{
	double q = sqrt(a);

	if (!(q > 0) || isinf(q))
		return q;
	return to_odd(q, fma(-q, q, a));
}
