/* parallel.c - a loop on all cores. */
#include "lib/base/base.h"
#include <pthread.h>
#include <unistd.h>

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

void
parallel_for(unsigned threads, int64_t n, int64_t grain, void (*fn)(void *user, int64_t lo, int64_t hi),
             void *user)
{
	Loop l = { n, grain, 0, fn, user };
	pthread_t id[THREADS_MAX];
	int64_t pieces = (n + grain - 1) / grain, most = threads;
	int started = 0;
	Arithmetic host;

	arithmetic_enter(&host);
	if (!most)
		most = sysconf(_SC_NPROCESSORS_ONLN);
	if (most > THREADS_MAX)
		most = THREADS_MAX;
	if (most > pieces)
		most = pieces;
	while (started + 1 < most && pthread_create(&id[started], NULL, work, &l) == 0)
		started++; /* with fewer it only takes longer */
	work(&l);
	for (int i = 0; i < started; i++)
		pthread_join(id[i], NULL);
	arithmetic_leave(&host);
}
