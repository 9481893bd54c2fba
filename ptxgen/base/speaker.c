/* speaker.c - what one thread does for all warps of a role. */
#include "ptxgen/base/speaker.h"
#include "ptxgen/base/asm.h"
#include "ptxgen/base/word.h"

LV
speaker(Gen *g, int warps)
{
	LV first, warp;

	if (warps == g->warps || !g->leader)
		return g->leader;
	first = LLVMBuildICmp(g->pre, LLVMIntEQ, g->lane, const_i32(g, 0), "");
	warp = LLVMBuildURem(g->pre, g->warp, const_i32(g, warps), "");
	warp = LLVMBuildICmp(g->pre, LLVMIntEQ, warp, const_i32(g, 0), "");
	return LLVMBuildAnd(g->pre, first, warp, "");
}

void
emit_by(Gen *g, LV who, const char *text, const char *cons, const LV *in, int nin)
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
