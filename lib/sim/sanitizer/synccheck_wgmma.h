/* synccheck_wgmma.h - the state of wgmmas in flight. */
#ifndef SIM_WGMMA_H
#define SIM_WGMMA_H
#include "lib/sim/state/execution.h"

enum { WG_WARPS = 4, WG_RING = 256, WG_PITCH = 16 /* bytes: the read granularity of wgmma */ };

/* One register of a warp. wgmma operations of the warp are numbered from 1. */
typedef struct WgReg {
	u32 acc, a;             /* newest wgmma that writes it, that reads it as A; 0: none */
	u32 touched;            /* fences before the last access by another instruction */
	u32 line;               /* of that access */
	u32 fences;             /* before the newest wgmma that writes it */
	u16 shape;              /* of that: n and type */
} WgReg;

typedef struct WgOp {           /* a wgmma without a wait so far: the shared memory it reads */
	struct WgOp *next;
	const Ins *in;
	u32 seq, group, turn;
	u32 landed, lander;     /* clock of the first warp of the group that has waited for it; 0: none has */
	u32 n;
	u32 chunk[];            /* offsets of WG_PITCH bytes */
} WgOp;

/* The knowledge of a warpgroup's warps when they reached a wgmma.fence, by warp: see Know.vc and Know.pf. */
typedef struct WgKnow { u32 vc[WG_WARPS], pf[WG_WARPS]; } WgKnow;

typedef struct WgWarp {
	u32 seq, done;          /* operations issued, waited for */
	u32 fences, groups;     /* so far */
	u32 arrived;            /* fences that it has reached */
	u32 clock, pf;          /* when it reached the last; clock covered by its proxy fence then */
	WgKnow met;             /* of the group, at the last fence */
	WgReg *reg;             /* by unit; NULL without checks */
	WgOp *op, **end;        /* oldest first */
	u32 turns;              /* warpgroup instructions so far */
	u32 maxnreg;            /* registers/thread; 0: as launched */
} WgWarp;

typedef struct Wgroup {         /* the order in which a warpgroup executes its warpgroup instructions */
	u32 ring[WG_RING];      /* pc of instruction i at i % WG_RING */
	u32 turns;              /* the most that any of its warps has executed */
} Wgroup;

typedef struct WgRead { u32 clock, time, line; u8 warp; } WgRead;       /* clock 0: none */

typedef struct WgBlock {
	Wgroup group[MAX_WARPS / WG_WARPS];
	u32 pool;               /* registers released by setmaxnreg.dec */
	u32 nchunk, epoch;      /* chunks of WG_PITCH bytes; writes and checks so far */
	/* For each chunk, with checks: */
	u16 *busy;              /* operations in flight that read it */
	u32 *wrote;             /* epoch of the last write */
	u32 *seen;              /* of each warp: epoch of its last successful read check */
	WgRead *read;           /* of each group: the last read by a completed wgmma */
} WgBlock;

/* The whole warpgroup must execute the same instructions; reports a fault if this warp diverges. */
void wgmma_turn(Warp *w, const Ins *in);
/* The warp reaches a wgmma.fence; has its whole group? */
bool wgmma_meet(Warp *w);
/* While its matrices are read, a wgmma, which the group executes together, is ordered after all accesses of
 * the group before the fence. wgmma_forget undoes this. */
void wgmma_know(Warp *w, WgKnow *before);
void wgmma_forget(Warp *w, const WgKnow *before);
/* Before a wgmma: checks that its registers may be used. After: they, and the memory it reads, are in
 * flight. */
void wgmma_check(Warp *w, const Ins *in);
bool wgmma_seen(const Warp *w, u32 addr);       /* may it read this chunk without a further check? */
void wgmma_see(Warp *w, u32 addr);
void wgmma_issue(Warp *w, const Ins *in, WgOp *op);
/* The operations of its group up to `turn` have completed their reads: recorded, and known to w. */
void wgmma_land(Warp *w, u32 turn);
void wgmma_start(Cta *b);
void wgmma_end(Cta *b);
void wgmma_free(Warp *w);
void wgmma_touch(Warp *w, const Ins *in);       /* in->wg */
void wgmma_written(Warp *w, const Ins *in, int lane, const Cta *b, u32 addr, u32 bytes);
#endif
