/* test_deferred_reductions.c - tests loops with deferred cross-lane reductions: results are unchanged, bit
 * for bit where additions are exact; the validator accepts them, and rejects them once a partial sum is of
 * other lanes or counts twice. */
#include "hexc/pass/pass.h"
#include "hexc/ir/verify/verify.h"
#include "infer/infer.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/interp/util_interp.h"
#include "test/util_arena.h"
#include <string.h>

/* Lanes and warps share rows, in the order of products and as memory has it. */
static const char *const source[] = {
	"kernel rows(X: i32[M, N], Y: out i32[M, 3], Z: out f32[M, 1])\n"
	"    const WARPS = 4\n"
	"{\n"
	"    grid(ceil(M, 2));\n"
	"    let m = block.x * 2;\n"
	"    var s: register i32[2, 1] = 0, t: register i32[2, 1] = -5, b: register i32[2, 1] = 7;\n"
	"    var f: register f32[2, 1] = 0;\n"
	"    for n in 0..N step 512 {\n"
	"        let x: register = X[m :+ 2, n :+ 512] & 1023;\n"
	"        s += sum(x, 1);\n"
	"        t = max(t, reduce_max(x, 1));\n"
	"        b = min(reduce_min(x, 1), b);\n"
	"        f = f * 0.5 + sum(f32(x & 7), 1);\n"
	"    }\n"
	"    Y[m :+ 2, 0 :+ 1] = s;\n"
	"    Y[m :+ 2, 1 :+ 1] = t;\n"
	"    Y[m :+ 2, 2 :+ 1] = b;\n"
	"    Z[m :+ 2, :] = f;\n"
	"}\n",
	"kernel products(A: f16[M, 16], B: f16[N, 16], G: f32[M, 1], Z: out f32[M, 1])\n"
	"    const WARPS = 2\n"
	"{\n"
	"    grid(ceil(M, 32));\n"
	"    let m = block.x * 32, a: shared = A[m :+ 32, :], g: register = G[m :+ 32, :];\n"
	"    var f: register f32[32, 1] = 0;\n"
	"    for n in 0..N step 64 {\n"
	"        let b: shared = B[n :+ 64, :];\n"
	"        f = f * g + sum(dot(a, b.T), 1);\n"
	"    }\n"
	"    Z[m :+ 32, :] = f;\n"
	"}\n",
};
static const char *const sizes[] = { "M=3 N=1700", "M=40 N=200" };

static Kernel *
solved(int i)
{
	return infer_kernel(infer_solved(&arena, source[i], "sm_80", 0));
}

static Kernel *
met(int i)
{
	Kernel *k = solved(i);

	ck_assert(pass_defer_reductions(k));
	ck_assert(kernel_verify(k, "defer_reductions"));
	prove_clean(k, pass_validate);
	return k;
}

static bool
in_loop(const Op *o)
{
	const Op *owner = o->parent->owner;

	return owner && (owner->code == O_for || in_loop(owner));
}

/* No reduction of a loop is over lanes, and none is left for a second run. */
TEST_EACH(behind_the_loop, COUNT_OF(source))
{
	Kernel *k = met(_i);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Layout *l = op_is(o, F_REDUCE) ? o->in[0]->type.layout : NULL;
		int dim = l ? (int)IMM(o, dim) : 0;

		ck_assert(!l || !in_loop(o) ||
		          layout_extent_on(l, dim, AX_reg) == layout_extent(l, dim));
	}
	ck_assert(!pass_defer_reductions(k));
}

TEST_EACH(computes_the_same, COUNT_OF(source))
{
	Kernel *k[2] = { solved(_i), met(_i) };
	Run r[2] = { { .u = k[0]->unit }, { .u = k[1]->unit } };

	for (int j = 0; j < 2; j++) {
		run_setup(&r[j], k[j], sizes[_i], 3);
		for (int64_t e = 0; _i == 1 && e < 200 * 16; e++) { /* numbers whose sums are exact */
			if (e < 40 * 16)
				run_put(&r[j], "A", e, (double)(e % 7 - 3));
			if (e < 40)
				run_put(&r[j], "G", e, 0.5);
			run_put(&r[j], "B", e, (double)(e % 5 - 2));
		}
		run_ok(&r[j], NULL);
	}
	run_same(&r[0], &r[1], source[_i]);
}

/* ---- corruptions ------------------------------------------------------------------------------------- */

/* The nth op of a kind in the loop. */
static Op *
find(Kernel *k, OpCode code, int nth)
{
	return prove_op(prove_op(k->body, O_for, 0)->blk[0], code, nth);
}

/* What reads the loop's first result: the reduction behind it. */
static Op *
last_of(Kernel *k)
{
	OpWalk w;
	Op *o = walk_first(&w, k->body);

	while (o && (!op_is(o, F_REDUCE) || o->parent->owner))
		o = walk_next(&w);
	ck_assert_ptr_nonnull(o);
	return o;
}

static void
set_layout(Val *v, const char *text)
{
	Layout *l = NEW(&arena, Layout);
	size_t at;

	ck_assert(layout_parse(l, text, strlen(text), &at));
	v->type.layout = l;
}

/* The part that the lanes of a group of four hold, in another order among them. */
static void
lanes_turned(Kernel *k)
{
	set_layout(find(k, O_reshape, 1)->out[0], "((8,2,2),(2,2)):((4@lane,1@reg,1@warp),(2@lane,1@lane))");
}

/* All four say that they hold the first of the parts. */
static void
part_of_one(Kernel *k)
{
	set_layout(find(k, O_reshape, 1)->out[0], "((8,2,2),4):((4@lane,1@reg,1@warp),1@reg)+[4:1@lane]");
}

static void
rows_turned(Kernel *k)
{
	set_layout(find(k, O_broadcast, 0)->out[0], "((2,8,2),4):((1@reg,4@lane,1@warp),1@lane)");
}

static void
no_way(Kernel *k)
{
	find(k, O_reduce_sum, 0)->lowering = NULL;
}

static void
registers_left_out(Kernel *k)
{
	Op *o = find(k, O_reduce_sum, 0);

	set_layout(o->in[0], "((8,2,2),8,4,2):((4@lane,16@reg,1@warp),0,1@lane,1@reg)");
}

static void
carried_elsewhere(Kernel *k)
{
	set_layout(last_of(k)->in[0], "((2,8,2),4):((1@reg,4@lane,1@warp),1@lane)");
}

static void
whole_of_one_lane(Kernel *k)
{
	set_layout(last_of(k)->out[0], "((2,8,2),1):((1@reg,4@lane,1@warp),0)+[4:1@lane]");
}

static const Corruption cases[] = {
#define C(fn, says) { #fn, fn, says }
	C(lanes_turned, "reshape, lane 1 of warp 0, register 0: the operand's (0,0,2,0) is not held by the "
	                "thread"),
	C(part_of_one, "reshape, lane 0 of warp 0, register 1: both (0,1) and (8,0) are here"),
	C(rows_turned, "broadcast, lane 4 of warp 0, register 0: the operand's (2,0) is not held by the "
	               "thread"),
	C(no_way, "reduce_sum: no lowering was chosen"),
	C(registers_left_out, "reshape, lane 0 of warp 0, register 0: both (0,0,0,0) and (0,1,0,0) are here"),
	C(carried_elsewhere, "for, lane 0 of warp 0, register 1: one operand has (8,0) here, the other has "
	                     "(1,0)"),
	C(whole_of_one_lane, "term 0 of result (1,0) is included 0 times; expected once"),
#undef C
};

TEST_EACH(rejects, COUNT_OF(cases))
{
	ck_assert_int_eq(prove_rejects(met(1), pass_validate, &cases[_i]), 1);
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
