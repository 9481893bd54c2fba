/* test_async.c - tests compilations in the background: the module of hexc_compile, on any thread, or the
 * reason why there is none; jobs that are cancelled, abandoned, and never started. */
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

TEST_PROGRAM(.timeout = 300);

/* An executor that keeps work until it is told to do it. */
typedef struct Later {
	void (*work[64])(void *job);
	void *job[64];
	int n;
	int full; /* takes no more from this one on; 0: all */
} Later;

static int
later(void *user, void (*work)(void *job), void *job)
{
	Later *l = user;

	if (l->full && l->n + 1 >= l->full)
		return 1;
	l->work[l->n] = work;
	l->job[l->n++] = job;
	return 0;
}

static void
do_all(Later *l)
{
	for (int i = 0; i < l->n; i++)
		l->work[i](l->job[i]);
	l->n = 0;
}

static hexc_job *
begin(const char *src, const hexc_opts *o, Later *l)
{
	hexc_executor on = HEXC_EXECUTOR_INIT;
	hexc_job *j;

	on.start = later;
	on.user = l;
	ck_assert_int_eq(hexc_compile_async(&j, o, "t.hexc", src, strlen(src), l ? &on : NULL), HEXC_OK);
	return j;
}

static void
same_ptx(const hexc_module *a, const hexc_module *b)
{
	ck_assert(a && b && a != b);
	ck_assert_str_eq(hexc_ptx(a, NULL), hexc_ptx(b, NULL));
}

TEST(the_same_module)
{
	hexc_module *plain = lib_must(lib_gemm, NULL), *other = lib_must(lib_add, NULL), *taken;

	for (int own = 0; own < 2; own++) {
		Later l = { .n = 0 };
		hexc_job *j = begin(lib_gemm, NULL, own ? NULL : &l);

		if (!own) {
			ck_assert_int_eq(hexc_job_done(j), 0);
			ck_assert_ptr_eq(hexc_job_module(j, other), other);
			ck_assert(hexc_job_take(j) == NULL);
			ck_assert_int_eq(hexc_job_diag(j, 0, &(hexc_diag_info)HEXC_DIAG_INFO_INIT), 0);
			do_all(&l);
		}
		ck_assert_int_eq(hexc_job_wait(j), HEXC_OK);
		ck_assert_int_eq(hexc_job_done(j), 1);
		same_ptx(hexc_job_module(j, other), plain);
		taken = own ? hexc_job_take(j) : NULL;
		hexc_job_free(j);
		if (taken) /* it outlives the job */
			same_ptx(taken, plain);
		hexc_module_free(taken);
	}
	hexc_module_free(plain);
	hexc_module_free(other);
}

TEST(errors)
{
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *fallback = lib_must(lib_add, NULL);
	Later l = { .full = 1 };
	hexc_executor on = HEXC_EXECUTOR_INIT;
	hexc_job *j = begin("kernel k(", NULL, NULL);

	ck_assert_int_eq(hexc_job_wait(j), HEXC_E_SOURCE);
	ck_assert_ptr_eq(hexc_job_module(j, fallback), fallback);
	ck_assert(hexc_job_take(j) == NULL);
	ck_assert_int_eq(hexc_job_diag(j, 0, &d), 1);
	ck_assert_uint_eq(d.line, 1);
	ck_assert_str_eq(d.file, "t.hexc");
	hexc_job_free(j);
	hexc_module_free(fallback);
	o.arch = "sm_1";
	ck_assert_int_eq(hexc_compile_async(&j, &o, NULL, "", 0, NULL), HEXC_E_ARCH);
	ck_assert(j == NULL);
	on.start = later;
	on.user = &l;
	ck_assert_int_eq(hexc_compile_async(&j, NULL, NULL, "", 0, &on), HEXC_E_LIMIT);
	ck_assert(j == NULL);
	ck_assert_int_eq(hexc_compile_async(NULL, NULL, NULL, "", 0, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_compile_async(&j, NULL, NULL, NULL, 1, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_job_wait(NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_job_done(NULL), 0);
	hexc_job_cancel(NULL);
	hexc_job_free(NULL);
}

/* Before it begins, while it works, when it is done. */
TEST(cancelled)
{
	Later l = { .n = 0 };
	hexc_job *j = begin(lib_gemm, NULL, &l);

	hexc_job_cancel(j);
	do_all(&l);
	ck_assert_int_eq(hexc_job_wait(j), HEXC_E_LIMIT);
	hexc_job_free(j);
	j = begin(lib_gemm, NULL, &l);
	hexc_job_free(j); /* the executor has it still */
	do_all(&l);
	for (int ms = 0; ms < 100; ms += 7) {
		struct timespec pause = { 0, ms * 1000000L };
		int code;

		j = begin(lib_gemm, NULL, NULL);
		nanosleep(&pause, NULL);
		hexc_job_cancel(j);
		code = hexc_job_wait(j);
		ck_assert(code == HEXC_E_LIMIT || code == HEXC_OK);
		hexc_job_free(j);
		j = begin(lib_gemm, NULL, NULL);
		nanosleep(&pause, NULL);
		hexc_job_free(j);
	}
}

/* A host that cancels its own job at the k-th time it is asked whether to stop, and says no. */
typedef struct Canceller {
	hexc_job *job;
	long polls, at;
} Canceller;

static int
cancel_at(void *user)
{
	Canceller *c = user;

	if (++c->polls == c->at)
		hexc_job_cancel(c->job);
	return 0;
}

/* What is cancelled before it is done ends with E_LIMIT: at the last poll, too, after which the library has
 * no other occasion to notice; and a program that is wrong does not hide it. */
TEST(cancelled_at_every_poll)
{
	static const char *const program[] = { lib_add, "kernel k(" };
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;

	for (int i = 0; i < 2; i++) {
		Canceller c = { NULL, 0, -1 };
		hexc_opts o = HEXC_OPTS_INIT;
		Later l = { .n = 0 };
		long all;

		o.cancel = cancel_at;
		o.user = &c;
		c.job = begin(program[i], &o, &l);
		do_all(&l);
		ck_assert_int_eq(hexc_job_wait(c.job), i ? HEXC_E_SOURCE : HEXC_OK);
		hexc_job_free(c.job);
		all = c.polls;
		for (long k = 1; k <= all; k += k < all - 20 && all > 1000 ? all / 1000 + 1 : 1) {
			c = (Canceller){ NULL, 0, k };
			c.job = begin(program[i], &o, &l);
			do_all(&l);
			ck_assert_msg(hexc_job_wait(c.job) == HEXC_E_LIMIT, "at poll %ld of %ld", k, all);
			ck_assert(hexc_job_module(c.job, NULL) == NULL);
			ck_assert_int_eq(hexc_job_diag(c.job, 0, &d), 1);
			ck_assert_str_eq(d.text, "the compilation was cancelled");
			hexc_job_free(c.job);
		}
	}
}

/* 1,000 times, from another thread, at moments spread over the time that it takes: what was not done when the
 * host began to cancel it is done with E_LIMIT, or was done meanwhile. */
TEST(cancelled_a_thousand_times)
{
	for (long i = 0; i < 1000; i++) {
		hexc_job *j = begin(lib_add, NULL, NULL);
		int code;

		for (volatile long spin = 0; spin < i % 100 * 30000; spin++)
			;
		hexc_job_cancel(j);
		code = hexc_job_done(j) ? HEXC_OK : HEXC_E_LIMIT; /* not done now: cancelled before */
		ck_assert(hexc_job_wait(j) == HEXC_E_LIMIT || code == HEXC_OK);
		hexc_job_free(j);
	}
}

static int
host_says_stop(void *user)
{
	(void)user;
	return 1;
}

/* The host's hooks get what the host gave, and all memory is its own; the n-th request for it fails. */
TEST(hooks)
{
	hexc_opts o = HEXC_OPTS_INIT;
	LibAlloc a = { 0, 0, 0, false };
	Later l = { .n = 0 };
	hexc_module *m;
	hexc_job *j;
	int code = HEXC_E_NOMEM;

	o.realloc = lib_realloc;
	o.user = &a;
	j = begin(lib_add, &o, &l);
	do_all(&l);
	m = hexc_job_take(j);
	hexc_job_free(j);
	ck_assert(m && a.live > 0);
	hexc_module_free(m);
	ck_assert_int_eq(a.live, 0);
	for (long n = 1; code != HEXC_OK; n++) {
		hexc_executor on = { sizeof on, later, &l };

		a = (LibAlloc){ 0, 0, n, false };
		code = hexc_compile_async(&j, &o, NULL, lib_add, strlen(lib_add), &on);
		if (code == HEXC_OK) {
			do_all(&l);
			code = hexc_job_wait(j);
			hexc_job_free(j);
		}
		ck_assert_int_eq(a.live, 0);
		ck_assert(code == HEXC_OK || code == HEXC_E_NOMEM);
		ck_assert_int_lt((int)n, 2000);
	}
	o.cancel = host_says_stop;
	a.fail_at = 0;
	j = begin(lib_add, &o, NULL);
	ck_assert_int_eq(hexc_job_wait(j), HEXC_E_LIMIT);
	hexc_job_free(j);
}

static int
threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static int
count_threads(void *user)
{
	LibAlloc *most = user;

	most->calls = threads() > most->calls ? threads() : most->calls;
	return 0;
}

/* With the host's executor hexc starts no thread. */
TEST(no_threads_of_ours)
{
	hexc_opts o = HEXC_OPTS_INIT;
	LibAlloc most = { 0, 0, 0, false };
	Later l = { .n = 0 };
	int before = threads();
	hexc_job *j;

	o.cancel = count_threads;
	o.user = &most;
	j = begin(lib_gemm, &o, &l);
	do_all(&l);
	ck_assert_int_eq(hexc_job_wait(j), HEXC_OK);
	hexc_job_free(j);
	ck_assert_int_eq(before > 0 ? (int)most.calls : 1, before > 0 ? before : 1);
}

enum { THREADS = 8 };

/* A host with threads: each begins jobs, asks others' whether they are done, and leaves some. */
static void *
host(void *user)
{
	const hexc_module *fallback = user;

	for (int i = 0; i < 3; i++) {
		hexc_job *j[3];

		for (int k = 0; k < 3; k++)
			j[k] = begin(lib_add, NULL, NULL);
		hexc_job_free(j[2]);
		for (int k = 0; k < 2; k++) {
			while (hexc_job_module(j[k], fallback) == fallback)
				nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			hexc_job_free(j[k]);
		}
	}
	return NULL;
}

TEST(eight_threads)
{
	hexc_module *fallback = lib_must(lib_add, NULL);
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&id[i], NULL, host, fallback), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	hexc_module_free(fallback);
}
