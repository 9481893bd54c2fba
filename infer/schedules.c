/* schedules.c - how the warps of a block may share the work of its loops.
 *
 * Roles are worth their barriers where an engine fetches and products are issued and not waited for: loops
 * of products over tiles that a pipeline brings, on targets with both.  Whether a kernel can have them pass
 * roles says, and which is better the cost model. */
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
	static const Schedule all[SCHEDULES] = { SCHEDULE_GROUPS, SCHEDULE_ROLES };
	unsigned needed = T_WGMMA | T_TMA, has = k->unit->target->features;

	*schedules = all;
	return (has & needed) == needed && !kernel_roles(k) && multiplies_in_pipeline(k) ? SCHEDULES : 1;
}
