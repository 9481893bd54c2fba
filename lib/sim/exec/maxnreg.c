/* maxnreg.c - setmaxnreg: warpgroups hand registers to each other. */
#include "lib/sim/exec/path.h"
#include "lib/sim/judge/wgmma.h"
#include "lib/sim/state/fault.h"

/* Registers a thread has when a block starts: what fills the register file of 64 K. */
static u32
launched_with(const Cta *b)
{
	u32 n = 65536 / (b->nwarp * WARP) & ~7u;

	return n > 256 ? 256 : n;
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
		          "%.60s: warp %u has %u registers a thread, %u is %s", in->text, w->id, have, n,
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
