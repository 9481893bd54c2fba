/* sreg.c - special registers: one table of names, one place with their values. */
#include <stdio.h>
#include <string.h>
#include "check.h"

#define SREGS(X) \
	X(tid_x, "%tid.x") X(tid_y, "%tid.y") X(tid_z, "%tid.z") \
	X(ntid_x, "%ntid.x") X(ntid_y, "%ntid.y") X(ntid_z, "%ntid.z") \
	X(ctaid_x, "%ctaid.x") X(ctaid_y, "%ctaid.y") X(ctaid_z, "%ctaid.z") \
	X(nctaid_x, "%nctaid.x") X(nctaid_y, "%nctaid.y") X(nctaid_z, "%nctaid.z") \
	X(laneid, "%laneid") X(warpid, "%warpid") X(nwarpid, "%nwarpid") \
	X(smid, "%smid") X(nsmid, "%nsmid") X(gridid, "%gridid") \
	X(lm_eq, "%lanemask_eq") X(lm_le, "%lanemask_le") X(lm_lt, "%lanemask_lt") \
	X(lm_ge, "%lanemask_ge") X(lm_gt, "%lanemask_gt") \
	X(clock, "%clock") X(clock_hi, "%clock_hi") X(clock64, "%clock64") \
	X(gt, "%globaltimer") X(gt_lo, "%globaltimer_lo") X(gt_hi, "%globaltimer_hi") \
	X(dsmem, "%dynamic_smem_size") X(tsmem, "%total_smem_size") X(asmem, "%aggr_smem_size") \
	X(cn_x, "%cluster_nctaid.x") X(cn_y, "%cluster_nctaid.y") X(cn_z, "%cluster_nctaid.z") \
	X(cn_r, "%cluster_nctarank") X(ci_r, "%cluster_ctarank") \
	X(ci_x, "%cluster_ctaid.x") X(ci_y, "%cluster_ctaid.y") X(ci_z, "%cluster_ctaid.z") \
	X(cid_x, "%clusterid.x") X(cid_y, "%clusterid.y") X(cid_z, "%clusterid.z") \
	X(nc_x, "%nclusterid.x") X(nc_y, "%nclusterid.y") X(nc_z, "%nclusterid.z") \
	X(expl, "%is_explicit_cluster") X(sys0, "%reserved_smem_offset_begin") \
	X(sys1, "%reserved_smem_offset_0") X(sys2, "%reserved_smem_offset_1") \
	X(sys3, "%reserved_smem_offset_end") X(sys4, "%reserved_smem_offset_cap") \
	X(graph, "%current_graph_exec")

enum Sreg {
#define X(id, name) S_##id,
	SREGS(X)
#undef X
	S_COUNT
};

/* %envreg0-31, %pm0-7 and %pm0_64-7_64: read as zero. */
static bool
zeros(const char *s, size_t n, u32 *out)
{
	char name[16];
	u32 k, len = 0;

	for (k = 0; k < 48; k++) {
		if (k < 32)
			len = (u32)snprintf(name, sizeof name, "%%envreg%u", k);
		else
			len = (u32)snprintf(name, sizeof name, k < 40 ? "%%pm%u" : "%%pm%u_64", k % 8);
		if (len == n && !memcmp(name, s, n)) {
			*out = S_COUNT;
			return true;
		}
	}
	return false;
}

bool
sreg_find(const char *s, size_t n, u32 *out)
{
	static const char *const names[] = {
#define X(id, name) name,
		SREGS(X)
#undef X
	};

	for (u32 i = 0; i < S_COUNT; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], s, n)) {
			*out = i;
			return true;
		}
	return zeros(s, n, out);
}

bool
sreg_is_system_smem(u32 sreg)
{
	return sreg >= S_sys0 && sreg <= S_sys4;
}

static u64
lane_value(const Warp *w, enum Sreg s, u32 lane)
{
	const Block *b = w->blk;
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

bool
sreg_is_pred(u32 sreg)
{
	return sreg == S_expl;
}

int
exec_sreg(Warp *w, const Ins *in, u32 mask)
{
	int l;

	if (in->aux >= S_clock && in->aux <= S_gt_hi)
		w->blk->cl->clocks++;
	if (in->pd >= 0) {
		w->p[in->pd] = lane_value(w, (enum Sreg)in->aux, 0) ? ALL_LANES : 0;
		if (w->def)
			w->pdef[in->pd] = ALL_LANES;
		return R_NEXT;
	}
	FOR_LANES(l, mask)
		lane_set(w, in->d, l, lane_value(w, (enum Sreg)in->aux, (u32)l));
	if (w->def)
		def_set(w, in->d, mask, ALL_LANES, 0);
	return R_NEXT;
}
