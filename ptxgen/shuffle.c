/* shuffle.c - emits warp shuffles of words of any type. */
#include "ptxgen/shuffle.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"

/* Applies a 32-bit shuffle to both halves of a 64-bit word. */
static LV
shuffle64(Codegen *g, AsmId id, LV x, LV by)
{
	LLVMTypeRef t = LLVMTypeOf(x);
	LV half[2];

	split64(g, x, half);
	for (int i = 0; i < 2; i++)
		half[i] = asm_op(g, id, half[i], by, NULL);
	return LLVMBuildBitCast(g->b, join64(g, half[0], half[1]), t, "");
}

static LV
shuffle(Codegen *g, AsmId id, LV x, LV by)
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
shuffle_xor(Codegen *g, LV x, int delta)
{
	return shuffle(g, A_shfl_bfly, x, const_i32(g, delta));
}

LV
shuffle_up(Codegen *g, LV x, int by)
{
	return shuffle(g, A_shfl_up, x, const_i32(g, by));
}

LV
shuffle_from(Codegen *g, LV x, LV lane)
{
	return shuffle(g, A_shfl_idx, x, lane);
}
