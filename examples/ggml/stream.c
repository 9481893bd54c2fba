/* stream.c - a ggml_backend: a stream of a device, on which it runs graphs. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/fuse.h"
#include "examples/ggml/replay.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What GGML_HEXC_STATS=1 writes to the log when the stream ends: graphs, and the nodes and launches of those
 * that were not replayed. */
typedef struct Stats {
	int64_t graphs, nodes, launches;
} Stats;

typedef struct Stream {
	Device *d;
	void *stream;           /* CUstream */
	hexc_event *mark;       /* of Lane */
	Calls *calls;
	Replays *replays;       /* NULL with GGML_HEXC_GRAPHS=0 */
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

static void
log_stats(const Stream *s)
{
	const char *wanted = getenv("GGML_HEXC_STATS");
	ReplayStats r = { 0 };

	if (!wanted || strcmp(wanted, "1"))
		return;
	if (s->replays)
		r = replay_stats(s->replays);
	GGML_LOG_INFO("%s: graphs %lld, nodes %lld, launches %lld, operators %lld, captured %lld, "
	              "replayed %lld\n",
	              s->d->name, (long long)s->stats.graphs, (long long)s->stats.nodes,
	              (long long)s->stats.launches, (long long)compiled_count(s->d), (long long)r.captured,
	              (long long)r.replayed);
}

/* s may be half made, or NULL. */
static void
free_stream(Stream *s)
{
	if (s && s->d) {
		replays_free(s->replays);
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

/* A graph that is being launched. */
typedef struct Launching {
	Stream *s;
	struct ggml_cgraph *g;
	bool *done;             /* nodes that need no launch any more */
	Waiting waiting;
	char *why;
	size_t n;
} Launching;

static bool
launch_work(Launching *a, const Work *w, int nodes)
{
	a->s->stats.nodes += nodes;
	a->s->stats.launches += w->launches;
	return calls_run(a->s->calls, w, a->s->stream, a->why, a->n);
}

/* Launches node i alone. */
static bool
launch_alone(Launching *a, int i)
{
	Work w;

	if (describe(&w, a->g->nodes[i], NULL))
		return launch_work(a, &w, 1);
	snprintf(a->why, a->n, "no kernel computes it");
	return false;
}

static bool
launch_waiting(Launching *a)
{
	int i = a->waiting.node;

	a->waiting = (Waiting){ -1, -1 };
	return i < 0 || launch_alone(a, i);
}

/* Launches node i with the longest tail for which there is a kernel, and with the node that waits for it.
 * Marks what is launched as done. */
static bool
launch_node(Launching *a, int i)
{
	bool *done = a->done, fused;
	Chosen c;
	Work w;

	fused = fuse(a->g, i, done, &c);
	if (a->waiting.with == i && !c.tail.also) {
		c.tail.also = a->g->nodes[a->waiting.node];
		c.also = a->waiting.node;
		fused = true;
	}
	if (a->waiting.node >= 0 && fuse_disturbs(a->g, a->waiting.node, i, fused ? &c : NULL)) {
		if (!launch_waiting(a))
			return false;
		fused = fuse(a->g, i, done, &c);
	}
	while (fused && !describe(&w, a->g->nodes[i], &c.tail))
		fused = fuse_less(&c);
	if (!fused)
		return launch_alone(a, i);
	if (c.also == a->waiting.node)
		a->waiting = (Waiting){ -1, -1 };
	return launch_work(a, &w, 1 + fuse_mark(&c, done));
}

/* Launches node i, or lets it wait for a later one. */
static bool
launch_or_wait(Launching *a, int i)
{
	int with = a->waiting.node < 0 ? fuse_later(a->g, i, a->done) : -1;

	if (with >= 0) {
		a->waiting = (Waiting){ i, with };
		return true;
	}
	return launch_node(a, i) && (a->waiting.with != i || launch_waiting(a));
}

/* Launches all nodes. The sentence in why starts with the operation that failed. */
static bool
launch_graph(void *user, struct ggml_cgraph *g, char *why, size_t n)
{
	int nodes = ggml_graph_n_nodes(g);
	char reason[WHY_MOST];
	Launching a = { user, g, calloc((size_t)nodes + 1, sizeof(bool)), { -1, -1 }, reason, sizeof reason };
	bool ok = a.done;

	if (!ok)
		snprintf(why, n, "out of memory");
	for (int i = 0; ok && i < nodes; i++) {
		ok = is_idle(g->nodes[i]) || weights_for(g->nodes[i]);
		if (!ok)
			snprintf(why, n, "a packed weight cannot be brought back to ggml's layout");
	}
	for (int i = 0; ok && i < nodes; i++) {
		if (a.done[i] || is_idle(g->nodes[i]))
			continue;
		ok = launch_or_wait(&a, i);
		if (!ok)
			snprintf(why, n, "%s: %s", ggml_op_desc(g->nodes[i]), reason);
	}
	if (ok && !launch_waiting(&a)) {
		snprintf(why, n, "%s", reason);
		ok = false;
	}
	free(a.done);
	return ok;
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
	s->calls = calls_new(d);
	if (!graphs || strcmp(graphs, "0"))
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
