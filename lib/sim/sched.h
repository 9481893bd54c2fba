/* sched.h - running a launch: blocks, the turns of warps, divergence, barriers. */
#ifndef SIM_SCHED_H
#define SIM_SCHED_H
#include "machine.h"

/* workers.c: one worker of `k` for each of l->nthread */
void run_workers(Launch *l, Worker *k);
/* block.c */
Block *sim_block_new(Worker *k);                /* NULL: out of memory */
void block_start(Worker *k, Block *b);          /* id, lin, rank and cl are set */
void block_free(Block *b);
/* sched.c */
/* Every warp that can gets its turn.  False: the cluster has to stop. */
bool block_round(Block *b, u64 *steps, bool *moved);
int warp_step(Warp *w, u64 *steps);             /* one instruction: R_ as of a slice */
bool block_unstick(Block *b);                   /* a warp goes on without lanes it waits for */
/* paths.c */
void path_branch(Warp *w, const Ins *in, u32 taken, u32 not_taken);
s32 path_new(Warp *w, s32 pc, s32 rpc, u32 mask, s32 parent);
void path_join(Warp *w);
void path_split(Warp *w, const Ins *in, s32 a, u32 ma, s32 b, u32 mb);
void path_meet(Warp *w);                        /* the current path is at its meeting point */
bool path_unpark(Warp *w);
/* exec_warp.c: true if the lanes of `need` are all here; else the path has been blocked, or
 * the fault told (*missing set to true) and the instruction goes on with what there is */
bool sync_lanes(Warp *w, const Ins *in, u32 mask, u32 need);
/* The whole warp has to be here, nobody exited: .aligned instructions with fragments. */
bool sync_full(Warp *w, const Ins *in, u32 mask);
/* bar.c */
bool bar_try(Block *b);                         /* complete what can be; true if something was */
/* view.c */
bool view_prepare(Launch *l);                   /* false: out of memory */
bool view_show(Warp *w, const Ins *in, u32 here, u32 mask);     /* false: the hook said stop */
#endif
