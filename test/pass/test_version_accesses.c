/* test_version_accesses.c - tests passes version_accesses and async_copy: where they apply, and where not. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

typedef struct Split {
	const char *params, *body;
	int ifs;   /* branches made */
	int mods;  /* multiples asked about */
	int masks; /* in all versions together */
} Split;

#define ROWS "    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
static const Split made[] = {
	/* columns that begin at a multiple of 16 bytes: of both, of one, of none */
	{ "X: f16[M, N], Y: out f16[M, N]",
	  ROWS "    Y[m :+ 16, 8 :+ 64] = X[m :+ 16, 0 :+ 64] * 2;\n", 1, 1, 0 },
	{ "X: f16[M, N], Y: out f16[M, N]",
	  ROWS "    Y[m :+ 16, 3 :+ 64] = X[m :+ 16, 0 :+ 64] * 2;\n", 1, 1, 0 },
	{ "X: f16[M, N], Y: out f16[M, N]",
	  ROWS "    Y[m :+ 16, 3 :+ 64] = X[m :+ 16, 1 :+ 64] * 2;\n", 0, 0, 0 },
	/* one dim: is the block inside? */
	{ "X: f32[N], Y: out f32[N]",
	  "    grid(ceil(N, 256));\n    let i = block.x * 256;\n    Y[i :+ 256] = X[i :+ 256] * 2;\n",
	  1, 0, 0 },
	/* ... which those at one place are in all blocks or in none */
	{ "X: f32[N], Y: out f32[N]", "    grid(1);\n    Y[0 :+ 256] = X[0 :+ 256] * 2;\n",
	  1, 1, 0 },
	/* ... and room at the end is not all that those want that may begin before the start */
	{ "X: f32[N], Y: out f32[N]",
	  "    grid(ceil(N, 256));\n    let i = block.x * 256;\n    Y[i :+ 256] = X[i - 8 :+ 256] * 2;\n",
	  1, 1, 0 },
	/* ... nor can a start be asked about that a loop has; a thread has two elements at least */
	{ "X: f32[N], Y: out f32[2]",
	  "    grid(1);\n    var s: register f32[256] = 0;\n"
	  "    for i in 0..N step 256 { s += X[i :+ 256]; }\n    Y[0 :+ 1] = sum(s, 0);\n",
	  1, 1, 0 },
	{ "X: f32[N], Y: out f32[N]",
	  "    grid(ceil(N, 64));\n    let i = block.x * 64;\n    Y[i :+ 64] = X[i :+ 64] * 2;\n", 0, 0, 0 },
	/* a mask that goes where the block is inside: wide and inside, wide, neither */
	{ "X: f32[M, N], Y: out f32[M, 1]",
	  ROWS "    Y[m :+ 16, 0 :+ 1] = reduce_max(X[m :+ 16, 0 :+ 64], 1);\n", 2, 1, 2 },
	/* products stay alone; what is behind them has versions */
	{ "X: f16[M, 64], Y: out f16[M, N]",
	  ROWS "    Y[m :+ 16, 0 :+ 32] = f16(dot(X[m :+ 16, 0 :+ 64], X[0 :+ 32, 0 :+ 64].T));\n", 1, 1, 0 },
};

TEST_EACH(versions, COUNT_OF(made))
{
	const Split *x = &made[_i];
	Kernel *k = run_source(u, arena_printf(u->arena, "kernel t(%s)\n{\n%s}\n", x->params, x->body), "");
	int dots = ir_count(k, O_dot);

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "version_accesses", pass_version_accesses);
	ck_assert_msg(ir_count(k, O_if) == x->ifs && ir_count(k, O_mask) == x->masks, "%.3500s",
	              ir_text(u, k));
	ck_assert_int_eq(ir_count(k, O_mod), x->mods);
	ck_assert_int_eq(ir_count(k, O_dot), dots);
}

/* A copy in a loop that keeps groups of its own in flight stays as it is: waiting for it would wait for
 * them. */
TEST_EACH(groups_in_flight, 2)
{
	static const char *const wait[] = { "", "            wait 1;\n" };
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f32[N], Y: out f32[N])\n    assume N %% 64 == 0\n{\n"
	                                    "    grid(1);\n    var s: register f32[64] = 0;\n"
	                                    "    for i in 0..N step 64 {\n%s"
	                                    "        let x: shared = X[i :+ 64];\n        s += x;\n    }\n"
	                                    "    Y[0 :+ 64] = s;\n}\n",
	                                    wait[_i]),
	                       "");
	const Op *copy;

	pass_apply(k, "async_copy", pass_async_copy);
	copy = pass_find(k, O_copy, 0);
	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(IMM(copy, async), 1 - _i);
}

TEST_PROGRAM(UNIT_FIXTURE);
