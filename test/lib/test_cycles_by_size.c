/* test_cycles_by_size.c - tests that cycles predicted from the sizes of a launch equal those of the same
 * program with constant sizes. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "hexc/ir/ir.h"
#include "lib/hexc_bundle.h"
#include "lib/rt/module_serialize.h"
#include "ptxgen/ptxgen.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.timeout = 300);

/* $ and #: a size by name, or a number in its place. */
static const char product[] = "kernel gemm(A: f16[M, $], B: f16[N, $], C: out f16[M, N])\n"
                              "    assume $ % 64 == 0, $ > 0, M % 64 == 0, N % 64 == 0\n"
                              "    tune BK = 16|32|64\n"
                              "{\n"
                              "    grid(ceil(M, 64), ceil(N, 64));\n"
                              "    let m = block.x * 64, n = block.y * 64;\n"
                              "    var acc: register f32[64, 64] = 0;\n"
                              "    pipeline k in 0..$ step BK stages 3 {\n"
                              "        let a: shared = A[m :+ 64, k :+ BK];\n"
                              "        let b: shared = B[n :+ 64, k :+ BK];\n"
                              "        acc += dot(a, b.T);\n"
                              "    }\n"
                              "    C[m :+ 64, n :+ 64] = f16(acc);\n"
                              "}\n";

/* One loop in another, and one behind both, of other bounds. */
static const char nested[] = "kernel gemm(A: f32[#, M, $], B: f32[M, #], C: out f32[M])\n"
                             "    assume $ % 64 == 0, $ > 0, # % 64 == 0, # > 0, M % 64 == 0\n"
                             "    tune BK = 16|32|64\n"
                             "{\n"
                             "    grid(ceil(M, 64));\n"
                             "    let m = block.x * 64;\n"
                             "    var all: register f32[64, 1] = 0;\n"
                             "    for l in 0..# {\n"
                             "        for k in 0..$ step BK {\n"
                             "            all += sum(A[l, m :+ 64, k :+ BK], 1);\n"
                             "        }\n"
                             "        all *= 0.5;\n"
                             "    }\n"
                             "    for l in 32..# step BK {\n"
                             "        all += sum(exp(B[m :+ 64, l :+ BK]), 1);\n"
                             "    }\n"
                             "    C[m :+ 64] = reshape(all, 64);\n"
                             "}\n";

/* Turns of the outer loop are data; the inner one may end early, and then counts for 32 turns at most. */
static const char by_data[] = "kernel gemm(P: i64[#], A: f32[M, $], C: out f32[M])\n"
                           "    assume $ % 64 == 0, $ > 0, M % 64 == 0, # > 0\n"
                           "    tune BK = 16|32|64\n"
                           "{\n"
                           "    grid(ceil(M, 64));\n"
                           "    let m = block.x * 64;\n"
                           "    var all: register f32[64, 1] = 0;\n"
                           "    for l in 0..P[0] {\n"
                           "        for k in 0..$ step BK {\n"
                           "            all += sum(A[m :+ 64, k :+ BK], 1);\n"
                           "        }\n"
                           "        for k in 0..$ step BK {\n"
                           "            if P[0] == k { break; }\n"
                           "            all += sum(exp(A[m :+ 64, k :+ BK]), 1);\n"
                           "        }\n"
                           "    }\n"
                           "    C[m :+ 64] = reshape(all, 64);\n"
                           "}\n";

static void
replace(char *src, const char *program, const char *k, const char *l)
{
	*src = 0;
	for (; *program; program++) {
		const char c[2] = { *program, 0 };

		strcat(src, *program == '$' ? k : *program == '#' ? l : c);
	}
}

static hexc_module *
compiled(const char *program, const char *arch, const char *schedule, int64_t bk, const char *k,
         const char *l)
{
	hexc_define d = { "BK", bk };
	hexc_opts o = HEXC_OPTS_INIT;
	char src[2000];

	replace(src, program, k, l);
	o.arch = arch;
	o.schedule = schedule;
	o.define = &d;
	o.ndefine = 1;
	return lib_must(src, &o);
}

/* The solution that m has taken, in a module with constants in place of sizes. */
static hexc_candidate_info
same_solution(const hexc_module *m, const hexc_module *constant)
{
	hexc_candidate_info want = HEXC_CANDIDATE_INFO_INIT, c = HEXC_CANDIDATE_INFO_INIT;

	ck_assert_int_eq(hexc_candidate(m, 0, (size_t)m->kernel[0].candidate, &want), 1);
	for (size_t i = 0; hexc_candidate(constant, 0, i, &c); i++)
		if (strcmp(c.text, want.text) == 0)
			return c;
	ck_abort_msg("no solution with constants is %s", want.text);
	return c;
}

static void
set(const hexc_module *m, hexc_arg *arg, const char *name, int64_t value)
{
	int i = hexc_param_find(m, 0, name);

	if (i >= 0)
		arg[i].i = value;
}

static void
arguments(const hexc_module *m, hexc_arg *arg, int64_t mn, int64_t k, int64_t l)
{
	for (int i = 0; i < HEXC_MAX_PARAMS; i++)
		arg[i] = (hexc_arg)HEXC_ARG_INIT;
	set(m, arg, "M", mn);
	set(m, arg, "N", mn);
	set(m, arg, "K", k);
	set(m, arg, "L", l);
}

/* Within a millionth: the model's sums have some 100 terms, and a turn's part is a difference of two of them,
 * 2^-52 * 100 each, over 2^-10 of a turn. */
static void
equal(double got, double want, const char *what, int64_t bk, int64_t k)
{
	ck_assert_msg(got > want * (1 - 1e-6) && got < want * (1 + 1e-6),
	              "BK %" PRId64 ", K %" PRId64 ": %s is %.3f, with constants %.3f", bk, k, what, got,
	              want);
}

static const struct {
	const char *program, *arch, *schedule;
} each[] = {
	{ product, "sm_80", NULL },      { nested, "sm_80", NULL },       { product, "sm_90a", "groups" },
	{ product, "sm_90a", "roles" },  { product, "sm_90a", "roles2" }, { product, "sm_120a", NULL },
	{ by_data, "sm_80", NULL },
};

TEST_EACH(turns_are_those_of_the_sizes, COUNT_OF(each))
{
	static const int64_t ks[] = { 256, 4096 };

	if (target_find(each[_i].arch)->llvm > ptxgen_llvm_major())
		return; /* this LLVM does not know the arch: nothing is compiled for it */
	for (int64_t bk = 16; bk <= 64; bk *= 4) {
		hexc_module *m = compiled(each[_i].program, each[_i].arch, each[_i].schedule, bk, "K", "L");

		for (size_t i = 0; i < COUNT_OF(ks); i++) {
			hexc_module *constant;
			hexc_candidate_info c;
			hexc_arg arg[HEXC_MAX_PARAMS];
			double cycles, alone;
			uint32_t grid[3];
			char k[20];

			snprintf(k, sizeof k, "%" PRId64, ks[i]);
			constant = compiled(each[_i].program, each[_i].arch, each[_i].schedule, bk, k, "192");
			c = same_solution(m, constant);
			arguments(m, arg, 1024, ks[i], 192);
			ck_assert_int_eq(launch_cost(m, 0, arg, true, grid, &cycles, &alone), HEXC_OK);
			equal(alone, c.alone, "alone", bk, ks[i]);
			equal(cycles, c.cycles, "cycles", bk, ks[i]);
			hexc_module_free(constant);
		}
		hexc_module_free(m);
	}
}

/* ---- files of the version before ------------------------------------------------------------- */

/* The module as a file of version 2 and back: hexc-module(5) says what its head has. */
static hexc_module *
through_version_2(hexc_module *m)
{
	enum { HEAD = 32 };
	Wire w = { .at = HEAD };
	unsigned char *bytes;
	hexc_module *old;
	char why[300];

	wire_module(&w, m, MODULE_WITHOUT_TURNS);
	bytes = calloc(w.at, 1);
	w = (Wire){ .out = bytes, .room = w.at, .at = HEAD };
	wire_module(&w, m, MODULE_WITHOUT_TURNS);
	memcpy(bytes, "HEXCMOD\n\2", 9);
	for (int i = 0; i < 8; i++)
		bytes[16 + i] = (unsigned char)((uint64_t)w.at >> 8 * i);
	lib_seal(bytes, w.at);
	ck_assert_msg(hexc_module_load(&old, bytes, w.at, why, sizeof why) == HEXC_OK, "%s", why);
	free(bytes);
	return old;
}

TEST(older_files_have_the_turns_that_were_assumed)
{
	hexc_module *m = compiled(product, "sm_80", NULL, 32, "K", "L"), *old = through_version_2(m);
	const ModCand *c = &old->kernel[0].cand[0];
	hexc_arg arg[HEXC_MAX_PARAMS];
	double cycles, alone;
	uint32_t grid[3];

	arguments(old, arg, 64, 4096, 0);
	ck_assert_int_eq(launch_cost(old, 0, arg, true, grid, &cycles, &alone), HEXC_OK);
	ck_assert_double_eq(cycles, c->cycles);
	ck_assert_double_eq(alone, c->alone);
	arguments(m, arg, 64, 32 * 32, 0);
	ck_assert_int_eq(launch_cost(m, 0, arg, true, grid, &cycles, &alone), HEXC_OK);
	equal(cycles, c->cycles, "cycles", 32, 32 * 32);
	equal(alone, c->alone, "alone", 32, 32 * 32);
	hexc_module_free(old);
	hexc_module_free(m);
}

/* ---- which of a bundle ------------------------------------------------------------------------ */

enum { SMS = 108, SIZES = 3 };

/* Clocks of the whole grid: each multiprocessor's blocks, `together` at a time, none less than one alone. */
static double
waves(const hexc_candidate_info *c, int64_t blocks)
{
	int64_t own = (blocks + SMS - 1) / SMS, full = own / c->together, rest = own % c->together;
	double last = (double)rest * c->cycles;

	return (double)(full * c->together) * c->cycles + (rest && last < c->alone ? c->alone : last);
}

static hexc_bundle *
bundle(const hexc_module *const *m, unsigned char **bytes)
{
	hexc_bundle *b = NULL;
	char why[300];
	size_t n;

	ck_assert_int_eq(hexc_bundle_save(m, SIZES, "me", NULL, 0, &n, why, sizeof why), HEXC_OK);
	*bytes = malloc(n);
	ck_assert_int_eq(hexc_bundle_save(m, SIZES, "me", *bytes, n, &n, why, sizeof why), HEXC_OK);
	ck_assert_msg(hexc_bundle_memory(&b, *bytes, n, why, sizeof why) == HEXC_OK, "%s", why);
	return b;
}

static hexc_candidate_info
by_constant(const hexc_module *m, const char *arch, int64_t bk, int64_t k)
{
	hexc_candidate_info c;
	hexc_module *constant;
	char text[20];

	snprintf(text, sizeof text, "%" PRId64, k);
	constant = compiled(product, arch, NULL, bk, text, "L");
	c = same_solution(m, constant);
	hexc_module_free(constant);
	return c;
}

/* What the solution of m takes by the same program with K as a constant.  A loop of one constant turn is
 * none, and one of two is not run a turn ahead: these are on the line through more of them. */
static hexc_candidate_info
by_constants(const hexc_module *m, const char *arch, int64_t bk, int64_t k)
{
	hexc_candidate_info c, next;

	if (k > 2 * bk)
		return by_constant(m, arch, bk, k);
	c = by_constant(m, arch, bk, 256);
	next = by_constant(m, arch, bk, 256 + 64);
	c.cycles -= (double)(256 - k) / 64 * (next.cycles - c.cycles);
	c.alone -= (double)(256 - k) / 64 * (next.alone - c.alone);
	return c;
}

static void
finds_least(const hexc_bundle *b, const hexc_module *m, const hexc_candidate_info c[SIZES], int64_t mn,
            int64_t k)
{
	hexc_want want = HEXC_WANT_INIT;
	hexc_arg arg[HEXC_MAX_PARAMS];
	size_t best = 0, got = 99;
	double time[SIZES];
	char why[300];

	for (size_t s = 0; s < SIZES; s++) {
		time[s] = waves(&c[s], mn * mn / (64 * 64));
		best = time[s] < time[best] ? s : best;
	}
	arguments(m, arg, mn, k, 0);
	want.arg = arg;
	want.sms = SMS;
	ck_assert_msg(hexc_bundle_find(b, &want, &got, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_msg(got == best,
	              "M = N = %" PRId64 ", K = %" PRId64 ": number %zu, not %zu: %.0f, %.0f, %.0f", mn, k,
	              got, best, time[0], time[1], time[2]);
}

static const struct {
	const char *arch;
	int64_t k;
} wanted[] = { { "sm_80", 64 }, { "sm_80", 4096 }, { "sm_90a", 256 }, { "sm_90a", 4096 } };

TEST_EACH(steps_are_chosen_by_the_work_of_the_sizes, COUNT_OF(wanted))
{
	const hexc_module *m[SIZES];
	hexc_candidate_info c[SIZES];
	unsigned char *bytes;
	hexc_bundle *b;

	for (int s = 0; s < SIZES; s++) {
		m[s] = compiled(product, wanted[_i].arch, NULL, 16 << s, "K", "L");
		c[s] = by_constants(m[s], wanted[_i].arch, 16 << s, wanted[_i].k);
	}
	b = bundle(m, &bytes);
	for (int64_t mn = 64; mn <= 8192; mn *= 2)
		finds_least(b, m[0], c, mn, wanted[_i].k);
	hexc_bundle_close(b);
	free(bytes);
	for (int s = 0; s < SIZES; s++)
		hexc_module_free((hexc_module *)(uintptr_t)m[s]);
}

/* One that does not say what a turn takes: all count as 32. */
TEST(older_files_are_compared_as_they_were)
{
	const hexc_module *m[SIZES];
	hexc_candidate_info c[SIZES];
	unsigned char *bytes;
	hexc_bundle *b;

	for (int s = 0; s < SIZES; s++) {
		hexc_module *as_is = compiled(product, "sm_80", NULL, 16 << s, "K", "L");

		c[s] = (hexc_candidate_info)HEXC_CANDIDATE_INFO_INIT;
		hexc_candidate(as_is, 0, 0, &c[s]);
		m[s] = s == 1 ? through_version_2(as_is) : as_is;
		if (s == 1)
			hexc_module_free(as_is);
	}
	ck_assert_int_eq(m[1]->kernel[0].turns.known, 0);
	b = bundle(m, &bytes);
	for (int64_t mn = 64; mn <= 8192; mn *= 2)
		finds_least(b, m[0], c, mn, 4096);
	hexc_bundle_close(b);
	free(bytes);
	for (int s = 0; s < SIZES; s++)
		hexc_module_free((hexc_module *)(uintptr_t)m[s]);
}
