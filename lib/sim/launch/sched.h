/* sched.h - running a launch: workers, clusters, blocks, the turns of warps. */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H
#include "lib/sim/state/execution.h"

/* Instructions of a warp's turn: `most`; with a seed 0 to 15, so that all interleavings can happen. */
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
SimCluster *cluster_new(Worker *k, u32 lin);       /* blocks and all; NULL: no memory */
void cluster_drop(SimCluster *c);                  /* blocks go back to their worker, flights are lost */
int cluster_run(SimCluster *c, u64 slice);         /* R_NEXT done, R_BLOCK not yet, R_STOP */
/* cta.c */
Cta *cta_new(Worker *k);                        /* NULL: out of memory */
void cta_start(Worker *k, Cta *b);              /* id, lin, rank and cl are set */
void cta_free(Cta *b);
/* sched.c */
/* Every warp that can gets its turn.  False: the cluster has to stop. */
bool cta_round(Cta *b, u64 *steps, bool *moved);
int warp_step(Warp *w, u64 *steps);             /* one instruction: R_ as of a slice */
bool cta_unstick(Cta *b);                       /* a warp goes on without lanes it waits for */
/* deadlock.c */
bool mbar_unstick(SimCluster *c, u64 *steps);      /* waits that nobody ends answer false */
u64 state_mix(u64 h, const void *p, size_t bytes); /* a hash of what was hashed, h, and of this */
u64 warps_state(const SimCluster *c);              /* of registers, local memory and paths, as a hash */
void hang_tell(SimCluster *c);                     /* nothing moves: one fault and the long report */
/* deadlock_cause.c: the path that speaks for a hang, and its warp; NULL: none waits */
const Path *hang_cause(SimCluster *c, Warp **who);
/* livelock.c: whatever its warps do, they come back to where they were, unless memory changes */
bool spin_proven(SimCluster *c, u64 *steps);
/* debug_view.c */
bool view_prepare(Launch *l);                   /* false: out of memory */
bool view_show(Warp *w, const Ins *in, u32 here, u32 mask); /* false: the hook said stop */
#endif
