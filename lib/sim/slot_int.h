/* slot_int.h - what is in a Slot, one remembered access of a word.  For check.c and proxy.c. */
#ifndef SIM_SLOT_INT_H
#define SIM_SLOT_INT_H
#include "sim_int.h"

/* Slot.a: block + 1 : 28, time : 36.  Slot.b: pc 20, clock 27, thread 10, mask 4, kind 3. */
static inline u32 s_block(const Slot *s) { return (u32)(s->a >> 36); }
static inline u64 s_time(const Slot *s) { return s->a & 0xfffffffffull; }
static inline u32 s_kind(const Slot *s) { return s->b & 7; }
static inline u32 s_mask(const Slot *s) { return s->b >> 3 & 15; }
static inline u32 s_thread(const Slot *s) { return s->b >> 7 & 1023; }
static inline u32 s_clock(const Slot *s) { return (u32)(s->b >> 17 & 0x7ffffff); }
/* A_LANDED: the thread is who issued the copy; the clock is the agent's, 22 bits, below its number. */
enum { AGENT_SHIFT = 22 };
static inline u32 s_agent(const Slot *s) { return s_clock(s) >> AGENT_SHIFT; }
static inline u32 s_landed(const Slot *s) { return s_clock(s) & ((1u << AGENT_SHIFT) - 1); }
static inline u32 s_pc(const Slot *s) { return (u32)(s->b >> 44); }
#endif
