/* test_budget.c - tests every budget of search steps, and a cancellation at every poll: the result is either
 * the complete solution, the same as without a limit, or HEXC_E_LIMIT. Afterwards the context compiles the
 * next program normally, and no memory leaks. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include "test/util_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Budgets and polls that are all tried at each end; between them an even sample, of FULL=1 all. */
enum { ALL = 60, SAMPLE = 60 };

static const char *const program[] = { "examples/gemm_f16.hexc", "examples/attention.hexc",
	                               "test/infer/spaces/gemm.hexc",
	                               "test/infer/programs/carried.hexc" };

typedef struct Patience {
	LibAlloc alloc; /* first: lib_realloc gets the same pointer */
	long polls, stop_at; /* 0: never */
	bool stopped;
} Patience;

static int
impatient(void *user)
{
	Patience *p = user;

	if (++p->polls >= p->stop_at && p->stop_at)
		p->stopped = true;
	return p->stopped;
}

/* What a module says of its kernels' candidates, to be freed; and its PTX, if there is any. */
static char *
text_of(const hexc_module *m)
{
	size_t n = 0, cap = 1 << 22;
	char *s = malloc(cap);
	hexc_kernel_info k = HEXC_KERNEL_INFO_INIT;

	ck_assert(s);
	s[0] = 0;
	for (size_t i = 0; hexc_kernel(m, i, &k); i++) {
		hexc_candidate_info c = HEXC_CANDIDATE_INFO_INIT;

		for (size_t j = 0; hexc_candidate(m, i, j, &c) && n < cap; j++)
			n += (size_t)snprintf(s + n, cap - n, "%s %zu %.17g %s\n", k.name, j, c.cycles,
			                      c.text);
	}
	snprintf(s + n, cap - n, "%s", hexc_ptx(m, NULL));
	return s;
}

typedef struct Fixture {
	const char *src;
	size_t n;
	hexc_ctx *ctx;
	hexc_opts o;
	Patience p;
	char *want; /* of the unlimited compilation */
	char *next; /* of the program compiled afterwards */
} Fixture;

static char *
compiled(Fixture *f, const char *src, size_t n, int *code)
{
	hexc_module *m = NULL;
	char *s = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	*code = hexc_compile(&m, f->ctx, "t.hexc", src, n);
	if (*code) {
		ck_assert_ptr_null(m);
		ck_assert(hexc_diag(f->ctx, 0, &d) && d.text && d.text[0]);
		return NULL;
	}
	s = text_of(m);
	hexc_module_free(m);
	return s;
}

static void
configure(Fixture *f, uint64_t steps, long stop_at)
{
	f->o.max_steps = steps;
	f->p.polls = 0;
	f->p.stop_at = stop_at;
	f->p.stopped = false;
	ck_assert_int_eq(hexc_configure(f->ctx, &f->o), HEXC_OK);
}

static void
start(Fixture *f, const char *path, uint32_t flags)
{
	static const hexc_opts none = HEXC_OPTS_INIT;
	int code;

	memset(f, 0, sizeof *f);
	f->src = file_read(path, &f->n);
	f->o = none;
	f->o.flags = flags;
	f->o.realloc = lib_realloc;
	f->o.cancel = impatient;
	f->o.user = &f->p;
	ck_assert_int_eq(hexc_open(&f->ctx, &f->o), HEXC_OK);
	f->want = compiled(f, f->src, f->n, &code);
	ck_assert_int_eq(code, HEXC_OK);
	f->next = compiled(f, lib_add, strlen(lib_add), &code);
	ck_assert_int_eq(code, HEXC_OK);
}

static void
end(Fixture *f)
{
	hexc_close(f->ctx);
	ck_assert_msg(f->p.alloc.live == 0, "%ld blocks leak", f->p.alloc.live);
	free(f->want);
	free(f->next);
}

/* One limit; true: it sufficed. */
static bool
limited(Fixture *f, uint64_t steps, long stop_at)
{
	long live = f->p.alloc.live;
	char *got;
	bool stopped;
	int code;

	configure(f, steps, stop_at);
	got = compiled(f, f->src, f->n, &code);
	stopped = f->p.stopped;
	ck_assert_msg(code == HEXC_OK || code == HEXC_E_LIMIT, "code %d with %llu steps, %ld polls", code,
	              (unsigned long long)steps, stop_at);
	ck_assert_msg(!stopped || code == HEXC_E_LIMIT, "goes on after %ld polls", stop_at);
	ck_assert_msg(stopped || !stop_at || code == HEXC_OK, "ends before %ld polls", stop_at);
	if (got)
		ck_assert_msg(strcmp(got, f->want) == 0, "another answer with %llu steps, %ld polls",
		              (unsigned long long)steps, stop_at);
	free(got);
	configure(f, 0, 0);
	got = compiled(f, lib_add, strlen(lib_add), &(int){ 0 });
	ck_assert(got && strcmp(got, f->next) == 0);
	free(got);
	ck_assert_msg(f->p.alloc.live <= live, "%ld blocks more than before", f->p.alloc.live - live);
	return code == HEXC_OK;
}

static bool
sampled(long i, long n)
{
	return getenv("FULL") || i <= ALL || i >= n - ALL || i % (n / SAMPLE + 1) == 0;
}

TEST_SAMPLED(every_budget, sizeof program / sizeof *program, 2)
{
	uint64_t lo = 0, hi = 10000000;
	Fixture f;

	start(&f, program[_i], HEXC_NO_EMIT);
	while (hi - lo > 1) { /* lo is too little, hi suffices */
		uint64_t mid = lo + (hi - lo) / 2;

		if (limited(&f, mid, 0))
			hi = mid;
		else
			lo = mid;
	}
	printf("%s: %llu steps\n", program[_i], (unsigned long long)hi);
	for (uint64_t i = 1; i <= hi + 1; i++)
		if (sampled((long)i, (long)hi))
			ck_assert_msg(limited(&f, i, 0) == (i >= hi), "%llu of %llu steps",
			              (unsigned long long)i, (unsigned long long)hi);
	end(&f);
}

/* With and without PTX: LLVM's part is polled, too, by time, so that it is not the same polls each time. */
TEST_SAMPLED(every_poll, 2 * sizeof program / sizeof *program, 3)
{
	Fixture f;
	long n;

	start(&f, program[_i / 2], _i % 2 ? 0 : HEXC_NO_EMIT);
	configure(&f, 0, 0);
	free(compiled(&f, f.src, f.n, &(int){ 0 }));
	n = f.p.polls;
	printf("%s: %ld polls\n", program[_i / 2], n);
	ck_assert_int_ge(n, 10);
	for (long i = 1; i <= n + 1; i++)
		if (sampled(i, n))
			ck_assert_msg(limited(&f, 0, i) == (i > n) || _i % 2, "poll %ld of %ld", i, n);
	end(&f);
}

TEST_PROGRAM(.timeout = 240);
