/* shuffle.c - words of any type through warp shuffles. */
#include "ptxgen/shuffle.h"
#include "ptxgen/base/asm.h"
#include "ptxgen/base/word.h"

/* Apply a 32-bit shuffle to both halves of a 64-bit word. */
static LV
shuffle64(Gen *g, AsmId id, LV x, LV by)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LV i = LLVMBuildBitCast(g->b, x, g->i64, "");
	LV lo = LLVMBuildTrunc(g->b, i, g->i32, "");
	LV hi = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, i, const_i64(g, 32), ""), g->i32, "");

	lo = LLVMBuildZExt(g->b, asm_op(g, id, lo, by, NULL), g->i64, "");
	hi = LLVMBuildZExt(g->b, asm_op(g, id, hi, by, NULL), g->i64, "");
	i = LLVMBuildOr(g->b, LLVMBuildShl(g->b, hi, const_i64(g, 32), ""), lo, "");
	return LLVMBuildBitCast(g->b, i, t, "");
}

static LV
shuffle(Gen *g, AsmId id, LV x, LV by)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LV r;

	if (t == g->i64 || t == g->f64)
		return shuffle64(g, id, x, by);
	if (t == g->i1) {
		r = asm_op(g, id, LLVMBuildZExt(g->b, x, g->i32, ""), by, NULL);
		return LLVMBuildTrunc(g->b, r, g->i1, "");
	}
	r = asm_op(g, id, as_i32(g, x), by, NULL);
	return t == g->f32 ? as_f32(g, r) : r;
}

LV
shuffle_xor(Gen *g, LV x, int delta)
{
	return shuffle(g, A_shfl_bfly, x, const_i32(g, delta));
}

LV
shuffle_from(Gen *g, LV x, LV lane)
{
	return shuffle(g, A_shfl_idx, x, lane);
}
