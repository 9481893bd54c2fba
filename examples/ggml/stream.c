/* stream.c - a ggml_backend: a stream of a device, on which it runs graphs. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/compile_queue.h"
#include "examples/ggml/fuse.h"
#include "examples/ggml/replay.h"
#include "examples/ggml/times.h"
#include "examples/ggml/walk.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What GGML_HEXC_STATS writes to the log when the stream ends: graphs, and the nodes and launches of those
 * that were not replayed. */
typedef struct Stats {
	int64_t graphs, nodes, launches;
	int64_t packed;         /* launches that read packed weights */
} Stats;

enum { SEEN_MOST = 64 };

typedef struct Stream {
	Device *d;
	void *stream;           /* CUstream */
	hexc_event *mark;       /* of Lane */
	Calls *calls;
	Replays *replays;       /* NULL with GGML_HEXC_GRAPHS=0, and where there are times */
	Times *times;           /* NULL without GGML_HEXC_STATS=2 */
	struct ggml_cgraph *graph; /* that is launched, until its operators are asked for */
	uint64_t seen[SEEN_MOST]; /* graph_shape of the last planned graphs */
	unsigned seen_next;
	Stats stats;
} Stream;

static Stream *
of(ggml_backend_t backend)
{
	return backend->context;
}

bool
stream_wait(Device *d, void *stream, char *why, size_t n)
{
	bool ok;

	pthread_mutex_lock(&d->lock);
	ok = !hexc_stream_wait(d->gpu, stream);
	if (!ok)
		snprintf(why, n, "%s", hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
	return ok;
}

static const char *
stream_name(ggml_backend_t backend)
{
	return of(backend)->d->name;
}

/* 0: nothing is logged; 1: counts; 2: also times. */
static int
stats_level(void)
{
	const char *wanted = getenv("GGML_HEXC_STATS");

	return wanted ? atoi(wanted) : 0;
}

static void
log_compiling(const Stream *s)
{
	CompileStats c = compile_stats();

	GGML_LOG_INFO("%s: kernels compiled %llu, cached %llu, in %.2f s; operators %lld, unforeseen %lld, "
	              "by graphs %lld, failed %lld; graphs waited %.2f s, for threads %lld\n",
	              s->d->name, (unsigned long long)c.compiled, (unsigned long long)c.cached, c.compile_s,
	              (long long)c.operators, (long long)c.unforeseen, (long long)c.by_graphs,
	              (long long)c.failed, c.wait_s, (long long)c.waits);
}

static void
log_stats(const Stream *s)
{
	ReplayStats r = { 0 };

	if (stats_level() < 1)
		return;
	if (s->replays)
		r = replay_stats(s->replays);
	log_compiling(s);
	GGML_LOG_INFO("%s: graphs %lld, nodes %lld, launches %lld, packed %lld, captured %lld, "
	              "replayed %lld\n",
	              s->d->name, (long long)s->stats.graphs, (long long)s->stats.nodes,
	              (long long)s->stats.launches, (long long)s->stats.packed, (long long)r.captured,
	              (long long)r.replayed);
	if (s->times)
		times_log(s->times);
}

/* s may be half made, or NULL. */
static void
free_stream(Stream *s)
{
	if (s && s->d) {
		replays_free(s->replays);
		times_free(s->times);
		calls_free(s->calls);
		pthread_mutex_lock(&s->d->lock);
		hexc_stream_free(s->d->gpu, s->stream);
		hexc_event_free(s->mark);
		pthread_mutex_unlock(&s->d->lock);
	}
	free(s);
}

static void
stream_free(ggml_backend_t backend)
{
	log_stats(of(backend));
	free_stream(of(backend));
	free(backend);
}

static void
stream_synchronize(ggml_backend_t backend)
{
	Stream *s = of(backend);
	char why[WHY_MOST];

	if (!stream_wait(s->d, s->stream, why, sizeof why))
		device_log(s->d, "synchronize", why);
}

/* ---- operators that a graph will need ------------------------------------------------------------------ */

/* A graph whose operators are asked for. */
typedef struct Ahead {
	const Device *d;
	bool foreseen;
} Ahead;

static bool
ask_for_work(void *user, const Work *w, int nodes, char *why, size_t n)
{
	const Ahead *a = user;
	OperatorKey k;

	(void)nodes, (void)why, (void)n;
	for (int i = 0; i < w->launches; i++)
		if (operator_key(&k, a->d->info.arch, &w->launch[i], false))
			compile_ahead(&k, a->foreseen);
	return true;
}

/* The first operator that a graph lacks has the others compiled, too. */
static void
ask_for_rest(void *user)
{
	Stream *s = user;
	Ahead a = { s->d, false };
	struct ggml_cgraph *g = s->graph;
	char why[WHY_MOST];

	s->graph = NULL;
	if (g && compile_threads())
		walk_graph(g, &s->d->limits, ask_for_work, &a, why, sizeof why);
}

static bool
was_seen(Stream *s, const struct ggml_cgraph *g)
{
	uint64_t shape = graph_shape(g);

	for (unsigned i = 0; i < SEEN_MOST; i++)
		if (s->seen[i] == shape)
			return true;
	s->seen[s->seen_next++ % SEEN_MOST] = shape;
	return false;
}

/* ggml's scheduler calls it with each graph that it plans, before tensors have memory. */
static void
#ifdef GGML_HEXC_ALLOC_DEPS
stream_optimize(ggml_backend_t backend, struct ggml_cgraph *g,
                struct ggml_backend_graph_optimize_params *params)
#else
stream_optimize(ggml_backend_t backend, struct ggml_cgraph *g)
#endif
{
	Ahead a = { of(backend)->d, true };

#ifdef GGML_HEXC_ALLOC_DEPS
	(void)params;
#endif
	if (compile_threads() && !was_seen(of(backend), g))
		walk_unallocated(g, &of(backend)->d->limits, ask_for_work, &a);
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

static bool
launch_work(void *user, const Work *w, int nodes, char *why, size_t n)
{
	Stream *s = user;
	bool ok;

	s->stats.nodes += nodes;
	s->stats.launches += w->launches;
	s->stats.packed += w->packed;
	if (s->times)
		times_begin(s->times);
	ok = calls_run(s->calls, w, s->stream, why, n);
	if (s->times)
		times_end(s->times, w);
	return ok;
}

/* Brings the packed weights back that are not only factors of products. */
static bool
unpack_weights(const struct ggml_cgraph *g, char *why, size_t n)
{
	for (int i = 0; i < g->n_nodes; i++)
		if (!is_idle(g->nodes[i]) && !weights_unpack_for(g->nodes[i])) {
			snprintf(why, n, "a packed weight cannot be brought back to ggml's layout");
			return false;
		}
	return true;
}

static bool
launch_graph(void *user, struct ggml_cgraph *g, char *why, size_t n)
{
	Stream *s = user;

	s->graph = g;
	return unpack_weights(g, why, n) && walk_graph(g, &s->d->limits, launch_work, s, why, n);
}

static enum ggml_status
stream_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	Stream *s = of(backend);
	char why[WHY_MOST + 100];
	uint64_t epoch = calls_epoch(s->calls) + __atomic_load_n(&s->d->repacked, __ATOMIC_RELAXED);
	bool ok;

	if (s->replays)
		ok = replay(s->replays, graph, epoch, launch_graph, s, why, sizeof why);
	else
		ok = launch_graph(s, graph, why, sizeof why);
	if (!ok)
		device_log(s->d, "graph", why);
	s->stats.graphs++;
	return ok ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

static const struct ggml_backend_i stream_interface = {
	.get_name = stream_name,
	.free = stream_free,
	.set_tensor_async = transfer_set,
	.get_tensor_async = transfer_get,
	.cpy_tensor_async = transfer_copy,
	.synchronize = stream_synchronize,
	.graph_compute = stream_compute,
	.event_record = event_record,
	.event_wait = event_wait,
	.graph_optimize = stream_optimize,
};

bool
is_stream(ggml_backend_t backend)
{
	return backend->iface.free == stream_free;
}

Lane
stream_lane(ggml_backend_t backend)
{
	const Stream *s = of(backend);

	return (Lane){ s->d, s->stream, s->mark };
}

static ggml_guid_t
guid(void)
{
	static ggml_guid id = { 'h', 'e', 'x', 'c', ' ', 't', 'i', 'l', 'e', 's' };

	return &id;
}

/* Creates the CUstream and what belongs to it. */
static bool
open_stream(Stream *s, Device *d, char *why, size_t n)
{
	const char *graphs = getenv("GGML_HEXC_GRAPHS");
	bool ok;

	s->d = d;
	pthread_mutex_lock(&d->lock);
	ok = !hexc_stream_new(&s->stream, d->gpu) && !hexc_event_new_untimed(&s->mark, d->gpu);
	if (!ok)
		snprintf(why, n, "%s", hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
	if (!ok)
		return false;
	s->calls = calls_new(d, ask_for_rest, s);
	if (stats_level() > 1)
		s->times = times_new(d, s->stream);
	else if (!graphs || strcmp(graphs, "0"))
		s->replays = replays_new(d, s->stream);
	return s->calls;
}

ggml_backend_t
stream_new(Device *d)
{
	ggml_backend_t backend = calloc(1, sizeof *backend);
	Stream *s = calloc(1, sizeof *s);
	char why[WHY_MOST] = "out of memory";
	bool ok = backend && s && device_open(d, why, sizeof why) && open_stream(s, d, why, sizeof why);

	if (!ok) {
		device_log(d, "stream", why);
		free(backend);
		free_stream(s);
		return NULL;
	}
	*backend = (struct ggml_backend){ guid(), stream_interface, &d->base, s };
	return backend;
}
