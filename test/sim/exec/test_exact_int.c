/* test_exact_int.c - tests every integer, bit and video instruction: a million random operands and a grid of
 * special ones against C; the first operand takes every 16-bit value. MILLIONS=N makes it N millions. */
#include "test/sim/exec/evalmany.h"
#include "test/check.h"

/* Rows of tables and functions of a line: they are laid out by hand. */
// clang-format off

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

static s128
clip(s128 v, s128 lo, s128 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static u64
field(u64 a, u32 pos, u32 len, int bits, int sign)      /* bfe, after the ISA's words: bit by bit */
{
	u64 r = 0;
	int top = (int)(pos + len) - 1 > bits - 1 ? bits - 1 : (int)(pos + len) - 1;
	u64 fill = !sign || !len ? 0 : a >> top & 1;

	for (int i = 0; i < bits; i++) {
		u64 bit = i < (int)len && (int)pos + i < bits ? a >> (pos + (u32)i) & 1 : fill;
		r |= bit << i;
	}
	return r;
}

static u64
insert(u64 a, u64 b, u32 pos, u32 len, u32 bits)
{
	for (u32 i = 0; i < len && pos + i < bits; i++)
		b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static u32
highest(u64 a, int neg)
{
	if (neg)
		a = ~a;
	for (int i = 63; i >= 0; i--)
		if (a >> i & 1)
			return (u32)i;
	return UINT32_MAX;
}

static u64
reversed(u64 a, int bits)
{
	u64 r = 0;

	for (int i = 0; i < bits; i++)
		r |= (a >> i & 1) << (bits - 1 - i);
	return r;
}

static u32
ones(u64 a)
{
	u32 n = 0;

	for (; a; a &= a - 1)
		n++;
	return n;
}

static u32
permute(u32 a, u32 b, u32 sel)
{
	u32 r = 0;

	for (int i = 0; i < 4; i++) {
		u32 k = sel >> 4 * i & 15, byte = (k & 4 ? b : a) >> 8 * (k & 3) & 255;
		r |= (k & 8 ? byte >> 7 ? 255u : 0u : byte) << 8 * i;
	}
	return r;
}

/* prmt's other modes as selectors of the default one. */
static u32
mode_selector(int mode, u32 c)
{
	static const u32 f4e[] = { 0x3210, 0x4321, 0x5432, 0x6543 }, b4e[] = { 0x5670, 0x6701, 0x7012, 0x0123 },
		rc8[] = { 0x0000, 0x1111, 0x2222, 0x3333 }, ecl[] = { 0x3210, 0x3211, 0x3222, 0x3333 },
		ecr[] = { 0x0000, 0x1110, 0x2210, 0x3210 }, rc16[] = { 0x1010, 0x3232, 0x1010, 0x3232 };
	static const u32 *const t[] = { f4e, b4e, rc8, ecl, ecr, rc16 };

	return t[mode][c & 3];
}

static u32
dot(u32 a, u32 b, u32 c, int n, int as, int bs, int hi)
{
	for (int i = 0; i < n; i++) {
		u32 aw = n == 4 ? 8 : 16, x = a >> aw * (u32)i, y = b >> (8 * i + (hi ? 16 : 0));
		s32 p = n == 4 ? as ? (int8_t)x : (uint8_t)x : as ? (s16)x : (u16)x;
		c += (u32)(p * (bs ? (s32)(int8_t)y : (s32)(uint8_t)y));
	}
	return c;
}

static u32
halves(const In *v, int op, int sign, int relu)
{
	u32 r = 0;

	for (int i = 0; i < 2; i++) {
		s32 x = sign ? (s16)(v->a >> 16 * i) : (u16)(v->a >> 16 * i), y = sign ? (s16)(v->b >> 16 * i) : (u16)(v->b >> 16 * i);
		s32 t = op == 0 ? x + y : op == 1 ? (x < y ? x : y) : x > y ? x : y;
		if (relu && t < 0)
			t = 0;
		r |= ((u32)t & 0xffff) << 16 * i;
	}
	return r;
}

static u32
find_nth(u32 mask, u32 base, s32 offset)
{
	s32 pos = (s32)base, left = offset < 0 ? -offset : offset;

	if (!offset)
		return base < 32 && mask >> base & 1 ? base : UINT32_MAX;
	for (; base < 32 && pos >= 0 && pos < 32; pos += offset < 0 ? -1 : 1)
		if (mask >> pos & 1 && --left == 0)
			return (u32)pos;
	return UINT32_MAX;
}

/* The scalar video pseudo-code: a byte of a, a half of b. */
static s64
part(u64 r, int bits, int at, int sign)
{
	u64 v = r >> (bits * at) & ((1ull << bits) - 1);

	return sign && v >> (bits - 1) & 1 ? (s64)v - (1ll << bits) : (s64)v;
}

#define VALUES(U) const U a = (U)v->a, b = (U)v->b, c = (U)v->c; (void)a; (void)b; (void)c;
/* name, C type of the operands, result width, PTX, value */
#define TYPED(X, T, U, R, BITS) \
	X(add_##U, U, R, "add." T " %" R "o, %" R "a, %" R "b;", (u64)a + (u64)b) \
	X(sub_##U, U, R, "sub." T " %" R "o, %" R "a, %" R "b;", (u64)a - (u64)b) \
	X(mul_##U, U, R, "mul.lo." T " %" R "o, %" R "a, %" R "b;", (u64)((s128)a * b)) \
	X(mulhi_##U, U, R, "mul.hi." T " %" R "o, %" R "a, %" R "b;", WIDE(U, a, b) >> BITS) \
	X(mad_##U, U, R, "mad.lo." T " %" R "o, %" R "a, %" R "b, %" R "c;", (u64)((s128)a * b) + (u64)c) \
	X(madhi_##U, U, R, "mad.hi." T " %" R "o, %" R "a, %" R "b, %" R "c;", (u64)(WIDE(U, a, b) >> BITS) + (u64)c) \
	X(sad_##U, U, R, "sad." T " %" R "o, %" R "a, %" R "b, %" R "c;", \
	  (u64)c + (u64)((s128)a < (s128)b ? (s128)b - a : (s128)a - b)) \
	X(div_##U, U, R, "or.b" #BITS " %" R "o, %" R "b, 1;\ndiv." T " %" R "o, %" R "a, %" R "o;", (s128)a / (U)(b | 1)) \
	X(rem_##U, U, R, "or.b" #BITS " %" R "o, %" R "b, 1;\nrem." T " %" R "o, %" R "a, %" R "o;", (s128)a % (U)(b | 1)) \
	X(min_##U, U, R, "min." T " %" R "o, %" R "a, %" R "b;", a < b ? a : b) \
	X(max_##U, U, R, "max." T " %" R "o, %" R "a, %" R "b;", a > b ? a : b) \
	X(shr_##U, U, R, "shr." T " %" R "o, %" R "a, %rb;", \
	  (s128)a >> ((u32)v->b > BITS ? BITS : (u32)v->b)) \
	X(lt_##U, U, "r", "setp.lt." T " %p1, %" R "a, %" R "b;\nselp.b32 %ro, 7, 9, %p1;", a < b ? 7 : 9) \
	X(ge_##U, U, "r", "set.ge.u32." T " %ro, %" R "a, %" R "b;", a >= b ? UINT32_MAX : 0)
#define WIDE(U, a, b) WIDE_##U(a, b)
#define WIDE_u16(a, b) ((u128)(a) * (b))
#define WIDE_s16(a, b) ((s128)(a) * (b))
#define WIDE_u32(a, b) ((u128)(a) * (b))
#define WIDE_s32(a, b) ((s128)(a) * (b))
#define WIDE_u64(a, b) ((u128)(a) * (b))
#define WIDE_s64(a, b) ((s128)(a) * (b))
#define SIGNED(X, T, U, R) \
	X(abs_##U, U, R, "abs." T " %" R "o, %" R "a;", a < 0 ? -(s128)a : (s128)a) \
	X(neg_##U, U, R, "neg." T " %" R "o, %" R "a;", -(s128)a)
#define BITS_(X, T, U, R, BITS) \
	X(and_##U, U, R, "and." T " %" R "o, %" R "a, %" R "b;", a & b) \
	X(or_##U, U, R, "or." T " %" R "o, %" R "a, %" R "b;", a | b) \
	X(xor_##U, U, R, "xor." T " %" R "o, %" R "a, %" R "b;", a ^ b) \
	X(not_##U, U, R, "not." T " %" R "o, %" R "a;", ~(u64)a) \
	X(cnot_##U, U, R, "cnot." T " %" R "o, %" R "a;", !a) \
	X(shl_##U, U, R, "shl." T " %" R "o, %" R "a, %rb;", (u32)v->b >= BITS ? 0 : (u64)a << (u32)v->b)
#define WORDS(X, T, U, S, R, BITS) \
	X(brev_##U, U, R, "brev." T " %" R "o, %" R "a;", reversed(a, BITS)) \
	X(popc_##U, U, "r", "popc." T " %ro, %" R "a;", ones(a)) \
	X(clz_##U, U, "r", "clz." T " %ro, %" R "a;", a ? BITS - 1 - highest(a, 0) : BITS) \
	X(bfi_##U, U, R, "bfi." T " %" R "o, %" R "a, %" R "b, %rc, 9;", insert(a, b, (u32)v->c & 255, 9, BITS)) \
	X(bfi2_##U, U, R, "bfi." T " %" R "o, %" R "a, %" R "b, 5, %rc;", insert(a, b, 5, (u32)v->c & 255, BITS)) \
	X(bfeu_##U, U, R, "bfe.u" #BITS " %" R "o, %" R "a, %rb, %rc;", field(a, (u32)v->b & 255, (u32)v->c & 255, BITS, 0)) \
	X(bfes_##U, U, R, "bfe.s" #BITS " %" R "o, %" R "a, %rb, %rc;", field(a, (u32)v->b & 255, (u32)v->c & 255, BITS, 1)) \
	X(bfindu_##U, U, "r", "bfind.u" #BITS " %ro, %" R "a;", highest(a, 0)) \
	X(bfinds_##U, U, "r", "bfind.s" #BITS " %ro, %" R "a;", highest((u64)(s64)(S)a, (S)a < 0)) \
	X(bfshu_##U, U, "r", "bfind.shiftamt.u" #BITS " %ro, %" R "a;", a ? BITS - 1 - highest(a, 0) : UINT32_MAX) \
	X(bfshs_##U, U, "r", "bfind.shiftamt.s" #BITS " %ro, %" R "a;", \
	  highest((u64)(s64)(S)a, (S)a < 0) == UINT32_MAX ? UINT32_MAX : BITS - 1 - highest((u64)(s64)(S)a, (S)a < 0))
#define SX24(x) ((s64)((u64)(x) << 40) >> 40)
#define OTHERS(X) \
	X(wide_u16, u16, "r", "mul.wide.u16 %ro, %ha, %hb;", (u32)a * b) \
	X(wide_s16, s16, "r", "mul.wide.s16 %ro, %ha, %hb;", (s32)a * b) \
	X(wide_u32, u32, "d", "mul.wide.u32 %do, %ra, %rb;", (u64)a * b) \
	X(wide_s32, s32, "d", "mul.wide.s32 %do, %ra, %rb;", (s64)a * b) \
	X(mwide_u16, u16, "r", "mad.wide.u16 %ro, %ha, %hb, %rc;", (u32)a * b + (u32)v->c) \
	X(mwide_s16, s16, "r", "mad.wide.s16 %ro, %ha, %hb, %rc;", (u32)((s32)a * b) + (u32)v->c) \
	X(mwide_u32, u32, "d", "mad.wide.u32 %do, %ra, %rb, %dc;", (u64)a * b + v->c) \
	X(mwide_s32, s32, "d", "mad.wide.s32 %do, %ra, %rb, %dc;", (u64)((s64)a * b) + v->c) \
	X(addsat, s32, "r", "add.sat.s32 %ro, %ra, %rb;", clip((s128)a + b, INT32_MIN, INT32_MAX)) \
	X(subsat, s32, "r", "sub.sat.s32 %ro, %ra, %rb;", clip((s128)a - b, INT32_MIN, INT32_MAX)) \
	X(madsat, s32, "r", "mad.hi.sat.s32 %ro, %ra, %rb, %rc;", clip(((s128)a * b >> 32) + c, INT32_MIN, INT32_MAX)) \
	X(m24lu, u32, "r", "mul24.lo.u32 %ro, %ra, %rb;", (u64)(a & 0xffffff) * (b & 0xffffff)) \
	X(m24ls, u32, "r", "mul24.lo.s32 %ro, %ra, %rb;", SX24(a) * SX24(b)) \
	X(m24hu, u32, "r", "mul24.hi.u32 %ro, %ra, %rb;", (u64)(a & 0xffffff) * (b & 0xffffff) >> 16) \
	X(m24hs, u32, "r", "mul24.hi.s32 %ro, %ra, %rb;", SX24(a) * SX24(b) >> 16) \
	X(a24lu, u32, "r", "mad24.lo.u32 %ro, %ra, %rb, %rc;", (u64)(a & 0xffffff) * (b & 0xffffff) + c) \
	X(a24hs, u32, "r", "mad24.hi.s32 %ro, %ra, %rb, %rc;", (SX24(a) * SX24(b) >> 16) + c) \
	X(a24sat, u32, "r", "mad24.hi.sat.s32 %ro, %ra, %rb, %rc;", \
	  clip((s128)(s32)(SX24(a) * SX24(b) >> 16) + (s32)c, INT32_MIN, INT32_MAX)) \
	X(slw, u32, "r", "shf.l.wrap.b32 %ro, %ra, %rb, %rc;", ((u64)b << 32 | a) << (c & 31) >> 32) \
	X(slc, u32, "r", "shf.l.clamp.b32 %ro, %ra, %rb, %rc;", c > 31 ? a : ((u64)b << 32 | a) << c >> 32) \
	X(srw, u32, "r", "shf.r.wrap.b32 %ro, %ra, %rb, %rc;", ((u64)b << 32 | a) >> (c & 31)) \
	X(src_, u32, "r", "shf.r.clamp.b32 %ro, %ra, %rb, %rc;", c > 31 ? b : ((u64)b << 32 | a) >> c) \
	X(bmc, u32, "r", "bmsk.clamp.b32 %ro, %ra, %rb;", a > 31 ? 0 : ((1ull << (b > 32 ? 32 : b)) - 1) << a) \
	X(bmw, u32, "r", "bmsk.wrap.b32 %ro, %ra, %rb;", ((1ull << (b & 31)) - 1) << (a & 31)) \
	X(szcu, u32, "r", "szext.clamp.u32 %ro, %ra, %rb;", field(a, 0, b > 32 ? 32 : b, 32, 0)) \
	X(szcs, u32, "r", "szext.clamp.s32 %ro, %ra, %rb;", field(a, 0, b > 32 ? 32 : b, 32, 1)) \
	X(szwu, u32, "r", "szext.wrap.u32 %ro, %ra, %rb;", field(a, 0, b & 31, 32, 0)) \
	X(szws, u32, "r", "szext.wrap.s32 %ro, %ra, %rb;", field(a, 0, b & 31, 32, 1)) \
	X(fns_, u32, "r", "and.b32 %t0, %rb, 31;\nshr.s32 %t1, %rc, 27;\nfns.b32 %ro, %ra, %t0, %t1;", \
	  find_nth(a, b & 31, (s32)c >> 27)) \
	X(pr, u32, "r", "prmt.b32 %ro, %ra, %rb, %rc;", permute(a, b, c)) \
	X(pr1, u32, "r", "prmt.b32.f4e %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(0, c))) \
	X(pr2, u32, "r", "prmt.b32.b4e %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(1, c))) \
	X(pr3, u32, "r", "prmt.b32.rc8 %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(2, c))) \
	X(pr4, u32, "r", "prmt.b32.ecl %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(3, c))) \
	X(pr5, u32, "r", "prmt.b32.ecr %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(4, c))) \
	X(pr6, u32, "r", "prmt.b32.rc16 %ro, %ra, %rb, %rc;", permute(a, b, mode_selector(5, c))) \
	X(lop1, u32, "r", "lop3.b32 %ro, %ra, %rb, %rc, 0xe8;", (a & b) | (a & c) | (b & c)) \
	X(lop2, u32, "r", "lop3.b32 %ro, %ra, %rb, %rc, 0x1a;", lop(a, b, c, 0x1a)) \
	X(lop4, u32, "r", "setp.ne.u32 %p1, %rc, 5;\nlop3.and.b32 %t0|%p2, %ra, %rb, 3, 0x80, %p1;\n" \
	  "selp.b32 %ro, 1, 0, %p2;", (a & b & 3) != 0 && c != 5) \
	X(d4uu, u32, "r", "dp4a.u32.u32 %ro, %ra, %rb, %rc;", dot(a, b, c, 4, 0, 0, 0)) \
	X(d4su, u32, "r", "dp4a.s32.u32 %ro, %ra, %rb, %rc;", dot(a, b, c, 4, 1, 0, 0)) \
	X(d4us, u32, "r", "dp4a.u32.s32 %ro, %ra, %rb, %rc;", dot(a, b, c, 4, 0, 1, 0)) \
	X(d4ss, u32, "r", "dp4a.s32.s32 %ro, %ra, %rb, %rc;", dot(a, b, c, 4, 1, 1, 0)) \
	X(d2uu, u32, "r", "dp2a.lo.u32.u32 %ro, %ra, %rb, %rc;", dot(a, b, c, 2, 0, 0, 0)) \
	X(d2su, u32, "r", "dp2a.hi.s32.u32 %ro, %ra, %rb, %rc;", dot(a, b, c, 2, 1, 0, 1)) \
	X(d2us, u32, "r", "dp2a.lo.u32.s32 %ro, %ra, %rb, %rc;", dot(a, b, c, 2, 0, 1, 0)) \
	X(d2ss, u32, "r", "dp2a.hi.s32.s32 %ro, %ra, %rb, %rc;", dot(a, b, c, 2, 1, 1, 1)) \
	X(h2a, u32, "r", "add.u16x2 %ro, %ra, %rb;", halves(v, 0, 0, 0)) \
	X(h2n, u32, "r", "min.u16x2 %ro, %ra, %rb;", halves(v, 1, 0, 0)) \
	X(h2x, u32, "r", "max.s16x2 %ro, %ra, %rb;", halves(v, 2, 1, 0)) \
	X(h2r, u32, "r", "min.relu.s16x2 %ro, %ra, %rb;", halves(v, 1, 1, 1)) \
	X(mnr, s32, "r", "max.relu.s32 %ro, %ra, %rb;", a > b ? a > 0 ? a : 0 : b > 0 ? b : 0) \
	X(a128, u64, "d", "add.cc.u64 %u0, %da, %db;\naddc.u64 %do, %dc, %da;", c + a + (u64)((u64)(a + b) < a)) \
	X(s96, u64, "r", "sub.cc.u32 %t0, %ra, %rb;\nsubc.cc.u32 %t1, %rb, %rc;\nsubc.u32 %ro, %rc, %ra;", \
	  (u32)c - (u32)a - (u32)((s64)(u32)b - (s64)(u32)c - ((u32)a < (u32)b) < 0)) \
	X(mcc, u32, "r", "mad.lo.cc.u32 %t0, %ra, %rb, %rc;\nmadc.hi.u32 %ro, %ra, %rb, %rc;", \
	  ((u64)a * b >> 32) + c + ((((u64)a * b & UINT32_MAX) + c) >> 32)) \
	X(vad, u32, "r", "vadd.s32.u32.s32.sat %ro, %ra.b1, %rb.h1;", \
	  clip(part(a, 8, 1, 0) + part(b, 16, 1, 1), INT32_MIN, INT32_MAX)) \
	X(vsb, u32, "r", "vsub.u32.s32.u32.sat.min %ro, %ra, %rb.b3, %rc;", \
	  clip(clip((s128)(s32)a - part(b, 8, 3, 0), 0, UINT32_MAX), 0, c)) \
	X(vab, u32, "r", "vabsdiff.s32.s32.s32.add %ro, %ra, %rb, %rc;", \
	  ((s64)(s32)a < (s32)b ? (s64)(s32)b - (s32)a : (s64)(s32)a - (s32)b) + c) \
	X(vmn, u32, "r", "vmin.s32.s32.s32.sat %ro.b2, %ra, %rb, %rc;", \
	  (c & 0xff00ffff) | ((u32)clip((s32)a < (s32)b ? (s32)a : (s32)b, -128, 127) & 255) << 16) \
	X(vsl, u32, "r", "vshl.u32.u32.u32.sat.clamp %ro, %ra, %rb.b0;", \
	  clip((s128)a << (part(b, 8, 0, 0) > 32 ? 32 : part(b, 8, 0, 0)), 0, UINT32_MAX)) \
	X(vsr, u32, "r", "vshr.s32.s32.u32.wrap %ro, %ra, %rb;", (s32)a >> (b & 31)) \
	X(vmd, u32, "r", "vmad.s32.s32.u32.sat.shr7 %ro, %ra, %rb.h0, -%rc;", \
	  clip(((s128)(s32)a * part(b, 16, 0, 0) - (s32)c) >> 7, INT32_MIN, INT32_MAX)) \
	X(vmp, u32, "r", "vmad.u32.u32.u32.po.shr15 %ro, %ra, %rb, %rc;", ((u128)a * b + c + 1) >> 15) \
	X(vst, u32, "r", "vset.u32.s32.lt.add %ro, %ra, %rb, %rc;", c + ((s64)a < (s32)b)) \
	X(va2, u32, "r", "vavrg2.s32.s32.s32 %ro.h10, %ra.h01, %rb.h32, %rc;", \
	  (u32)(u16)average(part(a, 16, 1, 1), part(b, 16, 0, 1)) | (u32)average(part(a, 16, 0, 1), part(b, 16, 1, 1)) << 16) \
	X(vx4, u32, "r", "vabsdiff4.u32.u32.u32.add %ro, %ra, %rb, %rc;", difference4(a, b) + c) \
	X(pk1, u32, "r", "cvt.pack.sat.s16.s32 %ro, %ra, %rb;", \
	  ((u32)clip((s32)a, -32768, 32767) << 16) | ((u32)clip((s32)b, -32768, 32767) & 0xffff)) \
	X(pk2, u32, "r", "cvt.pack.sat.u8.s32.b32 %ro, %ra, %rb, %rc;", \
	  c << 16 | (u32)clip((s32)a, 0, 255) << 8 | (u32)clip((s32)b, 0, 255))
static u32
lop(u32 a, u32 b, u32 c, u32 lut)
{
	u32 r = 0;

	for (int i = 0; i < 32; i++)
		r |= (lut >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
	return r;
}
static s64
average(s64 x, s64 y)
{
	return x + y >= 0 ? (x + y + 1) >> 1 : (x + y) >> 1;
}
static u32
difference4(u32 a, u32 b)
{
	u32 n = 0;

	for (int i = 0; i < 4; i++) {
		s64 d = part(a, 8, i, 0) - part(b, 8, i, 0);
		n += (u32)(d < 0 ? -d : d);
	}
	return n;
}

#define ALL(X) \
	TYPED(X, "u16", u16, "h", 16) TYPED(X, "s16", s16, "h", 16) TYPED(X, "u32", u32, "r", 32) \
	TYPED(X, "s32", s32, "r", 32) TYPED(X, "u64", u64, "d", 64) TYPED(X, "s64", s64, "d", 64) \
	SIGNED(X, "s16", s16, "h") SIGNED(X, "s32", s32, "r") SIGNED(X, "s64", s64, "d") \
	BITS_(X, "b16", u16, "h", 16) BITS_(X, "b32", u32, "r", 32) BITS_(X, "b64", u64, "d", 64) \
	WORDS(X, "b32", u32, s32, "r", 32) WORDS(X, "b64", u64, s64, "d", 64) OTHERS(X)
#define X(id, U, R, ptx, value) static u64 m_##id(const In *v) { VALUES(U) return (u64)(value); }
ALL(X)
#undef X
static const Op ops[] = {
#define X(id, U, R, ptx, value) { ptx, R[0], m_##id },
	ALL(X)
#undef X
};
enum { NOPS = sizeof ops / sizeof *ops, ROUNDS = (NOPS + MANY_OPS - 1) / MANY_OPS };

static u64
operand(void)
{
	static const u64 edge[] = { 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, UINT64_MAX, 0x80008000,
		0x7f807f80, 0x800000, 0x7fffff, 0x100000000 };

	switch (rnd() % 6) {
	case 0: return edge[rnd() % (sizeof edge / sizeof *edge)];
	case 1: return rnd() % 80;
	case 2: return rnd() >> rnd() % 64;
	case 3: return 0 - (rnd() >> rnd() % 64);
	default: return rnd();
	}
}

TEST_EACH(exact, ROUNDS)
{
	enum { N = 1 << 13 };
	long times = rounds();
	static In v[N];
	unsigned from = (unsigned)_i * MANY_OPS, n = NOPS - from < MANY_OPS ? NOPS - from : MANY_OPS;
	Many e = many_open(ops + from, n, N);

	state = 0x9e3779b97f4a7c15ull + (u64)(unsigned)_i;
	for (long t = 0; t < times; t++) {
		for (unsigned i = 0; i < N; i++) {
			v[i] = (In){ operand(), operand(), operand() };
			if (t < 8)              /* every 16-bit number */
				v[i].a = (u64)t * N + i;
		}
		many_compare(&e, v);
	}
	many_close(&e);
}

MANY_PROGRAM;
