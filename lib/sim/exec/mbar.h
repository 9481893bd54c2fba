/* mbar.h - arrivals and transactions of mbarriers. */
#ifndef SIM_MBAR_H
#define SIM_MBAR_H
#include "lib/sim/sanitizer/memcheck.h"

enum { COUNT_MAX = (1 << 20) - 1, PHASE_MASK = (1 << 24) - 1 };

/* mbar.c: the mbarriers that base + off names; kind: A_SWRITE, A_SREAD of a wait, A_WRITE of an init. */
u32 mbar_places(Warp *w, const Ins *in, const Ref *base, s64 off, u32 mask, int kind, MemAccess *acc);
/* mbar_phase.c */
u64 mbar_state(const Mbar *m);                  /* the object's 8 bytes */
void mbar_keep(Cta *b, const Mbar *m);          /* brings them to shared memory */
/* Arrive on the mbarrier at `addr` of block b, for one lane of w: first `tx` more bytes
 * are expected, then `count` arrivals are made; count 0: expect only.  False after a fault. */
bool mbar_arrive(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 count, s64 tx);
/* `bytes` of an asynchronous operation have arrived; may end the phase.  False if there is no
 * mbarrier (it is reported at the line of f). */
bool mbar_complete_tx(const PendingOp *f, Cta *b, u32 addr, u32 bytes);
/* cp.async.mbarrier.arrive: one more arrival is pending; the copies of lane have landed, and it
 * arrives.  Who waits knows then what w has done, but nothing that w knows. */
bool mbar_more(Warp *w, const Ins *in, int lane, Cta *b, u32 addr);
void mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr);
/* What w did and knows, and what was done before this launch time, is known to who sees the present
 * phase end. */
void mbar_time(Warp *w, Cta *b, u32 addr, u32 time);
#endif
