/* test_role_layouts.c - tests wgmma and TMA tensor copies of all types, spaces and majors: selected layouts
 * pass the validator; rejections give a reason. */
#include "infer/infer.h"
#include "test/check.h"
#include "test/infer/util_infer.h"
#include "infer/core/instr.h"
#include <stdlib.h>
#include <string.h>

/* A product by producers and consumers, with holes. */
static const char frame[] =
	"kernel product(A: %s[%s], B: %s[%s], C: out %s[M, N])\n"
	"    assume K %% %d == 0, N %% %d == 0, M %% %d == 0\n"
	"    const BM = %d, BN = %d, BK = %d, STAGES = 3, WARPS = %d\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared %s[STAGES, %s], b: shared %s[STAGES, %s];\n"
	"    let full: mbarrier[STAGES] = 1, empty: mbarrier[STAGES] = 1;\n"
	"    roles {\n"
	"        producer warps 4 {\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn %% STAGES;\n"
	"                await empty[s], turn / STAGES + 1;\n"
	"                async copy(A[%s], a[s], full[s]);\n"
	"                async copy(B[%s], b[s], full[s]);\n"
	"                arrive full[s];\n"
	"            }\n"
	"        }\n"
	"        consumer warps WARPS {\n"
	"            var acc: register %s[BM, BN] = 0;\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn %% STAGES;\n"
	"                await full[s], turn / STAGES;\n"
	"                %s\n"
	"                acc += async dot(%s, b[s]%s);\n"
	"                wait dots 0;\n"
	"                arrive empty[s];\n"
	"            }\n"
	"            C[m :+ BM, n :+ BN] = acc;\n"
	"        }\n"
	"    }\n"
	"}\n";

typedef struct Product {
	const char *a, *b, *acc;
	int grain; /* that sizes are multiples of */
	int bm, bn, bk, warps;
	int how;
} Product;

enum { A_MN = 1, B_MN = 2, A_REG = 4 }; /* neighbours along m, along n, A in registers */

static const char *
program(Arena *arena, const Product *p)
{
	Text t = { .arena = arena };
	bool am = p->how & A_MN, bn = p->how & B_MN, reg = p->how & A_REG;
	const char *load = !reg ? "" : am ? "let r = a[s].T + 1;" : "let r = a[s] + 1;";

	text_printf(&t, frame, p->a, am ? "K, M" : "M, K", p->b, bn ? "K, N" : "N, K", p->acc, p->grain,
	            p->grain, p->grain, p->bm, p->bn, p->bk, p->warps, p->a, am ? "BK, BM" : "BM, BK", p->b,
	            bn ? "BK, BN" : "BN, BK", am ? "k :+ BK, m :+ BM" : "m :+ BM, k :+ BK",
	            bn ? "k :+ BK, n :+ BN" : "n :+ BN, k :+ BK", p->acc, load,
	            reg ? "r" : am ? "a[s].T" : "a[s]", bn ? "" : ".T");
	return t.s;
}

static const struct {
	Product p;
	const char *row; /* that is chosen */
	int n;
	int width[2]; /* of the instruction's A and B */
} found[] = {
	{ { "f16", "f16", "f32", 8, 128, 256, 64, 8, 0 }, "wgmma_f32_f16_ss", 256, { 128, 128 } },
	{ { "f16", "f16", "f32", 8, 64, 96, 32, 4, 0 }, "wgmma_f32_f16_ss", 96, { 64, 64 } },
	{ { "bf16", "bf16", "f32", 8, 128, 128, 16, 8, 0 }, "wgmma_f32_bf16_ss", 128, { 32, 32 } },
	{ { "f16", "f16", "f32", 8, 128, 128, 64, 4, A_MN }, "wgmma_f32_f16_ss", 128, { 128, 128 } },
	{ { "bf16", "bf16", "f32", 8, 64, 96, 64, 4, A_MN | B_MN }, "wgmma_f32_bf16_ss", 96, { 128, 64 } },
	{ { "f16", "f16", "f32", 8, 64, 48, 64, 4, B_MN }, "wgmma_f32_f16_ss", 48, { 128, 32 } },
	{ { "f16", "f16", "f32", 8, 64, 128, 64, 8, 0 }, "wgmma_f32_f16_ss", 64, { 128, 128 } },
	{ { "i8", "u8", "i32", 16, 64, 24, 128, 4, 0 }, "wgmma_s32_s8_u8_ss", 24, { 128, 128 } },
	{ { "u8", "i8", "i32", 16, 64, 40, 64, 4, 0 }, "wgmma_s32_u8_s8_ss", 8, { 64, 64 } },
	{ { "e4m3", "e5m2", "f32", 16, 128, 64, 32, 8, 0 }, "wgmma_f32_e4m3_e5m2_ss", 64, { 32, 32 } },
	{ { "f16", "f16", "f32", 8, 128, 64, 64, 8, B_MN | A_REG }, "wgmma_f32_f16_rs", 64, { 0, 128 } },
	{ { "bf16", "bf16", "f32", 8, 64, 64, 64, 4, A_MN | A_REG }, "wgmma_f32_bf16_rs", 64, { 0, 128 } },
	/* 64 columns, of 16 rows: the transpose */
	{ { "f16", "f16", "f32", 8, 16, 64, 64, 4, 0 }, "wgmma_f32_f16_ss", 16, { 128, 128 } },
};

TEST_EACH(products, COUNT_OF(found))
{
	Inferred x;
	Arena a;
	const Op *o, *copy;

	test_arena(&a);
	infer_source(&x, program(&a, &found[_i].p), "sm_90a", 0, false);
	ck_assert_msg(infer_violations(&x) == 0, "%s", x.diag.n ? x.diag.msg[0].text : "");
	o = infer_op(&x, O_wgmma, 0);
	ck_assert_str_eq(o->lowering->dot.inst, found[_i].row);
	ck_assert_int_eq(o->lowering->dot.n, found[_i].n);
	if (found[_i].p.bm != 64 || found[_i].n != 64) /* of a square one both reads are as long */
		ck_assert_int_eq(o->lowering->dot.swap, found[_i].p.bm < 64);
	for (int i = 0; i < 2; i++) {
		int side = o->lowering->dot.swap ? 1 - i : i;

		ck_assert_int_eq(o->lowering->dot.matrix[i].width, found[_i].width[i]);
		ck_assert_int_eq(o->lowering->dot.matrix[i].mn,
		                 found[_i].width[i] && (found[_i].p.how >> side & 1));
		copy = infer_op(&x, O_copy, i);
		ck_assert_str_eq(copy->lowering->access.inst, "tma_load");
		ck_assert_int_eq(copy->lowering->access.tensor_map, i + 1);
	}
	copy = infer_op(&x, O_copy, 2); /* of a slab of the sum */
	ck_assert_str_eq(copy->lowering->access.inst, "tma_store");
	ck_assert_int_eq(x.k->nmap, 3);
	arena_free(&a);
	infer_free(&x);
}

/* Every solution, not the first alone. */
TEST_EACH(all_candidates, COUNT_OF(found))
{
	Inferred x;
	Arena a;
	int n;

	test_arena(&a);
	infer_source(&x, program(&a, &found[_i].p), "sm_90a", 0, false);
	n = infer_ncand(x.cands);
	infer_free(&x);
	for (int i = 1; i < n; i++) {
		infer_source(&x, program(&a, &found[_i].p), "sm_90a", i, false);
		ck_assert_msg(infer_violations(&x) == 0, "%s", x.diag.n ? x.diag.msg[0].text : "");
		infer_free(&x);
	}
	arena_free(&a);
}

/* Steps of a tensor that are no whole 16 bytes: the lanes copy, and the form is the same.  That there are no
 * versions of the roles is pass version_accesses's. */
TEST(lanes_copy)
{
	Product p = { "f16", "f16", "f32", 4, 64, 64, 64, 4, 0 };
	Inferred x;
	Arena a;

	test_arena(&a);
	infer_source(&x, program(&a, &p), "sm_90a", 0, false);
	ck_assert_str_eq(infer_op(&x, O_copy, 0)->lowering->access.inst, "cp_async_8");
	ck_assert_int_eq(x.k->nmap, 1); /* of the sum, in f32 */
	ck_assert_int_eq(infer_op(&x, O_wgmma, 0)->lowering->dot.matrix[0].width, 128);
	ck_assert_int_eq(infer_violations(&x), 0);
	arena_free(&a);
	infer_free(&x);
}

static const struct {
	Product p;
	const char *arch, *says;
} refused[] = {
	{ { "i8", "i8", "i32", 16, 64, 64, 64, 4, A_MN }, "sm_90a",
	  ", has rows along dimension 2 in memory, which" },
	{ { "f16", "f16", "f32", 8, 96, 100, 64, 4, 0 }, "sm_90a", "no wgmma on sm_90a computes" },
};

TEST_EACH(refusals, COUNT_OF(refused))
{
	Inferred x;
	Arena a;

	test_arena(&a);
	infer_source(&x, program(&a, &refused[_i].p), refused[_i].arch, 0, true);
	ck_assert_msg(strstr(x.diag.msg[0].text, refused[_i].says), "%s", x.diag.msg[0].text);
	arena_free(&a);
	infer_free(&x);
}
