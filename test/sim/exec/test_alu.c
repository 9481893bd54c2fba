/* test_alu.c - tests integer and bit instructions against plain C. */
#include "test/check.h"
#include "test/sim/exec/eval.h"

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;
typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef int16_t s16;

#define F(name, expr) static u64 name(u64 a, u64 b, u64 c) { (void)a; (void)b; (void)c; return (u64)(expr); }
F(f_add, a + b) F(f_sub, a - b) F(f_mul, a * b) F(f_mad, a * b + c)
F(f_hi_u32, (u32)a * (u64)(u32)b >> 32) F(f_hi_s32, (u32)((s64)(s32)a * (s32)b >> 32))
F(f_hi_u64, (u128)a * b >> 64) F(f_hi_s64, (s128)(s64)a * (s64)b >> 64)
F(f_hi_u16, (u32)(u16)a * (u16)b >> 16) F(f_hi_s16, (s32)(s16)a * (s16)b >> 16)
F(f_wide_u16, (u32)(u16)a * (u16)b) F(f_wide_s16, (u32)((s32)(s16)a * (s16)b))
F(f_wide_u32, (u64)(u32)a * (u32)b) F(f_wide_s32, (s64)(s32)a * (s32)b)
F(f_madwide, (u64)((s64)(s32)a * (s32)b) + c)
F(f_madhi, (u32)((s64)(s32)a * (s32)b >> 32) + (u32)c)
F(f_div_u32, (u32)b ? (u32)a / (u32)b : ~0u)
F(f_div_s32, (s32)b ? (s64)(s32)a / (s32)b : -1) F(f_rem_s32, (s32)b ? (s64)(s32)a % (s32)b : (s32)a)
F(f_div_s64, (s64)b == 0 ? -1 : (s64)b == -1 ? (s64)(0 - a) : (s64)a / (s64)b)
F(f_rem_u64, b ? a % b : a) F(f_div_s16, (s16)b ? (s16)a / (s16)b : -1)
F(f_abs32, (s32)a < 0 ? 0 - (u32)a : (u32)a) F(f_neg64, 0 - a) F(f_abs16, (s16)a < 0 ? 0 - a : a)
F(f_min_s32, (s32)a < (s32)b ? a : b) F(f_max_u32, (u32)a > (u32)b ? a : b)
F(f_min_s16, (s16)a < (s16)b ? a : b) F(f_max_s64, (s64)a > (s64)b ? a : b)
F(f_and, a & b) F(f_or, a | b) F(f_xor, a ^ b) F(f_not, ~a) F(f_cnot, a ? 0 : 1)
F(f_cnot32, (u32)a ? 0 : 1)
F(f_shl32, (u32)b > 31 ? 0 : (u32)a << (b & 31)) F(f_shr32, (u32)b > 31 ? 0 : (u32)a >> (b & 31))
F(f_sar32, (s32)a >> ((u32)b > 31 ? 31 : b & 31)) F(f_shl64, (u32)b > 63 ? 0 : a << (b & 63))
F(f_sar64, (s64)a >> ((u32)b > 63 ? 63 : b & 63)) F(f_shr16, (u32)b > 15 ? 0 : (u16)a >> (b & 15))
F(f_sar16, (s16)a >> ((u32)b > 15 ? 15 : b & 15))
F(f_shflw, (u32)(((b << 32 | (u32)a) << (c & 31)) >> 32))
F(f_shfrw, (u32)((b << 32 | (u32)a) >> (c & 31)))
F(f_shflc, (u32)c > 31 ? (u32)a : (u32)(((b << 32 | (u32)a) << (c & 31)) >> 32))
F(f_shfrc, (u32)c > 31 ? (u32)b : (u32)((b << 32 | (u32)a) >> (c & 31)))
F(f_popc32, __builtin_popcount((u32)a)) F(f_popc64, __builtin_popcountll(a))
F(f_clz32, (u32)a ? __builtin_clz((u32)a) : 32) F(f_clz64, a ? __builtin_clzll(a) : 64)
F(f_sad_u32, c + ((u32)a < (u32)b ? (u32)b - (u32)a : (u32)a - (u32)b))
F(f_sad_s32, c + ((s32)a < (s32)b ? (u32)b - (u32)a : (u32)a - (u32)b))
F(f_slct, (s32)c >= 0 ? a : b) F(f_mul24, (a & 0xffffff) * (b & 0xffffff))

	static s64
	clamp(s64 v, s64 lo, s64 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}
F(f_addsat, clamp((s64)(s32)a + (s32)b, INT32_MIN, INT32_MAX))
F(f_subsat, clamp((s64)(s32)a - (s32)b, INT32_MIN, INT32_MAX))
F(f_madsat, clamp(((s64)(s32)a * (s32)b >> 32) + (s32)c, INT32_MIN, INT32_MAX))
F(f_sat_s8, clamp((s32)a, -128, 127)) F(f_sat_u8, clamp((s32)a, 0, 255))
F(f_sat_u16, clamp((s64)a, 0, 65535)) F(f_s8, (s32)(int8_t)a) F(f_sext16, (s64)(s16)a)
F(f_sat_u32s64, clamp((s64)a, 0, UINT32_MAX))

	/* After the pseudo-code of the ISA. */
	static u64
	f_bfe(u64 a, u64 b, u64 c, int bits, int sign)
{
	int pos = (int)(b & 255), len = (int)(c & 255), msb = bits - 1, sbit;
	u64 d = 0;

	if (!sign || len == 0)
		sbit = 0;
	else
		sbit = (int)(a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1);
	for (int i = 0; i <= msb; i++)
		d |= (u64)(i < len && pos + i <= msb ? (int)(a >> (pos + i) & 1) : sbit) << i;
	return d;
}
static u64 f_bfe_u32(u64 a, u64 b, u64 c) { return f_bfe(a, b, c, 32, 0); }
static u64 f_bfe_s32(u64 a, u64 b, u64 c) { return f_bfe(a, b, c, 32, 1); }
static u64 f_bfe_u64(u64 a, u64 b, u64 c) { return f_bfe(a, b, c, 64, 0); }
static u64 f_bfe_s64(u64 a, u64 b, u64 c) { return f_bfe(a, b, c, 64, 1); }

/* bfi d, a, b, pos, len with a = the bits, b = the base; pos, len are bytes of c */
static u64
f_bfi(u64 a, u64 b, u64 c)
{
	int pos = (int)(c & 255), len = (int)(c >> 8 & 255);
	u32 f = (u32)b;

	for (int i = 0; i < len && pos + i <= 31; i++)
		f = (f & ~(1u << (pos + i))) | (u32)(a >> i & 1) << (pos + i);
	return f;
}

static u64
f_bfind(u64 a, int bits, int sign, int shift)
{
	int d = -1;

	if (sign && a >> (bits - 1) & 1)
		a = ~a;
	for (int i = bits - 1; i >= 0; i--)
		if (a >> i & 1) {
			d = i;
			break;
		}
	return (u32)(shift && d != -1 ? bits - 1 - d : d);
}
static u64 f_bfind_u32(u64 a, u64 b, u64 c) { (void)b; (void)c; return f_bfind(a, 32, 0, 0); }
static u64 f_bfind_s32(u64 a, u64 b, u64 c) { (void)b; (void)c; return f_bfind(a, 32, 1, 0); }
static u64 f_bfind_s64(u64 a, u64 b, u64 c) { (void)b; (void)c; return f_bfind(a, 64, 1, 0); }
static u64 f_bfindsh(u64 a, u64 b, u64 c) { (void)b; (void)c; return f_bfind(a, 32, 0, 1); }

static u64
rev(u64 a, int bits)
{
	u64 d = 0;

	for (int i = 0; i < bits; i++)
		d |= (a >> i & 1) << (bits - 1 - i);
	return d;
}
static u64 f_brev32(u64 a, u64 b, u64 c) { (void)b; (void)c; return rev(a, 32); }
static u64 f_brev64(u64 a, u64 b, u64 c) { (void)b; (void)c; return rev(a, 64); }

static u64
bytes_of(u64 a, u64 b, const int *sel)
{
	u64 ab = (u64)(u32)b << 32 | (u32)a, d = 0;

	for (int i = 0; i < 4; i++)
		d |= (ab >> 8 * sel[i] & 255) << 8 * i;
	return d;
}
static u64
f_prmt(u64 a, u64 b, u64 c)
{
	u64 ab = (u64)(u32)b << 32 | (u32)a, d = 0;

	for (int i = 0; i < 4; i++) {
		u64 s = c >> 4 * i & 15, byte = ab >> 8 * (s & 7) & 255;
		d |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
	}
	return d;
}
#define PR(name, t0, t1, t2, t3) static u64 name(u64 a, u64 b, u64 c) { \
	static const int t[4][4] = { t0, t1, t2, t3 }; return bytes_of(a, b, t[c & 3]); }
#define Q(a, b, c, d) { a, b, c, d }
PR(f_f4e, Q(0, 1, 2, 3), Q(1, 2, 3, 4), Q(2, 3, 4, 5), Q(3, 4, 5, 6))
PR(f_b4e, Q(0, 7, 6, 5), Q(1, 0, 7, 6), Q(2, 1, 0, 7), Q(3, 2, 1, 0))
PR(f_rc8, Q(0, 0, 0, 0), Q(1, 1, 1, 1), Q(2, 2, 2, 2), Q(3, 3, 3, 3))
PR(f_ecl, Q(0, 1, 2, 3), Q(1, 1, 2, 3), Q(2, 2, 2, 3), Q(3, 3, 3, 3))
PR(f_ecr, Q(0, 0, 0, 0), Q(0, 1, 1, 1), Q(0, 1, 2, 2), Q(0, 1, 2, 3))
PR(f_rc16, Q(0, 1, 0, 1), Q(2, 3, 2, 3), Q(0, 1, 0, 1), Q(2, 3, 2, 3))

static u64
f_lop3(u64 a, u64 b, u64 c)
{
	return (a & b) | (~c & (a ^ b));
}
static u64
f_dp4a(u64 a, u64 b, u64 c)
{
	for (int i = 0; i < 32; i += 8)
		c += (u64)(s64)((int8_t)(a >> i) * (int)(uint8_t)(b >> i));
	return c;
}
static u64
f_dp2a(u64 a, u64 b, u64 c)
{
	return c + (u64)(s64)((s16)a * (int8_t)(b >> 16)) + (u64)(s64)((s16)(a >> 16) * (int8_t)(b >> 24));
}
static u64
f_add128(u64 a, u64 b, u64 c)
{
	u128 x = (u128)a << 64 | b, y = (u128)b << 64 | c;

	return (u64)((x + y) >> 64) ^ (u64)((x - y) >> 64);
}
static u64 f_no_borrow(u64 a, u64 b, u64 c) { (void)c; return (u32)a >= (u32)b; }
static u64 f_mad64(u64 a, u64 b, u64 c) { return (u64)(((u128)a * b + c) >> 64); }

typedef struct Row { const char *ptx; char kind; u64 mask; u64 (*f)(u64, u64, u64); } Row;
#define M16 0xffffu
#define M32 0xffffffffu
#define M64 ~0ull
static const Row rows[] = {
	{ "add.s32 %ro, %ra, %rb;", 'r', M32, f_add }, { "add.u64 %do, %da, %db;", 'd', M64, f_add },
	{ "add.u16 %ho, %ha, %hb;", 'h', M16, f_add }, { "sub.s32 %ro, %ra, %rb;", 'r', M32, f_sub },
	{ "sub.s64 %do, %da, %db;", 'd', M64, f_sub }, { "mul.lo.s32 %ro, %ra, %rb;", 'r', M32, f_mul },
	{ "mul.lo.u16 %ho, %ha, %hb;", 'h', M16, f_mul }, { "mul.lo.s64 %do, %da, %db;", 'd', M64, f_mul },
	{ "mad.lo.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_mad },
	{ "mad.lo.u64 %do, %da, %db, %dc;", 'd', M64, f_mad },
	{ "mad.lo.s16 %ho, %ha, %hb, %hc;", 'h', M16, f_mad },
	{ "mul.hi.u32 %ro, %ra, %rb;", 'r', M32, f_hi_u32 },
	        { "mul.hi.s32 %ro, %ra, %rb;", 'r', M32, f_hi_s32 },
	{ "mul.hi.u64 %do, %da, %db;", 'd', M64, f_hi_u64 },
	        { "mul.hi.s64 %do, %da, %db;", 'd', M64, f_hi_s64 },
	{ "mul.hi.u16 %ho, %ha, %hb;", 'h', M16, f_hi_u16 },
	        { "mul.hi.s16 %ho, %ha, %hb;", 'h', M16, f_hi_s16 },
	{ "mul.wide.u16 %ro, %ha, %hb;", 'r', M32, f_wide_u16 },
	{ "mul.wide.s16 %ro, %ha, %hb;", 'r', M32, f_wide_s16 },
	{ "mul.wide.u32 %do, %ra, %rb;", 'd', M64, f_wide_u32 },
	{ "mul.wide.s32 %do, %ra, %rb;", 'd', M64, f_wide_s32 },
	{ "mad.wide.s32 %do, %ra, %rb, %dc;", 'd', M64, f_madwide },
	{ "mad.hi.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_madhi },
	{ "mad.hi.sat.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_madsat },
	{ "mul24.lo.u32 %ro, %ra, %rb;", 'r', M32, f_mul24 },
	{ "add.sat.s32 %ro, %ra, %rb;", 'r', M32, f_addsat },
	        { "sub.sat.s32 %ro, %ra, %rb;", 'r', M32, f_subsat },
	{ "div.u32 %ro, %ra, %rb;", 'r', M32, f_div_u32 }, { "div.s32 %ro, %ra, %rb;", 'r', M32, f_div_s32 },
	{ "rem.s32 %ro, %ra, %rb;", 'r', M32, f_rem_s32 }, { "div.s64 %do, %da, %db;", 'd', M64, f_div_s64 },
	{ "rem.u64 %do, %da, %db;", 'd', M64, f_rem_u64 }, { "div.s16 %ho, %ha, %hb;", 'h', M16, f_div_s16 },
	{ "abs.s32 %ro, %ra;", 'r', M32, f_abs32 }, { "neg.s64 %do, %da;", 'd', M64, f_neg64 },
	{ "abs.s16 %ho, %ha;", 'h', M16, f_abs16 }, { "min.s32 %ro, %ra, %rb;", 'r', M32, f_min_s32 },
	{ "max.u32 %ro, %ra, %rb;", 'r', M32, f_max_u32 }, { "min.s16 %ho, %ha, %hb;", 'h', M16, f_min_s16 },
	{ "max.s64 %do, %da, %db;", 'd', M64, f_max_s64 }, { "and.b32 %ro, %ra, %rb;", 'r', M32, f_and },
	{ "or.b64 %do, %da, %db;", 'd', M64, f_or }, { "xor.b16 %ho, %ha, %hb;", 'h', M16, f_xor },
	{ "not.b32 %ro, %ra;", 'r', M32, f_not }, { "not.b16 %ho, %ha;", 'h', M16, f_not },
	{ "cnot.b64 %do, %da;", 'd', M64, f_cnot }, { "cnot.b32 %ro, %ra;", 'r', M32, f_cnot32 },
	{ "shl.b32 %ro, %ra, %rb;", 'r', M32, f_shl32 }, { "shr.u32 %ro, %ra, %rb;", 'r', M32, f_shr32 },
	{ "shr.s32 %ro, %ra, %rb;", 'r', M32, f_sar32 }, { "shr.b32 %ro, %ra, %rb;", 'r', M32, f_shr32 },
	{ "shl.b64 %do, %da, %rb;", 'd', M64, f_shl64 }, { "shr.s64 %do, %da, %rb;", 'd', M64, f_sar64 },
	{ "shr.u16 %ho, %ha, %rb;", 'h', M16, f_shr16 }, { "shr.s16 %ho, %ha, %rb;", 'h', M16, f_sar16 },
	{ "shf.l.wrap.b32 %ro, %ra, %rb, %rc;", 'r', M32, f_shflw },
	{ "shf.r.wrap.b32 %ro, %ra, %rb, %rc;", 'r', M32, f_shfrw },
	{ "shf.l.clamp.b32 %ro, %ra, %rb, %rc;", 'r', M32, 0 },
	{ "shf.r.clamp.b32 %ro, %ra, %rb, %rc;", 'r', M32, f_shfrc },
	{ "popc.b32 %ro, %ra;", 'r', M32, f_popc32 }, { "popc.b64 %ro, %da;", 'r', M32, f_popc64 },
	{ "clz.b32 %ro, %ra;", 'r', M32, f_clz32 }, { "clz.b64 %ro, %da;", 'r', M32, f_clz64 },
	{ "sad.u32 %ro, %ra, %rb, %rc;", 'r', M32, f_sad_u32 },
	{ "sad.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_sad_s32 },
	{ "slct.b64.s32 %do, %da, %db, %rc;", 'd', M64, f_slct },
	{ "bfe.u32 %ro, %ra, %rb, %rc;", 'r', M32, f_bfe_u32 },
	        { "bfe.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_bfe_s32 },
	{ "bfe.u64 %do, %da, %rb, %rc;", 'd', M64, f_bfe_u64 },
	        { "bfe.s64 %do, %da, %rb, %rc;", 'd', M64, f_bfe_s64 },
	{ "shr.u32 %t0, %rc, 8;\nbfi.b32 %ro, %ra, %rb, %rc, %t0;", 'r', M32, f_bfi },
	{ "bfind.u32 %ro, %ra;", 'r', M32, f_bfind_u32 }, { "bfind.s32 %ro, %ra;", 'r', M32, f_bfind_s32 },
	{ "bfind.s64 %ro, %da;", 'r', M32, f_bfind_s64 },
	{ "bfind.shiftamt.u32 %ro, %ra;", 'r', M32, f_bfindsh },
	{ "brev.b32 %ro, %ra;", 'r', M32, f_brev32 }, { "brev.b64 %do, %da;", 'd', M64, f_brev64 },
	{ "prmt.b32 %ro, %ra, %rb, %rc;", 'r', M32, f_prmt },
	        { "prmt.b32.f4e %ro, %ra, %rb, %rc;", 'r', M32, f_f4e },
	{ "prmt.b32.b4e %ro, %ra, %rb, %rc;", 'r', M32, f_b4e },
	        { "prmt.b32.rc8 %ro, %ra, %rb, %rc;", 'r', M32, f_rc8 },
	{ "prmt.b32.ecl %ro, %ra, %rb, %rc;", 'r', M32, f_ecl },
	        { "prmt.b32.ecr %ro, %ra, %rb, %rc;", 'r', M32, f_ecr },
	{ "prmt.b32.rc16 %ro, %ra, %rb, %rc;", 'r', M32, f_rc16 },
	{ "lop3.b32 %ro, %ra, %rb, %rc, 0xd4;", 'r', M32, f_lop3 },
	{ "dp4a.s32.u32 %ro, %ra, %rb, %rc;", 'r', M32, f_dp4a },
	{ "dp2a.hi.s32.s32 %ro, %ra, %rb, %rc;", 'r', M32, f_dp2a },
	{ "cvt.sat.s8.s32 %ro, %ra;", 'r', M32, f_sat_s8 },
	        { "cvt.sat.u8.s32 %ro, %ra;", 'r', M32, f_sat_u8 },
	{ "cvt.sat.u16.s64 %ho, %da;", 'h', M16, f_sat_u16 }, { "cvt.s8.s32 %ro, %ra;", 'r', M32, f_s8 },
	{ "cvt.s32.s8 %ro, %ra;", 'r', M32, f_s8 }, { "cvt.s64.s16 %do, %ha;", 'd', M64, f_sext16 },
	{ "cvt.sat.u32.s64 %ro, %da;", 'r', M32, f_sat_u32s64 },
	{ "add.cc.u64 %u0, %db, %dc;\naddc.u64 %u1, %da, %db;\nsub.cc.u64 %u0, %db, %dc;\n"
	  "subc.u64 %u2, %da, %db;\nxor.b64 %do, %u1, %u2;", 'd', M64, f_add128 },
	{ "sub.cc.u32 %t0, %ra, %rb;\naddc.u32 %ro, 0, 0;", 'r', M32, f_no_borrow },
	{ "mad.lo.cc.u64 %u0, %da, %db, %dc;\nmadc.hi.u64 %do, %da, %db, 0;", 'd', M64, f_mad64 },
	{ "mov.b64 {%t0, %t1}, %da;\nmov.b32 {%v0, %v1}, %t0;\nmov.b32 %t0, {%v0, %v1};\n"
	  "mov.b64 {%v0, %v1, %v2, %v3}, %da;\nmov.b64 %u1, {%v0, %v1, %v2, %v3};\n"
	  "mov.b64 %u0, {%t0, %t1};\nand.b64 %do, %u0, %u1;\nadd.s64 %do, %do, %db;", 'd', M64, f_add },
};

TEST_EACH(ints, sizeof rows / sizeof *rows)
{
	static const u64 special[] = { 0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		        ~0ull,
		0x0123456789abcdef };
	enum { NS = sizeof special / sizeof *special, N = NS * NS * 3 };
	static Eval v[N];
	const Row *r = &rows[_i];
	u64 x = 88172645463325252ull;
	unsigned n = 0;

	for (int i = 0; i < NS; i++)
		for (int j = 0; j < NS; j++)
			for (int k = 0; k < 3; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				v[n].a = k == 2 ? x : special[i];
				v[n].b = k == 2 ? x * 2862933555777941757ull >> (j * 3) : special[j];
				v[n].c = k == 0 ? special[(i * 7 + j) % NS] : x >> (i + j);
				n++;
			}
	eval(r->ptx, r->kind, v, n);
	for (unsigned i = 0; i < n; i++) {
		u64 want = (r->f ? r->f : f_shflc)(v[i].a, v[i].b, v[i].c) & r->mask;
		if (!r->f)      /* shf.l: the high word of b:a shifted left; clamp at 32 gives a */
			want = (u32)v[i].c > 31 ? (u32)v[i].a : f_shflw(v[i].a, v[i].b, v[i].c);
		ck_assert_msg(v[i].out == want, "%s a %llx b %llx c %llx: %llx, not %llx", r->ptx,
		              (unsigned long long)v[i].a, (unsigned long long)v[i].b,
		              (unsigned long long)v[i].c,
		              (unsigned long long)v[i].out, (unsigned long long)want);
	}
}

/* setp with its boolean combine and two results, against C. */
TEST_EACH(compares, 18)
{
	static const char *const ops[] = { "eq", "ne", "lt", "le", "gt", "ge" };
	static const char *const comb[] = { "and", "or", "xor" };
	Eval v[300];
	char text[400];
	u32 x = 7;

	for (int i = 0; i < 300; i++) {
		x = x * 1664525u + 1013904223u;
		v[i].a = x >> 29;
		v[i].b = x >> 20 & 7;
		v[i].c = x >> 10 & 1;
		if (i % 3 == 0)
			v[i].a = 0 - v[i].a;
	}
	snprintf(text, sizeof text,
	         "setp.ne.u32 %%p1, %%rc, 0;\nsetp.%s.%s.s32 %%p2|%%p3, %%ra, %%rb, %%p1;\n"
	         "selp.b32 %%t0, 1, 0, %%p2;\nselp.b32 %%t1, 2, 0, %%p3;\nset.%s.u32.s32 %%t2, %%ra, %%rb;\n"
	         "and.b32 %%t2, %%t2, 4;\nor.b32 %%t0, %%t0, %%t1;\nor.b32 %%ro, %%t0, %%t2;\n", ops[_i % 6],
	         comb[_i / 6], ops[_i % 6]);
	eval(text, 'r', v, 300);
	for (int i = 0; i < 300; i++) {
		s32 a = (s32)v[i].a, b = (s32)v[i].b;
		int c = v[i].c != 0, t, p, q, k = _i / 6;
		switch (_i % 6) {
		case 0: t = a == b; break;
		case 1: t = a != b; break;
		case 2: t = a < b; break;
		case 3: t = a <= b; break;
		case 4: t = a > b; break;
		default: t = a >= b; break;
		}
		p = k == 0 ? t & c : k == 1 ? t | c : t ^ c;
		q = k == 0 ? (t ^ 1) & c : k == 1 ? (t ^ 1) | c : t ^ 1 ^ c;
		ck_assert_uint_eq(v[i].out, (u64)(p | q << 1 | t << 2));
	}
}
