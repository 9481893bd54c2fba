/* sync.h - what the files of pass sync share: sets of accesses to memory since the last barrier. */
#ifndef HEXC_PASS_SYNC_H
#define HEXC_PASS_SYNC_H
#include "hexc/pass/smem.h"

typedef struct Access {
	const Op *op;
	const Val *view;  /* what it reads or writes; NULL: scratch */
	const Val *root;  /* the alloc's result or the parameter; NULL: scratch */
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
} Access;

typedef struct Set {
	Access *a;
	int n, cap;
} Set;

typedef struct Sync {
	Kernel *k;
	bool uncommitted; /* async copies, but no commit anywhere */
	bool engines;     /* something reads as `engine` does */
	bool changed;
} Sync;

/* The first access that conflicts with what came before. */
typedef struct Hit {
	bool found;
	Access then, now;
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
int access_of(const Kernel *k, const Op *o, Access *a);
/* What an op with scratch leaves behind. */
Access scratch_read(const Op *o);
/* Do two accesses to one tile never meet in an element that different threads hold? */
bool access_apart(Sync *s, const Access *then, const Access *now);
/* Must there be a barrier between `then` and `now`? */
bool access_conflict(Sync *s, const Access *then, const Access *now);
#endif
