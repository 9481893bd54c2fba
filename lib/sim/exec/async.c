/* async.c - executes st.async and red.async, which land later and signal an mbarrier; and the mbarrier arrive
 * that waits for a thread's cp.async. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/exec/mbar.h"
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

/* ---- cp.async.mbarrier.arrive ---- */

typedef struct Arrival {
	PendingOp f;
	Warp *w;
	const Ins *in;
	u32 mask, before; /* copies of these lanes older than this */
	u32 addr[WARP];
} Arrival;

static void
land_arrival(PendingOp *f)
{
	Arrival *a = (Arrival *)(void *)f;
	int l;

	copies_before(a->w, a->mask, a->before);
	FOR_LANES(l, a->mask)
		mbar_copies_arrive(a->w, a->in, l, a->addr[l]);
	a->w->clock++; /* later accesses of the warp are not released by it */
}

int
exec_cpmbar(Warp *w, const Ins *in, u32 mask)
{
	Arrival *a = calloc(1, sizeof *a);
	MemAccess acc[WARP];
	int l;

	if (!a) {
		w->cta->k->nomem = true;
		return R_STOP;
	}
	a->f.land = land_arrival;
	a->w = w;
	a->in = in;
	a->before = w->ncopies;
	FOR_LANES(l, mbar_places(w, in, &in->s[0], in->off, mask, A_SWRITE, acc)) {
		a->addr[l] = (u32)acc[l].addr;
		if (acc[l].cta != w->cta)
			mbar_bad(w, in, l, a->addr[l], "the mbarrier must be in the thread's own block");
		else if (in->arrive.noinc || mbar_more(w, in, l, w->cta, a->addr[l]))
			a->mask |= 1u << l;
		if (a->mask >> l & 1 && mbar_find(w->cta, a->addr[l]))
			mbar_knows(w, w->cta, mbar_find(w->cta, a->addr[l]));
	}
	flight_add(w, in, &a->f);
	return R_NEXT;
}

/* ---- st.async, red.async ---- */

typedef struct Store {
	PendingOp f;
	Warp *w;
	const Ins *in;
	u32 mask, defined;
	MemAccess at[WARP];
	u32 mbar[WARP];
	u8 data[WARP][16];
} Store;

static void
land_lane(Store *s, int l)
{
	const Ins *in = s->in;
	Warp *w = s->w;
	const MemAccess *a = &s->at[l];
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec, addr = (u32)a->addr;
	bool red = in->id == OP_redasync;
	u64 v = 0;

	if (red && w->def)
		check_access(w, in, l, a, bytes, A_SWRITE, NULL);
	if (red) {
		memcpy(&v, s->data[l], in->mem.ebytes);
		atom_rmw(a->p, in->mem.ebytes, in->mem.op, (PtxType)in->type, v, 0, false);
	} else {
		memcpy(a->p, s->data[l], bytes);
	}
	if (w->def && !red) {
		mark_init(w, l, a, bytes, s->defined >> l & 1);
		mbar_landed(a->cta, addr, bytes, w->cta, w->id * WARP + (u32)l,
		            (s32)(in - w->cta->l->m->code), s->mbar[l]);
	}
	if (w->def && red)
		mbar_time(w, a->cta, s->mbar[l], time_tick(w->cta->l));
	mbar_complete_tx(&s->f, a->cta, s->mbar[l], bytes);
}

static void
land_store(PendingOp *f)
{
	Store *s = (Store *)(void *)f;
	int l;

	FOR_LANES(l, s->mask)
		if (s->at[l].cta->ended)
			cluster_reach(s->w, s->in, l, s->at[l].cta, (u32)s->at[l].addr, s->in->mem.ebytes);
		else
			land_lane(s, l);
}

static void
take_values(Store *s)
{
	Warp *w = s->w;
	const Ins *in = s->in;
	u32 bytes = (u32)in->mem.ebytes * in->mem.vec;
	bool red = in->id == OP_redasync;
	int l;

	s->defined = ALL_LANES;
	for (u32 i = 0; i < in->mem.vec; i++) {
		if (w->def && red)
			use_check(w, in, &in->s[1 + i], s->mask, "an operand of an atomic operation");
		if (w->def)
			s->defined &= def_of(w, &in->s[1 + i]);
		FOR_LANES(l, s->mask) {
			u64 v = lane_get(w, &in->s[1 + i], l);
			memcpy(s->data[l] + i * in->mem.ebytes, &v, in->mem.ebytes);
		}
	}
	FOR_LANES(l, s->mask) {
		if (w->def && !red)
			check_access(w, in, l, &s->at[l], bytes, A_ASYNC, NULL);
		if (w->def && red && !check_init(w, l, &s->at[l], bytes))
			fault_add(w, l, SIM_FAULT_UNINIT_SHARED, in->line, SIM_SPACE_SHARED, s->at[l].addr,
			          bytes,
			          NULL, "%.60s: atomic operation on uninitialized memory", in->text);
	}
}

int
exec_stasync(Warp *w, const Ins *in, u32 mask)
{
	Store *s = calloc(1, sizeof *s);
	const Ref *mb = &in->s[1 + in->mem.vec];
	MemAccess bar[WARP];
	u32 good;
	int l;

	if (!s) {
		w->cta->k->nomem = true;
		return R_STOP;
	}
	s->f.land = land_store;
	s->w = w;
	s->in = in;
	good = mem_resolve(w, in, &in->s[0], in->off, (sim_space)in->space, mask,
	                   (u32)in->mem.ebytes * in->mem.vec, true, s->at);
	good &= mbar_places(w, in, mb, in->mem.mbar, good, A_SWRITE, bar);
	FOR_LANES(l, good) {
		if (s->at[l].space != SIM_SPACE_SHARED || s->at[l].cta != bar[l].cta) {
			mbar_bad(w, in, l, (u32)bar[l].addr,
			    "destination and mbarrier are not in one block's "
			                                     "shared memory");
			continue;
		}
		s->mask |= 1u << l;
		s->mbar[l] = (u32)bar[l].addr;
		s->f.dst = s->at[l].cta;
	}
	take_values(s);
	flight_add(w, in, &s->f);
	return R_NEXT;
}
