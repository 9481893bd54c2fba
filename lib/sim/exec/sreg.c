/* sreg.c - returns the values of special registers for a lane. */
#include "lib/sim/exec/exec.h"
#include "lib/sim/sanitizer/sanitizer.h"
#include "lib/sim/ptx/special_register.h"

static u64
lane_value(const Warp *w, Sreg s, u32 lane)
{
	const Cta *b = w->cta;
	const sim_launch *a = &b->l->a;
	u32 t = w->id * WARP + lane;
	u32 bit = 1u << lane;

	switch (s) {
	case S_tid_x: return t % a->block[0];
	case S_tid_y: return t / a->block[0] % a->block[1];
	case S_tid_z: return t / a->block[0] / a->block[1];
	case S_ntid_x: case S_ntid_y: case S_ntid_z: return a->block[s - S_ntid_x];
	case S_ctaid_x: case S_ctaid_y: case S_ctaid_z: return b->id[s - S_ctaid_x];
	case S_cid_x: case S_cid_y: case S_cid_z: return b->id[s - S_cid_x] / b->l->cdim[s - S_cid_x];
	case S_ci_x: case S_ci_y: case S_ci_z: return b->id[s - S_ci_x] % b->l->cdim[s - S_ci_x];
	case S_cn_x: case S_cn_y: case S_cn_z: return b->l->cdim[s - S_cn_x];
	case S_ci_r: return b->rank;
	case S_cn_r: return b->cl->n;
	case S_expl: return b->l->cexplicit;
	case S_nctaid_x: case S_nctaid_y: case S_nctaid_z: return a->grid[s - S_nctaid_x];
	case S_nc_x: case S_nc_y: case S_nc_z: return b->l->cgrid[s - S_nc_x];
	case S_laneid: return lane;
	case S_warpid: return w->id;
	case S_nwarpid: return b->nwarp;
	case S_smid: return b->lin % 4;
	case S_nsmid: return 4;
	case S_lm_eq: return bit;
	case S_lm_le: return bit | (bit - 1);
	case S_lm_lt: return bit - 1;
	case S_lm_ge: return ~(bit - 1);
	case S_lm_gt: return ~(bit | (bit - 1));
	case S_clock: case S_clock64: case S_gt: case S_gt_lo: return w->steps;
	case S_dsmem: return a->smem;
	case S_tsmem: return b->l->smem_user;
	case S_asmem: return b->l->smem;
	case S_sys0: case S_sys1: return b->l->smem - SYSTEM_SMEM;
		/* the part that cooperative groups use for tiles of several warps */
	case S_sys2: return b->l->smem - SYSTEM_SMEM / 2;
	case S_sys3: return b->l->smem;
	case S_sys4: return SYSTEM_SMEM;
	default: return 0;
	}
}

int
exec_sreg(Warp *w, const Ins *in, u32 mask)
{
	int l;

	if (in->sreg >= S_clock && in->sreg <= S_gt_hi)
		w->cta->cl->clocks++;
	if (in->pd >= 0) {
		w->p[in->pd] = lane_value(w, (Sreg)in->sreg, 0) ? ALL_LANES : 0;
		if (w->def)
			w->pdef[in->pd] = ALL_LANES;
		return R_NEXT;
	}
	FOR_LANES(l, mask)
		lane_set(w, in->d, l, lane_value(w, (Sreg)in->sreg, (u32)l));
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}
