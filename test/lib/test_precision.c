/* test_precision.c - tests which PTX instructions implement the float semantics that hexc/LANGUAGE.md
 * promises. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <stdio.h>
#include <string.h>

static const struct {
	const char *value, *has, *lacks;
} row[] = {
	{ "x / y", "div.full.ftz.f32", "div.rn" },
	{ "exact(x / y)", "div.rn.f32", "div.full" },
	{ "x / sum(x, 0)", "rcp.approx.f32", "div." },
	{ "x / 8", "0f3E000000", "div." },
	{ "exact(x / 8)", "0f3E000000", "div." },
	{ "sqrt(x)", "sqrt.approx.f32", "sqrt.rn" },
	{ "exact(sqrt(x))", "sqrt.rn.f32", "sqrt.approx" },
	{ "exp2(x)", "ex2.approx.ftz.f32", "ex2.approx.f32" },
	{ "exact(exp2(x))", "ex2.approx.f32", ".ftz" },
	{ "exp(x)", "ex2.approx.ftz.f32", "ex2.approx.f32" },
	{ "x * y - a", "fma.rn.f32", "mul.rn.f32" },
	{ "exact(x * y - a)", "mul.rn.f32", "fma.rn.f32" },
	{ "sum(x * y, 0)", "fma.rn.f32", "div." },
	{ "exact(sum(x * y, 0))", "mul.rn.f32", "fma.rn.f32" },
};

TEST_EACH(instructions, sizeof row / sizeof row[0])
{
	char src[300];
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m;

	snprintf(src, sizeof src,
	         "kernel k(X: f32[2048], Y: f32[2048], Z: out f32[2048], a: f32)\n{\n    grid(1);\n"
	         "    let x: register = X[:], y: register = Y[:];\n"
	         "    Z[:] = max(%s, min(y, a));\n}\n",
	         row[_i].value);
	m = lib_must(src, &o);
	ck_assert_msg(strstr(hexc_ptx(m, NULL), row[_i].has), "%s has no %s", row[_i].value, row[_i].has);
	ck_assert_msg(!strstr(hexc_ptx(m, NULL), row[_i].lacks), "%s has %s", row[_i].value, row[_i].lacks);
	hexc_module_free(m);
}

TEST_PROGRAM(.timeout = 60);
