/* flight.c - pass flight: waits for what runs beside the warps that asked for it, and how roles tell each
 * other what is done.
 *
 * needs   what pass infer leaves: how products and copies are done
 * sets    how many arrivals of the machine each mbar_arrive is (IMM signals)
 * moves   waits and arrivals that are movable
 *
 * A wait for products stands where something needs what they make (flight_wait.c).  Where a loop's turns
 * do nothing else with it, products stay under way across the end of a turn: arrivals that say what they
 * have read come a turn later, behind a wait for all but the products of that turn, and the last ones
 * behind the loop (flight_turn.c),
 *
 *     wgmma .., commit, wg_wait 0, mbar_arrive s
 *     wgmma .., commit, wg_wait 1, if lo < i { mbar_arrive s' }
 *
 * An arrival of a role says that all its warps have come there.  One thread that asks for copies of
 * boxes, and does nothing else, says so for all producers.  Of consumers each warpgroup has products of
 * its own under way, and says when these have read; warps that read by themselves what the copies bring
 * say so one by one. */
#include "infer/base/instr.h"
#include "infer/base/wgmma.h"
#include "infer/flight.h"
#include "infer/infer.h"

/* By value id: the tiles that copies with a barrier fill. */
static const bool *
find_rings(Kernel *k)
{
	bool *ring = NEWN(k->unit->arena, bool, k->nval + 1);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_copy && IMM(o, async) == COPY_BARRIER)
			ring[view_root(o->in[1])->id] = true;
	return ring;
}

/* Do warps touch such a tile by themselves to do o?  Products, and copies of boxes, are done beside them;
 * lanes that copy asynchronously arrive by themselves. */
static bool
touches(const Op *o, const bool *ring)
{
	const Instr *in = o->code == O_copy ? instr_of(o->lowering) : NULL;

	if ((o->code != O_load && o->code != O_store && o->code != O_copy) || instr_is_box(in) ||
	    (in && in->kind == IK_cp_async))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared && ring[view_root(o->in[i])->id])
			return true;
	return false;
}

static bool
any_touches(Block *b, const bool *ring)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (touches(o, ring))
			return true;
	return false;
}

bool
pass_flight(Kernel *k)
{
	const Op *roles = kernel_roles(k);
	const bool *ring;
	int each[2];
	OpWalk w;

	if (!roles)
		return false;
	place_waits(k, roles->blk[1]);
	ring = find_rings(k);
	each[0] = any_touches(roles->blk[0], ring) ? k->helpers : 1;
	each[1] = any_touches(roles->blk[1], ring) || k->warps % WARPGROUP ? k->warps : k->warps / WARPGROUP;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_mbar_arrive && !IMM(o, signals))
			IMM_SET(o, signals, each[op_role(o) == ROLE_CONSUMER]);
	return true;
}
