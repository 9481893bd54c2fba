/* special_register.h - the table of special register names. */
#ifndef SIM_SREG_H
#define SIM_SREG_H
#include "lib/sim/base/sim_base.h"

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

typedef enum Sreg {
#define X(id, name) S_##id,
	SREGS(X)
#undef X
	S_COUNT
} Sreg;

bool sreg_find(const char *s, size_t n, u32 *out);
bool sreg_is_system_smem(u32 sreg);
bool sreg_is_pred(u32 sreg);
#endif
