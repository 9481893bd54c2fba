/* test_pad.c - pass pad: which extents grow, to what, and which reductions get masks. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

typedef struct Padded {
	const char *params, *assume, *body;
	const char *tile; /* text of a register tile that is there behind the pass */
	int masks; /* of passes bounds and pad together */
} Padded;

#define ROW "    grid(M);\n    let x = X[block.x :+ 1, 0 :+ 11008];\n"
static const Padded made[] = {
	/* four warps of 32 lanes and 8 elements; half as many of twice the size */
	{ "X: f16[M, 11008], Y: out f16[M, 11008]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f16[1, 11264]", 0 },
	{ "X: f32[M, 11008], Y: out f32[M, 11008]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f32[1, 11264]", 0 },
	/* those that share out evenly stay, and those that are stored where the tensor may go on */
	{ "X: f16[M, 8192], Y: out f16[M, 8192]", "",
	  "    grid(M);\n    Y[block.x :+ 1, 0 :+ 8192] = X[block.x :+ 1, 0 :+ 8192];\n",
	  "f16[1, 8192]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, N]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f16[1, 11008]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, 11016]", "",
	  ROW "    Y[block.x :+ 1, 8 :+ 11008] = x;\n",
	  "f16[1, 11264]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, 11016]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f16[1, 11008]", 0 },
	/* what is behind the tensor is zero, and so are squares and scaled ones; an extreme has a mask,
	 * and a sum of what may be something else */
	{ "X: f16[M, 11008], Y: out f16[M, 1]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = sum(x * x, 1);\n",
	  "f16[1, 11264]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, 1]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = reduce_max(x, 1);\n",
	  "f16[1, 11264]", 1 },
	{ "X: f16[M, 11008], Y: out f16[M, 1]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = sum(exp(x), 1);\n",
	  "f16[1, 11264]", 1 },
	{ "X: f16[M, N], Y: out f16[M, 1]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = sum(x * x, 1);\n",
	  "f16[1, 11264]", 1 },
	/* ... once, where the bound of the tensor's own is as small */
	{ "X: f16[M, N], Y: out f16[M, 1]", "assume N <= 11008",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = reduce_max(x, 1);\n",
	  "f16[1, 11264]", 1 },
	/* both dims together */
	{ "X: f32[33, 9], Y: out f32[9, 33]", "",
	  "    grid(1);\n    Y[0 :+ 9, 0 :+ 33] = X[0 :+ 33, 0 :+ 9].T;\n",
	  "f32[48, 16]", 0 },
	/* products and shared memory have extents of their own */
	{ "X: f16[48, 48], Y: out f32[48, 48]", "",
	  "    grid(1);\n    Y[0 :+ 48, 0 :+ 48] = dot(X[0 :+ 48, 0 :+ 48], X[0 :+ 48, 0 :+ 48]);\n",
	  "f16[48, 48]", 0 },
	{ "X: f16[48, 40], Y: out f16[48, 40]", "",
	  "    grid(1);\n    let x: shared = X[0 :+ 48, 0 :+ 40];\n    Y[0 :+ 48, 0 :+ 40] = x;\n",
	  "f16[48, 40]", 0 },
};

TEST_EACH(extents, COUNT_OF(made))
{
	const Padded *x = &made[_i];
	Kernel *k = run_source(u,
	                       arena_printf(u->arena, "kernel t(%s) %s\n{\n%s}\n", x->params, x->assume,
	                                    x->body),
	                       "");

	pass_apply(k, "bounds", pass_bounds);
	pass_apply(k, "pad", pass_pad);
	ck_assert_msg(strstr(ir_text(u, k), x->tile) && ir_count(k, O_mask) == x->masks, "%.3500s",
	              ir_text(u, k));
	ck_assert(!pass_pad(k));
}

TEST_PROGRAM(UNIT_FIXTURE);
