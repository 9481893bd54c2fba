/* grid.c - which block this is, in the order of k->order. */
#include "ptxgen/base/word.h"
#include "ptxgen/emit.h"

/* %ctaid or %nctaid of a dim. */
static LV
read_dim(Gen *g, const char *what, int dim)
{
	return read_sreg(g, arena_printf(g->a, "%s.%c", what, "xyz"[dim]));
}

/* Is there more than one group, and do 32 bits number the blocks?  Else they stay as they are. */
static LV
has_groups(Gen *g, LV fast, LV slow)
{
	LV n = LLVMBuildMul(g->pre, LLVMBuildZExt(g->pre, fast, g->i64, ""),
	                    LLVMBuildZExt(g->pre, slow, g->i64, ""), "");
	LV numbered = LLVMBuildICmp(g->pre, LLVMIntULE, n, LLVMConstInt(g->i64, UINT32_MAX, 0), "");
	LV several = LLVMBuildICmp(g->pre, LLVMIntUGE, fast, const_i32(g, 2 * g->k->order.group), "");

	return LLVMBuildAnd(g->pre, several, numbered, "");
}

/* Where the block of this number is when they are counted by groups. */
static void
grouped(Gen *g, LV number, LV fast, LV slow, LV at[2])
{
	LV rows = const_i32(g, g->k->order.group), size = LLVMBuildMul(g->pre, rows, slow, "");
	LV last = LLVMBuildSub(g->pre, LLVMBuildUDiv(g->pre, fast, rows, ""), const_i32(g, 1), "");
	LV group = LLVMBuildUDiv(g->pre, number, size, ""), before;
	LV whole = LLVMBuildICmp(g->pre, LLVMIntULT, group, last, "");

	group = LLVMBuildSelect(g->pre, whole, group, last, "");
	before = LLVMBuildMul(g->pre, group, rows, "");
	rows = LLVMBuildSelect(g->pre, whole, rows, LLVMBuildSub(g->pre, fast, before, ""), "");
	number = LLVMBuildSub(g->pre, number, LLVMBuildMul(g->pre, group, size, ""), "");
	at[1] = LLVMBuildUDiv(g->pre, number, rows, "");
	at[0] = LLVMBuildSub(g->pre, number, LLVMBuildMul(g->pre, at[1], rows, ""), "");
	at[0] = LLVMBuildAdd(g->pre, at[0], before, "");
}

/* block: as the device numbers them; then as k->order does. */
static void
order_blocks(Gen *g, LV block[3])
{
	const GridOrder *o = &g->k->order;
	LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(g->pre) };
	LLVMBasicBlockRef join = LLVMInsertBasicBlockInContext(g->ctx, LLVMGetNextBasicBlock(from[0]), "");
	LV fast = read_dim(g, "nctaid", o->fast), slow = read_dim(g, "nctaid", o->slow);
	LV plain[2] = { block[o->fast], block[o->slow] }, number, at[2], phi[2];

	from[1] = LLVMInsertBasicBlockInContext(g->ctx, join, "");
	LLVMBuildCondBr(g->pre, has_groups(g, fast, slow), from[1], join);
	LLVMPositionBuilderAtEnd(g->pre, from[1]);
	number = LLVMBuildAdd(g->pre, LLVMBuildMul(g->pre, plain[1], fast, ""), plain[0], "");
	grouped(g, number, fast, slow, at);
	LLVMBuildBr(g->pre, join);
	LLVMPositionBuilderAtEnd(g->pre, join);
	for (int i = 0; i < 2; i++) {
		LV come[2] = { plain[i], at[i] };

		phi[i] = LLVMBuildPhi(g->pre, g->i32, "");
		LLVMAddIncoming(phi[i], come, from, 2);
	}
	block[o->fast] = phi[0];
	block[o->slow] = phi[1];
}

void
emit_block_id(Gen *g, Op *o)
{
	const GridOrder *order = &g->k->order;
	int64_t axis = IMM(o, axis);
	Tile *t = tile_new(g, o->out[0]);

	BUG_IF(g->a, axis < 0 || axis > 2);
	if (!g->block[axis]) {
		for (int d = 0; d < 3; d++)
			g->block[d] = read_dim(g, "ctaid", d);
		if (order->group)
			order_blocks(g, g->block);
	}
	/* at most 2^31 - 1, so it never is negative */
	t->word[0] = LLVMBuildZExt(g->pre, g->block[axis], g->i64, "");
}
