/* bar_cluster.c - executes barrier.cluster.arrive and .wait. */
#include "lib/sim/exec/divergence.h"
#include "lib/sim/state/fault.h"

static void
misuse(Warp *w, const Ins *in, u32 mask, const char *what)
{
	fault_add(w, low_lane(mask), SIM_FAULT_CLUSTER, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%.60s: %s", in->text, what);
}

static bool
complete(const SimCluster *c)
{
	bool any = false;

	for (u32 i = 0; i < c->n; i++)
		for (u32 k = 0; k < c->cta[i]->nwarp; k++) {
			const Warp *w = &c->cta[i]->warp[k];
			if (w->live & ~w->carrived)
				return false;
			any |= w->carrived != 0;
		}
	return any;
}

static void
pass(Warp *w, u32 mask)
{
	w->cdone &= ~mask;
	if (w->def && w->know.far != w->cta->cl->vdone) {
		vec_join(w->cta->l, &w->know.far, w->cta->cl->vdone);
		vec_own(w);
	}
	if (w->def && w->know.gacq < w->cta->cl->gdone)
		w->know.gacq = w->cta->cl->gdone;
	if (w->def && w->know.gown < w->cta->cl->gdone)
		w->know.gown = w->cta->cl->gdone;
}

static void
release(Warp *w)
{
	w->cdone |= w->carrived;
	w->carrived = 0;
	for (u32 k = 0; k < w->npath; k++) {
		Path *q = &w->path[k];
		if (q->state != P_CLUSTER || q->mask & w->live & ~w->cdone)
			continue;
		pass(w, q->mask);
		q->state = P_RUN;
		q->forced = false;
		q->pc++;
		w->blocked = false;
	}
}

/* If all threads of the cluster have arrived, releases the waiting ones and returns true. */
bool
cluster_bar_try(SimCluster *c)
{
	if (!complete(c))
		return false;
	c->phase++;
	inner_effect(c);
	c->gdone = c->gacq;
	vec_copy(&c->vdone, c->vec);
	for (u32 i = 0; i < c->n; i++)
		for (u32 k = 0; k < c->cta[i]->nwarp; k++)
			release(&c->cta[i]->warp[k]);
	return true;
}

/* .aligned: the whole warp must arrive. Returns false if blocked, or if execution must stop. */
static bool
together(Warp *w, const Ins *in, u32 mask, int *r)
{
	w->reported = false;
	*r = R_BLOCK;
	if (in->flags & F_INT && !sync_lanes(w, in, mask, w->live))
		return false;
	if (!w->reported)
		return true;
	w->cta->dead = true;
	*r = R_STOP;
	return false;
}

int
exec_carrive(Warp *w, const Ins *in, u32 mask)
{
	SimCluster *c = w->cta->cl;
	Vec *now = NULL;
	int r;

	if (!together(w, in, mask, &r))
		return r;
	w->cta->k->barriers++;
	if (mask & (w->carrived | w->cdone)) {
		misuse(w, in, mask & (w->carrived | w->cdone),
		    "the thread has already arrived and not waited");
		mask &= ~(w->carrived | w->cdone);
	}
	w->carrived |= mask;
	inner_effect(c);
	if (w->def)
		vec_join(c->l, &c->vec, in->flags & F_REL ? vec_now(w, &now) : vec_fenced(w, SCOPE_CLUSTER));
	vec_drop(&now);
	if (w->def && in->flags & F_REL)
		c->gacq = time_tick(c->l);
	else if (w->def && c->gacq < w->grel[SCOPE_CLUSTER])
		c->gacq = w->grel[SCOPE_CLUSTER];
	cluster_bar_try(c);
	return R_NEXT;
}

int
exec_cwait(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];
	u32 never = mask & ~(w->carrived | w->cdone);
	int r;

	if (!together(w, in, mask, &r))
		return r;
	if (never) {
		misuse(w, in, never, "the thread waits without having arrived");
		mask &= ~never;
	}
	if (!(mask & ~w->cdone)) {
		pass(w, mask);
		return R_NEXT;
	}
	q->state = P_CLUSTER;
	return R_BLOCK;
}
