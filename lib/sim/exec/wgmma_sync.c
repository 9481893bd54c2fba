/* wgmma_sync.c - executes wgmma.fence, commit_group and wait_group; and setmaxnreg, which reallocates
 * registers between warpgroups. */
#include <stdlib.h>
#include "lib/sim/exec/divergence.h"
#include "lib/sim/sanitizer/synccheck_wgmma.h"
#include "lib/sim/state/fault.h"

int
exec_wgfence(Warp *w, const Ins *in, u32 mask)
{
	if (!sync_full(w, in, mask))
		return R_BLOCK;
	if (wgmma_meet(w))
		return R_NEXT;
	w->path[w->cur].state = P_WG;
	return R_BLOCK;
}

int
exec_wgcommit(Warp *w, const Ins *in, u32 mask)
{
	if (!sync_full(w, in, mask))
		return R_BLOCK;
	w->wg->groups++;
	return R_NEXT;
}

int
exec_wgwait(Warp *w, const Ins *in, u32 mask)
{
	WgWarp *g = w->wg;
	WgOp *op, *last = NULL;
	Cta *b = w->cta;
	u32 first = w->id / WG_WARPS * WG_WARPS;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	for (op = g->op; op && op->group + in->wait.keep < g->groups; op = op->next)
		last = op;
	if (!last)
		return R_NEXT;
	for (u32 i = first; i < first + WG_WARPS && i < b->nwarp; i++)
		if (b->warp[i].wg->turns <= last->turn) {
			w->path[w->cur].state = P_WG;
			return R_BLOCK;
		}
	wgmma_land(w, last->turn);
	g->done = last->seq;
	while ((op = g->op) != NULL && op->seq <= g->done) {
		g->op = op->next;
		free(op);
	}
	if (!g->op)
		g->end = &g->op;
	return R_NEXT;
}

/* ---- setmaxnreg ---- */

/* Registers/thread when a block starts: as the entry specifies, or an equal share of the register file of 64
 * K. */
static u32
launched_with(const Cta *b)
{
	u32 n = 65536 / (b->nwarp * WARP) & ~7u;

	n = n > 256 ? 256 : n;
	return b->l->f->maxnreg && b->l->f->maxnreg < n ? b->l->f->maxnreg : n;
}

int
exec_maxnreg(Warp *w, const Ins *in, u32 mask)
{
	WgBlock *b = w->cta->wg;
	u32 have = w->wg->maxnreg ? w->wg->maxnreg : launched_with(w->cta), n = in->regs;
	bool inc = in->id == OP_maxnreginc;

	if (!sync_full(w, in, mask))
		return R_BLOCK;
	if (inc ? n < have : n > have) {
		fault_add(w, 0, SIM_FAULT_SETMAXNREG, in->line, SIM_SPACE_NONE, 0, 0, NULL,
		          "%.60s: warp %u has %u registers/thread, %u is %s", in->text, w->id, have, n,
		          inc ? "fewer" : "more");
	} else if (inc && n - have > b->pool) {
		w->path[w->cur].state = P_REGS;
		return R_BLOCK;
	} else {
		b->pool += have - n;
	}
	wgmma_turn(w, in);
	w->wg->maxnreg = n;
	for (u32 i = 0; !inc && i < w->cta->nwarp; i++)
		paths_wake(&w->cta->warp[i], P_REGS, false);
	return R_NEXT;
}
