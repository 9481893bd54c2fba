/* test_pad_tiles.c - tests pass pad_tiles: which extents are padded, to what, and which reductions get
 * masks. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

typedef struct Padded {
	const char *params, *assume, *body;
	const char *tile; /* text of a register tile that is there behind the pass */
	int masks; /* of passes mask_bounds and pad_tiles together */
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
	/* those that share out evenly stay; where the tensor may go on a view ends before the tile */
	{ "X: f16[M, 8192], Y: out f16[M, 8192]", "",
	  "    grid(M);\n    Y[block.x :+ 1, 0 :+ 8192] = X[block.x :+ 1, 0 :+ 8192];\n",
	  "f16[1, 8192]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, N]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f16[1, 11264]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, 11016]", "",
	  ROW "    Y[block.x :+ 1, 8 :+ 11008] = x;\n",
	  "f16[1, 11264]", 0 },
	{ "X: f16[M, 11008], Y: out f16[M, 11016]", "",
	  ROW "    Y[block.x :+ 1, 0 :+ 11008] = x;\n",
	  "f16[1, 11264]", 0 },
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
	  "f16[1, 11264]", 0 },
	/* ... once, where the bound of the tensor's own is as small */
	{ "X: f16[M, N], Y: out f16[M, 1]", "assume N <= 11008",
	  ROW "    Y[block.x :+ 1, 0 :+ 1] = reduce_max(x, 1);\n",
	  "f16[1, 11264]", 1 },
	/* both dims together */
	{ "X: f32[33, 9], Y: out f32[9, 33]", "",
	  "    grid(1);\n    Y[0 :+ 9, 0 :+ 33] = X[0 :+ 33, 0 :+ 9].T;\n",
	  "f32[40, 16]", 0 },
	/* of shared memory no more than there is is moved; lanes copy what neighbours in memory are, the last
	 * time some of them: 9 pieces of 16 bytes to a row are 10 */
	{ "X: f32[33, 9], Y: out f32[33, 9]", "",
	  "    grid(1);\n    let x: shared = X[0 :+ 33, 0 :+ 9];\n    Y[0 :+ 33, 0 :+ 9] = x;\n",
	  "reg f32[40, 16]", 0 },
	{ "X: f16[64, 72], Y: out f16[64, 72]", "",
	  "    grid(1);\n    let x: shared = X[0 :+ 64, 0 :+ 72];\n    Y[0 :+ 64, 0 :+ 72] = x;\n",
	  "shared f16[64, 80]", 0 },
	/* what moves up in a scan comes from in front; a dim that is cut stays, and others grow */
	{ "X: f32[25, 33], Y: out f32[25, 33]", "",
	  "    grid(1);\n    Y[:, :] = cumsum(X[:, :], 1);\n",
	  "reg f32[32, 36]", 0 },
	/* ... and what it leaves in the padding is not in the sum */
	{ "X: f32[8, 50], Y: out f32[8, 1]", "",
	  "    grid(1);\n    Y[:, :] = sum(cumsum(X[:, :], 1), 1);\n",
	  "reg f32[8, 64]", 1 },
	{ "X: f32[100, 33], Y: out f32[100, 11]", "",
	  "    grid(1);\n    let x: register = X[:, :];\n    Y[:, :] = x[:, 11 :+ 11];\n",
	  "reg f32[128, 33]", 0 },
	/* ... but by way of shared memory, where threads would not share out what is cut: then all grow */
	{ "X: f32[25, 33], Y: out f32[25, 11]", "",
	  "    grid(1);\n    let x: register = X[:, :];\n    Y[:, :] = x[:, 11 :+ 11];\n",
	  "reg f32[32, 36]", 0 },
	/* tiles of indices grow with what they choose, also where a line is counted and cut; in the padding
	 * they name nothing, by a mask, so that nothing is read there, or written */
	{ "X: f32[K, 64], Y: out f32[8, 49]", "",
	  "    grid(1);\n    let i = iota(0, 49) * 3;\n    Y[:, :] = X[0 :+ 8, i];\n",
	  "reg f32[8, 64]", 1 },
	{ "X: f32[8, 64, K], Y: out f32[8, 7, 7]", "",
	  "    grid(1);\n    let i = reshape(iota(0, 49), 7, 7);\n"
	  "    Y[:, :, :] = X[0 :+ 8, i / 7, i % 7];\n",
	  "reg f32[8, 8, 8]", 2 },
	{ "X: f32[K, 64], Y: out f32[8, 1]", "",
	  "    grid(1);\n    let i = iota(0, 49) * 3;\n    Y[:, :] = sum(X[0 :+ 8, i], 1);\n",
	  "reg f32[8, 64]", 1 },
	{ "X: inout f32[K, 64]", "",
	  "    grid(1);\n    let i = iota(0, 49);\n    X[0 :+ 8, i] = X[8 :+ 8, i];\n",
	  "reg f32[8, 64]", 2 },
	/* indices of a few bits, and tables for each row with them */
	{ "L: u4[50, 52], T: f16[50, 16], Y: out f16[50, 52]", "",
	  "    grid(1);\n    let t = T[:, :];\n    Y[:, :] = lookup(t, L[:, :]);\n",
	  "%22.t = load %31 space_open 1 : reg f16[56, 16]", 0 },
	/* products become what an instruction takes, all dims or none; behind k there are zeros */
	{ "X: f16[25, 33], W: f16[33, 20], Y: out f32[25, 20]", "",
	  "    grid(1);\n    Y[:, :] = dot(X[:, :], W[:, :]);\n",
	  "reg f16[32, 48]", 0 },
	{ "X: f16[25, 33], W: f16[33, 20], Y: out f32[25, 20]", "",
	  "    grid(1);\n    Y[:, :] = dot(exp(X[:, :]), W[:, :]);\n",
	  "reg f32[32, 24]", 1 },
	/* ... of many sums what warps share out: 7 times 13 of 16 by 8 would be one warp's */
	{ "X: f16[100, 32], W: f16[32, 100], Y: out f32[100, 100]", "",
	  "    grid(1);\n    Y[:, :] = dot(X[:, :], W[:, :]);\n",
	  "reg f32[128, 104]", 0 },
	{ "X: f16[48, 48], Y: out f32[48, 48]", "",
	  "    grid(1);\n    Y[0 :+ 48, 0 :+ 48] = dot(X[0 :+ 48, 0 :+ 48], X[0 :+ 48, 0 :+ 48]);\n",
	  "f16[48, 48]", 0 },
};

TEST_EACH(extents, COUNT_OF(made))
{
	const Padded *x = &made[_i];
	Kernel *k = run_source(u,
	                       arena_printf(u->arena, "kernel t(%s) %s\n{\n%s}\n", x->params, x->assume,
	                                    x->body),
	                       "");

	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "pad_tiles", pass_pad_tiles);
	ck_assert_msg(strstr(ir_text(u, k), x->tile) && ir_count(k, O_mask) == x->masks, "%.3500s",
	              ir_text(u, k));
	ck_assert(!pass_pad_tiles(k));
}

TEST_PROGRAM(UNIT_FIXTURE);
