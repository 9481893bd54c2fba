/* schedule_choice.c - how the warps of a block may share the work of its loops.
 *
 * Roles are worth their barriers where an engine fetches: loops of products over tiles that a pipeline
 * brings.  Where the target has products that are issued and not waited for, these must be such.  Whether a
 * kernel can have roles pass warp_specialize says, and which is better the cost model. */
#include "infer/core/smem_atom.h"
#include "infer/infer.h"

/* Has k a pipelined loop of products? */
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
	static const Schedule all[SCHEDULES] = { SCHEDULE_MULTISTAGE, SCHEDULE_WARP_SPECIALIZED, SCHEDULE_TEAMS };
	unsigned has = k->unit->target->features;

	*schedules = all;
	if (!(has & T_TMA) || kernel_roles(k) || !multiplies_in_pipeline(k))
		return 1;
	return has & T_WGMMA ? SCHEDULES : SCHEDULES - 1; /* one team has few warps for mma.sync */
}

/* Has the loop products of both kinds?  What the one holds in registers the other needs. */
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
			why = "only some products of a loop are such as warpgroups do";
	}
	/* forms that boxes have are those of warpgroups: lanes that read them may meet in banks */
	return wgmma || !groups || why ? why : "no product is such as warpgroups do";
}
