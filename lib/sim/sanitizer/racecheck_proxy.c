/* racecheck_proxy.c - checks proxy fences between accesses through different proxies.
 *
 * PTX ISA, "Memory Consistency Model: Proxies": bulk copies and wgmma use the async proxy, all else the
 * generic one. A generic write is visible to the async proxy if a proxy fence is on the path from the write
 * to the read in causality order, in any thread: Know.pf tracks that. An unfenced write by cp.async is a
 * warning: widely used code has no fence between it and wgmma. */
#include "lib/sim/sanitizer/shadow_cell.h"
#include "lib/sim/state/fault.h"

/* All accesses ordered before w's present point are now followed by a proxy fence. */
static void
cover(Warp *w, u32 p)
{
	for (u32 v = 0; v < MAX_WARPS; v++)
		if (w->know.pf[p][v] < w->know.vc[v])
			w->know.pf[p][v] = w->know.vc[v];
	if (w->know.pf[p][w->id] < w->clock)
		w->know.pf[p][w->id] = w->clock;
}

void
proxy_fence(Warp *w, u32 kind)
{
	if (kind == FENCE_ASYNC || kind == FENCE_ASYNC_SHARED)
		cover(w, 0);
	if (kind == FENCE_ASYNC || kind == FENCE_ASYNC_GLOBAL)
		cover(w, 1);
	w->clock++;
}

static void
proxy_fault(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, const ShadowCell *s)
{
	bool copied = w->cta->l->m->code[s_pc(s)].cls == SIM_CLASS_CPASYNC;
	sim_place other;

	place_of(w->cta, s_thread(s), w->cta->l->m->code[s_pc(s)].line, &other);
	(copied ? warning_add : fault_add)(w, lane, SIM_FAULT_PROXY, in->line, a->space, a->addr, bytes,
	                                   &other,
	                                   "%.60s: reads data that line %u wrote through the generic "
	                                   "proxy, without a fence.proxy.async in "
	                                   "between", in->text, other.line);
}

static bool
bare(const Warp *w, const ShadowCell *s, u32 p)
{
	return (s_kind(s) == A_WRITE || s_kind(s) == A_SWRITE) && s_block(s) == w->cta->lin + 1 &&
	       s_time(s) >= w->know.gown && s_clock(s) > w->know.pf[p][s_thread(s) / WARP];
}

static bool
scan(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes, const ShadowCell *s, u32 slots, u32 p)
{
	u32 n = s ? ((u32)a->addr % 4 + bytes + 3) / 4 * slots : 0, kinds = 0;

	for (u32 i = 0; i < n; i++)
		kinds |= 1u << s_kind(&s[i]);
	if (!(kinds & (1u << A_WRITE | 1u << A_SWRITE)))
		return false;
	for (u32 i = 0; i < n; i++)
		if (bare(w, &s[i], p)) {
			proxy_fault(w, in, lane, a, bytes, &s[i]);
			return true;
		}
	return false;
}

void
proxy_read(Warp *w, const Ins *in, int lane, const MemAccess *a, u32 bytes)
{
	u64 off, end;

	if (!w->def)
		return;
	if (a->space == SIM_SPACE_SHARED) {
		if (a->cta != w->cta)
			return;
		shadow_open(a->cta, (u32)a->addr, bytes);
		scan(w, in, lane, a, bytes, a->cta->shadow + a->addr / 4 * SHARED_SLOTS, SHARED_SLOTS, 0);
		return;
	}
	if (!a->al || !a->al->page)
		return;
	for (off = a->addr - a->al->base, end = off + bytes; off < end;) {
		u64 page = off / 4 / PAGE_WORDS, next = (page + 1) * PAGE_WORDS * 4;
		u32 n = (u32)((next < end ? next : end) - off);
		const ShadowCell *s = a->al->page[page];
		MemAccess part = *a;
		part.addr = a->al->base + off;
		if (s)
			s += off / 4 % PAGE_WORDS * GLOBAL_SLOTS;
		if (scan(w, in, lane, &part, n, s, GLOBAL_SLOTS, 1))
			return;
		off += n;
	}
}
