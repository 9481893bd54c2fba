/* alu_value.h - functions used by the value expressions of isa.def. For alu_table.c only. */
#ifndef SIM_ALU_H
#define SIM_ALU_H
#include <math.h>
#include "lib/sim/state/ins.h"
#include "lib/sim/base/float_formats.h"

/* ---- integers ---- */
static inline u16 mul_u16(u16 a, u16 b) { return (u16)((u32)a * b); }
static inline u32 mul_u32(u32 a, u32 b) { return a * b; }
static inline u64 mul_u64(u64 a, u64 b) { return a * b; }
static inline u16 mulhi_u16(u16 a, u16 b) { return (u16)((u32)a * b >> 16); }
static inline s16 mulhi_s16(s16 a, s16 b) { return (s16)((s32)a * b >> 16); }
static inline u32 mulhi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
static inline s32 mulhi_s32(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }

static inline u64
mulhi_u64(u64 a, u64 b)
{
	u64 al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
	u64 m = ah * bl + (al * bl >> 32), n = al * bh + (m & 0xffffffffu);

	return ah * bh + (m >> 32) + (n >> 32);
}
static inline s64
mulhi_s64(s64 a, s64 b)
{
	return (s64)(mulhi_u64((u64)a, (u64)b) - (a < 0 ? (u64)b : 0) - (b < 0 ? (u64)a : 0));
}
static inline u32
sext24(u32 a)
{
	return ((a & 0xffffffu) ^ 0x800000u) - 0x800000u;
}
static inline s64
clamp32(s64 v)
{
	return v > 0x7fffffff ? 0x7fffffff : v < -0x7fffffff - 1 ? -0x7fffffff - 1 : v;
}
static inline s64
madhi_sat(s64 a, s64 b, s64 c)
{
	return clamp32((a * b >> 32) + c);      /* .sat exists for .s32 only */
}
static inline u64
bfe(u64 a, u32 pos, u32 len, u32 bits, bool sign)
{
	u64 v = 0;
	u32 msb = bits - 1, top;

	pos &= 255;
	len &= 255;
	top = pos + len - 1 < msb ? pos + len - 1 : msb;
	if (len && pos <= msb)
		v = a >> pos & (len >= 64 ? ~0ull : (1ull << len) - 1);
	if (sign && len && (a >> top & 1)) {
		u32 have = pos > msb ? 0 : len < bits - pos ? len : bits - pos;
		v |= have >= 64 ? 0 : ~0ull << have;
	}
	return v;
}
static inline u64
bfi(u64 a, u64 b, u32 pos, u32 len, u32 bits)
{
	u64 mask;

	pos &= 255;
	len &= 255;
	if (pos >= bits || !len)
		return b;
	mask = (len >= 64 ? ~0ull : (1ull << len) - 1) << pos;
	return (b & ~mask) | (a << pos & mask);
}
static inline u32
bfind(u64 a)
{
	return a ? 63u - (u32)__builtin_clzll(a) : ~0u;
}
static inline u64
brev64(u64 v)
{
	v = (v >> 1 & 0x5555555555555555u) | (v & 0x5555555555555555u) << 1;
	v = (v >> 2 & 0x3333333333333333u) | (v & 0x3333333333333333u) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0fu) | (v & 0x0f0f0f0f0f0f0f0fu) << 4;
	return __builtin_bswap64(v);
}
static inline u32
fns(u32 mask, u32 base, s32 offset)
{
	s32 step = offset >= 0 ? 1 : -1, count = offset >= 0 ? offset - 1 : -offset - 1;

	if (offset == 0)
		return base < 32 && mask >> base & 1 ? base : ~0u;
	for (s64 pos = base; pos >= 0 && pos < 32; pos += step)
		if (mask >> pos & 1 && count-- == 0)
			return (u32)pos;
	return ~0u;
}
static inline u32
bmsk(u32 a, u32 b)
{
	u64 ones = (b >= 32 ? 0xffffffffu : (1ull << b) - 1);

	return (u32)(ones << a);
}
static inline u32
szext(u32 a, u32 n, bool sign)
{
	u32 mask = n >= 32 ? ~0u : (1u << n) - 1;

	if (!n)
		return 0;
	return sign && a >> (n - 1) & 1 ? a | ~mask : a & mask;
}
static inline u32
prmt(u32 a, u32 b, u32 c, u8 mode)
{
	u64 ab = (u64)b << 32 | a;
	u32 r = 0, k = c & 3, sel;

	for (u32 i = 0; i < 4; i++) {
		switch (mode) {
		case 1: sel = k + i; break;
		case 2: sel = (k - i) & 7; break;
		case 3: sel = k; break;
		case 4: sel = i > k ? i : k; break;
		case 5: sel = i < k ? i : k; break;
		case 6: sel = (k & 1) * 2 + (i & 1); break;
		default: sel = c >> 4 * i & 15; break;
		}
		u32 byte = (u32)(ab >> 8 * (sel & 7)) & 0xff;
		if (mode == 0 && sel & 8)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << 8 * i;
	}
	return r;
}
static inline u32
lop3(u32 a, u32 b, u32 c, u32 lut)
{
	u32 r = 0;

	for (u32 i = 0; i < 8; i++)
		if (lut >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return r;
}
static inline u32
dp4a(u32 a, u32 b, u32 c, const Ins *in)
{
	for (u32 i = 0; i < 32; i += 8) {
		u32 x = in->type == T_s32 ? (u32)(s8)(a >> i) : (a >> i & 0xff);
		u32 y = in->type2 == T_s32 ? (u32)(s8)(b >> i) : (b >> i & 0xff);
		c += x * y;
	}
	return c;
}
static inline u32
dp2a(u32 a, u32 b, u32 c, const Ins *in, u32 half)
{
	for (u32 i = 0; i < 2; i++) {
		u32 x = in->type == T_s32 ? (u32)(s16)(a >> 16 * i) : (a >> 16 * i & 0xffff);
		u32 w = b >> (half + 8 * i), y = in->type2 == T_s32 ? (u32)(s8)w : (w & 0xff);
		c += x * y;
	}
	return c;
}
static inline u32
minmax16x2(u32 a, u32 b, bool max, bool sign, const Ins *in)
{
	u32 r = 0;

	for (u32 i = 0; i < 32; i += 16) {
		s32 x = sign ? (s16)(a >> i) : (s32)(a >> i & 0xffff);
		s32 y = sign ? (s16)(b >> i) : (s32)(b >> i & 0xffff);
		s32 v = (x < y) != max ? x : y;
		if (in->flags & F_RELU && v < 0)
			v = 0;
		r |= ((u32)v & 0xffff) << i;
	}
	return r;
}

/* ---- f32, f64 ---- */
static inline float nan32(float v) { return v == v ? v : f32_of(0x7fffffffu); }
static inline float fma32(float a, float b, float c) { return fmaf(a, b, c); }
static inline u32
fzbits(u32 b, const Ins *in)
{
	if (in->flags & F_FTZ && !(b & 0x7f800000u))
		b &= 0x80000000u;
	return b;
}
static inline float
fz(float v, const Ins *in)
{
	return f32_of(fzbits(bits_of(v), in));
}
static inline float
out32(double v, const Ins *in)
{
	float f = fz(f32_round(v, in->arith.rnd), in);

	if (in->flags & F_SAT)
		f = f > 0 ? f < 1 ? f : 1 : 0;
	return nan32(f);
}
/* a + b rounded to odd; an exact zero of different signs is -0 when rounding down. */
static inline double
add_dir(double a, double b, const Ins *in)
{
	double s = odd_add(a, b);

	return s == 0 && in->arith.rnd == RM && (signbit(a) || signbit(b)) ? -0.0 : s;
}
/* .xorsign.abs: the magnitude selected by absolute values, the sign of a * b. */
static inline float
xorsign(float m, float a, float b)
{
	return m != m ? m : copysignf(m, signbit(a) != signbit(b) ? -1.0f : 1.0f);
}
static inline float
min32(float a, float b, const Ins *in)
{
	if (a != a || b != b)
		return in->flags & F_NAN || (a != a && b != b) ? f32_of(0x7fffffffu) : a != a ? b : a;
	return a < b || (a == b && signbit(a)) ? a : b;
}
static inline float
max32(float a, float b, const Ins *in)
{
	if (a != a || b != b)
		return min32(a, b, in);
	return a > b || (a == b && !signbit(a)) ? a : b;
}
static inline float
fmin32(float a, float b, const Ins *in)
{
	return in->flags & F_XOR ? xorsign(min32(fabsf(a), fabsf(b), in), a, b) : min32(a, b, in);
}
static inline float
fmax32(float a, float b, const Ins *in)
{
	return in->flags & F_XOR ? xorsign(max32(fabsf(a), fabsf(b), in), a, b) : max32(a, b, in);
}
static inline double
fmin64(double a, double b)
{
	if (a != a || b != b)
		return a != a ? b : a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

/* The upper 32 bits of an f64, 1.11.20: all that rcp and rsqrt .approx.ftz.f64 read and write; subnormals are
 * zeros. */
static inline double
high64(double v, u64 round)
{
	u64 b = bits64_of(v), e = b >> 52 & 0x7ff;

	if (!e || e == 0x7ff)
		return e && v != v ? f64_of(0x7fffffffull << 32) : f64_of(b & (e ? ~0ull : 1ull << 63));
	return f64_of((b + round) & ~0xffffffffull);
}
static inline double
rough64(double v, double (*of)(double))
{
	return high64(of(high64(v, 0)), 0x80000000u);
}
static inline double rcp64(double v) { return 1 / v; }
static inline double rsqrt64(double v) { return 1 / sqrt(v); }
/* div.approx multiplies by a reciprocal, and that of a divisor above 2^126 is 0 (PTX ISA, "div"). */
static inline double
div_fast(double a, double b)
{
	return fabs(b) > 0x1p126 ? a * copysign(0, b) : a / b;
}

/* ---- 16-bit floats ---- */
/* a * b + c as f32 rounded to odd, so that a second rounding to 16 bits is exact. */
static inline float
fma_odd32(float a, float b, float c)
{
	double r = odd_fma(a, b, c);
	float f = f32_round(r, RZ);

	if ((double)f != r && r == r)
		f = f32_of(bits_of(f) | 1);
	return f;
}
/* fma.oob: is one the NaN that a tensor copy fills with (all bits but the sign), 16 bits as f32? */
static inline bool
is_oob(float a, float b, float c, const Ins *in)
{
	u32 nan = in->type == T_f16 || in->type == T_f16x2 ? 0x7fffe000u : 0x7fff0000u;

	return in->flags & F_OOB && (bits_of(a) == nan || bits_of(b) == nan || bits_of(c) == nan);
}
static inline float
hclamp(float v, const Ins *in)
{
	if (in->flags & F_RELU && v <= 0)       /* -0 too */
		v = 0;
	if (in->flags & F_SAT)
		v = v > 0 ? v < 1 ? v : 1 : 0;
	return v;
}
static inline u32
hz16(u32 h, const Ins *in)
{
	return in->flags & F_FTZ && !(h & 0x7c00) ? h & 0x8000u : h;
}
static inline u32 in_f16(u32 h, const Ins *in) { return bits_of(f16_value(hz16(h, in))); }
static inline u32 in_bf16(u32 h, const Ins *in) { return fzbits(h << 16, in); }
static inline u32 out_f16(float v, const Ins *in) { return hz16(f16_from_f32(hclamp(v, in)), in); }
static inline u32
out_bf16(float v, const Ins *in)
{
	u32 b = bits_of(hclamp(v, in));

	if ((b & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff;
	return fzbits((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000u, in) >> 16;
}
/* ftz of abs and neg: one or two f16 values */
static inline u32
hz(u32 v, const Ins *in)
{
	return in->flags & F_FTZ ? hz16(v & 0xffff, in) | hz16(v >> 16, in) << 16 : v;
}
#endif
