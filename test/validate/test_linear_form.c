/* test_linear_form.c - tests what known facts imply about linear forms of quotients. In C: forms have no text. */
#include "infer/core/solution.h"
#include "infer/validate/linear_form.h"
#include "infer/validate/validate.h"
#include "test/check.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/util_arena.h"

/* x / 64 >= 4 if x >= 256, but not if only x >= 255 is known; for multiples of 64, x >= 193 suffices. */
TEST(quotients)
{
	for (int64_t mult = 1; mult <= 64; mult += 63) {
		const char *assume = mult == 64 ? " assume K % 64 == 0" : "";
		const char *source = arena_printf(&arena,
		                                  "kernel t(X: f32[K], Y: out f32[K])%s\n{\n    grid(1);\n"
		                                  "    Y[0 :+ 64] = X[K / 64 :+ 64];\n}\n",
		                                  assume);
		Kernel *k = infer_solved(&arena, source, "sm_80", 0)->k;
		Val *x = k->param[2].val, *q = prove_op(k->body, O_div, 0)->out[0];
		LinearForm four = affine_add(affine_of(k, q), affine_const(4), -1);

		for (int64_t least = 254; least <= 256; least++) {
			Known h = { .k = k };

			known_add(&h, affine_add(affine_of(k, x), affine_const(least), -1));
			ck_assert(known_implies(&h, &four) == (least > (mult == 64 ? 192 : 255)));
		}
	}
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
