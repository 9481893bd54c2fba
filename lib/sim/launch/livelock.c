/* livelock.c - detects livelock: loops that poll for a value that is never written.
 *
 * A cluster whose time slices changed nothing outside of it may spin. Each runnable warp is then run
 * instruction by instruction until it repeats an earlier state, or waits for others. If it got there without
 * changing memory, and without reading a clock, the warp loops for ever unless memory changes. Where warps
 * synchronize at barriers and write shared memory in the loop, that is a round: when all registers, shared
 * memory and barriers of the cluster are as after an earlier round, it loops for ever as well. Values are
 * compared: a store of the same value changes nothing. When this is so of all clusters of a launch, and none
 * is left to start, memory will not change. Any change by a cluster ends the epoch, and invalidates all that
 * was proven. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/mbar.h"
#include "lib/sim/launch/sched.h"

enum { FEW_STEPS = 1 << 11, MOST_STEPS = 1 << 16, MOST_ROUNDS = 256 };

typedef struct WarpSnapshot {
	u32 npath, live, cc;
	s32 cur;
	u32 sp[WARP];
	size_t nr, np, nlocal;          /* bytes */
	u8 *r, *p, *local;
	Path path[];
} WarpSnapshot;

static WarpSnapshot *
state_new(const Warp *w)
{
	const Launch *l = w->cta->l;
	size_t nr = (size_t)(l->units + 2) * WARP * sizeof(u32), np = (l->preds + 1) * sizeof(u32);
	size_t nlocal = (size_t)l->local * WARP, head = sizeof(WarpSnapshot) + l->paths * sizeof(Path);
	WarpSnapshot *s = malloc(head + nr + np + nlocal);

	if (!s)
		return NULL;
	s->nr = nr;
	s->np = np;
	s->nlocal = nlocal;
	s->r = (u8 *)s + head;
	s->p = s->r + nr;
	s->local = s->p + np;
	return s;
}

static void
keep(WarpSnapshot *s, const Warp *w)
{
	s->npath = w->npath;
	s->live = w->live;
	s->cc = w->cc;
	s->cur = w->cur;
	memcpy(s->sp, w->sp, sizeof s->sp);
	memcpy(s->r, w->r, s->nr);
	memcpy(s->p, w->p, s->np);
	memcpy(s->local, w->local, s->nlocal);
	memcpy(s->path, w->path, w->npath * sizeof *w->path);
}

static bool
same(const WarpSnapshot *s, const Warp *w)
{
	if (s->npath != w->npath || s->live != w->live || s->cur != w->cur || s->cc != w->cc)
		return false;
	for (u32 i = 0; i < w->npath; i++) {
		const Path *a = &s->path[i], *b = &w->path[i];
		if (a->state != b->state || a->pc != b->pc || a->mask != b->mask ||
		    a->arrived != b->arrived ||
		    a->parent != b->parent || a->call != b->call)
			return false;
	}
	return !memcmp(s->r, w->r, s->nr) && !memcmp(s->p, w->p, s->np) &&
	       !memcmp(s->sp, w->sp, sizeof s->sp) && !memcmp(s->local, w->local, s->nlocal);
}

/* ---- one warp: the state is saved after 1, 2, 4, ... steps and compared from there on ---- */

typedef enum Went { W_ROUND, W_WAITS, W_ELSEWHERE } Went;

static Went
go_round(Warp *w, WarpSnapshot *s, u64 *steps)
{
	const SimCluster *c = w->cta->cl;
	u64 out = cluster_out(c), clocks = c->clocks, next = 1, most = c->quiet / 64;

	most = most < FEW_STEPS ? FEW_STEPS : most > MOST_STEPS ? MOST_STEPS : most;
	keep(s, w);
	for (u64 n = 0; n < most; n++) {
		if (n == next) {
			keep(s, w);
			next *= 2;
		}
		/* a sleeping mbarrier wait is retried once: it returns false, and loops */
		if (w->blocked && !paths_wake(w, P_MBAR, true))
			return W_WAITS;         /* only others can wake it */
		if (warp_step(w, steps) == R_STOP || w->done || cluster_out(c) != out || c->clocks != clocks)
			return W_ELSEWHERE;
		if (same(s, w))
			return W_ROUND;
	}
	return W_ELSEWHERE;
}

/* ---- the cluster ---- */

/* An mbarrier's phases are distinguished only by their parity, and so is their image in memory. */
static u64
mbars_state(u64 h, const Cta *b)
{
	for (u32 i = 0; i < b->mb.cap; i++) {
		const Mbar *m = b->mb.slot[i];
		if (m && m->live) {
			u32 v[5] = { m->addr, m->expected, m->pending, (u32)m->tx, m->phase & 1 };
			h = state_mix(h, v, sizeof v);
		}
	}
	return h;
}

static u64
memory_state(u64 h, Cta *b)
{
	u64 zero = 0;

	for (u32 i = 0; i < b->mb.cap; i++)
		if (b->mb.slot[i] && b->mb.slot[i]->live)
			memcpy(b->smem + b->mb.slot[i]->addr, &zero, sizeof zero);
	h = state_mix(h, b->smem, b->smem_bytes);
	for (u32 i = 0; i < b->mb.cap; i++)
		if (b->mb.slot[i] && b->mb.slot[i]->live)
			mbar_keep(b, b->mb.slot[i]);
	return h;
}

static u64
bars_state(u64 h, const Cta *b)
{
	for (u32 i = 0; i < NBAR; i++) {
		const Bar *bar = &b->bar[i];
		u32 v[6] = { i, bar->expect, bar->count, bar->popc, bar->all, bar->any };
		if (!bar->open)
			continue;
		h = state_mix(h, v, sizeof v);
		h = state_mix(h, bar->arrived, sizeof bar->arrived);
		h = state_mix(h, bar->waiting, sizeof bar->waiting);
	}
	return h;
}

static u64
cluster_state(const SimCluster *c)
{
	u64 h = warps_state(c);

	for (u32 i = 0; i < c->n; i++) {
		h = memory_state(h, c->cta[i]);
		h = mbars_state(h, c->cta[i]);
		h = bars_state(h, c->cta[i]);
		for (u32 n = 0; n < c->cta[i]->nwarp; n++)
			h = state_mix(h, &c->cta[i]->warp[n].nstore, sizeof c->cta[i]->warp[n].nstore);
	}
	return h;
}

/* Runs every warp until it repeats a state or waits. Returns false if one leaves its loop, or none made
 * progress. */
static bool
all_go(SimCluster *c, WarpSnapshot *s, u64 *steps)
{
	u64 before = *steps;

	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++) {
			Warp *w = &c->cta[i]->warp[n];
			if (!w->done && go_round(w, s, steps) == W_ELSEWHERE)
				return false;
		}
	return *steps != before && !c->flights;
}

bool
spin_proven(SimCluster *c, u64 *steps)
{
	WarpSnapshot *s = state_new(&c->cta[0]->warp[0]);
	bool proven = false;
	u64 kept = 0, now;

	c->look = NULL;
	for (u32 n = 1; s && !proven && n <= MOST_ROUNDS && !c->flights && !c->l->shown; n++) {
		u64 inner = c->inner;
		if (!all_go(c, s, steps))
			break;
		proven = c->inner == inner;
		if (proven)
			break;
		now = cluster_state(c);
		proven = n > 1 && now == kept;
		kept = n & (n - 1) ? kept : now;
	}
	free(s);
	return proven;
}
