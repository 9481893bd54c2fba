/* cuda_launch.c - implements launches, streams, events and graphs of sim_cuda, the CUDA driver API on the
 * simulator. */
#include "lib/sim/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- launches ----------------------------------------------------------------------------------------- */

static int
run(void *user, const Kept *k)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	const Function *f = k->function;
	Context *c = user;
	sim_launch l = none;
	sim_result *r = NULL;
	sim_fault fault;
	int code;

	memcpy(l.grid, k->grid, sizeof l.grid);
	memcpy(l.block, k->block, sizeof l.block);
	l.smem = k->shared;
	l.dependent = k->dependent;
	l.cooperative = k->cooperative;
	l.args = (const void *const *)k->arg;
	c->launches++;
	code = sim_run(cuda_enter(c), f->of->m, f->name, &l, &r);
	if (code == SIM_E_FAULT) {
		if (sim_fault_at(r, 0, &fault))
			snprintf(c->fault, sizeof c->fault, "the simulator, in %s: %s", f->name, fault.text);
		c->sticky = DRV_CUDA_ERROR_LAUNCH_FAILED; /* last: other threads then read the text */
	}
	sim_result_free(r);
	cuda_leave(c, SIM_OK);
	if (code == SIM_E_NOMEM)
		return CUDA_OUT_OF_MEMORY;
	return code == SIM_OK || code == SIM_E_FAULT ? 0 : CUDA_INVALID_VALUE;
}

static int
launch(Kept *k, void *stream, void **args, void **extra)
{
	Function *f = k->function;
	Stream *s = stream;
	sim_param_info p;

	if (cuda_state())
		return cuda_state();
	if (!k->grid[0] || !k->grid[1] || !k->grid[2] || extra || (int)k->shared > f->shared ||
	    f->of->of != cuda_now())
		return CUDA_INVALID_VALUE;
	if (k->cooperative && !cuda_holds(f, k->grid, k->block, k->shared))
		return DRV_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	if (s && s->capture)
		return stream_add(s, f->of->m, f->name, k, args);
	for (size_t i = 0; i < GRAPH_PARAMS && sim_param_at(f->of->m, f->name, i, &p); i++)
		k->arg[i] = args[i];
	return run(cuda_now(), k);
}

static int
launch_kernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
              unsigned shared, void *stream, void **args, void **extra)
{
	Kept k = { .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };

	return launch(&k, stream, args, extra);
}

/* The only launch attribute: the next launch may overlap this one. */
static int
launch_beside(const DriverLaunch *l, void *function, void **args, void **extra)
{
	Kept k = { .function = function, .shared = l->shared, .dependent = true };

	if (l->n != 1 || l->attribute->id != DRV_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
		return CUDA_INVALID_VALUE;
	memcpy(k.grid, l->grid, sizeof k.grid);
	memcpy(k.block, l->block, sizeof k.block);
	return launch(&k, l->stream, args, extra);
}

static int
launch_cooperative(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **args)
{
	Kept k = { .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared,
		   .cooperative = true };

	return launch(&k, stream, args, NULL);
}

static int
synchronize(void)
{
	return cuda_state();
}

static int
encode_tiled(void *map, int type, unsigned rank, void *address, const uint64_t *dim, const uint64_t *stride,
             const unsigned *box, const unsigned *step, int interleave, int swizzle, int l2, int fill)
{
	return sim_tmap_tiled(map, type, rank, address, dim, stride, box, step, interleave, swizzle, l2,
	                      fill) == SIM_OK
	               ? 0
	               : CUDA_INVALID_VALUE;
}

/* ---- streams, events, graphs -------------------------------------------------------------------------- */

static int
stream_new(void **stream, unsigned flags)
{
	(void)flags;
	*stream = cuda_state() ? NULL : calloc(1, sizeof(Stream));
	return *stream ? 0 : cuda_state() ? cuda_state() : CUDA_OUT_OF_MEMORY;
}

static int
stream_free(void *stream)
{
	free(stream);
	return 0;
}

static int
stream_synchronize(void *stream)
{
	if (cuda_state())
		return cuda_state();
	return stream && ((Stream *)stream)->capture ? CUDA_CAPTURE_UNSUPPORTED : 0;
}

static int
stream_wait_event(void *stream, void *event, unsigned flags)
{
	Stream none = { 0 };

	(void)flags;
	return cuda_state() ? cuda_state() : stream_wait(stream ? stream : &none, event);
}

static int
stream_begin_capture(void *stream, int mode)
{
	(void)mode;
	return !stream ? CUDA_INVALID_VALUE : cuda_state() ? cuda_state() : stream_begin(stream);
}

static int
stream_end_capture(void *stream, void **graph)
{
	return stream_end(stream, (Graph **)graph);
}

static int
stream_capture_info(void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *n)
{
	Stream *s = stream;

	*status = s && s->capture ? DRV_CU_STREAM_CAPTURE_STATUS_ACTIVE : 0;
	if (*status) {
		*id = (uintptr_t)s->capture;
		*graph = s->capture;
		*nodes = stream_info(s, n);
	}
	return cuda_state();
}

static int
graph_instantiate(void **exec, void *graph, unsigned long long flags)
{
	(void)flags;
	*exec = graph_copy(graph);
	return *exec ? 0 : CUDA_OUT_OF_MEMORY;
}

static int
graph_launch(void *exec, void *stream)
{
	if (cuda_state() || (stream && ((Stream *)stream)->capture))
		return cuda_state() ? cuda_state() : CUDA_NOT_SUPPORTED;
	return graph_run(exec, run, cuda_now());
}

static int
graph_destroy(void *graph)
{
	graph_free(graph);
	return 0;
}

static int
graph_set_params(void *exec, void *node, const DriverNode *p)
{
	GraphNode *n = graph_node(exec, node);
	Function *f = p->function;

	if (!n || p->extra || !p->grid[0] || !p->grid[1] || !p->grid[2] || (int)p->shared > f->shared)
		return CUDA_INVALID_VALUE;
	if (n->k.cooperative && !cuda_holds(f, p->grid, p->block, p->shared))
		return DRV_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return kept_set(&n->k, f->of->m, f->name, f, p->grid, p->block, p->shared, p->args);
}

static int
graph_set_enabled(void *exec, void *node, unsigned enabled)
{
	GraphNode *n = graph_node(exec, node);

	if (n)
		n->enabled = enabled;
	return n ? 0 : CUDA_INVALID_VALUE;
}

static int
event_new(void **event, unsigned flags)
{
	(void)flags;
	*event = calloc(1, sizeof(CudaEvent));
	return *event ? 0 : CUDA_OUT_OF_MEMORY;
}

static int
event_set(void *event, void *stream)
{
	((CudaEvent *)event)->launches = cuda_now() ? cuda_now()->launches : 0;
	return cuda_state() ? cuda_state() : event_record(event, stream);
}

static int
event_wait(void *event)
{
	(void)event;
	return cuda_state();
}

/* Launches take no time here: each counts as one millisecond. */
static int
event_time(float *ms, void *from, void *to)
{
	*ms = (float)((double)((CudaEvent *)to)->launches - (double)((CudaEvent *)from)->launches);
	return cuda_state();
}

static int
event_free(void *event)
{
	event_drop(event);
	free(event);
	return 0;
}

static sim_function
launch_function(const char *name)
{
	static const Driver table = {
		.cuCtxSynchronize = synchronize,
		.cuLaunchKernel = launch_kernel,
		.cuLaunchCooperativeKernel = launch_cooperative,
		.cuLaunchKernelEx = launch_beside,
		.cuEventCreate = event_new,
		.cuEventRecord = event_set,
		.cuEventSynchronize = event_wait,
		.cuEventElapsedTime = event_time,
		.cuEventDestroy_v2 = event_free,
		.cuStreamCreate = stream_new,
		.cuStreamDestroy_v2 = stream_free,
		.cuStreamSynchronize = stream_synchronize,
		.cuStreamWaitEvent = stream_wait_event,
		.cuStreamBeginCapture_v2 = stream_begin_capture,
		.cuStreamEndCapture = stream_end_capture,
		.cuStreamGetCaptureInfo_v2 = stream_capture_info,
		.cuGraphInstantiateWithFlags = graph_instantiate,
		.cuGraphLaunch = graph_launch,
		.cuGraphExecDestroy = graph_destroy,
		.cuGraphDestroy = graph_destroy,
		.cuGraphExecKernelNodeSetParams_v2 = graph_set_params,
		.cuGraphNodeSetEnabled = graph_set_enabled,
		.cuTensorMapEncodeTiled = encode_tiled,
	};

	CUDA_FIND(table, name);
	return NULL;
}

sim_function
sim_cuda(const char *name)
{
	sim_function f = name ? cuda_device_function(name) : NULL;

	return f || !name ? f : launch_function(name);
}
