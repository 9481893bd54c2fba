/* deadlock_cause.c - determines which waits of a hang are its cause: those that cannot complete.
 *
 * A barrier that lacks threads which themselves wait elsewhere is not a cause; it waits for what these wait
 * for. The threads expected at an mbarrier, or at a barrier of fewer threads than the block has, are those
 * that arrived in earlier phases. */
#include "lib/sim/launch/sched.h"

/* Does one of these lanes wait elsewhere than q does? */
static bool
elsewhere(const Warp *w, u32 lanes, const Path *q)
{
	for (u32 k = 0; k < w->npath; k++) {
		const Path *p = &w->path[k];
		bool same = p->state == q->state && (p->state != P_BAR || p->bar == q->bar) &&
		            (p->state != P_MBAR || p->need == q->need);
		if ((p->state == P_RUN || p->state >= P_SYNC) && p->mask & lanes & w->live && !same)
			return true;
	}
	return false;
}

static bool
any_elsewhere(const Cta *b, u32 warps, const Path *q)
{
	int i;

	FOR_LANES(i, warps)
		if ((u32)i < b->nwarp && elsewhere(&b->warp[i], ALL_LANES, q))
			return true;
	return false;
}

/* Are enough threads for the barrier alive? */
static bool
can_fill(const Cta *b, const Bar *bar)
{
	u32 n = bar->count;

	for (u32 i = 0; bar->expect && i < b->nwarp; i++) {
		if (bar->former >> i & 1 && b->warp[i].done)
			return false;
		n += popcount(b->warp[i].live & ~bar->arrived[i]);
	}
	return n >= bar->expect;
}

static bool
bar_waits(const Cta *b, const Path *q)
{
	const Bar *bar = &b->bar[q->bar];

	for (u32 i = 0; can_fill(b, bar) && i < b->nwarp; i++)
		if ((!bar->expect || !bar->former || bar->former >> i & 1) &&
		    elsewhere(&b->warp[i], ~bar->arrived[i], q))
			return true;
	return false;
}

static bool
cluster_waits(const SimCluster *c, const Path *q)
{
	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++)
			if (elsewhere(&c->cta[i]->warp[n], ~c->cta[i]->warp[n].carrived, q))
				return true;
	return false;
}

/* Do the threads that q waits for wait for something else? */
static bool
waits(const Warp *w, const Path *q)
{
	const Mbar *m = q->state == P_MBAR ? mbar_find(w->cta, q->need) : NULL;

	switch (q->state) {
	case P_BAR: return bar_waits(w->cta, q);
	case P_CLUSTER: return cluster_waits(w->cta->cl, q);
	case P_MBAR: return m && m->pending && any_elsewhere(w->cta, m->former & ~m->arrived, q);
	case P_SYNC: return elsewhere(w, q->need & ~q->mask, q);
	case P_WG: return any_elsewhere(w->cta, 15u << w->id / 4 * 4, q);
	default: return false;
	}
}

/* How certainly q is the cause; 0: it does not wait. */
static u32
weight(const Warp *w, const Path *q)
{
	const Mbar *m = q->state == P_MBAR ? mbar_find(w->cta, q->need) : NULL;
	u32 cause = waits(w, q) ? 0 : 8;

	switch (q->state) {
	case P_BAR: return can_fill(w->cta, &w->cta->bar[q->bar]) ? cause + 3 : cause + 7;
	case P_MBAR: return m && !m->pending ? cause + 6 : cause + 4 + (m && m->pending < m->expected);
	case P_CLUSTER: case P_WG: case P_REGS: return cause + 3;
	case P_RUN: return cause + 2;
	case P_SYNC: return cause + 1;
	default: return 0;
	}
}

const Path *
hang_cause(SimCluster *c, Warp **who)
{
	const Path *best = NULL;
	u32 most = 0;

	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++) {
			Warp *w = &c->cta[i]->warp[n];
			for (u32 k = 0; k < w->npath; k++)
				if (weight(w, &w->path[k]) > most) {
					most = weight(w, &w->path[k]);
					best = &w->path[k];
					*who = w;
				}
		}
	return best;
}
