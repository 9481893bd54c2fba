/* parallel.c - a loop on all cores. */
#include "lib/base/base.h"
#include <pthread.h>
#include <signal.h>

enum { THREADS_MAX = 256 };

typedef struct Loop {
	int64_t n, grain, next;
	void (*fn)(void *user, int64_t lo, int64_t hi);
	void *user;
} Loop;

static void *
work(void *arg)
{
	Loop *l = arg;

	for (;;) {
		int64_t lo = __atomic_fetch_add(&l->next, l->grain, __ATOMIC_RELAXED), hi = lo + l->grain;

		if (lo >= l->n)
			return NULL;
		l->fn(l->user, lo, hi < l->n ? hi : l->n);
	}
}

/* Of signals only those stay that a thread's own instructions cause: threads inherit it. */
static void
mask_signals(sigset_t *before)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < COUNT_OF(own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

void
parallel_for(unsigned threads, int64_t n, int64_t grain, void (*fn)(void *user, int64_t lo, int64_t hi),
             void *user)
{
	Loop l = { n, grain, 0, fn, user };
	pthread_t id[THREADS_MAX];
	int64_t pieces = (n + grain - 1) / grain, most = threads;
	int started = 0;
	sigset_t host_signals;
	Arithmetic host;

	arithmetic_enter(&host);
	if (!most)
		most = cores_allowed();
	if (most > THREADS_MAX)
		most = THREADS_MAX;
	if (most > pieces)
		most = pieces;
	if (most > 1) {
		mask_signals(&host_signals);
		while (started + 1 < most && pthread_create(&id[started], NULL, work, &l) == 0)
			started++; /* with fewer it only takes longer */
		pthread_sigmask(SIG_SETMASK, &host_signals, NULL);
	}
	work(&l);
	for (int i = 0; i < started; i++)
		pthread_join(id[i], NULL);
	arithmetic_leave(&host);
}
