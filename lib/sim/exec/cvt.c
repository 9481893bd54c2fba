/* cvt.c - executes cvt: conversion of any integer or float type to any other.
 *
 * Integers go through 64 bits, floats through double, which represents every format exactly; the
 * destination's rounding is applied once. */
#include <math.h>
#include "lib/sim/base/float_formats.h"
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"

static double
float_in(u64 v, PtxType t, u32 flags)
{
	u32 b = (u32)v;

	switch (t) {
	case T_f16: return (double)f16_value(b & 0xffff);
	case T_bf16: return (double)bf16_value(b & 0xffff);
	case T_f64: return f64_of(v);
	default:
		if (flags & F_FTZ && !(b & 0x7f800000u))
			b &= 0x80000000u;
		return (double)f32_of(b);
	}
}

static double
round_int(double v, int rnd)
{
	double f = floor(v), r;

	switch (rnd) {
	case RZ: return trunc(v);
	case RM: return f;
	case RP: return ceil(v);
	default:
		r = v - f;
		if (r > 0.5 || (r == 0.5 && fmod(f, 2) != 0))
			f += 1;
		return f == 0 ? copysign(0, v) : f;
	}
}

static u64
float_out(double v, PtxType t, const Ins *in)
{
	int rnd = in->flags & F_INT ? RN : in->arith.rnd;
	u32 flags = in->flags, b;

	if (flags & F_INT)
		v = round_int(v, in->arith.rnd);
	if (flags & F_RELU && (v < 0 || (v == 0 && signbit(v))))
		v = 0;
	if (flags & F_SAT)
		v = v > 0 ? v < 1 ? v : 1 : 0;
	switch (t) {
	case T_f16:
		b = f16_round(v, rnd);
		if (flags & F_SATF && (b & 0x7fff) == 0x7c00)
			b--;
		return b;
	case T_bf16:
		b = bf16_round(v, rnd);
		if (flags & F_SATF && (b & 0x7fff) == 0x7f80)
			b--;
		return b;
	case T_tf32:
		b = tf32_round(bits_of((float)v), rnd);
		if (flags & F_SATF && (b & 0x7fffffffu) == 0x7f800000u)
			b -= 0x2000;
		return b;
	case T_f64:
		return bits64_of(v);
	default:
		b = bits_of(f32_round(v, rnd));
		if (isnan(v))
			b = 0x7fffffffu;
		if (flags & F_FTZ && !(b & 0x7f800000u))
			b &= 0x80000000u;
		return b;
	}
}

/* Float to integer: rounded, then clamped to the type's range; NaN gives 0. */
static u64
to_int(double v, PtxType t, const Ins *in)
{
	u32 bits = type_bits(t);
	double lo, hi, r;

	if (isnan(v))
		return 0;
	r = round_int(v, in->arith.rnd);
	if (type_signed(t)) {
		hi = (double)(1ull << (bits - 1));
		lo = -hi;
		if (r < lo)
			r = lo;
		if (r >= hi)
			return (1ull << (bits - 1)) - 1;
		return (u64)(s64)r;
	}
	hi = 2 * (double)(1ull << (bits - 1));
	if (r <= 0)
		return 0;
	if (r >= hi)
		return bits == 64 ? ~0ull : (1ull << bits) - 1;
	return (u64)r;
}

static s64
extend(u64 v, PtxType t)
{
	switch (t) {
	case T_s8: return (s8)v;
	case T_s16: return (s16)v;
	case T_s32: return (s32)v;
	case T_u8: case T_b8: return (u8)v;
	case T_u16: case T_b16: return (u16)v;
	case T_u32: case T_b32: return (u32)v;
	default: return (s64)v;
	}
}

static u64
int_to_int(u64 v, PtxType to, PtxType from, u32 flags)
{
	s64 x = extend(v, from);
	u32 bits = type_bits(to);

	if (flags & F_SAT) {
		bool neg = type_signed(from) && x < 0;
		if (type_signed(to)) {
			s64 hi = bits == 64 ? INT64_MAX : ((s64)1 << (bits - 1)) - 1;
			if (!neg && (u64)x > (u64)hi)
				x = hi;
			else if (neg && x < -hi - 1)
				x = -hi - 1;
		} else if (neg) {
			x = 0;
		} else if (bits < 64 && (u64)x > (1ull << bits) - 1) {
			x = (s64)((1ull << bits) - 1);
		}
	}
	return (u64)extend((u64)x, to);
}

/* Integer to float in one rounding: split so that each half is exact in double. */
static u64
int_to_float(u64 v, PtxType to, PtxType from, const Ins *in)
{
	s64 x = extend(v, from);
	bool neg = type_signed(from) && x < 0;
	u64 m = neg ? 0 - (u64)x : (u64)x;
	double hi = (double)(m >> 32) * 0x1p32, lo = (double)(m & 0xffffffffu), d;

	if (to == T_f64) {
		d = neg ? dir64('-', -hi, lo, 0, in->arith.rnd) : dir64('+', hi, lo, 0, in->arith.rnd);
		if (in->flags & F_SAT)
			d = d > 0 ? d < 1 ? d : 1 : 0;
		return bits64_of(d);
	}
	d = odd_add(hi, lo);
	return float_out(neg ? -d : d, to, in);
}

static u64
convert(u64 v, PtxType to, PtxType from, const Ins *in)
{
	if (type_float(from)) {
		double d = float_in(v, from, in->flags);
		if (type_float(to)) {
			/* a value of the same format is unchanged */
			if (to == T_f64 && from == T_f64 && !(in->flags & (F_INT | F_SAT)))
				return v;
			return float_out(d, to, in);
		}
		return to_int(d, to, in);
	}
	if (type_float(to))
		return int_to_float(v, to, from, in);
	return int_to_int(v, to, from, in->flags);
}

/* Two floats to a packed pair: a is the upper half. */
static u32
pair(u32 a, u32 b, PtxType to, const Ins *in)
{
	double x = float_in(a, T_f32, in->flags), y = float_in(b, T_f32, in->flags);

	if (to == T_e4m3x2 || to == T_e5m2x2) {
		bool e5 = to == T_e5m2x2, relu = in->flags & F_RELU;
		return fp8_round(x, e5, relu) << 8 | fp8_round(y, e5, relu);
	}
	to = to == T_f16x2 ? T_f16 : T_bf16;
	return (u32)(float_out(x, to, in) << 16 | float_out(y, to, in));
}

static u32
fp8_pair(u32 v, PtxType from, const Ins *in)
{
	bool e5 = from == T_e5m2x2;
	u32 lo = f16_round(fp8_value(v & 0xff, e5), RN), hi = f16_round(fp8_value(v >> 8 & 0xff, e5), RN);

	if (in->flags & F_RELU) {
		lo = lo & 0x8000 ? 0 : lo;
		hi = hi & 0x8000 ? 0 : hi;
	}
	return lo | hi << 16;
}

static u32
saturated(s32 v, PtxType t)
{
	u32 bits = type_bits(t);
	s32 hi = type_signed(t) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, lo = type_signed(t) ? -hi - 1 : 0;

	return (u32)(v > hi ? hi : v < lo ? lo : v) & ((1u << bits) - 1);
}

int
exec_cvtpack(Warp *w, const Ins *in, u32 mask)
{
	PtxType t = (PtxType)in->type;
	u32 bits = type_bits(t);
	int l;

	if (w->def)
		taint_alu(w, in, mask);
	FOR_LANES(l, mask) {
		u32 hi = saturated((s32)src32(w, &in->s[0])[l], t),
		    lo = saturated((s32)src32(w, &in->s[1])[l], t);
		u32 rest = in->ns > 2 ? src32(w, &in->s[2])[l] << 2 * bits : 0;
		dst32(w, in->d)[l] = rest | hi << bits | lo;
	}
	return R_NEXT;
}

/* Each half of a pair is as defined as its source: with two sources the second is the low half; a pair source
 * gives half by half. */
static void
taint_pair(Warp *w, const Ins *in, u32 mask)
{
	const Ref *s = &in->s[0];
	const u32 *of = w->def + s->def;
	u32 half[2] = { ALL_LANES, ALL_LANES }, *d = w->def + in->d->def, bytes = in->d->bytes;

	if (in->ns == 2) {
		half[0] = def_of(w, &in->s[1]);
		half[1] = def_of(w, &in->s[0]);
	}
	for (u32 k = 0; in->ns == 1 && k < s->bytes; k++)
		half[2 * k / s->bytes] &= of[k];
	taint_alu(w, in, mask);
	for (u32 k = 0; k < bytes; k++)
		d[k] = (d[k] & ~mask) | (half[2 * k / bytes] & mask);
}

/* The result of an integer conversion has the source's bytes, and sign or zero bytes above them. */
static void
taint_integer(Warp *w, const Ins *in, u32 mask)
{
	PtxType to = (PtxType)in->type, from = (PtxType)in->type2;
	u32 nt = type_bits(to) / 8, nf = type_bits(from) / 8, def[8], *d = w->def + in->d->def;
	const u32 *s = w->def + in->s[0].def;

	for (u32 k = 0; k < in->d->bytes; k++) {
		u32 at = k < nt || !type_signed(to) ? k : nt - 1;
		if (at >= nf && type_signed(from))
			at = nf - 1;
		def[k] = at < nt && at < nf ? s[at] : ALL_LANES;
	}
	taint_alu(w, in, mask);
	for (u32 k = 0; k < in->d->bytes; k++)
		d[k] = (d[k] & ~mask) | (def[k] & mask);
}

int
exec_cvt(Warp *w, const Ins *in, u32 mask)
{
	PtxType to = (PtxType)in->type, from = (PtxType)in->type2;
	bool sign = type_signed(to);
	int l;

	if (w->def && (in->ns == 2 || to == T_f16x2 || from == T_f16x2))
		taint_pair(w, in, mask);
	else if (w->def && !type_float(to) && !type_float(from) && !(in->flags & F_SAT))
		taint_integer(w, in, mask);
	else if (w->def)
		taint_alu(w, in, mask);
	if (in->ns == 2) {
		const u32 *a = src32(w, &in->s[0]), *b = src32(w, &in->s[1]);
		FOR_LANES(l, mask)
			lane_set(w, in->d, l, pair(a[l], b[l], to, in));
		return R_NEXT;
	}
	FOR_LANES(l, mask) {
		u64 v = lane_get(w, &in->s[0], l);
		if (to == T_f16x2) {
			v = fp8_pair((u32)v, from, in);
		} else if (from == T_f16x2) {
			bool e5 = to == T_e5m2x2, relu = in->flags & F_RELU;
			v = fp8_round((double)f16_value(v >> 16 & 0xffff), e5, relu) << 8 |
			    fp8_round((double)f16_value(v & 0xffff), e5, relu);
		} else {
			v = convert(v, to, from, in);
		}
		if (!sign && !type_float(to) && type_bits(to) < 64)
			v &= (1ull << type_bits(to)) - 1;
		lane_set(w, in->d, l, v);
	}
	return R_NEXT;
}
