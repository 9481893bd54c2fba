/* mbar.c - mbarrier objects: their table, arrivals, transactions, phases, waits.
 *
 * PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".  A phase is
 * complete when no arrival is pending and the tx-count is zero; then the expected count is
 * pending again.  The object's 8 bytes hold what the state operand of an arrive gives back:
 * phase 24 bits, pending arrivals 20, expected arrivals 20.  The rest is in the block's table. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim_int.h"

enum { COUNT_MAX = (1 << 20) - 1, PHASE_MASK = (1 << 24) - 1 };

/* ---- the table ---- */

static u32
slot_of(const MbarTab *t, u32 addr)
{
	u32 h = (addr >> 3) * 0x9e3779b1u >> 7;

	for (;; h++) {
		const Mbar *m = t->slot[h & (t->cap - 1)];
		if (!m || m->addr == addr)
			return h & (t->cap - 1);
	}
}

Mbar *
mbar_find(const Block *b, u32 addr)
{
	Mbar *m = b->mb.cap ? b->mb.slot[slot_of(&b->mb, addr)] : NULL;

	return m && m->live ? m : NULL;
}

static bool
grow(MbarTab *t)
{
	MbarTab n = *t;

	n.cap = t->cap ? 2 * t->cap : 16;
	n.slot = calloc(n.cap, sizeof *n.slot);
	if (!n.slot)
		return false;
	for (u32 i = 0; i < t->cap; i++)
		if (t->slot[i])
			n.slot[slot_of(&n, t->slot[i]->addr)] = t->slot[i];
	free(t->slot);
	*t = n;
	return true;
}

static Mbar *
make(Block *b, u32 addr)
{
	MbarTab *t = &b->mb;
	Mbar **at;

	if (2 * t->n >= t->cap && !grow(t))
		return NULL;
	at = &t->slot[slot_of(t, addr)];
	if (!*at) {
		*at = malloc(sizeof **at);
		if (!*at)
			return NULL;
		t->n++;
	}
	memset(*at, 0, sizeof **at);
	(*at)->addr = addr;
	(*at)->agent = (u8)(t->made++ % NAGENT);
	if (t->hi <= t->lo) {
		t->lo = addr;
		t->hi = addr + 8;
	}
	t->lo = addr < t->lo ? addr : t->lo;
	t->hi = addr + 8 > t->hi ? addr + 8 : t->hi;
	return *at;
}

void
mbar_reset(Block *b)
{
	MbarTab *t = &b->mb;

	for (u32 i = 0; i < t->cap; i++)
		if (t->slot[i])
			t->slot[i]->live = false;
	t->lo = t->hi = t->nunfenced = t->made = 0;
	memset(t->agent_clock, 0, sizeof t->agent_clock);
}

void
mbar_free(Block *b)
{
	for (u32 i = 0; i < b->mb.cap; i++)
		free(b->mb.slot[i]);
	free(b->mb.slot);
}

/* ---- phases ---- */

static u64
state_of(const Mbar *m)
{
	return (u64)(m->phase & PHASE_MASK) << 40 | (u64)m->pending << 20 | m->expected;
}

static void
keep(Block *b, const Mbar *m)
{
	u64 v = state_of(m);

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
	keep(b, m);
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

static Mbar *
live_at(Warp *w, const Ins *in, int lane, Block *b, u32 addr)
{
	Mbar *m = mbar_find(b, addr);

	if (!m)
		mbar_bad(w, in, lane, addr, "no mbarrier has been initialised there");
	return m;
}

bool
mbar_arrive(Warp *w, const Ins *in, int lane, Block *b, u32 addr, u32 count, s64 tx)
{
	Mbar *m = live_at(w, in, lane, b, addr);

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
	Mbar *m = live_at(w, in, lane, b, addr);

	if (!m)
		return false;
	if (m->pending == COUNT_MAX)
		return mbar_bad(w, in, lane, addr, "the pending count is 2^20-1 already");
	m->pending++;
	keep(b, m);
	return true;
}

void
mbar_copies_arrive(Warp *w, const Ins *in, int lane, u32 addr)
{
	Mbar *m = live_at(w, in, lane, w->blk, addr);

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
	Mbar *m = live_at(w, in, lane, b, addr);

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

/* ---- instructions ---- */

/* The mbarrier's place for each lane; the access is remembered for races. */
u32
mbar_places(Warp *w, const Ins *in, const Ref *base, s64 off, u32 mask, int kind, Access *acc)
{
	u32 good = mem_resolve(w, in, base, off, (sim_space)in->space, mask, 8, kind != A_SREAD, acc);
	int l;

	FOR_LANES(l, good)
	{
		if (acc[l].space != SIM_SPACE_SHARED) {
			mbar_bad(w, in, l, (u32)acc[l].addr, "the address is not in shared memory");
			good &= ~(1u << l);
		} else if (w->def) {
			check_access(w, in, l, &acc[l], 8, kind | A_MBAR, NULL);
		}
	}
	return good;
}

enum { MB_INIT, MB_INVAL };

int
exec_mbarset(Warp *w, const Ins *in, u32 mask)
{
	Access acc[WARP];
	int l;

	if (in->ns > 1)
		use_check(w, in, &in->s[1], mask, "a count of an mbarrier");
	FOR_LANES(l, mbar_places(w, in, &in->s[0], in->off, mask, A_WRITE, acc))
	{
		Block *b = acc[l].blk;
		u32 addr = (u32)acc[l].addr, n;
		Mbar *m = mbar_find(b, addr);
		b->cl->effects++;
		if (in->sub == MB_INVAL) {
			if (!m)
				mbar_bad(w, in, l, addr, "no mbarrier has been initialised there");
			else {
				b->mb.nunfenced -= !m->fenced;
				m->live = false;
			}
			continue;
		}
		n = src32(w, &in->s[1])[l];
		if (m)
			mbar_bad(w, in, l, addr, "there is a live mbarrier already, of line %u", m->line);
		if (!n || n > COUNT_MAX) {
			mbar_bad(w, in, l, addr, "count %u is not in 1..2^20-1", n);
			continue;
		}
		b->mb.nunfenced -= m && !m->fenced;
		m = make(b, addr);
		if (!m) {
			w->blk->k->nomem = true;
			return R_STOP;
		}
		m->live = true;
		m->expected = m->pending = n;
		m->line = in->line;
		m->init_warp = w->id;
		m->init_clock = w->clock;
		m->init_era = b->era;
		b->mb.nunfenced++;
		keep(b, m);
		if (w->def)
			mark_init(w, l, &acc[l], 8, true);
	}
	return R_NEXT;
}

enum { MB_ARRIVE, MB_DROP, MB_EXPECT, MB_COMPLETE };

static void
arrive_lane(Warp *w, const Ins *in, int l, const Access *a)
{
	Block *b = a->blk;
	u32 addr = (u32)a->addr, v = in->ns > 1 ? src32(w, &in->s[1])[l] : 1;
	Mbar *m = live_at(w, in, l, b, addr);
	bool tx = in->aux;

	if (!m)
		return;
	if (in->nd)
		lane_set(w, in->d, l, state_of(m));
	if (in->sub == MB_COMPLETE) {
		mbar_arrive(w, in, l, b, addr, 0, -(s64)v);
		return;
	}
	if (!tx && (!v || v > COUNT_MAX)) {
		mbar_bad(w, in, l, addr, "count %u is not in 1..2^20-1", v);
		return;
	}
	if (in->sub == MB_DROP) {
		u32 n = tx ? 1 : v;
		if (n > m->expected || n > m->pending) {
			mbar_bad(w, in, l, addr, "drops %u of %u expected, %u pending", n,
			    m->expected, m->pending);
			return;
		}
		m->expected -= n;
	}
	mbar_arrive(w, in, l, b, addr, in->sub == MB_EXPECT ? 0 : tx ? 1
	                                                             : v,
	            tx ? v : 0);
}

int
exec_mbar(Warp *w, const Ins *in, u32 mask)
{
	Access acc[WARP];
	int l;

	if (in->ns > 1)
		use_check(w, in, &in->s[1], mask, "a count of an mbarrier");
	FOR_LANES(l, mbar_places(w, in, &in->s[0], in->off, mask, A_SWRITE, acc))
	arrive_lane(w, in, l, &acc[l]);
	if (w->def && in->nd)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

/* Has the phase that operand v names ended? */
static bool
phase_over(Warp *w, const Ins *in, int l, const Mbar *m, u64 v)
{
	u32 ago;

	if (in->flags & F_PARITY) {
		if (v > 1)
			mbar_bad(w, in, l, m->addr, "phase parity %llu is neither 0 nor 1",
			    (unsigned long long)v);
		return (m->phase & 1) != (v & 1);
	}
	ago = (m->phase - (u32)(v >> 40)) & PHASE_MASK;
	if (ago > 1)
		mbar_bad(w, in, l, m->addr,
		    "the state is of phase %u, the mbarrier is in phase %u: it has to be "
		                            "the current or the last one",
		         (u32)(v >> 40), m->phase & PHASE_MASK);
	return ago != 0;
}

/* A wait that fails puts its path to sleep until a phase of the block ends or nothing else can
 * move: both instructions may take their time, and so a loop around them costs nothing. */
int
exec_mbarwait(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];
	Access acc[WARP];
	u32 over = 0, good;
	int l;

	for (u32 i = 1; i < in->ns; i++)
		use_check(w, in, &in->s[i], mask, "an operand of an mbarrier wait");
	good = mbar_places(w, in, &in->s[0], in->off, mask, A_SREAD, acc);
	FOR_LANES(l, good)
	{
		Mbar *m = live_at(w, in, l, acc[l].blk, (u32)acc[l].addr);
		if (!m) {
			over |= 1u << l; /* told; do not hang too */
			continue;
		}
		if (acc[l].blk != w->blk)
			mbar_bad(w, in, l, m->addr,
			    "only threads of the mbarrier's own block may wait for it");
		if (!phase_over(w, in, l, m, lane_get(w, &in->s[1], l)))
			continue;
		over |= 1u << l;
		if (w->def)
			know_join(in->flags & F_ACQ ? &w->know : &w->acq, &m->done);
	}
	over |= mask & ~good;
	if (!over && !q->forced) {
		q->state = P_MBAR;
		q->need = (u32)acc[low_lane(good)].addr;
		return R_BLOCK;
	}
	if (in->pd >= 0) {
		w->p[in->pd] = (w->p[in->pd] & ~mask) | over;
		if (w->def)
			w->pdef[in->pd] |= mask;
	}
	return R_NEXT;
}

int
exec_mbarpend(Warp *w, const Ins *in, u32 mask)
{
	int l;

	if (w->def)
		taint_list(w, in, mask);
	FOR_LANES(l, mask)
	lane_set(w, in->d, l, lane_get(w, in->s, l) >> 20 & COUNT_MAX);
	return R_NEXT;
}
