/* test_storm.c - stress-tests one cache with sixteen processes that are killed at random: no wrong entry is
 * served, and complete entries are not lost. Takes a few seconds; HEXC_STORM=60 sets the duration in
 * seconds. */
#define _GNU_SOURCE
#include "test/cache/util_cache.h"
#include "test/check.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST_PROGRAM(.timeout = 900);

enum { PROCESSES = 16, KEYS = 300, WRONG = 3 };

/* Shared by all. */
typedef struct Storm {
	_Atomic int complete[KEYS]; /* a put of it has returned */
	_Atomic long hits, misses;
} Storm;

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One process: asks, and keeps what is not there, until it is killed. */
static void
worker(const char *path, uint64_t most, Storm *storm, unsigned x)
{
	hexc_cache *c = cache_in(path, most);

	for (;;) {
		int k = (int)((x = x * 1103515245 + 12345) >> 16) % KEYS;

		if (right_answer(c, k)) {
			storm->hits++;
			continue;
		}
		storm->misses++;
		put_answer(c, k);
		storm->complete[k] = 1;
		if (x % 64 == 0) { /* a process that ends, and another that begins */
			hexc_cache_close(c);
			c = cache_in(path, most);
		}
	}
}

static pid_t
start(const char *path, uint64_t most, Storm *storm, unsigned seed)
{
	pid_t pid = fork();

	if (pid == 0) {
		worker(path, most, storm, seed);
		_exit(0);
	}
	return pid;
}

/* Somebody's wrong disk: a byte of some file is another, or its end is gone.  False: it was no entry. */
static bool
vandal(const char *path, unsigned x)
{
	DIR *d = opendir(path);
	char name[400] = "";
	struct dirent *e;
	FILE *f;

	for (unsigned skip = x % 100; (e = readdir(d)) != NULL && skip; skip--)
		;
	if (e && strstr(e->d_name, ".hxc"))
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
	closedir(d);
	f = fopen(name, "r+b");
	if (!f)
		return false;
	if (x % 3) {
		fseek(f, (long)(x >> 8) % 2000, SEEK_SET);
		fputc((int)(x >> 20) & 255, f);
	} else if (truncate(name, (long)(x >> 8) % 2000)) {
		ck_abort_msg("%s cannot be cut", name);
	}
	fclose(f);
	return true;
}

static void
storm(uint64_t most, bool damage, double length)
{
	Storm *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double end = seconds() + length;
	char *path = folder_new();
	unsigned x = 1;
	pid_t pid[PROCESSES];
	hexc_cache *c;
	long killed = 0, damaged = 0;
	int status;

	for (int i = 0; i < PROCESSES; i++)
		pid[i] = start(path, most, s, (unsigned)i + 1);
	while (seconds() < end) {
		int i = (int)((x = x * 1103515245 + 12345) >> 16) % PROCESSES;
		struct timespec pause = { 0, (long)(x >> 8) % 4000000 };

		nanosleep(&pause, NULL);
		damaged += damage && vandal(path, x);
		ck_assert_msg(waitpid(pid[i], &status, WNOHANG) == 0, "a process ended by itself: status %x",
		              status);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		killed++;
		pid[i] = start(path, most, s, x);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_msg(waitpid(pid[i], &status, WNOHANG) == 0, "a process ended by itself: status %x",
		              status);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
	}
	c = cache_in(path, most);
	for (int k = 0; k < KEYS; k++) {
		int there = right_answer(c, k);

		if (!damage && most > (uint64_t)KEYS * ANSWER_MAX * 2)
			ck_assert_msg(there || !s->complete[k], "the complete entry %d is lost", k);
	}
	printf("%ld killed, %ld hits, %ld misses\n", killed, s->hits, s->misses);
	ck_assert_int_gt(killed, 0);
	ck_assert(!damage || damaged > 0);
	ck_assert_int_gt(s->hits, 100);
	hexc_cache_close(c);
	folder_remove(path);
	munmap(s, sizeof *s);
}

static double
length(void)
{
	const char *s = getenv("HEXC_STORM");

	return s ? atof(s) / 3 : 1;
}

TEST(all_of_it_stays)
{
	storm(1 << 30, false, length());
}

TEST(more_than_there_is_room_for)
{
	storm(200000, false, length());
}

TEST(a_disk_that_is_wrong)
{
	storm(1 << 30, true, length());
}

/* ---- a disk that is full ------------------------------------------------------------------------------- */

static bool
tell(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	bool done = f && fputs(text, f) >= 0;

	return f && fclose(f) == 0 && done;
}

/* A tmpfs of so many bytes there, which this process alone sees. */
static bool
small_disk(const char *path, const char *size)
{
	char map[60];
	unsigned me = (unsigned)geteuid();
	char options[60];

	snprintf(map, sizeof map, "0 %u 1", me);
	if (unshare(CLONE_NEWNS) &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !tell("/proc/self/uid_map", map)))
		return false;
	snprintf(options, sizeof options, "%s,mode=0700", size);
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", path, "tmpfs", 0, options) == 0;
}

/* What was kept before the disk was full is there still, what came then is not, and is told; when there is
 * room again, entries are kept again.  4 processes write, so that each meets the other's ends. */
static void
fill(const char *path)
{
	hexc_cache *c = cache_in(path, 1 << 30);
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	bool kept[KEYS] = { false };
	uint64_t removed;
	int n = 0, status;
	pid_t pid[4];

	for (int k = 0; k < KEYS; k++) {
		put_answer(c, k);
		kept[k] = right_answer(c, k);
		n += kept[k];
	}
	hexc_cache_describe(c, &info);
	ck_assert_int_gt(n, 10);
	ck_assert_int_lt(n, KEYS);
	ck_assert_uint_gt(info.failed, 0);
	ck_assert_int_eq(info.error, ENOSPC);
	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			hexc_cache *mine = cache_in(path, 1 << 30);

			for (int k = 0; k < KEYS; k++) {
				right_answer(mine, k);
				put_answer(mine, (k * 7 + i) % KEYS);
			}
			hexc_cache_close(mine);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		ck_assert(waitpid(pid[i], &status, 0) == pid[i] && status == 0);
	for (int k = 0; k < KEYS; k++)
		ck_assert_msg(!kept[k] || right_answer(c, k), "the complete entry %d is lost", k);
	ck_assert_int_eq(hexc_cache_clear(c, &removed), HEXC_OK);
	ck_assert_uint_ge(removed, (uint64_t)n);
	put_answer(c, 5);
	ck_assert(right_answer(c, 5));
	hexc_cache_close(c);
}

TEST(a_disk_that_is_full)
{
	char *path = folder_new();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!small_disk(path, "size=300k"))
			_exit(77);
		fill(path);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		puts("no file system may be mounted here: no disk is full");
	else
		ck_assert_int_eq(status, 0);
	folder_remove(path);
}
