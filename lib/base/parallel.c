/* parallel.c - runs a loop on all cores, on threads of hexc or on the host's (hexc_workers). */
#include "lib/base/base.h"

/* Work as passed to a host's callback. */
typedef struct Handed {
	void (*work)(void *job, unsigned i);
	void *job;
} Handed;

/* Host threads may have another rounding mode. */
static void
piece(void *user, uint32_t i)
{
	Handed *h = user;
	Arithmetic host;

	arithmetic_enter(&host);
	h->work(h->job, i);
	arithmetic_leave(&host);
}

static void
run_on_host(void *user, unsigned n, void (*work)(void *job, unsigned i), void *job)
{
	const hexc_workers *host = user;
	Handed h = { work, job };

	host->run(host->user, n, piece, &h);
}

bool
workers_of(HostWorkers *w, const hexc_workers *in)
{
	static const hexc_workers none = HEXC_WORKERS_INIT;

	w->host = none;
	if (in && !take_in(&w->host, sizeof w->host, in))
		return false;
	w->workers = (Workers){ .threads = w->host.threads,
		                .run = w->host.run ? run_on_host : NULL,
		                .user = &w->host };
	return true;
}

typedef struct ParallelLoop {
	int64_t n, grain, next;
	void (*fn)(void *user, int64_t lo, int64_t hi);
	void *user;
} ParallelLoop;

static void
work(void *job, unsigned i)
{
	ParallelLoop *l = job;

	(void)i;
	for (;;) {
		int64_t lo = __atomic_fetch_add(&l->next, l->grain, __ATOMIC_RELAXED), hi = lo + l->grain;

		if (lo >= l->n)
			return;
		l->fn(l->user, lo, hi < l->n ? hi : l->n);
	}
}

void
parallel_for(const Workers *w, int64_t n, int64_t grain, void (*fn)(void *user, int64_t lo, int64_t hi),
             void *user)
{
	ParallelLoop l = { n, grain, 0, fn, user };
	Arithmetic host;

	arithmetic_enter(&host);
	workers_run(w, workers_for(w, ceil_div(n, grain)), work, &l);
	arithmetic_leave(&host);
}
