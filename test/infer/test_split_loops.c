/* test_split_loops.c - tests that range analysis proves the views of a main loop in bounds, and not those of
 * the remainder. In C: the IR's text does not tell. split_loops.hexc has the rest. */
#include "hexc/analysis/analysis.h"
#include "infer/core/solution.h"
#include "hexc/pass/pass.h"
#include "test/infer/util_infer.h"
#include "test/util_arena.h"

static const char gemm[] =
	"kernel gemm(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    const BM = 32, BN = 32, BK = 16, STAGES = 3, WARPS = 2\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    var acc: register f32[BM, BN] = 0;\n"
	"    pipeline k in 0..K step BK stages STAGES {\n"
	"        let a: shared = A[m :+ BM, k :+ BK];\n"
	"        let b: shared = B[n :+ BN, k :+ BK];\n"
	"        acc += dot(a, b.T);\n"
	"    }\n"
	"    C[m :+ BM, n :+ BN] = acc;\n"
	"}\n";

TEST(views_are_inside)
{
	Kernel *k = infer_solved(&arena, gemm, "sm_80", 0)->k;
	OpWalk w;
	int n = 0;

	pass_split_loops(k);
	for (Op *o = walk_first(&w, infer_loop(k, SPLIT_MAIN)->blk[0]); o; o = walk_next(&w))
		if (o->code == O_copy)
			for (int d = 0; d < 2; d++, n++)
				ck_assert(view_in_bounds(k, o->in[0]->def, d));
	ck_assert_int_eq(n, 4);
	for (Op *o = walk_first(&w, infer_loop(k, SPLIT_REMAINDER)->blk[0]); o; o = walk_next(&w))
		if (o->code == O_copy)
			for (int d = 0; d < 2; d++)
				ck_assert(!view_in_bounds(k, o->in[0]->def, d));
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
