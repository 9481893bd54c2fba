/* thread_pool.h - the same work on several threads: how many, and whose. */
#ifndef HEXC_THREAD_POOL_H
#define HEXC_THREAD_POOL_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WORKERS_MAX = 256 };

/* Who does what can be shared out.  All 0: threads of our own, one for each processor. */
typedef struct Workers {
	unsigned threads; /* how many at once; 0: cores_allowed */
	/* A host's way to do work(job, i) for each i of [0, n): any of them at once or one after the other,
	 * on any thread; all that it began have ended when it returns.  NULL: threads of our own. */
	void (*run)(void *user, unsigned n, void (*work)(void *job, unsigned i), void *job);
	void *user;
} Workers;

/* ---- cpu_count.c -------------------------------------------------------------------------------------- */

/* Processors that this thread may use, by its affinity and by the limits of its control groups. */
int64_t cores_allowed(void);

/* ---- thread_pool.c ------------------------------------------------------------------------------------ */

/* A thread that gets no signals but those that its own instructions cause.  False: there is none. */
bool thread_start(pthread_t *id, void *(*fn)(void *), void *user);
/* How many `w` has for so many pieces of work: from 1 to WORKERS_MAX. */
unsigned workers_for(const Workers *w, int64_t pieces);
/* work(job, i) once for each i of [0, n), n <= WORKERS_MAX.  Threads of our own get no signals, and number 0
 * is the caller's.  What a host leaves out, and what there is no thread for, the caller does in the end. */
void workers_run(const Workers *w, unsigned n, void (*work)(void *job, unsigned i), void *job);
#endif
