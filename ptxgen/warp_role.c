/* warp_role.c - emits the warp roles: barrier initialization, and separate regions for producer warps and
 * consumer warpgroups. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/mbarrier.h"

/* ---- setup ----------------------------------------------------------------------------------- */

/* Returns the hardware arrivals that complete a phase of a barrier: its signals for each arrival of the
 * program, plus one for each lane that copies asynchronously. */
static int64_t
machine_arrivals(Codegen *g, const Op *mbar)
{
	int64_t most = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, g->k->body); o; o = walk_next(&w)) {
		int64_t n;

		if (o->code != O_mbarrier_arrive || op_mbar(o) != mbar)
			continue;
		n = IMM(o, arrive_count) + (arrive_lanes(o) ? op_warps(o) * WARP_SIZE : 0);
		if (most && n != most)
			diag_error(g->u->diag, o->src,
			           "an arrival at this barrier is %lld of the machine, and another %lld: "
			           "give each a barrier of its own",
			           (long long)n, (long long)most);
		most = n;
	}
	return most * IMM(mbar, arrivals);
}

/* One thread initializes the barriers, and all wait for it, including the cluster's other blocks. */
static void
make_barriers(Codegen *g)
{
	LV first = LLVMBuildICmp(g->pre, LLVMIntEQ, g->tid, const_i32(g, 0), "");
	LLVMBasicBlockRef make = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMBasicBlockRef made = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");

	LLVMBuildCondBr(g->b, first, make, made);
	LLVMPositionBuilderAtEnd(g->b, make);
	for (const Op *o = g->k->body->first; o; o = o->next) {
		int64_t n = o->code == O_mbarrier ? machine_arrivals(g, o) : 0;

		for (int s = 0; n && s < o->out[0]->type.shape[0]; s++) {
			LV at = const_i32(g, IMM(o, offset) + s * MBAR_BYTES);

			asm_op(g, A_mbar_init, smem_base(g), at, const_i32(g, n));
		}
	}
	for (int i = 0; i < g->k->nmap; i++)
		asm_op(g, A_prefetch_map, map_address(g, i), NULL, NULL);
	asm_op(g, A_fence_mbar, NULL, NULL, NULL);
	LLVMBuildBr(g->b, made);
	LLVMPositionBuilderAtEnd(g->b, made);
	if (cluster_blocks(g->k) > 1)
		asm_op(g, A_cluster_barrier, NULL, NULL, NULL);
	else
		emit_block_barrier(g);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Can one thread run the full region? It then has only TMA copies, waits for them and for grids, and
 * scalars. */
static bool
is_single(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		bool box = o->code == O_copy && instr_is_box(instr_of(o->lowering));
		bool flow = o->code == O_for || o->code == O_if || o->code == O_yield;
		bool once = o->code == O_mbarrier_wait || o->code == O_grid_dependency_wait ||
		            o->code == O_grid_launch_dependents;

		if (o->code == O_mbarrier_arrive)
			once = IMM(o, arrive_count) == 1 && !IMM(o, cluster);
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.space == S_reg)
				return false;
		if (!box && !flow && !once && !op_is(o, F_PURE))
			return false;
	}
	return true;
}

static void
take_registers(Codegen *g, int64_t n)
{
	int64_t have = g->k->launch_registers;

	if (n && n != have)
		asm_op(g, n < have ? A_registers_less : A_registers_more, const_i32(g, n), NULL, NULL);
}

static bool
has_boxes(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == O_copy && instr_is_box(instr_of(o->lowering)))
			return true;
	return false;
}

/* Returns an i1: this thread is the elected one of its warp, and the warp is the role's first. With `elect`
 * ptxas knows that there is only one, as TMA copies require. */
static LV
choose_leader(Codegen *g, Block *b)
{
	LV first = LLVMBuildICmp(g->b, LLVMIntEQ, g->warp, const_i32(g, 0), "");
	LV chosen = has_boxes(b) ? LLVMBuildTrunc(g->b, asm_op(g, A_elect, NULL, NULL, NULL), g->i1, "")
	                         : LLVMBuildICmp(g->b, LLVMIntEQ, g->lane, const_i32(g, 0), "");

	return LLVMBuildAnd(g->b, chosen, first, "");
}

/* Emitted before a role's loops, which would recompute it in each iteration, and after setmaxnreg: ptxas
 * spills values that are live across it. */
static void
reach_blocks(Codegen *g)
{
	LV is = LLVMBuildICmp(g->b, LLVMIntULT, g->lane, const_i32(g, cluster_blocks(g->k)), "");
	LV rank = LLVMBuildSelect(g->b, is, g->lane, const_i32(g, 0), "");

	g->remote = asm_op(g, A_mapa, smem_base(g), rank, NULL);
}

/* Emits a region in a separate block, preceded by what depends on the thread only; then branches to
 * `join`. */
static void
emit_region(Codegen *g, const Op *roles, int r, LLVMBasicBlockRef front, LLVMBasicBlockRef join)
{
	LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	bool single = r == 0 && is_single(roles->blk[r]);

	LLVMPositionBuilderAtEnd(g->b, front);
	take_registers(g, r ? IMM(roles, consumer) : IMM(roles, producer));
	g->leader = choose_leader(g, roles->blk[r]);
	if (cluster_blocks(g->k) > 1)
		reach_blocks(g);
	if (single) {
		front = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
		LLVMBuildCondBr(g->b, g->leader, front, join);
		g->leader = NULL;
	}
	LLVMPositionBuilderAtEnd(g->pre, front);
	LLVMPositionBuilderAtEnd(g->b, body);
	gen_block(g, roles->blk[r]);
	gen_flush(g, NULL);
	LLVMBuildBr(g->b, join);
	LLVMBuildBr(g->pre, body);
}

void
emit_roles(Codegen *g, Op *o)
{
	const Kernel *k = g->k;
	Codegen all = *g;
	LLVMBasicBlockRef entry, front[2], join;
	LV warp, last = const_i32(g, k->warps * k->teams), produces;

	smem_base(g); /* both roles use these, and neither can use what the other computes */
	if (!kernel_is_persistent(k))
		block_numbers(g);
	entry = LLVMGetInsertBlock(g->pre);
	make_barriers(g);
	gen_enter(g, o->blk[0]);
	gen_enter(g, o->blk[1]);
	/* so that ptxas knows that the warp id is warp-uniform */
	warp = asm_op(g, A_shfl_idx, g->warp, const_i32(g, 0), const_i32(g, 0));
	for (int r = 0; r < 2; r++)
		front[r] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	join = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	produces = LLVMBuildICmp(g->b, LLVMIntUGE, warp, last, "");
	LLVMBuildCondBr(g->b, produces, front[0], front[1]);

	LLVMPositionBuilderAtEnd(g->b, front[0]);
	g->warps = k->producer_warps;
	g->warp = LLVMBuildSub(g->b, warp, last, "");
	emit_region(g, o, 0, front[0], join);
	g->nothing_set = all.nothing_set; /* what a role computed, only that role can use */

	LLVMPositionBuilderAtEnd(g->b, front[1]);
	g->warps = k->warps;
	g->team = LLVMBuildUDiv(g->b, warp, const_i32(g, k->warps), "");
	g->warp = LLVMBuildURem(g->b, warp, const_i32(g, k->warps), "");
	if (k->teams == 1) {
		g->team = const_i32(g, 0);
		g->warp = warp;
	}
	emit_region(g, o, 1, front[1], join);

	g->nothing_set = all.nothing_set;
	g->warp = all.warp;
	g->warps = all.warps;
	g->team = g->remote = NULL;
	LLVMPositionBuilderAtEnd(g->b, join);
	if (cluster_blocks(k) > 1) /* another block may still arrive here */
		asm_op(g, A_cluster_barrier, NULL, NULL, NULL);
	LLVMPositionBuilderAtEnd(g->pre, entry);
}

void
emit_consumer_group_id(Codegen *g, Op *o)
{
	tile_new(g, o->out[0])->word[0] = LLVMBuildZExt(g->b, g->team, g->i64, "");
}
