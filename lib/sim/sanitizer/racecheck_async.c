/* racecheck_async.c - updates the shadow cells of asynchronous copies when they complete. */
#include "lib/sim/sanitizer/shadow_cell.h"

void
check_landed(Cta *b, u32 addr, u32 bytes, const Cta *from, u32 thread, s32 pc, u32 agent,
             u32 clock)
{
	u64 now = (u64)(b->lin + 1) << 36 | __atomic_load_n(&b->l->time, __ATOMIC_RELAXED);

	shadow_open(b, addr, bytes);
	for (u32 i = addr / 4; i <= (addr + bytes - 1) / 4; i++) {
		ShadowCell *s = b->shadow + (size_t)i * SHARED_SLOTS;
		for (u32 k = 0; k < SHARED_SLOTS; k++)
			if (s_kind(&s[k]) == A_ASYNC && s_thread(&s[k]) == thread && s_pc(&s[k]) == (u32)pc &&
			    s_block(&s[k]) == from->lin + 1) {
				s[k].a = now;
				s[k].b = slot_b((u32)pc,
				                agent << AGENT_SHIFT | (clock & ((1u << AGENT_SHIFT) - 1)),
				                thread, s_mask(&s[k]), A_LANDED);
			}
	}
}

bool
check_only_landed(const Warp *w, u32 addr, u32 words)
{
	const Cta *b = w->cta;
	const ShadowCell *s = b->shadow + (size_t)(addr / 4) * SHARED_SLOTS;

	if (!shadow_in_slots(b, addr, 4 * words))
		return false;
	for (u32 k = 0; k < SHARED_SLOTS; k++)
		if (s_kind(&s[k]) != A_NONE &&
		    (s_kind(&s[k]) != A_LANDED || s_block(&s[k]) != b->lin + 1 ||
		     s_landed(&s[k]) > w->know.vc[MAX_WARPS + s_agent(&s[k])]))
			return false;
	for (u32 i = 1; i < words; i++)
		if (!cell_same(&s[i * SHARED_SLOTS], s, SHARED_SLOTS))
			return false;
	return true;
}

void
check_async_done(Warp *w, int lane, u32 dst, u32 bytes, s32 pc)
{
	u32 thread = w->id * WARP + (u32)lane;

	for (u32 i = 0; i < bytes / 4; i++) {
		ShadowCell *s = w->cta->shadow + (size_t)(dst / 4 + i) * SHARED_SLOTS;
		if (shadow_done(w, (u32)lane, dst / 4 + i, pc))
			continue;
		for (u32 k = 0; k < SHARED_SLOTS; k++)
			if (s_kind(&s[k]) == A_ASYNC && s_thread(&s[k]) == thread && s_pc(&s[k]) == (u32)pc &&
			    s_block(&s[k]) == w->cta->lin + 1)
				s[k].b = slot_b((u32)pc, w->clock, thread, 15, A_WRITE);
	}
}

static void
copied(ShadowCell *s, u32 n, Warp *w, u64 who, u32 pc, int read)
{
	for (u32 i = 0; i < n; i++, s++) {
		u32 k = s_kind(s);
		if ((k != A_ASYNC && k != A_AREAD) || s_pc(s) != pc || s_thread(s) != (u32)who ||
		    s_block(s) != w->cta->lin + 1)
			continue;
		k = k == A_ASYNC ? A_WRITE : (u32)read;
		if (k == A_NONE)
			s->a = 0;
		s->b = k == A_NONE ? 0 : slot_b(pc, w->clock, (u32)who, s_mask(s), k);
	}
}

void
check_copied(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, int read)
{
	u32 pc = (u32)(in - w->cta->l->m->code), n;
	u64 who = w->id * WARP + (u32)lane, off, end;

	if (a->space == SIM_SPACE_SHARED) {
		copied(a->cta->shadow + a->addr / 4 * SHARED_SLOTS,
		       (u32)((a->addr + bytes + 3) / 4 - a->addr / 4) * SHARED_SLOTS, w, who, pc, read);
		return;
	}
	if (!a->al->page)
		return;
	for (off = a->addr - a->al->base, end = off + bytes; off < end; off += n) {
		u64 page = off / 4 / PAGE_WORDS, next = (page + 1) * PAGE_WORDS * 4;
		n = (u32)((next < end ? next : end) - off);
		page_lock(w->cta->l, a->al, page);
		if (!a->al->page[page])
			granule_copied(a->al, page, off, n, w->cta->lin + 1, (u32)who, pc);
		else
			copied(a->al->page[page] + off / 4 % PAGE_WORDS * GLOBAL_SLOTS,
			       (u32)((off + n + 3) / 4 - off / 4) * GLOBAL_SLOTS, w, who, pc, read);
		page_unlock(w->cta->l, a->al, page);
	}
}
