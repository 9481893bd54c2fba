/* sched.h - execution of a launch: workers, clusters, blocks, warp scheduling. */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H
#include "lib/sim/state/execution.h"

/* Instructions of a warp's time slice: `most`; with a seed 0 to 15, so that all interleavings can happen. */
static inline u64
turn(Launch *l, u64 most)
{
	if (!l->a.seed)
		return most;
	l->random = l->random * 6364136223846793005ull + 1442695040888963407ull;
	return (1ull << (l->random >> 33) % 5) - 1;
}

/* workers.c: one worker of `k` for each of l->nthread */
void run_workers(Launch *l, Worker *k);
/* launch_cluster.c */
SimCluster *cluster_new(Worker *k, u32 lin);       /* with its blocks; NULL: out of memory */
void cluster_drop(SimCluster *c);                  /* frees its blocks; operations in flight are lost */
int cluster_run(SimCluster *c, u64 slice);         /* R_NEXT done, R_BLOCK not yet, R_STOP */
/* cta.c */
Cta *cta_new(Worker *k);                        /* NULL: out of memory */
void cta_start(Worker *k, Cta *b);              /* id, lin, rank and cl are set */
void cta_free(Cta *b);
/* sched.c */
/* Runs a time slice of every runnable warp. Returns false if the cluster must stop. */
bool cta_round(Cta *b, u64 *steps, bool *moved);
int warp_step(Warp *w, u64 *steps);             /* one instruction: R_ as of a slice */
bool cta_unstick(Cta *b);                       /* a warp continues without the lanes it waits for */
/* deadlock.c */
bool mbar_unstick(SimCluster *c, u64 *steps);      /* waits that cannot complete return false */
u64 state_mix(u64 h, const void *p, size_t bytes); /* hash of the previous hash h and these bytes */
u64 warps_state(const SimCluster *c);              /* hash of registers, local memory and paths */
void hang_tell(SimCluster *c);                     /* no progress: reports one fault and the long text */
/* deadlock_cause.c: the path that represents a hang, and its warp; NULL: none waits */
const Path *hang_cause(SimCluster *c, Warp **who);
/* livelock.c: do its warps always return to an earlier state, unless memory changes? */
bool spin_proven(SimCluster *c, u64 *steps);
/* debug_view.c */
bool view_prepare(Launch *l);                   /* false: out of memory */
bool view_show(Warp *w, const Ins *in, u32 here, u32 mask); /* false: the hook requested a stop */
#endif
