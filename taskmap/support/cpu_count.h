/* cpu_count.h - the control-group part of cores_allowed(), for tests. */
#ifndef HEXC_CPU_COUNT_H
#define HEXC_CPU_COUNT_H
#include <stdint.h>

/* Returns the processors that a process' control groups, of versions 1 and 2, permit; 0: no limit.  `self` is
 * its /proc/PID/cgroup, `mount` where control groups are mounted. */
int64_t cores_quota(const char *self, const char *mount);
#endif
