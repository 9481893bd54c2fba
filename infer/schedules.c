/* schedules.c - how the warps of a block may share the work of its loops.
 *
 * Roles are worth their barriers where an engine fetches and products are issued and not waited for: loops
 * of products over tiles that a pipeline brings, on targets with both.  Whether a kernel can have them pass
 * roles says, and which is better the cost model. */
#include "infer/base/form.h"
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
	const char *why = NULL;
	bool wgmma = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o && !why; o = walk_next(&w)) {
		wgmma |= o->code == O_wgmma;
		if (is_innermost(o) && mixes(o))
			why = "only some products of a loop are such as warpgroups do";
	}
	/* forms that boxes have are those of warpgroups: lanes that read them may meet in banks */
	return wgmma || why ? why : "no product is such as warpgroups do";
}
