/* insert_barriers.h - what the files of pass insert_barriers share: sets of accesses to memory since the last barrier. */
#ifndef HEXC_INSERT_BARRIERS_H
#define HEXC_INSERT_BARRIERS_H
#include "hexc/pass/allocate_smem.h"

/* The elements of the root that an access through a view may touch: lo .. hi - 1 in each of its dims. */
typedef struct HazardBox {
	int64_t lo, hi;
} HazardBox;

typedef struct HazardAccess {
	const Op *op;
	const Val *view;  /* what it reads or writes; NULL: scratch */
	const Val *root;  /* the alloc's result or the parameter; NULL: scratch */
	const HazardBox *box;   /* by dim of the root; NULL: scratch */
	int64_t lo, hi;   /* shared: bytes of the whole tile or scratch; lo < 0: not placed, or global */
	const Op *wrap;   /* it was made before the end of an iteration of this loop, the outermost such */
	bool write;
	bool async;       /* by an async copy: it writes a shared tile, or reads one (`bulk`) */
	bool bulk;
	bool waited;      /* .. there was a wait since */
	bool settled;     /* .. and a barrier behind it */
	bool landed;      /* .. there was a `wait 0` since */
	bool engine;      /* a read by a product or the copy engine, which sees what a `proxy` has shown it */
	bool proxied;     /* a write of the threads: there was a `proxy` since */
	bool kept;        /* .. there was a barrier since, but no `proxy` in front of it */
	bool tensor;      /* of global memory */
	bool order;       /* an update that orders what the block did with tensors before and after it; not
	                     where it leaves what it found */
	bool update;      /* of what an atomic store updates, not of where it leaves what it found: that is
	                     written plainly */
} HazardAccess;

typedef struct AccessSet {
	HazardAccess *a;
	int n, cap;
	int *slot; /* where a[i] is found by its hash, as i + 1, while nothing but set_add changes it */
	int nslot; /* a power of two, or 0: there are none */
} AccessSet;

/* What a region does to accesses in front of it: hazard_set.c. */
typedef struct Flow Flow;
/* Whose threads two accesses are: hazard_disjoint.c. */
typedef struct Threads Threads;

typedef struct BarrierInsertion {
	Kernel *k;
	bool uncommitted; /* async copies, but no commit anywhere */
	bool engines;     /* something reads as `engine` does */
	bool changed;
	Flow **flow; /* by op */
	const HazardBox **box; /* by view; NULL: nothing was asked of it yet */
	Threads **threads; /* by pairs of accesses */
} BarrierInsertion;

/* The first access that conflicts with what came before. */
typedef struct Hit {
	bool found;
	HazardAccess then, now;
	bool through; /* only what becomes of accesses that came before is asked: ops add none */
} Hit;

/* Mark the updates by which blocks hand memory on; true: there are such. */
bool sync_signals(Kernel *k);

/* True: the set grew. */
bool set_add(BarrierInsertion *s, AccessSet *set, const HazardAccess *a);
bool set_join(BarrierInsertion *s, AccessSet *set, const AccessSet *more);
AccessSet set_copy(BarrierInsertion *s, const AccessSet *from);
void set_barrier(const BarrierInsertion *s, AccessSet *set);
void set_wait(AccessSet *set, bool all, bool bulk);
void set_proxy(AccessSet *set);

/* Around the back edge of a loop. */
void set_wrap(AccessSet *set, const Op *loop);

/* The accesses op o makes to memory that the kernel writes, or first makes to its scratch: at most 2. */
int access_of(BarrierInsertion *s, const Op *o, HazardAccess *a);
/* What an op with scratch leaves behind. */
HazardAccess scratch_read(const Op *o);
/* Do two accesses to one tile never meet in an element that different threads hold? */
bool access_apart(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now);
/* Must there be a barrier between `then` and `now`? */
bool access_conflict(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now);

/* The first conflict of an access with the set, if *hit has none; true: it has one. */
bool set_conflict(BarrierInsertion *s, const AccessSet *set, const HazardAccess *now, Hit *hit);

/* ---- insert_barriers.c: the meaning of a region, walked; the IR stays --------------------------------------- */

/* The set behind a loop or if, given the one in front, and the first conflict, if *hit has none. */
void flow_region(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit);

/* ---- hazard_set.c: the same by what was found before ----------------------------------------------- */

void flow_known(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit);
/* Ifs alone, in which nothing is waited for: accesses in front of them are behind them as they were. */
bool flow_is_plain(BarrierInsertion *s, const Op *o);
/* For such ones the two halves of flow_known: the first conflict, and the accesses of their own. */
void flow_look(BarrierInsertion *s, const Op *o, const AccessSet *set, Hit *hit);
void flow_pass(BarrierInsertion *s, const Op *o, AccessSet *set);
/* Something was put into block b: what was found of the regions around it is void. */
void flow_forget(BarrierInsertion *s, const Block *b);
/* Was all put into o's regions that they need with nothing in front?  And: it was. */
bool flow_is_settled(BarrierInsertion *s, const Op *o);
void flow_settle(BarrierInsertion *s, const Op *o);
#endif
