/* event.c - implements hexc_gpu.h: events and streams. */
#include "lib/gpu/gpu.h"
#include <stdlib.h>

struct hexc_event {
	GpuChild of;
	void *event;
	bool untimed;
};

/* Destroys the driver's event; the object remains to report that the GPU is closed. */
static void
destroy(GpuChild *c)
{
	hexc_event *e = (hexc_event *)(void *)c;

	if (e->event && gpu_enter(c->g) == HEXC_OK)
		gpu_leave(c->g, GPU_CALL(c->g, cuEventDestroy_v2, e->event));
	e->event = NULL;
}

static int
event_new(hexc_event **out, hexc_gpu *g, bool untimed)
{
	hexc_event *e;
	int code;

	if (out)
		*out = NULL;
	if (!out || !g)
		return HEXC_E_INVALID;
	e = calloc(1, sizeof *e);
	if (!e)
		return gpu_error(g, HEXC_E_NOMEM, "%s", hexc_strerror(HEXC_E_NOMEM));
	e->of.closing = destroy;
	e->untimed = untimed;
	gpu_child_join(&e->of, g);
	code = gpu_enter(g);
	if (code == HEXC_OK)
		code = gpu_leave(g, GPU_CALL(g, cuEventCreate, &e->event,
		                             untimed ? DRV_CU_EVENT_DISABLE_TIMING : 0));
	if (code == HEXC_OK)
		*out = e;
	else
		hexc_event_free(e);
	return code;
}

int
hexc_event_new(hexc_event **out, hexc_gpu *g)
{
	return event_new(out, g, false);
}

int
hexc_event_new_untimed(hexc_event **out, hexc_gpu *g)
{
	return event_new(out, g, true);
}

void
hexc_event_free(hexc_event *e)
{
	if (!e)
		return;
	if (e->of.g)
		destroy(&e->of);
	gpu_child_leave(&e->of);
	free(e);
}

int
hexc_event_record(hexc_event *e, void *stream)
{
	int code;

	if (!e || !e->of.g)
		return HEXC_E_INVALID;
	code = gpu_enter(e->of.g);
	return code ? code : gpu_leave(e->of.g, GPU_CALL(e->of.g, cuEventRecord, e->event, stream));
}

int
hexc_event_wait(hexc_event *e)
{
	int code;

	if (!e || !e->of.g)
		return HEXC_E_INVALID;
	code = gpu_enter(e->of.g);
	return code ? code : gpu_leave(e->of.g, GPU_CALL(e->of.g, cuEventSynchronize, e->event));
}

int
hexc_event_us(hexc_event *from, hexc_event *to, double *us)
{
	float ms = 0;
	int code;

	if (!from || !to || !us || !from->of.g || from->of.g != to->of.g)
		return HEXC_E_INVALID;
	if (from->untimed || to->untimed)
		return gpu_error(from->of.g, HEXC_E_INVALID,
		                 "an event of hexc_event_new_untimed has no time; use hexc_event_new");
	if ((code = gpu_enter(from->of.g)))
		return code;
	code = gpu_leave(from->of.g, GPU_CALL(from->of.g, cuEventElapsedTime, &ms, from->event, to->event));
	*us = (double)ms * 1000;
	return code;
}

void *
hexc_event_handle(const hexc_event *e)
{
	return e ? e->event : NULL;
}

int
hexc_stream_new(void **out, hexc_gpu *g)
{
	int code;

	if (out)
		*out = NULL;
	if (!out || !g)
		return HEXC_E_INVALID;
	if ((code = gpu_enter(g)))
		return code;
	code = gpu_leave(g, GPU_CALL(g, cuStreamCreate, out, DRV_CU_STREAM_NON_BLOCKING));
	if (code)
		*out = NULL;
	return code;
}

int
hexc_stream_free(hexc_gpu *g, void *stream)
{
	int code;

	if (!g)
		return HEXC_E_INVALID;
	if (!stream)
		return HEXC_OK;
	code = gpu_enter(g);
	return code ? code : gpu_leave(g, GPU_CALL(g, cuStreamDestroy_v2, stream));
}

int
hexc_stream_wait(hexc_gpu *g, void *stream)
{
	int code;

	if (!g)
		return HEXC_E_INVALID;
	code = gpu_enter(g);
	return code ? code : gpu_leave(g, GPU_CALL(g, cuStreamSynchronize, stream));
}

int
hexc_stream_after(hexc_gpu *g, void *stream, hexc_event *e)
{
	int code;

	if (!g || !e || !e->of.g)
		return HEXC_E_INVALID;
	if (e->of.g->simulated != g->simulated)
		return gpu_error(g, HEXC_E_INVALID,
		                 "of stream and event, one is simulated; wait with hexc_event_wait");
	code = gpu_enter(g);
	return code ? code : gpu_leave(g, GPU_CALL(g, cuStreamWaitEvent, stream, e->event, 0));
}
