/* event.c - hexc_gpu.h: events and streams. */
#include "lib/gpu/gpu.h"
#include <stdlib.h>

struct hexc_event {
	hexc_gpu *g;
	void *event;
};

int
hexc_event_new(hexc_event **out, hexc_gpu *g)
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
	e->g = g;
	code = gpu_enter(g);
	if (code == HEXC_OK)
		code = gpu_leave(g, GPU_CALL(g, cuEventCreate, &e->event, 0));
	if (code == HEXC_OK)
		*out = e;
	else
		hexc_event_free(e);
	return code;
}

void
hexc_event_free(hexc_event *e)
{
	if (!e)
		return;
	if (e->event && gpu_enter(e->g) == HEXC_OK)
		gpu_leave(e->g, GPU_CALL(e->g, cuEventDestroy_v2, e->event));
	free(e);
}

int
hexc_event_record(hexc_event *e, void *stream)
{
	int code;

	if (!e)
		return HEXC_E_INVALID;
	code = gpu_enter(e->g);
	return code ? code : gpu_leave(e->g, GPU_CALL(e->g, cuEventRecord, e->event, stream));
}

int
hexc_event_wait(hexc_event *e)
{
	int code;

	if (!e)
		return HEXC_E_INVALID;
	code = gpu_enter(e->g);
	return code ? code : gpu_leave(e->g, GPU_CALL(e->g, cuEventSynchronize, e->event));
}

int
hexc_event_us(hexc_event *from, hexc_event *to, double *us)
{
	float ms = 0;
	int code;

	if (!from || !to || !us || from->g != to->g)
		return HEXC_E_INVALID;
	if ((code = gpu_enter(from->g)))
		return code;
	code = gpu_leave(from->g, GPU_CALL(from->g, cuEventElapsedTime, &ms, from->event, to->event));
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
