/* tma_copy.c - emits TMA tensor copies, box by box, between global and shared memory. */
#include "ptxgen/base/inline_asm.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/elect_one.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/address.h"
#include "ptxgen/memory/mbarrier.h"

typedef struct TmaCopyEmit {
	Op *o;
	const TensorMap *map;
	const Op *view;         /* of the tensor */
	int dim[MAP_RANK_MAX];  /* of the tensor, by dim of the map */
	LV start[MAP_RANK_MAX]; /* i32: start of the view, likewise */
	Access *tile;
	LV engine, mbar;        /* addresses of the map and the barrier */
	int blocks;             /* of the cluster that receive it */
	LV rank;                /* i32: of this block; NULL: only this one receives it */
} TmaCopyEmit;

LV
map_address(Codegen *g, int i)
{
	LV at;

	asm_emit(g,
	         arena_printf(g->a, "{ .reg .b64 a; mov.b64 a, %s_param_%d; cvta.param.u64 $0, a; }",
	                      g->k->name, g->k->nparam + i),
	         "=l", 0, NULL, 0, &at);
	return at;
}

/* The map's dims are the tensor's: the contiguous one, then the others from last to first. */
static void
boxes_dims(Codegen *g, TmaCopyEmit *b, Val *mem)
{
	Access *x = access_view(g, NULL, mem);
	int unit = view_operand_dim(b->view, view_unit_dim(g->k, b->view)), n = 1;

	b->dim[0] = unit;
	for (int d = x->root_rank - 1; d >= 0; d--)
		if (d != unit)
			b->dim[n++] = d;
	BUG_IF(g->a, n != b->map->rank);
	for (int i = 0; i < n; i++)
		b->start[i] = LLVMBuildTrunc(g->b, access_start(x, b->dim[i]), g->i32, "");
}

/* Returns "{$3, $4}": operands n, n + 1 and so on, one per dim. */
static const char *
operand_list(Codegen *g, int n, int rank)
{
	Text t = { .arena = g->a };

	for (int i = 0; i < rank; i++)
		text_printf(&t, "%s$%d", i ? ", " : "{", n + i);
	text_printf(&t, "}");
	return t.s;
}

/* Computes the operands of the box that starts at `at`, an index of the view: its shared address, and its
 * coordinates in the tensor. */
static void
box_place(Codegen *g, const TmaCopyEmit *b, const int64_t *at, LV *smem, LV start[MAP_RANK_MAX])
{
	int64_t imm;
	LV base;

	access_at(b->tile, at, &base, &imm, NULL);
	*smem = LLVMBuildAdd(g->b, base, const_i32(g, imm), "");
	for (int i = 0; i < b->map->rank; i++) {
		int r = view_result_dim(b->view, b->dim[i]);

		start[i] = LLVMBuildAdd(g->b, b->start[i], const_i32(g, r < 0 ? 0 : at[r]), "");
	}
}

/* May a copy to shared memory specify the block's own? Where that is not specified, ptxas 13.0 emits a call
 * for sm_120a, because of which it ignores setmaxnreg (C7506). */
static bool
stays_in_block(const Codegen *g, const TmaCopyEmit *b)
{
	return b->blocks == 1 && g->u->target->ptx >= PTX_OWN;
}

static void
one_box(Codegen *g, const TmaCopyEmit *b, LV smem, const LV start[MAP_RANK_MAX])
{
	int rank = b->map->rank, n = 0, dims;
	const char *cons = "r,l,r,r,r,r,r,r", *text;
	LV in[3 + MAP_RANK_MAX];

	in[n++] = smem;
	in[n++] = b->engine;
	if (b->mbar)
		in[n++] = b->mbar;
	dims = n;
	for (int i = 0; i < rank; i++)
		in[n++] = start[i];
	text = operand_list(g, dims, rank);
	if (!b->mbar)
		text = arena_printf(g->a,
		                    "cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [$1, %s], [$0];",
		                    rank, text);
	else
		text = arena_printf(g->a,
		                    "cp.async.bulk.tensor.%dd.shared::%s.global.mbarrier::complete_tx"
		                    "::bytes%s [$0], [$1, %s], [$2]%s;",
		                    rank, stays_in_block(g, b) ? "cta" : "cluster",
		                    b->blocks > 1 ? ".multicast::cluster" : "", text,
		                    b->blocks > 1 ? arena_printf(g->a, ", %d", (1 << b->blocks) - 1) : "");
	emit_by(g, speaker(g, g->warps), text, arena_strndup(g->a, cons, (size_t)(2 * n - 1)), in, n);
}

/* Returns the elements of a box along dim r of the view. */
static int64_t
box_extent(const TmaCopyEmit *b, int r)
{
	for (int i = 0; i < b->map->rank; i++)
		if (view_result_dim(b->view, b->dim[i]) == r)
			return b->map->box[i];
	return 1;
}

/* Computes the start of the i-th box of a view, as an index of the view. */
static void
box_index(const TmaCopyEmit *b, const Type *t, int64_t i, int64_t *at)
{
	for (int r = t->rank - 1; r >= 0; r--) {
		int64_t extent = box_extent(b, r), n = t->shape[r] / extent;

		at[r] = i % n * extent;
		i /= n;
	}
}

/* Emits the i-th box that a block copies; if all blocks of a cluster receive the tile, each copies the same
 * number of consecutive boxes. */
static void
box_of_block(Codegen *g, const TmaCopyEmit *b, const Type *t, int64_t i, int64_t each)
{
	int64_t at[DIM_MAX] = { 0 };
	LV smem, start[MAP_RANK_MAX];

	box_index(b, t, i, at);
	box_place(g, b, at, &smem, start);
	for (int k = 1; k < b->blocks; k++) {
		LV other, place[MAP_RANK_MAX];
		LV mine = LLVMBuildICmp(g->b, LLVMIntEQ, b->rank, const_i32(g, k), "");

		box_index(b, t, k * each + i, at);
		box_place(g, b, at, &other, place);
		smem = LLVMBuildSelect(g->b, mine, other, smem, "");
		for (int d = 0; d < b->map->rank; d++)
			start[d] = LLVMBuildSelect(g->b, mine, place[d], start[d], "");
	}
	one_box(g, b, smem, start);
}

void
copy_box(Codegen *g, Op *o)
{
	bool out = IMM(o, async) == COPY_OUT;
	Val *mem = out ? copy_dest(o) : copy_source(o), *part = out ? copy_source(o) : copy_dest(o);
	int number = op_access(o)->tensor_map - 1;
	TmaCopyEmit b = { .o = o, .view = mem->def };
	int64_t count = 1;

	BUG_IF(g->a, number < 0 || number >= g->k->nmap || g->guard);
	b.blocks = IMM(o, multicast) ? g->k->cluster[IMM(o, multicast) - 1] : 1;
	BUG_IF(g->a, b.blocks > 1 && b.blocks != cluster_blocks(g->k));
	b.rank = b.blocks > 1 ? read_sreg(g, "cluster.ctarank") : NULL;
	b.map = &g->k->map[number];
	gen_flush(g, NULL);
	boxes_dims(g, &b, mem);
	b.engine = map_address(g, number);
	b.mbar = out ? NULL : mbar_address(g, copy_mbarrier(o), copy_slot(o));
	b.tile = access_new(g, NULL, part);
	for (int r = 0; r < mem->type.rank; r++) {
		BUG_IF(g->a, mem->type.shape[r] % box_extent(&b, r));
		count *= mem->type.shape[r] / box_extent(&b, r);
	}
	BUG_IF(g->a, count % b.blocks);
	for (int64_t i = 0; i < count / b.blocks; i++)
		box_of_block(g, &b, &mem->type, i, count / b.blocks);
}
