/* wgmma_waits.c - pass wgmma_waits: inserts waits for asynchronous MMAs, and makes the stage releases
 * between warp roles correct for them.
 *
 * requires   the result of pass infer: lowerings of MMAs and copies
 * produces   the number of hardware arrivals of each mbar_arrive (IMM signals)
 * moves      movable waits and arrivals
 *
 * A wait for MMAs is placed before the first use of their results (wgmma_insert_waits.c). If the iterations
 * of a loop do nothing else with a result, MMAs stay in flight across the end of the iteration. Stage
 * releases are then delayed by one iteration, to after a wait for all but that iteration's MMAs; the last
 * ones come after the loop (wgmma_cross_iteration.c):
 *
 *     wgmma .., commit, wg_wait 0, mbar_arrive s
 *     wgmma .., commit, wg_wait 1, if lo < i { mbar_arrive s' }
 *
 * An arrival of a role means that all its warps have arrived. A single thread that only issues TMA copies
 * arrives for all producers. Each consumer warpgroup has separate MMAs in flight and arrives when these
 * have read the stage. Warps that read copied data by ld/ldmatrix arrive one by one.
 *
 * MMAs read through the async proxy. Data that warps stored, or copied by cp.async, is visible there only
 * after a fence: of the storing threads before their arrival, of the threads that waited for the copies
 * after that wait. */
#include "infer/core/instr.h"
#include "infer/core/wgmma.h"
#include "infer/schedule/wgmma_waits.h"
#include "hexc/pass/pass.h"

enum { PRODUCES = 1, COMPUTES = 2, BOTH = 3, BY_ENGINE = 4 };

/* Does o, a wgmma or bulk copy, read operand i through the async proxy? */
static bool
engine_reads(const Op *o, int i)
{
	return (o->code == O_wgmma && i < 2) || (o->code == O_copy && i == 0 && IMM(o, async) == COPY_OUT);
}

/* Returns, by value id of shared tiles, the roles that use them and whether the async proxy reads them. */
static const int *
find_used(Kernel *k)
{
	int *used = NEWN(k->unit->arena, int, k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		Role role = op_role(o);
		int by = role == ROLE_PRODUCER ? PRODUCES : COMPUTES;

		for (int i = 0; i < o->nin && role != ROLE_ALL; i++)
			if (o->in[i]->type.space == S_shared)
				used[view_root(o->in[i])->id] |= engine_reads(o, i) ? by | BY_ENGINE : by;
	}
	return used;
}

/* Does o access a tile of both roles through the generic proxy? MMAs and TMA copies do not; lanes that copy
 * asynchronously with a barrier arrive at it themselves. */
static bool
is_generic_proxy_access(const Op *o, const int *used)
{
	const Instr *in = o->code == O_copy ? instr_of(o->lowering) : NULL;

	if ((o->code != O_load && o->code != O_store && o->code != O_copy) || instr_is_box(in) ||
	    (in && in->kind == IK_cp_async && IMM(o, async) == COPY_BARRIER))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared && (used[view_root(o->in[i])->id] & BOTH) == BOTH)
			return true;
	return false;
}

/* Does o write such a tile, and does the async proxy read it? A proxy fence must then precede the arrival. */
static bool
writes_for_engine(const Op *o, const int *used)
{
	Val *to = o->code == O_store || o->code == O_copy ? write_dest(o) : NULL;

	return to && to->type.space == S_shared && is_generic_proxy_access(o, used) &&
	       (used[view_root(to)->id] & BY_ENGINE) != 0;
}

/* Is o a cp.async of lanes into a tile that the async proxy reads? */
static bool
lands_for_engine(const Op *o, const int *used)
{
	const Instr *in = o->code == O_copy ? instr_of(o->lowering) : NULL;

	return in && in->kind == IK_cp_async && IMM(o, async) == COPY_BARRIER &&
	       (used[view_root(copy_dest(o))->id] & BY_ENGINE) != 0;
}

/* Inserts a proxy fence after each wait for data that lanes copied by cp.async and the async proxy will
 * read. */
static void
insert_proxy_fences(Kernel *k, const int *used)
{
	bool *lands = NEWN(k->unit->arena, bool, k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (lands_for_engine(o, used))
			lands[copy_mbarrier(o)->id] = true;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_wait && lands[mbarrier_barrier(o)->id])
			IMM_SET(op_new(o->parent, o->next, O_fence_proxy_async, o->src, 0, NULL, 0,
			               NULL),
			        space,
			        S_shared);
}

static bool
any_is(Block *b, const int *used, bool (*is)(const Op *o, const int *used))
{
	OpWalk w;

	for (const Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (is(o, used))
			return true;
	return false;
}

/* Does the arrival signal writes of its role's lanes that the async proxy reads? For a copy with a barrier
 * one arrival does, for all else any may. */
static bool
tells_engine(const Op *arrive, Block *role, const int *used)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, role); o; o = walk_next(&w))
		if (writes_for_engine(o, used) &&
		    (o->code != O_copy || !op_mbar(o) || copy_arrival(o) == arrive))
			return true;
	return false;
}

bool
pass_wgmma_waits(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	const int *used;
	int each[2];
	OpWalk w;

	if (!roles)
		return false;
	place_waits(k, roles->blk[1]);
	part_products(roles->blk[1]);
	begin_without_zeros(roles->blk[1]);
	drop_empty_waits(roles->blk[1]);
	used = find_used(k);
	each[0] = any_is(roles->blk[0], used, is_generic_proxy_access) ? k->producer_warps : 1;
	each[1] = k->warps;
	if (!any_is(roles->blk[1], used, is_generic_proxy_access) && k->warps % WARPGROUP == 0)
		each[1] = k->warps / WARPGROUP;
	insert_proxy_fences(k, used);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		bool computes = op_role(o) == ROLE_CONSUMER;

		if (o->code != O_mbarrier_arrive || IMM(o, arrive_count))
			continue;
		IMM_SET(o, arrive_count, each[computes]);
		release_early(o);
		if (tells_engine(o, roles->blk[computes], used))
			IMM_SET(op_new(o->parent, o, O_fence_proxy_async, o->src, 0, NULL, 0, NULL),
				space, S_shared);
	}
	return true;
}
