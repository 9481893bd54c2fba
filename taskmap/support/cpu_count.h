/* cpu_count.h - what cores_allowed is made of, for tests. */
#ifndef HEXC_CPU_COUNT_H
#define HEXC_CPU_COUNT_H
#include <stdint.h>

/* What the control groups of a process, of versions 1 and 2, leave: `self` is its /proc/PID/cgroup, `mount`
 * where groups are.  0: no limit. */
int64_t cores_quota(const char *self, const char *mount);
#endif
