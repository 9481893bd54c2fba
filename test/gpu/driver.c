/* driver.c - a CUDA driver whose GPU is the simulator: what hexc asks of libcuda.so.1, for machines that
 * have none.
 *
 * It is as strict as the real one where a host can go wrong: a context must be current, more than 48 KB of
 * shared memory must be asked for, PTX for another capability is refused, a fault in a kernel comes out where
 * the host waits and spoils all that follows, and what is not freed is told.
 *
 *	FAKE_CUDA_DEVICES=N   GPUs (1)
 *	FAKE_CUDA_SM=75       their capability (90)
 *	FAKE_CUDA_STREAM=7    the one stream, by its handle, that it takes beside the default one (none)
 *	FAKE_CUDA_FAIL=NAME   this function fails, with FAKE_CUDA_CODE (999) */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/gpu/driver.h"
#include "lib/sim/sim.h"

#define EXPORT __attribute__((visibility("default")))

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NO_BINARY = 209,
       INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, UNKNOWN = 999 };

typedef struct Module {
	sim_module *m;
	char name[200];
	int shared; /* dynamic, that the function may have */
} Module;

static struct {
	bool ready;
	int retained, pushed, allocs, modules, events;
	int sticky; /* a kernel failed: every call does from now on */
	int launches;
	sim *device;
} fake;

static int
number(const char *name, int otherwise)
{
	const char *s = getenv(name);

	return s ? atoi(s) : otherwise;
}

/* Is the function to fail, or may it not be called now? */
static int
check(const char *name, bool context)
{
	const char *fail = getenv("FAKE_CUDA_FAIL");

	if (fail && strcmp(fail, name) == 0)
		return number("FAKE_CUDA_CODE", UNKNOWN);
	if (!fake.ready && strcmp(name, "cuInit") != 0 && strcmp(name, "cuDriverGetVersion") != 0)
		return NOT_INITIALIZED;
	if (context && !fake.pushed)
		return INVALID_CONTEXT;
	return context ? fake.sticky : 0;
}
#define CHECK(context)                                        \
	do {                                                  \
		int bad_ = check(__func__, context);          \
		if (bad_)                                     \
			return bad_;                          \
	} while (0)

/* Defined with the signatures that hexc calls them by. */
#define X(name, parameters) EXPORT int name parameters;
DRIVER_CALLS(X)
#undef X

int
cuInit(unsigned flags)
{
	CHECK(false);
	fake.ready = flags == 0;
	return fake.ready ? 0 : INVALID_VALUE;
}

int
cuDriverGetVersion(int *version)
{
	CHECK(false);
	*version = 13000;
	return 0;
}

int
cuGetErrorName(int code, const char **text)
{
	*text = code == DRV_CUDA_ERROR_OUT_OF_MEMORY    ? "CUDA_ERROR_OUT_OF_MEMORY"
	        : code == DRV_CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
	        : code == INVALID_PTX                    ? "CUDA_ERROR_INVALID_PTX"
	                                                 : NULL;
	return *text ? 0 : INVALID_VALUE;
}

int
cuGetErrorString(int code, const char **text)
{
	*text = code == DRV_CUDA_ERROR_OUT_OF_MEMORY    ? "out of memory"
	        : code == DRV_CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
	        : code == INVALID_PTX                    ? "a PTX JIT compilation failed"
	                                                 : NULL;
	return *text ? 0 : INVALID_VALUE;
}

int
cuDeviceGetCount(int *count)
{
	CHECK(false);
	*count = number("FAKE_CUDA_DEVICES", 1);
	return 0;
}

int
cuDeviceGet(int *device, int ordinal)
{
	CHECK(false);
	*device = ordinal;
	return ordinal >= 0 && ordinal < number("FAKE_CUDA_DEVICES", 1) ? 0 : INVALID_DEVICE;
}

int
cuDeviceGetName(char *name, int len, int device)
{
	CHECK(false);
	snprintf(name, (size_t)len, "simulated GPU %d", device);
	return 0;
}

int
cuDeviceGetAttribute(int *value, int attribute, int device)
{
	int sm = number("FAKE_CUDA_SM", 90);

	(void)device;
	CHECK(false);
	switch (attribute) {
	case DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = sm / 10; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = sm % 10; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 16; return 0;
	default: return INVALID_VALUE;
	}
}

int
cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	CHECK(false);
	*bytes = (size_t)1 << 32;
	return 0;
}

int
cuDevicePrimaryCtxRetain(void **context, int device)
{
	(void)device;
	CHECK(false);
	if (!fake.device && !(fake.device = sim_open()))
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	fake.retained++;
	*context = &fake;
	return 0;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	CHECK(false);
	if (!fake.retained--)
		return INVALID_CONTEXT;
	if (fake.allocs || fake.modules || fake.events || fake.pushed)
		fprintf(stderr,
		        "fake driver: left behind: %d allocations, %d modules, %d events, %d contexts\n",
		        fake.allocs, fake.modules, fake.events, fake.pushed);
	return 0;
}

int
cuCtxPushCurrent_v2(void *context)
{
	CHECK(false);
	fake.pushed++;
	return context == &fake ? 0 : INVALID_CONTEXT;
}

int
cuCtxPopCurrent_v2(void **context)
{
	CHECK(false);
	*context = &fake;
	return fake.pushed-- > 0 ? 0 : INVALID_CONTEXT;
}

int
cuCtxSynchronize(void)
{
	CHECK(true);
	return 0;
}

int
cuMemAlloc_v2(unsigned long long *ptr, size_t bytes)
{
	CHECK(true);
	*ptr = bytes ? sim_alloc(fake.device, bytes, NULL) : 0;
	if (!*ptr)
		return bytes ? DRV_CUDA_ERROR_OUT_OF_MEMORY : INVALID_VALUE;
	sim_mark(fake.device, *ptr, bytes, 0);
	fake.allocs++;
	return 0;
}

int
cuMemFree_v2(unsigned long long ptr)
{
	fake.allocs--; /* a context that is lost gives all back */
	CHECK(true);
	return sim_free(fake.device, ptr) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	CHECK(true);
	return sim_write(fake.device, to, from, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	CHECK(true);
	return sim_read(fake.device, from, to, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemsetD8Async(unsigned long long ptr, unsigned char value, size_t bytes, void *stream)
{
	CHECK(true);
	return !stream && sim_fill(fake.device, ptr, value, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

/* Text for this capability, or an older one without a letter. */
static bool
runs_here(const sim_module *m)
{
	char *end;
	long sm = strtol(sim_target(m) + 3, &end, 10);

	return *end ? sm == number("FAKE_CUDA_SM", 90) : sm <= number("FAKE_CUDA_SM", 90);
}

int
cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *option, void **value)
{
	Module *m;
	sim_message msg = { 0, "" };

	CHECK(true);
	m = calloc(1, sizeof *m);
	if (!m)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	if (sim_load(fake.device, image, strlen(image), &m->m) != SIM_OK) {
		sim_message_at(fake.device, 0, &msg);
		if (n == 2 && option[0] == DRV_CU_JIT_ERROR_LOG_BUFFER)
			snprintf(value[0], (size_t)value[1], "line %u: %s", msg.line, msg.text);
		free(m);
		return INVALID_PTX;
	}
	if (!runs_here(m->m)) {
		free(m);
		return NO_BINARY;
	}
	m->shared = 48 << 10;
	fake.modules++;
	*module = m;
	return 0;
}

int
cuModuleUnload(void *module)
{
	Module *m = module;

	fake.modules--;
	CHECK(true);
	sim_unload(fake.device, m->m);
	free(m);
	return 0;
}

/* A function is its module, which has been told the name. */
int
cuModuleGetFunction(void **function, void *module, const char *name)
{
	Module *m = module;
	sim_entry_info e;

	CHECK(true);
	if (!sim_entry_find(m->m, name, &e))
		return NOT_FOUND;
	snprintf(m->name, sizeof m->name, "%s", name);
	*function = m;
	return 0;
}

int
cuFuncSetAttribute(void *function, int attribute, int value)
{
	Module *m = function;

	CHECK(true);
	if (attribute != DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 << 10)
		return INVALID_VALUE;
	m->shared = value;
	return 0;
}

int
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
	CHECK(true);
	if (!function || threads < 1 || threads > 1024 || shared > 227 << 10)
		return INVALID_VALUE;
	*blocks = number("FAKE_CUDA_BLOCKS", 1);
	return 0;
}

/* By the simulator's rules, which are the driver's; the map's 128 bytes are the simulator's own. */
int
cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dim,
                       const uint64_t *stride, const unsigned *box, const unsigned *step, int interleave,
                       int swizzle, int l2, int fill)
{
	sim_tmap_desc d = SIM_TMAP_INIT;

	CHECK(true);
	if ((uintptr_t)map % 64 || !address || rank < 1 || rank > 5 || type < 0 || interleave < 0 ||
	    swizzle < 0 || l2 < 0 || fill < 0)
		return INVALID_VALUE;
	d.type = (uint32_t)type;
	d.rank = rank;
	d.address = (uintptr_t)address;
	for (unsigned i = 0; i < rank; i++) {
		d.dim[i] = dim[i];
		d.box[i] = box[i];
		d.element_stride[i] = step[i];
		if (i + 1 < rank)
			d.stride[i] = stride[i];
	}
	d.interleave = (uint32_t)interleave;
	d.swizzle = (uint32_t)swizzle;
	d.l2_promotion = (uint32_t)l2;
	d.oob_fill = (uint32_t)fill;
	return sim_tmap_encode(map, &d, NULL, 0) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared, void *stream, void **args, void **extra)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	sim_launch l = none;
	Module *m = function;
	sim_result *r = NULL;
	int code;

	CHECK(true);
	if (!gx || !gy || !gz || (int)shared > m->shared || extra ||
	    (stream && (uintptr_t)stream != (uintptr_t)number("FAKE_CUDA_STREAM", 0)))
		return INVALID_VALUE;
	l.grid[0] = gx, l.grid[1] = gy, l.grid[2] = gz;
	l.block[0] = bx, l.block[1] = by, l.block[2] = bz;
	l.smem = shared;
	l.args = (const void **)args;
	code = sim_run(fake.device, m->m, m->name, &l, &r);
	if (code == SIM_E_FAULT)
		fake.sticky = DRV_CUDA_ERROR_ILLEGAL_ADDRESS;
	if (r && sim_result_output(r, NULL)) /* as the driver does, to the process's standard output */
		fputs(sim_result_output(r, NULL), stdout);
	sim_result_free(r);
	fake.launches++;
	return code == SIM_OK || code == SIM_E_FAULT ? 0 : INVALID_VALUE;
}

/* An event is the number of launches before it. */
int
cuEventCreate(void **event, unsigned flags)
{
	CHECK(true);
	*event = flags == 0 ? calloc(1, sizeof(int)) : NULL;
	fake.events += *event != NULL;
	return *event ? 0 : INVALID_VALUE;
}

int
cuEventRecord(void *event, void *stream)
{
	CHECK(true);
	*(int *)event = fake.launches;
	return stream ? INVALID_VALUE : 0;
}

int
cuEventSynchronize(void *event)
{
	CHECK(true);
	return event ? 0 : INVALID_HANDLE;
}

int
cuEventElapsedTime(float *ms, void *from, void *to)
{
	CHECK(true);
	*ms = (float)(*(int *)to - *(int *)from);
	return 0;
}

int
cuEventDestroy_v2(void *event)
{
	fake.events--;
	free(event);
	CHECK(true);
	return 0;
}
