/* test_emit_gemm.c - tests complete kernels with hand-written layouts: vector add, f16 GEMM with cp.async,
 * ldmatrix and mma, with partial tiles. */
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- vector add ------------------------------------------------------------------------------ */

#define V "@{((8,32,4)):((1@reg,1@lane,1@warp))}"

static const char vadd[] =
	"kernel vadd {\n  warps 4\n"
	"  param %1.A tensor A : global f16[?] read size %4 stride %5\n"
	"  param %2.B tensor B : global f16[?] read size %4 stride %5\n"
	"  param %3.C tensor C : global f16[?] written size %4 stride %5\n"
	"  param %4.N size N : i64 mult 8 lo 1 hi 1000000\n"
	"  grid {\n    %6 = const value 1 : i64\n    yield %6, %6, %6\n  }\n"
	"  body {\n"
	"    %5 = const value 1 : i64\n"
	"    %10 = block_id : i64\n"
	"    %11 = const value 1024 : i64\n"
	"    %12 = mul %10, %11 : i64\n"
	"    %20 = view %1, %12 : global f16[1024]\n"
	"    %21 = view %2, %12 : global f16[1024]\n"
	"    %22 = load %20 : reg f16[1024] " V " lowering { access inst ld_global_128 vec 8 }\n"
	"    %23 = load %21 : reg f16[1024] " V " lowering { access inst ld_global_128 vec 8 }\n"
	"    %24 = add %22, %23 : reg f16[1024] " V "\n"
	"    %25 = view %3, %12 : global f16[1024]\n"
	"    store %24, %25 lowering { access inst st_global_128 vec 8 }\n"
	"    yield\n  }\n}\n";

TEST(vector_add)
{
	enum { N = 3000 };
	uint16_t a[N], b[N], c[N];
	PtxArg arg[4] = { { a, sizeof a, 0 }, { b, sizeof b, 0 }, { c, sizeof c, 0 }, { NULL, 0, N } };
	uint32_t seed = 1;

	for (int i = 0; i < N; i++) {
		a[i] = half_of((double)ptx_random(&seed, 2000) / 8);
		b[i] = half_of((double)ptx_random(&seed, 2000) / 8 - 100);
		c[i] = 0;
	}
	ptx_run(u, vadd, (const uint32_t[3]){ 3, 1, 1 }, arg, 4, NULL);
	for (int i = 0; i < N; i++)
		ck_assert_uint_eq(c[i], half_of(half_value(a[i]) + half_value(b[i])));
}

/* ---- matrix product -------------------------------------------------------------------------- */

/* 128 x 128 x 32 tiles, 4 warps as 2 x 2, ST stages; C = A[M,K] W[N,K]^T.  Registers in the
 * instruction's order. */
#define ACC "@{((8,2,2,4),(2,4,2,8)):((4@lane,2@reg,1@warp,4@reg),(1@reg,1@lane,2@warp,16@reg))}"
#define LA                                                                                         \
	"@{((8,2,2,4),(2,4,2,2)):((4@lane,2@reg,1@warp,8@reg),(1@reg,1@lane,4@reg,32@reg))+[2:2@warp]}"
#define MA "{((8,2,2,4),(8,2,2)):((1@lane,8@lane,1@warp,8@reg),(1@reg,16@lane,32@reg))+[2:2@warp]}"
#define LW "@{((8,2,8),(2,4,2,2)):((4@lane,2@warp,4@reg),(1@reg,1@lane,2@reg,32@reg))+[2:1@warp]}"
#define LB "@{((2,4,2,2),(8,2,8)):((1@reg,1@lane,2@reg,32@reg),(4@lane,2@warp,4@reg))+[2:1@warp]}"
#define MW "{((8,2,2,4),(8,2,2)):((1@lane,2@warp,16@lane,8@reg),(1@reg,8@lane,32@reg))+[2:1@warp]}"
#define CP "{((8,4,4),(8,4)):((4@lane,1@warp,8@reg),(1@reg,1@lane))}"

static void
gemm_copies(Text *t, int id, const char *k, const char *slot)
{
	text_printf(t,
	            "    %%%d = view %%1, %%14, %s : global f16[128, 32]\n"
	            "    %%%d = view %%20, %s, %%16, %%16 dropped 1 : shared f16[128, 32]\n"
	            "    copy %%%d, %%%d async 1 lowering { access inst cp_async_16 vec 8 map " CP " }\n"
	            "    %%%d = view %%2, %%15, %s : global f16[128, 32]\n"
	            "    %%%d = view %%21, %s, %%16, %%16 dropped 1 : shared f16[128, 32]\n"
	            "    copy %%%d, %%%d async 1 lowering { access inst cp_async_16 vec 8 map " CP " }\n",
	            id, k, id + 1, slot, id, id + 1, id + 2, k, id + 3, slot, id + 2, id + 3);
}

static void
gemm_head(Text *t, int st)
{
	text_printf(t,
	            "kernel gemm {\n  warps 4\n  smem %d\n"
	            "  param %%1.A tensor A : global f16[?, ?] read size %%4, %%6 stride %%6, %%10\n"
	            "  param %%2.W tensor W : global f16[?, ?] read size %%5, %%6 stride %%6, %%10\n"
	            "  param %%3.C tensor C : global f16[?, ?] written size %%4, %%5 stride %%5, %%10\n"
	            "  param %%4.M size M : i64 mult 1 lo 1 hi 1000000\n"
	            "  param %%5.N size N : i64 mult 2 lo 1 hi 1000000\n"
	            "  param %%6.K size K : i64 mult 8 lo 1 hi 1000000\n"
	            "  grid {\n    %%200 = const value 1 : i64\n    yield %%200, %%200, %%200\n  }\n"
	            "  body {\n"
	            "    %%10 = const value 1 : i64\n    %%11 = block_id : i64\n"
	            "    %%12 = block_id axis 1 : i64\n    %%13 = const value 128 : i64\n"
	            "    %%14 = mul %%11, %%13 : i64\n    %%15 = mul %%12, %%13 : i64\n"
	            "    %%16 = const value 0 : i64\n    %%17 = const value 32 : i64\n"
	            "    %%18 = const value %d : i64\n    %%19 = const value %d : i64\n"
	            "    %%20 = alloc align 16 : shared f16[%d, 128, 32] @{Sw<2,3,3> o "
	            "(%d,128,32):(4096,32,1)}\n"
	            "    %%21 = alloc offset %d align 16 : shared f16[%d, 128, 32] @{Sw<2,3,3> o "
	            "(%d,128,32):(4096,32,1)}\n",
	            st * 16384, (st - 1) * 32, st, st, st, st * 8192, st, st);
}

/* Prologue: the first st - 1 stages. */
static void
gemm_prologue(Text *t, int st)
{
	for (int s = 0; s < st - 1; s++) {
		const char *k = arena_printf(u->arena, "%%%d", 300 + s), *slot;

		slot = arena_printf(u->arena, "%%%d", 310 + s);
		text_printf(t, "    %s = const value %d : i64\n    %s = const value %d : i64\n", k,
		            s * 32, slot, s);
		text_printf(t, "    %%%d = lt %s, %%6 : bool\n    if %%%d {\n", 320 + s, k, 320 + s);
		gemm_copies(t, 330 + 10 * s, k, slot);
		text_printf(t, "    yield\n    } else {\n    yield\n    }\n    async_commit\n");
	}
}

static const char *
gemm_text(int st)
{
	Text t = { u->arena, NULL, 0, 0 };

	gemm_head(&t, st);
	gemm_prologue(&t, st);
	text_printf(&t,
	            "    %%50 = const value 0.0 : reg f32[128, 128] " ACC "\n    %%51 = const value %d : "
	                                                                  "i64\n"
	            "    %%60, %%61, %%62 = for %%16, %%6, %%17, %%50, %%16, %%51 : reg f32[128, "
	            "128] " ACC
	            ", i64, i64 { (%%63 : i64, %%64 : reg f32[128, 128] " ACC ", %%65 : i64, "
	            "%%66 : i64)\n"
	            "    async_wait pending %d\n    barrier\n"
	            "    %%67 = add %%63, %%18 : i64\n    %%68 = lt %%67, %%6 : bool\n    if %%68 {\n",
	            st - 1, st - 2);
	gemm_copies(&t, 70, "%67", "%66");
	text_printf(
		&t,
		"    yield\n    } else {\n    yield\n    }\n    async_commit\n"
		"    %%80 = view %%20, %%65, %%16, %%16 dropped 1 : shared f16[128, 32]\n"
		"    %%81 = load %%80 : reg f16[128, 32] " LA " lowering { access inst ldmatrix_x4 vec "
		"8 map " MA " }\n"
		"    %%82 = view %%21, %%65, %%16, %%16 dropped 1 : shared f16[128, 32]\n"
		"    %%83 = load %%82 : reg f16[128, 32] " LW " lowering { access inst ldmatrix_x4 vec "
		"8 map " MW " }\n"
		"    %%84 = transpose %%83 perm 1, 0 : reg f16[32, 128] " LB "\n"
		"    %%85 = dot %%81, %%84, %%64 : reg f32[128, 128] " ACC
		" lowering { dot inst mma_m16n8k16_f32_f16 }\n"
		"    %%86 = add %%65, %%10 : i64\n    %%87 = eq %%86, %%19 : bool\n"
		"    %%88 = select %%87, %%16, %%86 : i64\n"
		"    %%89 = add %%66, %%10 : i64\n    %%90 = eq %%89, %%19 : bool\n"
		"    %%91 = select %%90, %%16, %%89 : i64\n"
		"    yield %%85, %%88, %%91\n    }\n    async_wait\n"
		"    %%100 = cast %%60 : reg f16[128, 128] " ACC "\n"
		"    %%101 = view %%3, %%14, %%15 : global f16[128, 128]\n"
		"    store %%100, %%101 lowering { access inst st_global_32 vec 2 }\n    yield\n  }\n}\n");
	return t.s;
}

static const struct { int m, n, k, stages; } sizes[] = {
	{ 128, 128, 128, 3 },
	{ 128, 256, 32, 3 },
	{ 100, 136, 200, 3 },
	{ 1, 64, 64, 2 },
	{ 257, 130, 72, 3 },
	{ 64, 256, 512, 4 },
};

TEST_EACH(gemm, COUNT_OF(sizes))
{
	int m = sizes[_i].m, n = sizes[_i].n, k = sizes[_i].k;
	size_t bytes[3] = { (size_t)(m * k) * 2, (size_t)(n * k) * 2, (size_t)(m * n) * 2 };
	uint16_t *a = malloc(bytes[0]), *w = malloc(bytes[1]), *c = calloc(1, bytes[2]);
	const PtxArg sizes_in[3] = { { NULL, 0, m }, { NULL, 0, n }, { NULL, 0, k } };
	PtxArg arg[6] = { { a, bytes[0], 0 }, { w, bytes[1], 0 }, { c, bytes[2], 0 } };
	uint32_t seed = 7, grid[3] = { (uint32_t)(m + 127) / 128, (uint32_t)(n + 127) / 128, 1 };
	PtxCounts counts;

	memcpy(&arg[3], sizes_in, sizeof sizes_in);
	for (int i = 0; i < m * k; i++)
		a[i] = half_of((double)ptx_random(&seed, 9) - 4);
	for (int i = 0; i < n * k; i++)
		w[i] = half_of((double)ptx_random(&seed, 9) - 4);
	ptx_run(u, gemm_text(sizes[_i].stages), grid, arg, 6, &counts);
	/* the layout of shared memory was chosen for this: no bank conflicts at all */
	ck_assert_uint_eq(counts.wavefronts, counts.wavefronts_min);
	for (int i = 0; i < m; i++) {
		for (int j = 0; j < n; j++) {
			double sum = 0;

			for (int x = 0; x < k; x++)
				sum += half_value(a[i * k + x]) * half_value(w[j * k + x]);
			ck_assert_msg(c[i * n + j] == half_of(sum), "C[%d,%d] = %g, not %g", i, j,
			              half_value(c[i * n + j]), sum);
		}
	}
	free(a);
	free(w);
	free(c);
}

/* All targets with cp.async, and what the main loop must consist of. */
TEST_EACH(gemm_ptx, 4)
{
	static const char *const arch[] = { "sm_80", "sm_86", "sm_89", "sm_90a" };
	const char *ptx;

	u->target = target_find(arch[_i]);
	ptx = ptx_of(u, gemm_text(3));
	ptx_assembles(u, ptx);
	ck_assert_int_eq(ptx_count(ptx, "mma.sync.aligned.m16n8k16"), 64);
	ck_assert_int_eq(ptx_count(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared"), 16);
	ck_assert_int_eq(ptx_count(ptx, "cp.async.cg.shared.global"), 3 * 8);
	ck_assert_int_eq(ptx_count(ptx, "bar.sync"), 1);
	ck_assert_int_eq(ptx_count(ptx, ".local"), 0);
}

/* What a turn is besides its products: the text from the loop's label to the branch back.  Copies are without
 * a branch, as pass pipeline makes them. */
TEST(gemm_ring)
{
	const char *ir = gemm_text(3), *branch = strstr(ir, "if %68 {"), *ptx, *from, *end;

	ptx = ptx_of(u, arena_printf(u->arena, "%.*s if %%68 zero_fill 1 {%s", (int)(branch - ir), ir,
	                             branch + 8));
	from = end = strstr(ptx, "bar.sync");
	while (strncmp(from, "$L_", 3) != 0)
		from--;
	end = strstr(end, "bra");
	ptx = arena_strndup(u->arena, from, (size_t)(end - from));
	/* each row from the row before, and two tensors that move: nothing is multiplied or shifted */
	ck_assert_int_eq(ptx_count(ptx, "add.s64"), 6 + 2);
	ck_assert_int_eq(ptx_count(ptx, "shl.b64") + ptx_count(ptx, "mul"), 0);
	/* what counts fits 32 bits; a copy's size is one predicate */
	ck_assert_int_eq(ptx_count(ptx, "setp.lt.s64") + ptx_count(ptx, "selp.b64"), 0);
	ck_assert_int_eq(ptx_count(ptx, "selp.b32"), 2 + 8);
	ck_assert_int_eq(ptx_count(ptx, "cp.async.cg"), 8);
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 300);
