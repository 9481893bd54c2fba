/* fp8.c - e4m3 and e5m2: two at a time to f16 and from f32, by cvt on targets that have it, else by
 * arithmetic on their codes.  Every number of both types is one of f16. */
#include "hexc/number.h"
#include "ptxgen/elt.h"
#include <math.h>

static bool
has_cvt(const Gen *g)
{
	return g->u->target->features & T_FP8;
}

/* ---- to f16 ---------------------------------------------------------------------------------- */

/* e4m3 in the exponent and mantissa field of f16 stands for 2^-8 of its value, subnormals too. */
static LV
e4m3_to_h2(Gen *g, LV high)
{
	LV mag = LLVMBuildLShr(g->b, LLVMBuildAnd(g->b, high, const_i32(g, 0x7f007f00), ""),
	                       const_i32(g, 1), "");
	LV sign = LLVMBuildAnd(g->b, high, const_i32(g, 0x80008000), "");
	LV x = as_h2(g, LLVMBuildOr(g->b, mag, sign, "")), nan;

	x = from_h2(g, LLVMBuildFMul(g->b, x, as_h2(g, const_i32(g, 0x5c005c00)), "")); /* 256 */
	/* 0x7f is NaN: it carries into the bit above, and 480 | 0x2000 is a NaN */
	nan = LLVMBuildAnd(g->b, LLVMBuildAdd(g->b, mag, const_i32(g, 0x00800080), ""),
	                   const_i32(g, 0x40004000), "");
	return LLVMBuildOr(g->b, x, LLVMBuildLShr(g->b, nan, const_i32(g, 1), ""), "");
}

LV
fp8_to_h2(Gen *g, DType d, LV word, int half)
{
	LV high;

	if (has_cvt(g)) {
		high = half ? LLVMBuildLShr(g->b, word, const_i32(g, 16), "") : word;
		high = LLVMBuildTrunc(g->b, high, g->i16, "");
		return asm_op(g, d == D_e4m3 ? A_h2_e4m3x2 : A_h2_e5m2x2, high, NULL, NULL);
	}
	/* each code in the upper byte of a half; of e5m2 that is its value */
	high = prmt(g, word, const_i32(g, 0), half ? 0x3424u : 0x1404u);
	return d == D_e5m2 ? high : e4m3_to_h2(g, high);
}

/* ---- from f32 -------------------------------------------------------------------------------- */

/* The code of a float as i32: rounded by adding a power of two whose last place weighs as much as the type's,
 * then the exponent's bias moved by a multiplication, which also denormalizes. */
static LV
code_of(Gen *g, DType d, LV x)
{
	int man = dtype_info[d].man, bias = (1 << (dtype_info[d].exp - 1)) - 1;
	LV bits = LLVMBuildBitCast(g->b, x, g->i32, ""), a, e, magic, r, low, nan;
	LV least = const_i32(g, (int64_t)(127 + 1 - bias) << 23);
	LV most = const_f32(g, num_largest(d));

	a = LLVMBuildAnd(g->b, bits, const_i32(g, 0x7fffffff), "");
	nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
	a = LLVMBuildBitCast(g->b, a, g->f32, "");
	a = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, a, most, ""), a, most, "");
	e = LLVMBuildAnd(g->b, LLVMBuildBitCast(g->b, a, g->i32, ""), const_i32(g, 0x7f800000), "");
	e = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntUGT, e, least, ""), e, least, "");
	magic = LLVMBuildAdd(g->b, e, const_i32(g, (int64_t)(23 - man) << 23), "");
	magic = LLVMBuildBitCast(g->b, magic, g->f32, "");
	r = LLVMBuildFSub(g->b, LLVMBuildFAdd(g->b, a, magic, ""), magic, "");
	r = LLVMBuildFMul(g->b, r, const_f32(g, ldexp(1, bias - 127)), "");
	low = LLVMBuildLShr(g->b, LLVMBuildBitCast(g->b, r, g->i32, ""), const_i32(g, 23 - man), "");
	low = LLVMBuildSelect(g->b, nan, const_i32(g, 0x7f), low, "");
	bits = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, const_i32(g, 24), ""), const_i32(g, 0x80), "");
	bits = LLVMBuildSelect(g->b, nan, const_i32(g, 0), bits, "");
	return LLVMBuildOr(g->b, low, bits, "");
}

LV
fp8_from_floats(Gen *g, DType d, LV lo, LV hi)
{
	LV x;

	if (!has_cvt(g)) {
		x = LLVMBuildShl(g->b, code_of(g, d, hi), const_i32(g, 8), "");
		return LLVMBuildOr(g->b, code_of(g, d, lo), x, "");
	}
	x = asm_op(g, d == D_e4m3 ? A_e4m3x2_f32 : A_e5m2x2_f32, hi, lo, NULL);
	return LLVMBuildZExt(g->b, x, g->i32, "");
}

LV
fp8_from_h2(Gen *g, DType d, LV h2)
{
	LV x = asm_op(g, d == D_e4m3 ? A_e4m3x2_h2 : A_e5m2x2_h2, h2, NULL, NULL);

	return LLVMBuildZExt(g->b, x, g->i32, "");
}
