/* fault.h - faults of a launch as they come, and its end before all blocks have run. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H
#include "lib/sim/state/execution.h"

void fault_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
               const sim_place *other, const char *fmt, ...) PRINTF_LIKE(9, 10);
/* Likewise, of what is odd but not wrong for sure. */
void warning_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
                 const sim_place *other, const char *fmt, ...) PRINTF_LIKE(9, 10);
void launch_hang(Launch *l, char *report);      /* takes it over */
void launch_stop(Launch *l, int code, const char *why);
/* For something that b did.  Clusters before b's go on to their end, as they had were there one host
 * thread. */
void block_stop(Cta *b, int code, const char *why);
/* Is this cluster to go no further? */
static inline bool
is_stopped(const Launch *l, u32 cluster)
{
	return __atomic_load_n(&l->stop, __ATOMIC_ACQUIRE) &&
	       cluster + 1 >= __atomic_load_n(&l->stop_at, __ATOMIC_RELAXED);
}
/* Did what cluster did not happen, were there one host thread? */
static inline bool
is_after_stop(const Launch *l, u32 cluster)
{
	return l->stop_at && cluster + 1 > l->stop_at;
}
void place_of(const Cta *b, u32 thread, u32 line, sim_place *out);
void launch_lock(Launch *l);
void launch_unlock(Launch *l);
#endif
