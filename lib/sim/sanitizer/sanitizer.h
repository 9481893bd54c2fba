/* sanitizer.h - the checks of accesses: races, reads of uninitialised bytes and registers. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H
#include "lib/sim/sanitizer/memcheck.h"

/* racecheck.c */
enum {
	A_NONE, A_READ, A_WRITE, A_SREAD, A_SWRITE,
	A_ASYNC,                /* written by a copy in flight */
	A_LANDED,               /* by one that completed on an mbarrier: see shadow_cell.h */
	A_AREAD,                /* read by a copy in flight */
	A_LOOK = 8,             /* added to one of these: compare, but do not record */
	A_MBAR = 16,            /* added: by an mbarrier operation, the only ones permitted */
	A_ODD = 32              /* added: violations are warnings */
};
void check_access(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, int kind,
                  const void *value);
/* The same for reads of several lanes that are not strong. */
void check_reads(Warp *w, const Ins *in, u32 mask, const MemAccess *acc, u32 bytes);
/* The newest write of this launch to global memory: its launch time and source location. */
bool check_written(Warp *w, const MemAccess *a, u32 bytes, u64 *time, sim_place *place);
/* PTX ISA, "ld.global.nc": the memory it reads must be read-only for the whole kernel. */
void check_noncoherent(Warp *w, const Ins *in, u32 mask, const MemAccess *acc, u32 bytes);
/* racecheck_async.c */
/* An async write has landed: slots of `from`'s thread and pc become the agent's at that clock. */
void check_landed(Cta *b, u32 addr, u32 bytes, const Cta *from, u32 thread, s32 pc, u32 agent,
                  u32 clock);
/* Are all recorded accesses of these words of the own block async writes that w knows to have landed? Then
 * any proxy may read them. False means unknown. */
bool check_only_landed(const Warp *w, u32 addr, u32 words);
/* A copy of this lane by instruction `in` has completed: its pending writes become writes, its pending reads
 * become `read`: A_READ, or A_NONE: forgotten. */
void check_copied(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, int read);
void check_async_done(Warp *w, int lane, u32 dst, u32 bytes, s32 pc);
/* memcheck.c: have these bytes been written? Marks them written, or not. */
bool check_init(const Warp *w, int lane, const MemAccess *a, u32 bytes);
void mark_init(Warp *w, int lane, const MemAccess *a, u32 bytes, bool defined);
/* synccheck_mbarrier.c: a wait of w found the last phase complete; w arrives; the phase is over. */
void mbar_saw(Warp *w, const Ins *in, Mbar *m);
/* From then on a warp of the group knows that the wgmma with this index is complete, hence that all have
 * issued it. */
void mbar_issued(Cta *b, u32 turn, const Moment *at);
void mbar_knows(const Warp *w, const Cta *b, Mbar *m);
void mbar_overrun(Cta *b, Mbar *m);
/* memcheck_variable.c: offsets [*from, *to) of the variable that the address is based on */
void owner_range(const Cta *b, const Var *v, u32 *from, u32 *to);
void check_owner(Warp *w, const Ins *in, int lane, u32 addr, u32 bytes);
/* dependent_launch.c: lanes execute griddepcontrol.wait; checks that the thread of a global access has
 * waited */
void grids_wait(Warp *w, u32 mask);
void grids_check(Warp *w, const Ins *in, int lane, u64 addr, u32 bytes);
/* racecheck_read_only.c: a page of global memory, locked */
bool granule_read(Alloc *al, u64 page, u64 off, u32 bytes, u64 a, u64 b);       /* false: use the slots */
/* A copy by this instruction of this thread (block: its index + 1) has finished reading. */
void granule_copied(Alloc *al, u64 page, u64 off, u32 bytes, u32 block, u32 thread, u32 pc);
void granule_spread(Alloc *al, u64 page);
void granule_forget(Alloc *al, u64 off, u64 bytes);
/* racecheck_fast.c: shared memory; i is the index of a word */
void shadow_start(Cta *b);
void shadow_era(Cta *b);                        /* all threads have waited for each other */
bool shadow_in_slots(const Cta *b, u32 addr, u32 bytes);        /* already */
void shadow_open(Cta *b, u32 addr, u32 bytes);  /* the slots are about to be used */
/* The race check for full words of the own block. Returns the lanes that check_access must handle. */
u32 shadow_lanes(Warp *w, const Ins *in, u32 mask, const u32 *addr, u32 bytes, u32 kind);
bool shadow_lane(Warp *w, const Ins *in, u32 lane, u32 addr, u32 bytes, u32 kind);
bool side_by_side(const u32 *addr, u32 step);           /* do the offsets of 32 lanes have this stride? */
bool shadow_done(Warp *w, u32 lane, u32 i, s32 pc);     /* a cp.async has written; false: use the slots */
/* racecheck_proxy.c. The async proxy reads the memory of a valid access (bulk copies, wgmma): every generic
 * write visible to it must be followed by a proxy fence. Reports certain violations; the race check is
 * check_access's. */
void proxy_read(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes);
enum { FENCE_THREAD, FENCE_MBAR_INIT, FENCE_ASYNC, FENCE_ASYNC_GLOBAL, FENCE_ASYNC_SHARED,
	FENCE_OTHER };
void proxy_fence(Warp *w, u32 kind);
/* synccheck_mbarrier.c. Reports a fault of kind MBARRIER; returns false. */
bool mbar_bad(Warp *w, const Ins *in, int lane, u32 addr, const char *fmt, ...) PRINTF_LIKE(5, 6);
Mbar *mbar_live(Warp *w, const Ins *in, int lane, Cta *b, u32 addr);    /* NULL: reported */
void mbar_overwrite(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 bytes);
/* Checks the mbarrier that an async operation will signal: live, and fenced after its init. */
bool mbar_async_use(Warp *w, const Ins *in, int lane, Cta *b, u32 addr);
/* An async write issued by a thread of `from` (its check_access was A_ASYNC by instruction pc) has landed in
 * b. Threads that see the phase of the mbarrier complete may use the data. Call it before
 * mbar_complete_tx. */
void mbar_landed(Cta *b, u32 addr, u32 bytes, const Cta *from, u32 thread, s32 pc, u32 mbar);
/* happens_before.c */
void check_sync_warp(Warp *w, u32 lanes);       /* these lanes of a warp are ordered */
/* A strong access, within the block: relaxed ones combine with the fences around them. */
void check_strong(Warp *w, const MemAccess *a, const Ins *in, bool read, bool write);
/* May the strong access hand knowledge over from block to block? Until one releases something there is
 * nothing to acquire, and no lock to wait for; the first releaser's own access makes this true. If it is, the
 * access and check_between_blocks run under launch_lock: host threads run blocks concurrently, and a reader
 * would else acquire what is released after its read. */
bool hands_over(const Warp *w, const MemAccess *a, const Ins *in);
void check_between_blocks(Warp *w, const MemAccess *a, const Ins *in, bool read, bool write);
void check_fence(Warp *w, u32 scope);
/* initcheck.c */
u32 def_of(const Warp *w, const Ref *r);        /* lanes fully defined */
u32 stored_def(const Warp *w, const Ref *r, u32 k);     /* lanes whose byte k is defined where it is stored */
void def_set(Warp *w, const Ref *r, u32 mask, u32 defined, u32 origin);
u32 origin_of(const Warp *w, const Ins *in, const Ref *r);
void taint_alu(Warp *w, const Ins *in, u32 mask);
void taint_list(Warp *w, const Ins *in, u32 mask);      /* all of d tainted if any of s is */
void use_check(Warp *w, const Ins *in, const Ref *r, u32 mask, const char *what);
void use_pred(Warp *w, const Ins *in, s32 p, u32 mask, const char *what);
enum { ORG_REG = 0, ORG_SHARED = 1u << 28, ORG_GLOBAL = 2u << 28, ORG_LOCAL = 3u << 28,
	ORG_BITS = 1u << 30, ORG_LINE = (1u << 28) - 1 };
#endif
