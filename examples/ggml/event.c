/* event.c - ggml's events: points in streams that other streams and the host wait for. */
#include "examples/ggml/ggml_hexc.h"
#include <stdlib.h>

static Device *
of(ggml_backend_dev_t dev)
{
	return dev->context;
}

static void
check(const Device *d, int status)
{
	if (status)
		device_log(d, "event", hexc_gpu_why(d->gpu));
}

ggml_backend_event_t
event_new(ggml_backend_dev_t dev)
{
	ggml_backend_event_t event = calloc(1, sizeof *event);
	char why[WHY_MOST] = "out of memory";
	hexc_event *e = NULL;
	Device *d = of(dev);

	if (event && device_open(d, why, sizeof why)) {
		pthread_mutex_lock(&d->lock);
		check(d, hexc_event_new_untimed(&e, d->gpu));
		pthread_mutex_unlock(&d->lock);
	} else {
		device_log(d, "event", why);
	}
	if (!e) {
		free(event);
		return NULL;
	}
	*event = (struct ggml_backend_event){ dev, e };
	return event;
}

void
event_free(ggml_backend_dev_t dev, ggml_backend_event_t event)
{
	pthread_mutex_lock(&of(dev)->lock);
	hexc_event_free(event->context);
	pthread_mutex_unlock(&of(dev)->lock);
	free(event);
}

void
event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event)
{
	pthread_mutex_lock(&of(dev)->lock);
	check(of(dev), hexc_event_wait(event->context));
	pthread_mutex_unlock(&of(dev)->lock);
}

void
event_record(ggml_backend_t backend, ggml_backend_event_t event)
{
	Lane l = stream_lane(backend);

	pthread_mutex_lock(&l.d->lock);
	check(l.d, hexc_event_record(event->context, l.stream));
	pthread_mutex_unlock(&l.d->lock);
}

/* The host waits for events of other libraries. */
void
event_wait(ggml_backend_t backend, ggml_backend_event_t event)
{
	Lane l = stream_lane(backend);

	if (event->device->iface.event_new != event_new) {
		ggml_backend_event_synchronize(event);
		return;
	}
	pthread_mutex_lock(&l.d->lock);
	check(l.d, hexc_stream_after(l.d->gpu, l.stream, event->context));
	pthread_mutex_unlock(&l.d->lock);
}
