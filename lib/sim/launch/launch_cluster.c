/* launch_cluster.c - runs the blocks of a cluster alternately on one host thread: their start and end, the
 * queue of operations in flight, access to each other's shared memory. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/launch/sched.h"
#include "lib/sim/state/fault.h"

static bool
take_blocks(SimCluster *c, const u32 *dim)
{
	Launch *l = c->l;
	u32 at[3] = { c->lin % l->cgrid[0] * dim[0], c->lin / l->cgrid[0] % l->cgrid[1] * dim[1],
		      c->lin / l->cgrid[0] / l->cgrid[1] * dim[2] };

	for (u32 n = dim[0] * dim[1] * dim[2]; c->n < n;) {
		Cta *b = cta_new(c->k);
		u32 r = c->n;
		if (!b)
			return false;
		b->rank = r;
		b->cl = c;
		b->id[0] = at[0] + r % dim[0];
		b->id[1] = at[1] + r / dim[0] % dim[1];
		b->id[2] = at[2] + r / dim[0] / dim[1];
		b->lin = b->id[0] + l->a.grid[0] * (b->id[1] + l->a.grid[1] * b->id[2]);
		c->cta[c->n++] = b;
		cta_start(c->k, b);
	}
	return true;
}

SimCluster *
cluster_new(Worker *k, u32 lin)
{
	SimCluster *c = k->freec;

	if (c)
		k->freec = c->next;
	else
		c = malloc(sizeof *c);
	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	c->k = k;
	c->l = k->l;
	c->lin = lin;
	if (take_blocks(c, k->l->cdim))
		return c;
	cluster_drop(c);
	return NULL;
}

void
cluster_drop(SimCluster *c)
{
	Worker *k = c->k;

	flights_drop(c);
	vec_drop(&c->vec);
	vec_drop(&c->vdone);
	for (u32 i = 0; i < c->n; i++) {
		c->cta[i]->next = k->free;
		k->free = c->cta[i];
	}
	c->next = k->freec;
	k->freec = c;
}

/* ---- running ---- */

static bool
alive(const SimCluster *c)
{
	for (u32 i = 0; i < c->n; i++)
		if (!c->cta[i]->ended)
			return true;
	return false;
}

static bool
has_state(const SimCluster *c, u32 state)
{
	for (u32 i = 0; i < c->n; i++)
		for (u32 n = 0; n < c->cta[i]->nwarp; n++)
			for (u32 k = 0; k < c->cta[i]->warp[n].npath; k++)
				if (c->cta[i]->warp[n].path[k].state == state)
					return true;
	return false;
}

/* No progress: completes every barrier it can, lets mbarrier waits time out, and last lets paths continue
 * without the lanes of their warp that they wait for, which is reported. Returns false if the hang is
 * permanent. */
static bool
unstick(SimCluster *c, u64 *steps)
{
	for (u32 i = 0; i < c->n; i++)
		if (bar_try(c->cta[i]))
			return true;
	if (cluster_bar_try(c))
		return true;
	if (has_state(c, P_MBAR))
		return mbar_unstick(c, steps);
	for (u32 i = 0; i < c->n; i++)
		if (cta_unstick(c->cta[i]))
			return true;
	return false;
}

/* Another block's last access, or arrival, must be ordered before the end of this one, by a barrier of the
 * cluster or by any other wait of this block. */
static void
check_reach(Cta *b)
{
	const RemoteAccess *r = &b->reach;
	u32 known = 0;

	if (!r->w || b->cl->phase > r->phase)
		return;
	for (u32 i = 0; i < b->nwarp; i++) {
		const Warp *w = &b->warp[i];
		known = w->know.gacq > known ? w->know.gacq : known;
		known = w->acq.gacq > known ? w->acq.gacq : known;
		known = w->far[SCOPE_CLUSTER].acq > known ? w->far[SCOPE_CLUSTER].acq : known;
	}
	if (known > r->time)
		return;
	fault_add(r->w, r->lane, SIM_FAULT_CLUSTER, r->in->line, SIM_SPACE_SHARED, r->off, r->bytes, NULL,
	          "%.60s: block %u,%u,%u (rank %u) does not wait for this access before it exits",
	          r->in->text, b->id[0], b->id[1], b->id[2], b->rank);
}

static void
cta_end(Cta *b)
{
	b->gone = true;
	for (PendingOp *f = b->cl->flights; b->l->checks && f; f = f->next)
		if (f->dst == b)
			fault_add(&b->warp[0], 0, SIM_FAULT_CLUSTER, f->line, SIM_SPACE_SHARED, 0, 0, NULL,
			          "block %u,%u,%u exits while the asynchronous operation of line %u, by "
			          "block %u,%u,%u, still writes its shared memory",
			          b->id[0], b->id[1], b->id[2],
			          f->line, f->from->id[0], f->from->id[1], f->from->id[2]);
	check_reach(b);
	bulk_finish(b);
	if (b->wg)
		wgmma_end(b);
	cluster_bar_try(b->cl);
}

int
cluster_run(SimCluster *c, u64 slice)
{
	u64 used = 0;
	int r = R_BLOCK;
	bool polls = false;

	while (r == R_BLOCK && used < slice && !polls) {
		bool moved = false;
		u64 out = cluster_out(c), asked = c->polls;
		for (u32 i = 0; i < c->n; i++) {
			Cta *b = c->cta[i];
			if (!b->ended && !cta_round(b, &used, &moved)) {
				c->k->steps += used;
				return R_STOP;
			}
			if (b->ended && !b->gone)
				cta_end(b);
		}
		c->round++;
		if (flights_land(c, !moved))
			moved = true;
		if (!alive(c)) {
			flights_land(c, true);  /* into the memory of exited blocks: reported */
			r = R_NEXT;
		} else if (!moved && !unstick(c, &used)) {
			hang_tell(c);
			r = R_STOP;
		}
		/* it may wait for another cluster, which must run */
		polls = c->polls != asked && cluster_out(c) == out;
	}
	c->k->steps += used;
	return r;
}
