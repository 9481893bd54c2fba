/* test_family.c - tests kernel families: every size finds its kernel, chains have their sizes and their
 * workspace, and invalid text is rejected at the right place. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "lib/hexc_family.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.timeout = 300);

static const char split[] = "kernel partial(A: f16[M, K], B: f16[N, K], P: out f32[S, M, N])\n"
                            "    tune BM = 16|32\n"
                            "    assume K % 8 == 0\n"
                            "{\n"
                            "    grid(ceil(M, BM), ceil(N, 32), S);\n"
                            "    let m = block.x * BM, n = block.y * 32, s = block.z;\n"
                            "    let each = ceil(ceil(K, 16), S) * 16;\n"
                            "    var acc: register f32[BM, 32] = 0;\n"
                            "    pipeline k in s * each..min(K, s * each + each) step 16 stages 2 {\n"
                            "        let a: shared = A[m :+ BM, k :+ 16], b: shared = B[n :+ 32, k :+ 16];\n"
                            "        acc += dot(a, b.T);\n"
                            "    }\n"
                            "    P[s, m :+ BM, n :+ 32] = acc;\n"
                            "}\n";
static const char join[] = "kernel join(P: f32[S, M, N], C: out f16[M, N])\n"
                           "{\n"
                           "    grid(M, ceil(N, 128));\n"
                           "    var acc: register f32[1, 128] = 0;\n"
                           "    for s in 0..S {\n"
                           "        acc += P[s, block.x :+ 1, block.y * 128 :+ 128];\n"
                           "    }\n"
                           "    C[block.x :+ 1, block.y * 128 :+ 128] = f16(acc);\n"
                           "}\n";

static const char table[] = "hexc-family 1\n"
                            "# by hand\n"
                            "family product # of f16\n"
                            "program sha256:0123\n"
                            "judge rule\n"
                            "\n"
                            "take partial BM=16 then join with S=min(8, ceil(K, 256)) "
                            "when M <= 16 && K > 512\n"
                            "take gemm BM=32 BK=32 when M <= 16 && !(K > 512) || M > 16 && M <= 128\n"
                            "take gemm BM=64 candidate=0 when M % 2 == 0\n"
                            "take gemm BM=64 BK=16 when 1\n";

enum { MODULES = 6 };

static hexc_module *
with(const char *src, const char *kernel, const char *name, int64_t value, const char *arch)
{
	hexc_define d[2] = { { name, value }, { "BK", 32 } };
	hexc_opts o = HEXC_OPTS_INIT;

	o.kernel = kernel;
	o.arch = arch;
	o.define = d;
	o.ndefine = name ? strcmp(kernel, "gemm") == 0 && value == 32 ? 2 : 1 : 0;
	return lib_must(src, &o);
}

static hexc_bundle *
bundle_of(const char *families, void **data)
{
	const hexc_module *m[MODULES] = {
		with(split, "partial", "BM", 16, NULL),  with(split, "partial", "BM", 32, NULL),
		with(join, "join", NULL, 0, NULL),       with(lib_gemm, "gemm", "BM", 32, NULL),
		with(lib_gemm, "gemm", "BM", 64, NULL),  with(lib_gemm, "gemm", "BM", 64, "sm_90a"),
	};
	hexc_bundle *b;
	char why[500];
	size_t n;

	ck_assert_int_eq(hexc_bundle_save_families(m, MODULES, "me", families, NULL, 0, &n, why, sizeof why),
	                 HEXC_OK);
	*data = malloc(n);
	ck_assert_int_eq(hexc_bundle_save_families(m, MODULES, "me", families, *data, n, &n, why, sizeof why),
	                 HEXC_OK);
	for (int i = 0; i < MODULES; i++)
		hexc_module_free((hexc_module *)(uintptr_t)m[i]);
	ck_assert_msg(hexc_bundle_memory(&b, *data, n, why, sizeof why) == HEXC_OK, "%s", why);
	return b;
}

static hexc_family *
open_family(const hexc_bundle *b, const char *name, const char *arch)
{
	hexc_family *f;
	char why[500];

	ck_assert_msg(hexc_family_open(&f, b, name, arch, why, sizeof why) == HEXC_OK, "%s", why);
	return f;
}

static void
sizes(const hexc_family *f, hexc_arg *arg, int64_t m, int64_t n, int64_t k)
{
	memset(arg, 0, sizeof *arg * 16);
	arg[hexc_family_param_find(f, "M")].i = m;
	arg[hexc_family_param_find(f, "N")].i = n;
	if (k)
		arg[hexc_family_param_find(f, "K")].i = k;
}

/* Each m from 1 to 300, several n and k: the line that its guard says, whose kernels take the sizes. */
TEST(every_size_finds_a_kernel)
{
	static const int64_t ks[] = { 8, 256, 512, 520, 4096, 11008 }, ns[] = { 1, 96, 4096 };
	void *data;
	hexc_bundle *b = bundle_of(table, &data);
	hexc_family *f = open_family(b, "product", "sm_86");
	hexc_arg arg[16], of[HEXC_MAX_PARAMS];
	char why[300];

	for (int64_t m = 0; m <= 300; m++)
		for (int i = 0; i < 18; i++) {
			int64_t k = ks[i % 6], n = ns[i / 6], line = m <= 16 && k > 512 ? 0 : m <= 128 ? 1
			                                                              : m % 2 ? 3
			                                                                      : 2;
			hexc_family_line l = HEXC_FAMILY_LINE_INIT;
			uint64_t space = 1;
			size_t at;

			sizes(f, arg, m, n, k);
			ck_assert_msg(hexc_family_pick(f, arg, &at, why, sizeof why) == HEXC_OK, "%d: %s",
			              (int)m, why);
			ck_assert_int_eq((int64_t)at, line);
			ck_assert_int_eq(hexc_family_at(f, at, &l), 1);
			ck_assert_int_eq(hexc_family_workspace(f, at, arg, &space), HEXC_OK);
			for (size_t s = 0; s < l.nstage; s++) {
				const hexc_module *module;
				size_t kernel;

				ck_assert_int_eq(hexc_family_stage(f, at, s, NULL, &module, &kernel),
				                 HEXC_OK);
				ck_assert_int_eq(hexc_family_args(f, at, s, arg, (void *)256, of), HEXC_OK);
				ck_assert_int_eq(hexc_check_sizes(module, kernel, of, why, sizeof why),
				                 HEXC_OK);
			}
			if (line) {
				ck_assert_uint_eq(space, 0);
			} else {
				int64_t parts = (k + 255) / 256 < 8 ? (k + 255) / 256 : 8;
				ck_assert_uint_eq(space, (uint64_t)(parts * m * n * 4 + 255) / 256 * 256);
			}
		}
	/* what no kernel takes is told */
	sizes(f, arg, 300, 5000, 4096);
	ck_assert_int_eq(hexc_family_pick(f, arg, &(size_t){ 0 }, why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why,
	                     "line 10 fails: the kernel assumes N <= 4096") != NULL, "%s", why);
	hexc_family_close(f);
	hexc_bundle_close(b);
	free(data);
}

/* The chain computes what one kernel does, with its own size and its tensor in the workspace. */
TEST(a_chain)
{
	enum { M = 3, N = 5, K = 1024 };
	void *data;
	hexc_bundle *b = bundle_of(table, &data);
	hexc_family *f = open_family(b, NULL, NULL);
	hexc_family_info info = HEXC_FAMILY_INFO_INIT;
	hexc_family_line l = HEXC_FAMILY_LINE_INIT;
	hexc_arg arg[16], of[2][HEXC_MAX_PARAMS];
	const hexc_module *m;
	char space[4096];
	size_t k, index;
	int p, s;

	hexc_family_describe(f, &info);
	ck_assert_str_eq(info.name, "product");
	ck_assert(info.arch == NULL);
	ck_assert_uint_eq(info.nline, 4);
	ck_assert_uint_eq(info.nparam, 6); /* A B C M N K; P and S are the chain's */
	ck_assert_int_eq(hexc_family_param_find(f, "P"), -1);
	ck_assert_int_eq(hexc_family_param_find(f, "S"), -1);
	ck_assert_int_eq(hexc_family_at(f, 0, &l), 1);
	ck_assert_str_eq(l.guard, "M <= 16 && K > 512");
	ck_assert_uint_eq(l.number, 7);
	ck_assert_uint_eq(l.nstage, 2);
	ck_assert_uint_eq(l.ntensor, 1);
	ck_assert_int_eq(hexc_family_at(f, 4, &l), 0);
	sizes(f, arg, M, N, K);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(hexc_family_args(f, 0, (size_t)i, arg, space, of[i]), HEXC_OK);
	hexc_family_stage(f, 0, 0, &index, &m, &k);
	p = hexc_param_find(m, k, "P");
	s = hexc_param_find(m, k, "S");
	ck_assert_uint_eq(index, 0);
	ck_assert_ptr_eq(of[0][p].ptr, space);
	ck_assert_int_eq(of[0][s].i, 4);
	hexc_family_stage(f, 0, 1, NULL, &m, &k);
	ck_assert_ptr_eq(of[1][hexc_param_find(m, k, "P")].ptr, space);
	ck_assert_int_eq(of[1][hexc_param_find(m, k, "S")].i, 4);
	ck_assert_int_eq(of[1][hexc_param_find(m, k, "M")].i, M);
	ck_assert_int_eq(hexc_family_stage(f, 0, 2, NULL, NULL, NULL), HEXC_E_INVALID);
	hexc_family_close(f);
	hexc_bundle_close(b);
	free(data);
}

/* Sizes for which a line has no number, or its workspace none that a machine has. */
TEST(sizes_without_a_value)
{
	static const char by[] = "hexc-family 1\nfamily product\n"
	                         "take partial BM=16 then join with S=1024 / (K - 8) when 1\n";
	void *data;
	hexc_bundle *b = bundle_of(by, &data);
	hexc_family *f = open_family(b, NULL, NULL);
	hexc_arg arg[16], of[HEXC_MAX_PARAMS];
	char why[500];
	uint64_t bytes;
	size_t line;

	sizes(f, arg, 3, 5, 8);
	ck_assert_int_eq(hexc_family_pick(f, arg, &line, why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why, "line 3 fails: a size cannot be computed: overflow or division by "
				  "0") != NULL,
	              "%s", why);
	ck_assert_int_eq(hexc_family_workspace(f, 0, arg, &bytes), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_family_args(f, 0, 0, arg, NULL, of), HEXC_E_ARGS);
	sizes(f, arg, INT64_C(1) << 31, INT64_C(1) << 31, 16);
	ck_assert_int_eq(hexc_family_workspace(f, 0, arg, &bytes), HEXC_E_ARGS);
	ck_assert_int_eq(hexc_family_args(f, 0, 0, arg, NULL, of), HEXC_E_ARGS);
	hexc_family_close(f);
	hexc_bundle_close(b);
	free(data);
}

/* Each of 17 tensors of a workspace has a number of bytes; all together have none. */
TEST(a_workspace_of_too_much)
{
	static const char by[] = "hexc-family 1\nfamily many\ntake many then sum when 1\n";
	enum { TENSORS = 17, ROOM = 4000 };
	static char src[2][ROOM], data[1 << 17];
	const hexc_module *m[2];
	hexc_arg arg[16];
	hexc_bundle *b;
	hexc_family *f;
	uint64_t bytes;
	char why[500];
	size_t n, at[2] = { 0, 0 };

#define ADD(i, ...) (at[i] += (size_t)snprintf(src[i] + at[i], ROOM - at[i], __VA_ARGS__))
	ADD(0, "kernel many(A: f64[M, N]");
	ADD(1, "kernel sum(C: out f64[M, N]");
	for (int i = 0; i < TENSORS; i++) {
		ADD(0, ", P%d: out f64[M, N]", i);
		ADD(1, ", P%d: f64[M, N]", i);
	}
	for (int k = 0; k < 2; k++)
		ADD(k, ")\n{\n    grid(M, ceil(N, 32));\n    let m = block.x, n = block.y * 32;\n");
	ADD(1, "    C[m :+ 1, n :+ 32] = 0");
	for (int i = 0; i < TENSORS; i++) {
		ADD(0, "    P%d[m :+ 1, n :+ 32] = A[m :+ 1, n :+ 32];\n", i);
		ADD(1, " + P%d[m :+ 1, n :+ 32]", i);
	}
	ADD(0, "}\n");
	ADD(1, ";\n}\n");
	for (int k = 0; k < 2; k++)
		m[k] = lib_must(src[k], NULL);
	ck_assert_int_eq(hexc_bundle_save_families(m, 2, "me", by, data, sizeof data, &n, why, sizeof why),
	                 HEXC_OK);
	ck_assert_int_eq(hexc_bundle_memory(&b, data, n, why, sizeof why), HEXC_OK);
	f = open_family(b, NULL, NULL);
	sizes(f, arg, INT64_C(1) << 26, INT64_C(1) << 30, 0);
	ck_assert_int_eq(hexc_family_workspace(f, 0, arg, &bytes), HEXC_OK);
	ck_assert_uint_eq(bytes, (uint64_t)TENSORS << 59);
	sizes(f, arg, (INT64_C(1) << 27) - 1, INT64_C(1) << 30, 0);
	ck_assert_int_eq(hexc_family_workspace(f, 0, arg, &bytes), HEXC_E_ARGS);
	hexc_family_close(f);
	hexc_bundle_close(b);
	for (int k = 0; k < 2; k++)
		hexc_module_free((hexc_module *)(uintptr_t)m[k]);
}

/* A family for an arch is taken where it runs, the newest first, with kernels of that arch. */
TEST(families_of_archs)
{
	static const char text[] = "hexc-family 1\nfamily gemm\narch sm_80\ntake BM=32 when 1\n"
	                           "family gemm\narch sm_90a\ntake BM=64 when 1\n"
	                           "hexc-family 1\nfamily gemm\ntake BM=64 when M > 1\n";
	static const struct {
		const char *arch, *is;
		int64_t bm;
	} each[] = { { "sm_80", "sm_80", 32 },
		     { "sm_89", "sm_80", 32 },
		     { "sm_90", "sm_90a", 64 },
		     { NULL, "sm_90a", 64 } };
	void *data;
	hexc_bundle *b = bundle_of(text, &data);
	char why[300];
	hexc_family *f;

	for (int i = 0; i < 4; i++) {
		hexc_family_info info = HEXC_FAMILY_INFO_INIT;
		const hexc_module *m;
		hexc_define d;
		size_t k;

		f = open_family(b, "gemm", each[i].arch);
		hexc_family_describe(f, &info);
		ck_assert_str_eq(info.arch, each[i].is);
		hexc_family_stage(f, 0, 0, NULL, &m, &k);
		ck_assert_int_eq(hexc_const(m, k, (size_t)hexc_const_find(m, k, "BM"), &d), 1);
		ck_assert_int_eq(d.value, each[i].bm);
		hexc_family_close(f);
	}
	/* on an older one only that without an arch is left, whose kernels do not run there */
	ck_assert_int_eq(hexc_family_open(&f, b, NULL, "sm_75", why, sizeof why), HEXC_E_ARGS);
	ck_assert_msg(strstr(why,
	                     "line 10 of the families: the bundle has no kernel gemm with BM=64") != NULL,
		"%s", why);
	hexc_bundle_close(b);
	free(data);
}

/* ---- text that is wrong -------------------------------------------------------------------------------- */

static void
refused(const hexc_bundle *b, const char *text, const char *want)
{
	hexc_family *f = (void *)1;
	char why[500];
	int code = hexc_family_read(&f, b, text, strlen(text), NULL, NULL, why, sizeof why);
	int as = strncmp(want, "no kernel ", 10) == 0 && strncmp(want, "no kernel of", 12) != 0 ? HEXC_E_ARGS
	                                                                                        : HEXC_E_FILE;

	ck_assert_msg(code == as && !f && strstr(why, want), "%s: code %d, %s", text, code, why);
}

TEST(wrong_text)
{
	static const struct {
		const char *text, *want;
	} each[] = {
		{ "family gemm\n", "line 1 of the families: it does not start with hexc-family 1" },
		{ "hexc-family 2\n", "a format version other than 1" },
		{ "hexc-family 1\ntake BM=32 when 1\n", "line 2 of the families: family NAME must come "
		                                        "first" },
		{ "hexc-family 1\nfamily a b\n", "a family's name must be one word" },
		{ "hexc-family 1\nfamily gemm\n", "family gemm has no line that starts with take" },
		{ "hexc-family 1\nfamily gemm\narch sm_81\n", "unknown architecture sm_81" },
		{ "hexc-family 1\nfamily gemm\ntale BM=32 when 1\n",
		  "'tale' is not take, arch, or a line that tune writes" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32\n", "missing `when GUARD` at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when\n", "missing value at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when M <\n", "missing value at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when (M\n", "missing ) at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when min(M)\n", "missing , at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when 1 2\n", "unexpected '2' after the guard" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when L > 1\n",
		  "L is neither a size of the family nor a constant of the entry's kernels" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when A > 1\n", "A is not a size" },
		{ "hexc-family 1\nfamily gemm\ntake BM=x when 1\n",
		  "BM=x: the value is neither an integer nor an element type" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 candidate=-1 when 1\n", "candidate=-1" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 join when 1\n",
		  "' is not NAME=VALUE; the next kernel must follow `then`" },
		{ "hexc-family 1\nfamily gemm\ntake BM=16 when 1\n", "no kernel gemm with BM=16" },
		{ "hexc-family 1\nfamily gemm\ntake lost when 1\n", "no kernel lost" },
		{ "hexc-family 1\nfamily gemm\ntake partial when 1\n",
		  "kernels 0 and 1 of the bundle both match partial" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 with S=1 when 1\n",
		  "no kernel of the entry has a size S" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 with A=1 when 1\n",
		  "A of kernel gemm is not a size" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 with when 1\n", "`with` requires NAME=VALUE at '" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 when 99999999999999999999\n",
		  "number too large" },
		{ "hexc-family 1\nfamily a\ntake gemm BM=32 when 1\nfamily b\ntake gemm BM=32 when 1\n",
		  "a and b; select one" },
		{ "hexc-family 1\nfamily gemm\ntake BM=32 then partial BM=16 then join when 1\n"
		  "take BM=32 then gemm BM=32 then gemm BM=32 then gemm BM=32 "
		  "then gemm BM=32 then gemm BM=32 then gemm BM=32 "
		  "then gemm BM=32 then gemm BM=32 when 1\n",
		  "an entry can have at most 8 kernels" },
	};
	void *data;
	hexc_bundle *b = bundle_of("", &data);
	char deep[1000] = "hexc-family 1\nfamily gemm\ntake BM=32 when ", why[300];
	hexc_family *f;

	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		refused(b, each[i].text, each[i].want);
	for (int i = 0; i < 300; i++)
		strcat(deep, "(");
	refused(b, deep, "nested too deeply");
	ck_assert_int_eq(hexc_family_open(&f, b, "gemm", NULL, why, sizeof why), HEXC_E_ARGS);
	ck_assert_str_eq(why, "no family gemm");
	ck_assert_int_eq(hexc_family_open(&f, b, "gemm", "sm", why, sizeof why), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_family_open(&f, NULL, "gemm", NULL, why, sizeof why), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_family_read(&f, b, NULL, 0, NULL, NULL, why, sizeof why), HEXC_E_INVALID);
	hexc_bundle_close(b);
	free(data);
}

/* No text does harm: each byte another, left out, or the last one. */
TEST(any_text)
{
	static const char letters[] = "(=\n ,&9x\001\377";
	char text[sizeof table];
	void *data;
	hexc_bundle *b = bundle_of("", &data);
	hexc_family *f;
	int right = 0;

	for (size_t i = 0; i + 1 < sizeof table; i++)
		for (size_t k = 0; k < sizeof letters + 1; k++) {
			size_t n = sizeof table - 1;

			memcpy(text, table, n);
			if (k < sizeof letters)
				text[i] = letters[k];
			else
				n = i;
			right += hexc_family_read(&f, b, text, n, NULL, "sm_80", NULL, 0) == HEXC_OK;
			hexc_family_close(f);
		}
	ck_assert_int_gt(right, 100); /* in remarks and names, most */
	hexc_bundle_close(b);
	free(data);
}

/* What guards mean, by numbers. */
TEST(guards)
{
	static const struct {
		const char *text;
		int holds;
	} each[] = {
		{ "7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1", 1 },
		{ "ceil(M, 3) == 34 && ceil(99, 3) == 33 && ceil(-4, 3) == -1 && ceil(-1, 2) == 0", 1 },
		{ "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 10 - 2 - 3 == 5", 1 },
		{ "where(M > 5, 3, 1 / 0) == 3", 1 },
		{ "1 / 0 == 1", 0 },
		{ "M == 0 || 8 % M == 8", 1 },
		{ "M != 100 && 1 / 0 == 0", 0 },
		{ "!(M == 100) || max(M, 2) == 100 && min(M, 2) == 2", 1 },
		{ "M - 100", 0 },
		{ "M", 1 },
		{ "9223372036854775807 + M > 0", 0 },
		{ "BM == 32 && STAGES >= 2", 1 },
		{ "1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2", 1 },
	};
	void *data;
	hexc_bundle *b = bundle_of("", &data);

	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		char text[300], why[300];
		hexc_arg arg[16];
		hexc_family *f;
		size_t line;

		snprintf(text, sizeof text, "hexc-family 1\nfamily gemm\ntake BM=32 when %s\n", each[i].text);
		ck_assert_msg(hexc_family_read(&f, b, text, strlen(text), NULL, NULL, why,
		                               sizeof why) == HEXC_OK,
		              "%s", why);
		sizes(f, arg, 100, 8, 8);
		ck_assert_msg((hexc_family_pick(f, arg, &line, why, sizeof why) == HEXC_OK) == each[i].holds,
		              "%s", each[i].text);
		hexc_family_close(f);
	}
	hexc_bundle_close(b);
	free(data);
}
