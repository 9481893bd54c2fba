/* test_mask_bounds.c - tests pass mask_bounds: masks where out-of-bounds elements are observable, none
 * elsewhere. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"
#include <math.h>
#include <stdlib.h>

static const char head[] =
	"kernel t(A: f16[M, K], B: f16[K, N], W: u4[N, K], S: f16[1, N], I: i8[M, K], J: i8[K, N], "
	"X: f32[M, K], V: f32[K], Y: out f32[M, N], Z: out f32[M, 1], Q: out i32[M, N])\n"
	"    assume %s\n"
	"{\n"
	"    grid(ceil(M, 16), ceil(N, 16));\n"
	"    let m = block.x * 16, n = block.y * 16;\n"
	"%s}\n";

#define DOT(a, b)                                                                                  \
	"    var acc: register f32[16, 16] = 0;\n"                                                 \
	"    pipeline k in 0..K step 32 stages 2 {\n"                                              \
	"        let a: shared = A[m :+ 16, k :+ 32];\n"                                           \
	"        let b: shared = B[k :+ 32, n :+ 16];\n"                                           \
	"        let w: shared = W[n :+ 16, k :+ 32];\n"                                           \
	"        let s: shared = S[0 :+ 1, n :+ 16];\n"                                            \
	"        acc += dot(" a ", " b ");\n"                                                      \
	"    }\n"                                                                                  \
	"    Y[m :+ 16, n :+ 16] = acc;\n"

#define ROW(e)                                                                                     \
	"    let x: register = X[m :+ 16, 0 :+ 64];\n"                                             \
	"    Z[m :+ 16, 0 :+ 1] = " e ";\n"

#define CHANGED(x)                                                                                 \
	"    var acc: register f32[16, 16] = 0;\n"                                                \
	"    pipeline k in 0..K step 32 stages 2 {\n"                                             \
	"        let a: shared = A[m :+ 16, k :+ 32];\n"                                          \
	"        let b: shared = B[k :+ 32, n :+ 16];\n"                                          \
	"        if k > 64 { a[where(iota(0, 16) < 3, iota(0, 16), -1)] = " x "; }\n"             \
	"        acc += dot(a, b);\n"                                                             \
	"    }\n"                                                                                 \
	"    Y[m :+ 16, n :+ 16] = acc;\n"

static const struct {
	const char *assume, *body;
	int masks;
} masked[] = {
	// clang-format off
	/* k proved inside: nothing, however the operands are made */
	{ "K % 32 == 0", DOT("a", "b"), 0 },
	{ "K % 32 == 0", DOT("a", "(f16(w.T) - 8) * s"), 0 },
	/* ragged k: zeros were read, and stay zeros through casts and transposes */
	{ "K % 8 == 0", DOT("a", "b"), 0 },
	{ "K % 8 == 0", DOT("a", "f16(w.T)"), 0 },
	{ "K % 8 == 0", DOT("-a", "b"), 0 },
	/* a zero point is subtracted: what was outside is not zero now */
	{ "K % 8 == 0", DOT("a", "(f16(w.T) - 8) * s"), 1 },
	{ "K % 8 == 0", DOT("a + 1", "f16(w.T) - 8"), 2 },
	{ "K % 8 == 0", DOT("exp(a)", "b"), 1 },
	/* reductions */
	{ "K == 64", ROW("sum(x, 1)"), 0 },
	{ "K <= 64", ROW("sum(x, 1)"), 0 },
	{ "K <= 64", ROW("sum(x + 1, 1)"), 1 },
	{ "K <= 64", ROW("reduce_max(x, 1)"), 1 },
	{ "K <= 64", ROW("reduce_min(x, 1)"), 1 },
	{ "K == 64", ROW("reduce_max(x * 2, 1)"), 0 },
	{ "K <= 64", ROW("sum(x - reduce_max(x, 1), 1)"), 2 },
	/* zeros make zero, where all operands end alike */
	{ "K <= 64", ROW("sum(x * x, 1)"), 0 },
	{ "K <= 64", ROW("sum(max(x, x * 2 - x) + tanh(x), 1)"), 1 },
	{ "K <= 64", ROW("sum(max(x, x * x - x) + tanh(x), 1)"), 0 },
	{ "K <= 64, N <= 64", ROW("sum(x * f32(S[0 :+ 1, 0 :+ 64]), 1)"), 1 },
	/* the masked tile serves the second sum too */
	{ "K <= 64", "    let x: register = X[m :+ 16, 0 :+ 64] + 1;\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1) + sum(-x, 1);\n", 1 },
	/* ... but not one behind the loop that it was masked in */
	{ "K <= 64", "    let x: register = X[m :+ 16, 0 :+ 64] + 1;\n"
	             "    for i in 0..2 { Z[m :+ 16, 0 :+ 1] = sum(x, 1); }\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1);\n", 2 },
	/* a row along the other dim keeps the edge; m is ragged but not reduced */
	{ "K <= 64", ROW("sum(x * V[0 :+ 64] + 1, 1)"), 1 },
	/* a carried tile has behind the loop what each turn gives it: ones, zeros, an edge that moves */
	{ "K <= 64", "    var x: register f32[16, 64] = 0;\n"
	             "    for i in 0..2 { x += X[m :+ 16, 0 :+ 64] + 1; }\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1);\n", 1 },
	{ "K <= 64", "    var x: register f32[16, 64] = 0;\n"
	             "    for i in 0..2 { x += X[m :+ 16, 0 :+ 64]; }\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1);\n", 0 },
	{ "K <= 64", "    var x: register f32[16, 64] = 0;\n"
	             "    for i in 0..2 { x += X[m :+ 16, i :+ 64] + 1; }\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1);\n", 1 },
	/* ... in every iteration, too: its end is carried along */
	{ "K <= 64", "    var x: register f32[16, 64] = 1, s: register f32[16, 1] = 0;\n"
	             "    for i in 0..2 { s += sum(x, 1); x += X[m :+ 16, 0 :+ 64]; }\n"
	             "    Z[m :+ 16, 0 :+ 1] = s;\n", 1 },
	/* a dot has its rows from a and its columns from b */
	{ "K == 32", "    let s = dot(A[m :+ 16, 0 :+ 32], B[0 :+ 32, n :+ 16]);\n"
	             "    Z[m :+ 16, 0 :+ 1] = reduce_max(s, 1);\n"
	             "    Y[m :+ 1, n :+ 16] = reduce_max(s, 0);\n", 2 },
	{ "K == 32, N % 16 == 0", "    let s = dot(A[m :+ 16, 0 :+ 32], B[0 :+ 32, n :+ 16]);\n"
	             "    Z[m :+ 16, 0 :+ 1] = reduce_max(s, 1);\n", 0 },
	/* in front of the first element: zeros that were read, and others */
	{ "K == 64", "    let x: register = X[m :+ 16, -1 :+ 64];\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x, 1);\n", 0 },
	{ "K == 64", "    let x: register = X[m :+ 16, -1 :+ 64];\n"
	             "    Z[m :+ 16, 0 :+ 1] = sum(x + 1, 1) + reduce_max(x, 1);\n", 2 },
	{ "K == 64", "    let x: register = X[m :+ 16, 1 :+ 32 step 2];\n"
	             "    let y: register = X[m :+ 16, 2 :+ 32 step 2];\n"
	             "    Z[m :+ 16, 0 :+ 1] = reduce_max(x, 1) + sum(y + 1, 1);\n", 1 },
	/* zeros in front, of one factor only: the other is cleared there */
	{ "K % 32 == 0", "    var acc: register f32[16, 16] = 0;\n"
	                 "    pipeline k in 0..K step 32 stages 2 {\n"
	                 "        let a: shared = A[m :+ 16, k - 32 :+ 32];\n"
	                 "        let b: shared = B[k :+ 32, n :+ 16];\n"
	                 "        acc += dot(a, b);\n"
	                 "    }\n"
	                 "    Y[m :+ 16, n :+ 16] = acc;\n", 1 },
	/* after a branch that stores to a part of a shared tile, all its elements exist */
	{ "K % 8 == 0", CHANGED("0"), 1 },
	{ "K % 8 == 0", CHANGED("1"), 1 },
	/* integers: zero times anything is zero, so one side is enough */
	{ "K % 8 == 0", "    var acc: register i32[16, 16] = 0;\n    for k in 0..K step 32 {\n"
	                "        acc += dot(I[m :+ 16, k :+ 32] + 1, J[k :+ 32, n :+ 16]);\n    }\n"
	                "    Q[m :+ 16, n :+ 16] = acc;\n", 0 },
	// clang-format on
};

TEST_EACH(masks, COUNT_OF(masked))
{
	Kernel *k = run_source(u, arena_printf(u->arena, head, masked[_i].assume, masked[_i].body), "");
	int got;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	got = ir_count(k, O_mask);
	ck_assert_msg(got == masked[_i].masks, "%d masks, not %d:\n%.3500s", got, masked[_i].masks,
	              ir_text(u, k));
	ck_assert(!pass_mask_bounds(k)); /* a second run changes nothing */
	ck_assert_int_eq(ir_count(k, O_mask), got);
}

/* Of squares, what they are of is masked: their sum is one of products still. */
TEST(squares)
{
	Kernel *k = run_source(u, arena_printf(u->arena, head, "K <= 64",
	                                       "    let x: register = X[m :+ 16, 0 :+ 64] + 1;\n"
	                                       "    Z[m :+ 16, 0 :+ 1] = sum(x * x, 1);\n"), "");
	const Op *square = NULL;
	OpWalk w;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	ck_assert_int_eq(ir_count(k, O_mask), 1);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_reduce_sum)
			square = o->in[0]->def;
	ck_assert(square && square->code == O_mul && square->in[0] == square->in[1]);
	ck_assert(square->in[0]->def && square->in[0]->def->code == O_mask);
}

/* The largest element of negative numbers, by type: the mask is the type's least; the least of positive
 * ones. */
TEST_EACH(identities, 14)
{
	static const char *const type[] = { "f16", "bf16", "f32", "i8", "i32", "i64", "u8" };
	const char *name = type[_i % 7];
	int sign = _i < 6 ? -1 : 1; /* u8 has no negative ones */
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: %s[N], Y: out %s[2])\n{\n    grid(1);\n"
	                                    "    Y[0 :+ 1] = reduce_max(X[0 :+ 64], 0);\n"
	                                    "    Y[1 :+ 1] = reduce_min(X[0 :+ 64], 0);\n}\n",
	                                    name, name),
	                       "");
	double top = -INFINITY, bottom = INFINITY;
	Run r;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	run_setup(&r, k, "N=37", 3);
	for (int i = 0; i < 37; i++) {
		run_put(&r, "X", i, sign * (1 + fmin(fabs(run_get(&r, "X", i)), 100)));
		top = fmax(top, run_get(&r, "X", i));
		bottom = fmin(bottom, run_get(&r, "X", i));
	}
	run_ok(&r, NULL);
	ck_assert(run_get(&r, "Y", 0) == top);
	ck_assert(run_get(&r, "Y", 1) == bottom);
}

/* Of 50 negative numbers the largest: of a slice that begins at 32, as a tensor's or a register tile's, 18
 * exist. */
TEST_EACH(edge_from_start, 2)
{
	static const char *const slice[] = { "X[32 :+ 32]", "x[32 :+ 32]" };
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f32[N], Y: out f32[1])\n{\n    grid(1);\n"
	                                    "    let x: register = X[0 :+ 64];\n"
	                                    "    Y[0 :+ 1] = reduce_max(%s, 0);\n}\n",
	                                    slice[_i]),
	                       "");
	Run r;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	run_setup(&r, k, "N=50", 1);
	for (int i = 0; i < 50; i++)
		run_put(&r, "X", i, -1 - i);
	run_ok(&r, NULL);
	ck_assert(run_get(&r, "Y", 0) == -33);
}

/* A window of which the first elements are in front of the tensor, and where it is short the last behind it;
 * each is masked in one pass and not again in a second. */
TEST_EACH(fronts, 6)
{
	static const char *const least[] = { "reduce_max(x, 0)", "-reduce_min(-x, 0)", "sum(x - 1, 0)" };
	int n = _i % 2 ? 4 : 50;
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f32[N], T: i64[1], Y: out f32[1])\n{\n    grid(1);\n"
	                                    "    let t = T[0], x: register = X[t - 7 :+ 8 step 3];\n"
	                                    "    Y[0 :+ 1] = %s;\n}\n",
	                                    least[_i / 2]),
	                       "");
	double sum = 0;
	int masks;
	Run r;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	masks = ir_count(k, O_mask) + ir_count(k, O_select);
	ck_assert_int_eq(masks, 2);
	ck_assert(!pass_mask_bounds(k));
	ck_assert_int_eq(ir_count(k, O_mask) + ir_count(k, O_select), masks);
	run_setup(&r, k, arena_printf(u->arena, "N=%d", n), 1);
	run_put(&r, "T", 0, 0); /* elements 2, 5, .. 14 exist, or 2 alone */
	for (int i = 0; i < n; i++)
		run_put(&r, "X", i, -1 - i);
	for (int i = 2; i < n && i <= 14; i += 3)
		sum += -1 - i - 1;
	run_ok(&r, NULL);
	ck_assert(run_get(&r, "Y", 0) == (_i < 4 ? -3 : sum));
}

/* 0 * inf is not 0: where one side is ragged and the other has infinities behind the edge, both are
 * cleared. */
TEST(infinities)
{
	static const char src[] =
		"kernel t(A: f16[16, K], B: f16[16, K], Y: out f32[16, 16])\n{\n    grid(1);\n"
		"    let a: register = A[:, 0 :+ 32];\n    let b: register = B[:, 0 :+ 32];\n"
		"    Y[:, :] = dot(a, (1 / b).T);\n}\n";
	Kernel *k = run_source(u, src, "");
	Run r;

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	run_setup(&r, k, "K=20", 1);
	run_ok(&r, NULL);
	for (int i = 0; i < 256; i++)
		ck_assert(isfinite(run_get(&r, "Y", i)));
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 60);
