/* divergence.h - divergence, and the waits of lanes and warps. */
#ifndef SIM_PATH_H
#define SIM_PATH_H
#include "lib/sim/exec/exec.h"
#include "lib/sim/state/execution.h"

/* divergence.c */
s32 path_new(Warp *w, s32 pc, s32 rpc, u32 mask, s32 parent);
void path_join(Warp *w);
void path_split(Warp *w, const Ins *in, s32 a, u32 ma, s32 b, u32 mb);
void path_meet(Warp *w);                        /* the current path is at its reconvergence point */
bool path_unpark(Warp *w);
/* warp_shuffle.c: returns true if the lanes of `need` have all arrived, or after reporting that some are
 * missing: the instruction executes with the lanes present. Returns false if the path is blocked. */
bool sync_lanes(Warp *w, const Ins *in, u32 mask, u32 need);
/* The whole warp must be here, no lane exited: .aligned instructions with fragments. */
bool sync_full(Warp *w, const Ins *in, u32 mask);
/* bar.c */
bool bar_try(Cta *b);                           /* completes every barrier it can; true if there was one */
/* bar_cluster.c */
bool cluster_bar_try(SimCluster *c);
/* cpasync.c */
void copies_finish(Warp *w, u32 mask, u32 keep, bool all);
void copies_before(Warp *w, u32 mask, u32 seq);         /* complete those older than seq */
void copies_free(Warp *w);
#endif
