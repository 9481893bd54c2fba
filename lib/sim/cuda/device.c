/* device.c - implements devices, contexts, memory and modules of sim_cuda, the CUDA driver API on the
 * simulator.
 *
 * Signatures, numbers and rules are those of the CUDA Driver API reference. A device's ordinal is its compute
 * capability: 90. The current context of a thread is the only state that is not reached through an
 * argument. */
#include "lib/sim/cuda/cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In each thread's static TLS: the TLS of a library opened later would be allocated when a thread first comes
 * here, and glibc ends the process when that fails. */
static _Thread_local struct {
	Context *context[STACK];
	int n;
} contexts __attribute__((tls_model("initial-exec")));

Context *
cuda_now(void)
{
	return contexts.n ? contexts.context[contexts.n - 1] : NULL;
}

int
cuda_state(void)
{
	return cuda_now() ? cuda_now()->sticky : INVALID_CONTEXT;
}

sim *
cuda_enter(Context *c)
{
	pthread_mutex_lock(&c->alone);
	return c->s;
}

int
cuda_leave(Context *c, int code)
{
	pthread_mutex_unlock(&c->alone);
	return code == SIM_OK ? 0 : CUDA_INVALID_VALUE;
}

/* ---- devices and contexts ----------------------------------------------------------------------------- */

static int
initialize(unsigned flags)
{
	return flags ? CUDA_INVALID_VALUE : 0;
}

static int
driver_version(int *version)
{
	*version = 13000;
	return 0;
}

static const struct {
	int code;
	const char *name, *text;
} result_table[] = {
	{ CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU",
	 "no kernel image is available for execution on the device" },
	{ INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
	{ CUDA_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
	 "the operation cannot be performed in the present state" },
	{ NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ DRV_CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
	 "the simulator reported an error in a kernel" },
	{ DRV_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
	 "too many blocks in cooperative launch" },
	{ CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported by the simulator" },
	{ CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	  "operation not permitted when stream is capturing" },
	{ CUDA_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
	  "the capture was not initiated in this stream" },
	{ CUDA_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
	  "the capture contains a fork that was not joined to the primary stream" },
	{ CUDA_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
	  "a dependency would have been created which crosses the capture sequence boundary" },
};

static int
error_name(int result, const char **text)
{
	for (size_t i = 0; i < sizeof result_table / sizeof *result_table; i++)
		if (result_table[i].code == result) {
			*text = result_table[i].name;
			return 0;
		}
	*text = NULL;
	return CUDA_INVALID_VALUE;
}

static int
error_string(int result, const char **text)
{
	*text = NULL;
	if (result == DRV_CUDA_ERROR_LAUNCH_FAILED && cuda_now() && cuda_now()->fault[0])
		*text = cuda_now()->fault;
	for (size_t i = 0; i < sizeof result_table / sizeof *result_table && !*text; i++)
		if (result_table[i].code == result)
			*text = result_table[i].text;
	return *text ? 0 : CUDA_INVALID_VALUE;
}

/* Shared memory of a block in bytes: CUDA C++ Programming Guide, "Technical Specifications per Compute
 * Capability". */
static int
shared_most(int capability)
{
	switch (capability) {
	case 75: return 64 << 10;
	case 80:
	case 87: return 163 << 10;
	case 86:
	case 89:
	case 120:
	case 121: return 99 << 10;
	default: return SHARED_MAX;
	}
}

static int
device_attribute(int *value, int attribute, int device)
{
	switch (attribute) {
	case DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = device / 10; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = device % 10; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = SMS; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 16; return 0;
	case DRV_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*value = shared_most(device);
		return 0;
	default: return CUDA_INVALID_VALUE;
	}
}

static int
device_name(char *name, int len, int device)
{
	snprintf(name, (size_t)len, "simulator of compute capability %d.%d", device / 10, device % 10);
	return 0;
}

static int
device_memory(size_t *bytes, int device)
{
	(void)device;
	*bytes = (size_t)1 << 34;
	return 0;
}

/* A device has as many of the driver's primary contexts as were retained: one for each hexc_gpu. */
static int
context_new(void **context, int device)
{
	Context *c = calloc(1, sizeof *c);

	*context = NULL;
	if (!c || !(c->s = sim_open())) {
		free(c);
		return CUDA_OUT_OF_MEMORY;
	}
	pthread_mutex_init(&c->alone, NULL);
	c->capability = device;
	*context = c;
	return 0;
}

/* Frees the current one. */
static int
context_free(int device)
{
	Context *c = cuda_now();
	int n = 0;

	if (!c || c->capability != device)
		return INVALID_CONTEXT;
	for (int i = 0; i < contexts.n; i++)
		if (contexts.context[i] != c)
			contexts.context[n++] = contexts.context[i];
	contexts.n = n; /* it may have been pushed several times */
	sim_close(c->s);
	pthread_mutex_destroy(&c->alone);
	free(c);
	return 0;
}

static int
context_push(void *context)
{
	if (!context || contexts.n == STACK)
		return INVALID_CONTEXT;
	contexts.context[contexts.n++] = context;
	return 0;
}

static int
context_pop(void **context)
{
	*context = cuda_now();
	contexts.n -= *context != NULL;
	return *context ? 0 : INVALID_CONTEXT;
}

static int
context_now(void **context)
{
	*context = cuda_now();
	return 0;
}

static int
context_device(int *device)
{
	*device = cuda_now() ? cuda_now()->capability : 0;
	return cuda_state();
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static int
memory_new(unsigned long long *ptr, size_t bytes)
{
	*ptr = 0;
	if (cuda_state() || !bytes)
		return cuda_state() ? cuda_state() : CUDA_INVALID_VALUE;
	*ptr = sim_alloc(cuda_enter(cuda_now()), bytes, NULL);
	cuda_leave(cuda_now(), SIM_OK);
	return *ptr ? 0 : CUDA_OUT_OF_MEMORY;
}

static int
memory_free(unsigned long long ptr)
{
	return cuda_state() ? cuda_state() : cuda_leave(cuda_now(), sim_free(cuda_enter(cuda_now()), ptr));
}

static int
memory_write(unsigned long long to, const void *from, size_t bytes)
{
	return cuda_state() ? cuda_state()
	                    : cuda_leave(cuda_now(), sim_write(cuda_enter(cuda_now()), to, from, bytes));
}

static int
memory_read(void *to, unsigned long long from, size_t bytes)
{
	return cuda_state() ? cuda_state()
	                    : cuda_leave(cuda_now(), sim_read(cuda_enter(cuda_now()), from, to, bytes));
}

/* The error of a copy on a stream, 0: none. Captures have only launches here. */
static int
copy_state(const Stream *s)
{
	return cuda_state() ? cuda_state() : s && s->capture ? CUDA_NOT_SUPPORTED : 0;
}

static int
memory_fill(unsigned long long ptr, unsigned char value, size_t bytes, void *stream)
{
	int code = copy_state(stream);

	return code ? code : cuda_leave(cuda_now(), sim_fill(cuda_enter(cuda_now()), ptr, value, bytes));
}

static int
memory_write_on(unsigned long long to, const void *from, size_t bytes, void *stream)
{
	int code = copy_state(stream);

	return code ? code : memory_write(to, from, bytes);
}

static int
memory_read_on(void *to, unsigned long long from, size_t bytes, void *stream)
{
	int code = copy_state(stream);

	return code ? code : memory_read(to, from, bytes);
}

/* All bytes are initialised then. One context is locked at a time. */
static int
memory_copy_peer(unsigned long long to, void *to_context, unsigned long long from, void *from_context,
                 size_t bytes, void *stream)
{
	int code = copy_state(stream);
	void *data = code ? NULL : malloc(bytes + 1);

	if (!data)
		return code ? code : CUDA_OUT_OF_MEMORY;
	code = cuda_leave(from_context, sim_read(cuda_enter(from_context), from, data, bytes));
	if (!code)
		code = cuda_leave(to_context, sim_write(cuda_enter(to_context), to, data, bytes));
	free(data);
	return code;
}

static int
memory_copy(unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
	return memory_copy_peer(to, cuda_now(), from, cuda_now(), bytes, stream);
}

/* Not pinned, but aligned to pages as the driver's. */
static int
host_new(void **ptr, size_t bytes, unsigned flags)
{
	*ptr = NULL;
	if (cuda_state() || !bytes || flags & ~(unsigned)DRV_CU_MEMHOSTALLOC_PORTABLE)
		return cuda_state() ? cuda_state() : CUDA_INVALID_VALUE;
	*ptr = bytes > SIZE_MAX - PAGE ? NULL : aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
	return *ptr ? 0 : CUDA_OUT_OF_MEMORY;
}

static int
host_free(void *ptr)
{
	free(ptr);
	return 0;
}

/* ---- modules ------------------------------------------------------------------------------------------ */

/* PTX for this capability, or an older one without a letter. */
static bool
runs_here(const sim_module *m)
{
	char *end;
	long sm = strtol(sim_target(m) + 3, &end, 10);

	return *end ? sm == cuda_now()->capability : sm <= cuda_now()->capability;
}

static int
module_load(void **module, const void *image, unsigned n, int *option, void **value)
{
	sim_message msg = { 0, "" };
	int code = 0;
	Module *m;

	if (cuda_state())
		return cuda_state();
	if (memcmp(image, "\177ELF", 4) == 0)
		return NO_BINARY; /* then the caller loads its PTX */
	m = calloc(1, sizeof *m);
	if (!m)
		return CUDA_OUT_OF_MEMORY;
	m->of = cuda_now();
	if (sim_load(cuda_enter(m->of), image, strlen(image), &m->m) != SIM_OK) {
		code = INVALID_PTX;
		sim_message_at(m->of->s, 0, &msg);
		if (n == 2 && option[0] == DRV_CU_JIT_ERROR_LOG_BUFFER)
			snprintf(value[0], (size_t)value[1], "line %u: %s", msg.line, msg.text);
	} else if (!runs_here(m->m)) {
		code = NO_BINARY;
		sim_unload(m->of->s, m->m);
	}
	cuda_leave(m->of, SIM_OK);
	if (code)
		free(m);
	else
		*module = m;
	return code;
}

static int
module_unload(void *module)
{
	Module *m = module;

	sim_unload(cuda_enter(m->of), m->m);
	cuda_leave(m->of, SIM_OK);
	for (Function *f = m->function, *next; f; f = next) {
		next = f->next;
		free(f->name);
		free(f);
	}
	free(m);
	return 0;
}

/* The module's function with this name, created on first request; NULL: out of memory. */
static Function *
function_of(Module *m, const char *name)
{
	Function *f = m->function;

	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof *f);
	if (!f || !(f->name = strdup(name))) {
		free(f);
		return NULL;
	}
	f->of = m;
	f->next = m->function;
	f->shared = 48 << 10;
	m->function = f;
	return f;
}

static int
module_function(void **function, void *module, const char *name)
{
	Module *m = module;
	sim_entry_info e;

	if (cuda_state() || !sim_entry_find(m->m, name, &e))
		return cuda_state() ? cuda_state() : NOT_FOUND;
	cuda_enter(m->of);
	*function = function_of(m, name);
	cuda_leave(m->of, SIM_OK);
	return *function ? 0 : CUDA_OUT_OF_MEMORY;
}

static int
function_attribute(void *function, int attribute, int value)
{
	Function *f = function;

	if (attribute != DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
	    value > shared_most(f->of->of->capability))
		return CUDA_INVALID_VALUE;
	f->shared = value;
	return 0;
}

/* PTX is executed directly: there is no cubin to build, and so none to cache. */
static int
link_new(unsigned n, int *option, void **value, void **state)
{
	(void)n, (void)option, (void)value;
	*state = NULL;
	return CUDA_NOT_SUPPORTED;
}

static int
link_add(void *state, int type, void *data, size_t bytes, const char *name, unsigned n, int *option,
         void **value)
{
	(void)state, (void)type, (void)data, (void)bytes, (void)name, (void)n, (void)option, (void)value;
	return CUDA_NOT_SUPPORTED;
}

static int
link_end(void *state, void **cubin, size_t *bytes)
{
	(void)state, (void)cubin, (void)bytes;
	return CUDA_NOT_SUPPORTED;
}

static int
link_free(void *state)
{
	(void)state;
	return CUDA_NOT_SUPPORTED;
}

static int
held_blocks(int *blocks, void *function, int threads, size_t shared)
{
	(void)function;
	*blocks = threads > 0 && shared <= SHARED_MAX ? 2048 / threads : 0;
	if (shared && SHARED_MAX / (int)shared < *blocks)
		*blocks = SHARED_MAX / (int)shared;
	return *blocks ? 0 : CUDA_INVALID_VALUE;
}

bool
cuda_holds(void *function, const unsigned grid[3], const unsigned block[3], unsigned shared)
{
	int each, threads = (int)(block[0] * block[1] * block[2]);

	return held_blocks(&each, function, threads, shared) == 0 &&
	       (uint64_t)grid[0] * grid[1] * grid[2] <= (uint64_t)each * SMS;
}

static int
held_clusters(int *clusters, void *function, const DriverLaunch *l)
{
	const unsigned *b = l->attribute->value;
	int blocks = (int)(b[0] * b[1] * b[2]);

	(void)function;
	*clusters = blocks < SMS ? SMS / blocks : 1; /* one always fits here, however large */
	return 0;
}

static int
device_of(int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}

static int
device_count(int *count)
{
	*count = 0; /* devices are requested by their capability */
	return 0;
}

sim_function
cuda_device_function(const char *name)
{
	static const Driver table = {
		.cuInit = initialize,
		.cuDriverGetVersion = driver_version,
		.cuGetErrorName = error_name,
		.cuGetErrorString = error_string,
		.cuDeviceGetCount = device_count,
		.cuDeviceGet = device_of,
		.cuDeviceGetName = device_name,
		.cuDeviceGetAttribute = device_attribute,
		.cuDeviceTotalMem_v2 = device_memory,
		.cuDevicePrimaryCtxRetain = context_new,
		.cuDevicePrimaryCtxRelease_v2 = context_free,
		.cuCtxPushCurrent_v2 = context_push,
		.cuCtxPopCurrent_v2 = context_pop,
		.cuCtxGetCurrent = context_now,
		.cuCtxGetDevice = context_device,
		.cuMemAlloc_v2 = memory_new,
		.cuMemFree_v2 = memory_free,
		.cuMemcpyHtoD_v2 = memory_write,
		.cuMemcpyDtoH_v2 = memory_read,
		.cuMemcpyHtoDAsync_v2 = memory_write_on,
		.cuMemcpyDtoHAsync_v2 = memory_read_on,
		.cuMemcpyDtoDAsync_v2 = memory_copy,
		.cuMemcpyPeerAsync = memory_copy_peer,
		.cuMemHostAlloc = host_new,
		.cuMemFreeHost = host_free,
		.cuMemsetD8Async = memory_fill,
		.cuModuleLoadDataEx = module_load,
		.cuModuleUnload = module_unload,
		.cuLinkCreate_v2 = link_new,
		.cuLinkAddData_v2 = link_add,
		.cuLinkComplete = link_end,
		.cuLinkDestroy = link_free,
		.cuModuleGetFunction = module_function,
		.cuFuncSetAttribute = function_attribute,
		.cuOccupancyMaxActiveBlocksPerMultiprocessor = held_blocks,
		.cuOccupancyMaxActiveClusters = held_clusters,
	};

	CUDA_FIND(table, name);
	return NULL;
}
