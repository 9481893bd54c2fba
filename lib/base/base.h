/* base.h - declares the base of all library components: error boundary, result codes, versioned structs,
 * parallel loops. */
#ifndef HEXC_LIB_BASE_H
#define HEXC_LIB_BASE_H
#include "lib/hexc.h"
#include "taskmap/support/fp_env.h"
#include "taskmap/support/support.h"
#include "taskmap/support/thread_pool.h"

/* ---- error_boundary.c ------------------------------------------------------------------------------- */

/* Runs fn(user); arena failures in the `n` arenas of `a` longjmp to here, the library's only setjmp.
 * Returns HEXC_OK, or the reason of the exit: E_NOMEM, E_LIMIT, E_INTERNAL. */
int arena_protect(Arena *const *a, int n, void (*fn)(void *), void *user);

/* ---- error.c ------------------------------------------------------------------------------------- */

/* Copies `full` to the caller's struct, at most `room` bytes. Returns 0 if not even its `size` member
 * fits. */
int hand_out(void *out, size_t room, const void *full, size_t n);
/* Copies the members that this version knows from a caller's struct of any version to `full`, which holds
 * the defaults. Returns false if unknown members are set. */
bool take_in(void *full, size_t n, const void *in);
/* Writes the sentence to why[0..n); returns code. */
int why_error(int code, char *why, size_t n, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* ---- arch.c -------------------------------------------------------------------------------------- */

/* Does a device of this compute capability (86: 8.6) run PTX for arch? *sm: the arch's capability. */
bool arch_runs(uint32_t capability, const char *arch, uint32_t *sm);
/* Does it run a cubin for arch? True within the same major version, if the arch is not newer. */
bool arch_runs_cubin(uint32_t capability, const char *arch, uint32_t *sm);

/* ---- parallel.c ---------------------------------------------------------------------------------- */

/* A host's hexc_workers as Workers; must not move while in use. */
typedef struct HostWorkers {
	hexc_workers host;
	Workers workers;
} HostWorkers;

/* Reads a host's hexc_workers; NULL: defaults. Returns false if it is of a newer hexc.h. */
bool workers_of(HostWorkers *w, const hexc_workers *in);
/* Calls fn(user, lo, hi) over [0, n) in chunks of `grain`. */
void parallel_for(const Workers *w, int64_t n, int64_t grain, void (*fn)(void *user, int64_t lo, int64_t hi),
                  void *user);
#endif
