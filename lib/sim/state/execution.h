/* execution.h - a launch in progress: blocks, warps, the paths of diverged lanes, and their registers.
 *
 * Registers. A warp's register file is an array of planes of 32 lanes. A plane of a type of up to 32 bits is
 * uint32_t[32] (narrow values zero-extended), one unit; 64-bit registers are uint64_t[32], two units; 128-bit
 * ones two such planes, four units (low, high). Predicates are one 32-bit lane mask each. For checks every
 * byte of a register has a lane mask of "defined" bits: four masks per unit, def[DEF_CONST + DEF_UNIT * unit
 * + byte]; a 64-bit register has eight, in order of significance.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H
#include <pthread.h>
#include "lib/sim/state/module.h"
#include "lib/sim/state/sync.h"

enum { NBAR = 16 };             /* barriers of a block */
/* Shared memory reserved by the system, which PTX finds with %reserved_smem_offset_*; after the program's own
 * here. */
enum { SYSTEM_SMEM = 1024 };

typedef enum PathState {
	P_FREE, P_RUN, P_WAIT, P_SYNC, P_BAR,
	P_CLUSTER,              /* in barrier.cluster.wait */
	P_WG,                   /* waits for its warpgroup: retries */
	P_REGS,                 /* waits for registers: retries */
	P_MBAR                  /* in a wait for an mbarrier: retries after a phase of the block */
} PathState;
typedef struct Path {
	s32 pc, rpc;            /* rpc: where it rejoins its parent; NO_PC: at ret or exit only */
	u32 mask, arrived;      /* arrived: lanes waiting here for the other children */
	s16 parent;
	u16 kids;
	u8 state;
	u8 bar;                 /* P_BAR: which */
	bool strict;            /* P_WAIT: see Branch.strict */
	bool forced;            /* run the next .sync instruction with the lanes present; P_MBAR: stop
	                         * waiting, return false */
	u32 need;               /* P_SYNC: lanes it waits for; P_MBAR: the mbarrier's address */
	const CallInstr *call;       /* P_WAIT: for this call ... */
	const Fn *callee;       /* ... of this function */
	struct Save *save;
} Path;

/* Registers of a re-entered function, to be restored when the call returns. */
typedef struct Save {
	struct Save *next;
	u32 mask;               /* lanes that have not returned */
	u32 data[];
} Save;

typedef struct Copy {           /* one warp-level cp.async in flight */
	struct Copy *next;
	u32 mask;               /* lanes whose copies are incomplete */
	u32 line;
	s32 pc;
	u32 seq;                /* index among the copies of its warp */
	u8 bytes;               /* written per lane */
	u32 group[WARP];
	u32 dst[WARP];
	u8 data[WARP][16];
	u8 defined[WARP];
} Copy;

struct Warp {
	Cta *cta;
	const u32 *constants;
	u32 *r;
	u32 *p;
	u32 *def, *org, *pdef, *porg;   /* NULL when checks are off */
	u32 *undef;                     /* as r: bits that are undefined (initcheck.c) */
	u32 cc;                         /* carry flag of each lane */
	u32 id, live, start;            /* lanes alive, lanes that existed */
	u32 npath;
	s32 cur;
	bool done, blocked, reported;
	u8 *local, *linit;
	u32 clock;                      /* grows at each synchronisation */
	u32 waited, wait_clock;         /* lanes that have waited for the primary kernel; clock of the first
	                                 * wait */
	u32 met;                        /* accesses of lanes before this clock are ordered between all of
	                                 * them */
	bool paired;                    /* some lanes have synchronized since: */
	u32 pair[WARP][WARP];           /* accesses of lane j up to this clock are ordered before lane i */
	Know know;                      /* happens-before */
	Know rel, acq;                  /* at the last fence; to acquire at the next */
	/* The same between blocks, by the narrowest scope on the path; at SCOPE_CTA, which does not reach
	 * another block, the value that a wider scope would have given. */
	Far far[NSCOPES];               /* to acquire at the next fence of that scope */
	u32 grel[NSCOPES];              /* launch time of the last fence of that scope */
	Vec *vfar[NSCOPES];             /* as far */
	Vec *vrel[NSCOPES];             /* what that fence will release on request; until then .. */
	bool unmade[NSCOPES];           /* .. it is in `rel` */
	u32 carrived, cdone;            /* barrier.cluster: lanes between arrive and wait, whose phase is
	                                 * incomplete, is complete */
	struct WgWarp *wg;              /* NULL unless the module has wgmma */
	Copy *copies, **copies_end;
	struct Bulk *bulk, **bulk_end;  /* bulk copies to global memory, oldest first */
	u32 nbulk[WARP];                /* bulk groups committed */
	u32 ncopies;                    /* issued so far */
	u32 nstore, issued;             /* copies in the list; bytes of copies issued by this instruction */
	u32 ncommit[WARP];
	u64 steps;
	Path *path;                     /* capacity: Launch.paths */
	Save *saves;
	u32 sp[WARP];                   /* end of the lane's frames in its local memory */
};

typedef struct Bar {
	u32 arrived[MAX_WARPS];         /* lanes by warp */
	u32 waiting[MAX_WARPS];         /* of these, lanes that wait */
	u32 expect;                     /* threads; 0: the whole block */
	u32 count;                      /* threads arrived, in warps of 32 */
	bool open;
	u32 former;                     /* warps that have arrived in earlier phases */
	u32 popc, all, any, lanes;      /* reductions */
	Know know;
	u32 line;
	u64 phase;
} Bar;

/* A fence of the tensormap proxy on a map, at that launch time. */
typedef struct TmapSeen { u64 addr; u64 time; } TmapSeen;
typedef struct SyncVar { u64 addr; Know know; } SyncVar;

typedef struct RemoteAccess {          /* newest access to a block's shared memory, or arrival, by another
                                        * one */
	Warp *w;
	int lane;
	const Ins *in;
	u32 off, bytes, time;
	u64 phase;                      /* of barrier.cluster */
} RemoteAccess;

struct Cta {
	Worker *k;
	Launch *l;
	SimCluster *cl;
	u32 id[3], lin;
	u32 rank;                       /* in the cluster */
	RemoteAccess reach;
	MbarTab mb;
	struct WgBlock *wg;             /* NULL unless the module has wgmma */
	u32 nwarp, nlive;
	Warp *warp;
	u8 *smem, *sinit;
	ShadowCell *shadow;
	u32 *word_state;                /* see sanitizer/racecheck_fast.c */
	WordRec word;
	u32 era;                        /* incremented when all threads have waited at one barrier */
	u32 era_time;                   /* launch time at its start */
	bool quick;                     /* words are in word_state and word when possible */
	u32 smem_bytes;
	Bar bar[NBAR];
	SyncVar *sv;
	u32 nsv, csv;
	TmapSeen *tmap;
	u32 ntmap, ctmap;
	u64 *sect;                      /* hash set of sectors accessed */
	u32 csect, nsect;
	u64 sect_n[2];
	struct L2Trace *l2;             /* its requests; NULL: not recorded */
	bool dead, fenced;
	bool ended, gone;               /* all its threads have exited; and the exit has been handled */
	u32 next_warp;
	u64 steps;
	Cta *next;
	void *mem;
};

typedef struct LineCounters { u64 warps, threads, req, srd, swr, brd, bwr, sreq, wave, wmin; } LineCounters;

struct Worker {
	Launch *l;
	LineCounters *n;                       /* by pc, from the entry's lowest */
	u32 *hint;                      /* allocation last used, by pc */
	u64 barriers, blocks, mma_macs, mma;
	u64 bsect[2];
	u64 steps;
	Cta *free;                      /* blocks whose memory can be reused */
	SimCluster *freec;
	u64 tick;
	bool nomem;
};

typedef struct FaultRec {
	sim_fault f;
	u32 lin;                        /* block index, for the order */
	u32 cluster;
	u32 thread;
	char text[256];
	struct FaultRec *next;
} FaultRec;

typedef struct Out {            /* output of one thread in one call */
	struct Out *next;
	u32 cluster, lin, seq, n;
	char text[];
} Out;

typedef struct GSync {          /* releases to an address, by the narrowest scope on the path */
	u64 addr;
	struct Released {
		u32 time;
		u32 block, cluster;     /* + 1: the releaser; ~0: several */
		Vec *vec, *old;         /* ... before the newest plain store of another thread */
	} at[NSCOPES];
	u64 releasers;                  /* warps that released here by the write itself, hashed */
} GSync;

typedef struct LaunchLocks { pthread_mutex_t faults, sync; } LaunchLocks;

struct Launch {
	sim *s;
	const sim_module *m;
	const Fn *f;
	sim_launch a;
	u32 nthread, nblock, nwarp;
	u32 cdim[3], cgrid[3], ncluster;        /* blocks of a cluster; clusters of the grid */
	bool cexplicit;
	u32 smem;                       /* total */
	u32 smem_user;                  /* static + dynamic; the rest is the system's */
	u32 units, preds, local;
	u32 frame, paths;               /* the entry's own local memory; paths of a warp */
	struct Out *out, **out_end;     /* what the kernel printed */
	size_t nout;
	bool checks, counts, shared_host;
	const u8 *param;
	u32 param_bytes;
	u8 *shown;                      /* by pc: the trace hook sees it; NULL: no tracing */
	LaunchLocks *sync;                     /* locks */
	u32 next_cluster;
	int stop;                       /* 0 or a SIM_E_ code */
	u32 stop_at;                    /* cluster that caused it, + 1; 0: applies to all */
	char *why;
	u64 steps, max_steps;
	u64 random;                     /* for time slices; used if the launch has a seed */
	FaultRec *faults;
	u32 nfault, nwarning, max_fault;        /* at most max_fault of each */
	char *hang;                     /* the report of the first hang */
	u32 room;                       /* blocks that a worker may set aside */
	u32 running, spinning;          /* clusters started and not ended; proven to spin in ... */
	u64 epoch;                      /* ... this time without writes */
	u32 time;                       /* launch time of the happens-before between blocks */
	GSync *gs;
	u32 ngs, cgs;
	bool hands;                     /* some block has started to release: see hands_over */
	struct L2 *l2;                  /* NULL: not requested */
};

static inline const u32 *
src32(const Warp *w, const Ref *r)
{
	return (r->base ? w->constants : w->r) + (size_t)r->unit * WARP;
}
static inline const u64 *
src64(const Warp *w, const Ref *r)
{
	return (const u64 *)(const void *)src32(w, r);
}
static inline u32 *
dst32(Warp *w, const Ref *r)
{
	return w->r + (size_t)r->unit * WARP;
}
static inline u64 *
dst64(Warp *w, const Ref *r)
{
	return (u64 *)(void *)dst32(w, r);
}
/* One lane of a register as an integer, zero-extended. */
static inline u64
lane_get(const Warp *w, const Ref *r, int lane)
{
	return r->chunks >= 4 ? src64(w, r)[lane] : src32(w, r)[lane];
}
static inline void
lane_set(Warp *w, const Ref *r, int lane, u64 v)
{
	if (r->chunks >= 4)
		dst64(w, r)[lane] = v;
	else
		dst32(w, r)[lane] = r->bits < 32 ? (u32)v & ((1u << r->bits) - 1) : (u32)v;
}

/* The warp reads memory that other clusters may change. */
static inline void
note_look(Warp *w, const Ins *in, bool strong)
{
	SimCluster *c = w->cta->cl;

	c->reads++;
	c->polls += strong;
	c->looker = w;
	c->look = in;
}

/* cluster.c: paths of the warp in this state retry; forced: see Path. Returns whether there were any. */
bool paths_wake(Warp *w, PathState state, bool forced);
#endif
