/* mbar.c - executes the mbarrier instructions: init, inval, arrive, wait. */
#include "lib/sim/exec/exec.h"
#include "lib/sim/exec/mbar.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

/* Resolves the mbarrier of each lane; the access is recorded for the race check. */
u32
mbar_places(Warp *w, const Ins *in, const Ref *base, s64 off, u32 mask, int kind, MemAccess *acc)
{
	u32 good = mem_resolve(w, in, base, off, (sim_space)in->space, mask, 8, kind != A_SREAD, acc);
	int l;

	FOR_LANES(l, good) {
		if (acc[l].space != SIM_SPACE_SHARED) {
			mbar_bad(w, in, l, (u32)acc[l].addr, "the address is not in shared memory");
			good &= ~(1u << l);
		} else if (w->def) {
			check_access(w, in, l, &acc[l], 8, kind | A_MBAR, NULL);
		}
	}
	return good;
}

int
exec_mbarset(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	int l;

	if (in->ns > 1)
		use_check(w, in, &in->s[1], mask, "a count of an mbarrier");
	FOR_LANES(l, mbar_places(w, in, &in->s[0], in->off, mask, A_WRITE, acc)) {
		Cta *b = acc[l].cta;
		u32 addr = (u32)acc[l].addr, n;
		Mbar *m = mbar_find(b, addr);
		inner_effect(b->cl);
		if (in->id == OP_mbinval) {
			if (!m)
				mbar_bad(w, in, l, addr, "no initialized mbarrier at this address");
			else {
				b->mb.nunfenced -= !m->fenced;
				m->live = false;
			}
			continue;
		}
		n = src32(w, &in->s[1])[l];
		if (m)
			mbar_bad(w, in, l, addr, "overwrites the live mbarrier initialized in line %u",
			         m->line);
		if (!n || n > COUNT_MAX) {
			mbar_bad(w, in, l, addr, "count %u is not in 1..2^20-1", n);
			continue;
		}
		b->mb.nunfenced -= m && !m->fenced;
		m = mbar_make(b, addr);
		if (!m) {
			w->cta->k->nomem = true;
			return R_STOP;
		}
		m->live = true;
		m->expected = m->pending = n;
		m->line = in->line;
		m->init_warp = w->id;
		m->init_clock = w->clock;
		m->init_era = b->era;
		b->mb.nunfenced++;
		mbar_keep(b, m);
		if (w->def)
			mark_init(w, l, &acc[l], 8, true);
	}
	return R_NEXT;
}

static void
arrive_lane(Warp *w, const Ins *in, int l, const MemAccess *a)
{
	Cta *b = a->cta;
	u32 addr = (u32)a->addr, v = in->ns > 1 ? src32(w, &in->s[1])[l] : 1;
	Mbar *m = mbar_live(w, in, l, b, addr);
	bool tx = in->arrive.tx;

	if (!m)
		return;
	if (in->nd)
		lane_set(w, in->d, l, mbar_state(m));
	if (in->arrive.op == ARRIVE_COMPLETE) {
		mbar_arrive(w, in, l, b, addr, 0, -(s64)v);
		return;
	}
	if (!tx && (!v || v > COUNT_MAX)) {
		mbar_bad(w, in, l, addr, "count %u is not in 1..2^20-1", v);
		return;
	}
	if (in->arrive.op == ARRIVE_DROP) {
		u32 n = tx ? 1 : v;
		if (n > m->expected || n > m->pending) {
			mbar_bad(w, in, l, addr, "drops %u of %u expected, %u pending", n,
			         m->expected, m->pending);
			return;
		}
		m->expected -= n;
	}
	mbar_arrive(w, in, l, b, addr, in->arrive.op == ARRIVE_EXPECT ? 0 : tx ? 1
	                                                                       : v,
	            tx ? v : 0);
}

int
exec_mbar(Warp *w, const Ins *in, u32 mask)
{
	MemAccess acc[WARP];
	int l;

	if (in->ns > 1)
		use_check(w, in, &in->s[1], mask, "a count of an mbarrier");
	FOR_LANES(l, mbar_places(w, in, &in->s[0], in->off, mask, A_SWRITE, acc))
		arrive_lane(w, in, l, &acc[l]);
	if (w->def && in->nd)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

/* Is the phase designated by operand v complete? */
static bool
phase_over(Warp *w, const Ins *in, int l, const Mbar *m, u64 v)
{
	u32 ago;

	if (in->flags & F_PARITY) {
		if ((u32)v == ~0u)
			warning_add(w, l, SIM_FAULT_MBARRIER, in->line, SIM_SPACE_SHARED, m->addr, 8, NULL,
			            "%.60s: phase parity -1 is treated as 1; the ISA defines 0 and 1",
			            in->text);
		else if (v > 1)
			mbar_bad(w, in, l, m->addr, "phase parity %llu is neither 0 nor 1",
			         (unsigned long long)v);
		return (m->phase & 1) != (v & 1);
	}
	ago = (m->phase - (u32)(v >> 40)) & PHASE_MASK;
	if (ago > 1)
		mbar_bad(w, in, l, m->addr,
		    "the state is of phase %u, the mbarrier is in phase %u; expected the current or the "
		    "preceding phase",
		         (u32)(v >> 40), m->phase & PHASE_MASK);
	return ago != 0;
}

/* A failed wait puts its path to sleep until a phase of the block ends or nothing else can make progress:
 * both instructions may take their time, and a loop around them costs nothing. */
int
exec_mbarwait(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];
	MemAccess acc[WARP];
	u32 over = 0, good;
	int l;

	for (u32 i = 1; i < in->ns; i++)
		use_check(w, in, &in->s[i], mask, "an operand of an mbarrier wait");
	good = mbar_places(w, in, &in->s[0], in->off, mask, A_SREAD, acc);
	FOR_LANES(l, good) {
		Mbar *m = mbar_live(w, in, l, acc[l].cta, (u32)acc[l].addr);
		if (!m) {
			over |= 1u << l; /* reported; do not hang too */
			continue;
		}
		if (acc[l].cta != w->cta)
			mbar_bad(w, in, l, m->addr,
			    "only threads of the mbarrier's own block may wait for it");
		if (!phase_over(w, in, l, m, lane_get(w, &in->s[1], l)))
			continue;
		over |= 1u << l;
		if (w->def) {
			if (in->flags & F_ACQ)
				know_take(w, &m->done);
			else
				know_join(w->cta->l, &w->acq, &m->done);
			mbar_saw(w, in, m);
		}
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
