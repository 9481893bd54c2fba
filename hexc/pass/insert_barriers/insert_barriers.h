/* insert_barriers.h - what the files of pass insert_barriers share: sets of accesses to memory since the last barrier. */
#ifndef HEXC_INSERT_BARRIERS_H
#define HEXC_INSERT_BARRIERS_H
#include "hexc/pass/allocate_smem.h"

/* The elements of the root that an access through a view may touch: lo .. hi - 1 in each of its dims. */
typedef struct Box {
	int64_t lo, hi;
} Box;

typedef struct Access {
	const Op *op;
	const Val *view;  /* what it reads or writes; NULL: scratch */
	const Val *root;  /* the alloc's result or the parameter; NULL: scratch */
	const Box *box;   /* by dim of the root; NULL: scratch */
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
} Access;

typedef struct Set {
	Access *a;
	int n, cap;
	int *slot; /* where a[i] is found by its hash, as i + 1, while nothing but set_add changes it */
	int nslot; /* a power of two, or 0: there are none */
} Set;

/* What a region does to accesses in front of it: hazard_set.c. */
typedef struct Flow Flow;
/* Whose threads two accesses are: hazard_disjoint.c. */
typedef struct Threads Threads;

typedef struct Sync {
	Kernel *k;
	bool uncommitted; /* async copies, but no commit anywhere */
	bool engines;     /* something reads as `engine` does */
	bool changed;
	Flow **flow; /* by op */
	const Box **box; /* by view; NULL: nothing was asked of it yet */
	Threads **threads; /* by pairs of accesses */
} Sync;

/* The first access that conflicts with what came before. */
typedef struct Hit {
	bool found;
	Access then, now;
	bool through; /* only what becomes of accesses that came before is asked: ops add none */
} Hit;

/* Mark the updates by which blocks hand memory on; true: there are such. */
bool sync_signals(Kernel *k);

/* True: the set grew. */
bool set_add(Sync *s, Set *set, const Access *a);
bool set_join(Sync *s, Set *set, const Set *more);
Set set_copy(Sync *s, const Set *from);
void set_barrier(const Sync *s, Set *set);
void set_wait(Set *set, bool all, bool bulk);
void set_proxy(Set *set);

/* Around the back edge of a loop. */
void set_wrap(Set *set, const Op *loop);

/* The accesses op o makes to memory that the kernel writes, or first makes to its scratch: at most 2. */
int access_of(Sync *s, const Op *o, Access *a);
/* What an op with scratch leaves behind. */
Access scratch_read(const Op *o);
/* Do two accesses to one tile never meet in an element that different threads hold? */
bool access_apart(Sync *s, const Access *then, const Access *now);
/* Must there be a barrier between `then` and `now`? */
bool access_conflict(Sync *s, const Access *then, const Access *now);

/* The first conflict of an access with the set, if *hit has none; true: it has one. */
bool set_conflict(Sync *s, const Set *set, const Access *now, Hit *hit);

/* ---- insert_barriers.c: the meaning of a region, walked; the IR stays --------------------------------------- */

/* The set behind a loop or if, given the one in front, and the first conflict, if *hit has none. */
void flow_region(Sync *s, const Op *o, Set *set, Hit *hit);

/* ---- hazard_set.c: the same by what was found before ----------------------------------------------- */

void flow_known(Sync *s, const Op *o, Set *set, Hit *hit);
/* Ifs alone, in which nothing is waited for: accesses in front of them are behind them as they were. */
bool flow_is_plain(Sync *s, const Op *o);
/* For such ones the two halves of flow_known: the first conflict, and the accesses of their own. */
void flow_look(Sync *s, const Op *o, const Set *set, Hit *hit);
void flow_pass(Sync *s, const Op *o, Set *set);
/* Something was put into block b: what was found of the regions around it is void. */
void flow_forget(Sync *s, const Block *b);
/* Was all put into o's regions that they need with nothing in front?  And: it was. */
bool flow_is_settled(Sync *s, const Op *o);
void flow_settle(Sync *s, const Op *o);
#endif
