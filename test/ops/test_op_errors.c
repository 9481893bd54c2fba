/* test_op_errors.c - tests the errors of hexc_ops.h, each with its code and message: unknown settings of an
 * operator, invalid dispatch tables, unsupported weights, and a failing n-th allocation, for every n. */
#include "test/lib/util_lib.h"
#include "test/ops/util_op.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .timeout = 100);

static char why[600];

static void
says(int code, int want, const char *text)
{
	ck_assert_msg(code == want, "%d and not %d: %s", code, want, why);
	ck_assert_msg(strstr(why, text) != NULL, "'%s' does not say '%s'", why, text);
}

/* ---- settings and tables ------------------------------------------------------------------------------- */

#define TABLE(lines) "hexc-family 1\nfamily copy\n" lines

static const struct {
	const char *op;
	const char *name, *value; /* NULL: no setting */
	const char *families;
	int code;
	const char *says;
} settings[] = {
	{ "gem", NULL, NULL, NULL, HEXC_E_ARGS, "unknown operator gem; hexc_op_at lists them" },
	{ "copy", "IN", "soup", NULL, HEXC_E_ARGS,
	  "operator copy: IN = soup is neither an integer nor an element type" },
	{ "copy", "BMM", "8", NULL, HEXC_E_ARGS,
	  "operator copy: it has no constant or placeholder named BMM; did you mean BM" },
	{ "copy", "unlikely", "8", NULL, HEXC_E_ARGS, "it has no constant or placeholder named unlikely" },
	{ "gemm", "ACTT", "f16", NULL, HEXC_E_ARGS, "it has no constant or placeholder named ACTT; did you "
	                                            "mean ACT" },
	{ "gemm", "ACT", "i8", NULL, HEXC_E_SOURCE, "ACT" },
	{ "copy", "BM", "16x", NULL, HEXC_E_ARGS, "BM = 16x is neither an integer nor an element type" },
	{ "copy", "epilogue", "x + b[n", NULL, HEXC_E_ARGS, "unclosed bracket" },
	{ "copy", "BM", "7", NULL, HEXC_E_ARGS, "operator copy: no entry of its dispatch table has these "
	                                        "constants" },
	{ "copy", "epilogue", "x +", NULL, HEXC_E_SOURCE,
	  "operator copy: copy, line 17, `Y[p, q, m :+ BM, n :+ BN] = OUT(x +);`: expected an expression" },
	{ "copy", "epilogue", "x + y", NULL, HEXC_E_SOURCE, "OUT(x + y);`: unknown name `y`" },
	{ "copy", "epilogue", "x; y", NULL, HEXC_E_ARGS,
	  "operator copy: epilogue = x; y: an expression must not contain ; { } // or newlines" },
	{ "copy", "tensors", "bias f16", NULL, HEXC_E_SOURCE,
	  "operator copy: copy, line 5, `bias f16,`: write a parameter as `NAME: TYPE`, as in `n: i32` or "
	  "`A: f16[M, K]`" },
	{ "copy", "tensors", "bias: f99[N]", NULL, HEXC_E_SOURCE, "f99" },
	{ "copy", NULL, NULL, TABLE("take nope when 1\n"), HEXC_E_FILE,
	  "operator copy: its dispatch table names an unknown kernel nope" },
	{ "copy", NULL, NULL, TABLE("take copy BM=3 when 1\n"), HEXC_E_SOURCE, "BM" },
	{ "copy", NULL, NULL, TABLE("take copy when\n"), HEXC_E_FILE, "line 3 of the families" },
};

TEST_EACH(plans, sizeof settings / sizeof settings[0])
{
	const hexc_op_set set = { settings[_i].name, settings[_i].value };
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_op *op = (hexc_op *)&o;

	o.families = settings[_i].families;
	says(hexc_op_plan(&op, settings[_i].op, set.name ? &set : NULL, set.name != NULL, &o, why,
	                  sizeof why),
	     settings[_i].code, settings[_i].says);
	ck_assert_ptr_null(op);
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static int16_t zeros[64 * 64 * 2];

static void
whole(hexc_weight *w)
{
	w->plane[HEXC_PLANE_ZERO] = (hexc_plane){ "u8", 1, 64, 64, zeros, 64 };
}

static void
ordered(hexc_weight *w)
{
	w->plane[HEXC_PLANE_INDEX] = (hexc_plane){ "i32", 64, 1, 1, zeros, 256 };
	w->plane[HEXC_PLANE_SCALE2] = (hexc_plane){ "f16", 2, 64, 32, zeros, 256 };
}

static void
pairs(hexc_weight *w)
{
	w->plane[HEXC_PLANE_INDEX] = (hexc_plane){ "i32", 32, 1, 2, zeros, 128 };
}

static void
astray(hexc_weight *w)
{
	static int32_t of[64] = { [5] = 2 };

	w->plane[HEXC_PLANE_INDEX] = (hexc_plane){ "i32", 64, 1, 1, of, sizeof of };
}

static void
big_table(hexc_weight *w)
{
	w->plane[HEXC_PLANE_CODE] = (hexc_plane){ "u8", 64, 64, 1, zeros, 64 * 64 };
	w->plane[HEXC_PLANE_TABLE] = (hexc_plane){ "f16", 1, 256, 1, zeros, 512 };
}

static void
no_codes(hexc_weight *w)
{
	w->plane[HEXC_PLANE_CODE].dtype = NULL;
}

static void
nameless(hexc_weight *w)
{
	no_codes(w);
	w->name = w->format = NULL;
}

static void
short_scales(hexc_weight *w)
{
	w->plane[HEXC_PLANE_SCALE].bytes = 1;
}

static const struct {
	void (*make)(hexc_weight *);
	const char *name, *value;
	int code;
	const char *says;
} unfit[] = {
	{ NULL, "ACT", "f32", HEXC_E_ARGS, "weight q: ACT must be f16 or bf16" },
	{ NULL, "G", "32", HEXC_E_ARGS, "weight q: G is defined by its format; omit it" },
	{ NULL, "unlikely", "1", HEXC_E_ARGS, "it has no constant or placeholder named unlikely" },
	{ whole, NULL, NULL, HEXC_E_ARGS, "weight q: zeros or offsets have separate groups, which no "
	                                  "operator supports; convert it" },
	{ ordered, NULL, NULL, HEXC_E_ARGS, "no operator supports an input order with two levels of scales" },
	{ pairs, NULL, NULL, HEXC_E_INVALID, "the plane index is 32 x 1 for groups of 2" },
	{ astray, NULL, NULL, HEXC_E_INVALID, "input 5 belongs to group 2, which is out of range" },
	{ big_table, NULL, NULL, HEXC_E_ARGS, "its table has more than 16 values, the limit of lookup" },
	{ no_codes, NULL, NULL, HEXC_E_INVALID, "weight q: it has no codes" },
	{ nameless, NULL, NULL, HEXC_E_INVALID, "weight without a name: it has no codes" },
	{ short_scales, NULL, NULL, HEXC_E_INVALID, "the plane scale has 1 bytes, but needs" },
};

static hexc_gpu *
simulator(void)
{
	hexc_gpu *g;

	ck_assert_msg(hexc_gpu_open(&g, HEXC_SIMULATOR(80), why, sizeof why) == HEXC_OK, "%s", why);
	return g;
}

static hexc_weight *
quantized(void)
{
	static float x[64 * 64];
	hexc_weight *w;

	ck_assert_msg(hexc_weight_quantize(&w, "Q4_0", x, 64, 64, 0, NULL, why, sizeof why) == HEXC_OK, "%s",
	              why);
	return w;
}

TEST_EACH(weights, sizeof unfit / sizeof unfit[0])
{
	const hexc_op_set set = { unfit[_i].name, unfit[_i].value };
	hexc_gpu *g = simulator();
	hexc_weight *w = quantized(), v = *w;
	hexc_linear *l = (hexc_linear *)&v;

	v.name = "q";
	if (unfit[_i].make)
		unfit[_i].make(&v);
	says(hexc_linear_new(&l, g, &v, NULL, set.name ? &set : NULL, set.name != NULL, NULL, NULL, why,
	                     sizeof why),
	     unfit[_i].code, unfit[_i].says);
	ck_assert_ptr_null(l);
	hexc_weight_free(w);
	hexc_gpu_close(g);
}

/* ---- no memory ----------------------------------------------------------------------------------------- */

static LibAlloc memory;

/* A plan of one line, and a weight's. */
static int
plan_of(hexc_gpu *g, const hexc_weight *w, const hexc_op_opts *o)
{
	hexc_op *op = NULL;
	hexc_linear *l = NULL;
	int code;

	*why = 0;
	if (w)
		code = hexc_linear_new(&l, g, w, NULL, NULL, 0, o, NULL, why, sizeof why);
	else
		code = hexc_op_plan(&op, "copy", NULL, 0, o, why, sizeof why);
	ck_assert_int_eq(code != HEXC_OK, !op && !l);
	hexc_linear_free(l);
	hexc_op_free(op);
	return code;
}

/* From the n-th on, or that one alone: each n until nothing fails. */
static void
each(hexc_gpu *g, const hexc_weight *w, const char *families, bool once)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	long n = 0;

	o.families = families;
	o.realloc = lib_realloc;
	o.user = &memory;
	for (int code = HEXC_E_NOMEM; code;) {
		memory = (LibAlloc){ .fail_at = ++n, .once = once };
		code = plan_of(g, w, &o);
		ck_assert_msg(!code || (code == HEXC_E_NOMEM && strstr(why, hexc_strerror(HEXC_E_NOMEM))),
		              "request %ld: %d: %s", n, code, why);
		ck_assert_msg(memory.live == 0, "request %ld: %ld blocks are left", n, memory.live);
		ck_assert_int_eq(code == HEXC_OK, memory.calls < n);
	}
	printf("%ld requests\n", memory.calls);
	ck_assert_int_gt(memory.calls, 20);
}

TEST_EACH(plan_without_memory, 2)
{
	each(NULL, NULL, TABLE("take copy BM=8 BN=64 when 1\n"), _i);
}

TEST_EACH(weight_without_memory, 2)
{
	static const char family[] = "hexc-family 1\nfamily linear\ntake linear when 1\n";
	hexc_gpu *g = simulator();
	hexc_weight *w = quantized();

	each(g, w, family, _i);
	hexc_weight_free(w);
	hexc_gpu_close(g);
}

/* A call of another operator has not what the weight gives. */
TEST(call_of_another)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_gpu *g = simulator();
	hexc_weight *w = quantized();
	hexc_family_call *c;
	hexc_linear *l;
	hexc_op *op;

	o.families = TABLE("take copy BM=8 BN=64 when 1\n");
	says(hexc_op_plan(&op, "copy", NULL, 0, &o, why, sizeof why), HEXC_OK, "");
	o.families = "hexc-family 1\nfamily linear\ntake linear when 1\n";
	says(hexc_linear_new(&l, g, w, NULL, NULL, 0, &o, NULL, why, sizeof why), HEXC_OK, "");
	ck_assert_int_eq(hexc_family_call_new(&c, g, hexc_op_family(op)), HEXC_OK);
	ck_assert_int_eq(hexc_linear_bind(l, c), HEXC_E_INVALID);
	hexc_family_call_free(c);
	hexc_linear_free(l);
	hexc_op_free(op);
	hexc_weight_free(w);
	hexc_gpu_close(g);
}
