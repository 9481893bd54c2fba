/* test_limits.c - tests exhaustion of memory, steps or time: the right code, no leak, the next compile
 * works. */
#define _GNU_SOURCE
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <dirent.h>
#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Compile on a context whose allocator is `a`; frees everything. */
static int
once(const char *src, hexc_opts *o, LibAlloc *a)
{
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *c;
	int code;

	o->realloc = lib_realloc;
	o->user = a;
	code = hexc_open(&c, o);
	if (code)
		return code;
	code = hexc_compile(&m, c, "t.hexc", src, strlen(src));
	ck_assert_int_eq(hexc_diag(c, 0, &d), code != HEXC_OK);
	if (code)
		ck_assert(d.text && d.text[0]);
	hexc_close(c);
	hexc_module_free(m);
	return code;
}

/* The n-th allocation fails, for every n until nothing fails any more and the result is `end`. */
static void
allocation_failures(const char *src, uint32_t flags, bool only_one, int end)
{
	hexc_opts o = HEXC_OPTS_INIT;
	long n;

	o.flags = flags;
	for (n = 1; n < 100000; n++) {
		LibAlloc a = { 0, 0, n, only_one };
		int code = once(src, &o, &a);
		ck_assert_msg(a.live == 0, "%ld blocks leak when allocation %ld fails", a.live, n);
		if (code == end)
			break;
		ck_assert_msg(code == HEXC_E_NOMEM, "code %d when allocation %ld fails", code, n);
	}
	ck_assert_msg(n > 3, "only %ld allocations", n);
}

/* The C library's, until it is to refuse. */
static bool no_locale;

locale_t
newlocale(int mask, const char *name, locale_t base)
{
	locale_t (*libc)(int, const char *, locale_t);
	void *p = dlsym(RTLD_NEXT, "newlocale");

	memcpy(&libc, &p, sizeof libc);
	return no_locale ? (locale_t)0 : libc(mask, name, base);
}

/* What a compile cannot be protected without is asked for first: nothing is done, and the next one works. */
TEST(no_room_for_a_locale)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_ctx *c;

	ck_assert_int_eq(hexc_open(&c, &o), HEXC_OK);
	no_locale = true;
	ck_assert_int_eq(hexc_compile(&m, c, "t.hexc", lib_add, strlen(lib_add)), HEXC_E_NOMEM);
	ck_assert_ptr_null(m);
	no_locale = false;
	ck_assert_int_eq(hexc_compile(&m, c, "t.hexc", lib_add, strlen(lib_add)), HEXC_OK);
	hexc_module_free(m);
	hexc_close(c);
}

TEST(no_memory)
{
	allocation_failures(lib_add, 0, false, HEXC_OK);
	allocation_failures(lib_gemm, HEXC_NO_EMIT | HEXC_EXPLAIN, false, HEXC_OK);
	allocation_failures(lib_gemm, HEXC_NO_EMIT | HEXC_EXPLAIN, true, HEXC_OK);
	allocation_failures("kernel k(", 0, false, HEXC_E_SOURCE);
}

/* The same context after a failure: memory is there again. */
TEST(next_works)
{
	for (long n = 3; n < 12; n++) {
		LibAlloc a = { 0, 0, n, true };
		hexc_opts o = HEXC_OPTS_INIT;
		hexc_module *m;
		hexc_ctx *c;
		o.realloc = lib_realloc;
		o.user = &a;
		o.flags = HEXC_NO_EMIT;
		ck_assert_int_eq(hexc_open(&c, &o), HEXC_OK);
		hexc_compile(&m, c, "t", lib_gemm, strlen(lib_gemm));
		hexc_module_free(m);
		a.fail_at = 0;
		ck_assert_int_eq(hexc_compile(&m, c, "t", lib_gemm, strlen(lib_gemm)), HEXC_OK);
		hexc_module_free(m);
		hexc_close(c);
		ck_assert_int_eq(a.live, 0);
	}
}

TEST(max_memory)
{
	hexc_opts o = HEXC_OPTS_INIT;
	bool done = false;

	o.flags = HEXC_NO_EMIT;
	for (size_t most = 1024; most < (size_t)1 << 30 && !done; most = most * 5 / 4) {
		LibAlloc a = { 0, 0, 0, false };
		int code;
		o.max_memory = most;
		code = once(lib_gemm, &o, &a);
		ck_assert(code == HEXC_OK || code == HEXC_E_NOMEM);
		ck_assert_int_eq(a.live, 0);
		done = code == HEXC_OK;
	}
	ck_assert(done);
}

TEST(max_steps)
{
	hexc_opts o = HEXC_OPTS_INIT;
	LibAlloc a = { 0, 0, 0, false };
	uint64_t steps = 1;
	int code, refused = 0;

	o.flags = HEXC_NO_EMIT;
	for (; steps < 1000000000; steps = steps * 3 / 2 + 1) {
		o.max_steps = steps;
		code = once(lib_gemm, &o, &a);
		ck_assert_int_eq(a.live, 0);
		if (code == HEXC_OK)
			break;
		ck_assert_int_eq(code, HEXC_E_LIMIT);
		refused++;
	}
	ck_assert_msg(refused > 2 && steps < 10000000, "%d refusals, %llu steps", refused,
	              (unsigned long long)steps);
}

typedef struct Patience {
	LibAlloc alloc; /* first: lib_realloc gets the same pointer */
	long polls, stop_at;
} Patience;

static int
impatient(void *user)
{
	Patience *p = user;

	return ++p->polls >= p->stop_at;
}

TEST(cancelled)
{
	long n;

	for (n = 1; n < 10000; n++) {
		Patience p = { { 0, 0, 0, false }, 0, n };
		hexc_opts o = HEXC_OPTS_INIT;
		int code;
		o.flags = HEXC_NO_EMIT;
		o.cancel = impatient;
		code = once(lib_gemm, &o, &p.alloc);
		ck_assert_int_eq(p.alloc.live, 0);
		if (code == HEXC_OK)
			break;
		ck_assert_int_eq(code, HEXC_E_LIMIT);
	}
	ck_assert_msg(n > 5 && n < 10000, "%ld polls", n);
}

/* A thousand statements on 16 rows, and no loop: all of it is code. */
static char *
straight_code(int columns)
{
	enum { LETS = 1000 };
	char *src = malloc(LETS * 60 + 400);
	static const char head[] = "kernel k(A: f32[M, N], C: out f32[M, N]) {\n"
				   "    grid(ceil(M, 16), ceil(N, %d));\n"
				   "    let x0: register = A[block.x * 16 :+ 16, block.y * %d :+ %d];\n";
	size_t n = (size_t)sprintf(src, head, columns, columns, columns);

	for (int i = 0; i < LETS; i++)
		n += (size_t)sprintf(src + n, "    let x%d = exp(x%d) - 1.0;\n", i + 1, i);
	sprintf(src + n, "    C[block.x * 16 :+ 16, block.y * %d :+ %d] = x%d;\n}\n", columns, columns, LETS);
	return src;
}

/* Polls, not times: one for a few hundred values, of which there are 8000, while LLVM's input is made. */
TEST(polled_in_straight_code)
{
	hexc_opts o = HEXC_OPTS_INIT;
	Patience p = { { 0, 0, 0, false }, 0, 1 << 30 };
	char *src = straight_code(32);
	long without;

	o.cancel = impatient;
	o.flags = HEXC_NO_EMIT;
	ck_assert_int_eq(once(src, &o, &p.alloc), HEXC_OK);
	without = p.polls;
	p.polls = 0;
	o.flags = 0;
	ck_assert_int_eq(once(src, &o, &p.alloc), HEXC_OK);
	ck_assert_msg(p.polls - without > 1000, "%ld polls, %ld without emission", p.polls, without);
	p.stop_at = without + 500; /* in the middle of it */
	p.polls = 0;
	ck_assert_int_eq(once(src, &o, &p.alloc), HEXC_E_LIMIT);
	ck_assert_int_eq(p.alloc.live, 0);
	free(src);
}

/* Impatient while there is a second thread, LLVM's. */
static int
llvm_is_seen(void *user)
{
	Patience *p = user;
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	p->polls += n > 3; /* . and .. */
	return n > 3;
}

/* LLVM cannot be stopped: the call returns, and the next, and the context's end, wait for what goes on. */
TEST(cancelled_while_llvm_works)
{
	hexc_opts o = HEXC_OPTS_INIT;
	Patience p = { { 0, 0, 0, false }, 0, 0 };
	char *src = straight_code(256);
	hexc_module *m, *want = lib_must(lib_add, NULL);
	hexc_ctx *c;

	o.realloc = lib_realloc;
	o.user = &p;
	o.cancel = llvm_is_seen;
	ck_assert_int_eq(hexc_open(&c, &o), HEXC_OK);
	for (int i = 0; i < 2; i++) { /* the second finds the first at work */
		ck_assert_int_eq(hexc_compile(&m, c, NULL, src, strlen(src)), HEXC_E_LIMIT);
		ck_assert_int_gt(p.polls, i);
	}
	o.cancel = NULL;
	ck_assert_int_eq(hexc_configure(c, &o), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, NULL, lib_add, strlen(lib_add)), HEXC_OK);
	ck_assert_str_eq(hexc_ptx(m, NULL), hexc_ptx(want, NULL));
	hexc_module_free(m);
	o.cancel = llvm_is_seen;
	ck_assert_int_eq(hexc_configure(c, &o), HEXC_OK);
	ck_assert_int_eq(hexc_compile(&m, c, NULL, src, strlen(src)), HEXC_E_LIMIT);
	hexc_close(c);
	ck_assert_int_eq(p.alloc.live, 0);
	hexc_module_free(want);
	free(src);
}

#if !SANITIZED /* which takes more address space than there may be */
/* Bytes of address space. */
static rlim_t
address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages;

	ck_assert(f && fscanf(f, "%ld", &pages) == 1);
	fclose(f);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* LLVM ends the process where it gets no memory. */
TEST(little_address_space)
{
	char *src = straight_code(256);
	rlim_t before = address_space();
	bool done = false, refused = false;

	hexc_module_free(lib_must(lib_add, NULL));
	for (rlim_t more = 8 << 20; more < (rlim_t)1 << 30 && !done; more += more / 4) {
		struct rlimit most = { before + more, RLIM_INFINITY };
		hexc_module *m;
		int code;

		ck_assert_int_eq(setrlimit(RLIMIT_AS, &most), 0);
		m = lib_compile(src, NULL, &code, NULL, 0);
		ck_assert(m || code == HEXC_E_NOMEM);
		hexc_module_free(m);
		refused = refused || !m;
		done = m != NULL;
	}
	ck_assert(done && refused);
	free(src);
}
#endif

TEST(max_values)
{
	hexc_opts o = HEXC_OPTS_INIT;
	char *src = straight_code(32), why[400];
	hexc_module *m;
	int code;

	o.max_values = 5000;
	m = lib_compile(src, &o, &code, why, sizeof why);
	ck_assert_ptr_null(m);
	ck_assert_int_eq(code, HEXC_E_LIMIT);
	ck_assert_msg(strstr(why, "a thread of k computes more than 5000 values (max_values)") != NULL, "%s",
	              why);
	o.max_values = 100000;
	m = lib_compile(src, &o, &code, why, sizeof why);
	ck_assert_msg(m != NULL, "%s", why);
	hexc_module_free(m);
	free(src);
}

/* What the blocks hold counts, whoever runs them: here tiles of 2 MB each. */
TEST(tile_memory)
{
	static const char src[] = "kernel k(A: f32[M, 512], C: out f32[M, 512]) {\n"
				  "    grid(ceil(M, 512));\n"
				  "    let a: shared = A[block.x * 512 :+ 512, :];\n"
				  "    C[block.x * 512 :+ 512, :] = a + 1.0;\n"
				  "}\n";
	enum { M = 4 * 512 };
	static float x[M * 512], y[M * 512];
	hexc_workers four = HEXC_WORKERS_INIT;
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	hexc_opts parse = HEXC_OPTS_INIT;
	hexc_module *m;
	hexc_arg arg[3];

	parse.stop = "parse";
	m = lib_must(src, &parse);
	memset(arg, 0, sizeof arg);
	arg[0].ptr = x;
	arg[1].ptr = y;
	arg[0].bytes = arg[1].bytes = sizeof x;
	arg[2].i = M;
	four.threads = 4;
	o.workers = &four;
	o.max_memory = 16 << 20;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_NOMEM);
	o.max_memory = 400 << 20;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_OK);
	hexc_module_free(m);
}

#ifndef __SANITIZE_ADDRESS__ /* which has its own realloc */
/* ---- the default of hexc_run_opts.max_memory ----------------------------------------------------------- */

enum { TILE = 1 << 20, PART = 1 << 21 }; /* elements, which take 8 bytes each in the interpreter; bytes */

/* Large blocks of more memory than the machine may have, while `repeating`: their pages are, but for the
 * first, the same PART bytes again and again. A block here is one tile, whose elements may be any numbers.
 * The interpreter allocates from the C library, and on one thread if there is one block of the grid. */
static struct {
	bool repeating;
	int file, n, live;
	size_t held, most; /* bytes */
	struct {
		char *at;
		size_t bytes;
	} block[2000];
} repeated;

static void *
repeat(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), end = (bytes + page - 1) / page * page;
	char *at = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	                0);

	ck_assert(at != MAP_FAILED && repeated.n < (int)(sizeof repeated.block / sizeof *repeated.block));
	for (size_t i = page; i < end; i += PART) {
		size_t n = end - i < PART ? end - i : PART;

		ck_assert(mmap(at + i, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, repeated.file, 0) ==
		          at + i);
	}
	repeated.block[repeated.n].at = at;
	repeated.block[repeated.n++].bytes = end;
	repeated.live++;
	repeated.held += end;
	repeated.most = repeated.held > repeated.most ? repeated.held : repeated.most;
	return at;
}

/* The C library's, but for such blocks. */
void *
realloc(void *old, size_t n)
{
	static void *(*libc)(void *, size_t);
	void *p = libc ? NULL : dlsym(RTLD_NEXT, "realloc");

	if (p)
		memcpy(&libc, &p, sizeof libc);
	return repeated.repeating && !old && n >= PART ? repeat(n) : libc(old, n);
}

void
free(void *old)
{
	static void (*libc)(void *);
	void *p = libc ? NULL : dlsym(RTLD_NEXT, "free");

	if (p)
		memcpy(&libc, &p, sizeof libc);
	for (int i = repeated.live ? 0 : repeated.n; i < repeated.n; i++)
		if (old && repeated.block[i].at == old) {
			repeated.held -= repeated.block[i].bytes;
			repeated.live--;
			munmap(old, repeated.block[i].bytes);
			repeated.block[i].at = NULL;
			return;
		}
	libc(old);
}

/* A kernel with this many tiles of TILE elements, each a value of its own. */
static hexc_module *
many_tiles(int tiles)
{
	char *src = malloc((size_t)tiles * 40 + 500), *at = src;
	hexc_opts parse = HEXC_OPTS_INIT;
	hexc_module *m;

	at += sprintf(at, "kernel k(A: f32[1024, 1024], C: out f32[1024, N]) {\n    grid(1);\n"
	                  "    let t0: register = A[0 :+ 1024, 0 :+ 1024];\n");
	for (int i = 1; i < tiles; i++)
		at += sprintf(at, "    let t%d = -t%d;\n", i, i - 1);
	sprintf(at, "    C[0 :+ 1024, 0 :+ 1024] = t%d;\n}\n", tiles - 1);
	parse.stop = "parse";
	m = lib_must(src, &parse);
	free(src);
	return m;
}

/* Runs the kernel with `threads` threads and C of [1024, columns]. Returns the most bytes that it held. */
static size_t
most_memory(const hexc_module *m, unsigned threads, int64_t columns, size_t max_memory, int code)
{
	float *a = calloc(TILE, sizeof *a), *c = calloc(1024 * (size_t)columns, sizeof *c);
	hexc_workers workers = HEXC_WORKERS_INIT;
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	FILE *file = tmpfile();
	hexc_arg arg[3];
	char why[200] = "";
	int got;

	ck_assert(a && c && file && ftruncate(fileno(file), PART) == 0);
	memset(&repeated, 0, sizeof repeated);
	repeated.file = fileno(file);
	memset(arg, 0, sizeof arg);
	arg[0].ptr = a;
	arg[0].bytes = TILE * sizeof *a;
	arg[1].ptr = c;
	arg[1].bytes = 1024 * (uint64_t)columns * sizeof *c;
	arg[2].i = columns;
	workers.threads = threads;
	o.workers = &workers;
	o.max_memory = max_memory;
	o.why = why;
	o.why_size = sizeof why;
	repeated.repeating = true;
	got = hexc_run_tile(m, 0, arg, &o);
	repeated.repeating = false;
	ck_assert_msg(got == code, "%u threads: %d, %s", threads, got, why);
	if (code)
		ck_assert_str_eq(why, "the tile interpreter needs more memory than max_memory allows");
	ck_assert_int_eq(repeated.live, 0);
	fclose(file);
	free(c);
	free(a);
	return repeated.most;
}

/* hexc.h: 2 GiB, plus 1 GiB per thread, plus 40 bytes per element of written tensors. The tiles that were
 * held fit in that, and with two more, of which one stands for the smaller blocks, would not. */
TEST(default_tile_memory)
{
	static const size_t gib = (size_t)1 << 30, tile = 8 * (size_t)TILE + 4096;
	static const struct {
		unsigned threads;
		int64_t columns;
	} of[] = { { 1, 1024 }, { 2, 1024 }, { 1, 16384 } };
	hexc_module *m = many_tiles(640), *few = many_tiles(300);
	size_t most;

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		size_t limit = (2 + of[i].threads) * gib + 40 * 1024 * (size_t)of[i].columns;

		most = most_memory(m, of[i].threads, of[i].columns, 0, HEXC_E_NOMEM);
		ck_assert_msg(most <= limit && most + 2 * tile > limit, "%u threads, %lld columns: "
		                                                        "%zu bytes, and the "
		                                                    "limit is %zu",
		              of[i].threads, (long long)of[i].columns, most, limit);
	}
	most = most_memory(few, 1, 1024, 0, HEXC_OK);
	ck_assert_uint_gt(most, 300 * 8 * (size_t)TILE);
	most = most_memory(m, 1, 1024, SIZE_MAX, HEXC_OK);
	ck_assert_uint_gt(most, 640 * 8 * (size_t)TILE);
	hexc_module_free(few);
	hexc_module_free(m);
}
#endif

/* The tile interpreter has its own budget. */
TEST(tile_limits)
{
	static float x[4096], y[4096];
	hexc_arg arg[4] = { { x, NULL, sizeof x, 0, 0, { 0 } },
		            { x, NULL, sizeof x, 0, 0, { 0 } },
		            { y, NULL, sizeof y, 0, 0, { 0 } },
		            { NULL, NULL, 0, 4096, 0, { 0 } } };
	hexc_run_opts o = HEXC_RUN_OPTS_INIT;
	hexc_module *m = lib_must(lib_add, NULL);
	Patience p = { { 0, 0, 0, false }, 0, 1 };
	char why[200];
	long n;

	o.why = why;
	o.why_size = sizeof why;
	o.max_steps = 3;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_LIMIT);
	ck_assert(why[0]);
	o.max_steps = 0;
	o.cancel = impatient;
	o.user = &p;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_LIMIT);
	o.cancel = NULL;
	o.max_memory = 1000;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_NOMEM);
	o.max_memory = 0;
	o.realloc = lib_realloc;
	for (n = 1; n < 1000; n++) {
		int code;
		p = (Patience){ { 0, 0, n, false }, 0, 0 };
		code = hexc_run_tile(m, 0, arg, &o);
		ck_assert_int_eq(p.alloc.live, 0);
		if (code == HEXC_OK)
			break;
		ck_assert_int_eq(code, HEXC_E_NOMEM);
	}
	ck_assert(n > 1 && n < 1000);
	o.realloc = NULL;
	arg[1].ptr = NULL;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_ARGS);
	ck_assert_ptr_nonnull(strstr(why, "B is NULL; expected "));
	o.size = 3;
	ck_assert_int_eq(hexc_run_tile(m, 0, arg, &o), HEXC_E_INVALID);
	hexc_module_free(m);
}
