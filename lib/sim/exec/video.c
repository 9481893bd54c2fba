/* video.c - executes the scalar and SIMD video instructions (PTX ISA, "Video Instructions").
 *
 * An operand is a byte, a half or all of a register, extended by its type. The result is saturated, combined
 * with c by a second operation, or inserted into a part of c. The SIMD forms do so for two halves or four
 * bytes, each selected from any position of the pair (a, b).
 */
#include "lib/sim/exec/exec.h"
#include "lib/sim/exec/video.h"
#include "lib/sim/sanitizer/sanitizer.h"

static s64
widen(u32 v, u32 bits, bool sign)
{
	u64 m = bits == 32 ? v : v & ((1u << bits) - 1);

	return sign && m >> (bits - 1) & 1 ? (s64)m - ((s64)1 << bits) : (s64)m;
}

static s64
clamp(s64 v, u32 bits, bool sign)
{
	s64 hi = sign ? ((s64)1 << (bits - 1)) - 1 : ((s64)1 << bits) - 1, lo = sign ? -hi - 1 : 0;

	return v > hi ? hi : v < lo ? lo : v;
}

static s64
operate(const Video *v, s64 a, s64 b)
{
	switch (v->op) {
	case V_ADD: return a + b;
	case V_SUB: return a - b;
	case V_ABSDIFF: return a < b ? b - a : a - b;
	case V_MIN: return a < b ? a : b;
	case V_MAX: return a > b ? a : b;
	case V_AVRG: return (a + b + (a + b >= 0)) >> 1;
	case V_SET: return (v->relation & (a < b ? 1 : a == b ? 2 : 4)) != 0;
	default:
		b = v->clamp ? b > 32 ? 32 : b : b & 31;
		if (v->op == V_SHR)
			return a >> b;
		/* too large for 64 bits: as large as possible, with the same low word */
		return b == 32 && a > INT32_MAX ? INT64_MAX & ~0xffffffffll : (s64)((u64)a << b);
	}
}

/* (a * b) + c with one of them negated or plus one, shifted right, saturated. */
static u32
multiply_add(const Video *v, s64 a, s64 b, u32 c)
{
	__extension__ typedef __int128 wide;
	bool sign = v->asign || v->bsign || v->neg_product || v->neg_c;
	wide t = (wide)a * b, add = sign ? (wide)(s32)c : (wide)c;

	t = (v->neg_product ? -t : t) + (v->neg_c ? -add : add) + v->plus_one;
	t >>= v->shift;
	if (v->sat) {
		wide hi = sign ? 0x7fffffff : 0xffffffff, lo = sign ? -(wide)0x80000000 : 0;
		t = t > hi ? hi : t < lo ? lo : t;
	}
	return (u32)(u64)t;
}

static u32
scalar(const Video *v, u32 a, u32 b, u32 c)
{
	s64 x = widen(a >> v->a.shift, v->a.bits, v->asign), y = widen(b >> v->b.shift, v->b.bits, v->bsign),
	    t, k;

	if (v->op == V_MAD)
		return multiply_add(v, x, y, c);
	t = operate(v, x, y);
	if (v->sat)
		t = clamp(t, v->d.bits, v->dsign);
	k = widen(c, 32, v->dsign);
	switch (v->sec) {
	case SEC_ADD: return (u32)(t + k);
	case SEC_MIN: return (u32)(t < k ? t : k);
	case SEC_MAX: return (u32)(t > k ? t : k);
	default: break;
	}
	if (v->d.bits < 32) {
		u32 m = ((1u << v->d.bits) - 1) << v->d.shift;
		return (c & ~m) | ((u32)t << v->d.shift & m);
	}
	return (u32)t;
}

static u32
simd(const Video *v, u32 a, u32 b, u32 c)
{
	u64 pair = (u64)b << 32 | a;
	u32 ones = (1u << v->bits) - 1, r = c;

	for (u32 i = 0; i < v->lanes; i++) {
		s64 x = widen((u32)(pair >> v->pick[0][i] * v->bits), v->bits, v->asign), t;
		if (!(v->mask >> i & 1))
			continue;
		t = operate(v, x, widen((u32)(pair >> v->pick[1][i] * v->bits), v->bits, v->bsign));
		if (v->sat)
			t = clamp(t, v->bits, v->dsign);
		if (v->sec == SEC_ADD)
			r += (u32)t;
		else
			r = (r & ~(ones << i * v->bits)) | ((u32)t & ones) << i * v->bits;
	}
	return r;
}

int
exec_video(Warp *w, const Ins *in, u32 mask)
{
	const Video *v = in->video;
	const u32 *a = src32(w, &in->s[0]), *b = src32(w, &in->s[1]),
	        *c = src32(w, &in->s[in->ns > 2 ? 2 : 1]);
	u32 *d = dst32(w, in->d);
	int l;

	if (w->def)
		taint_alu(w, in, mask);
	FOR_LANES(l, mask)
		d[l] = v->lanes == 1 ? scalar(v, a[l], b[l], c[l]) : simd(v, a[l], b[l], c[l]);
	return R_NEXT;
}
