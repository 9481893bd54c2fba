/* compile_queue.c - a table of operators, and a queue of those that threads of the process compile. The lock
 * is not held while something is compiled. The threads end when the process does, or unloads the library. */
#include "examples/ggml/compile_queue.h"
#include "lib/hexc_cache.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BUCKETS = 1024, THREADS_MOST = 256, REASON_MOST = 600, STACK_BYTES = 16 << 20 };

typedef enum State { QUEUED, COMPILING, COMPILED, FAILED } State;

typedef struct Operator Operator;

struct Operator {
	Operator *next;         /* of its bucket */
	Operator *later;        /* in the queue */
	State state;
	bool told;              /* FAILED: a graph got the sentence */
	hexc_op *op;
	char why[REASON_MOST];
	uint32_t hash;
	size_t size;
	char text[];            /* as in OperatorKey */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, done; /* something is QUEUED; something is COMPILING no more */
	Operator *bucket[BUCKETS];
	Operator *first, *last; /* the queue */
	hexc_cache *cache;      /* NULL: not open yet, or there is none */
	bool opened, started, stopping;
	pthread_t thread[THREADS_MOST];
	int threads;
	CompileStats stats;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER,
            .done = PTHREAD_COND_INITIALIZER };

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the table and the queue; the lock is held --------------------------------------------------------- */

static Operator *
find(const OperatorKey *k)
{
	Operator *o = queue.bucket[k->hash % BUCKETS];

	while (o && (o->hash != k->hash || o->size != k->size || memcmp(o->text, k->text, k->size)))
		o = o->next;
	return o;
}

static Operator *
add(const OperatorKey *k)
{
	Operator *o = calloc(1, sizeof *o + k->size);

	if (!o)
		return NULL;
	o->hash = k->hash;
	o->size = k->size;
	memcpy(o->text, k->text, k->size);
	o->next = queue.bucket[k->hash % BUCKETS];
	queue.bucket[k->hash % BUCKETS] = o;
	return o;
}

static void
enqueue(Operator *o)
{
	if (queue.last)
		queue.last->later = o;
	else
		queue.first = o;
	queue.last = o;
	pthread_cond_signal(&queue.asked);
}

/* o need not be in the queue. */
static void
dequeue(Operator *o)
{
	Operator *before = NULL;

	for (Operator *i = queue.first; i && i != o; i = i->later)
		before = i;
	if (before ? before->later != o : queue.first != o)
		return;
	if (before)
		before->later = o->later;
	else
		queue.first = o->later;
	if (queue.last == o)
		queue.last = before;
	o->later = NULL;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

static int
plan(const Operator *o, hexc_op **out, char *why, size_t n)
{
	const char *end = o->text + o->size, *at = o->text, *name;
	hexc_op_set set[SETTINGS_MOST];
	hexc_op_opts opts = HEXC_OP_OPTS_INIT;
	size_t settings = 0;

	opts.arch = at;
	opts.cache = queue.cache;
	name = at += strlen(at) + 1;
	at += strlen(at) + 1;
	opts.families = *at ? at : NULL;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
		set[settings].name = at;
		at += strlen(at) + 1;
		set[settings++].value = at;
	}
	return hexc_op_plan(out, name, set, settings, &opts, why, n);
}

/* The lock is held, but not while it compiles. */
static void
compile(Operator *o)
{
	double from = seconds();
	hexc_op *op;
	int code;

	if (!queue.opened && hexc_cache_open(&queue.cache, NULL, NULL, 0))
		queue.cache = NULL;
	queue.opened = true;
	o->state = COMPILING;
	pthread_mutex_unlock(&queue.lock);
	code = plan(o, &op, o->why, sizeof o->why);
	pthread_mutex_lock(&queue.lock);
	o->state = code ? FAILED : COMPILED;
	o->told = false;
	o->op = op;
	queue.stats.operators += !code;
	queue.stats.failed += !!code;
	queue.stats.compile_s += seconds() - from;
	pthread_cond_broadcast(&queue.done);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static void *
compile_queued(void *user)
{
	pthread_mutex_lock(&queue.lock);
	while (!queue.stopping) {
		Operator *o = queue.first;

		if (o) {
			dequeue(o);
			compile(o);
		} else {
			pthread_cond_wait(&queue.asked, &queue.lock);
		}
	}
	pthread_mutex_unlock(&queue.lock);
	return user;
}

/* What is queued stays there, for threads that need it. */
static void
stop(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.stopping = true;
	pthread_cond_broadcast(&queue.asked);
	pthread_mutex_unlock(&queue.lock);
	for (int i = 0; i < queue.threads; i++)
		pthread_join(queue.thread[i], NULL);
}

/* Compiles something small. LLVM makes tables when it first needs them, which exit() destroys in the reverse
 * order: those made before `stop` is registered outlive the threads. */
static void
wake_compiler(const char *arch)
{
	hexc_op_opts opts = HEXC_OP_OPTS_INIT;
	hexc_op *op;

	opts.arch = arch;
	hexc_op_plan(&op, "map", NULL, 0, &opts, NULL, 0);
	hexc_op_free(op);
}

/* The threads take none of the process's signals. The lock is held. */
static void
start(const char *arch)
{
	int wanted = compile_threads();
	pthread_attr_t attr;
	sigset_t all, before;

	queue.started = true;
	if (!wanted)
		return;
	wake_compiler(arch);
	if (atexit(stop) || pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (queue.threads < wanted &&
	       !pthread_create(&queue.thread[queue.threads], &attr, compile_queued, NULL))
		queue.threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

int
compile_threads(void)
{
	const char *wanted = getenv("GGML_HEXC_THREADS");
	long n = wanted && *wanted ? strtol(wanted, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 0 ? 0 : n < THREADS_MOST ? (int)n : THREADS_MOST;
}

/* ---- compile_queue.h ----------------------------------------------------------------------------------- */

void
compile_ahead(const OperatorKey *k, bool foreseen)
{
	Operator *o;

	pthread_mutex_lock(&queue.lock);
	if (!queue.started)
		start(k->text);
	if (queue.threads && !queue.stopping) {
		bool known = (o = find(k)) != NULL;

		if (!known)
			o = add(k);
		queue.stats.unforeseen += !known && !foreseen;
		if (o && (!known || (o->state == FAILED && o->told))) {
			o->state = QUEUED;
			enqueue(o);
		}
	}
	pthread_mutex_unlock(&queue.lock);
}

/* Compiles o, or waits for the thread that does. The lock is held. */
static void
finish(Operator *o)
{
	double from = seconds();

	if (o->state == QUEUED) {
		dequeue(o);
		queue.stats.by_graphs++;
		compile(o);
	} else if (o->state == COMPILING) {
		queue.stats.waits++;
		while (o->state == COMPILING)
			pthread_cond_wait(&queue.done, &queue.lock);
	}
	queue.stats.wait_s += seconds() - from;
}

const hexc_op *
compiled_operator(const OperatorKey *k, char *why, size_t n)
{
	const hexc_op *op = NULL;
	Operator *o;

	pthread_mutex_lock(&queue.lock);
	o = find(k);
	if (!o) {
		o = add(k);
		queue.stats.unforeseen++;
	} else if (o->state == FAILED && o->told) {
		o->state = QUEUED;
	}
	if (o) {
		finish(o);
		o->told = true;
		op = o->op;
	}
	if (!op)
		snprintf(why, n, "%s", o ? o->why : "out of memory");
	pthread_mutex_unlock(&queue.lock);
	return op;
}

CompileStats
compile_stats(void)
{
	hexc_cache_info info = HEXC_CACHE_INFO_INIT;
	CompileStats stats;

	pthread_mutex_lock(&queue.lock);
	stats = queue.stats;
	if (hexc_cache_describe(queue.cache, &info)) {
		stats.cached = info.hits;
		stats.compiled = info.misses;
	}
	pthread_mutex_unlock(&queue.lock);
	return stats;
}
