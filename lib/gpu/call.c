/* call.c - hexc_gpu.h: launches that are prepared once.
 *
 * What a change of arguments costs: another number is planned anew (launch_plan), a pointer checked
 * against the bytes that the plan found, and a tensor's maps are encoded again when its address or the
 * plan is new. */
#include "lib/gpu/gpu.h"
#include "hexc/ir/number.h"
#include "lib/rt/rt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hexc_call {
	hexc_gpu_module *gm;
	size_t k;
	void *function;
	hexc_kernel_info info;
	uint32_t held;       /* of a persistent kernel: blocks that the device holds */
	uint64_t numbers;    /* a bit for each parameter: it is no tensor */
	uint64_t missing;    /* no argument yet */
	uint64_t moved;      /* another address since it was looked at */
	bool planned;        /* plan fits the numbers */
	LaunchPlan plan;
	hexc_arg *arg;
	uint64_t *value;
	void **param;        /* to value, then to map */
	Map *map;
	size_t prefix;       /* of why: the kernel's name */
	char why[LOG_MAX];
};
_Static_assert(HEXC_MAX_PARAMS <= 64, "a bit for each parameter");

static int
call_error(hexc_call *c, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Keep a sentence behind the kernel's name; returns code. */
static int
call_error(hexc_call *c, int code, const char *fmt, ...)
{
	va_list ap;

	c->why[0] = c->info.name[0];
	va_start(ap, fmt);
	vsnprintf(c->why + c->prefix, sizeof c->why - c->prefix, fmt, ap);
	va_end(ap);
	return code;
}

/* The result of a driver's function. */
static int
call_result(hexc_call *c, const char *call, int result)
{
	if (result) {
		c->why[0] = c->info.name[0];
		driver_says(&c->gm->g->cu, call, result, c->why + c->prefix, sizeof c->why - c->prefix);
	}
	return driver_code(result);
}
#define CALL(c, function, ...) call_result(c, #function, (c)->gm->g->cu.function(__VA_ARGS__))

/* Somebody else's sentence stands behind the name already: show it.  Returns code. */
static int
told(hexc_call *c, int code)
{
	if (code)
		c->why[0] = c->info.name[0];
	return code;
}
#define WHY(c) (c)->why + (c)->prefix, sizeof(c)->why - (c)->prefix
#define HAS(c, function) ((c)->gm->g->cu.function || driver_lacks(#function, WHY(c)))

/* ---- the context --------------------------------------------------------------------------------- */

/* Make the context current, unless it is. */
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

	return code ? code : call_result(c, "cuCtxPopCurrent_v2", popped);
}

/* ---- made and freed ------------------------------------------------------------------------------ */

/* The next n elements of a block that has room. */
static void *
part(unsigned char **at, size_t n, size_t size)
{
	void *p = *at;

	*at += (n * size + 63) / 64 * 64;
	return p;
}

/* One block with all that it ever needs; NULL: no memory. */
static hexc_call *
call_memory(const hexc_kernel_info *info)
{
	size_t n = info->nparam, all = n + info->nmap;
	size_t bytes = sizeof(hexc_call) + info->nmap * (sizeof(Map) + sizeof(hexc_tensor_map_info)) +
	               n * (sizeof(hexc_arg) + sizeof(uint64_t) + sizeof(int64_t)) + all * sizeof(void *);
	unsigned char *at = aligned_alloc(64, (bytes + 8 * 64 + 63) / 64 * 64);
	hexc_call *c = (hexc_call *)at;

	if (!c)
		return NULL;
	memset(at, 0, (bytes + 8 * 64 + 63) / 64 * 64);
	part(&at, 1, sizeof *c);
	c->map = part(&at, info->nmap, sizeof *c->map);
	c->plan.map = part(&at, info->nmap, sizeof *c->plan.map);
	c->plan.bytes = part(&at, n, sizeof *c->plan.bytes);
	c->arg = part(&at, n, sizeof *c->arg);
	c->value = part(&at, n, sizeof *c->value);
	c->param = part(&at, all, sizeof *c->param);
	return c;
}

/* In the GPU's context. */
static int
find_function(hexc_call *c)
{
	hexc_gpu *g = c->gm->g;
	int code = GPU_CALL(g, cuModuleGetFunction, &c->function, c->gm->module, c->info.name);

	if (code == HEXC_OK && c->info.smem)
		code = GPU_CALL(g, cuFuncSetAttribute, c->function,
		                DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)c->info.smem);
	if (code == HEXC_OK && c->info.persistent)
		code = gpu_held(g, c->function, &c->info, &c->held);
	if (code == HEXC_OK && c->info.nmap &&
	    !DRIVER_HAS(&g->cu, cuTensorMapEncodeTiled, g->why, sizeof g->why))
		code = HEXC_E_DEVICE;
	return code;
}

int
hexc_call_new(hexc_call **out, hexc_gpu_module *gm, size_t k)
{
	hexc_kernel_info info = HEXC_KERNEL_INFO_INIT;
	const hexc_tensor_map_info map = HEXC_TENSOR_MAP_INFO_INIT;
	hexc_call *c;
	int code;

	if (out)
		*out = NULL;
	if (!out || !gm)
		return HEXC_E_INVALID;
	if (!hexc_kernel(gm->m, k, &info))
		return gpu_error(gm->g, HEXC_E_INVALID, "the module has no kernel %zu", k);
	c = call_memory(&info);
	if (!c)
		return gpu_error(gm->g, HEXC_E_NOMEM, "%s", hexc_strerror(HEXC_E_NOMEM));
	c->gm = gm;
	c->k = k;
	c->info = info;
	c->missing = info.nparam == 64 ? UINT64_MAX : (UINT64_C(1) << info.nparam) - 1;
	c->prefix = (size_t)snprintf(c->why, sizeof c->why / 2, "%s: ", info.name);
	c->prefix = c->prefix < sizeof c->why / 2 ? c->prefix : sizeof c->why / 2 - 1;
	c->why[0] = 0; /* nothing failed yet */
	for (uint32_t i = 0; i < info.nparam; i++) {
		c->param[i] = &c->value[i];
		c->numbers |= (uint64_t)(gm->m->kernel[k].param[i].kind != HEXC_POINTER) << i;
	}
	for (uint32_t i = 0; i < info.nmap; i++) {
		c->plan.map[i] = map;
		hexc_tensor_map_form(gm->m, k, i, &c->plan.map[i], NULL, NULL);
		c->param[info.nparam + i] = &c->map[i];
	}
	code = gpu_enter(gm->g);
	if (code == HEXC_OK)
		code = gpu_leave(gm->g, find_function(c));
	if (code)
		hexc_call_free(c);
	else
		*out = c;
	return code;
}

void
hexc_call_free(hexc_call *c)
{
	free(c);
}

const char *
hexc_call_why(const hexc_call *c)
{
	return c ? c->why : "";
}

int
hexc_call_find(const hexc_call *c, const char *name)
{
	return c ? hexc_param_find(c->gm->m, c->k, name) : -1;
}

/* ---- arguments ----------------------------------------------------------------------------------- */

static const ModParam *
param_of(hexc_call *c, int i, int *code)
{
	if (!c)
		*code = HEXC_E_INVALID;
	else if (i < 0 || (uint32_t)i >= c->info.nparam)
		*code = call_error(c, HEXC_E_INVALID, "it has no parameter %d", i);
	else
		return &c->gm->m->kernel[c->k].param[i];
	return NULL;
}

int
hexc_call_ptr(hexc_call *c, int i, void *ptr, uint64_t bytes)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind != HEXC_POINTER)
		return call_error(c, HEXC_E_INVALID, "%s is no tensor: give it a number", p->name);
	c->arg[i].ptr = ptr;
	c->arg[i].bytes = bytes;
	c->value[i] = (uintptr_t)ptr;
	c->missing &= ~(UINT64_C(1) << i);
	c->moved |= UINT64_C(1) << i;
	return HEXC_OK;
}

int
hexc_call_int(hexc_call *c, int i, int64_t x)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind == HEXC_POINTER || dtype_is_float(p->dtype))
		return call_error(c, HEXC_E_INVALID, "%s is %s: an integer does not fit it", p->name,
		                  p->kind == HEXC_POINTER ? "a tensor" : dtype_info[p->dtype].name);
	if (c->arg[i].i != x || (c->missing >> i & 1))
		c->planned = false;
	c->arg[i].i = x;
	num_put_i(p->dtype, &c->value[i], 0, x);
	c->missing &= ~(UINT64_C(1) << i);
	return HEXC_OK;
}

int
hexc_call_float(hexc_call *c, int i, double x)
{
	Arithmetic host;
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p)
		return code;
	if (p->kind != HEXC_SCALAR || !dtype_is_float(p->dtype))
		return call_error(c, HEXC_E_INVALID, "%s is no scalar of a float type", p->name);
	c->arg[i].f = x;
	arithmetic_enter(&host);
	num_put(p->dtype, &c->value[i], 0, x);
	arithmetic_leave(&host);
	c->missing &= ~(UINT64_C(1) << i);
	return HEXC_OK;
}

static int
name_missing(hexc_call *c, uint64_t missing)
{
	const ModParam *p = &c->gm->m->kernel[c->k].param[CTZ64((int64_t)missing)];

	return call_error(c, HEXC_E_ARGS, "%s has no argument yet: give it one with hexc_call_%s", p->name,
	                  p->kind == HEXC_POINTER     ? "ptr"
	                  : dtype_is_float(p->dtype) ? "float"
	                                             : "int");
}

int
hexc_call_bytes(hexc_call *c, int i, uint64_t *bytes)
{
	int code = HEXC_OK;
	const ModParam *p = param_of(c, i, &code);

	if (!p || !bytes)
		return p ? HEXC_E_INVALID : code;
	if (c->missing & c->numbers)
		return name_missing(c, c->missing & c->numbers);
	code = hexc_tensor_bytes(c->gm->m, c->k, (size_t)i, c->arg, bytes);
	if (code == HEXC_E_INVALID)
		return call_error(c, code, "%s is no tensor", p->name);
	return code ? call_error(c, code, "the bytes of %s cannot be computed for these sizes", p->name)
	            : HEXC_OK;
}

/* ---- what a launch takes ------------------------------------------------------------------------- */

static bool
empty(const hexc_call *c)
{
	return !c->plan.grid[0] || !c->plan.grid[1] || !c->plan.grid[2];
}

/* The maps of tensors that moved, or all. */
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

/* All that is new since the last launch.  In the context. */
static int
refresh(hexc_call *c)
{
	const hexc_module *m = c->gm->m;
	bool all = !c->planned;
	int code;

	if (c->missing)
		return name_missing(c, c->missing);
	if (c->planned && !c->moved)
		return HEXC_OK;
	if (all) {
		code = launch_plan(m, c->k, c->arg, ARG_DEVICE, &c->plan, WHY(c));
		if (code)
			return told(c, code);
		if (c->info.persistent && !empty(c))
			gpu_hold(c->info.cluster, c->held, c->plan.grid);
	} else {
		for (uint64_t left = c->moved; left; left &= left - 1) {
			int i = CTZ64((int64_t)left);

			code = launch_address(m, c->k, (size_t)i, &c->arg[i], c->plan.bytes[i], WHY(c));
			if (code)
				return told(c, code);
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
	const uint32_t *grid = c->plan.grid, *block = c->info.block;

	if (empty(c))
		return HEXC_OK;
	return CALL(c, cuLaunchKernel, c->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
	            c->info.smem, stream, c->param, NULL);
}

int
hexc_call_launch(hexc_call *c, void *stream)
{
	bool pushed;
	int code;

	if (!c)
		return HEXC_E_INVALID;
	if ((code = enter(c, &pushed)))
		return code;
	code = refresh(c);
	return leave(c, pushed, code ? code : start(c, stream));
}

/* ---- graphs -------------------------------------------------------------------------------------- */

/* The node that the next one of the stream would wait for; NULL: none, or several. */
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
		                  "the stream is not being captured: call cuStreamBeginCapture "
		                  "before");
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
	if (!c || !node)
		return HEXC_E_INVALID;
	if (!HAS(c, cuStreamGetCaptureInfo_v2))
		return told(c, HEXC_E_DEVICE);
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

	if (!c || !exec || !node)
		return HEXC_E_INVALID;
	if (!HAS(c, cuGraphExecKernelNodeSetParams_v2) ||
	    !HAS(c, cuGraphNodeSetEnabled))
		return told(c, HEXC_E_DEVICE);
	if ((code = enter(c, &pushed)))
		return code;
	return leave(c, pushed, update(c, exec, node));
}
