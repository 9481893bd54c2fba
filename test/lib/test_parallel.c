/* test_parallel.c - tests the library's threads: how they distribute pieces of work, next to the threads of a
 * host. */
#define _GNU_SOURCE
#include "lib/base/base.h"
#include "taskmap/support/cpu_count.h"
#include "test/check.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PIECES = 64 };

/* Who did which piece, and how.  The caller waits at its first piece for one of a worker: for as long as it
 * takes, or for a second where there should be none. */
typedef struct Seen {
	pthread_t thread[PIECES];
	sigset_t mask[PIECES];
	pthread_t caller;
	pthread_mutex_t lock;
	pthread_cond_t came;
	bool alone, worker;
} Seen;

static void
seen_init(Seen *s, bool alone)
{
	*s = (Seen){ .caller = pthread_self(), .alone = alone };
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->came, NULL);
}

static void
wait_a_second(Seen *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_cond_timedwait(&s->came, &s->lock, &until);
}

static void
look(void *user, int64_t lo, int64_t hi)
{
	Seen *s = user;

	ck_assert_int_eq(hi, lo + 1);
	s->thread[lo] = pthread_self();
	pthread_sigmask(SIG_SETMASK, NULL, &s->mask[lo]);
	pthread_mutex_lock(&s->lock);
	if (!pthread_equal(s->thread[lo], s->caller)) {
		s->worker = true;
		pthread_cond_signal(&s->came);
	}
	while (!s->worker && !s->alone)
		pthread_cond_wait(&s->came, &s->lock);
	if (s->alone && !s->worker && lo == 0)
		wait_a_second(s);
	pthread_mutex_unlock(&s->lock);
}

TEST(workers_get_no_signals)
{
	sigset_t before, after;
	int workers = 0;
	Seen s;

	seen_init(&s, false);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	parallel_for(&(Workers){ .threads = 4 }, PIECES, 1, look, &s);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_int_eq(sigismember(&before, SIGINT), 0);
	ck_assert_int_eq(sigismember(&after, SIGINT), 0);
	for (int i = 0; i < PIECES; i++) {
		bool own = pthread_equal(s.thread[i], s.caller);

		workers += !own;
		ck_assert_int_eq(sigismember(&s.mask[i], SIGINT), !own);
		ck_assert_int_eq(sigismember(&s.mask[i], SIGPROF), !own);
		ck_assert_int_eq(sigismember(&s.mask[i], SIGSEGV), 0);
	}
	ck_assert_int_gt(workers, 0);
}

TEST(affinity_is_respected)
{
	cpu_set_t all, one;
	size_t cpu = 0;
	Seen s;

	seen_init(&s, true);
	ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
	parallel_for(&(Workers){ 0 }, PIECES, 1, look, &s);
	for (int i = 0; i < PIECES; i++)
		ck_assert(pthread_equal(s.thread[i], s.caller));
}

static void
put(const char *dir, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

enum { FOLDER = 32 };

/* A folder of groups, with one below another in it. */
static void
folder_new(char dir[FOLDER], const char *groups)
{
	char command[100];

	strcpy(dir, "/tmp/hexc-groups-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(command, sizeof command, "mkdir -p '%s/%s'", dir, groups);
	ck_assert_int_eq(system(command), 0);
}

static void
folder_remove(const char *dir)
{
	char command[100];

	snprintf(command, sizeof command, "rm -r '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

TEST(quotas_of_control_groups)
{
	static const struct {
		const char *self, *inner, *outer;
		int64_t want;
	} t[] = {
		{ "0::/a/b\n", "200000 100000\n", "max 100000\n", 2 },
		{ "9:cpu:/x\n0::/a/b\n", "max 100000\n", "150000 100000\n", 2 },
		{ "0::/a/b\n", "400000 100000\n", "100000 100000\n", 1 },
		{ "0::/a/b\n", "50000 100000\n", "max 100000\n", 1 },
		{ "0::/a/b\n", "max 100000\n", "max 100000\n", 0 },
		{ "0::/a/b\n", "nonsense", "", 0 },
		{ "0::/\n", "100000 100000\n", "100000 100000\n", 0 },
		{ "9:cpu:/a/b\n", "100000 100000\n", "100000 100000\n", 0 },
	};
	char dir[FOLDER], self[FOLDER + 8];

	folder_new(dir, "a/b");
	snprintf(self, sizeof self, "%s/self", dir);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		put(dir, "self", t[i].self);
		put(dir, "a/b/cpu.max", t[i].inner);
		put(dir, "a/cpu.max", t[i].outer);
		ck_assert_int_eq(cores_quota(self, dir), t[i].want);
	}
	ck_assert_int_eq(cores_quota("/nowhere", dir), 0);
	folder_remove(dir);
}

/* The same of version 1, whose hierarchies have folders of their own.  A container sees its own group as the
 * root of them, whatever path it is told. */
TEST(quotas_of_control_groups_1)
{
	static const struct {
		const char *self, *quota, *period;
		int64_t want;
	} t[] = {
		{ "9:cpu,cpuacct:/a\n0::/a\n", "200000\n", "100000\n", 2 },
		{ "3:cpuset:/\n9:cpuacct,cpu:/a\n", "250000\n", "100000\n", 3 },
		{ "9:cpu:/a\n", "-1\n", "100000\n", 0 },
		{ "9:cpu:/a\n", "50000\n", "0\n", 0 },
		{ "9:cpuset:/a\n8:cpuacct:/a\n", "200000\n", "100000\n", 0 },
		{ "9:cpu:/docker/5f3a\n", "200000\n", "100000\n", 0 },
		{ "9:cpu", "200000\n", "100000\n", 0 },
	};
	char dir[FOLDER], self[FOLDER + 8];

	folder_new(dir, "cpu/a");
	snprintf(self, sizeof self, "%s/self", dir);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		put(dir, "self", t[i].self);
		put(dir, "cpu/a/cpu.cfs_quota_us", t[i].quota);
		put(dir, "cpu/a/cpu.cfs_period_us", t[i].period);
		ck_assert_int_eq(cores_quota(self, dir), t[i].want);
	}
	put(dir, "cpu/cpu.cfs_quota_us", "300000\n");
	put(dir, "cpu/cpu.cfs_period_us", "100000\n");
	put(dir, "self", "9:cpu:/docker/5f3a\n");
	ck_assert_int_eq(cores_quota(self, dir), 3);
	folder_remove(dir);
}
