/* test_assemble.c - tests hexc_opts.assemble: each kernel gets the solution that the host's assembler ranks
 * best, also in the background; cancellations and errors meanwhile end the compilation; no memory leaks. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.timeout = 120);

/* An assembler that spills all but solution `good` of each kernel, which it counts by the calls. */
typedef struct Asm {
	LibAlloc memory; /* first, as lib_realloc has it */
	int good[2];     /* of kernels gemm and add */
	int calls[2];
	int stop_at;     /* cancelled from this call on; 0: never */
} Asm;

static int
which(const char *kernel)
{
	return strcmp(kernel, "add") == 0;
}

static int
assemble(void *user, const char *arch, const char *kernel, const char *ptx, size_t n, hexc_assembled *out)
{
	Asm *a = user;
	int k = which(kernel), i = a->calls[k]++;

	ck_assert_str_eq(arch, "sm_80");
	ck_assert(strlen(ptx) == n && strstr(ptx, kernel));
	ck_assert(i < 8);
	ck_assert(out->why && out->why_size > 100);
	if (a->good[k] < 0) {
		snprintf(out->why, out->why_size, "broken");
		return 1;
	}
	out->registers = 100;
	out->spilled = i == a->good[k] ? 0 : 8;
	return 0;
}

static int
cancel(void *user)
{
	Asm *a = user;

	return a->stop_at && a->calls[0] + a->calls[1] >= a->stop_at;
}

static hexc_opts
asking(Asm *a)
{
	hexc_opts o = HEXC_OPTS_INIT;

	o.assemble = assemble;
	o.assembler = "test 1";
	o.user = a;
	o.realloc = lib_realloc;
	return o;
}

static char *
both(void)
{
	char *src = malloc(strlen(lib_gemm) + strlen(lib_add) + 2);

	ck_assert_ptr_nonnull(src);
	sprintf(src, "%s\n%s", lib_gemm, lib_add);
	return src;
}

static hexc_kernel_info
info_of(const hexc_module *m, size_t k)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;

	ck_assert(hexc_kernel(m, k, &info));
	return info;
}

TEST(each_kernel_has_its_own_solution)
{
	Asm a = { .good = { 2, 0 } };
	hexc_opts o = asking(&a), named = HEXC_OPTS_INIT;
	char *src = both();
	hexc_module *m = lib_must(src, &o), *alone;
	hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;

	ck_assert_int_eq(info_of(m, 0).candidate, 2);
	ck_assert_int_eq(info_of(m, 1).candidate, 0);
	ck_assert(hexc_candidate(m, 0, 0, &c));
	ck_assert(c.assembled == 1 && c.used == 100 && c.spilled == 8);
	ck_assert(hexc_candidate(m, 0, 2, &c));
	ck_assert(c.assembled == 1 && c.spilled == 0 && c.used_cycles > 0 && c.used_together > 0);
	named.candidate = 2;
	alone = lib_must(lib_gemm, &named);
	ck_assert_str_eq(info_of(alone, 0).name, info_of(m, 0).name);
	ck_assert(info_of(m, 0).smem == info_of(alone, 0).smem);
	hexc_module_free(alone);
	hexc_module_free(m);
	ck_assert_int_eq(a.memory.live, 0);
	free(src);
}

TEST(all_are_asked_about_where_that_is_wanted)
{
	Asm a = { .good = { 0, 0 } };
	hexc_opts o = asking(&a);
	hexc_module *m = lib_must(lib_gemm, &o);
	size_t n = info_of(m, 0).ncandidate;
	int some = a.calls[0];

	hexc_module_free(m);
	memset(a.calls, 0, sizeof a.calls);
	o.flags = HEXC_ASSEMBLE_ALL;
	hexc_module_free(lib_must(lib_gemm, &o));
	ck_assert_int_eq(a.calls[0], n < 8 ? (int)n : 8);
	ck_assert_int_le(some, a.calls[0]);
	memset(a.calls, 0, sizeof a.calls);
	o.candidate = 1; /* that one is wanted */
	hexc_module_free(lib_must(lib_gemm, &o));
	o.candidate = 0;
	o.flags = HEXC_NO_EMIT; /* there is no PTX */
	hexc_module_free(lib_must(lib_gemm, &o));
	ck_assert_int_eq(a.calls[0], 0);
}

/* One that is refused is told; as the first of the module is, nobody is asked about the second kernel. */
TEST(what_is_refused_is_told_once)
{
	Asm a = { .good = { -1, -1 } };
	hexc_opts o = asking(&a);
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	char *src = both();
	hexc_module *m;
	hexc_ctx *c;
	int told = 0;

	ck_assert_int_eq(hexc_open(&c, &o), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, NULL, src, strlen(src)), HEXC_OK);
	for (size_t i = 0; hexc_diag(c, i, &d); i++, d.size = sizeof d)
		told += d.warning && strcmp(d.warning, "assembler") == 0 && strstr(d.text, "broken");
	ck_assert_int_eq(told, 1);
	ck_assert_int_eq(a.calls[0] + a.calls[1], 1);
	ck_assert_int_eq(info_of(m, 0).candidate, 0);
	hexc_module_free(m);
	hexc_close(c);
	free(src);
}

TEST(cancelled_between_two_questions)
{
	Asm a = { .good = { 7, 7 }, .stop_at = 2 };
	hexc_opts o = asking(&a);
	char why[200];
	int code;

	o.cancel = cancel;
	ck_assert_ptr_null(lib_compile(lib_gemm, &o, &code, why, sizeof why));
	ck_assert_int_eq(code, HEXC_E_LIMIT);
	ck_assert_int_eq(a.calls[0], 2);
	ck_assert_int_eq(a.memory.live, 0);
}

/* Wherever memory ends, it is E_NOMEM, and all is given back: of some of the calls, spread over all. */
TEST(memory_ends_while_it_asks)
{
	Asm a = { .good = { 1, 1 } };
	hexc_opts o = asking(&a);
	char why[200];
	long all;
	int code;

	hexc_module_free(lib_must(lib_add, &o));
	all = a.memory.calls;
	for (int i = 1; i <= 40; i++) {
		hexc_module *m;

		a = (Asm){ .good = { 1, 1 }, .memory.fail_at = 1 + all * i / 41 };
		m = lib_compile(lib_add, &o, &code, why, sizeof why);
		ck_assert_msg(!m && code == HEXC_E_NOMEM, "call %ld: %d, %s", a.memory.fail_at, code, why);
		ck_assert_int_eq(a.memory.live, 0);
	}
}

TEST(in_the_background_too)
{
	Asm a = { .good = { 1, 0 } };
	hexc_opts o = asking(&a);
	hexc_job *j;

	o.realloc = NULL;
	ck_assert_int_eq(hexc_compile_async(&j, &o, NULL, lib_gemm, strlen(lib_gemm), NULL), HEXC_OK);
	ck_assert_int_eq(hexc_job_wait(j), HEXC_OK);
	ck_assert_int_eq(info_of(hexc_job_module(j, NULL), 0).candidate, 1);
	hexc_job_free(j);
}
