/* elect_one.c - emits code that one elected thread executes for all warps of a role. */
#include "ptxgen/base/elect_one.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"

LV
speaker_lanes(Codegen *g, int warps, uint32_t lanes)
{
	LV warp = LLVMBuildURem(g->pre, g->warp, const_i32(g, warps), "");

	warp = LLVMBuildICmp(g->pre, LLVMIntEQ, warp, const_i32(g, 0), "");
	return LLVMBuildAnd(g->pre, lane_mask(g, lanes), warp, "");
}

LV
speaker(Codegen *g, int warps)
{
	return warps == g->warps || !g->leader ? g->leader : speaker_lanes(g, warps, 1);
}

void
emit_by(Codegen *g, LV who, const char *text, const char *cons, const LV *in, int nin)
{
	LV all[10];

	BUG_IF(g->a, nin >= (int)COUNT_OF(all));
	for (int i = 0; i < nin; i++)
		all[i] = in[i];
	if (who) {
		text = arena_printf(g->a, "@$%d %s", nin, text);
		cons = arena_printf(g->a, "%s%sb", cons, nin ? "," : "");
		all[nin++] = who;
	}
	asm_emit(g, text, cons, AF_MEM, all, nin, NULL);
}
