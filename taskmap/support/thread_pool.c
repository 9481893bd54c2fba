/* thread_pool.c - distributes work over threads that it starts, or over those of the host application. */
#include "taskmap/support/thread_pool.h"
#include "taskmap/support/support.h"
#include <signal.h>
#include <stdatomic.h>

/* Work being distributed. */
typedef struct Round {
	void (*work)(void *job, unsigned i);
	void *job;
	unsigned n;
	atomic_bool begun[WORKERS_MAX];
} Round;

typedef struct Thread {
	Round *round;
	unsigned i;
	pthread_t id;
} Thread;

/* Runs job i unless another thread has started it. */
static void
take(void *user, unsigned i)
{
	Round *r = user;

	if (i < r->n && !atomic_exchange(&r->begun[i], true))
		r->work(r->job, i);
}

static void *
thread_main(void *user)
{
	Thread *t = user;

	take(t->round, t->i);
	return NULL;
}

/* Blocks all signals except those that a thread's own instructions cause; new threads inherit the mask. */
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

bool
thread_start(pthread_t *id, void *(*fn)(void *), void *user)
{
	enum { STACK = 8 << 20 }; /* as of a main thread; some libraries give 128 KiB */
	pthread_attr_t attr;
	sigset_t before;
	size_t stack;
	bool started;

	pthread_attr_init(&attr);
	if (pthread_attr_getstacksize(&attr, &stack) == 0 && stack < STACK)
		pthread_attr_setstacksize(&attr, STACK);
	mask_signals(&before);
	started = pthread_create(id, &attr, fn, user) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return started;
}

static void
run_threads(Round *r)
{
	Thread thread[WORKERS_MAX];
	unsigned started = 1; /* the caller */

	for (; started < r->n; started++) {
		thread[started] = (Thread){ .round = r, .i = started };
		if (!thread_start(&thread[started].id, thread_main, &thread[started]))
			break;
	}
	take(r, 0);
	for (unsigned i = 1; i < started; i++)
		pthread_join(thread[i].id, NULL);
}

unsigned
workers_for(const Workers *w, int64_t pieces)
{
	int64_t n = w->threads ? w->threads : cores_allowed();

	return (unsigned)max64(min64(min64(n, pieces), WORKERS_MAX), 1);
}

void
workers_run(const Workers *w, unsigned n, void (*work)(void *job, unsigned i), void *job)
{
	Round r = { .work = work, .job = job, .n = n };

	if (n > 1 && w->run)
		w->run(w->user, n, take, &r);
	else if (n > 1)
		run_threads(&r);
	for (unsigned i = 0; i < n; i++)
		take(&r, i);
}
