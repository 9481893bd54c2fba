/* stream.c - a ggml_backend: a stream of a device, on which it runs graphs node by node. */
#include "examples/ggml/ggml_hexc.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Stream {
	Device *d;
	void *stream;           /* CUstream */
	Calls *calls;
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
stream_free(ggml_backend_t backend)
{
	Stream *s = of(backend);

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

/* Nodes that compute nothing: views, and tensors without elements. */
static bool
is_idle(const struct ggml_tensor *t)
{
	return ggml_op_is_empty(t->op) || ggml_is_empty(t) || !(t->flags & GGML_TENSOR_FLAG_COMPUTE);
}

static bool
run_node(Stream *s, const struct ggml_tensor *t, char *why, size_t n)
{
	Work w;

	if (is_idle(t))
		return true;
	if (!describe(&w, t)) {
		snprintf(why, n, "no kernel computes it");
		return false;
	}
	return calls_run(s->calls, &w, s->stream, why, n);
}

static enum ggml_status
stream_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
	Stream *s = of(backend);
	char why[WHY_MOST];

	for (int i = 0; i < ggml_graph_n_nodes(graph); i++) {
		const struct ggml_tensor *t = ggml_graph_node(graph, i);

		if (!run_node(s, t, why, sizeof why)) {
			device_log(s->d, ggml_op_desc(t), why);
			return GGML_STATUS_FAILED;
		}
	}
	return GGML_STATUS_SUCCESS;
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
