/* test_split_loops.c - tests pass split_loops: the two loops compute the result of the original at every
 * boundary; which loops are split; and that the masks of the remainder are needed. */
#include "hexc/analysis/analysis.h"
#include "infer/core/solution.h"
#include "hexc/ir/verify/verify.h"
#include "hexc/pass/pass.h"
#include "infer/validate/validate.h"
#include "test/infer/util_infer.h"
#include "test/interp/util_interp.h"
#include "test/util_arena.h"
#include <string.h>

/* Queries see keys up to their own place, and (WINDOW) so far back. */
static const char attention[] =
	"kernel attention(Q: f16[M, D], K: f16[N, D], V: f16[N, D], O: out f16[M, D])\n"
	"    const D = 16, BM = 32, BN = 16, STAGES = 2, WARPS = 1\n"
	"    assume M <= N\n"
	"{\n"
	"    grid(ceil(M, BM));\n"
	"    let m = block.x * BM;\n"
	"    let q: shared = Q[m :+ BM, :];\n"
	"    var acc: register f32[BM, D] = 0;\n"
	"    var top: register f32[BM, 1] = -1e30, total: register f32[BM, 1] = 0;\n"
	"    pipeline n in 0..min(N, m + BM + N - M) step BN stages STAGES {\n"
	"        let k: shared = K[n :+ BN, :], v: shared = V[n :+ BN, :];\n"
	"        var s = dot(q, k.T);\n"
	"        let ahead = iota(1, BM, BN) - iota(0, BM, BN);\n"
	"        s = where(ahead <= i32(m - n + N - M), s, -inf);\n"
	"        let t = max(top, reduce_max(s, 1)), p = exp2(s - t), old = exp2(top - t);\n"
	"        total = total * old + sum(p, 1);\n"
	"        acc = acc * old + dot(f16(p), v);\n"
	"        top = t;\n"
	"    }\n"
	"    O[m :+ BM, :] = f16(acc / max(total, 1e-30));\n"
	"}\n";

/* A window: the last 40 keys, some of them always. */
static const char window[] =
	"kernel window(Q: f16[M, D], K: f16[N, D], V: f16[N, D], O: out f16[M, D])\n"
	"    const D = 16, BM = 32, BN = 16, STAGES = 2, WARPS = 1\n"
	"    assume M <= N\n"
	"{\n"
	"    grid(ceil(M, BM));\n"
	"    let m = block.x * BM, first = max(0, (m + N - M - 72) / BN * BN);\n"
	"    let q: shared = Q[m :+ BM, :];\n"
	"    var acc: register f32[BM, D] = 0;\n"
	"    var top: register f32[BM, 1] = -1e30, total: register f32[BM, 1] = 0;\n"
	"    pipeline n in first..min(N, m + BM + N - M) step BN stages STAGES {\n"
	"        let k: shared = K[n :+ BN, :], v: shared = V[n :+ BN, :];\n"
	"        var s = dot(q, k.T);\n"
	"        let ahead = iota(1, BM, BN) - iota(0, BM, BN), at = i32(m - n + N - M);\n"
	"        s = where(ahead <= at && ahead > at - 72, s, -inf);\n"
	"        let t = max(top, reduce_max(s, 1)), p = exp2(s - t), old = exp2(top - t);\n"
	"        total = total * old + sum(p, 1);\n"
	"        acc = acc * old + dot(f16(p), v);\n"
	"        top = t;\n"
	"    }\n"
	"    O[m :+ BM, :] = f16(acc / max(total, 1e-30));\n"
	"}\n";

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

/* A plain loop; a start that is no multiple of the step; loads a turn ahead; sums and largest elements. */
static const char rows[] =
	"kernel rows(X: f32[M, N], Y: out f32[M, 1], Z: out f32[M, 1], F: i32)\n"
	"    const WARPS = 1\n"
	"{\n"
	"    grid(ceil(M, 4));\n"
	"    let m = block.x * 4;\n"
	"    var sums: register f32[4, 1] = 0, most: register f32[4, 1] = -1e30;\n"
	"    pipeline n in 3..N step 32 stages 2 {\n"
	"        let x: register = X[m :+ 4, n :+ 32];\n"
	"        sums = sums + sum(x, 1);\n"
	"        most = max(most, reduce_max(where(iota(1, 4, 32) + i32(n) <= F, x, -1e20), 1));\n"
	"    }\n"
	"    Y[m :+ 4, 0 :+ 1] = sums;\n"
	"    Z[m :+ 4, 0 :+ 1] = most;\n"
	"}\n";

static const struct {
	const char *name, *source, *sizes;
} cases[] = {
	{ "attention", attention, "M=32 N=32" },  { "attention", attention, "M=32 N=160" },
	{ "attention", attention, "M=64 N=127" }, { "attention", attention, "M=64 N=128" },
	{ "attention", attention, "M=64 N=129" }, { "attention", attention, "M=33 N=34" },
	{ "attention", attention, "M=1 N=1" },    { "attention", attention, "M=5 N=15" },
	{ "attention", attention, "M=31 N=100" }, { "attention", attention, "M=100 N=100" },
	{ "attention", attention, "M=16 N=16" },  { "attention", attention, "M=128 N=143" },
	{ "window", window, "M=32 N=32" },        { "window", window, "M=32 N=160" },
	{ "window", window, "M=64 N=127" },       { "window", window, "M=128 N=128" },
	{ "window", window, "M=128 N=129" },      { "window", window, "M=97 N=210" },
	{ "window", window, "M=200 N=200" },      { "window", window, "M=1 N=1" },
	{ "window", window, "M=1 N=300" },        { "window", window, "M=33 N=71" },
	{ "gemm", gemm, "M=32 N=32 K=160" },      { "gemm", gemm, "M=32 N=32 K=159" },
	{ "gemm", gemm, "M=32 N=32 K=161" },      { "gemm", gemm, "M=33 N=31 K=96" },
	{ "gemm", gemm, "M=64 N=64 K=16" },       { "gemm", gemm, "M=64 N=64 K=15" },
	{ "gemm", gemm, "M=64 N=64 K=1" },        { "gemm", gemm, "M=64 N=64 K=0" },
	{ "gemm", gemm, "M=1 N=1 K=200" },        { "gemm", gemm, "M=65 N=64 K=47" },
	{ "gemm", gemm, "M=64 N=96 K=48" },       { "gemm", gemm, "M=64 N=96 K=49" },
	{ "rows", rows, "M=4 N=163" },            { "rows", rows, "M=4 N=162" },
	{ "rows", rows, "M=4 N=164" },            { "rows", rows, "M=9 N=100" },
	{ "rows", rows, "M=8 N=3" },              { "rows", rows, "M=8 N=2" },
	{ "rows", rows, "M=8 N=4" },              { "rows", rows, "M=8 N=0" },
	{ "rows", rows, "M=8 N=35" },             { "rows", rows, "M=8 N=67" },
};

static Run
launched(Kernel *k, const char *sizes)
{
	Run r = { .u = k->unit, .k = k };

	run_setup(&r, k, sizes, 7);
	for (int i = 0; i < k->nparam; i++)
		if (!strcmp(k->param[i].name, "F"))
			r.arg[i].i = 90;
	run_ok(&r, NULL);
	return r;
}

static Kernel *
solved(const char *source)
{
	return infer_solved(&arena, source, "sm_80", 0)->k;
}

static int
count(Block *b, OpCode code)
{
	int n = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		n += o->code == code;
	return n;
}

TEST_EACH(computes_the_same, COUNT_OF(cases))
{
	Kernel *one = solved(cases[_i].source), *two = kernel_copy(one);
	Run a = launched(one, cases[_i].sizes), b;

	ck_assert(pass_split_loops(two));
	ck_assert(infer_loop(two, SPLIT_MAIN) && infer_loop(two, SPLIT_REMAINDER));
	kernel_verify(two, "split_loops");
	pass_validate_loop_split(two);
	ck_assert_msg(two->unit->diag->nerror == 0, "%s", two->unit->diag->msg[0].text);
	b = launched(two, cases[_i].sizes);
	run_same(&a, &b, cases[_i].sizes);
}

/* What holds in last turns only takes a loop in front. */
TEST(front)
{
	Kernel *k = solved(window);

	pass_split_loops(k);
	ck_assert(infer_loop(k, SPLIT_PROLOGUE) != NULL);
	ck_assert_int_eq(count(infer_loop(k, SPLIT_PROLOGUE)->blk[0], O_select), 1);
	ck_assert_int_eq(count(infer_loop(k, SPLIT_MAIN)->blk[0], O_select), 0);
	k = solved(attention);
	pass_split_loops(k);
	ck_assert(infer_loop(k, SPLIT_PROLOGUE) == NULL);
}

/* The clear loop has no mask and no choice, the rest all. */
TEST(masks_are_gone)
{
	static const char *const source[] = { attention, rows };

	for (int i = 0; i < 2; i++) {
		Kernel *k = solved(source[i]);

		pass_split_loops(k);
		ck_assert_int_eq(count(infer_loop(k, SPLIT_MAIN)->blk[0], O_mask), 0);
		ck_assert_int_eq(count(infer_loop(k, SPLIT_MAIN)->blk[0], O_select), 0);
		ck_assert_int_gt(count(infer_loop(k, SPLIT_REMAINDER)->blk[0], O_mask), 0);
		ck_assert_int_gt(count(infer_loop(k, SPLIT_REMAINDER)->blk[0], O_select), 0);
	}
}

/* Views of the clear loop are known to be inside, those of the rest not. */
TEST(views_are_inside)
{
	Kernel *k = solved(gemm);
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

/* A second run finds nothing more to do. */
TEST(once)
{
	Kernel *k = solved(attention);
	int n;

	pass_split_loops(k);
	n = count(k->body, O_for);
	ck_assert(!pass_split_loops(k));
	ck_assert_int_eq(count(k->body, O_for), n);
}

/* ---- the rest needs what it has ------------------------------------------------------------------------ */

/* Masks of the rest are gone as well, which only results can tell. */
static void
unmask(Kernel *k, OpCode code)
{
	Op *rest = infer_loop(k, SPLIT_REMAINDER);

	for (Op *o = rest->blk[0]->first, *next; o; o = next) {
		next = o->next;
		if (o->code != code)
			continue;
		val_replace(k, o->out[0], o->in[code == O_mask ? 0 : 1]);
		op_unlink(o);
	}
}

static bool
differ(Run *a, Run *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double x = run_get(a, "O", i), y = run_get(b, "O", i);

		if (x < y || x > y)
			return true;
	}
	return false;
}

/* Attention to all keys. */
static const char *
cross(void)
{
	const char *where = strstr(attention, "        s = where");

	return arena_printf(&arena, "%.*s%s", (int)(where - attention), attention, strchr(where, '\n'));
}

TEST(rest_needs_masks)
{
	static const OpCode code[] = { O_mask, O_select };

	for (int i = 0; i < 2; i++) {
		Kernel *one = solved(i ? attention : cross()), *two = kernel_copy(one);
		Run a = launched(one, "M=64 N=127"), b;

		pass_split_loops(two);
		ck_assert(infer_loop(two, SPLIT_REMAINDER) != NULL);
		unmask(two, code[i]);
		b = launched(two, "M=64 N=127");
		ck_assert(differ(&a, &b, 64 * 16));
	}
}

/* ---- loops that stay whole --------------------------------------------------------------------------- */

static const struct {
	SplitKind kind;
	const char *loop;
} whole[] = {
	{ SPLIT_NO_CONDITION, "for n in 0..N step 32 { sums = sums + sum(X[0 :+ 4, 0 :+ 32], 1); }" },
	{ SPLIT_SHORT_TRIP, "for n in 0..min(N, 200) step 32 { sums = sums + sum(X[0 :+ 4, n :+ 32], 1); }" },
	{ SPLIT_NESTED_LOOP, "for i in 0..M {\n"
	                "for n in 0..N step 32 { sums = sums + sum(X[0 :+ 4, n :+ 32], 1); } }" },
	{ SPLIT_CHEAP_MASKS, "for n in 0..N step 32 { var x = exp(X[0 :+ 4, 0 :+ 32]);\n"
	                "x = exp(exp(exp(exp(exp(x))))); x = x / (x + 1) / (x + 2);\n"
	                "x = exp(exp(exp(exp(exp(x))))); x = x / (x + 1) / (x + 2);\n"
	                "x = exp(exp(exp(exp(exp(x))))); x = x / (x + 1) / (x + 2);\n"
	                "x = exp(exp(exp(exp(exp(x))))); x = x / (x + 1) / (x + 2);\n"
	                "sums = sums + sum(x, 1) + sum(X[0 :+ 4, n :+ 2], 1); }" },
	{ SPLIT_NO_CONDITION, "for n in 0..N step 32 { if n < M * 2097152 "
			      "{\n" /* sums with 2^61 are not made */
	                 "sums = sums + sum(X[0 :+ 4, 0 :+ 32], 1); } }" },
	{ SPLIT_FALLBACK, "for n in 0..N step 32 { sums = sums + sum(X[0 :+ 4, n :+ 32], 1); }" },
	{ SPLIT_OVERFLOW, "for n in 0..N * N step 32 { sums = sums + sum(X[0 :+ 4, n :+ 32], 1); }" },
};

TEST_EACH(stays_whole, COUNT_OF(whole))
{
	const char *source = arena_printf(&arena,
	                                  "kernel f(X: f32[M, N], Y: out f32[M, 1])\n"
	                                  "    const WARPS = 1\n"
	                                  "    assume M >= 4, N >= 32\n"
	                                  "{\n"
	                                  "    grid(1);\n"
	                                  "    var sums: register f32[4, 1] = 0;\n"
	                                  "    %s\n"
	                                  "    Y[0 :+ 4, 0 :+ 1] = sums;\n"
	                                  "}\n",
	                                  whole[_i].loop);
	Kernel *k = solved(source);

	pass_split_loops(k);
	ck_assert_msg(infer_loop(k, whole[_i].kind) != NULL, "%s", whole[_i].loop);
}

/* Two tiles of a turn, one behind the other, share memory that does not hold both; those of two loops do
 * not share. */
TEST(tiles_that_do_not_fit_into_two_loops)
{
	for (int wide = 0; wide < 2; wide++) {
		int n = wide ? 6400 : 3200;
		Kernel *k = solved(arena_printf(&arena,
		                                "kernel f(X: f32[M, N], Z: f32[M, N], Y: out f32[M, 1])\n"
		                                "    const WARPS = 16\n"
		                                "{\n"
		                                "    grid(1);\n"
		                                "    var sums: register f32[4, 1] = 0;\n"
		                                "    for n in 0..N step %d {\n"
		                                "        let x: shared f32[4, %d], z: shared f32[4, %d];\n"
		                                "        x[:, :] = X[0 :+ 4, n :+ %d] * 2;\n"
		                                "        sums += sum(x, 1);\n"
		                                "        z[:, :] = Z[0 :+ 4, n :+ %d] * 2;\n"
		                                "        sums += sum(z, 1);\n"
		                                "    }\n"
		                                "    Y[0 :+ 4, 0 :+ 1] = sums;\n"
		                                "}\n",
		                                n, n, n, n, n));

		pass_split_loops(k);
		ck_assert(infer_loop(k, wide ? SPLIT_SMEM : SPLIT_REMAINDER) != NULL);
		ck_assert_int_eq(infer_loop(k, SPLIT_MAIN) != NULL, !wide);
		pass_allocate_smem(k);
		ck_assert_int_eq(k->unit->diag->nerror, 0);
	}
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
