/* util_launch.h - requirements on a PTX text besides correct results: bank conflicts in its loops. */
#ifndef UTIL_LAUNCH_H
#define UTIL_LAUNCH_H
#include "lib/sim/sim.h"
#include <stdbool.h>
#include <stdint.h>

/* Which lines of a PTX text, from 1 on, have so many loops around them, at least.  The caller frees it. */
bool *loop_lines(const char *ptx, int around);
/* Wavefronts of shared memory above the least, in such lines; *line: the last of them. */
uint64_t loop_conflicts(const sim_result *r, const char *ptx, int around, uint32_t *line);
#endif
