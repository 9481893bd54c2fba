/* test_specialize.c - passes specialize and async: where they do something, and where not. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

/* Rows of run-time length: one test of N where the columns begin at a multiple of 16 bytes, none where
 * they do not. */
TEST_EACH(wide_stores, 2)
{
	static const int from[] = { 8, 3 };
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f16[M, N], Y: out f16[M, N])\n{\n"
	                                    "    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
	                                    "    Y[m :+ 16, %d :+ 64] = X[m :+ 16, 0 :+ 64] * 2;\n}\n",
	                                    from[_i]),
	                       "");

	pass_apply(k, "specialize", pass_specialize);
	ck_assert_int_eq(ir_count(k, O_if), 1 - _i);
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

	pass_apply(k, "async", pass_async);
	copy = pass_find(k, O_copy, 0);
	ck_assert_ptr_nonnull(copy);
	ck_assert_int_eq(IMM(copy, async), 1 - _i);
}

TEST_PROGRAM(UNIT_FIXTURE);
