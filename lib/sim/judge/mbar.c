/* mbar.c - what is wrong with the use of an mbarrier, and with writes where one is. */
#include <stdarg.h>
#include <stdio.h>
#include "lib/sim/judge/check.h"
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
		mbar_bad(w, in, lane, addr, "no mbarrier has been initialised there");
	return m;
}

bool
mbar_async_use(Warp *w, const Ins *in, int lane, Cta *b, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m)
		return false;
	/* After a barrier of the whole block nothing is said: Triton writes bar.sync and no fence, and that
	 * works. */
	if (w->def && !m->fenced && m->init_era == b->era) {
		m->fenced = true; /* tell it once */
		b->mb.nunfenced--;
		fault_add(w, lane, SIM_FAULT_PROXY, in->line, SIM_SPACE_SHARED, addr, 8, NULL,
		          "%.60s: the mbarrier's init in line %u is not visible to the async proxy: no "
		          "fence.mbarrier_init or fence.proxy.async after it",
		          in->text, m->line);
	}
	return true;
}

void
mbar_landed(Cta *b, u32 addr, u32 bytes, const Cta *from, u32 thread, s32 pc, u32 mbar)
{
	const Mbar *m = mbar_find(b, mbar);

	if (b->l->checks && m)
		check_landed(b, addr, bytes, from, thread, pc, m->agent, b->mb.agent_clock[m->agent] + 1);
}

/* Data is written where mbarriers may be. */
void
mbar_overwrite(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 bytes)
{
	for (u32 at = addr & ~7u; at < addr + bytes; at += 8) {
		const Mbar *m = at >= b->mb.lo && at < b->mb.hi ? mbar_find(b, at) : NULL;
		if (m)
			mbar_bad(w, in, lane, at,
			    "overwrites the mbarrier that line %u has initialised", m->line);
	}
}
