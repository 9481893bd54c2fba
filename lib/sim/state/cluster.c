/* cluster.c - finds the block of a shared address in a cluster; maintains the queue of operations in
 * flight. */
#include <stdlib.h>
#include "lib/sim/state/execution.h"

enum { FLIGHT_ROUNDS = 2 };

Cta *
cluster_cta(const Cta *own, u64 addr, u32 *off)
{
	u64 rank = addr >> RANK_SHIFT;

	*off = (u32)addr & RANK_OFFSET;
	if (!rank)
		return own->cl->cta[own->rank];
	return rank <= own->cl->n ? own->cl->cta[rank - 1] : NULL;
}

void
flight_add(Warp *w, const Ins *in, PendingOp *f)
{
	SimCluster *c = w->cta->cl;

	f->cl = c;
	f->round = c->round;
	f->line = in->line;
	f->from = w->cta;
	c->effects++;
	f->next = c->flights;
	c->flights = f;
}

/* Lands those old enough, or all; returns true if one has landed. */
bool
flights_land(SimCluster *c, bool all)
{
	PendingOp **at = &c->flights, *f, *ripe = NULL, **end = &ripe;

	while ((f = *at) != NULL) {
		if (!all && f->round + FLIGHT_ROUNDS > c->round) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		*end = f;
		end = &f->next;
	}
	*end = NULL;
	if (!ripe)
		return false;
	while ((f = ripe) != NULL) {
		ripe = f->next;
		f->land(f);
		c->effects++;
		free(f);
	}
	return true;
}

void
flights_drop(SimCluster *c)
{
	while (c->flights) {
		PendingOp *f = c->flights;
		c->flights = f->next;
		free(f);
	}
}

bool
paths_wake(Warp *w, PathState state, bool forced)
{
	bool any = false;

	for (u32 k = 0; k < w->npath; k++) {
		if (w->path[k].state != state)
			continue;
		w->path[k].state = P_RUN;
		w->path[k].forced |= forced;
		w->blocked = false;
		any = true;
	}
	return any;
}
