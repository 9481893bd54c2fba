/* stream.c - a ggml_backend: a stream of a device, on which it runs graphs. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/fuse.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What GGML_HEXC_STATS=1 writes to the log when the stream ends. */
typedef struct Stats {
	int64_t graphs, nodes, launches;
} Stats;

typedef struct Stream {
	Device *d;
	void *stream;           /* CUstream */
	Calls *calls;
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
	hexc_event *e = NULL;
	bool ok;

	pthread_mutex_lock(&d->lock);
	ok = !hexc_event_new(&e, d->gpu) && !hexc_event_record(e, stream) && !hexc_event_wait(e);
	if (!ok)
		snprintf(why, n, "%s", hexc_gpu_why(d->gpu));
	hexc_event_free(e);
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

	if (!wanted || strcmp(wanted, "1"))
		return;
	GGML_LOG_INFO("%s: graphs %lld, nodes %lld, launches %lld, operators %lld\n", s->d->name,
	              (long long)s->stats.graphs, (long long)s->stats.nodes, (long long)s->stats.launches,
	              (long long)compiled_count(s->d));
}

static void
stream_free(ggml_backend_t backend)
{
	Stream *s = of(backend);

	log_stats(s);
	calls_free(s->calls);
	pthread_mutex_lock(&s->d->lock);
	hexc_stream_free(s->d->gpu, s->stream);
	pthread_mutex_unlock(&s->d->lock);
	free(s);
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

/* Runs node i with the longest tail for which there is a kernel, and marks the tail's nodes as done. */
static bool
run_node(Stream *s, struct ggml_cgraph *g, int i, bool *done, char *why, size_t n)
{
	const struct ggml_tensor *t = ggml_graph_node(g, i);
	Chosen c;
	bool fused;
	Work w;

	for (fused = fuse(g, i, &c); fused && !describe(&w, t, &c.tail);)
		fused = fuse_less(&c);
	if (!fused && !describe(&w, t, NULL)) {
		snprintf(why, n, "no kernel computes it");
		return false;
	}
	s->stats.nodes += 1 + (fused ? fuse_mark(&c, done) : 0);
	s->stats.launches += w.launches;
	return calls_run(s->calls, &w, s->stream, why, n);
}

static enum ggml_status
stream_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	Stream *s = of(backend);
	int nodes = ggml_graph_n_nodes(graph);
	bool *done = calloc((size_t)nodes + 1, sizeof *done), ok = done;
	char why[WHY_MOST] = "out of memory";

	if (!done)
		device_log(s->d, "graph", why);
	for (int i = 0; ok && i < nodes; i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);

		if (done[i] || is_idle(t))
			continue;
		ok = run_node(s, graph, i, done, why, sizeof why);
		if (!ok)
			device_log(s->d, ggml_op_desc(t), why);
	}
	free(done);
	s->stats.graphs++;
	return ok ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

static const struct ggml_backend_i stream_interface = {
	.get_name = stream_name,
	.free = stream_free,
	.synchronize = stream_synchronize,
	.graph_compute = stream_compute,
};

static ggml_guid_t
guid(void)
{
	static ggml_guid id = { 'h', 'e', 'x', 'c', ' ', 't', 'i', 'l', 'e', 's' };

	return &id;
}

ggml_backend_t
stream_new(Device *d)
{
	ggml_backend_t backend = calloc(1, sizeof *backend);
	Stream *s = calloc(1, sizeof *s);
	char why[WHY_MOST] = "out of memory";
	bool ok = backend && s && device_open(d, why, sizeof why);

	if (ok) {
		pthread_mutex_lock(&d->lock);
		ok = !hexc_stream_new(&s->stream, d->gpu);
		if (!ok)
			snprintf(why, sizeof why, "%s", hexc_gpu_why(d->gpu));
		pthread_mutex_unlock(&d->lock);
		s->d = d;
		s->calls = ok ? calls_new(d) : NULL;
		ok = ok && s->calls;
	}
	if (!ok) {
		device_log(d, "stream", why);
		free(backend);
		free(s);
		return NULL;
	}
	*backend = (struct ggml_backend){ guid(), stream_interface, &d->base, s };
	return backend;
}
