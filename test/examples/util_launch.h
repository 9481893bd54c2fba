/* util_launch.h - what is asked of a PTX text beside right results: bank conflicts in its loops, barriers
 * that it could do without. */
#ifndef UTIL_LAUNCH_H
#define UTIL_LAUNCH_H
#include "lib/sim/sim.h"
#include <stdbool.h>
#include <stdint.h>

/* Which lines of a PTX text, from 1 on, have so many loops around them, at least.  The caller frees it. */
bool *loop_lines(const char *ptx, int around);
/* Wavefronts of shared memory above the least, in such lines; *line: the last of them. */
uint64_t loop_conflicts(const sim_result *r, const char *ptx, int around, uint32_t *line);
/* The kernel has run without faults as *l says, with this result; `what` names it.  Run it again without
 * each of the barriers, or of roles the commits, waits for products and arrivals, that it came to, in
 * turn, and note which of them make a fault by their absence. */
void try_barriers(sim *s, const char *ptx, const char *kernel, const sim_launch *l, const sim_result *clean,
                  bool roles, const char *what);
/* Likewise: each line with this text must be needed, and there is one. */
void needs_lines(sim *s, const char *ptx, const char *text, const char *kernel, const sim_launch *l,
                 const char *what);
/* A barrier of all kernels tried that no run needed: its line and text, and what the kernel was called.
 * NULL: none. */
const char *needless_barrier(uint32_t *line, const char **op);
#endif
