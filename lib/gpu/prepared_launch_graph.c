/* prepared_launch_graph.c - implements hexc_gpu.h: starts prepared launches, captures them into CUDA
 * graphs and updates graph nodes.
 *
 * Cost of changed arguments: a changed number is planned again (launch_plan). A changed pointer is checked
 * against the byte count of the plan. A tensor's maps are encoded again if its address or the plan
 * changed. */
#include "lib/gpu/prepared_launch.h"
#include <stdio.h>
#include <string.h>

#define HAS(c, function) ((c)->gm->g->cu.function || driver_lacks(#function, WHY(c)))

/* ---- the context --------------------------------------------------------------------------------- */

/* Makes the context current, unless it is. */
static int
enter(hexc_call *c, bool *pushed)
{
	void *context = c->gm->g->context, *now = NULL;
	int code;

	*pushed = false;
	if ((code = CALL(c, cuCtxGetCurrent, &now)) || now == context)
		return code;
	code = CALL(c, cuCtxPushCurrent_v2, context);
	*pushed = code == HEXC_OK;
	return code;
}

static int
leave(hexc_call *c, bool pushed, int code)
{
	void *context;
	int popped = pushed ? c->gm->g->cu.cuCtxPopCurrent_v2(&context) : 0;

	return code ? code : call_driver(c, "cuCtxPopCurrent_v2", popped);
}

/* ---- what a launch takes ------------------------------------------------------------------------- */

static bool
empty(const hexc_call *c)
{
	return !c->plan.grid[0] || !c->plan.grid[1] || !c->plan.grid[2];
}

/* Encodes the maps of tensors whose address changed, or all. */
static int
encode(hexc_call *c, bool all)
{
	size_t n;
	int code;

	for (uint32_t i = 0; i < c->info.nmap; i++) {
		hexc_tensor_map_info *t = &c->plan.map[i];

		if (!all && !(c->moved >> t->param & 1))
			continue;
		code = CALL(c, cuTensorMapEncodeTiled, &c->map[i], (int)t->type, t->rank,
		            c->arg[t->param].ptr, t->dim, t->stride, t->box, t->step, (int)t->interleave,
		            (int)t->swizzle, (int)t->l2, (int)t->fill);
		if (code) {
			n = strlen(c->why);
			snprintf(c->why + n, sizeof c->why - n, ", for the tensor map of %s",
			         c->gm->m->kernel[c->k].param[t->param].name);
			return code;
		}
	}
	return HEXC_OK;
}

/* Applies everything that changed since the last launch. Requires the context to be current. */
static int
refresh(hexc_call *c)
{
	const hexc_module *m = c->gm->m;
	bool all = !c->planned;
	int code;

	if (c->missing)
		return call_missing(c, c->missing);
	if (c->planned && !c->moved)
		return HEXC_OK;
	if (all) {
		code = launch_plan(m, c->k, c->arg, ARG_DEVICE, &c->plan, WHY(c));
		if (code)
			return call_told(c, code);
		if (c->info.persistent && !empty(c))
			gpu_hold(c->info.cluster, c->held, c->plan.grid);
		if (c->info.cooperative && !empty(c) &&
		    (code = gpu_resident(c->held, c->plan.grid, WHY(c))))
			return call_told(c, code);
	} else {
		for (uint64_t left = c->moved; left; left &= left - 1) {
			int i = CTZ64((int64_t)left);

			code = launch_address(m, c->k, (size_t)i, &c->arg[i], c->plan.bytes[i], WHY(c));
			if (code)
				return call_told(c, code);
		}
	}
	if (!empty(c) && (code = encode(c, all)))
		return code;
	c->planned = true;
	c->moved = 0;
	return HEXC_OK;
}

static int
start(hexc_call *c, void *stream)
{
	DriverLaunch l = { .stream = stream };
	const char *call;
	int result;

	if (empty(c))
		return HEXC_OK;
	memcpy(l.grid, c->plan.grid, sizeof l.grid);
	result = gpu_start(&c->gm->g->cu, l, &c->info, c->function, c->param, &call);
	return call_driver(c, call, result);
}

int
hexc_call_launch(hexc_call *c, void *stream)
{
	bool pushed;
	int code;

	if (!call_lives(c))
		return HEXC_E_INVALID;
	if ((code = enter(c, &pushed)))
		return code;
	code = refresh(c);
	return leave(c, pushed, code ? code : start(c, stream));
}

/* ---- graphs -------------------------------------------------------------------------------------- */

/* Finds the node that the stream's next node would depend on; NULL if there is none, or several. */
static int
last_node(hexc_call *c, void *stream, void **node)
{
	void *const *nodes = NULL;
	void *graph = NULL;
	uint64_t id = 0;
	size_t n = 0;
	int status = 0, code;

	*node = NULL;
	code = CALL(c, cuStreamGetCaptureInfo_v2, stream, &status, &id, &graph, &nodes, &n);
	if (code)
		return code;
	if (status != DRV_CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return call_error(c, HEXC_E_INVALID,
		                  "the stream is not being captured; call cuStreamBeginCapture first");
	if (n == 1)
		*node = nodes[0];
	return HEXC_OK;
}

static int
capture(hexc_call *c, void *stream, void **node)
{
	int code = last_node(c, stream, node);

	*node = NULL;
	if (code || (code = refresh(c)) || empty(c))
		return code;
	if ((code = start(c, stream)))
		return code;
	return last_node(c, stream, node);
}

int
hexc_call_capture(hexc_call *c, void *stream, void **node)
{
	bool pushed;
	int code;

	if (node)
		*node = NULL;
	if (!call_lives(c) || !node)
		return HEXC_E_INVALID;
	if (!HAS(c, cuStreamGetCaptureInfo_v2))
		return call_told(c, HEXC_E_DEVICE);
	if ((code = enter(c, &pushed)))
		return code;
	return leave(c, pushed, capture(c, stream, node));
}

static int
update(hexc_call *c, void *exec, void *node)
{
	DriverNode p = { .function = c->function, .shared = c->info.smem, .args = c->param };
	int code = refresh(c);

	if (code)
		return code;
	if (!empty(c)) {
		memcpy(p.grid, c->plan.grid, sizeof p.grid);
		memcpy(p.block, c->info.block, sizeof p.block);
		code = CALL(c, cuGraphExecKernelNodeSetParams_v2, exec, node, &p);
	}
	return code ? code : CALL(c, cuGraphNodeSetEnabled, exec, node, !empty(c));
}

int
hexc_call_update(hexc_call *c, void *exec, void *node)
{
	bool pushed;
	int code;

	if (!call_lives(c) || !exec || !node)
		return HEXC_E_INVALID;
	if (!HAS(c, cuGraphExecKernelNodeSetParams_v2) ||
	    !HAS(c, cuGraphNodeSetEnabled))
		return call_told(c, HEXC_E_DEVICE);
	if ((code = enter(c, &pushed)))
		return code;
	return leave(c, pushed, update(c, exec, node));
}
