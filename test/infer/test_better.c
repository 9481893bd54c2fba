/* test_better.c - tests improvements over Hexcute as published that the IR's text does not show: costs,
 * conflicts, the layouts of a reduction, every row of the table of MMAs, results in the simulator.
 * products.hexc, improvements.hexc, small_tiles.hexc and shared_scan.hexc have the others. */
#include "infer/explain/explain_internal.h"
#include "infer/core/sm_throughput.h"
#include "test/check.h"
#include "test/examples/util_case.h"
#include "test/infer/util_infer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Inferred x;

/* C[m,n] = sum_k A[m,k] B[n,k], through shared memory, or registers with where = "register". */
static const char *
product(int warps, int bm, int bn, int bk, const char *ta, const char *tb, const char *tc, const char *where,
        const char *dot)
{
	static char s[1200];

	snprintf(s, sizeof s,
	         "kernel p(A: %s[M, K], B: %s[N, K], C: out %s[M, N])\n    const WARPS = %d\n"
	         "    assume K %% %d == 0, N %% 16 == 0\n{\n    grid(ceil(M, %d), ceil(N, %d));\n"
	         "    let m = block.x * %d, n = block.y * %d;\n    var acc: register %s[%d, %d] = 0;\n"
	         "    %s k in 0..K step %d %s {\n        let a: %s = A[m :+ %d, k :+ %d];\n"
	         "        let b: %s = B[n :+ %d, k :+ %d];\n        acc += %s;\n    }\n"
	         "    C[m :+ %d, n :+ %d] = acc;\n}\n",
	         ta, tb, tc, warps, bk, bm, bn, bm, bn, tc, bm, bn, *where == 's' ? "pipeline" : "for", bk,
	         *where == 's' ? "stages 3" : "", where, bm, bk, where, bn, bk, dot, bm, bn);
	return s;
}

static const char *
f16_product(int warps, int bm, int bn, int bk, const char *where)
{
	return product(warps, bm, bn, bk, "f16", "f16", "f32", where, "dot(a, b.T)");
}

static const char *
usual(void)
{
	return f16_product(4, 128, 128, 32, "shared");
}

/* The same, to be changed. */
static char *
product_text(const char *s)
{
	static char copy[1200];

	snprintf(copy, sizeof copy, "%s", s);
	return copy;
}

static const char symmetric[] = "kernel p(X: f32[M, N], Y: out f32[M, N])\n    const WARPS = 4\n{\n"
				"    grid(ceil(M, 64));\n    let m = block.x * 64;\n"
				"    let x: register = X[m :+ 64, 0 :+ 64];\n"
				"    Y[m :+ 64, 0 :+ 64] = x + x.T;\n}\n";

TEST(both_ends)
{
	const DiagMsg *m;

	infer_source(&x,
	             "kernel p(X: f32[M, N], Y: out f32[M, N])\n    const WARPS = 1\n{\n"
	             "    grid(ceil(M, 8));\n    let x: register f32[8, 32] "
	             "layout \"((4,2),(8,4)):((8@lane,4@reg),(1@lane,1@reg))\" =\n"
	             "        X[block.x * 8 :+ 8, 0 :+ 32];\n"
	             "    let y: register f32[8, 32] layout \"(8,(4,8)):(4@lane,(1@lane,1@reg))\" = x * 2;\n"
	             "    Y[block.x * 8 :+ 8, 0 :+ 32] = y;\n}\n",
	             "sm_80", 0, true);
	m = x.diag.msg;
	ck_assert_int_eq(m->cls, DC_LAYOUT);
	ck_assert_int_eq(m->src.line, 5);
	ck_assert(strstr(m->text, "element (0, 4)") && strstr(m->text, "line 7"));
	infer_free(&x);
}

/* Only the result has a layout: the operand gets one that reduces to it, and nothing is converted. */
TEST(backward_reduce)
{
	const Op *o;
	Layout l;

	infer_source(&x,
	             "kernel p(X: f32[M], Y: out f32[M, 1])\n    const WARPS = 2\n{\n    grid(ceil(M, 64));\n"
	             "    let s = sum(f32(iota(1, 64, 32)) * 2, 1);\n"
	             "    let t: register f32[64, 1] "
	             "layout \"((4,8,2),1):((1@reg,4@lane,1@warp),0)+[4:1@lane]\" = s;\n"
	             "    Y[block.x * 64 :+ 64, 0 :+ 1] = t;\n}\n",
	             "sm_80", 0, false);
	o = infer_op(&x, O_reduce_sum, 0);
	ck_assert_ptr_nonnull(o);
	ck_assert_ptr_null(infer_op(&x, O_convert_layout, 0));
	ck_assert(layout_reduce(&l, o->in[0]->type.layout, 1));
	ck_assert(layout_equal(&l, o->out[0]->type.layout));
	ck_assert_int_eq(infer_violations(&x), 0);
	infer_free(&x);
}

static const char plain_rows[] =
	"kernel p(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n    const WARPS = 4\n"
	"    assume K % 32 == 0, N % 16 == 0\n{\n    grid(ceil(M, 128), ceil(N, 128));\n"
	"    let m = block.x * 128, n = block.y * 128;\n    var acc: register f32[128, 128] = 0;\n"
	"    pipeline k in 0..K step 32 stages 3 {\n"
	"        let a: shared f16[128, 32] layout \"(128,32):(32,1)\" = A[m :+ 128, k :+ 32];\n"
	"        let b: shared = B[n :+ 128, k :+ 32];\n        acc += dot(a, b.T);\n    }\n"
	"    C[m :+ 128, n :+ 128] = acc;\n}\n";

/* Rows that begin anywhere come by 2 bytes.  A lane has all of a row's sectors before it goes to the next
 * one: of 32 elements two, 16 apart, so that 32 accesses take 16 addresses. */
TEST(addresses_of_rows)
{
	const Layout *map = NULL;
	Coord p = { .at = { 0 } };
	int64_t was[DIM_MAX] = { 0 }, is[DIM_MAX];

	infer_source(&x,
	             "kernel p(A: f16[M, K], C: out f16[M, 32])\n    const WARPS = 4\n{\n"
	             "    grid(ceil(M, 128));\n"
	             "    let m = block.x * 128;\n    var s: register f16[128, 32] = 0;\n"
	             "    pipeline k in 0..K step 32 stages 2 {\n"
	             "        let a: shared = A[m :+ 128, k :+ 32];\n"
	             "        s += a;\n    }\n    C[m :+ 128, 0 :+ 32] = s;\n}\n",
	             "sm_80", 0, false);
	for (int i = 0; infer_op(&x, O_copy, i); i++) /* the other version's are wide */
		if (!strcmp(infer_op(&x, O_copy, i)->lowering->access.inst, "ld_st_16"))
			map = infer_op(&x, O_copy, i)->lowering->access.map;
	ck_assert_ptr_nonnull(map);
	ck_assert_int_eq(layout_cosize(map, AX_reg), 32);
	for (int64_t r = 0; r < 32; r += 2)
		for (int i = 0; i < 2; i++) {
			p.at[AX_reg] = r + i;
			layout_index(map, &p, is);
			ck_assert_int_eq(is[1], 16 * i);
			ck_assert(i == 0 || is[0] == was[0]);
			was[0] = is[0];
		}
	ck_assert_int_eq(infer_violations(&x), 0);
	infer_free(&x);
}

/* Rows of 64 bytes without a swizzle: 8 rows of a matrix are on 2 groups of banks, so each of the 4 phases of
 * each ldmatrix.x4 takes 4 wavefronts.  Counting the first phase alone would give 4, or 1 at its offset 0. */
TEST(every_phase)
{
	int64_t waves, least;
	int64_t copies = 0, loads = 0;

	infer_source(&x, plain_rows, "sm_80", 0, false);
	for (int i = 0; infer_op(&x, O_copy, i); i++)
		copies += view_root(infer_op(&x, O_copy, i)->in[1])->name[0] == 'a';
	for (int i = 0; infer_op(&x, O_load, i); i++)
		loads += view_root(infer_op(&x, O_load, i)->in[0])->name[0] == 'a';
	infer_waves(&x, "a", &waves, &least);
	/* copies are whole lines, 128 rows of 64 bytes; so are the rows that warps read, once or more */
	ck_assert_int_gt(loads, 0);
	ck_assert(least > copies * 64 && (least - copies * 64) % 64 == 0);
	ck_assert_int_eq(waves - copies * 64, 4 * (least - copies * 64));
	infer_free(&x);
}

TEST(charged)
{
	double with;

	infer_source(&x, plain_rows, "sm_80", 0, false);
	with = infer_cycles(x.cands, 0);
	infer_free(&x);
	infer_source(&x, usual(), "sm_80", 0, false);
	ck_assert(infer_cycles(x.cands, 0) < with);
	infer_free(&x);
}

TEST(scratch_swizzled)
{
	bool staged = false;

	infer_source(&x, symmetric, "sm_80", 0, false);
	for (int i = 0; infer_op(&x, O_convert_layout, i); i++) {
		const Op *o = infer_op(&x, O_convert_layout, i);
		const Val *v[2] = { o->in[0], o->out[0] };

		if (o->lowering->kind != LW_shared)
			continue;
		staged = true;
		for (int side = 0; side < 2; side++) {
			int64_t waves, least;
			SmemAccess a = { .rank = 2, .dim_of = { 0, 1 }, .bits = 32, .lanes = 32,
					 .weight = 1 };

			a.map = v[side]->type.layout;
			a.write = !side;
			a.vec = side ? o->lowering->staged.read.vec : o->lowering->staged.write.vec;
			access_waves(&x.arena, &a, o->lowering->staged.tile, 4, &waves, &least);
			ck_assert_int_eq(waves, least);
		}
	}
	ck_assert(staged);
	infer_free(&x);
}

TEST(costs)
{
	const Rates *r = rates_of(target_find("sm_80"));
	double f16 = mma_clocks(r, instr_find("mma_m16n8k16_f32_f16"));
	double tf32 = mma_clocks(r, instr_find("mma_m16n8k8_f32_tf32"));
	double f64 = mma_clocks(r, instr_find("mma_m8n8k4_f64"));
	double s8 = mma_clocks(r, instr_find("mma_m16n8k32_s32_s8"));
	double alone[4];
	int64_t waves[2], least;
	Res load;

	/* tensor cores by type: per multiply-add, tf32 twice f16, s8 half, f64 sixteen times (A100) */
	ck_assert_double_eq_tol(tf32 / (16 * 8 * 8), 2 * f16 / (16 * 8 * 16), 1e-9);
	ck_assert_double_eq_tol(s8 / (16 * 8 * 32), f16 / (16 * 8 * 16) / 2, 1e-9);
	ck_assert_double_eq_tol(f64 / (8 * 8 * 4), 16 * f16 / (16 * 8 * 16), 1e-9);
	infer_source(&x, usual(), "sm_80", 0, false);
	/* ldmatrix.x4 is four phases, not one instruction like any other */
	for (int i = 0; infer_op(&x, O_load, i); i++) {
		const Op *o = infer_op(&x, O_load, i);
		Explained ex = explained(x.k, x.cands);
		Val *root;
		SmemAccess a;

		ck_assert(explain_access(o, &root, &a) && explain_res(&ex, o, &load));
		access_waves(&x.arena, &a, root->type.layout, 4, waves, &least);
		ck_assert_int_eq(waves[0], layout_cosize(a.map, AX_reg) / a.vec * 4 * 4);
		ck_assert_double_ge(load.unit[R_smem], (double)waves[0]);
	}
	infer_free(&x);
	/* copies are waited for: the less, the further ahead they were issued */
	for (int stages = 2; stages < 6; stages++) {
		char *s = product_text(f16_product(1, 16, 16, 16, "shared"));

		*(strstr(s, "stages 3") + 7) = (char)('0' + stages);
		infer_source(&x, s, "sm_80", 0, false);
		alone[stages - 2] = explained(x.k, x.cands).sol->alone;
		infer_free(&x);
	}
	ck_assert_msg(alone[0] > alone[1] && alone[1] > alone[2], "%f %f %f", alone[0], alone[1], alone[2]);
}

/* Every row of the table is what some product of its types becomes, on a target that has it. */
static void
reach(const Instr *in, const char *arch)
{
	const char *ta = dtype_info[in->ta].name, *tb = dtype_info[in->tb].name;
	const char *tc = dtype_info[in->acc].name;
	bool tf32 = in->ta == D_tf32;
	char dot[64];

	snprintf(dot, sizeof dot, "dot(a, b.T%s%s)", tf32 ? ", " : in->acc == D_f16 ? ", "
	                                                                            : "",
	         tf32 ? "tf32" : in->acc == D_f16 ? "f16"
	                                          : "");
	if (tf32)
		ta = tb = "f32";
	infer_source(&x, product(1, in->m, in->n, in->k, ta, tb, tc, "shared", dot), arch, 0, false);
	ck_assert_msg(instr_find(infer_op(&x, O_dot, 0)->lowering->dot.inst)->kind == IK_mma, "%s: %s",
	              in->name, infer_op(&x, O_dot, 0)->lowering->dot.inst);
	ck_assert_int_eq(infer_violations(&x), 0);
	infer_free(&x);
}

TEST(every_mma)
{
	static const DType types[] = { D_f16, D_bf16, D_tf32, D_f64, D_i8, D_u8, D_i4, D_u4, D_e4m3, D_e5m2 };

	for (const Instr *in = instrs; in->name; in++) {
		const char *arch = NULL;

		for (const Target *t = targets; t->name && !arch; t++)
			arch = instr_on(in, t) ? t->name : NULL;
		if (in->kind == IK_mma && arch)
			reach(in, arch);
	}
	for (int i = 0; i < (int)COUNT_OF(types); i++) { /* and no type is without one */
		bool some = false;
		for (const Instr *in = instrs; in->name; in++)
			some = some || (in->kind == IK_mma && in->ta == types[i]);
		ck_assert_msg(some, "%s", dtype_info[types[i]].name);
	}
}

/* ---- on the simulator --------------------------------------------------------------------------------- */

#define BETTER "../test/infer/better/"

TEST(any_scan)
{
	static const int length[] = { 1, 7, 24, 100, 1000 };
	const int rows = 11;

	for (int i = 0; i < (int)COUNT_OF(length); i++) {
		int n = length[i];
		Case c;
		Buf *in, *out;

		case_start(&c, (uint64_t)i + 1);
		in = case_in(&c, "X", "f32", 0, 1, rows, n, 0);
		out = case_out(&c, "Y", "f32", rows, n, 0);
		for (int m = 0; m < rows; m++)
			for (int j = 0, sum = 0; j < n; j++) { /* whole numbers: no rounding */
				buf_set(in, m * n + j, (m * 7 + j * 5) % 9 - 4);
				sum += (m * 7 + j * 5) % 9 - 4;
				out->v[m * n + j] = sum;
				out->allow[m * n + j] = 0;
			}
		case_run(&c, BETTER "scan", NULL, "sm_80", 0);
		case_end(&c);
	}
}

TEST(any_rank)
{
	const int a = 6, b = 20, d = 36;
	Case c;
	Buf *in, *out;

	case_start(&c, 3);
	in = case_in(&c, "X", "f32", -1, 1, a, b, d, 0);
	out = case_out(&c, "Y", "f32", d, a, b, 0);
	for (int i = 0; i < a; i++)
		for (int j = 0; j < b; j++)
			for (int l = 0; l < d; l++) {
				out->v[(l * a + i) * b + j] = in->v[(i * b + j) * d + l];
				out->allow[(l * a + i) * b + j] = 0;
			}
	for (uint32_t n = case_run(&c, BETTER "turned", NULL, "sm_80", 0), k = 1; k < n; k++)
		case_run(&c, BETTER "turned", NULL, "sm_80", k);
	case_end(&c);
}

TEST(mean_divides)
{
	const int rows = 20, n = 50;
	Case c;
	Buf *in, *out;

	case_start(&c, 4);
	in = case_in(&c, "X", "f32", 0, 1, rows, n, 0);
	out = case_out(&c, "Y", "f32", rows, 1, 0);
	for (int m = 0; m < rows; m++) {
		for (int j = 0; j < n; j++)
			buf_set(in, m * n + j, m * 50);
		out->v[m] = m * 50;
		out->allow[m] = m * 50 * 2 * U32; /* the sum is exact; one division */
	}
	case_run(&c, BETTER "mean", NULL, "sm_80", 0);
	case_end(&c);
}

TEST(max_of_infinity)
{
	const int rows = 20, n = 50;
	Case c;
	Buf *in, *out;

	case_start(&c, 5);
	in = case_in(&c, "X", "f32", 0, 1, rows, n, 0);
	out = case_out(&c, "Y", "f32", rows, 1, 0);
	for (int m = 0; m < rows; m++) {
		for (int j = 0; j < n; j++)
			buf_set(in, m * n + j, m % 2 && j == 3 * m % n ? -1e30 : -(double)INFINITY);
		out->v[m] = m % 2 ? in->v[m * n + 3 * m % n] : -(double)INFINITY;
		out->allow[m] = 0;
	}
	case_run(&c, BETTER "largest", NULL, "sm_80", 0);
	case_end(&c);
}

/* ---- the checker and the words ---------------------------------------------------------------------- */

TEST(checker)
{
	Layout *l;
	FILE *f = fopen("infer/validate/validate.c", "r");
	char line[256];

	infer_source(&x, usual(), "sm_80", 0, false);
	ck_assert_int_eq(infer_violations(&x), 0);
	l = NEW(&x.arena, Layout);
	*l = *infer_op(&x, O_dot, 0)->in[0]->type.layout;
	for (int i = 0; i < l->n; i++) /* lanes the other way round */
		if (l->it[i].axis == AX_lane)
			l->it[i].stride = l->it[i].stride == 1 ? 8 : 1;
	infer_op(&x, O_dot, 0)->in[0]->type.layout = l;
	ck_assert_int_eq(infer_violations(&x), 1);
	infer_free(&x);
	ck_assert_ptr_nonnull(f); /* independent: it does not see the solver */
	while (fgets(line, sizeof line, f))
		if (strstr(line, "#include \"infer/"))
			ck_assert(strstr(line, "infer/core/instr.h") || strstr(line, "infer/validate/"));
	fclose(f);
}

TEST(explanations)
{
	const Drawing *d;
	const char *text, *json;

	infer_source(&x, usual(), "sm_80", 0, false);
	text = infer_explain(x.k, x.cands);
	ck_assert(strstr(text, "required by dot, line 11") && strstr(text, "ldmatrix_x4") &&
	          strstr(text, "candidates, by predicted cycles"));
	ck_assert_ptr_nonnull(strstr(text, "task mapping repeat("));
	json = infer_explain_json(x.k, x.cands);
	ck_assert_ptr_nonnull(strstr(json, "\"demanded_by\":{\"op\":\"dot\",\"line\":11"));
	ck_assert(strstr(json, "\"runner_up\":{") && strstr(json, "\"conflicts\":0"));
	ck_assert_int_gt(infer_draw(x.k, x.cands, &d), 5);
	infer_free(&x);
}

TEST_PROGRAM(.timeout = 120);
