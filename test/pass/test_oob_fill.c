/* test_oob_fill.c - tests pass oob_fill: the out-of-bounds value of loads, also undefined where no use
 * observes it. In C: results before and after are compared, for a row of the table each. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

#define ROW "    grid(M);\n    let x: register = X[block.x :+ 1, 0 :+ 200];\n"
#define ONE "    Y[block.x :+ 1, 0 :+ 1] = "
#define ALL "    Y[block.x :+ 1, 0 :+ 200] = "
static const struct {
	const char *params, *body;
	OutsideKind kind;
	int masks; /* that are left */
} row[] = {
	/* each element of a scan depends on those before it; so does the last one, which a reduction is */
	{ "X: f32[M, 200], Y: out f32[M, 200]", ROW ALL "cumsum(x, 1);\n", OUTSIDE_ANY, 0 },
	{ "X: f32[M, 200], Y: out f32[M, N]", ROW ALL "cumsum(x, 1);\n", OUTSIDE_ANY, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 200]", ROW ALL "shift(exp(x), 1, 3) + x;\n", OUTSIDE_ANY, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 1]", ROW ONE "reduce(mul, 1, x);\n", OUTSIDE_ANY, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 200]", ROW ALL "exp(x);\n", OUTSIDE_ANY, 0 },
	/* a warp goes the long way of sin where any of its elements is large */
	{ "X: f32[M, 200], Y: out f32[M, 200]", ROW ALL "sin(x);\n", OUTSIDE_ZERO, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 1]", ROW ONE "reduce_last(cumsum(x, 1), 1);\n", OUTSIDE_ANY, 0 },
	{ "X: i32[M, 200], Y: out i32[M, 1]", ROW ONE "reduce(least, 1, x);\n", OUTSIDE_ANY, 0 },
	/* a sum sees zeros, a mask puts something else there: the load does */
	{ "X: f32[M, 200], Y: out f32[M, 1]", ROW ONE "sum(x, 1);\n", OUTSIDE_ZERO, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 1]", ROW ONE "reduce_max(x, 1);\n", OUTSIDE_FILL, 0 },
	{ "X: i32[M, 200], Y: out i32[M, 1]", ROW ONE "reduce_min(x, 1);\n", OUTSIDE_FILL, 0 },
	{ "X: f16[M, 200], Y: out f16[M, 1]", ROW ONE "reduce_min(x, 1);\n", OUTSIDE_FILL, 0 },
	{ "X: f32[M, 200], Y: out i32[M, 1]", ROW ONE "argmax(x, 1);\n", OUTSIDE_FILL, 1 },
	/* bytes are masked behind the load, which may bring what it likes */
	{ "X: i8[M, 200], Y: out i8[M, 1]", ROW ONE "reduce_max(x, 1);\n", OUTSIDE_ANY, 1 },
	/* where both are seen the mask stays */
	{ "X: f32[M, 200], Y: out f32[M, 1]", ROW ONE "reduce_max(x, 1) + sum(x, 1);\n", OUTSIDE_ZERO, 1 },
	/* of a shared tile no more is read than there was; a row that ends anywhere has zeros there */
	{ "X: f32[M, 200], Y: out f32[M, 200]",
	  "    grid(M);\n    let x: register = X[block.x :+ 1, 0 :+ 200];\n"
	  "    let s: shared = cumsum(x, 1);\n" ALL "f32(s[:, 0 :+ 200]);\n",
	  OUTSIDE_ANY, 0 },
	{ "X: f32[M, N], Y: out f32[M, N]", ROW ALL "cumsum(x, 1);\n", OUTSIDE_ZERO, 0 },
	/* several rows, some of which may not be there; what a loop carries is looked at as a whole */
	{ "X: f32[4, 200], Y: out f32[4, 200]",
	  "    grid(2);\n    let x: register = X[block.x * 2 :+ 2, 0 :+ 200];\n"
	  "    Y[block.x * 2 :+ 2, 0 :+ 200] = cumsum(x, 1);\n",
	  OUTSIDE_ANY, 0 },
	{ "X: f32[3, 200], Y: out f32[3, 200]",
	  "    grid(2);\n    let x: register = X[block.x * 2 :+ 2, 0 :+ 200];\n"
	  "    Y[block.x * 2 :+ 2, 0 :+ 200] = cumsum(x, 1);\n",
	  OUTSIDE_ZERO, 0 },
	{ "X: f32[M, 200], Y: out f32[M, 200]",
	  "    grid(M);\n    var s: register f32[1, 200] = X[block.x :+ 1, 0 :+ 200];\n"
	  "    for i in 0..3 { s = cumsum(s, 1); }\n" ALL "s;\n",
	  OUTSIDE_ZERO, 0 },
};

static const char functions[] = "fn mul(a, b) { return a * b; }\nfn least(a, b) { return min(a, b); }\n";

TEST_EACH(rows, COUNT_OF(row))
{
	const char *src = arena_printf(u->arena, "%skernel t(%s)\n{\n%s}\n", functions, row[_i].params,
	                               row[_i].body);
	const char *sizes = strstr(row[_i].params, "N]")   ? "M=3 N=200"
	                    : strstr(row[_i].params, "[M") ? "M=3"
	                                                   : "";
	Run before, after;
	Op *load;

	run_bounded(&before, u, src, "", sizes, 7);
	run_ok(&before, NULL);
	run_bounded(&after, u, src, "", sizes, 7);
	pass_apply(after.k, "cleanup", pass_cleanup); /* choices that only say where edges are */
	pass_apply(after.k, "pad_tiles", pass_pad_tiles);
	pass_apply(after.k, "cleanup", pass_cleanup);
	pass_apply(after.k, "oob_fill", pass_oob_fill);
	load = pass_find(after.k, O_load, 0);
	ck_assert_msg(load->out[0]->type.shape[1] > 200 && IMM(load, oob_fill) == row[_i].kind &&
	                      ir_count(after.k, O_mask) == row[_i].masks,
	              "%.3500s", ir_text(u, after.k));
	run_ok(&after, NULL);
	run_same(&before, &after, row[_i].body);
}

TEST_PROGRAM(UNIT_FIXTURE);
