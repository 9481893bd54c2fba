/* test_facts.c - tests what known facts imply about linear forms of quotients, and that the validator of
 * range analysis rejects a false multiple. In C: forms have no text, and the validator of ops, which runs
 * first, rejects the same kernel. */
#include "infer/core/solution.h"
#include "infer/validate/linear_form.h"
#include "infer/validate/validate.h"
#include "test/check.h"
#include "test/infer/util_infer.h"
#include "test/util_arena.h"
#include <string.h>

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
		Val *x = k->param[2].val;
		OpWalk w;
		const Op *q = walk_first(&w, k->body);
		LinearForm four;

		while (q->code != O_div)
			q = walk_next(&w);
		four = affine_add(affine_of(k, q->out[0]), affine_const(4), -1);
		for (int64_t least = 254; least <= 256; least++) {
			Known h = { .k = k };

			known_add(&h, affine_add(affine_of(k, x), affine_const(least), -1));
			ck_assert(known_implies(&h, &four) == (least > (mult == 64 ? 192 : 255)));
		}
	}
}

/* Accesses have 8 elements; rows start at multiples of 8, not of 2. */
TEST(rows_start_at_multiples_of_the_access)
{
	static const char source[] = "kernel t(X: f16[M, N], Y: out f16[M, N])\n"
				     "    assume N % 8 == 0, N >= 64\n{\n"
				     "    grid(ceil(M, 16));\n    let m = block.x * 16;\n"
				     "    Y[m :+ 16, 0 :+ 64] = X[m :+ 16, 0 :+ 64] * 2;\n}\n";
	Kernel *k = infer_solved(&arena, source, "sm_80", 0)->k;
	const Diag *d = k->unit->diag;
	int n = d->n;

	prove_claims(k);
	ck_assert_int_eq(d->nerror, 0);
	for (int i = 0; i < k->nparam; i++)
		if (!strcmp(k->param[i].name, "N"))
			k->param[i].mult = 2;
	prove_claims(k);
	ck_assert_int_gt(d->nerror, 0);
	ck_assert_ptr_nonnull(strstr(d->msg[n].text, "rows of its tensor do not start at multiples of the "
	                                             "access width"));
}

TEST_PROGRAM(ARENA_FIXTURE, .timeout = 60);
