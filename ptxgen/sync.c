/* sync.c - emits barriers of the block, a role or the grid, proxy fences, and waits for asynchronous copies
 * and other grids. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"

/* Returns the named barrier: 0 is the block's, then follow those of the consumer groups, then the
 * producers'. */
static int
role_barrier(const Codegen *g, Role role, int team)
{
	return role == ROLE_PRODUCER ? 1 + g->k->teams : 1 + team;
}

/* Each consumer group's barrier id is an immediate: for an id in a register, ptxas reserves all barriers. */
static void
team_barrier(Codegen *g)
{
	int teams = g->k->teams, threads = g->warps * WARP_SIZE;

	for (int t = 0; t < teams; t++) {
		LV mine = LLVMBuildICmp(g->b, LLVMIntEQ, g->team, const_i32(g, t), "");
		const char *text = arena_printf(g->a, "%sbar.sync %d, %d;", teams > 1 ? "@$0 " : "",
		                                role_barrier(g, ROLE_CONSUMER, t), threads);

		asm_emit(g, text, teams > 1 ? "b" : "", AF_MEM | AF_WARP, &mine, teams > 1, NULL);
	}
}

void
emit_block_barrier(Codegen *g)
{
	gen_flush(g, NULL);
	if (g->team)
		team_barrier(g);
	else if (g->warps != kernel_warps(g->k))
		asm_emit(g,
		         arena_printf(g->a, "bar.sync %d, %d;", role_barrier(g, ROLE_PRODUCER, 0),
		                      g->warps * WARP_SIZE),
		         "", AF_MEM | AF_WARP, NULL, 0, NULL);
	else
		asm_op(g, A_barrier, NULL, NULL, NULL);
}

void
emit_barrier(Codegen *g, Op *o)
{
	(void)o;
	emit_block_barrier(g);
}

/* One thread arrives and waits for all blocks. The barrier before makes the writes of the block's threads
 * visible to it, the one after makes the other blocks' writes visible to them. Only roles have accesses by
 * the async proxy, and a kernel with roles has no grid barrier. */
void
emit_grid_barrier(Codegen *g, Op *o)
{
	LV first = LLVMBuildICmp(g->pre, LLVMIntEQ, g->tid, const_i32(g, 0), ""), base;
	Access *word = access_new(g, NULL, grid_barrier_word(o));
	int64_t index[DIM_MAX] = { 0 }, imm;

	emit_block_barrier(g);
	access_at(word, index, &base, &imm, NULL);
	asm_op(g, A_grid_barrier, base, const_i32(g, imm), first);
	emit_block_barrier(g);
}

/* Targets without asynchronous copies complete every copy immediately. Bulk groups belong to the single
 * thread that copies; others have none, and do not wait. */
void
emit_async_commit(Codegen *g, Op *o)
{
	if (IMM(o, bulk))
		asm_op(g, A_bulk_commit, NULL, NULL, NULL);
	else if (g->u->target->features & T_CPASYNC)
		asm_op(g, A_commit, NULL, NULL, NULL);
}

void
emit_async_wait(Codegen *g, Op *o)
{
	gen_flush(g, NULL);
	if (IMM(o, bulk))
		asm_op(g, IMM(o, reads) ? A_bulk_read : A_bulk_wait, const_i32(g, IMM(o, pending)), NULL,
		       NULL);
	else if (g->u->target->features & T_CPASYNC)
		asm_op(g, A_wait, const_i32(g, IMM(o, pending)), NULL, NULL);
}

void
emit_fence_proxy_async(Codegen *g, Op *o)
{
	gen_flush(g, NULL);
	asm_op(g, IMM(o, space) == S_shared ? A_proxy_shared : A_proxy_global, NULL, NULL, NULL);
}

void
emit_grid_dependency_wait(Codegen *g, Op *o)
{
	(void)o;
	gen_flush(g, NULL);
	asm_op(g, A_grid_wait, NULL, NULL, NULL);
}

void
emit_grid_launch_dependents(Codegen *g, Op *o)
{
	(void)o;
	asm_op(g, A_grid_next, NULL, NULL, NULL);
}
