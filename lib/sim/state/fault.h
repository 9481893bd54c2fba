/* fault.h - recording of the faults of a launch, and its early end. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H
#include "lib/sim/state/execution.h"

void fault_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
               const sim_place *other, const char *fmt, ...) PRINTF_LIKE(9, 10);
/* Likewise, for findings that are suspicious but not certainly errors. */
void warning_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
                 const sim_place *other, const char *fmt, ...) PRINTF_LIKE(9, 10);
void launch_hang(Launch *l, char *report);      /* takes ownership */
void launch_stop(Launch *l, int code, const char *why);
/* Stops because of b. Clusters before b's continue to their end, as they would have with one host thread. */
void block_stop(Cta *b, int code, const char *why);
/* Must this cluster stop? */
static inline bool
is_stopped(const Launch *l, u32 cluster)
{
	return __atomic_load_n(&l->stop, __ATOMIC_ACQUIRE) &&
	       cluster + 1 >= __atomic_load_n(&l->stop_at, __ATOMIC_RELAXED);
}
/* Would this cluster not have run with one host thread? */
static inline bool
is_after_stop(const Launch *l, u32 cluster)
{
	return l->stop_at && cluster + 1 > l->stop_at;
}
void place_of(const Cta *b, u32 thread, u32 line, sim_place *out);
void launch_lock(Launch *l);
void launch_unlock(Launch *l);
#endif
