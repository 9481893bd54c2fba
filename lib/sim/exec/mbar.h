/* mbar.h - arrivals and transactions of mbarriers. */
#ifndef SIM_MBAR_H
#define SIM_MBAR_H
#include "lib/sim/sanitizer/memcheck.h"

enum { COUNT_MAX = (1 << 20) - 1, PHASE_MASK = (1 << 24) - 1 };

/* mbar.c: the mbarriers at base + off; kind: A_SWRITE, A_SREAD of a wait, A_WRITE of an init. */
u32 mbar_places(Warp *w, const Ins *in, const Ref *base, s64 off, u32 mask, int kind, MemAccess *acc);
/* mbar_phase.c */
u64 mbar_state(const Mbar *m);                  /* the object's 8 bytes */
void mbar_keep(Cta *b, const Mbar *m);          /* writes them to shared memory */
/* Arrives on the mbarrier at `addr` of block b, for one lane of w: first expects `tx` more bytes, then makes
 * `count` arrivals; count 0: expect only. Returns false after a fault. */
bool mbar_arrive(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 count, s64 tx);
/* `bytes` of an asynchronous operation have arrived; may complete the phase. Returns false if there is no
 * mbarrier (reported at the line of f). */
bool mbar_complete_tx(const PendingOp *f, Cta *b, u32 addr, u32 bytes);
/* cp.async.mbarrier.arrive: adds a pending arrival; then the copies of lane have landed, and it arrives.
 * Waiting threads acquire the accesses of w, but not its knowledge. */
bool mbar_more(Warp *w, const Ins *in, int lane, Cta *b, u32 addr);
void mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr);
/* Threads that see the current phase complete acquire the accesses and knowledge of w, and all accesses
 * before this launch time. */
void mbar_time(Warp *w, Cta *b, u32 addr, u32 time);
#endif
