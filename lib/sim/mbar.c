/* mbar.c - mbarrier objects: arrivals, transactions, phases.  mbar_tab.c has their table, exec_mbar.c the
 * instructions.
 *
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".  A phase is
 * complete when no arrival is pending and the tx-count is zero; then the expected count is
 * pending again.  The object's 8 bytes hold what the state operand of an arrive gives back:
 * phase 24 bits, pending arrivals 20, expected arrivals 20.  The rest is in the block's table. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "check.h"
#include "fault.h"
#include "mbar.h"

u64
mbar_state(const Mbar *m)
{
	return (u64)(m->phase & PHASE_MASK) << 40 | (u64)m->pending << 20 | m->expected;
}

void
mbar_keep(Block *b, const Mbar *m)
{
	u64 v = mbar_state(m);

	memcpy(b->smem + m->addr, &v, 8);
}

/* Those who wait for an mbarrier of the block look again. */
static void
wake(Block *b)
{
	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		for (u32 k = 0; k < w->npath; k++)
			if (w->path[k].state == P_MBAR) {
				w->path[k].state = P_RUN;
				w->blocked = false;
			}
	}
}

/* End the phase if nothing is missing. */
static void
settle(Block *b, Mbar *m)
{
	b->cl->effects++;
	if (!m->pending && !m->tx) {
		m->phase++;
		m->pending = m->expected;
		m->next.vc[MAX_WARPS + m->agent] = ++b->mb.agent_clock[m->agent];
		m->done = m->next;
		wake(b);
	}
	mbar_keep(b, m);
}

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

/* Hand over what w did: to its own block precisely, to another by launch time. */
static void
hand_over(Warp *w, const Ins *in, Block *b, Mbar *m)
{
	u32 t;

	if (!w->def)
		return;
	if (w->blk == b) {
		if (in->flags & F_REL)
			know_release(w, &m->next);
		else
			know_join(&m->next, &w->rel);
		return;
	}
	t = in->flags & F_REL ? time_tick(b->l) : w->grel;
	if (m->next.gacq < t)
		m->next.gacq = t;
	if (m->next.gown < t)
		m->next.gown = t;
}

static bool
add_tx(Warp *w, const Ins *in, int lane, Mbar *m, s64 tx)
{
	if (tx < -COUNT_MAX || tx > COUNT_MAX || m->tx + tx > COUNT_MAX || m->tx + tx < -COUNT_MAX)
		return mbar_bad(w, in, lane, m->addr,
		    "tx-count %d + %lld is out of range: at most 2^20-1", m->tx,
		                (long long)tx);
	m->tx += (s32)tx;
	return true;
}

static bool
add_arrivals(Warp *w, const Ins *in, int lane, Mbar *m, u32 count)
{
	if (count > m->pending)
		return mbar_bad(w, in, lane, m->addr,
		    "%u arrivals, but only %u of %u are pending in this phase",
		                count, m->pending, m->expected);
	if (in->flags & F_NOCOMPLETE && count == m->pending && !m->tx)
		return mbar_bad(w, in, lane, m->addr,
		    ".noComplete with the last %u arrivals of the phase", count);
	m->pending -= count;
	return true;
}

Mbar *
mbar_live(Warp *w, const Ins *in, int lane, Block *b, u32 addr)
{
	Mbar *m = mbar_find(b, addr);

	if (!m)
		mbar_bad(w, in, lane, addr, "no mbarrier has been initialised there");
	return m;
}

bool
mbar_arrive(Warp *w, const Ins *in, int lane, Block *b, u32 addr, u32 count, s64 tx)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m || (tx && !add_tx(w, in, lane, m, tx)) || (count && !add_arrivals(w, in, lane, m, count)))
		return false;
	if (count)
		hand_over(w, in, b, m);
	settle(b, m);
	return true;
}

bool
mbar_complete_tx(const Flight *f, Block *b, u32 addr, u32 bytes)
{
	Mbar *m = mbar_find(b, addr);
	Ins in;

	if (m && m->tx - (s64)bytes >= -COUNT_MAX) {
		m->tx -= (s32)bytes;
		settle(b, m);
		return true;
	}
	memset(&in, 0, sizeof in); /* told at thread 0 of the block: the issuer may be gone */
	in.line = f->line;
	in.text = "complete_tx of an asynchronous operation";
	if (!m)
		return mbar_bad(&b->warp[0], &in, 0, addr, "no mbarrier has been initialised there");
	return mbar_bad(&b->warp[0], &in, 0, addr, "tx-count %d - %u is out of range: at least -(2^20-1)",
	                m->tx, bytes);
}

void
mbar_fence(Warp *w)
{
	MbarTab *t = &w->blk->mb;

	for (u32 i = 0; t->nunfenced && i < t->cap; i++) {
		Mbar *m = t->slot[i];
		if (!m || !m->live || m->fenced)
			continue;
		if (w->def && m->init_warp != w->id && m->init_clock > w->know.vc[m->init_warp])
			continue;
		m->fenced = true;
		t->nunfenced--;
	}
}

bool
mbar_more(Warp *w, const Ins *in, int lane, Block *b, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m)
		return false;
	if (m->pending == COUNT_MAX)
		return mbar_bad(w, in, lane, addr, "the pending count is 2^20-1 already");
	m->pending++;
	mbar_keep(b, m);
	return true;
}

void
mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, w->blk, addr);

	if (!m || !add_arrivals(w, in, lane, m, 1))
		return;
	if (w->def && m->next.vc[w->id] < w->clock)
		m->next.vc[w->id] = w->clock;
	settle(w->blk, m);
}

void
mbar_time(Block *b, u32 addr, u32 time)
{
	Mbar *m = mbar_find(b, addr);

	if (m && m->next.gacq < time)
		m->next.gacq = time;
	if (m && m->next.gown < time)
		m->next.gown = time;
}

bool
mbar_async_use(Warp *w, const Ins *in, int lane, Block *b, u32 addr)
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
mbar_landed(Block *b, u32 addr, u32 bytes, const Block *from, u32 thread, s32 pc, u32 mbar)
{
	const Mbar *m = mbar_find(b, mbar);

	if (b->l->checks && m)
		check_landed(b, addr, bytes, from, thread, pc, m->agent, b->mb.agent_clock[m->agent] + 1);
}

/* Data is written where mbarriers may be. */
void
mbar_overwrite(Warp *w, const Ins *in, int lane, Block *b, u32 addr, u32 bytes)
{
	for (u32 at = addr & ~7u; at < addr + bytes; at += 8) {
		const Mbar *m = at >= b->mb.lo && at < b->mb.hi ? mbar_find(b, at) : NULL;
		if (m)
			mbar_bad(w, in, lane, at,
			    "overwrites the mbarrier that line %u has initialised", m->line);
	}
}
