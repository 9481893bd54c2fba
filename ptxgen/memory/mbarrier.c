/* mbarrier.c - emits mbarrier waits and arrives, and determines the copies that an arrive expects. */
#include "ptxgen/memory/mbarrier.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/elect_one.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/address.h"

/* The copies that an arrival expects, by lowering. */
typedef struct Expected {
	int64_t bytes; /* of TMA copies */
	bool lanes;    /* asynchronous copies by individual lanes */
} Expected;

static void
expect(Expected *e, const Op *copy)
{
	const Instr *i = instr_of(copy->lowering);
	const Type *t = &copy_dest(copy)->type;

	if (instr_is_box(i))
		e->bytes += type_size(t) * dtype_info[t->dtype].bits / 8;
	else if (i && i->kind == IK_cp_async)
		e->lanes = true;
}

static Expected
expected(const Op *o)
{
	Expected e = { 0 };

	if (IMM(o, expect))
		for (const Op *p = arrival_copy(o, o); p; p = arrival_copy(o, p))
			expect(&e, p);
	return e;
}

/* Some arrivals at a barrier may expect copies by lanes, and others, in other code versions, not. A phase
 * must have the same number of arrivals in both. */
bool
arrive_lanes(const Op *arrive)
{
	const Op *mbar = op_mbar(arrive);
	OpWalk w;

	for (const Op *o = walk_first(&w, arrive->parent->kernel->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive && op_mbar(o) == mbar && expected(o).lanes)
			return true;
	return false;
}

/* Returns the byte offset from the first barrier, i32. */
static LV
slot_bytes(Codegen *g, Val *slot)
{
	LV n = LLVMBuildTrunc(g->b, scalar_get(g, slot), g->i32, "");

	return LLVMBuildShl(g->b, n, const_i32(g, log2_floor(MBAR_BYTES)), "");
}

/* Returns mbar_address without the barriers' offset in shared memory, which goes to an immediate, i32. */
static LV
slot_address(Codegen *g, Val *slot)
{
	return LLVMBuildAdd(g->b, smem_base(g), slot_bytes(g, slot), "");
}

static LV
mbar_offset(Codegen *g, const Val *mbar)
{
	return const_i32(g, IMM(mbar->def, offset));
}

LV
mbar_address(Codegen *g, Val *mbar, Val *slot)
{
	return LLVMBuildAdd(g->b, slot_address(g, slot), mbar_offset(g, mbar), "");
}

/* The barriers are initialized before the roles. */
void
emit_mbarrier(Codegen *g, Op *o)
{
	BUG_IF(g->a, IMM(o, offset) < 0);
}

void
emit_mbarrier_wait(Codegen *g, Op *o)
{
	LV phase = LLVMBuildTrunc(g->b, scalar_get(g, mbarrier_parity(o)), g->i32, "");

	gen_flush(g, NULL);
	asm_op(g, A_mbar_wait, slot_address(g, mbarrier_slot(o)), mbar_offset(g, mbarrier_barrier(o)),
	       LLVMBuildAnd(g->b, phase, const_i32(g, 1), ""));
}

/* Arrives at the same barrier of each block of the cluster in the mask, one lane per block. The release
 * scope is the block: what was read is the block's own memory, and an observer of the arrival reads nothing
 * because of it. For .release.cluster ptxas 13.0 emits two GPU-wide fences before every arrival. */
static void
arrive_at_blocks(Codegen *g, const Op *o, int warps)
{
	int64_t mask = IMM(o, cluster);
	LV in[2] = { LLVMBuildAdd(g->b, g->remote, slot_bytes(g, mbarrier_slot(o)), ""),
		     mbar_offset(g, mbarrier_barrier(o)) };

	emit_by(g, speaker_lanes(g, warps, (uint32_t)mask), "mbarrier.arrive.shared::cluster.b64 _, [$0+$1];",
	        "r,n", in, 2);
}

void
emit_mbarrier_arrive(Codegen *g, Op *o)
{
	Expected e = expected(o);
	int signals = (int)IMM(o, arrive_count);
	LV in[3] = { slot_address(g, mbarrier_slot(o)), mbar_offset(g, mbarrier_barrier(o)),
		     const_i32(g, e.bytes) };

	BUG_IF(g->a, signals < 1 || g->warps % signals);
	BUG_IF(g->a, IMM(o, cluster) && (e.bytes || !g->remote));
	gen_flush(g, NULL);
	if (g->leader && signals == g->warps) /* lanes represented by the elected one; all wait for MMAs */
		asm_op(g, A_warp, NULL, NULL, NULL);
	if (arrive_lanes(o))
		asm_op(g, A_mbar_lanes, in[0], in[1], NULL);
	if (e.bytes && signals > 1)
		emit_by(g, speaker(g, g->warps),
		        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0+$1], $2;", "r,n,n", in, 3);
	if (e.bytes && signals == 1)
		emit_by(g, speaker(g, g->warps),
		        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0+$1], $2;", "r,n,n", in, 3);
	else if (IMM(o, cluster))
		arrive_at_blocks(g, o, g->warps / signals);
	else
		emit_by(g, speaker(g, g->warps / signals), "mbarrier.arrive.shared::cta.b64 _, [$0+$1];",
		        "r,n", in, 2);
}
