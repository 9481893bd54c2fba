/* test_claimed_facts.c - tests that the validator of range analysis rejects a false multiple. In C: it runs after the
 * validator of ops, which rejects the same kernel first. */
#include "hexc/pass/pass.h"
#include "infer/validate/validate.h"
#include "test/pass/util_pass.h"
#include "test/validate/util_prove.h"
#include "test/ir/util_unit.h"
#include <string.h>

static Kernel *
inferred(void)
{
	Kernel *k = run_source(u,
	                       "kernel t(X: f16[M, N], Y: out f16[M, N])\n assume N % 8 == 0, "
	                       "N >= 64\n{\n"
	                       " grid(ceil(M, 16));\n"
	                       " Y[block.x * 16 :+ 16, 0 :+ 64] = X[block.x * 16 :+ 16, 0 :+ "
	                       "64] * 2;\n}\n",
	                       "");

	u->target = target_find("sm_80");
	pass_apply(k, "mask_bounds", pass_mask_bounds);
	pass_apply(k, "legalize", pass_legalize);
	pass_apply(k, "infer", pass_infer);
	return k;
}

static Param *
columns(Kernel *k)
{
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_size && !strcmp(k->param[i].name, "N"))
			return &k->param[i];
	ck_abort_msg("no N");
	return NULL;
}

static bool
claims(Kernel *k)
{
	prove_claims(k);
	return true;
}

/* Rows begin at multiples of 2 elements, and accesses have 8. */
static void
odd_rows(Kernel *k)
{
	columns(k)->mult = 2;
}

TEST(rows_start_at_multiples_of_the_access)
{
	static const Corruption rows = { "rows", odd_rows, "rows of its tensor do not start at multiples of the access width" };
	Kernel *k = inferred();

	ck_assert_int_gt(prove_op(k->body, O_load, 0)->lowering->access.vec, 2);
	prove_rejects(k, claims, &rows);
}

TEST_PROGRAM(UNIT_FIXTURE);
