/* bar.c - executes the barriers 0 to 15 of a block, with thread counts and reductions. */
#include <string.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/state/fault.h"

static bool
bad(Warp *w, const Ins *in, u32 mask, const char *text, u32 v)
{
	fault_add(w, low_lane(mask), SIM_FAULT_BARRIER, in->line, SIM_SPACE_NONE, 0, 0, NULL,
	          "%.60s: %s %u", in->text, text, v);
	return false;
}

static bool
uniform(Warp *w, const Ins *in, const Ref *r, u32 mask, u32 *out)
{
	const u32 *v = src32(w, r);
	int l;

	use_check(w, in, r, mask, "a barrier operand");
	*out = v[low_lane(mask)];
	FOR_LANES(l, mask)
		if (v[l] != *out)
			return bad(w, in, mask, "lanes disagree on the barrier or its count, e.g.", v[l]);
	return true;
}

static void
arrive(Warp *w, const Ins *in, Bar *bar, u32 mask, u32 expect)
{
	if (!bar->open) {
		u32 former = bar->former;
		know_drop(&bar->know);
		memset(bar, 0, sizeof *bar);
		bar->former = former;
		bar->open = true;
		bar->expect = expect;
		bar->all = 1;
		bar->line = in->line;
	} else if (bar->expect != expect) {
		bad(w, in, mask, "threads of one phase give different counts: here", expect);
	}
	inner_effect(w->cta->cl);
	bar->arrived[w->id] |= mask;
	bar->count += mask == w->live ? WARP : popcount(mask);
	if (in->mode != BAR_ARRIVE)
		bar->waiting[w->id] |= mask;
	if (in->mode >= BAR_POPC) {
		u32 p = (in->ps_neg ? ~w->p[in->ps] : w->p[in->ps]) & mask;
		use_pred(w, in, in->ps, mask, "the predicate of a barrier");
		bar->popc += popcount(p);
		bar->all &= p == mask;
		bar->any |= p != 0;
	}
	if (w->def)
		know_release(w, &bar->know);
}

int
exec_bar(Warp *w, const Ins *in, u32 mask)
{
	Path *q = &w->path[w->cur];
	u32 n, expect = 0;

	w->reported = false;
	if (in->flags & F_INT && !sync_lanes(w, in, mask, w->live))
		return R_BLOCK;
	if (w->reported) {      /* no defined way for the block to continue */
		w->cta->dead = true;
		return R_STOP;
	}
	w->cta->k->barriers++;
	if (!uniform(w, in, &in->s[0], mask, &n) ||
	    (in->ns > 1 && !uniform(w, in, &in->s[1], mask, &expect)))
		return R_NEXT;
	if (n >= NBAR) {
		bad(w, in, mask, "barrier number must be below 16:", n);
		return R_NEXT;
	}
	if (in->ns > 1 && (expect % WARP || !expect || expect > ((w->cta->nwarp + 0u) * WARP))) {
		bad(w, in, mask, "thread count is not a multiple of 32, or exceeds the block's threads:",
		    expect);
		return R_NEXT;
	}
	arrive(w, in, &w->cta->bar[n], mask, expect);
	if (in->mode == BAR_ARRIVE) {
		bar_try(w->cta);
		return R_NEXT;
	}
	q->state = P_BAR;
	q->bar = (u8)n;
	return R_BLOCK;
}

static bool
complete(const Cta *b, const Bar *bar)
{
	if (bar->expect)
		return bar->count >= bar->expect;
	for (u32 i = 0; i < b->nwarp; i++)
		if (b->warp[i].live & ~bar->arrived[i])
			return false;
	return true;
}

static void
result(Warp *w, const Ins *in, const Bar *bar, u32 mask)
{
	u32 r = in->mode == BAR_AND ? bar->all : bar->any;
	int l;

	if (in->mode == BAR_POPC) {
		u32 *d = dst32(w, in->d);
		FOR_LANES(l, mask)
			d[l] = bar->popc;
		if (w->def)
			def_set(w, in->d, mask, ALL_LANES, 0);
	} else if (in->mode >= BAR_AND && in->pd >= 0) {
		w->p[in->pd] = (w->p[in->pd] & ~mask) | (r ? mask : 0);
		if (w->def)
			w->pdef[in->pd] |= mask;
	}
}

static void
release(Cta *b, u32 n)
{
	Bar bar = b->bar[n];
	bool all = true;                /* every thread of the block has waited here */

	b->bar[n].open = false;
	for (u32 i = 0; i < b->nwarp; i++) {
		Warp *w = &b->warp[i];
		b->bar[n].former |= bar.arrived[i] ? 1u << i : 0;
		all = all && bar.waiting[i] == w->start;
		if (!bar.waiting[i])
			continue;
		for (u32 k = 0; k < w->npath; k++) {
			Path *q = &w->path[k];
			if (q->state != P_BAR || q->bar != n)
				continue;
			result(w, &b->l->m->code[q->pc], &bar, q->mask & bar.waiting[i]);
			q->state = P_RUN;
			q->forced = false;
			q->pc++;
		}
		if (w->def)
			know_take(w, &bar.know);
		w->blocked = false;
	}
	if (all)
		shadow_era(b);
}

bool
bar_try(Cta *b)
{
	bool any = false;

	for (u32 n = 0; n < NBAR; n++)
		if (b->bar[n].open && complete(b, &b->bar[n])) {
			release(b, n);
			any = true;
		}
	return any;
}
