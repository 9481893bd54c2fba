/* test_mark_reductions.c - tests pass mark_reductions: which reductions a loop may carry as partial
 * results. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

/* The loop's body, over x f32[4, 64]; `s` and `t` are carried and used behind it; how many are marked. */
static const struct {
	const char *start, *body;
	int marked;
} loop[] = {
	{ "0", "s += sum(x, 1);", 1 },
	{ "0", "s += sum(x, 1); t = max(t, reduce_max(x, 1));", 2 },
	{ "0", "s = s * exp(x[:, 0 :+ 1]) + sum(x, 1);", 1 },
	{ "0", "s = sum(x * x, 1) + s; t = min(reduce_min(x, 1), t);", 2 },
	{ "1", "s += sum(x, 1);", 0 },                       /* parts start at 0 */
	{ "a", "t = max(t, reduce_max(x, 1)); s = s + a;", 1 },
	{ "0", "t = max(t, reduce_max(x, 1)); s += sum(x * t, 1);", 1 }, /* the loop reads the maximum */
	{ "0", "s += sum(x * t, 1); t = max(t, reduce_max(x, 1));", 1 }, /* .. that of the turn before */
	{ "0", "s += sum(x, 1); t = s;", 0 },                /* it is carried twice */
	{ "0", "let r = sum(x, 1); s += r; t = max(t, r);", 0 },
	{ "0", "s -= sum(x, 1);", 0 },
	{ "0", "s = max(s, sum(x, 1));", 0 },
	{ "0", "s = fma(sum(x, 1), a, s);", 0 },
	{ "0", "if n > 0 { s += sum(x, 1); }", 0 },
};

TEST_EACH(marks, COUNT_OF(loop))
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel k(X: f32[4, N], Y: out f32[4, 2], a: f32)\n{\n"
	                                    "    grid(1);\n"
	                                    "    var s: register f32[4, 1] = %s, t: register f32[4, 1] = 0;\n"
	                                    "    for n in 0..N step 64 {\n"
	                                    "        let x: register = X[:, n :+ 64];\n        %s\n    }\n"
	                                    "    Y[:, 0 :+ 1] = s + a;\n    Y[:, 1 :+ 1] = t;\n}\n",
	                                    loop[_i].start, loop[_i].body),
	                       "");
	int marked = 0;
	OpWalk w;

	pass_apply(k, "mark_reductions", pass_mark_reductions);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		marked += op_is_late(o);
	ck_assert_int_eq(marked, loop[_i].marked);
}

/* Integers from 0 on, or not. */
TEST_EACH(integers, 2)
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel k(X: i32[4, N], Y: out i32[4, 1])\n{\n    grid(1);\n"
	                                    "    var s: register i32[4, 1] = %d;\n"
	                                    "    for n in 0..N step 64 { s += sum(X[:, n :+ 64], 1); }\n"
	                                    "    Y[:, 0 :+ 1] = s;\n}\n",
	                                    _i),
	                       "");

	pass_apply(k, "mark_reductions", pass_mark_reductions);
	ck_assert_int_eq(op_is_late(pass_find(k, O_reduce_sum, 0)), 1 - _i);
}

TEST_PROGRAM(UNIT_FIXTURE);
