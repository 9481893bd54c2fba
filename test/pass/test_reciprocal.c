/* test_reciprocal.c - tests pass reciprocal: which divisions become multiplications. */
#include "hexc/pass/pass.h"
#include "test/pass/util_pass.h"
#include "test/ir/util_unit.h"

/* By what, and how many of all the quotients, those of one element or row too, are left. */
static const struct {
	const char *quotient;
	int whole, rows, products;
} made[] = {
	{ "x / sum(x, 1)", 0, 1, 1 },
	{ "x / a", 0, 1, 1 },
	{ "x / 3", 0, 0, 1 },
	{ "x / 0", 1, 0, 0 },                 /* no reciprocal that is a number */
	{ "x / 1e-40", 1, 0, 0 },
	{ "x / y", 1, 0, 0 },
	{ "exact(x / sum(x, 1))", 1, 0, 0 },
	{ "f32(f16(x) / f16(sum(x, 1)))", 1, 0, 0 }, /* a reciprocal of f16 is too rough */
};

TEST_EACH(quotients, COUNT_OF(made))
{
	Kernel *k = run_source(u,
	                       arena_printf(u->arena,
	                                    "kernel t(X: f32[4, 8], Y: f32[4, 8], Z: out f32[4, 8], a: f32)\n"
	                                    "{\n    grid(1);\n"
	                                    "    let x: register = X[:, :], y: register = Y[:, :];\n"
	                                    "    Z[:, :] = %s + y * a;\n}\n",
	                                    made[_i].quotient),
	                       "");
	int whole = 0, rows = 0, products = 0;
	OpWalk w;

	pass_apply(k, "reciprocal", pass_reciprocal);
	pass_apply(k, "cleanup", pass_cleanup);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->code == O_div && type_size(&o->out[0]->type) == 32)
			whole++;
		rows += o->code == O_div;
		products += o->code == O_mul;
	}
	ck_assert_int_eq(whole, made[_i].whole);
	ck_assert_int_eq(rows - whole, made[_i].rows);
	ck_assert_int_eq(products, made[_i].products);
}

TEST_PROGRAM(UNIT_FIXTURE);
