/* thread_pool.h - one job on several threads: how many, and whose. */
#ifndef HEXC_THREAD_POOL_H
#define HEXC_THREAD_POOL_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORKERS_MAX = 256 };

/* The threads that run distributed work.  All 0: own threads, one per processor. */
typedef struct Workers {
	unsigned threads; /* number of concurrent threads; 0: cores_allowed() */
	/* The host's function to run work(job, i) for each i of [0, n), concurrently or sequentially, on any
	 * thread; all that it started must have ended when it returns.  NULL: own threads. */
	void (*run)(void *user, unsigned n, void (*work)(void *job, unsigned i), void *job);
	void *user;
} Workers;

/* ---- cpu_count.c -------------------------------------------------------------------------------------- */

/* Returns the processors that this thread may use, by its affinity and the limits of its control groups. */
int64_t cores_allowed(void);

/* ---- thread_pool.c ------------------------------------------------------------------------------------ */

/* Starts a thread that receives no signals but those that its own instructions cause.  Returns false on
 * failure. */
bool thread_start(pthread_t *id, void *(*fn)(void *), void *user);
/* Returns the number of threads of `w` for `pieces` pieces of work: from 1 to WORKERS_MAX. */
unsigned workers_for(const Workers *w, int64_t pieces);
/* Runs work(job, i) once for each i of [0, n), n <= WORKERS_MAX.  Own threads receive no signals, and
 * number 0 runs on the caller's.  The caller finally runs what a host omits, or what no thread could be
 * created for. */
void workers_run(const Workers *w, unsigned n, void (*work)(void *job, unsigned i), void *job);
#endif
