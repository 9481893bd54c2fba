/* synccheck_mbarrier.c - reports misuse of mbarriers, and writes to memory that holds one. */
#include <stdarg.h>
#include <stdio.h>
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/state/fault.h"

bool
mbar_bad(Warp *w, const Ins *in, int lane, u32 addr, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fault_add(w, lane, SIM_FAULT_MBARRIER, in->line, SIM_SPACE_SHARED, addr, 8, NULL, "%.60s: %s",
	          in->text, text);
	return false;
}

Mbar *
mbar_live(Warp *w, const Ins *in, int lane, Cta *b, u32 addr)
{
	Mbar *m = mbar_find(b, addr);

	if (!m)
		mbar_bad(w, in, lane, addr, "no initialized mbarrier at this address");
	return m;
}

/* Does w know of a fence after the init: of mbarrier inits, or of the proxies? */
static bool
is_fenced(const Warp *w, const Cta *b, const Mbar *m)
{
	if (w->cta != b)
		return m->fenced;
	return (m->fenced && (m->fence_warp == w->id || m->fence_clock <= w->know.vc[m->fence_warp] ||
	                      m->fence_time < w->know.gown)) ||
	       m->init_clock <= w->know.pf[0][m->init_warp];
}

bool
mbar_async_use(Warp *w, const Ins *in, int lane, Cta *b, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m)
		return false;
	if (!w->def || is_fenced(w, b, m))
		return true;
	b->mb.nunfenced -= !m->fenced;
	m->fenced = true; /* report it once */
	m->fence_warp = w->id;
	/* After a barrier of the whole block it is suspicious, but works: Triton writes bar.sync and no
	 * fence. */
	(m->init_era == b->era ? fault_add : warning_add)(
		w, lane, SIM_FAULT_PROXY, in->line, SIM_SPACE_SHARED, addr, 8, NULL,
		"%.60s: the mbarrier's init in line %u is not visible to the async proxy; add "
		"fence.mbarrier_init or fence.proxy.async after it", in->text, m->line);
	return true;
}

/* ---- phases that end too early ----
 *
 * PTX ISA, "mbarrier.test_wait, mbarrier.try_wait": a wait by parity is for the current phase or the
 * preceding one. So a phase must not end before all waiters of the preceding one have seen its end. Every
 * warp that arrives in it must know of them, or a later wait of theirs finds the parity of another phase. In
 * doubt (arrivals of any semantics) everything that the warp knows counts.
 *
 * A wgmma also orders waits. PTX ISA, "wgmma.mma_async" (.aligned: all threads of the warpgroup execute it),
 * "wgmma.commit_group" (one wgmma-group per warpgroup), "wgmma.wait_group" (all of it is complete): a warp
 * that has waited for one knows that each warp of the group has issued it, and so is past its preceding
 * waits. That does not order the writes of these warps, so it is not in Know. */

void
mbar_saw(Warp *w, const Ins *in, Mbar *m)
{
	m->saw |= 1u << w->id;
	m->by[w->id] = (MbarSaw){
		.own = { w->id, w->clock, __atomic_load_n(&w->cta->l->time, __ATOMIC_RELAXED) },
		.turn = w->wg ? w->wg->turns : 0,
		.line = in->line
	};
}

void
mbar_issued(Cta *b, u32 turn, const Moment *at)
{
	u32 first = at->warp / WG_WARPS * WG_WARPS;

	for (u32 i = 0; i < b->mb.cap; i++) {
		Mbar *m = b->mb.slot[i];
		for (u32 v = first; m && m->live && v < first + WG_WARPS; v++)
			if (m->saw >> v & 1 && m->by[v].turn <= turn && !m->by[v].group.clock)
				m->by[v].group = *at;
	}
}

/* Does w, which arrives in block b, know of it? */
static bool
knows(const Warp *w, const Cta *b, const Moment *at)
{
	if (!at->clock)
		return false;
	return w->cta == b ? at->warp == w->id || at->clock <= w->know.vc[at->warp] ||
	                             at->time < w->know.gown
	                   : at->time < w->know.gacq;
}

void
mbar_knows(const Warp *w, const Cta *b, Mbar *m)
{
	for (u32 v = 0; v < b->nwarp && m->saw; v++)
		if (knows(w, b, &m->by[v].own) || knows(w, b, &m->by[v].group))
			m->saw &= ~(1u << v);
}

void
mbar_overrun(Cta *b, Mbar *m)
{
	for (u32 v = 0; v < b->nwarp; v++)
		if (m->saw >> v & 1) {
			warning_add(&b->warp[v], 0, SIM_FAULT_MBARRIER, m->by[v].line, SIM_SPACE_SHARED,
			            m->addr, 8, NULL,
			            "phase %u completes, but none of its arrivals is ordered after this "
			            "wait of warp %u; the warp may still wait for the preceding phase and "
			            "miss it",
			            m->phase, v);
			break;
		}
	m->saw = 0;
}

void
mbar_landed(Cta *b, u32 addr, u32 bytes, const Cta *from, u32 thread, s32 pc, u32 mbar)
{
	const Mbar *m = mbar_find(b, mbar);

	if (b->l->checks && m)
		check_landed(b, addr, bytes, from, thread, pc, m->agent, b->mb.agent_clock[m->agent] + 1);
}

/* Checks a data write for overlap with mbarriers. */
void
mbar_overwrite(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 bytes)
{
	for (u32 at = addr & ~7u; at < addr + bytes; at += 8) {
		const Mbar *m = at >= b->mb.lo && at < b->mb.hi ? mbar_find(b, at) : NULL;
		if (m)
			mbar_bad(w, in, lane, at,
			    "overwrites the mbarrier initialized in line %u", m->line);
	}
}
