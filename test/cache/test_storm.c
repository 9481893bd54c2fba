/* test_storm.c - sixteen processes use one cache, and are killed at random: no wrong answer is served, and
 * what was complete is not lost.  A few seconds; HEXC_STORM=60 says how many. */
#define _GNU_SOURCE
#include "test/cache/util_cache.h"
#include "test/check.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
