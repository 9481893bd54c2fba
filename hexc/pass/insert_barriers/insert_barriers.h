/* insert_barriers.h - declares the hazard analysis that the files of pass insert_barriers share: sets of
 * memory accesses since the last barrier. */
#ifndef HEXC_INSERT_BARRIERS_H
#define HEXC_INSERT_BARRIERS_H
#include "hexc/pass/allocate_smem.h"

/* The elements of the root that an access through a view may touch: lo .. hi - 1 along each of its dims. */
typedef struct HazardBox {
	int64_t lo, hi;
} HazardBox;

typedef struct HazardAccess {
	const Op *op;
	const Val *view;  /* the memory accessed; NULL: scratch */
	const Val *root;  /* the alloc's result or the parameter; NULL: scratch */
	const HazardBox *box;   /* by dim of the root; NULL: scratch */
	int64_t lo, hi;   /* shared: bytes of the whole tile or scratch; lo < 0: not allocated, or global */
	const Op *wrap;   /* outermost loop in an earlier iteration of which it was made; NULL: none */
	bool write;
	bool async;       /* by an async copy that writes a shared tile, or reads one (`bulk`) */
	bool bulk;
	bool waited;      /* async: a wait followed */
	bool settled;     /* .. and a barrier after the wait */
	bool landed;      /* .. a `wait 0` followed */
	bool engine;      /* a read by wgmma or the async proxy: needs a proxy fence after generic writes */
	bool proxied;     /* a write by threads: a proxy fence followed */
	bool kept;        /* .. a barrier followed, but without a proxy fence before it */
	bool tensor;      /* in global memory */
	bool order;       /* an `ordered` update: it orders the block's accesses to tensors before and after
	                   * it; not its access to the old value's destination */
	bool update;      /* the atomic access of an update; not that to the old value's destination, a plain
	                   * write */
} HazardAccess;

typedef struct AccessSet {
	HazardAccess *a;
	int n, cap;
	int *slot; /* hash table: index of a[i] as i + 1; valid while only set_add modifies the set */
	int nslot; /* a power of two, or 0: no table */
} AccessSet;

/* Memoized effect of a region on preceding accesses: hazard_set.c. */
typedef struct Flow Flow;
/* Memoized thread ownership of access pairs: hazard_disjoint.c. */
typedef struct Threads Threads;

typedef struct BarrierInsertion {
	Kernel *k;
	bool uncommitted; /* there are async copies, but no commit */
	bool engines;     /* some op reads as `engine` does */
	bool changed;
	Flow **flow; /* by op */
	const HazardBox **box; /* by view; NULL: not computed yet */
	Threads **threads; /* by pairs of accesses */
} BarrierInsertion;

/* The first access that conflicts with a preceding one. */
typedef struct Hit {
	bool found;
	HazardAccess then, now;
	bool through; /* only propagates preceding accesses: ops add none */
} Hit;

/* Marks the updates by which blocks hand over memory as `ordered`. Returns true if any mark was added. */
bool sync_signals(Kernel *k);

/* set_add and set_join return true if the set grew. */
bool set_add(BarrierInsertion *s, AccessSet *set, const HazardAccess *a);
bool set_join(BarrierInsertion *s, AccessSet *set, const AccessSet *more);
AccessSet set_copy(BarrierInsertion *s, const AccessSet *from);
void set_barrier(const BarrierInsertion *s, AccessSet *set);
void set_wait(AccessSet *set, bool all, bool bulk);
void set_proxy(AccessSet *set);

/* Marks accesses as made in an earlier iteration, along the back edge of a loop. */
void set_wrap(AccessSet *set, const Op *loop);

/* Computes the accesses of op o to memory that the kernel writes, or the first access to its scratch. Returns
 * their number, at most 2. */
int access_of(BarrierInsertion *s, const Op *o, HazardAccess *a);
/* The access to its scratch that is pending after op o. */
HazardAccess scratch_read(const Op *o);
/* Do two accesses to one tile never overlap in an element that different threads access? */
bool access_apart(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now);
/* Is a barrier required between `then` and `now`? */
bool access_conflict(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now);

/* Finds the first conflict of an access with the set, unless *hit has one. Returns true if *hit has one. */
bool set_conflict(BarrierInsertion *s, const AccessSet *set, const HazardAccess *now, Hit *hit);

/* ---- insert_barriers.c: the meaning of a region, walked; the IR stays ------------------------------- */

/* Updates the set from before a loop or if to after it, and finds the first conflict, unless *hit has one.
 * The IR is not modified. */
void flow_region(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit);

/* ---- hazard_set.c: the same by what was found before ----------------------------------------------- */

void flow_known(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit);
/* Is o an if without loops, waits, barriers and scratch, also in nested ifs? It leaves preceding accesses
 * unchanged. */
bool flow_is_plain(BarrierInsertion *s, const Op *o);
/* For these ifs, the two halves of flow_known: find the first conflict; add the if's own accesses. */
void flow_look(BarrierInsertion *s, const Op *o, const AccessSet *set, Hit *hit);
void flow_pass(BarrierInsertion *s, const Op *o, AccessSet *set);
/* Invalidates the memoized effects of the regions around block b after an insertion. */
void flow_forget(BarrierInsertion *s, const Block *b);
/* Have all barriers been inserted that o's regions need by themselves? And: sets that. */
bool flow_is_settled(BarrierInsertion *s, const Op *o);
void flow_settle(BarrierInsertion *s, const Op *o);
#endif
