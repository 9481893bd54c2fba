/* spin.c - loops that wait for what no one will ever write.
 *
 * A cluster whose slice had no effect may spin.  Each warp that can run is then run instruction by
 * instruction until it is in a state it has been in before; if that was reached without writing, and
 * without reading a clock, the warp goes round for ever unless memory changes.  When this is so of all
 * warps of all clusters of a launch, and none is left to start, memory will not change.  What a cluster
 * writes ends the epoch, and with it all that was proven. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/launch/sched.h"

enum { MOST_STEPS = 1 << 16 };

typedef struct State {
	u32 npath, live, cc;
	s32 cur;
	u32 sp[WARP];
	size_t nr, np, nlocal;          /* bytes */
	u8 *r, *p, *local;
	Path path[];
} State;

static State *
state_new(const Warp *w)
{
	const Launch *l = w->cta->l;
	size_t nr = (size_t)(l->units + 2) * WARP * sizeof(u32), np = (l->preds + 1) * sizeof(u32);
	size_t nlocal = (size_t)l->local * WARP, head = sizeof(State) + l->paths * sizeof(Path);
	State *s = malloc(head + nr + np + nlocal);

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
keep(State *s, const Warp *w)
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
same(const State *s, const Warp *w)
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

/* The state is looked at after 1, 2, 4, ... steps and compared from there on. */
static bool
goes_round(Warp *w, State *s, u64 *steps)
{
	const Cluster *c = w->cta->cl;
	u64 effects = c->effects, clocks = c->clocks, next = 1;

	keep(s, w);
	for (u64 n = 0; n < MOST_STEPS; n++) {
		if (n == next) {
			keep(s, w);
			next *= 2;
		}
		/* a wait for an mbarrier that sleeps is asked once more: it says false, and comes again */
		if (w->blocked && !paths_wake(w, P_MBAR, true))
			return true;            /* others have to move it */
		if (warp_step(w, steps) == R_STOP || w->done || c->effects != effects || c->clocks != clocks)
			return false;
		if (same(s, w))
			return true;
	}
	return false;
}

bool
spin_proven(Cluster *c, u64 *steps)
{
	State *s = state_new(&c->cta[0]->warp[0]);
	bool ok = s && !c->flights && !c->l->shown;

	for (u32 i = 0; ok && i < c->n; i++)
		for (u32 n = 0; ok && n < c->cta[i]->nwarp; n++) {
			Warp *w = &c->cta[i]->warp[n];
			ok = w->done || goes_round(w, s, steps);
		}
	free(s);
	return ok;
}
