/* sync.h - what warps know of each other, clusters, mbarriers, operations in flight.
 *
 * Happens-before.  A warp's knowledge (Know) is the newest clock it knows of each warp of its
 * block and of each agent, and one moment of launch time.  Knowledge is handed over by barriers,
 * mbarriers, fences, acquire and release.
 *	vc[v]               what warp v did up to this clock is ordered before us
 *	vc[MAX_WARPS + a]   the same for agent a: asynchronous copies that complete on the mbarriers
 *	                    of that number (mod NAGENT) have been waited for up to this clock
 *	pf[p][v]            writes of warp v up to this clock are behind a proxy fence we know of:
 *	                    p = 0 shared, 1 global memory
 *	gacq                what other blocks did before this launch time is ordered before us
 *	gown                the same for the own block, handed over by way of another block
 *
 * Shared addresses.  An address of shared::cta is an offset; of shared::cluster the same offset
 * with rank + 1 above RANK_SHIFT, or 0 there for the own block.
 */
#ifndef SIM_SYNC_H
#define SIM_SYNC_H
#include "ins.h"

typedef struct Block Block;
typedef struct Worker Worker;
typedef struct Launch Launch;

enum { NAGENT = 32, NCLOCK = MAX_WARPS + NAGENT, MAX_CLUSTER = 16, RANK_SHIFT = 24,
	RANK_BITS = 5 };
#define RANK_OFFSET ((1u << RANK_SHIFT) - 1)

typedef struct Know {
	u32 vc[NCLOCK];
	u32 pf[2][MAX_WARPS];
	u32 gacq;
	u32 gown;
} Know;
/* order.c */
void know_join(Know *to, const Know *from);
void know_release(Warp *w, Know *to); /* all that w did and knows; starts a new clock */
u32 time_tick(Launch *l); /* a new moment of launch time */

/* An asynchronous operation that has been issued.  It lands when no warp of its cluster can
 * move, or a few scheduling rounds later; of several the newest first: nothing may depend on an
 * order that nobody waited for.  One malloc'd block that starts with this; freed by the queue,
 * landed or not. */
typedef struct Flight {
	struct Flight *next;
	void (*land)(struct Flight *); /* do it; may add flights, must not free */
	struct Cluster *cl; /* set by flight_add, as the next three */
	u64 round; /* when it was issued */
	u32 line; /* of the instruction */
	Block *from; /* block that issued it */
	Block *dst; /* block whose shared memory it will touch: it must not exit
	                                 * before; NULL: none, or it is judged in land() */
} Flight;
void flight_add(Warp *w, const Ins *in, Flight *f); /* f->land and f->dst are set */

typedef struct Mbar { /* one mbarrier object */
	u32 addr; /* in its block's shared memory */
	u32 expected, pending; /* arrivals: of a phase, still missing in this one */
	s32 tx; /* transactions still expected in this phase */
	u32 phase; /* phases completed */
	bool live; /* between init and inval */
	bool fenced; /* the init is known to the async proxy */
	u8 agent;
	u32 line; /* of its init */
	u32 init_warp, init_clock, init_era;
	Know next, done; /* handed over by arrivals; to who sees the phase end */
} Mbar;

typedef struct MbarTab { /* of a block: open addressing by address */
	Mbar **slot;
	u32 cap, n, nunfenced;
	u32 lo, hi; /* all live ones are in [lo, hi) */
	u32 agent_clock[NAGENT];
	u32 made; /* inits so far */
} MbarTab;

typedef struct Cluster {
	Launch *l;
	Worker *k;
	Block *blk[MAX_CLUSTER];
	u32 n, lin; /* blocks; number of the cluster */
	Flight *flights; /* newest first */
	u64 round;
	u64 effects; /* grows with each thing another warp could notice, ... */
	u64 reads; /* ... and with each that other clusters may have changed */
	u64 clocks;                     /* reads of clocks */
	u64 epoch;                      /* of the launch, + 1, when last proven to spin */
	bool timed_out; /* mbarrier waits have, with this state: */
	u64 state, seen[3];             /* effects, reads, clocks */
	u32 gacq; /* barrier.cluster: time of the releases so far, ... */
	u32 gdone; /* ... of the last phase that completed */
	u64 phase; /* barrier.cluster phases completed */
	struct Cluster *next;
} Cluster;

/* cluster.c */
Cluster *cluster_new(Worker *k, u32 lin); /* blocks and all; NULL: no memory */
void cluster_drop(Cluster *c); /* blocks go back to their worker, flights are lost */
int cluster_run(Cluster *c, u64 slice); /* R_NEXT done, R_BLOCK not yet, R_STOP */
/* The block an address of shared::cluster is in, and its offset there; NULL: rank too large. */
Block *cluster_block(const Block *own, u64 addr, u32 *off);
/* Lane of w accesses shared memory of another block: it has to be alive, and stay so. */
bool cluster_reach(Warp *w, const Ins *in, int lane, Block *b, u32 off, u32 bytes);
static inline u32
cluster_addr(u32 rank, u32 off)
{
	return (rank + 1) << RANK_SHIFT | (off & RANK_OFFSET);
}
bool cluster_bar_try(Cluster *c);
bool flights_land(Cluster *c, bool all);
void block_end(Block *b);

/* hang.c */
bool mbar_unstick(Cluster *c, u64 *steps); /* waits that nobody ends answer false */
void hang_tell(Cluster *c); /* nothing moves: one fault and the long report */
/* spin.c: every warp goes round without an effect, or waits for others of the cluster */
bool spin_proven(Cluster *c, u64 *steps);
char *hang_report(const Cluster *c); /* malloc'd; NULL: no memory */

/* proxy.c.  The async proxy reads what a good access names (bulk copies, wgmma): every generic
 * write it can see has to be behind a proxy fence.  Says so if that is certain; the race check is
 * check_access's. */
struct Access;
void proxy_read(Warp *w, const Ins *in, int lane, const struct Access *a, u32 bytes);
enum { FENCE_THREAD, FENCE_MBAR_INIT, FENCE_ASYNC, FENCE_ASYNC_GLOBAL, FENCE_ASYNC_SHARED,
	FENCE_OTHER };
void proxy_fence(Warp *w, u32 kind);

/* mbar.c.  A fault of kind MBARRIER; returns false. */
bool mbar_bad(Warp *w, const Ins *in, int lane, u32 addr, const char *fmt, ...)
#if defined(__GNUC__)
	__attribute__((format(printf, 5, 6)))
#endif
	;
/* The mbarriers that base + off names; kind: A_SWRITE, or A_SREAD of a wait, or A_WRITE of an init. */
u32 mbar_places(Warp *w, const Ins *in, const Ref *base, s64 off, u32 mask, int kind,
                struct Access *acc);
/* Arrive on the mbarrier at `addr` of block b, for one lane of w: first `tx` more bytes
 * are expected, then `count` arrivals are made; count 0: expect only.  False after a fault. */
bool mbar_arrive(Warp *w, const Ins *in, int lane, Block *b, u32 addr, u32 count, s64 tx);
/* `bytes` of an asynchronous operation have arrived; may end the phase.  False if there is no
 * mbarrier (it is told at the line of f). */
bool mbar_complete_tx(const Flight *f, Block *b, u32 addr, u32 bytes);
/* cp.async.mbarrier.arrive: one more arrival is pending; the copies of lane have landed, and it
 * arrives.  Who waits knows then what w has done, but nothing that w knows. */
bool mbar_more(Warp *w, const Ins *in, int lane, Block *b, u32 addr);
void mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr);
/* What was done before this launch time is known to who sees the present phase end. */
void mbar_time(Block *b, u32 addr, u32 time);
void mbar_overwrite(Warp *w, const Ins *in, int lane, Block *b, u32 addr, u32 bytes);
Mbar *mbar_find(const Block *b, u32 addr); /* NULL if none is live there */
void mbar_reset(Block *b); /* at the start of a block */
void mbar_free(Block *b);
void mbar_fence(Warp *w); /* inits that w knows of are fenced now */
/* What an async operation needs of the mbarrier it will signal: live, and fenced after its init. */
bool mbar_async_use(Warp *w, const Ins *in, int lane, Block *b, u32 addr);
/* An async write issued by a thread of `from` (its check_access was A_ASYNC by instruction pc) has
 * landed in b.  Whoever sees the phase of the mbarrier end may use the data.  Call it before
 * mbar_complete_tx. */
void mbar_landed(Block *b, u32 addr, u32 bytes, const Block *from, u32 thread, s32 pc, u32 mbar);
/* cpasync.c */
void copies_finish(Warp *w, u32 mask, u32 keep, bool all);
void copies_before(Warp *w, u32 mask, u32 seq);         /* complete those older than seq */
void copies_free(Warp *w);
#endif
