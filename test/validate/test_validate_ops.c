/* test_validate_ops.c - tests that the independent validator rejects solutions with one corrupted decision,
 * for the ops other than dots (test_validate.c): scans, index tiles, atomic updates, slices of register
 * tiles, butterflies, sparse tiles, pinned layouts, matrix stores. SAY=1 prints its messages. */
#include "infer/core/instr.h"
#include "test/check.h"
#include "test/infer/util_infer.h"
#include "test/util_layout.h"
#include <string.h>

static Inferred x;

/* ---- programs ------------------------------------------------------------------------------------------ */

#define HEAD(params, warps)                                    \
	"kernel p(" params ")\n    const WARPS = " warps "\n" \
	"    assume N % 64 == 0, M % 16 == 0\n{\n"

// clang-format off
static const char scan[] =
	HEAD("X: f32[M, N], Y: out f32[M, N]", "2")
	"    grid(ceil(M, 8));\n    let m = block.x * 8;\n"
	"    Y[m :+ 8, 0 :+ 64] = cumsum(X[m :+ 8, 0 :+ 64], 1);\n}\n";

static const char gather[] =
	HEAD("X: f16[K, N], L: i32[M], Y: out f16[K, N]", "2")
	"    grid(ceil(M, 32));\n    let m = block.x * 32;\n    let rows: register = L[m :+ 32];\n"
	"    let x: register = X[rows, 0 :+ 64];\n    Y[rows, 0 :+ 64] = x + 1;\n}\n";

static const char table[] =
	HEAD("T: f32[N], I: i32[M, N], Y: out f32[M, N]", "2")
	"    grid(ceil(M, 16));\n    let m = block.x * 16;\n    let t: register = T[0 :+ 32] * 2;\n"
	"    let i: register = I[m :+ 16, 0 :+ 64];\n    Y[m :+ 16, 0 :+ 64] = t[i];\n}\n";

static const char row_tables[] =
	HEAD("X: f32[M, N], P: i32[M, N], Y: out f32[M, N]", "2")
	"    grid(ceil(M, 16));\n    let m = block.x * 16;\n    let t: register = X[m :+ 16, 0 :+ 32] * 2;\n"
	"    let p: register = P[m :+ 16, 0 :+ 32];\n"
	"    Y[m :+ 16, 0 :+ 32] = t[reshape(iota(0, 16), 16, 1), p];\n}\n";

static const char gather_copy[] =
	HEAD("X: f16[K, N], L: i32[M], Y: out f16[M, N]", "2")
	"    grid(ceil(M, 32));\n    let m = block.x * 32;\n    let rows: register = L[m :+ 32];\n"
	"    let x: shared = X[rows, 0 :+ 64];\n    Y[m :+ 32, 0 :+ 64] = x + 1;\n}\n";

static const char atomics[] =
	HEAD("X: f16[M, N], S: inout f32[M, N], H: inout f16[M, N], T: inout i32[M, N]", "2")
	"    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	"    atomic_add(S[m :+ 16, 0 :+ 64], f32(X[m :+ 16, 0 :+ 64]));\n"
	"    atomic_add(H[m :+ 16, 0 :+ 64], X[m :+ 16, 0 :+ 64]);\n"
	"    atomic_max(T[m :+ 16, 0 :+ 64], i32(X[m :+ 16, 0 :+ 64]));\n}\n";

static const char pieces[] =
	HEAD("X: f32[M, N], Y: out f32[M, N]", "2")
	"    grid(ceil(M, 16));\n    let m = block.x * 16;\n    let x: register = X[m :+ 16, 0 :+ 64];\n"
	"    Y[m :+ 16, 0 :+ 64] = concat(1, -x[:, 32 :+ 32], x[:, 0 :+ 32]);\n}\n";

static const char product[] =
	HEAD("A: f16[M, N], B: f16[M, N], C: out f32[M, M]", "1")
	"    grid(ceil(M, 16), ceil(M, 16));\n    let m = block.x * 16, n = block.y * 16;\n"
	"    let a: shared = A[m :+ 16, 0 :+ 64], b: shared = B[n :+ 16, 0 :+ 64];\n"
	"    C[m :+ 16, n :+ 16] = dot(a, b.T);\n}\n";

static const char batches[] =
	HEAD("A: f16[B, M, N], W: f16[B, M, N], C: out f32[B, M, M]", "2")
	"    grid(ceil(B, 4));\n    let b = block.x * 4;\n"
	"    let a: shared = A[b :+ 4, 0 :+ 16, 0 :+ 64], w: shared = W[b :+ 4, 0 :+ 16, 0 :+ 64];\n"
	"    C[b :+ 4, 0 :+ 16, 0 :+ 16] = dot(a, transpose(w, 0, 2, 1));\n}\n";

/* mma.sp, and what no mma.sp takes */
static const char half[] =
	HEAD("A: f16[M, N], P: u2[M, N], B: f16[M, 2 * N], C: out f32[M, M]", "1")
	"    grid(ceil(M, 16), ceil(M, 16));\n    let m = block.x * 16, n = block.y * 16;\n"
	"    let a: shared = A[m :+ 16, 0 :+ 32], p: shared = P[m :+ 16, 0 :+ 32];\n"
	"    let b: shared = B[n :+ 16, 0 :+ 64];\n"
	"    C[m :+ 16, n :+ 16] = dot(sparse(a, p), b.T);\n}\n";

/* Scales of blocks */
static const char scaled[] =
	HEAD("A: e4m3[M, N], S: e8m0[M, N / 32], T: e8m0[N / 32, M], C: out f32[M, M]", "1")
	"    grid(ceil(M, 16), ceil(M, 16));\n    let m = block.x * 16, n = block.y * 16;\n"
	"    let a: shared = A[m :+ 16, 0 :+ 32], b: shared = A[n :+ 16, 0 :+ 32];\n"
	"    let s: register = S[m :+ 16, 0 :+ 1], t: register = T[0 :+ 1, n :+ 16];\n"
	"    C[m :+ 16, n :+ 16] = dot(bf16(a) * bf16(s), bf16(b.T) * bf16(t));\n}\n";

static const char whole[] =
	HEAD("A: f16[M, N], P: u2[M, N], C: out f16[M, 2 * N]", "1")
	"    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	"    let a: register = A[m :+ 16, 0 :+ 32], p: register = P[m :+ 16, 0 :+ 32];\n"
	"    C[m :+ 16, 0 :+ 64] = sparse(a, p);\n}\n";

static const char pins[] =
	HEAD("X: f32[M, N], Y: out f32[M, N]", "1")
	"    grid(ceil(M, 8));\n    let m = block.x * 8;\n"
	"    let x: register f32[8, 32] layout \"((4,2),(8,4)):((8@lane,4@reg),(1@lane,1@reg))\" =\n"
	"        X[m :+ 8, 0 :+ 32];\n"
	"    let y: register f32[8, 32] layout \"(8,(4,8)):(4@lane,(1@lane,1@reg))\" = relayout(x) * 2;\n"
	"    let s: shared f32[8, 32] layout \"(8,32):(36,1)\" = y;\n"
	"    Y[m :+ 8, 0 :+ 32] = s + y;\n}\n";

/* every lane has all of a row, and then one element of it */
static const char chosen[] =
	"kernel p(X: f32[M], Y: out f32[M])\n    const WARPS = 1\n    assume M % 8 == 0\n{\n"
	"    grid(ceil(M, 8));\n    let m = block.x * 8;\n"
	"    let x: register f32[8] layout \"(8):(1@reg)+[32:1@lane]\" = X[m :+ 8];\n"
	"    let y: register f32[8] layout \"(8):(1@lane)+[4:8@lane]\" = relayout(x);\n"
	"    Y[m :+ 8] = y;\n}\n";

static const char stored[] =
	HEAD("A: f16[M, N], B: f16[M, N], C: out f16[M, M]", "1")
	"    grid(ceil(M, 16), ceil(M, 16));\n    let m = block.x * 16, n = block.y * 16;\n"
	"    let a: shared = A[m :+ 16, 0 :+ 64], b: shared = B[n :+ 16, 0 :+ 64];\n"
	"    let c: shared = f16(dot(a, b.T));\n    C[m :+ 16, n :+ 16] = c;\n}\n";
// clang-format on

/* ---- corruptions --------------------------------------------------------------------------------------- */

static Op *
op(OpCode code, int nth)
{
	Op *o = infer_op(&x, code, nth);

	ck_assert_ptr_nonnull(o);
	return o;
}

/* A layout of one's own, to spoil. */
static Layout *
own(Val *v)
{
	Layout *l = NEW(&x.arena, Layout);

	*l = *v->type.layout;
	v->type.layout = l;
	return l;
}

static Layout *
own_map(Op *o)
{
	Layout *l = NEW(&x.arena, Layout);

	ck_assert_ptr_nonnull(o->lowering->access.map);
	*l = *o->lowering->access.map;
	o->lowering->access.map = l;
	return l;
}

/* The iters on an axis, copies too, by stride: slowest first. */
static int
on_axis(Layout *l, Axis axis, Iter **it)
{
	int n = 0;

	for (int i = 0; i < l->n + l->nrep; i++) {
		Iter *one = i < l->n ? &l->it[i] : &l->rep[i - l->n];
		int j = n;

		if (one->axis != axis || one->stride == 0)
			continue;
		for (n++; j > 0 && it[j - 1]->stride < one->stride; j--)
			it[j] = it[j - 1];
		it[j] = one;
	}
	return n;
}

/* Lanes (or registers) are numbered the other way round: a layout as good as the one before. */
static void
renumber(Layout *l, Axis axis)
{
	Iter *it[ITER_MAX + REP_MAX];
	int64_t stride = 1;
	int n = on_axis(l, axis, it);

	ck_assert_int_ge(n, 1);
	for (int d = 0; n == 1 && d < l->ndim; d++) /* one digit: its bits change places */
		if (it[0] >= &l->it[l->first[d]] && it[0] < &l->it[l->first[d + 1]]) {
			int64_t weight = 2;

			for (const Iter *y = &l->it[l->first[d]]; y < it[0]; y++)
				weight *= y->extent;
			ck_assert(layout_split(l, d, weight));
			n = on_axis(l, axis, it);
		}
	ck_assert_int_ge(n, 2);
	for (int i = 0; i < n; i++) {
		it[i]->stride = stride;
		stride *= it[i]->extent;
	}
}

static void
shift_result(void)
{
	renumber(own(op(O_shift, 0)->out[0]), AX_lane);
}
static void
shift_across_warps(void)
{
	/* the line leaves the warp, in operand and result alike */
	static const char wide[] = "(8,(4,2)):(1@reg,(1@lane,1@warp))+[8:4@lane]";
	Op *o = op(O_shift, 0);

	*own(o->out[0]) = layout_of(wide);
	o->in[0] = op_new(o->parent, o, O_load, o->src, 1, op(O_load, 0)->in, 1, &o->out[0]->type)->out[0];
	o->in[0]->def->lowering = NEW(&x.arena, Lowering);
	o->in[0]->def->lowering->kind = LW_access;
	o->in[0]->def->lowering->access.inst = "ld_global_32";
	o->in[0]->def->lowering->access.vec = 1;
}
static void
shift_operand(void)
{
	op(O_shift, 1)->in[0]->type.layout = NULL;
}
static Val *
index_tile(Op *access, int mem)
{
	Op *view = access->in[mem]->def;

	for (int d = 0; d < view->in[0]->type.rank; d++)
		if (view_gathers(view, d))
			return view->in[1 + d];
	ck_abort_msg("no indices");
	return NULL;
}
static Op *
gathering(OpCode code, int mem)
{
	for (int i = 0; infer_op(&x, code, i); i++) {
		Op *o = infer_op(&x, code, i);

		if (o->in[mem]->def && view_gather_dim(o->in[mem]->def) >= 0)
			return o;
	}
	ck_abort_msg("no access by indices");
	return NULL;
}
static void
index_of_load(void)
{
	renumber(own(index_tile(gathering(O_load, 0), 0)), AX_lane);
}
static void
index_of_store(void)
{
	own(index_tile(gathering(O_store, 1), 1))->nrep = 0;
}
/* Operand i of o, from now on a constant, which is right in every layout. */
static Val *
filled(Op *o, int i)
{
	o->in[i] = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &o->in[i]->type)->out[0];
	return o->in[i];
}
static void
index_of_table(void)
{
	renumber(own(filled(op(O_gather, 0), 1)), AX_lane);
}
static void
table_of_other_rows(void)
{
	renumber(own(filled(op(O_gather, 0), 0)), AX_lane);
}
static void
table_in_warps(void)
{
	/* each warp has a half of it */
	*own(filled(op(O_gather, 0), 0)) = layout_of("(1,1,(16,2)):(0,0,(1@lane,1@warp))+[2:16@lane]");
}
static void
index_of_copy(void)
{
	renumber(own(index_tile(gathering(O_copy, 0), 0)), AX_lane);
}
static void
gather_wide(void)
{
	gathering(O_load, 0)->lowering->access.vec *= 2;
}
static void
copy_map_gathered(void)
{
	renumber(own_map(gathering(O_copy, 0)), AX_lane);
}
static void
red_wide(void)
{
	op(O_store, 0)->lowering->access.vec *= 2;
}
static void
red_as_store(void)
{
	op(O_store, 0)->lowering->access.inst = "st_global_32";
}
static void
red_other_way(void)
{
	op(O_store, 2)->lowering->access.inst = "red_min_i32";
}
static void
red_other_type(void)
{
	op(O_store, 1)->lowering->access.inst = "red_add_bf16x2";
}
static void
red_no_row(void)
{
	op(O_store, 0)->lowering->access.inst = "red_add_nothing";
}
static void
red_twice(void)
{
	/* lanes 16 to 31 add the elements of lanes 0 to 15 again, and are not marked as copies */
	Layout *l = own(op(O_store, 0)->in[0]);

	for (int i = 0; i < l->n; i++)
		if (l->it[i].axis == AX_warp)
			l->it[i].stride = 0;
}
static void
load_shared(void)
{
	op(O_load, 0)->lowering->access.inst = "ld_shared_128";
}
/* The tile that load n or store n touches in global memory begins one column further. */
static void
begin_odd(Op *access, int mem)
{
	Op *view = access->in[mem]->def;
	Op *one = op_new(view->parent, view, O_const, view->src, 0, NULL, 1, &view->in[2]->type);

	IMM_SET(one, value, 1);
	view->in[2] = one->out[0];
}
static void
load_misplaced(void)
{
	begin_odd(op(O_load, 0), 0);
}
static void
store_misplaced(void)
{
	begin_odd(op(O_store, 0), 1);
}
static void
copy_misplaced(void)
{
	begin_odd(op(O_copy, 0), 0);
}
static void
load_half(void) /* of what its instruction moves */
{
	op(O_load, 0)->lowering->access.vec /= 2;
}
static void
store_shared(void)
{
	op(O_store, 0)->lowering->access.inst = "st_shared_128";
}
static void
copy_by_load(void)
{
	gathering(O_copy, 0)->lowering->access.inst = "ld_global_128";
}
static void
slice_registers(void)
{
	renumber(own(op(O_slice, 0)->out[0]), AX_reg);
}
static void
slice_lanes(void)
{
	renumber(own(op(O_slice, 0)->out[0]), AX_lane);
}
static void
concat_order(void)
{
	renumber(own(op(O_concat, 0)->out[0]), AX_lane);
}
static void
concat_lost(void)
{
	op(O_concat, 0)->out[0]->type.layout = op(O_concat, 0)->in[0]->type.layout;
}
static Op *
by_matrices(void)
{
	for (int i = 0; infer_op(&x, O_store, i); i++)
		if (strncmp(infer_op(&x, O_store, i)->lowering->access.inst, "stmatrix", 8) == 0)
			return infer_op(&x, O_store, i);
	ck_abort_msg("no stmatrix");
	return NULL;
}
static void
matrices_fewer(void)
{
	by_matrices()->lowering->access.inst = "stmatrix_x2";
}
static void
matrices_turned(void)
{
	by_matrices()->lowering->access.inst = "stmatrix_x4_trans";
}
static void
matrices_rows(void)
{
	renumber(own_map(by_matrices()), AX_lane);
}
static void
matrices_by_words(void)
{
	by_matrices()->lowering->access.inst = "st_shared_128";
}
static Op *
by_shuffle(void)
{
	for (int i = 0; infer_op(&x, O_convert_layout, i); i++)
		if (infer_op(&x, O_convert_layout, i)->lowering->kind == LW_shuffle)
			return infer_op(&x, O_convert_layout, i);
	ck_abort_msg("no shuffle");
	return NULL;
}
static void
butterfly_as_select(void)
{
	by_shuffle()->lowering->kind = LW_select;
}
static void
butterfly_as_rename(void)
{
	by_shuffle()->lowering->kind = LW_rename;
}
/* What lane 0 has in register 0 as well, others have in another one. */
static void
select_as_rename(void)
{
	ck_assert_int_eq(op(O_convert_layout, 0)->lowering->kind, LW_select);
	op(O_convert_layout, 0)->lowering->kind = LW_rename;
}
static void
butterfly_result(void)
{
	own(by_shuffle()->in[0])->it[0].stride = 1; /* what comes in is laid out otherwise */
}
static void
butterfly_no_way(void)
{
	by_shuffle()->lowering->kind = LW_reduce_shuffle;
}
static void
pin_result(void)
{
	renumber(own(op(O_pin, 0)->out[0]), AX_lane);
}
static void
relayout_operand(void)
{
	op(O_relabel_layout, 0)->out[0]->type.layout = op(O_pin, 0)->out[0]->type.layout;
}
static void
pinned_row(void)
{
	Layout *l = own(op(O_alloc, 0)->out[0]);

	for (int i = 0; i < l->n; i++)
		if (l->it[i].stride == 36)
			l->it[i].stride = 20;
}
static void
store_misaligned(void)
{
	Layout *l = own(op(O_alloc, 0)->out[0]);

	for (int i = 0; i < l->n; i++)
		if (l->it[i].stride == 36)
			l->it[i].stride = 33;
}

/* Two digits of an axis change places. */
static void
exchange(Layout *l, Axis axis)
{
	Iter *it[ITER_MAX + REP_MAX];
	int n = on_axis(l, axis, it);
	int64_t stride;

	ck_assert_int_ge(n, 2);
	stride = it[0]->stride;
	it[0]->stride = it[1]->stride;
	it[1]->stride = stride;
}

/* Every lane has its part of the result in two sets of registers, and one is not the product's. */
static void
product_twice(void)
{
	Op *dot = op(O_dot, 0);
	Layout *l = own(dot->out[0]);

	ck_assert(layout_push_rep(l, 2, layout_cosize(l, AX_reg), AX_reg));
	dot->in[2]->type.layout = l;
}

/* The result of one batch is where that of another should be. */
static void
batches_crossed(void)
{
	Layout *l = own(op(O_dot, 0)->out[0]);
	Iter *it[2] = { NULL, NULL };

	for (Digit g = dim_digits(l, 0); g.it; digit_next(&g))
		it[g.it->axis == AX_warp] = &l->it[g.at];
	ck_assert(it[0] && it[1] && it[0]->extent == it[1]->extent);
	l->it[it[0] - l->it].axis = AX_warp;
	l->it[it[1] - l->it].axis = AX_reg;
	l->it[it[1] - l->it].stride = it[0]->stride;
	it[0]->stride = 1;
	op(O_dot, 0)->in[2]->type.layout = l;
}

static void
half_dense_row(void)
{
	op(O_dot, 0)->lowering->dot.inst = "mma_m16n8k16_f32_f16";
}

static void
half_other_type(void)
{
	op(O_dot, 0)->lowering->dot.inst = "mma_sp_m16n8k32_f32_bf16";
}

static void
half_swapped(void)
{
	op(O_dot, 0)->lowering->dot.swap = true;
}

static void
half_order(void)
{
	Layout *l = NEW(&x.arena, Layout);

	layout_init(l, 1);
	layout_push(l, 0, 64, 1, AX_mem);
	op(O_dot, 0)->lowering->dot.k = l;
}

static void
positions_as(const char *text)
{
	*own(op(O_dot, 0)->in[3]) = layout_of(text);
}

/* Lanes 1 and 2 of each group have the columns of the other. */
static void
positions_lanes(void)
{
	positions_as("((8,2),(8,2,2)):((4@lane,8@reg),(1@reg,2@lane,1@lane))");
}

/* A lane has neighbouring rows, not g and g + 8. */
static void
positions_rows(void)
{
	positions_as("((2,8),(8,4)):((8@reg,4@lane),(1@reg,1@lane))");
}

static void
scales_as(int i, const char *text)
{
	*own(op(O_dot, 0)->in[3 + i]) = layout_of(text);
}

/* Of A rows 1 and 2 of each four where the other belongs. */
static void
scales_lanes(void)
{
	scales_as(0, "((2,2,2,2),1):((8@lane,4@lane,16@lane,1@lane),0)+[2:2@lane]");
}

/* Of A a lane has rows g and g + 8, and its neighbour the same. */
static void
scales_rows(void)
{
	scales_as(0, "((8,2),1):((4@lane,1@reg),0)+[4:1@lane]");
}

/* Of B rows and columns of four lanes change places. */
static void
scales_columns(void)
{
	scales_as(1, "(1,(4,2,2)):(0,(1@lane,4@lane,1@reg))+[4:8@lane]");
}

static void
scales_dense_row(void)
{
	op(O_dot, 0)->lowering->dot.inst = "mma_m16n8k32_f32_e4m3";
}

static void
scales_other_row(void)
{
	op(O_dot, 0)->lowering->dot.inst = "mma_scaled_m16n8k32_e5m2";
}

static void
positions_b(void)
{
	exchange(own(op(O_dot, 0)->in[1]), AX_lane);
}

static void
expand_values(void)
{
	renumber(own(op(O_sparse_expand, 0)->in[0]), AX_lane);
}

static void
expand_positions(void)
{
	renumber(own(op(O_sparse_expand, 0)->in[1]), AX_lane);
}

static void
expand_whole(void)
{
	renumber(own(op(O_sparse_expand, 0)->out[0]), AX_lane);
}

static const struct {
	const char *name, *source;
	int candidate;
	void (*corrupt)(void);
	const char *says; /* the check that is meant */
} cases[] = {
#define C(source, candidate, fn, says) { #fn, source, candidate, fn, says }
	C(table, 0, index_of_table, "the index is not owned by the thread that owns its result"),
	C(row_tables, 0, table_of_other_rows, "is not in the lane that the gather reads it from"),
	C(table, 0, table_in_warps, "is not in the lane that the gather reads it from"),
	C(scan, 0, shift_result, "operand and result have different layouts"),
	C(scan, 0, shift_across_warps, "(0,3) is in no lane of the warp"),
	C(scan, 0, shift_operand, "reg f32[8, 8] has no layout"),
	C(gather, 0, index_of_load, "one operand has (0) here, the other has (1)"),
	C(gather, 0, index_of_store, "no element is here"),
	C(gather, 0, gather_wide, "ld_global_128 moves 128 bits, not 16 elements of 16"),
	C(gather_copy, 0, index_of_copy, "one operand has (0) here, the other has (1)"),
	C(gather_copy, 0, copy_map_gathered, "index 1 is not in the register that the access to (1,0) "
	                                     "reads it from"),
	C(atomics, 0, red_wide, "red_add_f32 moves 32 bits, not 2 elements of 32"),
	C(atomics, 0, red_as_store, "st_global_32 performs a different operation"),
	C(atomics, 0, red_other_way, "red_min_i32 has a different update operation or type"),
	C(atomics, 0, red_other_type, "red_add_bf16x2 has a different update operation or type"),
	C(atomics, 0, red_no_row, "no instruction was chosen"),
	C(atomics, 0, red_twice, "both (0,0) and (0,32) are here"),
	C(pieces, 0, load_shared, "ld_shared_128 performs a different operation"),
	C(pieces, 0, store_shared, "st_shared_128 performs a different operation"),
	C(pieces, 0, load_half, "ld_global_128 moves 128 bits, not 2 elements of 32"),
	C(pieces, 0, load_misplaced, "the tile is not known to start at a multiple of the 4 elements per "
	                             "access"),
	C(pieces, 0, store_misplaced, "the tile is not known to start at a multiple of the 4 elements per "
	                              "access"),
	C(product, 0, copy_misplaced, "the tile is not known to start at a multiple of the 8 elements per "
	                              "access"),
	C(gather_copy, 0, copy_by_load, "ld_global_128 performs a different operation"),
	C(pieces, 0, slice_lanes, "the operand's (1,32) is not held by the thread"),
	C(pieces, 0, slice_registers, "one operand has (8,0) here, the other has (0,1)"),
	C(pieces, 0, concat_order, "the operand's (1,0) is not held by the thread"),
	C(pieces, 0, concat_lost, "is not one of reg f32[16, 64]"),
	C(stored, 0, matrices_fewer, "stmatrix_x2 accesses this register 0 times; expected once"),
	C(stored, 0, matrices_turned, "stmatrix_x4_trans accesses (1,0); expected (0,1) by the layout"),
	C(stored, 0, matrices_rows, "stmatrix_x4 accesses (0,8); expected (1,0) by the layout"),
	C(stored, 0, matrices_by_words, "an access of 8 elements covers (0,0) and (8,0), which are not "
	                                "contiguous in memory"),
	C(product, 1, butterfly_as_select, "a select conversion cannot move (0,8) here"),
	C(product, 1, butterfly_as_rename, "a rename conversion cannot move (0,8) here"),
	C(chosen, 0, select_as_rename, "lane 1 of warp 0, register 0: a rename conversion cannot move (1) "
	                               "here"),
	C(product, 1, butterfly_result, "both (0,2) and (1,0) are here"),
	C(product, 1, butterfly_no_way, "no lowering was chosen"),
	C(batches, 0, batches_crossed, "the product of A of batch 2 and B of batch 2 is added to C of "
	                               "batch 1"),
	C(product, 0, product_twice, "this fragment of the result is computed 2 times; expected once"),
	C(half, 0, half_dense_row, "mma_m16n8k16_f32_f16 does not support these operands"),
	C(half, 0, half_other_type, "mma_sp_m16n8k32_f32_bf16 does not support these types on"),
	C(half, 0, half_swapped, "mma_sp_m16n8k32_f32_f16 does not support these operands"),
	C(half, 0, half_order, "sparse metadata requires the default order"),
	C(half, 0, positions_lanes, "mma_sp_m16n8k32_f32_f16 reads the position (0,8) here"),
	C(half, 0, positions_rows, "mma_sp_m16n8k32_f32_f16 reads the position (8,0) here"),
	C(half, 0, positions_b, "both (0,4) and (2,0) are here"),
	C(scaled, 0, scales_lanes, "mma_scaled_m16n8k32_e4m3 reads the scale (1,0) here"),
	C(scaled, 0, scales_rows, "mma_scaled_m16n8k32_e4m3 reads the scale (8,0) here"),
	C(scaled, 0, scales_columns, "mma_scaled_m16n8k32_e4m3 reads the scale (0,1) here"),
	C(scaled, 0, scales_dense_row, "mma_m16n8k32_f32_e4m3 does not support these operands"),
	C(scaled, 0, scales_other_row, "mma_scaled_m16n8k32_e5m2 does not support these types on"),
	C(whole, 0, expand_values, "value (0,4) is not held by the thread"),
	C(whole, 0, expand_positions, "position (0,4) is not held by the thread"),
	C(whole, 0, expand_whole, "value (1,0) is not held by the thread"),
	C(pins, 0, pin_result, "one operand has (0,1) here, the other has (1,0)"),
	C(pins, 0, relayout_operand, "one operand has (0,4) here, the other has (0,8)"),
	C(pins, 0, pinned_row, "element (1,0) shares its address with another"),
	C(pins, 0, store_misaligned, "an access of 4 elements covers (1,0) and (1,0), which are not "
	                             "contiguous in memory"),
#undef C
};

TEST_EACH(rejects, COUNT_OF(cases))
{
	const char *source = cases[_i].source;
	const char *arch = source == stored ? "sm_90a" : source == scaled ? "sm_120a" : "sm_80";

	infer_source(&x, source, arch, cases[_i].candidate, false);
	ck_assert_msg(infer_violations(&x) == 0, "%s: not clean before: %s", cases[_i].name,
	              x.diag.n ? x.diag.msg[0].text : "");
	cases[_i].corrupt();
	ck_assert_msg(infer_violations(&x) == 1, "%s: not noticed", cases[_i].name);
	ck_assert_int_eq(x.diag.msg[x.diag.n - 1].cls, DC_INTERNAL);
	ck_assert_ptr_nonnull(strstr(x.diag.msg[x.diag.n - 1].text, "internal: "));
	ck_assert_msg(strstr(x.diag.msg[x.diag.n - 1].text, cases[_i].says), "%s: %s", cases[_i].name,
	              x.diag.msg[x.diag.n - 1].text);
	infer_free(&x);
}

/* Two elements in one register are told as what they are, not as what is missing elsewhere. */
TEST(collision)
{
	infer_source(&x, atomics, "sm_80", 0, false);
	red_twice();
	ck_assert_int_eq(infer_violations(&x), 1);
	ck_assert_ptr_nonnull(strstr(x.diag.msg[x.diag.n - 1].text, "both (0,0) and ("));
	infer_free(&x);
}

/* A slice that begins at no multiple of its length. */
TEST(slice_begins_anywhere)
{
	static const char source[] =
		HEAD("X: f32[M, N], Y: out f32[M, N]", "2")
		"    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
		"    let x: register = X[m :+ 16, 0 :+ 64];\n    Y[m :+ 16, 0 :+ 16] = x[:, 8 :+ 16];\n}\n";

	infer_source(&x, source, "sm_80", 0, false);
	ck_assert_int_eq(infer_violations(&x), 0);
	infer_free(&x);
}

/* Lines of 8 rows for 2 warps: one way has each warp's 4 rows in lanes. */
TEST(lines_beside_each_other)
{
	bool found = false;

	infer_source(&x, scan, "sm_80", 0, false);
	for (int i = 0, n = infer_ncand(x.cands); i < n; i++) {
		const Layout *l;

		infer_free(&x);
		infer_source(&x, scan, "sm_80", i, false);
		l = op(O_shift, 0)->out[0]->type.layout;
		found = found ||
		        (layout_extent_on(l, 0, AX_lane) == 4 && layout_extent_on(l, 0, AX_warp) == 2);
	}
	ck_assert(found);
	infer_free(&x);
}

/* A pinned swizzle moves runs of 4: no access to the tile is wider. */
TEST(pinned_swizzle)
{
	static const char source[] =
		HEAD("X: f16[M, N], Y: out f16[M, N]", "1")
		"    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
		"    let s: shared f16[16, 64] layout \"Sw<2,2,4> o (16,64):(64,1)\" = X[m :+ 16, 0 :+ 64];\n"
		"    Y[m :+ 16, 0 :+ 64] = s + 1;\n}\n";
	Op *copy;

	infer_source(&x, source, "sm_80", 0, false);
	ck_assert_int_eq(infer_violations(&x), 0);
	copy = infer_op(&x, O_copy, 0);
	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(copy->lowering->access.vec, 4);
	infer_free(&x);
}

TEST_PROGRAM(.timeout = 60);
