/* test_validate.c - tests that the independent validator accepts the inferred solutions of real programs and
 * rejects the same solutions once any one decision is corrupted. */
#include "hexc/ir/pack.h"
#include "hexc/pass/pass.h"
#include "infer/core/solution.h"
#include "infer/core/instr.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_file.h"
#include "test/util_arena.h"

static Op *
find(Kernel *k, OpCode code, Space memory, int nth)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		Val *mem = code == O_load ? o->in[0] : code == O_store || code == O_copy ? o->in[1]
		                                                                         : NULL;
		if (o->code != code || (mem && mem->type.space != memory) ||
		    (o->nout && o->out[0]->type.space == S_scalar))
			continue;
		if (nth-- == 0)
			return o;
	}
	ck_abort_msg("no such op");
	return NULL;
}

static Layout *
copy_layout(const Layout *l)
{
	Layout *c = NEW(&arena, Layout);

	*c = *l;
	return c;
}

/* ---- corruptions: each changes one decision --------------------------------------------------------- */

static Layout *
change(Val *v)
{
	Layout *l = copy_layout(v->type.layout);

	v->type.layout = l;
	return l;
}

static void
swap_strides(Layout *l, Axis axis)
{
	int first = -1;

	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == axis && first < 0) {
			first = i;
		} else if (l->it[i].axis == axis && l->it[i].extent == l->it[first].extent) {
			int64_t s = l->it[i].stride;
			l->it[i].stride = l->it[first].stride;
			l->it[first].stride = s;
			return;
		}
	ck_abort_msg("nothing to swap");
}

static void
acc_regs(Kernel *k)
{
	swap_strides(change(find(k, O_dot, 0, 0)->out[0]), AX_reg);
}
static void
a_regs(Kernel *k)
{
	swap_strides(change(find(k, O_load, S_shared, 0)->out[0]), AX_reg);
}
static void
b_regs(Kernel *k)
{
	swap_strides(change(find(k, O_dot, 0, 0)->in[1]), AX_reg);
}
static void
a_lane(Kernel *k)
{
	change(find(k, O_dot, 0, 0)->in[0])->it[0].stride = 1;
}
static void
acc_warp(Kernel *k)
{
	Layout *l = change(find(k, O_dot, 0, 0)->out[0]);
	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_warp)
			l->it[i].stride *= 2;
}
static void
lost_replica(Kernel *k)
{
	change(find(k, O_dot, 0, 0)->in[0])->nrep = 0;
}
static void
extent(Kernel *k)
{
	change(find(k, O_dot, 0, 0)->in[0])->it[0].extent = 4;
}
static void
no_layout(Kernel *k)
{
	find(k, O_dot, 0, 0)->in[0]->type.layout = NULL;
}
static void
other_mma(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.inst = "mma_m16n8k16_f32_bf16";
}
static void
no_mma(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.inst = "nosuch";
}
static void
fma_instead(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.inst = "fma";
}
static Layout *change_map(Op *o);
static void
k_wrong(Kernel *k)
{
	swap_strides(change_map(find(k, O_dot, 0, 0)), AX_mem);
}
static void
k_short(Kernel *k)
{
	change_map(find(k, O_dot, 0, 0))->it[0].extent /= 2;
}
static void
k_none(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.k = NULL;
}
static void
not_turned(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.swap = false;
}
static void
turned(Kernel *k)
{
	find(k, O_dot, 0, 0)->lowering->dot.swap = true;
}
static void
matrix_x2(Kernel *k)
{
	find(k, O_load, S_shared, 0)->lowering->access.inst = "ldmatrix_x2";
}
static void
matrix_trans(Kernel *k)
{
	find(k, O_load, S_shared, 0)->lowering->access.inst = "ldmatrix_x4_trans";
}
static Layout *
change_map(Op *o)
{
	const Layout **map = o->code == O_dot ? &o->lowering->dot.k : &o->lowering->access.map;
	Layout *l = copy_layout(*map);

	*map = l;
	return l;
}
static void
matrix_rows(Kernel *k)
{
	Layout *l = change_map(find(k, O_load, S_shared, 0));
	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_lane && l->it[i].stride == 8)
			l->it[i].stride = 4;
}
static void
no_map(Kernel *k)
{
	find(k, O_load, S_shared, 0)->lowering->access.map = NULL;
}
static void
copy_narrow(Kernel *k)
{
	find(k, O_copy, S_shared, 0)->lowering->access.inst = "cp_async_8";
}
static void
copy_wide(Kernel *k)
{
	find(k, O_copy, S_shared, 0)->lowering->access.vec = 16;
}
static void
copy_twice(Kernel *k)
{
	Layout *l = change_map(find(k, O_copy, S_shared, 0));
	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_warp)
			l->it[i].axis = AX_reg;
}
static void
copy_repeated(Kernel *k) /* each lane copies all of its elements again */
{
	Layout *l = change_map(find(k, O_copy, S_shared, 0));

	ck_assert(layout_push_rep(l, 2, layout_cosize(l, AX_reg), AX_reg));
}
static void
copy_no_map(Kernel *k)
{
	find(k, O_copy, S_shared, 0)->lowering->access.map = NULL;
}
static void
tile_overlap(Kernel *k)
{
	change(find(k, O_alloc, 0, 0)->out[0])->it[1].stride = 8;
}
static void
tile_columns(Kernel *k)
{
	Layout *l = change(find(k, O_alloc, 0, 0)->out[0]);
	l->it[l->n - 1].stride = l->it[l->n - 2].extent;
	l->it[l->n - 2].stride = 1;
}
static void
swizzle_fine(Kernel *k)
{
	change(find(k, O_alloc, 0, 0)->out[0])->swizzle.base = 2;
}
static void
other_shape(Kernel *k) /* of a shared tile: its rows change places */
{
	Layout *l = change(find(k, O_reshape, 0, 0)->out[0]);

	for (int i = 0; i < l->n; i++)
		if (l->it[i].stride > 64)
			l->it[i].stride ^= 64;
}
static void
store_wide(Kernel *k)
{
	find(k, O_store, S_global, 0)->lowering->access.vec *= 2;
}
/* What the longer view of the store is of ends within an access. */
static void
ends_within(Kernel *k)
{
	find(k, O_store, S_global, 0)->in[1]->def->in[0]->type.shape[1]--;
}
static void
store_inst(Kernel *k)
{
	find(k, O_store, S_global, 0)->lowering->access.inst = "st_global_8";
}
static void
double_lane(Layout *l)
{
	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_lane) {
			l->it[i].stride *= 2;
			return;
		}
}
static void
store_lanes(Kernel *k)
{
	double_lane(change(find(k, O_store, S_global, 0)->in[0]));
}
static void
stage_small(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering->staged.bytes /= 2;
}
static void
stage_vec(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering->staged.write.vec *= 2;
}
static void
stage_none(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering->staged.tile = NULL;
}
static void
as_rename(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering->kind = LW_rename;
}
static void
as_shuffle(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering->kind = LW_shuffle;
}
static void
no_way(Kernel *k)
{
	find(k, O_convert_layout, 0, 0)->lowering = NULL;
}
static void
reduce_in(Kernel *k)
{
	double_lane(change(find(k, O_reduce_sum, 0, 0)->in[0]));
}
static void
reduce_out(Kernel *k)
{
	Layout *l = change(find(k, O_reduce_sum, 0, 0)->out[0]);
	l->nrep = 0;
}
/* A reduction along warps and some of the lanes: who writes and who reads which part, and where it is. */
static Op *
over_warps(Kernel *k)
{
	return find(k, O_reduce_sum, 0, 1);
}
static Layout *
part_map(const Layout **map)
{
	Layout *l = copy_layout(*map);

	*map = l;
	return l;
}
static void
parts_written_twice(Kernel *k)
{
	part_map(&over_warps(k)->lowering->staged.write.map)->nrep = 0;
}
static void
parts_other_rows(Kernel *k)
{
	swap_strides(part_map(&over_warps(k)->lowering->staged.write.map), AX_lane);
}
static void
parts_read_elsewhere(Kernel *k)
{
	swap_strides(part_map(&over_warps(k)->lowering->staged.read.map), AX_lane);
}
/* What reads all parts of a result, now in each warp or lane group of it, reads one. */
static void
deal_parts(Kernel *k, Axis axis)
{
	Op *o = over_warps(k);
	Layout *l = part_map(&o->lowering->staged.read.map);
	int dim = (int)IMM(o, dim), at = -1;
	int64_t warps = layout_extent_on(o->in[0]->type.layout, dim, AX_warp);
	Iter *parts = &l->it[l->first[dim]];

	for (int i = 0; i < l->nrep; i++)
		if (l->rep[i].axis == axis && l->rep[i].extent == warps)
			at = i;
	ck_assert_int_ge(at, 0);
	ck_assert(parts->axis == AX_reg && parts->extent == warps);
	parts->axis = axis;
	parts->stride = l->rep[at].stride;
	l->rep[at] = l->rep[--l->nrep];
}
static void
parts_dealt_to_lanes(Kernel *k)
{
	deal_parts(k, AX_lane);
}
static void
parts_dealt_to_warps(Kernel *k)
{
	deal_parts(k, AX_warp);
}
static void
parts_overlap(Kernel *k)
{
	Layout *l = part_map(&over_warps(k)->lowering->staged.tile);

	l->it[0].stride = l->it[1].stride;
}
static void
parts_small(Kernel *k)
{
	over_warps(k)->lowering->staged.bytes /= 2;
}
static void
parts_by_shuffle(Kernel *k)
{
	over_warps(k)->lowering->kind = LW_reduce_shuffle;
}
static void
elementwise(Kernel *k)
{
	Layout *l = change(find(k, O_cast, 0, 0)->out[0]);
	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_warp) {
			l->it[i].axis = AX_reg;
			l->it[i].stride = 1 << 8;
			return;
		}
}

/* Of the packed tensor: W is parameter 1. */
static Pack *
other_pack(Kernel *k)
{
	Pack *p = NEW(&arena, Pack);

	*p = *k->param[1].pack;
	k->param[1].pack = p;
	return p;
}
static void
pack_place_turned(Kernel *k)
{
	Pack *p = other_pack(k);
	Layout *l = copy_layout(p->layout);
	int64_t stride = l->it[0].stride;

	l->it[0].stride = l->it[l->n - 1].stride;
	l->it[l->n - 1].stride = stride;
	p->layout = l;
}
static void
pack_bit_order(Kernel *k)
{
	other_pack(k)->bit_order = 8;
}
static void
pack_streams(Kernel *k)
{
	other_pack(k)->streams = 2;
}
static void
unpacked_regs(Kernel *k)
{
	Layout *l = change(find(k, O_unpack, 0, 0)->out[0]);

	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_reg)
			l->it[i].stride = l->it[i].stride == 1 ? 2 : l->it[i].stride == 2 ? 1
			                                                                  : l->it[i].stride;
}
static void
words_lane(Kernel *k)
{
	double_lane(change(find(k, O_unpack, 0, 0)->in[0]));
}

#define PACKED "examples/gemm_wNa16.hexc"
#define GEMM "examples/gemm_f16.hexc"
#define NORM "examples/layer_norm.hexc"
#define SHAPES "test/infer/programs/shared_shapes.hexc"
#define PINNED "test/infer/reductions/pinned.hexc"
#define ODD "test/infer/programs/odd_tile.hexc"
#define SKINNY "test/infer/programs/skinny_w4.hexc"
static const struct {
	const char *path;
	Corruption change;
} cases[] = {
// clang-format off
#define C(path, fn, says) { path, { #fn, fn, says } }
	C(ODD, ends_within, "an access of 2 elements covers (0,10) and (0,11), which are not contiguous in "
	                    "memory"),
	C(GEMM, acc_regs, "one operand has (8,0) here, the other has (0,1)"),
	C(GEMM, a_regs, "ldmatrix_x4 accesses (0,1); expected (8,0) by the layout"),
	C(GEMM, b_regs, "element 1 of the fragment is not packed"),
	C(GEMM, a_lane, "both (0,2) and (1,0) are here"),
	C(GEMM, acc_warp, "is at lane 0 of warp 4, register 0, which is out of range"),
	C(GEMM, lost_replica, "lane 0 of warp 2, register 0: no element is here"),
	C(GEMM, extent, "is not one of reg f16[128, 32]"),
	C(GEMM, no_layout, "has no layout"),
	C(SKINNY, k_wrong, "element 1 of the fragment is not packed"),
	C(SKINNY, k_short, "the permutation of k is not over 128 indices"),
	C(SKINNY, k_none, "operand 0 has (0,32) where"),
	C(SKINNY, not_turned, "operand 2 has (2,0) where"),
	C(GEMM, turned, "operand 2 has (0,2) where"),
	C(GEMM, other_mma, "does not support these types on sm_80"),
	C(GEMM, no_mma, "no instruction was chosen"),
	C(GEMM, fma_instead, "k = 0 of (0,2) is not held by the thread"),
	C(GEMM, matrix_x2, "ldmatrix_x2 accesses this register 0 times; expected once"),
	C(GEMM, matrix_trans, "ldmatrix_x4_trans accesses (1,0); expected (0,1) by the layout"),
	C(GEMM, matrix_rows, "both (4,0) and (8,0) are here"),
	C(GEMM, no_map, "no mapping from lanes to row addresses"),
	C(GEMM, copy_narrow, "cp_async_8 moves 64 bits, not 8 elements"),
	C(GEMM, copy_wide, "cp_async_16 moves 128 bits, not 16 elements"),
	C(GEMM, copy_twice, "both (0,1) and (8,0) are here"),
	C(GEMM, copy_repeated, "element (0,0) is written 2 times"),
	C(GEMM, copy_no_map, "the copy has no task mapping"),
	C(GEMM, tile_overlap, "element (0,1,0) shares its address"),
	C(GEMM, tile_columns, "elements covers (0,0) and (0,1), which are not contiguous in memory"),
	C(GEMM, swizzle_fine, "elements covers (1,0) and (1,0), which are not contiguous in memory"),
	C(GEMM, store_wide, "st_global_128 moves 128 bits, not 16 elements"),
	C(GEMM, store_inst, "st_global_8 moves 8 bits, not 8 elements"),
	C(GEMM, store_lanes, "is at lane 32 of warp 0, register 0, which is out of range"),
	C(GEMM, stage_small, "at 8192, outside the tile's memory"),
	C(GEMM, stage_vec, "elements covers (0,0) and (8,0), which are not contiguous in memory"),
	C(GEMM, stage_none, "no staging tile"),
	C(GEMM, as_rename, "a rename conversion cannot move (0,8) here"),
	C(GEMM, as_shuffle, "a shuffle conversion cannot move (0,64) here"),
	C(GEMM, no_way, "no lowering was chosen"),
	C(GEMM, elementwise, "lane 0 of warp 0, register 128: no element is here"),
	C(PACKED, pack_place_turned, "the tensor has no pack, or its order differs from the tile's"),
	C(PACKED, pack_bit_order, "the tensor has no pack, or its order differs from the tile's"),
	C(PACKED, pack_streams, "is bit 0 of word (0,0,8); expected word (0,0,4)"),
	C(PACKED, unpacked_regs, "is bit 4 of word (0,0,0); expected word (0,0,0)"),
	C(PACKED, words_lane, "both (0,0,8) and (0,0,16) are here"),
	C(SHAPES, other_shape, "is not where element (16,0) of the tile is"),
	C(NORM, reduce_in, "is at lane 32 of warp 0, register 0, which is out of range"),
	C(NORM, reduce_out, "lane 1 of warp 0, register 0: no element is here"),
	C(PINNED, parts_written_twice, "4 elements covers nothing and nothing"),
	C(PINNED, parts_other_rows, "writes partial sum (0,2), but its register belongs to result (0,1)"),
	C(PINNED, parts_read_elsewhere, "reads partial sum (0,2), but its register belongs to result (0,1)"),
	C(PINNED, parts_dealt_to_lanes, "of 4 partial sums are read"),
	C(PINNED, parts_dealt_to_warps, "of 4 partial sums are read"),
	C(PINNED, parts_overlap, "element (1,0) shares its address"),
	C(PINNED, parts_small, "at 128, outside the tile's memory"),
	C(PINNED, parts_by_shuffle, "term 1 of result (0,0) is included 0 times; expected once"),
#undef C
	// clang-format on
};

TEST_EACH(rejects, COUNT_OF(cases))
{
	Kernel *k = infer_solved(&arena, file_read(cases[_i].path, NULL), "sm_80", 0)->k;

	ck_assert_int_eq(prove_rejects(k, pass_validate, &cases[_i].change), 1);
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
