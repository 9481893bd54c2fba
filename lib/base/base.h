/* base.h - what every room of the library stands on: leaving, answering, working on all cores. */
#ifndef HEXC_LIB_BASE_H
#define HEXC_LIB_BASE_H
#include "lib/hexc.h"
#include "taskmap/support/fp_env.h"
#include "taskmap/support/support.h"
#include "taskmap/support/thread_pool.h"

/* ---- error_boundary.c ----------------------------------------------------------------------------------- */

/* Run fn(user) with every arena of `a` (n of them) leaving to here: the one setjmp of the library.
 * HEXC_OK, or the code for how it was left: E_NOMEM, E_LIMIT, E_INTERNAL. */
int arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user);

/* ---- error.c ------------------------------------------------------------------------------------- */

/* Hand out as much of `full` as the caller's struct has room for; 0: not even for its size. */
int hand_out(void *out, size_t room, const void *full, size_t n);
/* Into `full`, which holds the defaults, as much of a caller's struct as we know, whatever version it is of.
 * False: it says something in what we do not know. */
bool take_in(void *full, size_t n, const void *in);
/* why[0..n) = the sentence; returns code. */
int why_error(int code, char *why, size_t n, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- arch.c -------------------------------------------------------------------------------------- */

/* Does a device of this compute capability (86: 8.6) run PTX for arch?  *sm: that of the arch. */
bool arch_runs(uint32_t capability, const char *arch, uint32_t *sm);
/* And a cubin for it: of the same generation, not of a newer member of it. */
bool arch_runs_cubin(uint32_t capability, const char *arch, uint32_t *sm);

/* ---- parallel.c ---------------------------------------------------------------------------------- */

/* A host's hexc_workers as ours; stays where it is while it is used. */
typedef struct HostWorkers {
	hexc_workers host;
	Workers workers;
} HostWorkers;

/* Read what a host said, NULL: nothing.  False: of a newer hexc.h. */
bool workers_of(HostWorkers *w, const hexc_workers *in);
/* fn(user, lo, hi) over [0, n) in pieces of `grain`. */
void parallel_for(const Workers *w, int64_t n, int64_t grain, void (*fn)(void *user, int64_t lo, int64_t hi),
                  void *user);
#endif
