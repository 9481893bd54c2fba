/* background_thread.h - one piece of work on a thread of its own, which the caller looks after. */
#ifndef HEXC_BACKGROUND_THREAD_H
#define HEXC_BACKGROUND_THREAD_H
#include <pthread.h>
#include <stdbool.h>

/* Stays where it is while the work runs. */
typedef struct Aside {
	void (*work)(void *user);
	void *user;
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool ended;
} Aside;

/* Start work(user), with no signals and the locale "C" for numbers.  False: there is no thread to be had. */
bool aside_start(Aside *a, void (*work)(void *user), void *user);
/* Has it ended?  Waits for that, `ms` milliseconds at the most (below 0: as long as it takes); after true
 * nothing is left of it. */
bool aside_ended(Aside *a, int ms);
#endif
