/* background_thread.c - runs one job on a separate thread. */
#include "taskmap/support/background_thread.h"
#include "taskmap/support/thread_pool.h"
#include <locale.h>
#include <time.h>

static void *
thread_main(void *user)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before = c ? uselocale(c) : c;
	Aside *a = user;

	a->work(a->user);
	if (c) {
		uselocale(before);
		freelocale(c);
	}
	pthread_mutex_lock(&a->lock);
	a->ended = true;
	pthread_cond_signal(&a->done);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void
destroy(Aside *a)
{
	pthread_cond_destroy(&a->done);
	pthread_mutex_destroy(&a->lock);
}

bool
aside_start(Aside *a, void (*work)(void *user), void *user)
{
	pthread_condattr_t monotonic;

	*a = (Aside){ .work = work, .user = user };
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (thread_start(&a->id, thread_main, a))
		return true;
	destroy(a);
	return false;
}

bool
aside_ended(Aside *a, int ms)
{
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&a->lock);
	while (!a->ended && ms < 0)
		pthread_cond_wait(&a->done, &a->lock);
	while (!a->ended && pthread_cond_timedwait(&a->done, &a->lock, &until) == 0)
		;
	ended = a->ended;
	pthread_mutex_unlock(&a->lock);
	if (!ended)
		return false;
	pthread_join(a->id, NULL);
	destroy(a);
	return true;
}
