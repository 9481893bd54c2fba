/* sched.c - schedules warps: the instruction loop, and the choice of the next warp. */
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/launch/sched.h"
#include "lib/sim/state/fault.h"

enum { WARP_SLICE = 1 << 14 };

/* ---- one warp ---- */

static bool
pick(Warp *w)
{
	for (u32 i = w->npath; i-- > 0;)
		if (w->path[i].state == P_RUN) {
			w->cur = (s32)i;
			return true;
		}
	w->cur = -1;
	return false;
}

/* Switches to another path, so that lanes which spin on lanes of their own warp make progress. */
static void
rotate(Warp *w)
{
	if (w->cur < 0)
		return;
	for (u32 i = 1; i <= w->npath; i++) {
		u32 k = ((u32)w->cur + i) % w->npath;
		if (w->path[k].state == P_RUN) {
			w->cur = (s32)k;
			return;
		}
	}
}

/* The threads of mask whose guard is true. */
static inline u32
guarded(Warp *w, const Ins *in, u32 mask)
{
	if (in->guard < 0)
		return mask;
	return mask & (in->guard_neg ? ~w->p[in->guard] : w->p[in->guard]);
}

static void
count(Warp *w, const Ins *in, u32 mask)
{
	LineCounters *c = &w->cta->k->n[in - w->cta->l->m->code];

	c->warps++;
	c->threads += popcount(mask);
}

/* Paths that wait for each other at one .sync instruction execute it together. */
static bool
resolve_sync(Warp *w)
{
	const Ins *code = w->cta->l->m->code;

	for (u32 i = 0; i < w->npath; i++) {
		Path *q = &w->path[i];
		const Ins *in;
		u32 all = 0, need = 0;
		int r;
		if (q->state != P_SYNC)
			continue;
		in = &code[q->pc];
		for (u32 k = 0; k < w->npath; k++)
			if (w->path[k].state == P_SYNC && w->path[k].pc == q->pc) {
				all |= guarded(w, in, w->path[k].mask);
				need |= w->path[k].need;
			}
		if (need & w->live & ~all)
			continue;
		w->cur = (s32)i;
		if (w->cta->l->shown && !view_show(w, in, all, all))
			return true;
		if (in->wg && w->def)
			wgmma_touch(w, in);
		r = in->exec(w, in, all);
		count(w, in, all);
		for (u32 k = 0; k < w->npath; k++) {
			Path *p = &w->path[k];
			if (p->pc != q->pc || (p->state != P_SYNC && k != i))
				continue;
			if (r == R_BLOCK) {
				p->state = q->state;
				p->bar = q->bar;
			} else if (k != i) {
				p->state = P_RUN;
				p->pc++;
			}
		}
		if (r != R_BLOCK) {
			q->state = P_RUN;
			q->pc++;
		}
		bar_try(w->cta);
		return true;
	}
	return false;
}

static bool
has_paths(const Warp *w)
{
	for (u32 i = 0; i < w->npath; i++)
		if (w->path[i].state != P_FREE)
			return true;
	return false;
}

/* No path can run. Returns false if the warp has ended or waits for other warps. */
static bool
unblock(Warp *w)
{
	if (!has_paths(w)) {
		w->done = true;
		return false;
	}
	if (!resolve_sync(w) && !path_unpark(w)) {
		w->blocked = true;
		return false;
	}
	w->cur = -1;
	return !w->cta->dead;
}

/* The same, and checks that the guard is defined. */
static inline __attribute__((always_inline)) u32
guarded_checked(Warp *w, const Ins *in, u32 mask)
{
	if (in->guard >= 0 && w->def && mask & ~w->pdef[in->guard])
		use_pred(w, in, in->guard, mask, "a predicate");
	return guarded(w, in, mask);
}

/* Executes one instruction of path q for the threads of mask. Returns false if the time slice ends here. */
static inline __attribute__((always_inline)) bool
step(Warp *w, Path *q, const Ins *in, u32 mask, LineCounters *count)
{
	Cta *b = w->cta;
	s32 pc = q->pc;
	int r;

	if (in->wg && w->def)
		wgmma_touch(w, in);
	r = in->exec(w, in, mask);
	if (r == R_BLOCK && q->state == P_SYNC)
		return true;            /* not executed yet */
	count->warps++;
	count->threads += popcount(mask);
	if (r == R_NEXT) {
		q->pc = pc + 1;
		q->forced = false;
	} else if (r == R_AGAIN) {
		q->pc = pc + 1;
		return false;
	} else if (r == R_STOP) {
		b->dead = true;
		return false;
	} else if (r == R_BLOCK) {
		bar_try(b);
	}
	return true;
}

/* Runs until the warp ends, waits for others, or its time slice is over. */
static inline __attribute__((always_inline)) int
run(Warp *w, u64 *steps, const bool traced, const u64 most)
{
	Cta *b = w->cta;
	const Ins *code = b->l->m->code;
	LineCounters *counts = b->k->n;
	u64 n = 0, slice = b->l->max_steps < most ? b->l->max_steps + 1 : most;

	while (n < slice) {
		Path *q;
		const Ins *in;
		u32 mask;
		if ((w->cur < 0 || w->path[w->cur].state != P_RUN) && !pick(w)) {
			if (!unblock(w))
				break;
			n++;
			continue;
		}
		q = &w->path[w->cur];
		if (q->pc == q->rpc) {
			path_meet(w);
			continue;
		}
		in = &code[q->pc];
		n++;
		mask = guarded_checked(w, in, q->mask);
		if (traced && !view_show(w, in, q->mask, mask)) {
			b->dead = true;
			break;
		}
		if (!mask && in->guard >= 0) {
			counts[q->pc++].warps++;
			continue;
		}
		if (!step(w, q, in, mask, &counts[q->pc]))
			break;
	}
	rotate(w);
	w->steps += n;
	*steps += n;
	return b->dead ? R_STOP : w->done ? R_NEXT : w->blocked ? R_BLOCK : R_AGAIN;
}

static int
warp_run(Warp *w, u64 *steps)
{
	u64 most = turn(w->cta->l, WARP_SLICE);

	return w->cta->l->shown ? run(w, steps, true, most) : run(w, steps, false, most);
}

int
warp_step(Warp *w, u64 *steps)
{
	return run(w, steps, false, 1);
}

/* ---- one block ---- */

bool
cta_unstick(Cta *b)
{
	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		for (u32 k = 0; k < w->npath; k++)
			if (w->path[k].state == P_SYNC) {
				w->path[k].state = P_RUN;
				w->path[k].forced = true;
				w->blocked = false;
				return true;
			}
	}
	return false;
}

bool
cta_round(Cta *b, u64 *steps, bool *moved)
{
	bool alive = false;

	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		if (w->done || w->blocked) {
			alive |= !w->done;
			continue;
		}
		*moved = true;
		if (warp_run(w, steps) == R_STOP || is_stopped(b->l, b->cl->lin))
			return false;
		alive |= !w->done;
	}
	b->ended = !alive;
	return true;
}
