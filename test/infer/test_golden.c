/* test_golden.c - tests inference against published results: the shared layouts and instructions of an f16
 * GEMM (128 x 128 x 32, four warps), the staging of an accumulator, the reduction of one. In C: layouts
 * are compared, not their text. */
#include "infer/core/sm_throughput.h"
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search_single.h"
#include "infer/search.h"
#include "test/infer/util_infer.h"
#include "test/util_arena.h"
#include "test/util_layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Candidates *
inferred(const char *source)
{
	return infer_solved(&arena, source, "sm_80", 0);
}

/* A and B contiguous along k (`a`, `b` as the program names their tiles), or A along m. */
static const char *
gemm(bool k_major)
{
	return arena_printf(&arena,
	                    "kernel gemm(A: f16[%s], B: f16[N, K], C: out f32[M, N])\n"
	                    "    assume K %% 32 == 0, M %% 8 == 0\n    const WARPS = 4\n{\n"
	                    "    grid(ceil(M, 128), ceil(N, 128));\n"
	                    "    let m = block.x * 128, n = block.y * 128;\n"
	                    "    var acc: register f32[128, 128] = 0;\n"
	                    "    pipeline k in 0..K step 32 stages 3 {\n"
	                    "        let a: shared = A[%s];\n        let b: shared = B[n :+ 128, k :+ 32];\n"
	                    "        acc += dot(a%s, b.T);\n    }\n"
	                    "    C[m :+ 128, n :+ 128] = acc;\n}\n",
	                    k_major ? "M, K" : "K, M", k_major ? "m :+ 128, k :+ 32" : "k :+ 32, m :+ 128",
	                    k_major ? "" : ".T");
}

/* A pipelined product with plain operands: what is copied how, and how its tiles are laid out. */
TEST(pipeline)
{
	const Candidates *c = inferred(gemm(true));
	Kernel *k = c->k;
	int load = 0, copy = 0, dot = 0, tile = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_load) { /* 64 x 32 a warp: 4 instances for every 16 of k */
			ck_assert_str_eq(o->lowering->access.inst, "ldmatrix_x4");
			ck_assert_int_eq(
				layout_cosize(o->lowering->access.map, AX_reg) / o->lowering->access.vec, 8);
			load++;
		} else if (o->code == O_copy) {
			ck_assert_str_eq(o->lowering->access.inst, "cp_async_16");
			copy++;
		} else if (o->code == O_dot) {
			ck_assert_str_eq(o->lowering->access.inst, "mma_m16n8k16_f32_f16");
			ck_assert_int_eq(layout_cosize(o->out[0]->type.layout, AX_reg), 128);
			ck_assert_int_eq(layout_cosize(o->out[0]->type.layout, AX_warp), 4);
			dot++;
		} else if (o->code == O_alloc) { /* stages of 128 rows of 32, (128,32,ST):(32,1,4096) */
			const Layout *l = o->out[0]->type.layout;
			int64_t stage[3] = { 1, 0, 0 }, row[3] = { 0, 1, 0 }, col[3] = { 0, 0, 1 };
			Layout plain = *l;

			plain.swizzle = (Swizzle){ 0, 0, 0 };
			ck_assert_int_eq(layout_at(&plain, stage).at[AX_mem], 4096);
			ck_assert_int_eq(layout_at(&plain, row).at[AX_mem], 32);
			ck_assert_int_eq(layout_at(&plain, col).at[AX_mem], 1);
			ck_assert(l->swizzle.bits == 2 && l->swizzle.base == 3 && l->swizzle.shift == 3);
			tile++;
		}
	}
	ck_assert(load >= 2 && copy >= 2 && dot >= 1 && tile == 2);
	ck_assert_ptr_nonnull(strstr(infer_describe(c, 0), "warps 2x2"));
}

/* Test 12: transposing ldmatrix wants the other dim contiguous than 16-byte copies of k-major data give. */
TEST(transposed)
{
	for (int k_major = 0; k_major < 2; k_major++) {
		const Candidates *c = inferred(gemm(k_major));

		for (int i = 0; i < infer_ncand(c); i++) {
			const char *what = infer_describe(c, i);
			ck_assert(strstr(what, "; b ldmatrix_x4"));
			ck_assert((strstr(what, "; a ldmatrix_x4_trans") != NULL) == !k_major);
			ck_assert(!strstr(what, "; b ldmatrix_x4_trans"));
		}
	}
}

/* A tile that its readers want across memory is loaded along it and turned while it is narrow; a reader that
 * wants it as it was loaded gets that. */
TEST(turned)
{
	Kernel *k = inferred("kernel turned(X: u8[M, N], Y: out f32[N, M], Z: out u8[M, N])\n"
	                     "    assume N % 16 == 0, M % 16 == 0\n{\n    grid(ceil(M, 64), ceil(N, 64));\n"
	                     "    let m = block.x * 64, n = block.y * 64;\n"
	                     "    let x: register = X[m :+ 64, n :+ 64];\n"
	                     "    Z[m :+ 64, n :+ 64] = x;\n    Y[n :+ 64, m :+ 64] = f32(x).T;\n}\n")->k;
	int converts = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_load)
			ck_assert_str_eq(o->lowering->access.inst, "ld_global_128");
		if (o->code == O_store)
			ck_assert_str_eq(o->lowering->access.inst, "st_global_128");
		if (o->code == O_convert_layout) {
			ck_assert_int_eq(o->in[0]->type.dtype, D_u8);
			converts++;
		}
	}
	ck_assert_int_eq(converts, 1);
}

/* Weights of 4 bits as [K, N], neighbours along n: ldmatrix.trans brings 4 columns of two rows in a word,
 * these go to four instances, and nothing is converted between memory and the product, nor before 16-byte
 * stores. */
TEST(narrow_along_n)
{
	Kernel *k = inferred("kernel g(A: f16[M, K], W: u4[K, N], C: out f16[M, N])\n"
	                     "    assume K % 64 == 0, N % 32 == 0\n    const WARPS = 4\n{\n"
	                     "    grid(ceil(M, 64), ceil(N, 128));\n"
	                     "    let m = block.x * 64, n = block.y * 128;\n"
	                     "    var acc: register f32[64, 128] = 0;\n"
	                     "    pipeline k in 0..K step 64 stages 3 {\n"
	                     "        let a: shared = A[m :+ 64, k :+ 64], w: shared = W[k :+ 64, n :+ "
	                     "128];\n"
	                     "        acc += dot(a, f16(w) - 8);\n    }\n"
	                     "    C[m :+ 64, n :+ 128] = f16(acc);\n}\n")->k;
	int words = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		ck_assert(o->code != O_convert_layout);
		if (o->code == O_store)
			ck_assert_str_eq(o->lowering->access.inst, "st_global_128");
		if (o->code == O_load && o->out[0]->type.dtype == D_u4) {
			ck_assert_str_eq(o->lowering->access.inst, "ldmatrix_x4_trans");
			ck_assert_int_eq(o->out[0]->type.bit_order, 16);
			words++;
		}
	}
	ck_assert(words > 0);
}

static const char c_16x8[] = "((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))";

/* Test 17, small: the fragment to rows read 16 bytes a lane, in one round of 128 elements. */
TEST(rearrange)
{
	static const int64_t shape[2] = { 16, 8 };
	static const int order[2] = { 1, 0 };
	Kernel *k = inferred(gemm(true))->k;
	Solve s = { .k = k, .arena = &arena, .rates = rates_of(k->unit->target) };
	Type t = type_tile(D_f32, S_reg, 2, shape);
	Layout from = layout_of(c_16x8), to, want = layout_of("(16,(4,2)):(2@lane,(1@reg,1@lane))");
	Res res = { 0 };
	Lowering *p;

	k->warps = 1;
	ck_assert(coalesced_layout(&to, 2, shape, order, 4, 1, false));
	ck_assert(layout_equal(&to, &want));
	p = lowering_convert(&s, &t, &from, &to, &res);
	/* all in one warp: no staging is needed here, which is better than published */
	ck_assert_int_eq(p->kind, LW_shuffle);
}

/* The same over four warps: rows of 128, written by pairs and read 16 bytes a lane, without conflicts. */
TEST(rearrange_block)
{
	static const int64_t shape[2] = { 128, 128 };
	static const int order[2] = { 1, 0 };
	Kernel *k = inferred(gemm(true))->k;
	Solve s = { .k = k, .arena = &arena, .rates = rates_of(k->unit->target) };
	Type t = type_tile(D_f16, S_reg, 2, shape);
	Layout to;
	Res res = { 0 };
	Lowering *p;
	OpWalk w;
	const Layout *from = NULL;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		from = o->code == O_dot ? o->out[0]->type.layout : from;
	ck_assert(coalesced_layout(&to, 2, shape, order, 8, k->warps, false));
	p = lowering_convert(&s, &t, from, &to, &res);
	ck_assert_int_eq(p->kind, LW_shared);
	ck_assert(p->staged.write.vec == 2 && p->staged.read.vec == 8);
	ck_assert_int_eq(p->staged.bytes, 128 * 128 * 2);
	/* 64 writes of 4 bytes and 16 reads of 16 bytes a lane, 4 warps: no wavefront more than these need */
	ck_assert(res.unit[R_smem] <= 4 * (64 + 16 * 4) && res.unit[R_smem] >= 4 * (64 + 16 * 4));
}

/* Test 18: along the columns within 4 lanes, along the rows within 8. */
TEST_EACH(reduce, 2)
{
	static const char *const want[2] = { "(1,(2,4)):(0,(1@reg,1@lane))+[8:4@lane]",
		                             "((8,2),1):((4@lane,1@reg),0)+[4:1@lane]" };
	Layout c = layout_of(c_16x8), r, w = layout_of(want[_i]);

	ck_assert(layout_reduce(&r, &c, _i));
	ck_assert_msg(layout_equal(&r, &w), "%s", layout_print(&arena, &r));
}

TEST_PROGRAM(ARENA_FIXTURE);
