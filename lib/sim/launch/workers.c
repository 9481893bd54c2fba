/* workers.c - distributes the clusters of a launch over host threads. */
#include <pthread.h>
#include "lib/sim/exec/bulk.h"
#include "lib/sim/exec/calls.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/l2_model.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/launch/sched.h"
#include "lib/sim/state/fault.h"
#include "taskmap/support/thread_pool.h"

enum { FEW = 256, MOST = 4096 }; /* blocks set aside by a worker: at first, and when all of them wait */
#define BLOCK_SLICE (1ull << 20)

static void
finish_cluster(Worker *k, SimCluster *c, bool ran)
{
	for (u32 i = 0; i < c->n; i++) {
		Cta *b = c->cta[i];
		k->blocks += ran;
		k->bsect[0] += b->sect_n[0];
		k->bsect[1] += b->sect_n[1];
		if (b->l2 && !l2_block(k->l->l2, b->lin, b->l2))
			launch_stop(k->l, SIM_E_NOMEM, "out of memory");
		for (u32 w = 0; w < b->nwarp; w++) {
			copies_free(&b->warp[w]);
			bulk_free(&b->warp[w]);
			saves_free(&b->warp[w]);
			wgmma_free(&b->warp[w]);
		}
	}
	cluster_drop(c);
}

static bool
within_budget(Worker *k, const SimCluster *c)
{
	Launch *l = k->l;
	u64 all = __atomic_add_fetch(&l->steps, k->steps, __ATOMIC_RELAXED);

	k->steps = 0;
	if (k->nomem)
		launch_stop(l, SIM_E_NOMEM, "out of memory");
	else if (all > l->max_steps)
		launch_stop(l, SIM_E_LIMIT, "instruction budget exhausted; the kernel may not terminate");
	else if (l->a.cancel && l->a.cancel(l->a.user))
		launch_stop(l, SIM_E_LIMIT, "cancelled");
	return !is_stopped(l, c->lin);
}

/* ---- can anything still make progress? ---- */

static void
epoch_ends(Launch *l, int started)
{
	LaunchLocks *s = l->sync;

	pthread_mutex_lock(&s->faults);
	l->running += (u32)started;
	l->epoch++;
	l->spinning = 0;
	pthread_mutex_unlock(&s->faults);
}

/* Does the device hold no other cluster now? At least one runs. */
static bool
is_full(const Launch *l)
{
	u32 most = l->a.resident / (l->nblock / l->ncluster);

	return l->a.resident && l->running >= (most ? most : 1);
}

/* A cluster has had a time slice without an effect. Returns true if that will be so for all, for ever. */
static bool
all_spin(Worker *k, SimCluster *c)
{
	Launch *l = k->l;
	LaunchLocks *s = l->sync;
	u64 out = cluster_out(c), epoch, steps = 0;
	bool proven, all = false;

	pthread_mutex_lock(&s->faults);
	epoch = l->epoch;
	pthread_mutex_unlock(&s->faults);
	proven = spin_proven(c, &steps);
	c->patience = proven ? c->quiet : 2 * c->quiet;
	k->steps += steps;
	if (cluster_out(c) != out) {
		epoch_ends(l, 0);
		return false;
	}
	pthread_mutex_lock(&s->faults);
	if (proven && l->epoch == epoch && c->epoch != epoch + 1) {
		c->epoch = epoch + 1;
		l->spinning++;
		all = l->spinning == l->running;
		if (all && !l->stop && l->next_cluster < l->ncluster && l->room < MOST && !is_full(l)) {
			l->room *= 2;   /* they may wait for a cluster that has not started */
			all = false;
		}
	}
	pthread_mutex_unlock(&s->faults);
	return all;
}

/* c has had a time slice of `steps` steps. Livelock detection is expensive: for a cluster that computes in
 * shared memory it runs later than for one that polls. */
static void
quieten(SimCluster *c, u64 out, u64 inner, u64 steps)
{
	if (cluster_out(c) != out || !c->patience) {
		c->quiet = 0;
		c->patience = c->polls ? BLOCK_SLICE / 16 : BLOCK_SLICE;
	}
	if (cluster_out(c) == out)
		c->quiet += steps;
	if (c->inner != inner && !c->polls && c->patience < 8 * BLOCK_SLICE)
		c->patience = 8 * BLOCK_SLICE;
}

static SimCluster *
next_cluster(Worker *k)
{
	Launch *l = k->l;
	LaunchLocks *s = l->sync;
	SimCluster *c;
	u32 lin;

	/* It counts as running as soon as it is no longer pending: all_spin counts both. */
	pthread_mutex_lock(&s->faults);
	lin = is_full(l) ? l->ncluster : l->next_cluster;
	if (lin < l->ncluster) {
		l->next_cluster++;
		l->running++;
		l->epoch++;
		l->spinning = 0;
	}
	pthread_mutex_unlock(&s->faults);
	if (lin >= l->ncluster)
		return NULL;
	c = cluster_new(k, lin);
	if (!c)
		launch_stop(l, SIM_E_NOMEM, "out of memory");
	return c;
}

/* Runs clusters (mostly of one block) to their end one after the other. A long-running one may be waiting for
 * another: it is set aside and a new one started, as on a device with many processors. */
static void
worker(void *workers, unsigned i)
{
	Worker *k = (Worker *)workers + i;
	SimCluster *aside = NULL, **end = &aside, *c;
	u32 naside = 0;

	for (;;) {
		bool stop = __atomic_load_n(&k->l->stop, __ATOMIC_RELAXED);
		u32 most = __atomic_load_n(&k->l->room, __ATOMIC_RELAXED) /
		           (k->l->nblock / k->l->ncluster);

		c = naside < most && !stop ? next_cluster(k) : NULL;
		if (!c && aside) {
			c = aside;
			aside = c->next;
			if (!aside)
				end = &aside;
			naside--;
		}
		if (!c)
			break;
		if (is_stopped(k->l, c->lin)) {
			epoch_ends(k->l, -1);
			finish_cluster(k, c, false);
			continue;
		}
		u64 out = cluster_out(c), inner = c->inner, slice = k->l->a.seed ? 1 : BLOCK_SLICE;
		int r = cluster_run(c, k->l->max_steps < slice ? k->l->max_steps + 1 : slice);
		quieten(c, out, inner, k->steps);
		if (!within_budget(k, c))
			r = r == R_NEXT ? r : R_STOP;
		if (r != R_BLOCK || cluster_out(c) != out) {
			epoch_ends(k->l, r == R_BLOCK ? 0 : -1);
		} else if (c->quiet >= c->patience && all_spin(k, c)) {
			/* clusters that wait for a stopped one are not reported */
			if (!__atomic_load_n(&k->l->stop, __ATOMIC_RELAXED))
				hang_tell(c);
			launch_stop(k->l, SIM_E_FAULT, "deadlock: all blocks wait for an event that never "
			                               "occurs");
			r = R_STOP;
		}
		if (r == R_BLOCK) {
			c->next = NULL;
			*end = c;
			end = &c->next;
			naside++;
			continue;
		}
		finish_cluster(k, c, r == R_NEXT);
	}
}

void
run_workers(Launch *l, Worker *k)
{
	const Workers own = { 0 };

	l->room = FEW;
	workers_run(&own, l->nthread, worker, k);
}
