/* driver.c - a CUDA driver whose GPU is the simulator: what hexc asks of libcuda.so.1, for machines that
 * have none.
 *
 * It is as strict as the real one where a host can go wrong: a context must be current, more than 48 KB of
 * shared memory must be asked for, PTX for another capability is refused, a fault in a kernel comes out where
 * the host waits and spoils all that follows, and what is not freed is told.
 *
 *	FAKE_CUDA_DEVICES=N   GPUs (1)
 *	FAKE_CUDA_SM=75       their capability (90)
 *	FAKE_CUDA_STREAM=7    a stream that it takes beside the default one and those it made (none)
 *	FAKE_CUDA_FAIL=NAME   this function fails, with FAKE_CUDA_CODE (999)
 *	FAKE_CUDA_FAIL_AT=N   the N-th call that may fail does, and says so; what it frees is free then
 *	FAKE_CUDA_CLUSTERS=N  clusters that it holds at a time (as many as its multiprocessors give)
 *	FAKE_CUDA_IDLE=1      launches do nothing
 *
 * A cubin is "\177ELF", the arch, a newline and PTX.  Compiled with -DFAKE_OLD it lacks what came after
 * CUDA 11.0. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/gpu/driver.h"
#include "lib/hexc.h"
#include "lib/sim/sim.h"

#define EXPORT __attribute__((visibility("default")))

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NO_BINARY = 209,
       INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, UNKNOWN = 999 };

enum { SMS = 4 }; /* multiprocessors */

typedef struct Context Context;
typedef struct Module Module;

typedef struct Function {
	struct Function *next;
	Module *of;
	int shared; /* dynamic, that it may have */
	char name[200];
} Function;

struct Module {
	Context *of;
	sim_module *m;
	Function *function;
};

/* The primary one of a device. */
struct Context {
	int device, retained, allocs, modules, events;
	int sticky; /* a kernel failed: every call does from now on */
	int launches;
	sim *sim;
};

enum { DEVICES = 4, STREAMS = 4, NODES = 16, ARG_BYTES = 4096 };

/* A launch that is kept. */
typedef struct Node {
	Function *f;
	unsigned grid[3], block[3], shared, enabled;
	unsigned char bytes[ARG_BYTES];
	void *arg[HEXC_MAX_PARAMS];
	const struct Node *of; /* in what is instantiated: the graph's node */
} Node;

typedef struct Graph {
	Node node[NODES];
	int n;
	void *last; /* as cuStreamGetCaptureInfo has it */
} Graph;

typedef struct Stream {
	Graph *capture; /* NULL: it runs */
} Stream;

static struct {
	bool ready;
	int calls;
	const char *fail; /* what the environment says, once: launches are timed */
	int fail_at, idle;
	Context context[DEVICES];
	Stream stream[STREAMS];
	int streams;
} fake;
static _Thread_local Context *stack[16];
static _Thread_local int depth;

static Context *
now(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static int
number(const char *name, int otherwise)
{
	const char *s = getenv(name);

	return s ? atoi(s) : otherwise;
}

__attribute__((constructor)) static void
read_settings(void)
{
	fake.fail = getenv("FAKE_CUDA_FAIL");
	fake.fail_at = number("FAKE_CUDA_FAIL_AT", 0);
	fake.idle = number("FAKE_CUDA_IDLE", 0);
}

/* Is the function to fail, or may it not be called now? */
static int
check(const char *name, bool context)
{
	if (++fake.calls == fake.fail_at) {
		fprintf(stderr, "fake driver: call %d, %s, fails\n", fake.calls, name);
		return number("FAKE_CUDA_CODE", UNKNOWN);
	}
	if (fake.fail && strcmp(fake.fail, name) == 0)
		return number("FAKE_CUDA_CODE", UNKNOWN);
	if (!fake.ready && strcmp(name, "cuInit") != 0 && strcmp(name, "cuDriverGetVersion") != 0)
		return NOT_INITIALIZED;
	if (context && !now())
		return INVALID_CONTEXT;
	return context ? now()->sticky : 0;
}
#define CHECK(context)                                        \
	do {                                                  \
		int bad_ = check(__func__, context);          \
		if (bad_)                                     \
			return bad_;                          \
	} while (0)

/* Defined with the signatures that hexc calls them by. */
#define X(name, parameters) EXPORT int name parameters;
DRIVER_ALWAYS(X)
#ifndef FAKE_OLD
DRIVER_LATER(X)
#endif
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
	case DRV_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = SMS; return 0;
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
	Context *c = &fake.context[device];

	CHECK(false);
	c->device = device;
	if (!c->sim && !(c->sim = sim_open()))
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	c->retained++;
	*context = c;
	return 0;
}

int
cuDevicePrimaryCtxRelease_v2(int device)
{
	Context *c = &fake.context[device];

	if (!c->retained--)
		return INVALID_CONTEXT;
	if (c->retained == 0 && (c->allocs || c->modules || c->events || depth))
		fprintf(stderr,
		        "fake driver: left behind: %d allocations, %d modules, %d events, %d contexts\n",
		        c->allocs, c->modules, c->events, depth);
	CHECK(false);
	return 0;
}

int
cuCtxPushCurrent_v2(void *context)
{
	CHECK(false);
	if (!context || depth == 16)
		return INVALID_CONTEXT;
	stack[depth++] = context;
	return 0;
}

int
cuCtxPopCurrent_v2(void **context)
{
	*context = now();
	if (depth == 0)
		return INVALID_CONTEXT;
	depth--;
	CHECK(false);
	return 0;
}

int
cuCtxGetCurrent(void **context)
{
	CHECK(false);
	*context = now();
	return 0;
}

int
cuCtxGetDevice(int *device)
{
	CHECK(true);
	*device = now()->device;
	return 0;
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
	*ptr = bytes ? sim_alloc(now()->sim, bytes, NULL) : 0;
	if (!*ptr)
		return bytes ? DRV_CUDA_ERROR_OUT_OF_MEMORY : INVALID_VALUE;
	sim_mark(now()->sim, *ptr, bytes, 0);
	now()->allocs++;
	return 0;
}

int
cuMemFree_v2(unsigned long long ptr)
{
	if (now())
		now()->allocs--; /* a context that is lost gives all back */
	CHECK(true);
	return sim_free(now()->sim, ptr) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	CHECK(true);
	return sim_write(now()->sim, to, from, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	CHECK(true);
	return sim_read(now()->sim, from, to, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemsetD8Async(unsigned long long ptr, unsigned char value, size_t bytes, void *stream)
{
	CHECK(true);
	return !stream && sim_fill(now()->sim, ptr, value, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

/* Text for this capability, or an older one without a letter. */
static bool
runs_here(const sim_module *m)
{
	char *end;
	long sm = strtol(sim_target(m) + 3, &end, 10);

	return *end ? sm == number("FAKE_CUDA_SM", 90) : sm <= number("FAKE_CUDA_SM", 90);
}

/* The PTX of a cubin for this generation; NULL: it is for another. */
static const char *
cubin_text(const char *image)
{
	long sm = strtol(image + strlen("\177ELFsm_"), NULL, 10);
	const char *line = strchr(image, '\n');

	return sm / 10 == number("FAKE_CUDA_SM", 90) / 10 && sm <= number("FAKE_CUDA_SM", 90) ? line + 1
	                                                                                      : NULL;
}

int
cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *option, void **value)
{
	const char *text = image;
	Module *m;
	sim_message msg = { 0, "" };

	CHECK(true);
	if (memcmp(text, "\177ELF", 4) == 0 && !(text = cubin_text(text)))
		return NO_BINARY;
	m = calloc(1, sizeof *m);
	if (!m)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	m->of = now();
	if (sim_load(m->of->sim, text, strlen(text), &m->m) != SIM_OK) {
		sim_message_at(m->of->sim, 0, &msg);
		if (n == 2 && option[0] == DRV_CU_JIT_ERROR_LOG_BUFFER)
			snprintf(value[0], (size_t)value[1], "line %u: %s", msg.line, msg.text);
		free(m);
		return INVALID_PTX;
	}
	if (!runs_here(m->m)) {
		free(m);
		return NO_BINARY;
	}
	m->of->modules++;
	*module = m;
	return 0;
}

int
cuModuleUnload(void *module)
{
	Module *m = module;

	if (now())
		m->of->modules--;
	CHECK(true);
	sim_unload(m->of->sim, m->m);
	for (Function *f = m->function, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(m);
	return 0;
}

int
cuModuleGetFunction(void **function, void *module, const char *name)
{
	Module *m = module;
	sim_entry_info e;
	Function *f;

	CHECK(true);
	if (m->of != now() || !sim_entry_find(m->m, name, &e))
		return NOT_FOUND;
	for (f = m->function; f && strcmp(f->name, name) != 0; f = f->next)
		;
	if (!f) {
		f = calloc(1, sizeof *f);
		if (!f)
			return DRV_CUDA_ERROR_OUT_OF_MEMORY;
		*f = (Function){ .next = m->function, .of = m, .shared = 48 << 10 };
		snprintf(f->name, sizeof f->name, "%s", name);
		m->function = f;
	}
	*function = f;
	return 0;
}

int
cuFuncSetAttribute(void *function, int attribute, int value)
{
	Function *f = function;

	CHECK(true);
	if (attribute != DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 227 << 10)
		return INVALID_VALUE;
	f->shared = value;
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

int
cuOccupancyMaxActiveClusters(int *clusters, void *function, const DriverLaunch *l)
{
	unsigned blocks = 1;

	CHECK(true);
	if (!function || l->n != 1 || l->attribute->id != DRV_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ||
	    !l->block[0] || l->shared > 227 << 10)
		return INVALID_VALUE;
	for (int d = 0; d < 3; d++) {
		if (!l->attribute->blocks[d] || l->grid[d] % l->attribute->blocks[d])
			return INVALID_VALUE;
		blocks *= l->attribute->blocks[d];
	}
	*clusters = number("FAKE_CUDA_CLUSTERS", number("FAKE_CUDA_BLOCKS", 1) * SMS / (int)blocks);
	return 0;
}

/* ---- launches and streams ------------------------------------------------------------------------ */

static Stream *
stream_of(void *stream)
{
	for (int i = 0; i < STREAMS; i++)
		if (stream == &fake.stream[i])
			return stream;
	return NULL;
}

static bool
is_stream(void *stream)
{
	return !stream || stream_of(stream) || (uintptr_t)stream == (uintptr_t)number("FAKE_CUDA_STREAM", 0);
}

static int
run(Function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	sim_launch l = none;
	sim_result *r = NULL;
	int code;

	now()->launches++;
	if (fake.idle)
		return 0;
	memcpy(l.grid, grid, sizeof l.grid);
	memcpy(l.block, block, sizeof l.block);
	l.smem = shared;
	l.args = (const void **)args;
	code = sim_run(now()->sim, f->of->m, f->name, &l, &r);
	if (code == SIM_E_FAULT)
		now()->sticky = DRV_CUDA_ERROR_ILLEGAL_ADDRESS;
	if (r && sim_result_output(r, NULL)) /* as the driver does, to the process's standard output */
		fputs(sim_result_output(r, NULL), stdout);
	sim_result_free(r);
	return code == SIM_OK || code == SIM_E_FAULT ? 0 : INVALID_VALUE;
}

/* Keep a launch, with its arguments as they are now. */
static int
node_set(Node *n, Function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args)
{
	sim_param_info p;
	size_t at = 0;

	n->f = f;
	n->shared = shared;
	memcpy(n->grid, grid, sizeof n->grid);
	memcpy(n->block, block, sizeof n->block);
	for (size_t i = 0; sim_param_at(f->of->m, f->name, i, &p); i++) {
		at = (at + 63) / 64 * 64;
		if (at + p.bytes > sizeof n->bytes)
			return INVALID_VALUE;
		memcpy(n->bytes + at, args[i], p.bytes);
		n->arg[i] = n->bytes + at;
		at += p.bytes;
	}
	return 0;
}

static bool
launchable(const Function *f, const unsigned grid[3], unsigned shared)
{
	return f && grid[0] && grid[1] && grid[2] && (int)shared <= f->shared && f->of->of == now();
}

int
cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared, void *stream, void **args, void **extra)
{
	unsigned grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
	Stream *s = stream_of(stream);

	CHECK(true);
	if (!launchable(function, grid, shared) || extra || !is_stream(stream))
		return INVALID_VALUE;
	if (!s || !s->capture)
		return run(function, grid, block, shared, args);
	if (s->capture->n == NODES)
		return INVALID_VALUE;
	s->capture->node[s->capture->n].enabled = 1;
	s->capture->last = &s->capture->node[s->capture->n];
	return node_set(&s->capture->node[s->capture->n++], function, grid, block, shared, args);
}

EXPORT int
cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	*stream = fake.streams < STREAMS ? &fake.stream[fake.streams++] : NULL;
	return *stream ? 0 : INVALID_VALUE;
}

EXPORT int
cuStreamBeginCapture_v2(void *stream, int mode)
{
	(void)mode;
	if (!stream_of(stream) || stream_of(stream)->capture)
		return INVALID_VALUE;
	stream_of(stream)->capture = calloc(1, sizeof(Graph));
	return 0;
}

EXPORT int
cuStreamEndCapture(void *stream, void **graph)
{
	*graph = stream_of(stream)->capture;
	stream_of(stream)->capture = NULL;
	return *graph ? 0 : INVALID_VALUE;
}

EXPORT int
cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	const Graph *g = graph;
	Graph *e = calloc(1, sizeof *e);

	(void)flags;
	*e = *g;
	for (int i = 0; i < e->n; i++) {
		e->node[i].of = &g->node[i];
		for (int a = 0; a < HEXC_MAX_PARAMS; a++)
			if (g->node[i].arg[a])
				e->node[i].arg[a] = e->node[i].bytes +
				                    ((unsigned char *)g->node[i].arg[a] - g->node[i].bytes);
	}
	*exec = e;
	return 0;
}

EXPORT int
cuGraphLaunch(void *exec, void *stream)
{
	Graph *e = exec;
	int code = is_stream(stream) ? 0 : INVALID_VALUE;

	for (int i = 0; i < e->n && !code; i++)
		if (e->node[i].enabled)
			code = run(e->node[i].f, e->node[i].grid, e->node[i].block, e->node[i].shared,
			           e->node[i].arg);
	return code;
}

EXPORT int
cuGraphDestroy(void *graph) /* and cuGraphExecDestroy */
{
	free(graph);
	return 0;
}

#ifndef FAKE_OLD
static Node *
node_of(void *exec, const void *node)
{
	Graph *e = exec;

	for (int i = 0; i < e->n; i++)
		if (e->node[i].of == node)
			return &e->node[i];
	return NULL;
}

int
cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph, void *const **nodes,
                          size_t *n)
{
	Stream *s = stream_of(stream);

	CHECK(true);
	*status = s && s->capture ? DRV_CU_STREAM_CAPTURE_STATUS_ACTIVE : 0;
	if (*status) {
		*id = 1;
		*graph = s->capture;
		*n = s->capture->n > 0;
		*nodes = &s->capture->last;
	}
	return 0;
}

int
cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const DriverNode *p)
{
	Node *to = node_of(exec, node);

	CHECK(true);
	if (!to || p->extra || !launchable(p->function, p->grid, p->shared))
		return INVALID_VALUE;
	return node_set(to, p->function, p->grid, p->block, p->shared, p->args);
}

int
cuGraphNodeSetEnabled(void *exec, void *node, unsigned enabled)
{
	Node *to = node_of(exec, node);

	CHECK(true);
	if (!to)
		return INVALID_VALUE;
	to->enabled = enabled;
	return 0;
}

/* By the simulator's rules, which are the driver's; the map's 128 bytes are the simulator's own. */
int
cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dim,
                       const uint64_t *stride, const unsigned *box, const unsigned *step, int interleave,
                       int swizzle, int l2, int fill)
{
	CHECK(true);
	if ((uintptr_t)map % 64 || !address)
		return INVALID_VALUE;
	return sim_tmap_tiled(map, type, rank, address, dim, stride, box, step, interleave, swizzle, l2,
	                      fill) == SIM_OK
	               ? 0
	               : INVALID_VALUE;
}
#endif

/* ---- events ---------------------------------------------------------------------------------------- */

/* An event is the number of launches before it. */
int
cuEventCreate(void **event, unsigned flags)
{
	CHECK(true);
	*event = flags == 0 ? calloc(1, sizeof(int)) : NULL;
	now()->events += *event != NULL;
	return *event ? 0 : INVALID_VALUE;
}

int
cuEventRecord(void *event, void *stream)
{
	CHECK(true);
	*(int *)event = now()->launches;
	return is_stream(stream) ? 0 : INVALID_VALUE;
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
	if (now())
		now()->events--;
	free(event);
	CHECK(true);
	return 0;
}
