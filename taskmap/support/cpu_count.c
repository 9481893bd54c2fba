/* cpu_count.c - counts the processors that this process may use, by its affinity and by the quotas of its
 * control groups. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "taskmap/support/cpu_count.h"
#include "taskmap/support/thread_pool.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

/* Reads the first line of a file in a group's folder; false: there is none. */
static bool
group_read(const char *folder, const char *file, char *text, int n)
{
	char path[3 * PATH_MOST];
	bool has;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	f = fopen(path, "re");
	if (!f)
		return false;
	has = fgets(text, n, f) != NULL;
	fclose(f);
	return has;
}

/* Returns the processors that one group permits, rounded up; 0: all.  Version 2 has "QUOTA PERIOD", or "max
 * PERIOD", in cpu.max; version 1 has a file for each, with -1 for no quota. */
static int64_t
group_quota(const char *folder)
{
	char text[64], more[64];
	long long quota, period;

	if (group_read(folder, "cpu.max", text, sizeof text)) {
		if (sscanf(text, "%lld %lld", &quota, &period) != 2)
			return 0;
	} else if (group_read(folder, "cpu.cfs_quota_us", text, sizeof text) &&
	           group_read(folder, "cpu.cfs_period_us", more, sizeof more)) {
		quota = atoll(text);
		period = atoll(more);
	} else {
		return 0;
	}
	return quota < 1 || period < 1 ? 0 : quota / period + (quota % period != 0);
}

/* Is `name` an element of a comma-separated list? */
static bool
has_word(const char *list, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (; list < end; list += strcspn(list, ",:") + 1)
		if (strncmp(list, name, n) == 0 && (list[n] == ',' || list + n == end))
			return true;
	return false;
}

/* Parses a line of /proc/PID/cgroup: "0::/PATH" for version 2, or "9:cpu,cpuacct:/PATH" for a hierarchy of
 * version 1.  Returns the path, with the version in *v1; NULL: neither, or a hierarchy without the cpu
 * controller. */
static char *
group_path(char *line, bool *v1)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

	line[strcspn(line, "\n")] = 0;
	if (!path || path[1] != '/')
		return NULL;
	*v1 = path > list + 1;
	return *v1 && !has_word(list + 1, path, "cpu") ? NULL : path + 1;
}

static int64_t
least_of(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Returns the least quota of a group and its ancestors; 0: no limit. */
static int64_t
path_quota(const char *mount, bool v1, char *group)
{
	char folder[2 * PATH_MOST];
	int64_t least = 0;
	char *end;

	do {
		snprintf(folder, sizeof folder, "%s%s%s", mount, v1 ? "/cpu" : "",
		         strcmp(group, "/") == 0 ? "" : group);
		least = least_of(least, group_quota(folder));
		end = strrchr(group, '/');
		if (end)
			*end = 0;
	} while (end);
	return least;
}

int64_t
cores_quota(const char *self, const char *mount)
{
	char line[PATH_MOST];
	int64_t least = 0;
	FILE *f = fopen(self, "re");

	while (f && fgets(line, sizeof line, f)) {
		bool v1;
		char *path = group_path(line, &v1);

		if (path)
			least = least_of(least, path_quota(mount, v1, path));
	}
	if (f)
		fclose(f);
	return least;
}

int64_t
cores_allowed(void)
{
	int64_t quota = cores_quota("/proc/self/cgroup", "/sys/fs/cgroup");
	cpu_set_t set;
	int64_t n;

	n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
	return quota && quota < n ? quota : n;
}
