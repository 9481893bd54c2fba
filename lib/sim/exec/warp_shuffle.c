/* warp_shuffle.c - executes the exchanges between lanes of a warp: shfl, vote, match, redux, elect. Of these
 * only bar.warp.sync orders memory (PTX ISA, "bar.warp.sync"); the ISA specifies no ordering for the
 * others. */
#include <string.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static void
tell_partial(Warp *w, const Ins *in, u32 mask, u32 missing)
{
	sim_fault_kind k = in->cls == SIM_CLASS_BARRIER && in->id != OP_warpbar
	                           ? SIM_FAULT_DIVERGENT_BARRIER
	                           : SIM_FAULT_ALIGNED;

	w->reported = true;
	fault_add(w, low_lane(mask), k, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%.60s: warp %u executes it with lanes 0x%08x, but required lanes 0x%08x have diverged%s",
	          in->text, w->id, mask, missing,
	          missing & ~w->live ? " or have exited" : "");
}

bool
sync_lanes(Warp *w, const Ins *in, u32 mask, u32 need)
{
	Path *q = &w->path[w->cur];
	u32 missing = need & w->live & ~mask;

	if (!missing)
		return true;
	if (q->forced || missing & q->mask) {   /* the guard excludes lanes: they never arrive */
		tell_partial(w, in, mask, missing);
		return true;
	}
	q->state = P_SYNC;
	q->need = need & w->live;
	return false;
}

bool
sync_full(Warp *w, const Ins *in, u32 mask)
{
	if (w->live != ALL_LANES) {
		if (mask == (w->live & mask))
			tell_partial(w, in, mask, ~w->live);
		return true;
	}
	return sync_lanes(w, in, mask, ALL_LANES);
}

/* Union of the member masks of the active lanes; reports lanes that are not in their own mask. */
static bool
members(Warp *w, const Ins *in, u32 mask)
{
	const u32 *mm = src32(w, &in->s[0]);
	u32 need = 0;
	int l;

	use_check(w, in, &in->s[0], mask, "a member mask");
	FOR_LANES(l, mask) {
		need |= mm[l];
		if (!(mm[l] >> l & 1))
			fault_add(w, l, SIM_FAULT_ALIGNED, in->line, SIM_SPACE_NONE, 0, 0, NULL,
			          "%.60s: lane %d is not in its member mask 0x%08x", in->text, l, mm[l]);
	}
	return sync_lanes(w, in, mask, need);
}

/* The lanes of `todo` that have the same member mask as the first of them. */
static u32
group(const Warp *w, const Ins *in, u32 todo)
{
	const u32 *mm = src32(w, &in->s[0]);
	u32 first = mm[low_lane(todo)], g = 0;
	int l;

	FOR_LANES(l, todo)
		if (mm[l] == first)
			g |= 1u << l;
	return g;
}

static void
set_pred(Warp *w, s32 p, u32 mask, u32 v, u32 defined, u32 line)
{
	if (p < 0)
		return;
	w->p[p] = (w->p[p] & ~mask) | (v & mask);
	if (w->def) {
		w->pdef[p] = (w->pdef[p] & ~mask) | (defined & mask);
		if (mask & ~defined)
			w->porg[p] = line;
	}
}

/* Source lane of shfl, after the ISA's own pseudo-code; *in_range is its predicate. */
static u32
shfl_source(u32 mode, u32 lane, u32 b, u32 c, bool *in_range)
{
	u32 bval = b & 31, cval = c & 31, seg = c >> 8 & 31;
	u32 max = (lane & seg) | (cval & ~seg), min = lane & seg;
	s32 j;

	switch (mode) {
	case SHFL_UP: j = (s32)lane - (s32)bval; *in_range = j >= (s32)max; break;
	case SHFL_DOWN: j = (s32)(lane + bval); *in_range = j <= (s32)max; break;
	case SHFL_BFLY: j = (s32)(lane ^ bval); *in_range = j <= (s32)max; break;
	default: j = (s32)(min | (bval & ~seg)); *in_range = j <= (s32)max; break;
	}
	return *in_range ? (u32)j & 31 : lane;
}

/* Each byte is as defined as that of the source lane, if this one participated; otherwise the result is
 * undefined. */
static void
taint_shfl(Warp *w, const Ins *in, u32 mask, const u32 *src, u32 took)
{
	u32 known = took & def_of(w, &in->s[2]) & def_of(w, &in->s[3]), from[4], all = ALL_LANES, off = 0;
	u32 org = mask & ~def_of(w, &in->s[1]) ? origin_of(w, in, &in->s[1]) : in->line;
	u32 *d = w->def + in->d->def;
	int l;

	memcpy(from, w->def + in->s[1].def, sizeof from);       /* possibly the same register */
	FOR_LANES(l, mask)
		off |= ~mask >> src[l] & 1;
	for (u32 k = 0; k < in->d->bytes; k++) {
		u32 def = 0;
		FOR_LANES(l, mask & known)
			def |= (from[k] >> src[l] & 1) << l;
		d[k] = (d[k] & ~mask) | def;
		all &= def;
	}
	if (mask & ~all)
		w->org[in->d->unit] = off ? in->line : org;
}

int
exec_shfl(Warp *w, const Ins *in, u32 mask)
{
	const u32 *mm = src32(w, &in->s[0]), *a = src32(w, &in->s[1]);
	const u32 *b = src32(w, &in->s[2]), *c = src32(w, &in->s[3]);
	u32 out[WARP], p = 0, took = 0, src[WARP];
	u32 *d;
	int l;

	if (!members(w, in, mask))
		return R_BLOCK;
	FOR_LANES(l, mask) {
		bool ok;
		u32 j = shfl_source(in->mode, (u32)l, b[l], c[l], &ok);
		src[l] = j;
		out[l] = a[j];
		p |= (u32)ok << l;
		took |= ((mask & mm[l]) >> j & 1) << l;
	}
	d = dst32(w, in->d);
	if (w->def)
		taint_shfl(w, in, mask, src, took);
	FOR_LANES(l, mask)
		d[l] = out[l];
	set_pred(w, in->pd, mask, p, ALL_LANES, in->line);
	return R_NEXT;
}

int
exec_vote(Warp *w, const Ins *in, u32 mask)
{
	u32 v = in->ps_neg ? ~w->p[in->ps] : w->p[in->ps], todo = mask, *d;
	int l;

	if (!members(w, in, mask))
		return R_BLOCK;
	while (todo) {
		u32 g = group(w, in, todo), def = w->def && (g & ~w->pdef[in->ps]) ? 0 : ALL_LANES;
		u32 org = w->def && w->porg[in->ps] ? w->porg[in->ps] : in->line, r;
		todo &= ~g;
		if (in->mode == VOTE_BALLOT) {
			d = dst32(w, in->d);
			FOR_LANES(l, g)
				d[l] = v & g;
			if (w->def)
				def_set(w, in->d, g, def, org);
			continue;
		}
		r = in->mode == VOTE_ALL   ? (v & g) == g
		    : in->mode == VOTE_ANY ? (v & g) != 0
		                           : !(v & g) || (v & g) == g;
		set_pred(w, in->pd, g, r ? ALL_LANES : 0, def, org);
	}
	return R_NEXT;
}

int
exec_match(Warp *w, const Ins *in, u32 mask)
{
	u32 todo = mask, out[WARP], p = 0, *d;
	int l, k;

	if (!members(w, in, mask))
		return R_BLOCK;
	if (w->def)
		use_check(w, in, &in->s[1], mask, "a value to match");
	while (todo) {
		u32 g = group(w, in, todo);
		todo &= ~g;
		FOR_LANES(l, g) {
			u64 v = lane_get(w, &in->s[1], l);
			u32 m = 0;
			for (k = 0; k < WARP; k++)
				m |= (u32)(g >> k & 1 && lane_get(w, &in->s[1], k) == v) << k;
			out[l] = in->id == OP_matchall ? m == g ? g : 0 : m;
			p |= (u32)(m == g) << l;
		}
	}
	d = dst32(w, in->d);
	FOR_LANES(l, mask)
		d[l] = out[l];
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	set_pred(w, in->pd, mask, p, ALL_LANES, in->line);
	return R_NEXT;
}

int
exec_redux(Warp *w, const Ins *in, u32 mask)
{
	const u32 *a = src32(w, &in->s[1]);
	bool sign = type_signed((PtxType)in->type);
	u32 todo = mask, *d = dst32(w, in->d);
	int l;

	if (!members(w, in, mask))
		return R_BLOCK;
	while (todo) {
		u32 g = group(w, in, todo), r = a[low_lane(g)], first = g & (g - 1);
		todo &= ~g;
		FOR_LANES(l, first) {
			bool less = sign ? (s32)a[l] < (s32)r : a[l] < r;
			switch (in->mode) {
			case REDUX_ADD: r += a[l]; break;
			case REDUX_MIN: r = less ? a[l] : r; break;
			case REDUX_MAX: r = less ? r : a[l]; break;
			case REDUX_AND: r &= a[l]; break;
			case REDUX_OR: r |= a[l]; break;
			default: r ^= a[l]; break;
			}
		}
		if (w->def)
			def_set(w, in->d, g, g & ~def_of(w, &in->s[1]) ? 0 : ALL_LANES,
			        origin_of(w, in, &in->s[1]));
		FOR_LANES(l, g)
			d[l] = r;
	}
	return R_NEXT;
}

int
exec_activemask(Warp *w, const Ins *in, u32 mask)
{
	u32 *d = dst32(w, in->d);
	int l;

	FOR_LANES(l, mask)
		d[l] = mask;
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

/* The leader is the lowest lane of the member mask. */
int
exec_elect(Warp *w, const Ins *in, u32 mask)
{
	u32 todo = mask, *d = dst32(w, in->d);
	int l;

	if (!members(w, in, mask))
		return R_BLOCK;
	while (todo) {
		u32 g = group(w, in, todo), lead = (u32)low_lane(g);
		todo &= ~g;
		FOR_LANES(l, g)
			d[l] = lead;
		set_pred(w, in->pd, g, 1u << lead, ALL_LANES, in->line);
	}
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}

int
exec_warpbar(Warp *w, const Ins *in, u32 mask)
{
	u32 todo = mask;

	if (!members(w, in, mask))
		return R_BLOCK;
	if (w->def)
		while (todo) {
			u32 g = group(w, in, todo);
			todo &= ~g;
			check_sync_warp(w, g);
		}
	return R_NEXT;
}

int
exec_nop(Warp *w, const Ins *in, u32 mask)
{
	(void)w;
	(void)in;
	(void)mask;
	return R_NEXT;
}

int
exec_yield(Warp *w, const Ins *in, u32 mask)
{
	(void)w;
	(void)in;
	(void)mask;
	return R_AGAIN;
}
