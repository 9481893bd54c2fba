/* small_float.c - emits conversions of floats of up to 8 bits by arithmetic on their codes, one at a time:
 * to f32 and from it. fp8.c has those with instructions, dequant.c those of full words.
 *
 * A code's exponent and mantissa, shifted to those fields of the wider type, represent the number except
 * for a power of two, the difference of the biases; also for subnormal numbers. A shift, a mask and a
 * multiplication are therefore exact. */
#include "hexc/ir/dtype_value.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"
#include <math.h>

/* Returns the mask of d's exponent and mantissa, shifted to a type with `man` bits of mantissa. */
static int64_t
magnitude_mask(DType d, int man)
{
	return (((int64_t)1 << (dtype_info[d].bits - 1)) - 1) << (man - dtype_info[d].man);
}

/* ---- to wider floats ------------------------------------------------------------------------- */

/* Emits 2^(code - 127), as cast sequences do (infer/narrow_cast/narrow_float.c): 3/2 of the power of two
 * minus half of it. */
static LV
scale_to_f32(Codegen *g, LV word, int pos)
{
	int up = 23 - 8 * pos;
	LV x = up > 0 ? LLVMBuildShl(g->b, word, const_i32(g, up), "")
	              : LLVMBuildLShr(g->b, word, const_i32(g, -up), "");
	LV e[3] = { NULL, const_f32(g, -0.5), NULL };

	x = LLVMBuildAnd(g->b, x, const_i32(g, 0x7f800000), "");
	e[0] = as_f32(g, x);
	e[2] = as_f32(g, LLVMBuildOr(g->b, x, const_i32(g, 0x00400000), ""));
	return call_fp(g, "llvm.fma", g->f32, e, 3);
}

LV
small_to_f32(Codegen *g, DType d, LV word, int pos)
{
	const DTypeInfo *t = &dtype_info[d];
	int up = 32 - t->bits - dtype_slot_bits(d) * pos;
	LV x, sign;

	if (t->codes == C_table)
		return table_to_f32(g, d, word, pos);
	if (t->codes == C_scale)
		return scale_to_f32(g, word, pos);
	x = up ? LLVMBuildShl(g->b, word, const_i32(g, up), "") : word; /* the sign is in bit 31 */
	sign = LLVMBuildAnd(g->b, x, const_i32(g, 0x80000000), "");
	x = LLVMBuildLShr(g->b, x, const_i32(g, 8 - t->exp), "");
	x = LLVMBuildAnd(g->b, x, const_i32(g, magnitude_mask(d, 23)), "");
	x = as_f32(g, LLVMBuildOr(g->b, sign, x, ""));
	return LLVMBuildFMul(g->b, x, const_f32(g, ldexp(1, 127 - dtype_bias(d))), "");
}

/* ---- from f32 -------------------------------------------------------------------------------- */

/* Rounds the magnitude to the nearest power of two, ties to the larger one. */
static LV
scale_code(Codegen *g, LV x)
{
	LV i = LLVMBuildAnd(g->b, as_i32(g, x), const_i32(g, 0x7fffffff), ""), r, small, large;
	LV nan = LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, ""), most = const_i32(g, 254);

	r = LLVMBuildAdd(g->b, i, const_i32(g, 0x00400000), "");
	r = LLVMBuildLShr(g->b, r, const_i32(g, 23), "");
	/* 2^-127 is among f32's subnormal numbers: from 3/2 of it on, 2^-126 is nearer */
	small = LLVMBuildICmp(g->b, LLVMIntULT, i, const_i32(g, 0x00600000), "");
	r = LLVMBuildSelect(g->b, small, const_i32(g, 0), r, "");
	large = LLVMBuildICmp(g->b, LLVMIntUGT, r, most, "");
	r = LLVMBuildSelect(g->b, large, most, r, "");
	return LLVMBuildSelect(g->b, nan, const_i32(g, 255), r, "");
}

/* Rounds by adding a power of two with the type's ulp; then adjusts the exponent's bias by a
 * multiplication, which also denormalizes. */
static LV
grid_code(Codegen *g, DType d, LV x)
{
	int man = dtype_info[d].man, bias = dtype_bias(d), top = dtype_info[d].bits - 1;
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
	low = LLVMBuildSelect(g->b, nan, const_i32(g, ((int64_t)1 << top) - 1), low, "");
	bits = LLVMBuildLShr(g->b, bits, const_i32(g, 31 - top), "");
	bits = LLVMBuildAnd(g->b, bits, const_i32(g, (int64_t)1 << top), "");
	bits = LLVMBuildSelect(g->b, nan, const_i32(g, 0), bits, "");
	return LLVMBuildOr(g->b, low, bits, "");
}

LV
small_from_f32(Codegen *g, DType d, LV x)
{
	switch ((DCodes)dtype_info[d].codes) {
	case C_scale: return scale_code(g, x);
	case C_table: return table_code(g, d, x);
	default: return grid_code(g, d, x);
	}
}
