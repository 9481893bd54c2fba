/* test_interp_roles.c - tests warp roles in the tile interpreter: their results, and the faults it reports
 * for missing waits. */
#include "test/interp/util_interp.h"
#include "test/ir/util_unit.h"
#include <string.h>

static Run r;

/* A product by one producer and teams; what stands between the parts is changed by the tests. */
static const char gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    assume K % 8 == 0\n"
	"    tune BM = 16, BN = 32, BK = 16, STAGES = 1..4 default 3\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared f16[STAGES, BM, BK], b: shared f16[STAGES, BN, BK];\n"
	"    let full: mbarrier[STAGES] = 1, empty: mbarrier[STAGES] = 1;\n"
	"    roles {\n"
	"        producer warps 1 {\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await empty[s], turn / STAGES + 1;\n"
	"                async copy(A[m :+ BM, k :+ BK], a[s], full[s]);\n"
	"                async copy(B[n :+ BN, k :+ BK], b[s], full[s]);\n"
	"                arrive full[s];\n"
	"            }\n"
	"        }\n"
	"        consumer warps 4 {\n"
	"            var acc: register f32[BM, BN] = 0;\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await full[s], turn / STAGES;\n"
	"                acc += async dot(a[s], b[s].T);\n"
	"                wait dots 0;\n"
	"                arrive empty[s];\n"
	"            }\n"
	"            C[m :+ BM, n :+ BN] = acc;\n"
	"        }\n"
	"    }\n"
	"}\n";

/* The program with `was` replaced. */
static const char *
changed(const char *src, const char *was, const char *is)
{
	const char *at = strstr(src, was);

	ck_assert_msg(at != NULL, "no %s", was);
	return arena_printf(u->arena, "%.*s%s%s", (int)(at - src), src, is, at + strlen(was));
}

static void
go(const char *src, const char *defines, const char *sizes)
{
	run_bounded(&r, u, src, defines, sizes, 1);
	for (int64_t i = 0; i < run_arg(&r, "A")->count; i++)
		run_put(&r, "A", i, (double)((i * 7 + i / 13) % 9 - 4));
	for (int64_t i = 0; i < run_arg(&r, "B")->count; i++)
		run_put(&r, "B", i, (double)((i * 5 + i / 11) % 7 - 3));
}

static void
check_gemm(int64_t m, int64_t n, int64_t k)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = 0;

			for (int64_t p = 0; p < k; p++)
				sum += run_get(&r, "A", i * k + p) * run_get(&r, "B", j * k + p);
			ck_assert_msg(run_get(&r, "C", i * n + j) == sum, "C[%lld, %lld] is %g, not %g",
			              (long long)i, (long long)j, run_get(&r, "C", i * n + j), sum);
		}
}

static const char *const stages[] = { "STAGES=1", "STAGES=2", "STAGES=3", "STAGES=4" };
static const InterpOpt late = { .late = true };

/* Copies may land at once, or as late as the barriers let them; stages may be more than there are turns. */
TEST_EACH(products, COUNT_OF(stages))
{
	for (int i = 0; i < 2; i++) {
		go(gemm, stages[_i], "M=37 N=41 K=72");
		run_ok(&r, i ? &late : NULL);
		check_gemm(37, 41, 72);
		go(gemm, stages[_i], "M=16 N=32 K=16");
		run_ok(&r, i ? &late : NULL);
		check_gemm(16, 32, 16);
	}
}

/* One product more is under way when a stage is left. */
TEST(release_of_the_stage_before)
{
	const char *src = changed(gemm, "wait dots 0;\n                arrive empty[s];",
	                          "wait dots 1;\n"
	                          "                if k > 0 {\n"
	                          "                    arrive empty[(turn - 1) % STAGES];\n"
	                          "                }");

	src = changed(src, "            C[m", "            wait dots 0;\n            C[m");
	go(src, "STAGES=3", "M=37 N=41 K=72");
	run_ok(&r, &late);
	check_gemm(37, 41, 72);
}

/* Each team takes rows of its own of every stage. */
TEST(teams)
{
	const char *src = changed(gemm, "warps 4 {", "warps 4 teams 2 {");

	src = changed(src, "empty: mbarrier[STAGES] = 1", "empty: mbarrier[STAGES] = 2");
	src = changed(src, "f32[BM, BN] = 0", "f32[BM / 2, BN] = 0");
	src = changed(src, "dot(a[s],", "dot(a[s, team * (BM / 2) :+ BM / 2, :],");
	src = changed(src, "C[m :+ BM,", "C[m + team * (BM / 2) :+ BM / 2,");
	for (int i = 0; i < 2; i++) {
		go(src, "STAGES=2", "M=37 N=41 K=72");
		run_ok(&r, i ? &late : NULL);
		check_gemm(37, 41, 72);
	}
}

/* What a role has in shared memory: each team its own, fresh in every block. */
TEST(tiles_of_a_team)
{
	const char *src = changed(gemm, "warps 4 {", "warps 4 teams 2 {");

	src = changed(src, "empty: mbarrier[STAGES] = 1", "empty: mbarrier[STAGES] = 2");
	src = changed(src, "f32[BM, BN] = 0", "f32[BM / 2, BN] = 0");
	src = changed(src, "dot(a[s],", "dot(a[s, team * (BM / 2) :+ BM / 2, :],");
	src = changed(src, "C[m :+ BM, n :+ BN] = acc;",
	              "let c: shared = acc;\n"
	              "            async store(c, C[m + team * (BM / 2) :+ BM / 2, n :+ BN]);\n"
	              "            wait stores 0;");
	go(src, "STAGES=2", "M=37 N=41 K=72");
	run_ok(&r, &late);
	check_gemm(37, 41, 72);
}

/* was, is, what is said of it; `late` finds what is left to luck else */
static const struct {
	const char *was, *is, *say;
} wrong[] = {
	{ "turn / STAGES + 1", "turn / STAGES",
	  "deadlock: the producer waits in line 13 for phase 0 of `empty[0]`, consumer group 0 waits in "
	  "line 23 for "
	  "phase 0 of `full[0]`" },
	{ "await full[s], turn / STAGES;", "await full[s], turn / STAGES + 1;", "uninitialized element" },
	{ "await full[s], turn / STAGES;",
	  "if K < 0 {\n                    await full[s], 0;\n                }", "uninitialized element" },
	{ "arrive empty[s];", "", "deadlock: the producer waits in line 13 for phase 0 of `empty[0]`" },
	{ "full: mbarrier[STAGES] = 1", "full: mbarrier[STAGES] = 2", "consumer group 0 waits in line 23" },
	{ "await empty[s], turn / STAGES + 1;", "", "deadlock" },
	{ "wait dots 0;\n                arrive empty[s];",
	  "arrive empty[(s + STAGES) % STAGES];\n                wait dots 0;",
	  "read shared memory that was overwritten before the wait for it" },
	{ "a[s], full[s]);\n                async copy(B[n :+ BN, k :+ BK], b[s], full[s]);\n"
	  "                arrive full[s];",
	  "a[s], full[turn * 100000]);\n"
	  "                async copy(B[n :+ BN, k :+ BK], b[s], full[turn * 100000]);\n"
	  "                arrive full[turn * 100000];",
	  "mbarrier 100000 of `full` is out of range [0, 3)" },
	{ "await full[s], turn", "await full[turn % (2 * STAGES)], turn",
	  "mbarrier 3 of `full` is out of range [0, 3)" },
};

TEST_EACH(what_goes_wrong, COUNT_OF(wrong))
{
	const char *src = changed(gemm, wrong[_i].was, wrong[_i].is);

	if (strcmp(wrong[_i].is, "") == 0 && strstr(wrong[_i].was, "arrive empty"))
		src = changed(src, "            C[m",
		              "            if K < 0 {\n"
		              "                arrive empty[0];\n"
		              "            }\n"
		              "            C[m");
	go(src, "STAGES=3", "M=16 N=32 K=96");
	run_fails(&r, &late, INTERP_E_FAULT, wrong[_i].say);
}

TEST_PROGRAM(UNIT_FIXTURE);
