/* schedule_choice.c - chooses which schedules the search tries for a kernel: multistage, warp-specialized or
 * pingpong.
 *
 * Warp specialization pays for its mbarriers where the TMA unit loads: in loops of dots over tiles that a
 * pipeline loads.  On targets with wgmma, these dots must be ones that wgmma computes.  Pass
 * warp_specialize decides whether a kernel can have roles; the cost model decides which schedule is best. */
#include "infer/core/smem_atom.h"
#include "infer/infer.h"

/* Does k have a pipelined loop with dots? */
static bool
multiplies_in_pipeline(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (const Op *in = o->parent->owner; o->code == O_dot && in; in = in->parent->owner)
			if (in->code == O_for && IMM(in, loop) == FOR_PIPELINE)
				return true;
	return false;
}

int
schedules_tried(const Kernel *k, const Schedule **schedules)
{
	static const Schedule all[SCHEDULES] = { SCHEDULE_MULTISTAGE, SCHEDULE_WARP_SPECIALIZED,
						 SCHEDULE_TEAMS };
	unsigned has = k->unit->target->features;

	*schedules = all;
	if (!(has & T_TMA) || kernel_roles(k) || !multiplies_in_pipeline(k))
		return 1;
	/* pingpong: one warpgroup is too few warps for mma.sync */
	return has & T_WGMMA ? SCHEDULES : SCHEDULES - 1;
}

/* Does the loop have dots both by wgmma and by mma.sync?  The registers of one kind are needed by the
 * other. */
static bool
mixes(const Op *loop)
{
	bool wgmma = false, dot = false;
	OpWalk w;

	for (Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w)) {
		wgmma |= o->code == O_wgmma;
		dot |= o->code == O_dot;
	}
	return wgmma && dot;
}

static bool
is_innermost(const Op *o)
{
	OpWalk w;

	for (Op *x = o->code == O_for ? walk_first(&w, o->blk[0]) : NULL; x; x = walk_next(&w))
		if (x->code == O_for)
			return false;
	return o->code == O_for;
}

const char *
schedule_loses(Kernel *k)
{
	bool groups = k->unit->target->features & T_WGMMA, wgmma = false;
	const char *why = NULL;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o && !why; o = walk_next(&w)) {
		wgmma |= o->code == O_wgmma;
		if (is_innermost(o) && mixes(o))
			why = "only some dots of the loop can use wgmma";
	}
	/* TMA swizzle modes suit wgmma: ldmatrix may have bank conflicts with them */
	return wgmma || !groups || why ? why : "no dot can use wgmma";
}
