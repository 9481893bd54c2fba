/* wgmma_sync.c - wgmma.fence, commit_group and wait_group. */
#include <stdlib.h>
#include "lib/sim/exec/path.h"
#include "lib/sim/judge/wgmma.h"

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
