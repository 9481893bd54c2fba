/* test_emit_roles.c - tests hand-lowered kernels with roles: TMA tensor copies, mbarriers, asynchronous MMAs
 * in flight. */
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <string.h>

/* C[M, N] = A[M, K] B[N, K]^T in tiles of m x n x one row of 128 bytes along k, `stages` of them. */
typedef struct Gemm {
	const char *inst, *t, *acc; /* row of wgmma; element types of factors and of the result */
	int m, n, each;    /* tile; n of an instance */
	int warps, teams;
	const char *start; /* what the sums start from: the value of a constant */
	bool once;         /* a condition says that they are not added to in the first step */
	double tol;
} Gemm;

static int
bits_of(const char *t)
{
	for (int d = 0; d < D_COUNT; d++)
		if (strcmp(dtype_info[d].name, t) == 0)
			return dtype_info[d].bits;
	ck_abort_msg("no type %s", t);
	return 0;
}

/* A tile of `rows` x `k` in the form with 128 bytes, `stages` of them. */
static const char *
tile(const Gemm *g, int rows, int k)
{
	int base = bits_of(g->t) == 8 ? 4 : bits_of(g->t) == 16 ? 3
	                                                        : 2;

	return arena_printf(u->arena, "shared %s[2, %d, %d] @{Sw<3,%d,3> o (2,%d,%d):(%d,%d,1)}", g->t, rows,
	                    k,
	                    base, rows, k, rows * k, k);
}

/* What instances of n columns leave in a team's registers. */
static const char *
sums(const Gemm *g)
{
	int groups = g->warps / 4, rows = g->m / groups / g->teams / 64;

	ck_assert_int_eq(rows, 1);
	return arena_printf(u->arena,
	                    "reg %s[%d, %d] "
	                    "@{((8,2,4,%d),(2,4,%d)):((4@lane,2@reg,1@warp,4@warp),(1@reg,1@lane,"
	                    "4@reg))}",
	                    g->acc, g->m / g->teams, g->n, groups, g->n / 8);
}

static void
head(Text *t, const Gemm *g, int k)
{
	text_printf(t,
	            "kernel gemm {\n  warps %d\n  teams %d\n  producer_warps 4\n  registers 168\n  smem %d\n"
	            "  param %%1.A tensor A : global %s[?, ?] read size %%4, %%5 stride %%5, %%7\n"
	            "  param %%2.B tensor B : global %s[?, ?] read size %%6, %%5 stride %%5, %%7\n"
	            "  param %%3.C tensor C : global %s[?, ?] written size %%4, %%6 stride %%6, %%7\n"
	            "  param %%4.M size M : i64 mult 1 lo 0 hi 100000\n"
	            "  param %%5.K size K : i64 mult 16 lo 0 hi 100000\n"
	            "  param %%6.N size N : i64 mult 8 lo 0 hi 100000\n"
	            "  map %%1 %s box %d, %d size %%5, %%4 stride %%5 swizzle 128 l2 256\n"
	            "  map %%2 %s box %d, %d size %%5, %%6 stride %%5 swizzle 128 l2 256\n",
	            g->warps, g->teams, 2 * (g->m + g->n) * 128 + 32, g->t, g->t, g->acc, g->t, k, g->m,
	            g->t, k,
	            g->n);
	text_printf(t,
	            "  grid {\n    %%10 = const value %d : i64\n    %%11 = add %%4, %%10 : i64\n"
	            "    %%12 = const value %d : i64\n    %%13 = div %%11, %%12 : i64\n"
	            "    %%14 = const value %d : i64\n    %%15 = add %%6, %%14 : i64\n"
	            "    %%16 = const value %d : i64\n    %%17 = div %%15, %%16 : i64\n"
	            "    %%18 = const value 1 : i64\n    yield %%13, %%17, %%18\n  }\n",
	            g->m - 1, g->m, g->n - 1, g->n);
	text_printf(t,
	            "  body {\n    %%7 = const value 1 : i64\n    %%8 = const value 0 : i64\n"
	            "    %%9 = const value 2 : i64\n"
	            "    %%19 = block_id : i64\n    %%20 = const value %d : i64\n"
	            "    %%21 = mul %%19, %%20 : i64\n"
	            "    %%22 = block_id axis 1 : i64\n    %%23 = const value %d : i64\n"
	            "    %%24 = mul %%22, %%23 : i64\n    %%25 = const value %d : i64\n"
	            "    %%26 = alloc align 1024 : %s\n    %%27 = alloc offset %d align 1024 : %s\n"
	            "    %%28 = mbarrier offset %d arrivals 1 : shared u64[2]\n"
	            "    %%29 = mbarrier offset %d arrivals %d : shared u64[2]\n",
	            g->m, g->n, k, tile(g, g->m, k), 2 * g->m * 128, tile(g, g->n, k),
	            2 * (g->m + g->n) * 128, 2 * (g->m + g->n) * 128 + 16, g->teams);
}

static void
producer(Text *t, const Gemm *g, int k)
{
	text_printf(t,
	            "    roles producer 40 consumer 232 {\n      for %%8, %%5, %%25 { (%%30 : i64)\n"
	            "        %%31 = div %%30, %%25 : i64\n        %%32 = mod %%31, %%9 : i64\n"
	            "        %%33 = div %%31, %%9 : i64\n        %%34 = add %%33, %%7 : i64\n"
	            "        mbarrier_wait %%29, %%32, %%34\n"
	            "        %%35 = view %%1, %%21, %%30 : global %s[%d, %d]\n"
	            "        %%36 = view %%26, %%32, %%8, %%8 dropped 1 : shared %s[%d, %d]\n"
	            "        copy %%35, %%36, %%28, %%32 async 2 lowering { access inst tma_load vec "
	            "1 tensor_map 1 }\n"
	            "        %%37 = view %%2, %%24, %%30 : global %s[%d, %d]\n"
	            "        %%38 = view %%27, %%32, %%8, %%8 dropped 1 : shared %s[%d, %d]\n"
	            "        copy %%37, %%38, %%28, %%32 async 2 lowering { access inst tma_load vec "
	            "1 tensor_map 2 }\n"
	            "        mbarrier_arrive %%28, %%32 expect 1 arrive_count 1\n        yield\n      }\n"
	            "      yield\n    } else {\n",
	            g->t, g->m, k, g->t, g->m, k, g->t, g->n, k, g->t, g->n, k);
}

static void
consumer(Text *t, const Gemm *g, int k)
{
	const char *acc = sums(g);

	text_printf(t,
	            "      %%40 = consumer_group_id : i64\n      %%41 = const value %d : i64\n"
	            "      %%42 = mul %%40, %%41 : i64\n"
	            "      %%43 = add %%21, %%42 : i64\n      %%44 = const %s : %s\n"
	            "      %%45 = for %%8, %%5, %%25, %%44 : %s { (%%46 : i64, %%47 : %s)\n"
	            "        %%48 = div %%46, %%25 : i64\n        %%49 = mod %%48, %%9 : i64\n"
	            "        %%50 = div %%48, %%9 : i64\n        mbarrier_wait %%28, %%49, %%50\n"
	            "        %%51 = view %%26, %%49, %%42, %%8 dropped 1 : shared %s[%d, %d]\n"
	            "        %%52 = view %%27, %%49, %%8, %%8 dropped 1 : shared %s[%d, %d]\n"
	            "        %%53 = lt %%8, %%46 : bool\n        wgmma_fence\n",
	            g->m / g->teams, g->start, acc, acc, acc, g->t, g->m / g->teams, k, g->t, g->n, k);
	text_printf(t,
	            "        %%54 = wgmma %%51, %%52, %%47%s transposed 2 : %s lowering { dot inst %s n %d "
	            "a { k width 128 "
	            "lead 0 stride 1024 } b { k width 128 lead 0 stride 1024 } }\n"
	            "        wgmma_commit\n        wgmma_wait\n        mbarrier_arrive %%29, %%49 "
		    "arrive_count %d\n"
	            "        yield %%54\n      }\n"
	            "      %%55 = view %%3, %%43, %%24 : global %s[%d, %d]\n"
	            "      store %%45, %%55 lowering { access inst st_global_%d vec 2 }\n"
	            "      yield\n    }\n    yield\n  }\n}\n",
	            g->once ? ", %53" : "", acc, g->inst, g->each, g->warps / 4, g->acc,
	            g->m / g->teams, g->n,
	            2 * bits_of(g->acc));
}

static const char *
gemm(const Gemm *g)
{
	Text t = { .arena = u->arena };
	int k = 128 * 8 / bits_of(g->t);

	u->target = target_find("sm_90a");
	head(&t, g, k);
	producer(&t, g, k);
	consumer(&t, g, k);
	return t.s;
}

static const Gemm gemms[] = {
	{ "wgmma_f32_f16_ss", "f16", "f32", 64, 16, 16, 4, 1, "", false, 1e-4 },
	{ "wgmma_f32_f16_ss", "f16", "f32", 128, 32, 16, 8, 1, "", false, 1e-4 }, /* two along n */
	{ "wgmma_f32_f16_ss", "f16", "f32", 128, 24, 24, 4, 2, "", false, 1e-4 },    /* two teams */
	{ "wgmma_f32_f16_ss", "f16", "f32", 64, 64, 32, 4, 1, "fimm 5", false, 1e-4 }, /* from 5 */
	{ "wgmma_f32_f16_ss", "f16", "f32", 64, 8, 8, 4, 1, "fimm 5", true, 1e-4 },       /* and do not */
	{ "wgmma_f16_f16_ss", "f16", "f16", 64, 32, 32, 4, 1, "", false, 2e-2 },
	{ "wgmma_f32_bf16_ss", "bf16", "f32", 128, 16, 16, 8, 1, "", false, 1e-4 },
	{ "wgmma_f32_e4m3_e4m3_ss", "e4m3", "f32", 64, 16, 16, 4, 1, "", false, 1e-3 },
	{ "wgmma_s32_s8_s8_ss", "i8", "i32", 128, 16, 16, 4, 2, "imm 7", false, 0 },
};

TEST_EACH(product_of_stages, COUNT_OF(gemms))
{
	static const char *const sizes[] = { "M=128 N=64 K=512", "M=200 N=72 K=208", "M=8 N=8 K=16" };

	for (size_t s = 0; s < COUNT_OF(sizes); s++)
		ptx_compare(u, gemm(&gemms[_i]), sizes[s], 1 + 8 * (uint64_t)s, gemms[_i].tol);
}

/* ---- what the text says ---------------------------------------------------------------------------- */

TEST(roles_share_registers_and_barriers)
{
	const char *ptx = ptx_of(u, gemm(&gemms[2]));

	ck_assert_int_eq(ptx_count(ptx, ".maxnreg 168"), 1);
	ck_assert_int_eq(ptx_count(ptx, ".reqntid 384, 1, 1"), 1);
	ck_assert_int_eq(ptx_count(ptx, "setmaxnreg.dec.sync.aligned.u32 40;"), 1);
	ck_assert_int_eq(ptx_count(ptx, "setmaxnreg.inc.sync.aligned.u32 232;"), 1);
	ck_assert_int_eq(ptx_count(ptx, "mbarrier.init"), 4);
	ck_assert_int_eq(ptx_count(ptx, "elect.sync"), 1);
	ck_assert_int_eq(ptx_count(ptx, "mbarrier.arrive.expect_tx.shared::cta.b64 _, "), 1);
	ck_assert_int_eq(ptx_count(ptx, ".param .align 64 .b8 gemm_param_6[128]"), 1);
	ck_assert_int_eq(ptx_count(ptx, ".align 1024 .b8 hexc_smem[]"), 1);
}

/* Sums stay in registers of one name: declared once, zeroed once, read once. */
TEST(sums_have_names)
{
	const char *ptx = ptx_of(u, gemm(&gemms[0]));

	ck_assert_int_eq(ptx_count(ptx, ".reg .f32 hx_f<8>;"), 1);
	ck_assert_int_eq(ptx_count(ptx, "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {hx_f0, "), 4);
	ck_assert_int_eq(ptx_count(ptx, ", hx_f7;"), 1);
	ck_assert_int_eq(ptx_count(ptx, "mov.b32 hx_f7, "), 1);
}

/* ---- what products read and write ------------------------------------------------------------------ */

/* One step on one tile, filled by threads: `code` between the fill and the store of %60, an f32[64, 64] that
 * a team has, from %30 : f16[64, 64] with A, %31 with B, in shared memory, and %32, A in registers. */
static const char *
step(const char *code)
{
	u->target = target_find("sm_90a");
	return arena_printf(
		u->arena,
		"kernel step {\n  warps 4\n  producer_warps 4\n  smem 16392\n"
		"  param %%1 tensor A : global f16[?, ?] read size %%4, %%4 stride %%4, %%7\n"
		"  param %%2 tensor B : global f16[?, ?] read size %%4, %%4 stride %%4, %%7\n"
		"  param %%3 tensor C : global f32[?, ?] written size %%4, %%4 stride %%4, %%7\n"
		"  param %%4 size N : i64 mult 64 lo 64 hi 64\n"
		"  map %%1 f16 box 64, 64 size %%4, %%4 stride %%4 swizzle 128 l2 0\n"
		"  map %%2 f16 box 64, 64 size %%4, %%4 stride %%4 swizzle 128 l2 0\n"
		"  map %%3 f32 box 32, 64 size %%4, %%4 stride %%4 swizzle 128 l2 0\n"
		"  grid {\n    %%5 = const value 1 : i64\n    yield %%5, %%5, %%5\n  }\n"
		"  body {\n    %%7 = const value 1 : i64\n    %%8 = const value 0 : i64\n"
		"    %%9 = const value 3 : i64\n"
		"    %%30 = alloc align 1024 : shared f16[64, 64] @{Sw<3,3,3> o (64,64):(64,1)}\n"
		"    %%31 = alloc offset 8192 align 1024 : shared f16[64, 64] @{Sw<3,3,3> o (64,64):(64,1)}\n"
		"    %%33 = mbarrier offset 16384 arrivals 1 : shared u64[1]\n"
		"    %%20 = view %%1, %%8, %%8 : global f16[64, 64]\n"
		"    %%21 = view %%2, %%8, %%8 : global f16[64, 64]\n"
		"    %%22 = view %%3, %%8, %%8 : global f32[64, 64]\n"
		"    roles {\n"
		"      copy %%20, %%30, %%33, %%8 async 2 lowering { access inst tma_load vec 1 "
		"tensor_map 1 }\n"
		"      copy %%21, %%31, %%33, %%8 async 2 lowering { access inst tma_load vec 1 "
		"tensor_map 2 }\n"
		"      mbarrier_arrive %%33, %%8 expect 1 arrive_count 1\n      yield\n    } else {\n"
		"%s      mbarrier_wait %%33, %%8, %%8\n%s"
		"      store %%60, %%22 lowering { access inst st_global_64 vec 2 }\n"
		"      yield\n    }\n    yield\n  }\n}\n",
		strstr(code, "%32,") ? "      %32 = load %20 : reg f16[64, 64] "
				       "@{((8,2,4),(2,4,2,4)):((4@lane,2@reg,1@warp),"
				       "(1@reg,1@lane,4@reg,8@reg))} "
				       "lowering { access inst ld_global_32 vec 2 }\n"
				     : "",
		code);
}

#define ACC "reg f32[64, 64] @{((8,2,4),(2,4,8)):((4@lane,2@reg,1@warp),(1@reg,1@lane,4@reg))}"
#define MATRIX_K "{ k width 128 lead 0 stride 1024 }"
#define MATRIX_MN "{ mn width 128 lead 8192 stride 1024 }"
#define ROW(name, a, b) " lowering { dot inst wgmma_f32_f16_" name " n 64 " a "b " b " }\n"

/* A[M, K] B[N, K]^T, and with neighbours along m or n. */
TEST_EACH(majors, 4)
{
	const char *a = _i & 1 ? MATRIX_MN : MATRIX_K, *b = _i & 2 ? MATRIX_K : MATRIX_MN;

	ptx_compare(u,
	            step(arena_printf(u->arena,
	                                 "      %%50 = const value 0 : " ACC "\n      wgmma_fence\n"
	                                 "      %%60 = wgmma %%30, %%31, %%50 transposed %d : " ACC
	                                 " lowering { dot inst wgmma_f32_f16_ss n 64 a %s b %s }\n"
	                                 "      wgmma_commit\n      wgmma_wait\n",
	                              _i, a, b)),
	            "N=64", 1, 1e-4);
}

TEST(factor_in_registers)
{
	const char *ir = step("      %50 = const value 3.0 : " ACC "\n      wgmma_fence\n"
	                         "      %60 = wgmma %32, %31, %50 transposed 2 : " ACC ROW("rs", "", MATRIX_K)
	                         "      wgmma_commit\n      wgmma_wait\n");

	ptx_compare(u, ir, "N=64", 1, 1e-4);
	ck_assert_int_eq(ptx_count(ptx_of(u, ir), "{hx_b12, hx_b13, hx_b14, hx_b15}"), 1);
}

/* Two sums of which each becomes the other in every turn: they cannot all be in one place. */
TEST(sums_change_places)
{
	const char *ir = step("      %50 = const value 1.0 : " ACC "\n      %51 = const value 2.0 : " ACC "\n"
		   "      %52, %53 = for %8, %9, %7, %50, %51 : " ACC ", " ACC " { (%54 : i64, %55 : " ACC
		   ", %56 : " ACC ")\n        wgmma_fence\n"
		   "        %57 = wgmma %30, %31, %55 transposed 2 : "
		   "" ACC ROW("ss", "a " MATRIX_K " ", MATRIX_K)
		   "        wgmma_commit\n        wgmma_wait\n        yield %56, %57\n      }\n"
		   "      %58 = const value 4.0 : " ACC "\n      %59 = mul %53, %58 : " ACC "\n"
		   "      %60 = add %52, %59 : " ACC
		   "\n");

	ptx_compare(u, ir, "N=64", 1, 1e-3);
}

/* One value goes into two products: the second does not see what the first added. */
TEST(sum_used_twice)
{
	const char *ir =
		step("      %50 = const value 1.0 : " ACC "\n      wgmma_fence\n"
	                "      %51 = wgmma %30, %31, %50 transposed 2 : "
	             ACC ROW("ss", "a " MATRIX_K " ", MATRIX_K)
	                "      wgmma_commit\n      wgmma_wait\n      wgmma_fence\n"
	                "      %52 = wgmma %30, %31, %51 transposed 2 : "
	             ACC ROW("ss", "a " MATRIX_K " ", MATRIX_K)
	                "      wgmma_commit\n      wgmma_wait\n      wgmma_fence\n"
	                "      %53 = wgmma %31, %30, %51 transposed 2 : "
	             ACC ROW("ss", "a " MATRIX_K " ", MATRIX_K)
	                "      wgmma_commit\n      wgmma_wait\n      %54 = const value 8.0 : " ACC "\n"
	                "      %55 = mul %53, %54 : " ACC
	                "\n      %60 = add %52, %55 : " ACC "\n");

	ptx_compare(u, ir, "N=64", 1, 1e-3);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);
