/* test_golden_product.c - tests inference against published results for a full f16 GEMM, 128 x 128 x 32 on
 * four warps. In C: published layouts are computed with.
 *
 * The 20 golden results of the Hexcute algorithm (arXiv 2504.16214) and their tests; layout: is
 * test/taskmap/test_layout_golden.c, golden: test_golden.c.
 *
 *    1  2  3  fragments                   layout: fragments
 *    4 .. 8   composition .. surgery      layout: composition, complement_coalesce, divide_product, inverses,
 *                                         axis_surgery
 *    9        swizzles                    test/taskmap/test_swizzle.c
 *   10 11     ldmatrix, copy equation     layout: ldmatrix, copy_equation
 *   12        memory constraints          golden: transposed;  here: table
 *   13 14     schedules, swizzle search   test/memory/test_shared.c: golden_coalesced, golden_swizzles
 *   15        tiled mma                   layout: tiled_mma
 *   16        the whole pipeline          layout: gemm_pipeline;  golden: pipeline;
 *                                         here: table, best_of_the_table, identical
 *   17        rearrange                   golden: rearrange, rearrange_block;  here: staging
 *   18        reduce                      layout: reduce;  golden: reduce;  here: shuffles
 *   19        a packed block of u4        layout: packed_block
 *   20        casts of narrow integers    test/narrow_cast/test_recipe.c, all values of all types */
#include "infer/explain/explain.h"
#include "infer/convert/convert.h"
#include "infer/memory/memory.h"
#include "infer/core/sm_throughput.h"
#include "test/examples/util_case.h"
#include "test/infer/util_infer.h"
#include "test/taskmap/util_cute.h"
#include "test/check.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Inferred x;

/* A program of this folder. */
static const char *
text_of(const char *name)
{
	char path[120];

	snprintf(path, sizeof path, "test/infer/%s.hexc", name);
	return file_read(path, NULL);
}

/* The access to A's shared tile by ops of one kind. */
static const Op *
access_of_a(OpCode code)
{
	for (int i = 0; infer_op(&x, code, i); i++) {
		const Op *o = infer_op(&x, code, i);
		const Val *root = view_root(o->in[code == O_copy]);

		if (root->name && strcmp(root->name, "a") == 0)
			return o;
	}
	ck_abort_msg("no access to a");
	return NULL;
}

/* 12 and 16: what copies from K-major global memory a layout for one kind of load leaves. */
TEST_EACH(table, 3)
{
	static const struct {
		const char *program, *load, *copy;
	} row[] = {
		{ "golden/rows", "ldmatrix_x4", "cp_async_16" },
		/* lds.64 and lds.128 of a fragment: published with 4-byte copies only */
		{ "programs/pinned_fragments", NULL, "cp_async_4" },
		/* ldmatrix.trans: published with none; here an element at a time, through registers */
		{ "programs/pinned_columns", "ldmatrix_x4_trans", "ld_st_16" },
	};

	infer_source(&x, text_of(row[_i].program), "sm_80", 0, false);
	if (row[_i].load)
		ck_assert_str_eq(access_of_a(O_load)->lowering->access.inst, row[_i].load);
	ck_assert_str_eq(access_of_a(O_copy)->lowering->access.inst, row[_i].copy);
	ck_assert_int_eq(infer_violations(&x), 0);
	infer_free(&x);
}

/* 16: of the seven loads with a feasible copy that are published, with the widest copy of each, none takes
 * fewer instructions than what every candidate here does, for loads and for copies; no conflicts. */
TEST(best_of_the_table)
{
	static const struct {
		const char *load;
		int elements, copy; /* of a lane and load; bytes of the widest copy */
	} published[] = {
		{ "lds.128", 8, 4 }, { "ldmatrix.x4", 8, 16 }, { "lds.64", 4, 4 },
		{ "ldmatrix.x2", 4, 16 }, { "lds.32", 2, 16 }, { "ldmatrix.x1", 2, 16 }, { "lds.16", 1, 16 },
	};
	const char *s = text_of("golden/product");
	int n;

	infer_source(&x, s, "sm_80", 0, false);
	n = infer_ncand(x.cands);
	infer_free(&x);
	for (int c = 0; c < n; c++) {
		const Op *load, *copy;
		int64_t values, waves, least;

		infer_source(&x, s, "sm_80", c, false);
		load = access_of_a(O_load);
		copy = access_of_a(O_copy);
		values = layout_cosize(load->out[0]->type.layout, AX_reg); /* of A in a lane */
		for (size_t i = 0; i < COUNT_OF(published); i++) {
			ck_assert_int_le(values / 8, values / published[i].elements);
			ck_assert_int_ge(copy->lowering->access.vec * 2, published[i].copy);
		}
		ck_assert_str_eq(load->lowering->access.inst, "ldmatrix_x4"); /* 8 elements for each lane */
		ck_assert_str_eq(copy->lowering->access.inst, "cp_async_16");
		for (int i = 0; i < 2; i++) {
			infer_waves(&x, i ? "b" : "a", &waves, &least);
			ck_assert_int_eq(waves, least);
		}
		ck_assert_int_eq(infer_violations(&x), 0); /* all fragments of all warps line up */
		infer_free(&x);
	}
	ck_assert_int_ge(n, 9); /* published: 9 solutions */
}

/* 16: every candidate gives the same numbers to the bit.  The other layouts of the table, which have
 * conflicts, run among test/infer/programs. */
static void
run_product(const char *name)
{
	const int m = 140, n = 136, k = 96;
	char file[120];
	Case c;
	Buf *a, *b, *out;
	uint32_t ncand = 1;

	case_start(&c, 16);
	a = case_in(&c, "A", "f16", 0, 1, m, k, 0);
	b = case_in(&c, "B", "f16", 0, 1, n, k, 0);
	out = case_out(&c, "C", "f32", m, n, 0);
	for (int i = 0; i < m * k; i++)
		buf_set(a, i, (i * 7 + i / k) % 15 - 7);
	for (int i = 0; i < n * k; i++)
		buf_set(b, i, (i * 5 + i / k) % 13 - 6);
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) { /* whole numbers below 2^24: no rounding */
			out->v[i * n + j] = out->allow[i * n + j] = 0;
			for (int l = 0; l < k; l++)
				out->v[i * n + j] += a->v[i * k + l] * b->v[j * k + l];
		}
	snprintf(file, sizeof file, "../test/infer/golden/%s", name);
	for (uint32_t i = 0; i < ncand; i++)
		ncand = case_run(&c, file, NULL, "sm_80", i);
	case_end(&c);
}

TEST_EACH(identical, 2)
{
	static const char *const name[] = { "product", "rows" };

	run_product(name[_i]);
}

/* Wavefronts of one warp's access: lane l takes `bytes` at address at[l]; phases of 128 bytes. */
static int
wavefronts(const int64_t *at, int bytes)
{
	int lanes = bytes <= 4 ? 32 : 128 / bytes, sum = 0;

	for (int lo = 0; lo < 32; lo += lanes) {
		int64_t word[32][32];
		int n[32] = { 0 }, most = 0;

		for (int l = lo; l < lo + lanes; l++)
			for (int b = 0; b < bytes; b += 4) {
				int64_t w = (at[l] + b) / 4;
				int bank = (int)(w % 32), i = 0;

				while (i < n[bank] && word[bank][i] != w)
					i++;
				if (i == n[bank])
					word[bank][n[bank]++] = w;
				most = n[bank] > most ? n[bank] : most;
			}
		sum += most;
	}
	return sum;
}

static int64_t
digits(int i, int n, const int *extent, const int *stride)
{
	int64_t at = 0;

	for (int d = 0; d < n; d++) {
		at += i % extent[d] * stride[d];
		i /= extent[d];
	}
	return at;
}

/* The published staging of the 128 x 128 accumulator, f16: four rounds through 4096 elements, written by
 * T (4,8,2,2):(2,128,2048,16) V (2,2,2,4):(1,1024,8,32), read by T 128:8 V (8,4):(1,1024). */
static int
published_staging(void)
{
	static const int te[] = { 4, 8, 2, 2 }, ts[] = { 2, 128, 2048, 16 };
	static const int ve[] = { 2, 2, 2, 4 }, vs[] = { 1, 1024, 8, 32 };
	int64_t at[32];
	int sum = 0;

	for (int warp = 0; warp < 4; warp++) {
		for (int v = 0; v < 32; v += 2) {
			for (int l = 0; l < 32; l++)
				at[l] = 2 * (digits(warp * 32 + l, 4, te, ts) + digits(v, 4, ve, vs));
			sum += wavefronts(at, 4);
		}
		for (int v = 0; v < 4; v++) {
			for (int l = 0; l < 32; l++)
				at[l] = 2 * ((warp * 32 + l) * 8 + v * 1024);
			sum += wavefronts(at, 16);
		}
	}
	return 4 * sum;
}

/* 17: the same layouts at both ends, in one round with two barriers instead of four with eight, without the
 * conflicts that the published buffer has. */
TEST(staging)
{
	static const int64_t shape[2] = { 128, 128 };
	static const int order[2] = { 1, 0 };
	Type t = type_tile(D_f16, S_reg, 2, shape);
	Layout to, thread, value;
	Res res = { 0 };
	Lowering *p;
	Solve s;

	infer_source(&x, text_of("golden/product"), "sm_80", 0, false);
	s = (Solve){ .k = x.k, .arena = &x.arena, .rates = rates_of(x.unit.target) };
	ck_assert(coalesced_layout(&to, 2, shape, order, 8, 4, false));
	ck_assert(tv_from_layout(&thread, &value, &to, 4));
	for (int i = 0; i < 128; i++) { /* T (16,8):(1024,1) */
		static const int e[] = { 16, 8 }, d[] = { 1024, 1 };
		ck_assert_int_eq(layout_at_index(&thread, i).at[AX_mem], digits(i, 2, e, d));
	}
	for (int i = 0; i < 128; i++) { /* V (8,16):(128,8) */
		static const int e[] = { 8, 16 }, d[] = { 128, 8 };
		ck_assert_int_eq(layout_at_index(&value, i).at[AX_mem], digits(i, 2, e, d));
	}
	p = lowering_convert(&s, &t, infer_op(&x, O_dot, 0)->out[0]->type.layout, &to, &res);
	ck_assert_int_eq(p->kind, LW_shared);
	ck_assert_int_eq(published_staging(), 2304); /* writes 8-way: 16 * 8 * 4 warps * 4; reads 256 */
	ck_assert_int_eq((int)res.unit[R_smem], 512);
	infer_free(&x);
}

/* 18: the fragment's rows within 4 lanes, deltas 2 and 1; its columns within 8, deltas 16, 8 and 4; two
 * registers each, no shared memory. */
TEST_EACH(shuffles, 2)
{
	static const int want[2][5] = { { 16, 8, 4, 0, 0 }, { 2, 1, 0, 0, 0 } };
	hexc_opts opts = HEXC_OPTS_INIT;
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	char source[700];
	int count[33] = { 0 };
	hexc_module *m;
	hexc_ctx *ctx;

	snprintf(source, sizeof source,
	         "kernel p(A: f16[16, 16], B: f16[8, 16], C: out f32[%s])\n    const WARPS = 1\n{\n"
	         "    grid(1);\n    let a: register = A[:, :], b: register = B[:, :];\n"
	         "    C[:, :] = reduce_max(dot(a, b.T), %d);\n}\n",
	         _i ? "16, 1" : "1, 8", _i);
	ck_assert_int_eq(hexc_open(&ctx, &opts), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, ctx, "reduce", source, strlen(source)), HEXC_OK);
	ck_assert(hexc_kernel(m, 0, &info));
	ck_assert_uint_eq(info.smem, 0);
	for (const char *s = hexc_ptx(m, NULL); (s = strstr(s, "shfl.sync.bfly.b32")) != NULL; s++) {
		const char *comma = strchr(strchr(s, ',') + 1, ',');
		int delta = atoi(comma + 1);

		ck_assert(delta > 0 && delta <= 32);
		count[delta]++;
	}
	for (int d = 1; d <= 32; d++) {
		int there = 0;

		for (int i = 0; i < 5; i++)
			there += want[_i][i] == d;
		ck_assert_msg(count[d] == 2 * there, "delta %d: %d times", d, count[d]);
	}
	hexc_module_free(m);
	hexc_close(ctx);
}

TEST_PROGRAM(.timeout = 120);
