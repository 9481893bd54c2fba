/* divergence.c - tracks the divergent paths of a warp: where they split, reconverge, call, return and exit.
 *
 * A path is a set of lanes at one instruction. Where lanes diverge, the path waits at the reconvergence point
 * and its children run, one after the other; a child that arrives there passes its lanes to the parent. A
 * call is a path that waits for one child. So paths form a tree whose leaves run.
 */
#include <string.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

s32
path_new(Warp *w, s32 pc, s32 rpc, u32 mask, s32 parent)
{
	Path *q;
	u32 i = 0;

	while (i < w->npath && w->path[i].state != P_FREE)
		i++;
	if (i == w->cta->l->paths) {    /* only recursion: a tree of 32 lanes has fewer nodes */
		block_stop(w->cta, SIM_E_FAULT, "calls are nested too deeply");
		w->cta->dead = true;
		return 0;
	}
	if (i == w->npath)
		w->npath++;
	q = &w->path[i];
	memset(q, 0, sizeof *q);
	q->pc = pc;
	q->rpc = rpc;
	q->mask = mask;
	q->parent = (s16)parent;
	q->state = P_RUN;
	if (parent >= 0)
		w->path[parent].kids++;
	return (s32)i;
}

/* A child of i has ended; the last one resumes it, or ends it if no lane is left. */
static void
child_gone(Warp *w, s32 i)
{
	while (i >= 0) {
		Path *q = &w->path[i];
		if (--q->kids)
			return;
		q->mask = q->arrived & w->live;
		q->arrived = 0;
		if (q->mask && q->pc != NO_PC) {
			q->state = P_RUN;
			q->call = NULL;
			return;
		}
		q->state = P_FREE;
		i = q->parent;
	}
}

/* The current path's lanes rejoin its parent. */
void
path_join(Warp *w)
{
	Path *q = &w->path[w->cur];
	s32 parent = q->parent;

	q->state = P_FREE;
	w->cur = -1;
	if (parent < 0)
		return;
	w->path[parent].arrived |= q->mask;
	child_gone(w, parent);
}

void
path_meet(Warp *w)
{
	path_join(w);
}

/* Moves lanes to pc: they are already at the reconvergence point, or become a path. Returns the path, or
 * -1. */
static s32
side(Warp *w, s32 parent, s32 rpc, s32 pc, u32 mask)
{
	if (pc == rpc && rpc != NO_PC && parent >= 0) {
		w->path[parent].arrived |= mask;
		return -1;
	}
	return path_new(w, pc, rpc, mask, parent);
}

static bool
at_exit(const Warp *w, s32 path)
{
	const Ins *in;

	if (path < 0)
		return false;
	in = &w->cta->l->m->code[w->path[path].pc];
	return in->exec == exec_exit && in->guard < 0;
}

/* Splits the current path into the lanes at pc a and those at pc b, to reconverge at in->branch.rpc. */
void
path_split(Warp *w, const Ins *in, s32 a, u32 ma, s32 b, u32 mb)
{
	Path *q = &w->path[w->cur];
	s32 parent = w->cur, x, y;

	if (q->parent >= 0 && q->rpc == in->branch.rpc) {       /* reconverges where its parent waits: a
	                                                         * sibling */
		parent = q->parent;
		q->state = P_FREE;
		x = side(w, parent, in->branch.rpc, a, ma);
		y = side(w, parent, in->branch.rpc, b, mb);
		w->path[parent].kids--;                 /* q itself */
	} else {
		q->state = P_WAIT;
		q->pc = in->branch.rpc;
		q->arrived = 0;
		q->kids = 0;
		q->strict = in->branch.strict;
		x = side(w, parent, in->branch.rpc, a, ma);
		y = side(w, parent, in->branch.rpc, b, mb);
	}
	/* lanes that only exit go first: no lane waits for them */
	w->cur = y >= 0 && (x < 0 || at_exit(w, y)) ? y : x;
}

int
exec_bra(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];
	u32 stay = q->mask & ~mask;

	if (!stay)
		q->pc = in->branch.target;
	else if (!mask)
		q->pc++;
	else
		path_split(w, in, q->pc + 1, stay, in->branch.target, mask);
	return R_JUMP;
}

/* One target at a time: the first lane's; all other lanes execute brx again. */
int
exec_brx(Warp *w, const Ins *in, u32 mask)
{
	const u32 *v = src32(w, &in->s[0]);
	Path *q = &w->path[w->cur];
	u32 first = v[low_lane(mask)], same = 0;
	int l;

	use_check(w, in, &in->s[0], mask, "a branch index");
	FOR_LANES(l, mask)
		same |= (u32)(v[l] == first) << l;
	if (first >= in->branch.n) {
		fault_add(w, low_lane(same), SIM_FAULT_CALL, in->line, SIM_SPACE_NONE, 0, 0, NULL,
		          "%.60s: index %u is out of range [0, %u)", in->text, first, in->branch.n);
		first = 0;
	}
	if (same == q->mask)
		q->pc = (s32)in->branch.targets[first];
	else
		path_split(w, in, q->pc, q->mask & ~same, (s32)in->branch.targets[first], same);
	return R_JUMP;
}

int
exec_exit(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];

	(void)in;
	w->live &= ~mask;
	w->cta->cl->effects++;
	copies_finish(w, mask, 0, true);
	q->mask &= ~mask;
	if (q->mask) {
		q->pc++;
	} else {
		s32 parent = q->parent;
		q->state = P_FREE;
		w->cur = -1;
		if (parent >= 0)
			child_gone(w, parent);
	}
	bar_try(w->cta);
	return R_JUMP;
}

int
exec_trap(Warp *w, const Ins *in, u32 mask)
{
	fault_add(w, low_lane(mask), SIM_FAULT_TRAP, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "the kernel executed trap");
	block_stop(w->cta, SIM_E_FAULT, "trap");
	return R_STOP;
}

/* Lanes parked at a non-strict reconvergence point continue by themselves. */
bool
path_unpark(Warp *w)
{
	for (u32 i = 0; i < w->npath; i++) {
		Path *q = &w->path[i];
		u32 m = q->arrived & w->live;
		if (q->state != P_WAIT || q->strict || !m || q->pc == NO_PC)
			continue;
		q->arrived = 0;
		path_new(w, q->pc, q->rpc, m, q->parent);
		return true;
	}
	return false;
}
