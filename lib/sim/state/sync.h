/* sync.h - happens-before knowledge of warps, clusters, mbarriers, operations in flight.
 *
 * Happens-before. A warp's knowledge (Know) is the newest clock it has seen of each warp of its block and of
 * each agent, and the same of other blocks. Knowledge is passed on by barriers, mbarriers, fences, acquire
 * and release.
 *	vc[v]               accesses of warp v up to this clock are ordered before us
 *	vc[MAX_WARPS + a]   the same for agent a: asynchronous copies that complete on the mbarriers
 *	                    of that number (mod NAGENT) have been waited for up to this clock
 *	pf[p][v]            writes of warp v up to this clock are followed by a proxy fence we know of:
 *	                    p = 0 shared, 1 global memory
 *	far                 the newest clock it has seen of the warps and agents of other blocks: exact
 *	gacq                accesses of other blocks at or after this launch time are not ordered
 *	gown                as gacq for the own block, through another block: for accesses without a clock
 *	gwide               as gacq, had every scope on the path been wide enough: only for messages
 *
 * Shared addresses. An address of shared::cta is an offset; of shared::cluster the same offset with rank + 1
 * above RANK_SHIFT, or 0 there for the own block.
 */
#ifndef SIM_SYNC_H
#define SIM_SYNC_H
#include "lib/sim/state/ins.h"

typedef struct Cta Cta;
typedef struct Worker Worker;
typedef struct Launch Launch;

enum { NAGENT = 32, NCLOCK = MAX_WARPS + NAGENT, MAX_CLUSTER = 16, RANK_SHIFT = 24,
	RANK_BITS = 5 };
#define RANK_OFFSET ((1u << RANK_SHIFT) - 1)

typedef struct Vec Vec;         /* vec.c */
typedef struct Know {
	u32 vc[NCLOCK];
	u32 pf[2][MAX_WARPS];
	u32 gacq;
	u32 gown;
	u32 gwide;
	Vec *far;               /* last: manually reference-counted. A Know is copied by know_copy */
} Know;
/* What reaches a warp from other blocks, in launch time: as Know.gacq and Know.gown. */
typedef struct Far { u32 acq, own; } Far;
/* vector_clock.c */
void know_join(Launch *l, Know *to, const Know *from);
void know_take(Warp *w, const Know *from); /* w acquires it */
void know_copy(Know *to, const Know *from);
void know_drop(Know *k); /* resets it to zero */
void know_far(Know *to, const Far *from, u32 scope); /* what reaches us at that scope: see Warp.far */
void know_release(Warp *w, Know *to); /* all accesses and knowledge of w; starts a new clock */
u32 time_tick(Launch *l); /* a new moment of launch time */
/* vec.c: any Vec * may be NULL, which knows nothing */
void vec_drop(Vec **v);
void vec_copy(Vec **to, Vec *from);
void vec_join(Launch *l, Vec **to, Vec *from);
u32 vec_clock(const Launch *l, Vec *v, u32 lin, u32 i); /* of block lin, by index in Know.vc */
void vec_own(Warp *w); /* merges the vector's entry for its own block into Know.vc */
/* All accesses and knowledge of w, in *room; starts a new clock. */
Vec *vec_now(Warp *w, Vec **room);
/* The accesses and knowledge of w at its last fence of that scope. */
Vec *vec_fenced(Warp *w, u32 scope);

/* An issued asynchronous operation. It lands when no warp of its cluster can make progress, or a few
 * scheduling rounds later; of several the newest first: code may not depend on an order without a wait. One
 * malloc'd block that starts with this; freed by the queue, landed or not. */
typedef struct PendingOp {
	struct PendingOp *next;
	void (*land)(struct PendingOp *); /* executes it; may add operations, must not free */
	struct SimCluster *cl; /* set by flight_add, like the next three */
	u64 round; /* when it was issued */
	u32 line; /* of the instruction */
	Cta *from; /* block that issued it */
	Cta *dst; /* block it will access, which must not exit before; NULL: none, or checked by land() */
} PendingOp;

typedef struct Moment { u32 warp, clock, time; } Moment; /* accesses of the warp up to it; clock 0: none */

typedef struct MbarSaw { /* a wait that found a phase complete */
	Moment own; /* of the warp itself */
	Moment group; /* of a warp of its group that has waited for a wgmma issued after it */
	u32 turn; /* warpgroup instructions that the warp had executed: see sanitizer/synccheck_wgmma.h */
	u32 line;
} MbarSaw;

typedef struct Mbar { /* one mbarrier object */
	u32 addr; /* in its block's shared memory */
	u32 expected, pending; /* arrivals: of a phase, still pending in this one */
	s32 tx; /* transactions still expected in this phase */
	u32 phase; /* phases completed */
	u32 arrived, former; /* warps of its block: in this phase, in earlier ones */
	bool live; /* between init and inval */
	bool fenced; /* the init is visible to the async proxy */
	u8 agent;
	u32 line; /* of its init */
	u32 init_warp, init_clock, init_era;
	u32 fence_warp, fence_clock, fence_time; /* warp of the first fence, and when */
	Know next, done; /* released by arrivals; acquired by warps that see the phase complete */
	u32 saw; /* warps that found the last phase complete, unknown to all warps that have arrived since */
	MbarSaw by[MAX_WARPS]; /* when these did */
} Mbar;

typedef struct MbarTab { /* of a block: open addressing by address */
	Mbar **slot;
	u32 cap, n, nunfenced;
	u32 lo, hi; /* all live ones are in [lo, hi) */
	u32 agent_clock[NAGENT];
	u32 made; /* inits so far */
} MbarTab;

typedef struct SimCluster {
	Launch *l;
	Worker *k;
	Cta *cta[MAX_CLUSTER];
	u32 n, lin; /* blocks; index of the cluster */
	PendingOp *flights; /* newest first */
	u64 round;
	u64 effects; /* incremented by each effect visible to another warp, ... */
	u64 inner; /* ... those of them visible only to its own warps: shared memory, barriers */
	u64 quiet; /* instructions of its time slices since the last effect that is not inner */
	u64 patience; /* livelock detection runs when `quiet` reaches it */
	u64 reads; /* ... and by each read of memory that other clusters may have changed, ... */
	u64 polls; /* ... those of them by strong accesses that change nothing */
	u64 clocks;                     /* reads of clocks */
	Warp *looker; /* the newest of these reads: its warp and instruction; NULL: none */
	const Ins *look;
	u64 epoch;                      /* of the launch, + 1, when last proven to spin */
	bool timed_out; /* mbarrier waits have timed out, with this state: */
	u64 state, seen[3];             /* effects, reads, clocks */
	u32 gacq; /* barrier.cluster: time of the releases so far, ... */
	u32 gdone; /* ... of the last phase that completed */
	Vec *vec, *vdone; /* what these have released */
	u64 phase; /* barrier.cluster phases completed */
	struct SimCluster *next;
} SimCluster;

/* cluster.c */
/* The block that an address of shared::cluster is in, and its offset there; NULL: rank too large. */
Cta *cluster_cta(const Cta *own, u64 addr, u32 *off);
void flight_add(Warp *w, const Ins *in, PendingOp *f); /* f->land and f->dst are set */
bool flights_land(SimCluster *c, bool all);        /* those old enough, or all; true if one has landed */
void flights_drop(SimCluster *c);
/* Effects visible to other clusters. */
static inline u64
cluster_out(const SimCluster *c)
{
	return c->effects - c->inner;
}
/* Records an effect visible only to its own warps. */
static inline void
inner_effect(SimCluster *c)
{
	c->effects++;
	c->inner++;
}
static inline u32
cluster_addr(u32 rank, u32 off)
{
	return (rank + 1) << RANK_SHIFT | (off & RANK_OFFSET);
}

/* mbarrier.c */
Mbar *mbar_find(const Cta *b, u32 addr); /* NULL if none is live there */
/* Creates one, all zero, replacing one that may be there; NULL: out of memory. */
Mbar *mbar_make(Cta *b, u32 addr);
void mbar_reset(Cta *b); /* at the start of a block */
void mbar_free(Cta *b);
#endif
