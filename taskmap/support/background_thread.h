/* background_thread.h - one job on a separate thread, which the caller polls and joins. */
#ifndef HEXC_BACKGROUND_THREAD_H
#define HEXC_BACKGROUND_THREAD_H
#include <pthread.h>
#include <stdbool.h>

/* Must not move while the work runs. */
typedef struct Aside {
	void (*work)(void *user);
	void *user;
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool ended;
} Aside;

/* Starts work(user) with all asynchronous signals blocked and the locale "C" for numbers.  Returns false if
 * no thread can be created. */
bool aside_start(Aside *a, void (*work)(void *user), void *user);
/* Has it ended?  Waits for that up to `ms` milliseconds (negative: without limit); after true all its
 * resources are released. */
bool aside_ended(Aside *a, int ms);
#endif
