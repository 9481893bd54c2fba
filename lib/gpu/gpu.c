/* gpu.c - implements hexc_gpu.h: devices and their memory. */
#include "lib/gpu/gpu.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
gpu_result(hexc_gpu *g, const char *call, int r)
{
	if (r)
		driver_says(&g->cu, call, r, g->why, sizeof g->why);
	return driver_code(r);
}

/* ---- devices --------------------------------------------------------------------------------------- */

/* Returns the newest arch that the device runs. */
static const char *
arch_for(uint32_t capability)
{
	const char *best = NULL;
	uint32_t sm, have = 0;

	for (size_t i = 0; hexc_arch(i); i++)
		if (arch_runs(capability, hexc_arch(i), &sm) && sm >= have) {
			have = sm;
			best = hexc_arch(i);
		}
	return best;
}

int
hexc_gpu_runs(const hexc_gpu *g, const char *arch)
{
	uint32_t sm;

	return g && arch && arch_runs(g->info.capability, arch, &sm);
}

static int
attribute(hexc_gpu *g, int which, uint32_t *out)
{
	int value = 0, code = GPU_CALL(g, cuDeviceGetAttribute, &value, which, g->device);

	*out = (uint32_t)value;
	return code;
}

static int
describe(hexc_gpu *g)
{
	uint32_t major = 0, minor = 0, sms = 0, l2 = 0, shared = 0;
	int version = 0, code;
	size_t bytes = 0;

	if ((code = GPU_CALL(g, cuDeviceGetName, g->name, sizeof g->name, g->device)) ||
	    (code = attribute(g, DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major)) ||
	    (code = attribute(g, DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor)) ||
	    (code = attribute(g, DRV_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &sms)) ||
	    (code = attribute(g, DRV_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2)) ||
	    (code = attribute(g, DRV_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared)) ||
	    (code = GPU_CALL(g, cuDeviceTotalMem_v2, &bytes, g->device)) ||
	    (code = GPU_CALL(g, cuDriverGetVersion, &version)))
		return code;
	g->name[sizeof g->name - 1] = '\0';
	g->info = (hexc_gpu_info){
		.size = sizeof g->info,
		.name = g->name,
		.capability = 10 * major + minor,
		.driver = (uint32_t)version,
		.sms = sms,
		.l2 = l2,
		.memory = bytes,
		.shared = shared,
	};
	g->info.arch = arch_for(g->info.capability);
	return HEXC_OK;
}

static int
open_driver(hexc_gpu *g)
{
	if (!driver_open(&g->cu, g->simulated, g->why, sizeof g->why))
		return HEXC_E_DEVICE;
	return GPU_CALL(g, cuInit, 0);
}

/* Opens the simulator with this compute capability. */
static int
open_simulator(hexc_gpu *g, int capability)
{
	int code;

	g->simulated = true;
	if ((code = open_driver(g)) || (code = GPU_CALL(g, cuDeviceGet, &g->device, capability)) ||
	    (code = describe(g)))
		return code;
	if (!g->info.arch)
		return gpu_error(g, HEXC_E_DEVICE,
		                 "no architecture for compute capability %d.%d; simulate one listed by "
		                 "hexc_arch()", capability / 10, capability % 10);
	return GPU_CALL(g, cuDevicePrimaryCtxRetain, &g->context, g->device);
}

static int
open_device(hexc_gpu *g, int device)
{
	int code, count = 0;

	if (device < 0)
		return open_simulator(g, device < -INT_MAX ? INT_MAX : -device);
	if ((code = open_driver(g)) || (code = GPU_CALL(g, cuDeviceGetCount, &count)))
		return code;
	if (count == 0)
		return gpu_error(g, HEXC_E_DEVICE, "the CUDA driver finds no GPU");
	if (device >= count)
		return gpu_error(g, HEXC_E_DEVICE, "GPU %d does not exist; the driver reports %d (numbered "
						   "from 0)",
		                 device, count);
	if ((code = GPU_CALL(g, cuDeviceGet, &g->device, device)) || (code = describe(g)))
		return code;
	return GPU_CALL(g, cuDevicePrimaryCtxRetain, &g->context, g->device);
}

/* Uses a context of the host. */
static int
adopt(hexc_gpu *g, void *context)
{
	int code = open_driver(g);

	if (code)
		return code;
	if (!context && (code = GPU_CALL(g, cuCtxGetCurrent, &context)))
		return code;
	if (!context)
		return gpu_error(g, HEXC_E_INVALID,
		                 "no current CUDA context; pass one or call cuCtxSetCurrent");
	g->context = context;
	g->adopted = true;
	if ((code = gpu_enter(g)))
		return code;
	code = GPU_CALL(g, cuCtxGetDevice, &g->device);
	return gpu_leave(g, code ? code : describe(g));
}

static hexc_gpu *
gpu_new(char *why, size_t n)
{
	hexc_gpu *g = calloc(1, sizeof *g);

	if (!g && n)
		snprintf(why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	return g;
}

static int
opened(hexc_gpu **out, hexc_gpu *g, int code, char *why, size_t n)
{
	if (code == HEXC_OK) {
		*out = g;
		return HEXC_OK;
	}
	if (n)
		snprintf(why, n, "%s", g->why);
	hexc_gpu_close(g);
	return code;
}

int
hexc_gpu_open(hexc_gpu **out, int device, char *why, size_t n)
{
	hexc_gpu *g;

	if (!out || (!why && n))
		return HEXC_E_INVALID;
	*out = NULL;
	g = gpu_new(why, n);
	return g ? opened(out, g, open_device(g, device), why, n) : HEXC_E_NOMEM;
}

int
hexc_gpu_adopt(hexc_gpu **out, void *context, char *why, size_t n)
{
	hexc_gpu *g;

	if (!out || (!why && n))
		return HEXC_E_INVALID;
	*out = NULL;
	g = gpu_new(why, n);
	return g ? opened(out, g, adopt(g, context), why, n) : HEXC_E_NOMEM;
}

int
gpu_enter(hexc_gpu *g)
{
	return GPU_CALL(g, cuCtxPushCurrent_v2, g->context);
}

int
gpu_leave(hexc_gpu *g, int code)
{
	void *context;
	int popped = g->cu.cuCtxPopCurrent_v2(&context);

	return code ? code : gpu_result(g, "cuCtxPopCurrent_v2", popped);
}

void
gpu_child_join(GpuChild *c, hexc_gpu *g)
{
	c->g = g;
	c->prev = NULL;
	c->next = g->children;
	if (c->next)
		c->next->prev = c;
	g->children = c;
}

void
gpu_child_leave(GpuChild *c)
{
	if (!c->g)
		return;
	if (c->next)
		c->next->prev = c->prev;
	*(c->prev ? &c->prev->next : &c->g->children) = c->next;
	c->g = NULL;
}

void
hexc_gpu_close(hexc_gpu *g)
{
	if (!g)
		return;
	while (g->children) {
		GpuChild *c = g->children;

		if (c->closing)
			c->closing(c);
		gpu_child_leave(c);
	}
	while (g->modules)
		hexc_gpu_unload(g->modules);
	while (g->memory.n)
		hexc_gpu_free(g, g->memory.at[g->memory.n - 1]);
	while (g->pinned.n)
		hexc_host_free(g, g->pinned.at[g->pinned.n - 1]);
	free(g->memory.at);
	free(g->pinned.at);
	if (g->context && g->simulated)
		gpu_enter(g); /* of several contexts, the simulator frees the current one: see sim_cuda */
	if (g->context && !g->adopted)
		g->cu.cuDevicePrimaryCtxRelease_v2(g->device);
	free(g);
}

const char *
hexc_gpu_why(const hexc_gpu *g)
{
	return g ? g->why : "";
}

void *
hexc_gpu_context(const hexc_gpu *g)
{
	return g ? g->context : NULL;
}

int
hexc_gpu_describe(const hexc_gpu *g, hexc_gpu_info *out)
{
	size_t n;

	if (!g || !out)
		return 0;
	n = out->size < sizeof *out ? out->size : sizeof *out;
	memcpy(out, &g->info, n);
	out->size = n;
	return 1;
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Reserves space for one more address. */
static bool
memory_room(GpuMemory *m)
{
	size_t cap = 2 * m->cap + 16;
	void **more;

	if (m->n < m->cap)
		return true;
	more = realloc(m->at, cap * sizeof *more);
	if (!more)
		return false;
	m->at = more;
	m->cap = cap;
	return true;
}

/* Removes an address; returns false if it is not there. */
static bool
memory_remove(GpuMemory *m, const void *ptr)
{
	size_t i;

	for (i = m->n; i > 0 && m->at[i - 1] != ptr; i--)
		;
	if (i > 0)
		m->at[i - 1] = m->at[--m->n];
	return i > 0;
}

int
hexc_gpu_alloc(hexc_gpu *g, uint64_t bytes, void **out)
{
	unsigned long long ptr = 0;
	int code;

	if (!g || !out)
		return HEXC_E_INVALID;
	*out = NULL;
	if (!memory_room(&g->memory))
		return gpu_error(g, HEXC_E_NOMEM, "out of memory");
	if ((code = gpu_enter(g)))
		return code;
	code = GPU_CALL(g, cuMemAlloc_v2, &ptr, bytes ? bytes : 1);
	if (code == HEXC_OK)
		*out = g->memory.at[g->memory.n++] = (void *)(uintptr_t)ptr;
	return gpu_leave(g, code);
}

int
hexc_gpu_free(hexc_gpu *g, void *ptr)
{
	int code;

	if (!g)
		return HEXC_E_INVALID;
	if (!ptr)
		return HEXC_OK;
	if (!memory_remove(&g->memory, ptr))
		return gpu_error(g, HEXC_E_INVALID, "%p is not memory of this GPU, or was already freed",
		                 ptr);
	if ((code = gpu_enter(g)))
		return code;
	return gpu_leave(g, GPU_CALL(g, cuMemFree_v2, (uintptr_t)ptr));
}

int
hexc_host_alloc(hexc_gpu *g, uint64_t bytes, void **out)
{
	void *ptr = NULL;
	int code;

	if (!g || !out)
		return HEXC_E_INVALID;
	*out = NULL;
	if (!memory_room(&g->pinned))
		return gpu_error(g, HEXC_E_NOMEM, "out of memory");
	if ((code = gpu_enter(g)))
		return code;
	code = GPU_CALL(g, cuMemHostAlloc, &ptr, bytes ? bytes : 1, DRV_CU_MEMHOSTALLOC_PORTABLE);
	if (code == HEXC_OK)
		*out = g->pinned.at[g->pinned.n++] = ptr;
	return gpu_leave(g, code);
}

int
hexc_host_free(hexc_gpu *g, void *ptr)
{
	int code;

	if (!g)
		return HEXC_E_INVALID;
	if (!ptr)
		return HEXC_OK;
	if (!memory_remove(&g->pinned, ptr))
		return gpu_error(g, HEXC_E_INVALID, "%p is not host memory of this GPU, or was already freed",
		                 ptr);
	if ((code = gpu_enter(g)))
		return code;
	return gpu_leave(g, GPU_CALL(g, cuMemFreeHost, ptr));
}

int
hexc_gpu_write(hexc_gpu *g, void *to, const void *from, uint64_t bytes)
{
	int code;

	if (!g || (bytes && (!to || !from)))
		return HEXC_E_INVALID;
	if ((code = gpu_enter(g)))
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemcpyHtoD_v2, (uintptr_t)to, from, bytes);
	if (bytes && !code) /* with pageable memory, the end may not be there yet */
		code = GPU_CALL(g, cuStreamSynchronize, NULL);
	return gpu_leave(g, code);
}

int
hexc_gpu_read(hexc_gpu *g, void *to, const void *from, uint64_t bytes)
{
	int code;

	if (!g || (bytes && (!to || !from)))
		return HEXC_E_INVALID;
	if ((code = gpu_enter(g)))
		return code;
	return gpu_leave(g, bytes ? GPU_CALL(g, cuMemcpyDtoH_v2, to, (uintptr_t)from, bytes) : HEXC_OK);
}
