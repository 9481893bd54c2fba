/* util_fault.h - planted faults: a kernel's PTX without one of the instructions that order its threads and
 * async units, which the simulator must reject. */
#ifndef UTIL_FAULT_H
#define UTIL_FAULT_H
#include "lib/sim/sim.h"
#include <stdbool.h>
#include <stdint.h>

/* The kernel has run without faults as *l says, with this result; `what` names it.  Run it again without
 * each of the instructions that order something and that it came to, in turn, and with each wait for one
 * group less, and note which of these make a fault or a warning in any run of this text: which of a ring's
 * stages an epilogue meets depends on how many turns there were. */
void fault_try(sim *s, const char *ptx, const char *kernel, const sim_launch *l, const sim_result *clean,
               const char *what);
/* Likewise, of one stage less in each of its rings in turn; `ir`: the kernel behind all passes, for
 * `arch`. */
void fault_stages(sim *s, const char *ir, const char *arch, const char *kernel, const sim_launch *l,
                  const char *what);
/* Likewise: each line with this text must be missed in one of a few interleavings, and there is one. */
void fault_needs(sim *s, const char *ptx, const char *text, const char *kernel, const sim_launch *l,
                 const char *what);
/* So many sites were tried, of all kernels. */
int fault_sites(void);
/* One that no run has missed, from number *i on, and that is not known to be redundant: its line and text,
 * and what the kernel was called.  NULL: none. */
const char *fault_missed(int *i, uint32_t *line, const char **op);
/* Calls this before each run: tensors that kernels read and write are as before the first one. NULL:
 * nothing. */
void fault_reset(void (*call)(void *user), void *user);
#endif
