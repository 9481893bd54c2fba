/* cores.c - how many threads may run at once: by affinity, and by the limits of control groups. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "lib/base/cores.h"
#include "lib/base/base.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MOST = 4096 };

/* Processors that one group's cpu.max leaves, rounded up: "QUOTA PERIOD", or "max PERIOD"; 0: all. */
static int64_t
group_quota(const char *mount, const char *group)
{
	char path[2 * PATH_MOST], text[64] = "";
	long long quota, period;
	FILE *f;

	snprintf(path, sizeof path, "%s%s/cpu.max", mount, group);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof text, f))
		text[0] = 0;
	fclose(f);
	if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota < 1 || period < 1)
		return 0;
	return (quota + period - 1) / period;
}

int64_t
cores_quota(const char *self, const char *mount)
{
	char group[PATH_MOST] = "";
	FILE *f = fopen(self, "re");
	int64_t least = 0;
	char *end;

	while (f && fgets(group, sizeof group, f) && strncmp(group, "0::/", 4) != 0)
		group[0] = 0;
	if (f)
		fclose(f);
	if (!group[0])
		return 0;
	memmove(group, group + 3, strlen(group + 3) + 1);
	group[strcspn(group, "\n")] = 0;
	do { /* the group, and those that it is in */
		int64_t n = group_quota(mount, strcmp(group, "/") == 0 ? "" : group);

		least = n && (!least || n < least) ? n : least;
		end = strrchr(group, '/');
		if (end)
			*end = 0;
	} while (end);
	return least;
}

int64_t
cores_allowed(void)
{
	int64_t n, quota = cores_quota("/proc/self/cgroup", "/sys/fs/cgroup");
	cpu_set_t set;

	n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
	return quota && quota < n ? quota : n;
}
