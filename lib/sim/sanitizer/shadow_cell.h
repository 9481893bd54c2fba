/* shadow_cell.h - the fields of a ShadowCell, one recorded access of a word. For racecheck*.c. */
#ifndef SIM_SLOT_H
#define SIM_SLOT_H
#include "lib/sim/sanitizer/sanitizer.h"

/* ShadowCell.a: block + 1 : 28, saw : 4, time : 32. ShadowCell.b: pc 20, clock 27, thread 10, mask 4, kind 3.
 * saw: the slots of this word, one bit each, that hold strong writes observed by this access, or by another
 * access known to it. Such a write precedes all that follows this access: PTX ISA, "Causality order". */
enum { SAW_SHIFT = 32 };
#define SAW_BITS (15ull << SAW_SHIFT)
static inline u32 s_block(const ShadowCell *s) { return (u32)(s->a >> 36); }
static inline u32 s_saw(const ShadowCell *s) { return s->a >> SAW_SHIFT & 15; }
static inline u64 s_time(const ShadowCell *s) { return (u32)s->a; }
static inline u32 s_kind(const ShadowCell *s) { return s->b & 7; }
static inline u32 s_mask(const ShadowCell *s) { return s->b >> 3 & 15; }
static inline u32 s_thread(const ShadowCell *s) { return s->b >> 7 & 1023; }
static inline u32 s_clock(const ShadowCell *s) { return (u32)(s->b >> 17 & 0x7ffffff); }
/* A_LANDED: thread is the issuer of the copy; clock is the agent's, 22 bits, below the agent's index. */
enum { AGENT_SHIFT = 22 };
static inline u32 s_agent(const ShadowCell *s) { return s_clock(s) >> AGENT_SHIFT; }
static inline u32 s_landed(const ShadowCell *s) { return s_clock(s) & ((1u << AGENT_SHIFT) - 1); }
static inline u32 s_pc(const ShadowCell *s) { return (u32)(s->b >> 44); }
static inline u64
slot_b(u32 pc, u32 clock, u32 thread, u32 mask, u32 kind)
{
	return (u64)pc << 44 | (u64)(clock & 0x7ffffff) << 17 | thread << 7 | mask << 3 | kind;
}

/* Do two words have the same records? */
static inline bool
cell_same(const ShadowCell *x, const ShadowCell *y, u32 slots)
{
	u64 odd = 0;

	for (u32 i = 0; i < slots; i++)
		odd |= (x[i].a ^ y[i].a) | (x[i].b ^ y[i].b);
	return !odd;
}

/* The slots of a page of global memory may be used by one host thread at a time. */
static inline void
page_lock(Launch *l, Alloc *al, u64 page)
{
	if (l->nthread > 1)
		while (__atomic_test_and_set(&al->lock[page], __ATOMIC_ACQUIRE))
			;
}
static inline void
page_unlock(Launch *l, Alloc *al, u64 page)
{
	if (l->nthread > 1)
		__atomic_clear(&al->lock[page], __ATOMIC_RELEASE);
}
#endif
