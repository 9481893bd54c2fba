/* test_cache.c - tests caches on disk: a hit returns the same module; damaged, outdated and foreign entries
 * are rejected; failing system calls do not make a compilation fail. */
#define _GNU_SOURCE
#include "test/cache/util_cache.h"
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST_PROGRAM(.timeout = 300);

/* ---- a system that fails --------------------------------------------------------------------------- */

static struct {
	bool armed;
	long calls, fail_at, kill_at; /* that call fails; before that one the process is killed */
	int error;
	bool half; /* it is a write that does half before the process is killed */
} sys;

/* Is this call to fail? */
static bool
counted(void)
{
	if (!sys.armed)
		return false;
	sys.calls++;
	if (sys.calls == sys.kill_at)
		raise(SIGKILL);
	if (sys.calls != sys.fail_at)
		return false;
	errno = sys.error;
	return true;
}

ssize_t
write(int fd, const void *data, size_t n)
{
	if (sys.armed && sys.half && sys.calls + 1 == sys.kill_at)
		syscall(SYS_write, fd, data, n / 2);
	return counted() ? -1 : syscall(SYS_write, fd, data, n);
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return counted() ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int
flock(int fd, int how)
{
	return counted() ? -1 : (int)syscall(SYS_flock, fd, how);
}

int
mkdir(const char *path, mode_t mode)
{
	return counted() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* ---- modules --------------------------------------------------------------------------------------- */

static hexc_module *
compile_in(hexc_cache *cache, const char *src, const hexc_opts *with, LibAlloc *a, int *code)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_ctx *c;

	if (with)
		o = *with;
	o.cache = cache;
	if (a) {
		o.realloc = lib_realloc;
		o.user = a;
	}
	*code = hexc_open(&c, &o);
	if (*code)
		return NULL;
	*code = hexc_compile(&m, c, "t.hexc", src, strlen(src));
	hexc_close(c);
	return m;
}

static bool
was_hit(const hexc_module *m)
{
	return hexc_time(m, 0, NULL) && strcmp(hexc_time(m, 0, NULL), "cache") == 0;
}

/* Compiled, or found if so expected. */
static hexc_module *
expect_hit(hexc_cache *cache, const char *src, const hexc_opts *with, bool hit)
{
	int code;
	hexc_module *m = compile_in(cache, src, with, NULL, &code);

	ck_assert_int_eq(code, HEXC_OK);
	ck_assert_int_eq(was_hit(m), hit);
	return m;
}

TEST(the_same_module)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 0);
	hexc_module *plain = lib_must(lib_gemm, NULL), *first, *second;
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	float a[5] = { 1, 2, 3, 4, 5 }, b[5] = { 1, 1, 1, 1, 1 }, sum[5];
	hexc_arg arg[4] = { HEXC_ARG_INIT, HEXC_ARG_INIT, HEXC_ARG_INIT, HEXC_ARG_INIT };

	first = expect_hit(c, lib_gemm, NULL, false);
	second = expect_hit(c, lib_gemm, NULL, true);
	lib_same(plain, first);
	lib_same(plain, second);
	hexc_module_free(plain);
	hexc_module_free(first);
	hexc_module_free(second);
	/* its source is there as well: the tile interpreter runs it */
	hexc_module_free(expect_hit(c, lib_add, NULL, false));
	second = expect_hit(c, lib_add, NULL, true);
	arg[0].ptr = a;
	arg[1].ptr = b;
	arg[2].ptr = sum;
	arg[0].bytes = arg[1].bytes = arg[2].bytes = sizeof a;
	arg[3].i = 5;
	ck_assert_int_eq(hexc_run_tile(second, 0, arg, NULL), HEXC_OK);
	ck_assert(sum[4] == 6);
	hexc_module_free(second);
	hexc_cache_describe(c, &info);
	ck_assert_uint_eq(info.hits, 2);
	ck_assert_uint_eq(info.misses, 2);
	ck_assert_uint_eq(info.stored, 2);
	ck_assert_uint_eq(info.damaged + info.failed, 0);
	ck_assert_str_eq(info.path, path);
	hexc_cache_close(c);
	folder_remove(path);
}

/* Warnings are said again; errors are not kept. */
TEST(the_same_messages)
{
	static const char unused[] = "kernel add(A: f32[N], B: f32[N], C: out f32[N]) {\n"
	                             "    grid(ceil(N, 128));\n"
	                             "    C[block.x * 128 :+ 128] = A[block.x * 128 :+ 128];\n"
	                             "}\n";
	char *path = folder_new();
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	char text[2][300] = { "", "" };
	hexc_module *m;
	hexc_ctx *ctx;

	o.cache = cache_in(path, 0);
	ck_assert_int_eq(hexc_open(&ctx, &o), HEXC_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(hexc_compile(&m, ctx, "t.hexc", unused, strlen(unused)), HEXC_OK);
		ck_assert_int_eq(was_hit(m), i);
		ck_assert_int_eq(hexc_diag(ctx, 0, &d), 1);
		snprintf(text[i], sizeof text[i], "%u:%u:%u %s %s", d.line, d.col, d.len, d.warning, d.text);
		ck_assert(!hexc_diag(ctx, 1, &d));
		hexc_module_free(m);
	}
	ck_assert_str_eq(text[0], text[1]);
	ck_assert(strstr(text[0], "unused") != NULL);
	o.flags = HEXC_WERROR; /* the same program, an error now, both times */
	ck_assert_int_eq(hexc_configure(ctx, &o), HEXC_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(hexc_compile(&m, ctx, "t.hexc", unused, strlen(unused)), HEXC_E_SOURCE);
	hexc_close(ctx);
	hexc_cache_close(o.cache);
	folder_remove(path);
}

TEST(what_matters_is_in_the_key)
{
	static const hexc_define bm[] = { { "BM", 64 } }, bm32[] = { { "BM", 32 } };
	char *path = folder_new(), *other = malloc(strlen(lib_gemm) + 2);
	hexc_cache *c = cache_in(path, 0);
	hexc_opts o = HEXC_OPTS_INIT, none = HEXC_OPTS_INIT;

	hexc_module_free(expect_hit(c, lib_gemm, &o, false));
	sprintf(other, "%s ", lib_gemm);
	hexc_module_free(expect_hit(c, other, &o, false));
	free(other);
#define CHANGED(set) \
	do { \
		o = none; \
		set; \
		hexc_module_free(expect_hit(c, lib_gemm, &o, false)); \
		hexc_module_free(expect_hit(c, lib_gemm, &o, true)); \
	} while (0)
	CHANGED(o.arch = "sm_90a");
	CHANGED((o.define = bm, o.ndefine = 1));
	CHANGED((o.define = bm32, o.ndefine = 1));
	CHANGED(o.candidate = 1);
	CHANGED(o.flags = HEXC_LINEINFO);
	CHANGED(o.kernel = "gemm");
	CHANGED(o.max_steps = 5000000);
	CHANGED(o.warnings = "narrow");
	CHANGED(o.schedule = "groups");
	o = none;
	o.flags = HEXC_EXPLAIN; /* which no file has */
	hexc_module_free(expect_hit(c, lib_gemm, &o, false));
	hexc_module_free(expect_hit(c, lib_gemm, &o, false));
	hexc_module_free(expect_hit(c, lib_gemm, &none, true));
	hexc_cache_close(c);
	folder_remove(path);
}

/* ---- damage ---------------------------------------------------------------------------------------- */

static void
overwrite(const char *path, const unsigned char *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	ck_assert(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

static unsigned char *
contents(const char *path, size_t *n)
{
	unsigned char *data = malloc(100000);
	FILE *f = fopen(path, "rb");

	*n = fread(data, 1, 100000, f);
	ck_assert(*n < 100000);
	fclose(f);
	return data;
}

/* Each byte changed, each length but the right one, other versions: never served, and made again. */
TEST(every_byte_matters)
{
	char *path = folder_new(), *file;
	hexc_cache *c = cache_in(path, 0);
	unsigned char *e, answer[ANSWER_MAX];
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	size_t n;
	int small = 0;

	while (answer_of(small, answer) > 200)
		small++;
	put_answer(c, small);
	file = only_entry(path);
	e = contents(file, &n);
	ck_assert_int_eq(right_answer(c, small), 1);
	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			e[i] ^= (unsigned char)(1 << bit);
			overwrite(file, e, n);
			ck_assert_msg(right_answer(c, small) == 0, "byte %zu, bit %d", i, bit);
			e[i] ^= (unsigned char)(1 << bit);
		}
	for (size_t less = 0; less < n; less++) {
		overwrite(file, e, less);
		ck_assert_int_eq(right_answer(c, small), 0);
	}
	hexc_cache_describe(c, &info);
	ck_assert_uint_eq(info.damaged, info.misses);
	put_answer(c, small);
	ck_assert_int_eq(right_answer(c, small), 1);
	free(e);
	free(file);
	hexc_cache_close(c);
	folder_remove(path);
}

/* A whole entry of another key at the place of this one: as two keys of one digest would leave it. */
TEST(an_entry_of_another_key)
{
	char *path = folder_new(), *first, *second;
	hexc_cache *c = cache_in(path, 0);
	unsigned char *e;
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	size_t n;

	put_answer(c, 1);
	first = only_entry(path);
	e = contents(first, &n);
	unlink(first);
	put_answer(c, 2);
	second = only_entry(path);
	overwrite(second, e, n);
	ck_assert_int_eq(right_answer(c, 2), 0);
	hexc_cache_describe(c, &info);
	ck_assert_uint_eq(info.damaged, 0);
	free(e);
	free(first);
	free(second);
	hexc_cache_close(c);
	folder_remove(path);
}

/* Folders, pipes and links where an entry would be, and files that are not ours, which stay. */
TEST(what_is_foreign)
{
	char *path = folder_new(), *file, foreign[200];
	hexc_cache *c = cache_in(path, 0);
	uint64_t removed;
	struct stat st;

	put_answer(c, 1);
	file = only_entry(path);
	unlink(file);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	ck_assert_int_eq(right_answer(c, 1), 0);
	unlink(file);
	ck_assert_int_eq(symlink("/dev/zero", file), 0);
	ck_assert_int_eq(right_answer(c, 1), 0);
	unlink(file);
	mkdir(file, 0700);
	ck_assert_int_eq(right_answer(c, 1), 0);
	put_answer(c, 1); /* cannot */
	ck_assert_int_eq(right_answer(c, 1), 0);
	rmdir(file);
	put_answer(c, 1);
	ck_assert_int_eq(right_answer(c, 1), 1);
	snprintf(foreign, sizeof foreign, "%s/notes.txt", path);
	overwrite(foreign, (const unsigned char *)"mine", 4);
	ck_assert_int_eq(hexc_cache_clear(c, &removed), HEXC_OK);
	ck_assert_uint_eq(removed, 1);
	ck_assert_int_eq(stat(foreign, &st), 0);
	ck_assert_int_eq(right_answer(c, 1), 0);
	free(file);
	hexc_cache_close(c);
	folder_remove(path);
}

/* ---- a system that refuses ------------------------------------------------------------------------- */

static int
count_files(const char *path)
{
	DIR *d = opendir(path);
	int n = -2; /* . and .. */

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Each of its calls fails in turn: nothing is kept, and nothing left behind, until all succeed. */
TEST(every_call_fails)
{
	static const int error[] = { ENOSPC, EIO, EROFS };

	for (int k = 0; k < 3; k++) {
		long n = 0;

		for (;;) {
			char *path = folder_new();
			hexc_cache *c = cache_in(path, 0);
			hexc_cache_info info = HEXC_CACHE_INFO_INIT;
			int there;

			sys.armed = true;
			sys.calls = 0;
			sys.fail_at = ++n;
			sys.error = error[k];
			put_answer(c, 1);
			sys.armed = false;
			there = right_answer(c, 1);
			hexc_cache_describe(c, &info);
			ck_assert_int_eq(count_files(path), there);
			ck_assert_uint_eq(info.failed, !there);
			ck_assert_int_eq(info.error, there ? 0 : error[k]);
			hexc_cache_close(c);
			folder_remove(path);
			if (sys.calls < n)
				break;
		}
		ck_assert_int_ge(n, 4); /* flock, without which it goes on, write, rename */
	}
}

/* Killed before each call, and in the middle of the write: what was complete is still there, what was not is
 * none, and what is left over goes with the next that is written. */
TEST(killed_at_each_stage)
{
	for (int half = 0; half < 2; half++)
		for (long n = 1;; n++) {
			char *path = folder_new();
			hexc_cache *c = cache_in(path, 0);
			int status;
			pid_t pid;

			put_answer(c, 7);
			pid = fork();
			if (pid == 0) {
				sys.armed = true;
				sys.kill_at = n;
				sys.half = half;
				put_answer(c, 1);
				_exit(0);
			}
			waitpid(pid, &status, 0);
			ck_assert_int_eq(right_answer(c, 7), 1);
			ck_assert(right_answer(c, 1) == 0 || !WIFSIGNALED(status));
			hexc_cache_close(c);
			c = cache_in(path, 0);
			put_answer(c, 2);
			ck_assert_int_eq(count_files(path), 2 + (WIFSIGNALED(status) ? 0 : 1));
			hexc_cache_close(c);
			folder_remove(path);
			if (!WIFSIGNALED(status))
				break;
			ck_assert_int_lt((int)n, 20);
		}
}

/* No call of a compilation fails for want of memory in the cache; those that the host serves are told. */
TEST(no_memory)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 0);

	hexc_module_free(expect_hit(c, lib_add, NULL, false));
	for (long n = 1;; n++) {
		LibAlloc a = { 0, 0, n, false };
		int code;
		hexc_module *m = compile_in(c, lib_add, NULL, &a, &code);

		if (m)
			ck_assert(was_hit(m));
		hexc_module_free(m);
		ck_assert_int_eq(a.live, 0);
		if (code == HEXC_OK)
			break;
		ck_assert_int_eq(code, HEXC_E_NOMEM);
		ck_assert_int_lt((int)n, 1000);
	}
	hexc_cache_close(c);
	folder_remove(path);
}

/* A limit of the length of files: nothing is written, and no signal ends the process. */
TEST(files_are_limited)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 0);
	struct rlimit old, none;
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	hexc_module *m;

	getrlimit(RLIMIT_FSIZE, &old);
	none = old;
	none.rlim_cur = 300;
	setrlimit(RLIMIT_FSIZE, &none);
	m = expect_hit(c, lib_add, NULL, false);
	setrlimit(RLIMIT_FSIZE, &old);
	hexc_module_free(m);
	hexc_cache_describe(c, &info);
	ck_assert_uint_eq(info.failed, 1);
	ck_assert_int_eq(info.error, EFBIG);
	ck_assert_int_eq(count_files(path), 0);
	hexc_cache_close(c);
	folder_remove(path);
}

/* By somebody who may not write there. */
TEST(folder_is_read_only)
{
	char *path = folder_new(), below[200];
	hexc_cache *c = cache_in(path, 0);
	int status;
	pid_t pid;

	put_answer(c, 1);
	hexc_cache_close(c);
	chmod(path, 0555);
	snprintf(below, sizeof below, "%s/%s", path, "hexc");
	{
		char *file = only_entry(path);
		chmod(file, 0444);
		free(file);
	}
	pid = fork();
	if (pid == 0) {
		hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
		char why[300] = "";

		if (geteuid() == 0 && setuid(65534))
			_exit(9);
		c = cache_in(path, 0);
		if (!right_answer(c, 1))
			_exit(1);
		put_answer(c, 2);
		if (right_answer(c, 2))
			_exit(2);
		hexc_cache_close(c);
		o.path = below;
		if (hexc_cache_open(&c, &o, why, sizeof why) != HEXC_E_FILE || !strstr(why, below))
			_exit(3);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	chmod(path, 0700);
	folder_remove(path);
}

/* ---- whose it is ------------------------------------------------------------------------------------- */

static char said[400];

/* Opened as it is now, and whether the entry of put_answer(c, 1) is served; *damaged as told. */
static bool
serves(const char *path, uint64_t *damaged)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	hexc_cache *c;
	bool served;

	o.path = path;
	ck_assert_int_eq(hexc_cache_open(&c, &o, said, sizeof said), HEXC_OK);
	served = right_answer(c, 1);
	hexc_cache_describe(c, &info);
	*damaged = info.damaged;
	ck_assert_int_eq(info.error, said[0] ? EPERM : 0);
	ck_assert_uint_eq(info.hits, served);
	if (said[0]) {
		int before = count_files(path);

		put_answer(c, 2);
		hexc_cache_describe(c, &info);
		ck_assert_uint_eq(info.failed, 1);
		ck_assert_int_eq(count_files(path), before);
		ck_assert_int_eq(hexc_cache_clear(c, NULL), HEXC_E_FILE);
	}
	hexc_cache_close(c);
	return served;
}

/* A folder that others may write is not used, nor one of another user; nor are such entries. */
TEST(what_others_may_write)
{
	char *path = folder_new(), *file;
	hexc_cache *c = cache_in(path, 0);
	uint64_t damaged;

	put_answer(c, 1);
	hexc_cache_close(c);
	file = only_entry(path);
	ck_assert(serves(path, &damaged) && !said[0]);
	for (int i = 0; i < 3; i++) {
		static const mode_t mode[] = { 0777, 0720, 01777 };

		ck_assert_int_eq(chmod(path, mode[i]), 0);
		ck_assert(!serves(path, &damaged));
		ck_assert_msg(strstr(said, path) == said && strstr(said, "is not used: it is writable by "
		                                                         "others than its owner (mode"), "%s",
		              said);
	}
	ck_assert_int_eq(chmod(path, 0755), 0);
	ck_assert(serves(path, &damaged) && !said[0]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(chmod(file, i ? 0602 : 0620), 0);
		ck_assert(!serves(path, &damaged) && !said[0]);
		ck_assert_uint_eq(damaged, 1);
	}
	ck_assert_int_eq(chmod(file, 0644), 0);
	ck_assert(serves(path, &damaged));
	if (geteuid() == 0) { /* only root gives files away */
		ck_assert_int_eq(chown(file, 12345, (gid_t)-1), 0);
		ck_assert(!serves(path, &damaged) && !said[0]);
		ck_assert_uint_eq(damaged, 1);
		ck_assert_int_eq(chown(file, 0, (gid_t)-1), 0);
		ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
		ck_assert(!serves(path, &damaged));
		ck_assert_msg(strstr(said, "is not used: it is owned by user 12345") != NULL, "%s", said);
		ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
		ck_assert(serves(path, &damaged));
	}
	free(file);
	folder_remove(path);
}

/* A cache that is open, and whose folder others may write from then on, or put another in its place. */
TEST(a_folder_that_changes)
{
	char *path = folder_new(), moved[200];
	hexc_cache *c = cache_in(path, 0);
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;

	put_answer(c, 1);
	ck_assert_int_eq(right_answer(c, 1), 1);
	ck_assert_int_eq(chmod(path, 0777), 0);
	ck_assert_int_eq(right_answer(c, 1), 0);
	hexc_cache_describe(c, &info);
	ck_assert_int_eq(info.error, EPERM);
	ck_assert_int_eq(chmod(path, 0700), 0);
	ck_assert_int_eq(right_answer(c, 1), 1);
	snprintf(moved, sizeof moved, "%s-moved", path);
	ck_assert_int_eq(syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, moved, 0), 0);
	ck_assert_int_eq(symlink(moved, path), 0); /* the user's own, elsewhere */
	ck_assert_int_eq(right_answer(c, 1), 1);
	ck_assert_int_eq(unlink(path), 0);
	put_answer(c, 1); /* it is made anew */
	ck_assert_int_eq(right_answer(c, 1), 1);
	hexc_cache_close(c);
	folder_remove(path);
	folder_remove(strdup(moved));
}

TEST(options)
{
	hexc_cache_opts o = HEXC_CACHE_OPTS_INIT;
	char *path = folder_new(), deep[200], why[300];
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	hexc_cache *c;

	ck_assert_int_eq(hexc_cache_open(NULL, NULL, why, sizeof why), HEXC_E_INVALID);
	o.path = "";
	ck_assert_int_eq(hexc_cache_open(&c, &o, why, sizeof why), HEXC_E_INVALID);
	o.path = "/dev/null/hexc";
	ck_assert_int_eq(hexc_cache_open(&c, &o, why, sizeof why), HEXC_E_FILE);
	ck_assert(strstr(why, "/dev/null/hexc: cannot be used as a cache:") != NULL);
	snprintf(deep, sizeof deep, "%s/a/b", path);
	o.path = deep;
	o.read_only = 1;
	ck_assert_int_eq(hexc_cache_open(&c, &o, why, sizeof why), HEXC_E_FILE); /* makes none */
	o.read_only = 0;
	ck_assert_int_eq(hexc_cache_open(&c, &o, why, sizeof why), HEXC_OK);
	put_answer(c, 1);
	hexc_cache_close(c);
	o.read_only = 1;
	ck_assert_int_eq(hexc_cache_open(&c, &o, why, sizeof why), HEXC_OK);
	ck_assert_int_eq(right_answer(c, 1), 1);
	put_answer(c, 2);
	ck_assert_int_eq(count_files(deep), 1);
	ck_assert_int_eq(hexc_cache_clear(c, NULL), HEXC_E_INVALID);
	hexc_cache_close(c);
	/* the user's, by the environment */
	setenv("XDG_CACHE_HOME", path, 1);
	ck_assert_int_eq(hexc_cache_open(&c, NULL, why, sizeof why), HEXC_OK);
	hexc_cache_describe(c, &info);
	ck_assert(strncmp(info.path, path, strlen(path)) == 0 && strcmp(info.path + strlen(path),
	                                                                "/hexc") == 0);
	hexc_cache_close(c);
	setenv("XDG_CACHE_HOME", "here", 1); /* relative: does not count */
	setenv("HOME", path, 1);
	ck_assert_uint_eq(hexc_cache_path(deep, sizeof deep), strlen(path) + strlen("/.cache/hexc"));
	ck_assert_uint_eq(hexc_cache_path(deep, 5), 0);
	unsetenv("HOME");
	ck_assert_int_eq(hexc_cache_open(&c, NULL, why, sizeof why), HEXC_E_FILE);
	/* a folder that goes while it is used comes again */
	snprintf(deep, sizeof deep, "rm -rf %s/*", path);
	c = cache_in(path, 0);
	put_answer(c, 1);
	ck_assert_int_eq(system(deep), 0);
	put_answer(c, 2);
	ck_assert_int_eq(right_answer(c, 2), 1);
	hexc_cache_close(c);
	folder_remove(path);
}

/* ---- size ------------------------------------------------------------------------------------------ */

static int
add_bytes(void *user, const hexc_cache_entry *e)
{
	*(uint64_t *)user += e->bytes;
	return 0;
}

/* What was written last stays; the bound holds. */
TEST(the_oldest_go)
{
	enum { MOST = 100000, KEYS = 200 };
	char *path = folder_new();
	hexc_cache *c = cache_in(path, MOST);
	uint64_t bytes = 0;
	int oldest = KEYS;

	for (int i = 0; i < KEYS; i++) {
		static const struct timespec tick = { 0, 4000000 }; /* times of files are no finer */
		put_answer(c, i);
		ck_assert_int_eq(right_answer(c, i), 1);
		nanosleep(&tick, NULL);
	}
	while (oldest > 0 && right_answer(c, oldest - 1))
		oldest--;
	ck_assert_int_le(oldest, KEYS - MOST * 3 / 4 / ANSWER_MAX);
	for (int i = 0; i < oldest - 5; i++)
		ck_assert_int_eq(right_answer(c, i), 0);
	ck_assert_int_eq(hexc_cache_each(c, add_bytes, &bytes), HEXC_OK);
	ck_assert_uint_le(bytes, MOST + MOST / 64 + ANSWER_MAX + 200);
	hexc_cache_close(c);
	folder_remove(path);
}

/* A hit is noted in the file's time, if that is old: then others go before it. */
TEST(a_hit_counts_as_use)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 30000);
	char command[300];

	for (int i = 0; i < 5; i++)
		put_answer(c, i);
	snprintf(command, sizeof command, "touch -d '2001-01-01' %s/*", path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(right_answer(c, 3), 1);
	for (int i = 100; count_files(path) == i - 100 + 5; i++)
		put_answer(c, i);
	for (int i = 0; i < 5; i++)
		ck_assert_msg(i == 3 || !right_answer(c, i), "%d is there", i);
	ck_assert_int_eq(right_answer(c, 3), 1);
	hexc_cache_close(c);
	folder_remove(path);
}

/* ---- how much it does ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* System calls of a hit: of a child, between its two getppid. */
TEST(a_hit_takes_few_calls)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 0);
	int status, stops = 0, markers = 0;
	pid_t pid;

	put_answer(c, 1);
	pid = SANITIZED ? -1 : fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(7);
		raise(SIGSTOP);
		syscall(SYS_getppid);
		if (!right_answer(c, 1))
			_exit(1);
		syscall(SYS_getppid);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		long nr = ptrace(PTRACE_PEEKUSER, pid, (void *)offsetof(struct user_regs_struct, orig_rax),
		                 NULL);

		markers += nr == SYS_getppid; /* each of them stops twice */
		stops += WSTOPSIG(status) == SIGTRAP && nr != SYS_getppid && markers == 2;
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	}
	if (pid > 0 && WEXITSTATUS(status) != 7) {
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(markers, 4);
		/* of the folder open, fstat, close; of the entry open, fstat, read, close; memory; each
		 * stops twice */
		ck_assert_msg(stops >= 14 && stops <= 18, "%d", stops);
	}
	hexc_cache_close(c);
	folder_remove(path);
}
#endif

/* ---- threads --------------------------------------------------------------------------------------- */

enum { THREADS = 8 };

static void *
use(void *user)
{
	hexc_cache *c = user;
	unsigned x = (unsigned)(uintptr_t)&x >> 4;

	for (int i = 0; i < 300; i++) {
		int k = (int)((x = x * 1103515245 + 12345) >> 16) % 40;

		if (!right_answer(c, k))
			put_answer(c, k);
	}
	for (int i = 0; i < 3; i++)
		hexc_module_free(compile_in(c, lib_add, NULL, NULL, &(int){ 0 }));
	return NULL;
}

TEST(eight_threads)
{
	char *path = folder_new();
	hexc_cache *c = cache_in(path, 60000);
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&id[i], NULL, use, c), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	hexc_cache_close(c);
	folder_remove(path);
}
