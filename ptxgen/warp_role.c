/* warp_role.c - warps that produce and teams that compute: who is who, and what each has of its own. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/mbarrier.h"

/* ---- setting up ------------------------------------------------------------------------------ */

/* Arrivals of the machine that complete a phase of a barrier: for each of the program its signals, and of all
 * lanes that copy asynchronously themselves one. */
static int64_t
machine_arrivals(Codegen *g, const Op *mbar)
{
	int64_t most = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, g->k->body); o; o = walk_next(&w)) {
		int64_t n;

		if (o->code != O_mbar_arrive || op_mbar(o) != mbar)
			continue;
		n = IMM(o, signals) + (arrive_lanes(o) ? op_warps(o) * WARP_SIZE : 0);
		if (most && n != most)
			diag_error(g->u->diag, o->src,
			           "an arrival at this barrier is %lld of the machine, and another %lld: "
			           "give each a barrier of its own",
			           (long long)n, (long long)most);
		most = n;
	}
	return most * IMM(mbar, arrivals);
}

/* One thread makes the barriers, and all wait for it, those of the cluster's other blocks too. */
static void
make_barriers(Codegen *g)
{
	LV first = LLVMBuildICmp(g->pre, LLVMIntEQ, g->tid, const_i32(g, 0), "");
	LLVMBasicBlockRef make = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	LLVMBasicBlockRef made = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");

	LLVMBuildCondBr(g->b, first, make, made);
	LLVMPositionBuilderAtEnd(g->b, make);
	for (const Op *o = g->k->body->first; o; o = o->next) {
		int64_t n = o->code == O_mbar ? machine_arrivals(g, o) : 0;

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

/* May one thread run all of it?  Copies of boxes and waits for them and for grids, and numbers. */
static bool
is_single(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		bool box = o->code == O_copy && instr_is_box(instr_of(o->lowering));
		bool flow = o->code == O_for || o->code == O_if || o->code == O_yield;
		bool once = o->code == O_mbar_wait || o->code == O_grid_wait || o->code == O_grid_next;

		if (o->code == O_mbar_arrive)
			once = IMM(o, signals) == 1 && !IMM(o, cluster);
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

/* i1: this thread is one chosen of its warp, and the warp is the first of the role.  By `elect` ptxas knows
 * that there is but one, as copies of boxes want it. */
static LV
choose_leader(Codegen *g, Block *b)
{
	LV first = LLVMBuildICmp(g->b, LLVMIntEQ, g->warp, const_i32(g, 0), "");
	LV chosen = has_boxes(b) ? LLVMBuildTrunc(g->b, asm_op(g, A_elect, NULL, NULL, NULL), g->i1, "")
	                         : LLVMBuildICmp(g->b, LLVMIntEQ, g->lane, const_i32(g, 0), "");

	return LLVMBuildAnd(g->b, chosen, first, "");
}

/* In front of a role's loops, which would ask for it at each turn, and behind where registers change hands:
 * ptxas spills what lives on there. */
static void
reach_blocks(Codegen *g)
{
	LV is = LLVMBuildICmp(g->b, LLVMIntULT, g->lane, const_i32(g, cluster_blocks(g->k)), "");
	LV rank = LLVMBuildSelect(g->b, is, g->lane, const_i32(g, 0), "");

	g->remote = asm_op(g, A_mapa, smem_base(g), rank, NULL);
}

/* A region in a block of its own, with what depends on the thread alone in front; then to `join`. */
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

	smem_base(g); /* both roles take these, and neither can take what the other makes */
	if (!kernel_is_persistent(k))
		block_numbers(g);
	entry = LLVMGetInsertBlock(g->pre);
	make_barriers(g);
	gen_enter(g, o->blk[0]);
	gen_enter(g, o->blk[1]);
	/* so that ptxas knows that a warp has one */
	warp = asm_op(g, A_shfl_idx, g->warp, const_i32(g, 0), const_i32(g, 0));
	for (int r = 0; r < 2; r++)
		front[r] = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	join = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "");
	produces = LLVMBuildICmp(g->b, LLVMIntUGE, warp, last, "");
	LLVMBuildCondBr(g->b, produces, front[0], front[1]);

	LLVMPositionBuilderAtEnd(g->b, front[0]);
	g->warps = k->helpers;
	g->warp = LLVMBuildSub(g->b, warp, last, "");
	emit_region(g, o, 0, front[0], join);
	g->nothing_set = all.nothing_set; /* what a role has made only it can take */

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
emit_team(Codegen *g, Op *o)
{
	tile_new(g, o->out[0])->word[0] = LLVMBuildZExt(g->b, g->team, g->i64, "");
}
