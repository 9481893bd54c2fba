/* sync.c - emits barriers of the block or a role, proxy fences, and waits for asynchronous copies and other
 * grids. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"

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
