/* fp8.c - emits conversions of e4m3 and e5m2, in pairs, to f16 and from f32: by cvt on targets that have
 * it, else by arithmetic on their codes. Every number of both types is an f16 number. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"

const Fp8 *
fp8_conversions(DType d)
{
	static const Fp8 all[] = {
		{ D_e4m3, A_h2_e4m3x2, A_e4m3x2_f32, A_e4m3x2_h2 },
		{ D_e5m2, A_h2_e5m2x2, A_e5m2x2_f32, A_e5m2x2_h2 },
	};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (all[i].d == d)
			return &all[i];
	return NULL;
}

static bool
has_cvt(const Codegen *g, DType d)
{
	return g->u->target->features & dtype_info[d].cvt;
}

/* ---- to f16 ---------------------------------------------------------------------------------- */

/* An e4m3 code in the exponent and mantissa field of f16 is 2^-8 times its value, also for subnormals. */
static LV
e4m3_to_h2(Codegen *g, LV high)
{
	LV mag = LLVMBuildLShr(g->b, LLVMBuildAnd(g->b, high, const_i32(g, 0x7f007f00), ""),
	                       const_i32(g, 1), "");
	LV sign = LLVMBuildAnd(g->b, high, const_i32(g, 0x80008000), "");
	LV x = as_h2(g, LLVMBuildOr(g->b, mag, sign, "")), nan;

	x = from_h2(g, LLVMBuildFMul(g->b, x, as_h2(g, const_i32(g, 0x5c005c00)), "")); /* 256 */
	/* 0x7f is NaN: adding 0x80 carries into the next bit, and 480 | 0x2000 is a NaN */
	nan = LLVMBuildAnd(g->b, LLVMBuildAdd(g->b, mag, const_i32(g, 0x00800080), ""),
	                   const_i32(g, 0x40004000), "");
	return LLVMBuildOr(g->b, x, LLVMBuildLShr(g->b, nan, const_i32(g, 1), ""), "");
}

LV
fp8_to_h2(Codegen *g, DType d, LV word, int half)
{
	LV high;

	if (has_cvt(g, d)) {
		high = half ? LLVMBuildLShr(g->b, word, const_i32(g, 16), "") : word;
		high = LLVMBuildTrunc(g->b, high, g->i16, "");
		return asm_op(g, fp8_conversions(d)->to_h2, high, NULL, NULL);
	}
	/* each code in the upper byte of a half; for e5m2 that is its value */
	high = prmt(g, word, const_i32(g, 0), half ? 0x3424u : 0x1404u);
	return d == D_e5m2 ? high : e4m3_to_h2(g, high);
}

/* ---- from f32 -------------------------------------------------------------------------------- */

LV
fp8_from_floats(Codegen *g, DType d, LV lo, LV hi)
{
	LV x;

	if (!has_cvt(g, d)) {
		x = LLVMBuildShl(g->b, small_from_f32(g, d, hi), const_i32(g, 8), "");
		return LLVMBuildOr(g->b, small_from_f32(g, d, lo), x, "");
	}
	x = asm_op(g, fp8_conversions(d)->from_f32, hi, lo, NULL);
	return LLVMBuildZExt(g->b, x, g->i32, "");
}

LV
fp8_from_h2(Codegen *g, DType d, LV h2)
{
	LV x = asm_op(g, fp8_conversions(d)->from_h2, h2, NULL, NULL);

	return LLVMBuildZExt(g->b, x, g->i32, "");
}
