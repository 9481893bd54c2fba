/* wgmma_waits.c - pass wgmma_waits: waits for what runs beside the warps that asked for it, and how roles tell each
 * other what is done.
 *
 * needs   what pass infer leaves: how products and copies are done
 * sets    how many arrivals of the machine each mbar_arrive is (IMM signals)
 * moves   waits and arrivals that are movable
 *
 * A wait for products stands where something needs what they make (wgmma_insert_waits.c).  Where a loop's turns
 * do nothing else with it, products stay under way across the end of a turn: arrivals that say what they
 * have read come a turn later, behind a wait for all but the products of that turn, and the last ones
 * behind the loop (wgmma_cross_iteration.c),
 *
 *     wgmma .., commit, wg_wait 0, mbar_arrive s
 *     wgmma .., commit, wg_wait 1, if lo < i { mbar_arrive s' }
 *
 * An arrival of a role says that all its warps have come there.  One thread that asks for copies of
 * boxes, and does nothing else, says so for all producers.  Of consumers each warpgroup has products of
 * its own under way, and says when these have read; warps that read by themselves what the copies bring
 * say so one by one.
 *
 * Products read by the asynchronous proxy.  What warps stored, or copied by cp.async, is not seen there
 * without a fence: of who stored it in front of the arrival, of who waited for the copies behind the wait. */
#include "infer/core/instr.h"
#include "infer/core/wgmma.h"
#include "infer/schedule/wgmma_waits.h"
#include "hexc/pass/pass.h"

enum { PRODUCES = 1, COMPUTES = 2, BOTH = 3, BY_ENGINE = 4 };

/* Do products or the copy engine read operand i of o? */
static bool
engine_reads(const Op *o, int i)
{
	return (o->code == O_wgmma && i < 2) || (o->code == O_copy && i == 0 && IMM(o, async) == COPY_OUT);
}

/* By value id, of shared tiles: which roles use them, and whether an engine reads them. */
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

/* Do warps touch a tile of both roles by themselves to do o?  Products, and copies of boxes, are done beside
 * them; lanes that copy asynchronously with a barrier arrive at it by themselves. */
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

/* Does o write such a tile that an engine reads?  The engine must be told before the arrival says so. */
static bool
writes_for_engine(const Op *o, const int *used)
{
	Val *to = o->code == O_store || o->code == O_copy ? o->in[1] : NULL;

	return to && to->type.space == S_shared && is_generic_proxy_access(o, used) &&
	       (used[view_root(to)->id] & BY_ENGINE) != 0;
}

/* Is o a copy that lanes do beside themselves, into a tile that an engine reads? */
static bool
lands_for_engine(const Op *o, const int *used)
{
	const Instr *in = o->code == O_copy ? instr_of(o->lowering) : NULL;

	return in && in->kind == IK_cp_async && IMM(o, async) == COPY_BARRIER &&
	       (used[view_root(o->in[1])->id] & BY_ENGINE) != 0;
}

/* What lanes copied has landed like what they store: who waited for it tells the engine that will read it. */
static void
insert_proxy_fences(Kernel *k, const int *used)
{
	bool *lands = NEWN(k->unit->arena, bool, k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (lands_for_engine(o, used))
			lands[o->in[2]->id] = true;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbar_wait && lands[o->in[0]->id])
			IMM_SET(op_new(o->parent, o->next, O_proxy, o->src, 0, NULL, 0, NULL), space,
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

/* Does the arrival say that lanes of its role wrote what an engine reads?  Of a copy with a barrier one
 * arrival does, of all else any may. */
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
	each[0] = any_is(roles->blk[0], used, is_generic_proxy_access) ? k->helpers : 1;
	each[1] = any_is(roles->blk[1], used, is_generic_proxy_access) || k->warps % WARPGROUP ? k->warps
	                                                                       : k->warps / WARPGROUP;
	insert_proxy_fences(k, used);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		bool computes = op_role(o) == ROLE_CONSUMER;

		if (o->code != O_mbar_arrive || IMM(o, signals))
			continue;
		IMM_SET(o, signals, each[computes]);
		release_early(o);
		if (tells_engine(o, roles->blk[computes], used))
			IMM_SET(op_new(o->parent, o, O_proxy, o->src, 0, NULL, 0, NULL), space, S_shared);
	}
	return true;
}
