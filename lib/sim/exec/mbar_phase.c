/* mbar_phase.c - updates mbarrier objects: arrivals, transactions, phases. state/mbarrier.c has their table,
 * mbar.c the instructions, sanitizer/synccheck_mbarrier.c the checks.
 *
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A phase is complete when no
 * arrival is pending and the tx-count is zero; then the expected count is pending again. The object's 8 bytes
 * hold what the state operand of an arrive returns: phase 24 bits, pending arrivals 20 bits, expected
 * arrivals 20 bits. The rest is in the block's table. */
#include <string.h>
#include "lib/sim/exec/mbar.h"
#include "lib/sim/sanitizer/sanitizer.h"

u64
mbar_state(const Mbar *m)
{
	return (u64)(m->phase & PHASE_MASK) << 40 | (u64)m->pending << 20 | m->expected;
}

void
mbar_keep(Cta *b, const Mbar *m)
{
	u64 v = mbar_state(m);

	memcpy(b->smem + m->addr, &v, 8);
}

/* Waits for an mbarrier of the block retry. */
static void
wake(Cta *b)
{
	for (u32 i = 0; i < b->nwarp; i++)
		paths_wake(&b->warp[i], P_MBAR, false);
}

/* Ends the phase if nothing is missing. */
static void
settle(Cta *b, Mbar *m)
{
	inner_effect(b->cl);
	if (!m->pending && !m->tx) {
		if (m->saw)
			mbar_overrun(b, m);
		m->phase++;
		m->former |= m->arrived;
		m->arrived = 0;
		m->pending = m->expected;
		m->next.vc[MAX_WARPS + m->agent] = ++b->mb.agent_clock[m->agent];
		know_copy(&m->done, &m->next);
		wake(b);
	}
	mbar_keep(b, m);
}

/* Releases the accesses of w: to its own block exactly, to another by launch time. */
static void
hand_over(Warp *w, const Ins *in, Cta *b, Mbar *m)
{
	Vec *now = NULL;
	u32 t;

	if (!w->def)
		return;
	if (w->cta == b) {
		if (in->flags & F_REL)
			know_release(w, &m->next);
		else
			know_join(b->l, &m->next, &w->rel);
		return;
	}
	t = in->flags & F_REL ? time_tick(b->l) : w->grel[SCOPE_CLUSTER];
	vec_join(b->l, &m->next.far, in->flags & F_REL ? vec_now(w, &now) : vec_fenced(w, SCOPE_CLUSTER));
	vec_drop(&now);
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

bool
mbar_arrive(Warp *w, const Ins *in, int lane, Cta *b, u32 addr, u32 count, s64 tx)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m || (tx && !add_tx(w, in, lane, m, tx)) || (count && !add_arrivals(w, in, lane, m, count)))
		return false;
	if (count) {
		m->arrived |= w->cta == b ? 1u << w->id : 0;
		mbar_knows(w, b, m);
		hand_over(w, in, b, m);
	}
	settle(b, m);
	return true;
}

bool
mbar_complete_tx(const PendingOp *f, Cta *b, u32 addr, u32 bytes)
{
	Mbar *m = mbar_find(b, addr);
	Ins in;

	if (m && m->tx - (s64)bytes >= -COUNT_MAX) {
		m->tx -= (s32)bytes;
		settle(b, m);
		return true;
	}
	memset(&in, 0, sizeof in); /* reported at thread 0 of the block: the issuer may have exited */
	in.line = f->line;
	in.text = "complete_tx of an asynchronous operation";
	if (!m)
		return mbar_bad(&b->warp[0], &in, 0, addr, "no initialized mbarrier at this address");
	return mbar_bad(&b->warp[0], &in, 0, addr, "tx-count %d - %u is out of range: at least -(2^20-1)",
	                m->tx, bytes);
}

bool
mbar_more(Warp *w, const Ins *in, int lane, Cta *b, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, b, addr);

	if (!m)
		return false;
	if (m->pending == COUNT_MAX)
		return mbar_bad(w, in, lane, addr, "the pending count is already 2^20-1");
	m->pending++;
	mbar_keep(b, m);
	return true;
}

void
mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr)
{
	Mbar *m = mbar_live(w, in, lane, w->cta, addr);

	if (!m || !add_arrivals(w, in, lane, m, 1))
		return;
	if (w->def && m->next.vc[w->id] < w->clock)
		m->next.vc[w->id] = w->clock;
	settle(w->cta, m);
}

void
mbar_time(Warp *w, Cta *b, u32 addr, u32 time)
{
	Mbar *m = mbar_find(b, addr);
	Vec *now = NULL;

	if (m)
		vec_join(b->l, &m->next.far, vec_now(w, &now));
	vec_drop(&now);
	if (m && m->next.gacq < time)
		m->next.gacq = time;
	if (m && m->next.gown < time)
		m->next.gown = time;
}
