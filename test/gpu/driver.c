/* driver.c - a CUDA driver whose GPU is the simulator: the functions of libcuda.so.1 that hexc uses, for
 * machines without a driver.
 *
 * It is as strict as the real one about host errors: a context must be current; a stream must be one of it;
 * more than 48 KB of shared memory must be requested; PTX for another capability is rejected; a fault in a
 * kernel is reported where the host waits and makes all later calls fail; leaks are reported. Copies on
 * streams happen as late as a driver may do them: when something waits for them. Freeing their memory before
 * that fails and is reported.
 *
 *	FAKE_CUDA_DEVICES=N   GPUs (1)
 *	FAKE_CUDA_SM=75       their capability (90)
 *	FAKE_CUDA_VERSION=N   of the driver (13000)
 *	FAKE_CUDA_STREAM=7    a stream accepted besides the default one and the created ones (none)
 *	FAKE_CUDA_FAIL=NAME   this function fails, with FAKE_CUDA_CODE (999)
 *	FAKE_CUDA_FAIL_AT=N   the N-th call that may fail does, and reports it; what it frees is free then
 *	FAKE_CUDA_CLUSTERS=N  maximum resident clusters (as many as its multiprocessors allow)
 *	FAKE_CUDA_IDLE=1      launches do nothing, and cubins built by ptxas are loaded
 *	FAKE_CUDA_NAME=TEXT   name of the GPUs ("simulated GPU N")
 *	FAKE_CUDA_STRETCH=US  launches take US microseconds per wave of blocks; events report it
 *	FAKE_CUDA_MEMORY=KB   limit of allocated memory
 *	FAKE_CUDA_FAULT=TEXT  a kernel with TEXT in its name faults, FAKE_CUDA_HANG: it never ends,
 *	                      FAKE_CUDA_REFUSE: its PTX does not compile; each may begin with "N:", the
 *	                      first N times, counted in the file FAKE_CUDA_COUNTS
 *	FAKE_CUDA_LOADS=FILE  gets a line for each module, with "cubin" or "ptx"
 *
 * A cubin is "\177ELF", the arch, a newline and PTX. Compiled with -DFAKE_OLD it lacks all functions newer
 * than CUDA 11.0. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/gpu/driver.h"
#include "lib/hexc.h"
#include "lib/sim/cuda/graph.h"
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
	sim_module *m; /* NULL: machine code, which the simulator cannot run */
	Function *function;
};

/* A copy on a stream that has not happened yet. */
typedef struct Copy {
	enum { TO_DEVICE, TO_HOST, TO_PEER, FILL } kind;
	Context *to_of, *from_of; /* NULL: host memory */
	unsigned long long to, from;
	size_t bytes;
	int value;
	void *staged; /* the bytes, copied before; or NULL */
	uint64_t number; /* copies before it on this stream */
} Copy;

enum { COPIES = 32, PINNED = 64 };

typedef struct Queue {
	Stream s; /* first, so that it is the CUstream */
	Context *of; /* NULL: any */
	bool live;
	Copy copy[COPIES];
	int n;
	uint64_t number; /* copies that there were */
} Queue;

typedef struct Event {
	CudaEvent e; /* first */
	bool untimed;
	Queue *on; /* NULL: it is not recorded, or nothing has to be done before it */
	uint64_t number; /* copies before it there */
} Event;

/* The primary one of a device. */
struct Context {
	Queue standard; /* the default stream */
	int device, retained, allocs, pinned, modules, events;
	int sticky; /* a kernel failed: every call does from now on */
	int launches;
	double ns; /* that they took, where they take time */
	sim *sim;
};

enum { DEVICES = 4, STREAMS = 8 };

static struct {
	bool ready;
	int calls;
	const char *fail; /* what the environment says, once: launches are timed */
	int fail_at, idle, stretch;
	int dependent; /* launches that may start beside the one before */
	Context context[DEVICES];
	Queue stream[STREAMS];
	struct {
		char *at; /* NULL: free */
		size_t bytes;
		Context *of;
	} pinned[PINNED];
	int graphs;
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
	fake.stretch = number("FAKE_CUDA_STRETCH", 0);
}

/* Is this planted for the kernel, or for a text that names it? */
static bool
planted(const char *setting, const char *text)
{
	const char *s = getenv(setting), *counts = getenv("FAKE_CUDA_COUNTS");
	char *end;
	long most;
	FILE *f;
	int done = 0, c;

	if (!s || !*s)
		return false;
	most = strtol(s, &end, 10);
	if (*end != ':')
		return strstr(text, s) != NULL;
	if (!strstr(text, end + 1) || !counts)
		return false;
	f = fopen(counts, "a+");
	if (!f)
		return false;
	rewind(f);
	while ((c = getc(f)) != EOF)
		done += c == setting[10]; /* behind FAKE_CUDA_ */
	if (done < most)
		putc(setting[10], f);
	fclose(f);
	return done < most;
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
	*version = number("FAKE_CUDA_VERSION", 13000);
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
	if (getenv("FAKE_CUDA_NAME"))
		snprintf(name, (size_t)len, "%s", getenv("FAKE_CUDA_NAME"));
	else
		snprintf(name, (size_t)len, "simulated GPU %d", device);
	return 0;
}

/* Shared memory of a block, in bytes. */
static int
shared_most(int sm)
{
#define TARGET(name, number, ptx, llvm, smem, ...)                                                           \
	if (sm == (number))                                                                                  \
		return smem;
#include "hexc/ir/targets.def"
	return 227 << 10;
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
	case DRV_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = shared_most(sm); return 0;
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
	int others = 0; /* whose graphs may be there */

	for (int i = 0; i < DEVICES; i++)
		others += i != device ? fake.context[i].retained : 0;
	if (!c->retained--)
		return INVALID_CONTEXT;
	if (c->retained == 0 &&
	    (c->allocs || c->pinned || c->modules || c->events || (fake.graphs && !others) || depth))
		fprintf(stderr,
		        "fake driver: left behind: %d allocations, %d of the host, %d modules, %d events, "
		        "%d graphs, %d contexts\n",
		        c->allocs, c->pinned, c->modules, c->events, fake.graphs, depth);
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
cuMemAlloc_v2(unsigned long long *ptr, size_t bytes)
{
	CHECK(true);
	if (getenv("FAKE_CUDA_MEMORY") && bytes > (size_t)number("FAKE_CUDA_MEMORY", 0) << 10)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = bytes ? sim_alloc(now()->sim, bytes, NULL) : 0;
	if (!*ptr)
		return bytes ? DRV_CUDA_ERROR_OUT_OF_MEMORY : INVALID_VALUE;
	sim_mark(now()->sim, *ptr, bytes, 0);
	now()->allocs++;
	return 0;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static bool
copy_once(const Copy *c)
{
	void *data = (void *)(uintptr_t)(c->kind == TO_HOST ? c->to : c->from);
	bool ok;

	switch (c->kind) {
	case TO_DEVICE: return sim_write(c->to_of->sim, c->to, data, c->bytes) == SIM_OK;
	case TO_HOST: return sim_read(c->from_of->sim, c->from, data, c->bytes) == SIM_OK;
	case FILL: return sim_fill(c->to_of->sim, c->to, c->value, c->bytes) == SIM_OK;
	case TO_PEER: break;
	}
	data = malloc(c->bytes + 1);
	ok = data && sim_read(c->from_of->sim, c->from, data, c->bytes) == SIM_OK &&
	     sim_write(c->to_of->sim, c->to, data, c->bytes) == SIM_OK;
	free(data);
	return ok;
}

/* Lets the copies of a queue, which may be NULL, happen that are before this number. */
static void
catch_up(Queue *q, uint64_t number)
{
	int done = 0;

	for (; q && done < q->n && q->copy[done].number < number; done++) {
		if (!copy_once(&q->copy[done]))
			fprintf(stderr, "fake driver: a copy of %zu bytes fails\n", q->copy[done].bytes);
		free(q->copy[done].staged);
	}
	if (done)
		memmove(q->copy, q->copy + done, (size_t)(q->n -= done) * sizeof *q->copy);
}

/* The default stream, a created one of this context, or NULL. */
static Queue *
queue_of(void *stream)
{
	if (!stream)
		return now() ? &now()->standard : NULL;
	for (Queue *q = fake.stream; q < fake.stream + STREAMS; q++)
		if (stream == q && q->live && (!q->of || q->of == now()))
			return q;
	return NULL;
}

static void
catch_up_all(void *stream)
{
	catch_up(queue_of(stream), UINT64_MAX);
}

static bool
is_inside(unsigned long long ptr, unsigned long long from, size_t bytes)
{
	return ptr >= from && ptr - from < bytes;
}

/* Is a copy that has not happened in memory of this context (NULL: the host's) that starts here? */
static bool
copies_use(const Queue *q, const Context *of, unsigned long long ptr, size_t bytes)
{
	for (int i = 0; i < q->n; i++) {
		const Copy *c = &q->copy[i];

		if ((c->to_of == of && is_inside(c->to, ptr, bytes)) ||
		    (c->kind != FILL && c->from_of == of && is_inside(c->from, ptr, bytes))) {
			fprintf(stderr, "fake driver: memory of a copy is freed before it\n");
			return true;
		}
	}
	return false;
}

static bool
is_used(const Context *of, unsigned long long ptr, size_t bytes)
{
	bool used = false;

	for (int i = 0; i < DEVICES && !used; i++)
		used = copies_use(&fake.context[i].standard, of, ptr, bytes);
	for (int i = 0; i < STREAMS && !used; i++)
		used = copies_use(&fake.stream[i], of, ptr, bytes);
	return used;
}

static int
pinned_find(const char *ptr)
{
	for (int i = 0; i < PINNED; i++)
		if (fake.pinned[i].at && ptr >= fake.pinned[i].at &&
		    ptr < fake.pinned[i].at + fake.pinned[i].bytes)
			return i;
	return -1;
}

/* Is all of it allocated memory? That of the host may be any. */
static bool
has_bytes(const Context *of, unsigned long long ptr, size_t bytes)
{
	size_t count;

	return !of || sim_uninitialised(of->sim, ptr, bytes, &count) == SIM_OK;
}

static bool
is_pageable(const Context *of, unsigned long long ptr)
{
	return !of && pinned_find((char *)(uintptr_t)ptr) < 0;
}

/* Adds a copy to a stream; with pageable memory, it happens at once. */
static int
copy_on(Copy c, void *stream)
{
	Queue *q = queue_of(stream);
	bool late = c.staged || c.kind == FILL ||
	            (!is_pageable(c.to_of, c.to) && !is_pageable(c.from_of, c.from));

	if (!q)
		return INVALID_HANDLE;
	if (q->s.capture)
		return CUDA_NOT_SUPPORTED;
	if (!c.bytes || !has_bytes(c.to_of, c.to, c.bytes) ||
	    (c.kind != FILL && !has_bytes(c.from_of, c.from, c.bytes)))
		return INVALID_VALUE;
	if (!late || q->n == COPIES)
		catch_up_all(stream);
	if (!late)
		return copy_once(&c) ? 0 : INVALID_VALUE;
	c.number = q->number++;
	q->copy[q->n++] = c;
	return 0;
}

int
cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream)
{
	Copy c = { .kind = TO_DEVICE, .to_of = now(), .to = to, .from = (uintptr_t)from, .bytes = bytes };

	CHECK(true);
	return copy_on(c, stream);
}

int
cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream)
{
	Copy c = { .kind = TO_HOST, .from_of = now(), .to = (uintptr_t)to, .from = from, .bytes = bytes };

	CHECK(true);
	return copy_on(c, stream);
}

int
cuMemcpyPeerAsync(unsigned long long to, void *to_context, unsigned long long from, void *from_context,
                  size_t bytes, void *stream)
{
	Copy c = { .kind = TO_PEER, .to_of = to_context, .from_of = from_context, .to = to, .from = from,
		   .bytes = bytes };

	CHECK(true);
	if (!to_context || !from_context || !c.to_of->retained || !c.from_of->retained)
		return INVALID_CONTEXT;
	return copy_on(c, stream);
}

int
cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
	Copy c = { .kind = TO_PEER, .to_of = now(), .from_of = now(), .to = to, .from = from,
		   .bytes = bytes };

	CHECK(true);
	return copy_on(c, stream);
}

int
cuMemsetD8Async(unsigned long long ptr, unsigned char value, size_t bytes, void *stream)
{
	Copy c = { .kind = FILL, .to_of = now(), .to = ptr, .bytes = bytes, .value = value };

	CHECK(true);
	return copy_on(c, stream);
}

/* As from pageable memory: it returns when the bytes are copied to other memory. */
int
cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	Copy c = { .kind = TO_DEVICE, .to_of = now(), .to = to, .bytes = bytes };
	int code;

	CHECK(true);
	catch_up_all(NULL);
	c.staged = malloc(bytes + 1);
	if (!c.staged)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(c.staged, from, bytes);
	c.from = (uintptr_t)c.staged;
	code = copy_on(c, NULL);
	if (code)
		free(c.staged);
	return code;
}

int
cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	CHECK(true);
	catch_up_all(NULL);
	return sim_read(now()->sim, from, to, bytes) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemFree_v2(unsigned long long ptr)
{
	if (now())
		now()->allocs--; /* a context that is lost gives all back */
	CHECK(true);
	if (is_used(now(), ptr, 1))
		return INVALID_VALUE;
	return sim_free(now()->sim, ptr) == SIM_OK ? 0 : INVALID_VALUE;
}

int
cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	int i = 0;

	CHECK(true);
	while (i < PINNED && fake.pinned[i].at)
		i++;
	if (!bytes || flags != DRV_CU_MEMHOSTALLOC_PORTABLE || i == PINNED)
		return INVALID_VALUE;
	if (getenv("FAKE_CUDA_MEMORY") && bytes > (size_t)number("FAKE_CUDA_MEMORY", 0) << 10)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	if (!*ptr)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	fake.pinned[i].at = *ptr;
	fake.pinned[i].bytes = bytes;
	fake.pinned[i].of = now();
	now()->pinned++;
	return 0;
}

int
cuMemFreeHost(void *ptr)
{
	int i = pinned_find(ptr);

	if (i < 0 || fake.pinned[i].at != ptr || is_used(NULL, (uintptr_t)ptr, fake.pinned[i].bytes))
		return INVALID_VALUE;
	fake.pinned[i].of->pinned--;
	fake.pinned[i].at = NULL;
	free(ptr);
	CHECK(true);
	return 0;
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

/* Machine code of ptxas for this generation (an ELF file of EM_CUDA, 190, whose flags have the arch in their
 * second byte, or in older formats in the first), which nothing here can run. */
static bool
is_machine_code(const char *image)
{
	const unsigned char *b = (const unsigned char *)image;
	int sm = number("FAKE_CUDA_SM", 90);

	return memcmp(b, "\177ELF\2\1", 6) == 0 && b[18] == 190 && b[19] == 0 &&
	       (b[48] == sm || b[49] == sm);
}

/* FAKE_CUDA_LOADS */
static void
tell_load(const char *kind)
{
	FILE *f = getenv("FAKE_CUDA_LOADS") ? fopen(getenv("FAKE_CUDA_LOADS"), "a") : NULL;

	if (f) {
		fprintf(f, "%s\n", kind);
		fclose(f);
	}
}

int
cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *option, void **value)
{
	const char *text = image, *kind = memcmp(text, "\177ELF", 4) == 0 ? "cubin" : "ptx";
	Module *m;
	sim_message msg = { 0, "" };

	CHECK(true);
	if (fake.idle && is_machine_code(text)) {
		m = calloc(1, sizeof *m);
		if (!m)
			return DRV_CUDA_ERROR_OUT_OF_MEMORY;
		m->of = now();
		m->of->modules++;
		*module = m;
		tell_load(kind);
		return 0;
	}
	if (*kind == 'c' && !(text = cubin_text(text)))
		return NO_BINARY;
	if (*kind == 'p' && planted("FAKE_CUDA_REFUSE", text))
		return INVALID_PTX;
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
	tell_load(kind);
	return 0;
}

/* A linker's state is the cubin that it makes: its bytes, a NUL among them. */
typedef struct Link {
	char *cubin;
} Link;

int
cuLinkCreate_v2(unsigned n, int *option, void **value, void **state)
{
	(void)option;
	(void)value;
	CHECK(true);
	*state = n ? NULL : calloc(1, sizeof(Link));
	if (!*state)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	now()->modules++;
	return 0;
}

int
cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name, unsigned n, int *option,
                 void **value)
{
	Link *link = state;
	sim_module *m;

	(void)name;
	(void)option;
	(void)value;
	CHECK(true);
	if (type != DRV_CU_JIT_INPUT_PTX || n || !bytes || ((char *)data)[bytes - 1])
		return INVALID_VALUE;
	if (sim_load(now()->sim, data, bytes - 1, &m) != SIM_OK)
		return INVALID_PTX;
	sim_unload(now()->sim, m);
	link->cubin = malloc(bytes + 20);
	if (!link->cubin)
		return DRV_CUDA_ERROR_OUT_OF_MEMORY;
	sprintf(link->cubin, "\177ELFsm_%d\n%s", number("FAKE_CUDA_SM", 90), (char *)data);
	return 0;
}

int
cuLinkComplete(void *state, void **cubin, size_t *bytes)
{
	Link *link = state;

	CHECK(true);
	*cubin = link->cubin;
	*bytes = link->cubin ? strlen(link->cubin) + 1 : 0;
	return link->cubin ? 0 : INVALID_VALUE;
}

int
cuLinkDestroy(void *state)
{
	Link *link = state;

	if (now())
		now()->modules--;
	free(link->cubin);
	free(link);
	CHECK(true);
	return 0;
}

int
cuModuleUnload(void *module)
{
	Module *m = module;

	if (now())
		m->of->modules--;
	CHECK(true);
	if (m->m)
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
	if (m->of != now() || (m->m && !sim_entry_find(m->m, name, &e)))
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
		if (!l->attribute->value[d] || l->grid[d] % l->attribute->value[d])
			return INVALID_VALUE;
		blocks *= l->attribute->value[d];
	}
	*clusters = number("FAKE_CUDA_CLUSTERS", number("FAKE_CUDA_BLOCKS", 1) * SMS / (int)blocks);
	return 0;
}

/* ---- launches and streams ------------------------------------------------------------------------ */

/* A created stream of this context; NULL: another one, or none. */
static Stream *
stream_of(void *stream)
{
	Queue *q = stream ? queue_of(stream) : NULL;

	return q ? &q->s : NULL;
}

static bool
is_stream(void *stream)
{
	return !stream || stream_of(stream) || (uintptr_t)stream == (uintptr_t)number("FAKE_CUDA_STREAM", 0);
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* FAKE_CUDA_STRETCH: until the launch that began then has taken its time. */
static void
stretched(const unsigned grid[3], double began)
{
	double blocks = (double)grid[0] * grid[1] * grid[2], waves = (double)(long)((blocks + SMS - 1) / SMS);
	double ns = waves * fake.stretch * 1000, left = ns - (now_ns() - began);
	struct timespec t;

	now()->ns += ns;
	if (left > 0) {
		t.tv_sec = (time_t)(left / 1e9);
		t.tv_nsec = (long)(left - (double)t.tv_sec * 1e9);
		nanosleep(&t, NULL);
	}
}

/* What is planted for the kernel happens: does it end there? */
static bool
goes_wrong(const Function *f)
{
	struct timespec long_time = { 1000, 0 };

	while (planted("FAKE_CUDA_HANG", f->name))
		nanosleep(&long_time, NULL);
	if (planted("FAKE_CUDA_FAULT", f->name)) {
		now()->sticky = DRV_CUDA_ERROR_ILLEGAL_ADDRESS;
		return true;
	}
	return false;
}

static int
run(Function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, void **args,
    bool dependent)
{
	static const sim_launch none = SIM_LAUNCH_INIT;
	sim_launch l = none;
	sim_result *r = NULL;
	double began = fake.stretch ? now_ns() : 0;
	int code;

	now()->launches++;
	fake.dependent += dependent;
	if (goes_wrong(f))
		return 0;
	if (fake.idle) {
		if (fake.stretch)
			stretched(grid, began);
		return 0;
	}
	memcpy(l.grid, grid, sizeof l.grid);
	memcpy(l.block, block, sizeof l.block);
	l.smem = shared;
	l.dependent = dependent;
	l.args = (const void **)args;
	code = sim_run(now()->sim, f->of->m, f->name, &l, &r);
	if (code == SIM_E_FAULT)
		now()->sticky = DRV_CUDA_ERROR_ILLEGAL_ADDRESS;
	if (r && sim_result_output(r, NULL)) /* as the driver does, to the process's standard output */
		fputs(sim_result_output(r, NULL), stdout);
	sim_result_free(r);
	if (fake.stretch)
		stretched(grid, began);
	return code == SIM_OK || code == SIM_E_FAULT ? 0 : INVALID_VALUE;
}

static int
run_kept(void *user, const Kept *k)
{
	(void)user;
	return run(k->function, k->grid, k->block, k->shared, (void **)(uintptr_t)k->arg, k->dependent);
}

static bool
holds(const unsigned grid[3])
{
	return (double)grid[0] * grid[1] * grid[2] <= number("FAKE_CUDA_BLOCKS", 1) * SMS;
}

static bool
launchable(const Function *f, const unsigned grid[3], unsigned shared)
{
	return f && grid[0] && grid[1] && grid[2] && (int)shared <= f->shared && f->of->of == now();
}

static int
launch(const Kept *k, void *stream, void **args, void **extra)
{
	Function *f = k->function;
	Stream *s = stream_of(stream);

	if (!launchable(f, k->grid, k->shared) || extra || !is_stream(stream))
		return INVALID_VALUE;
	if (k->cooperative && !holds(k->grid))
		return DRV_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	catch_up_all(stream);
	if (!s || !s->capture)
		return run(f, k->grid, k->block, k->shared, args, k->dependent);
	return stream_add(s, f->of->m, f->name, k, args);
}

int
cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
               unsigned shared, void *stream, void **args, void **extra)
{
	Kept k = { .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared };

	CHECK(true);
	return launch(&k, stream, args, extra);
}

int
cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **args)
{
	Kept k = { .function = function, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared,
		   .cooperative = true };

	CHECK(true);
	return launch(&k, stream, args, NULL);
}

#ifndef FAKE_OLD
/* Such launches alone as the next may start beside: the simulator then sees what does not wait. */
int
cuLaunchKernelEx(const DriverLaunch *l, void *function, void **args, void **extra)
{
	Kept k = { .function = function, .shared = l->shared, .dependent = true };

	CHECK(true);
	if (l->n != 1 || l->attribute->id != DRV_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
	    l->attribute->value[0] != 1)
		return INVALID_VALUE;
	memcpy(k.grid, l->grid, sizeof k.grid);
	memcpy(k.block, l->block, sizeof k.block);
	return launch(&k, l->stream, args, extra);
}
#endif

/* How many there were of these. */
EXPORT int
fakeDependent(void)
{
	return fake.dependent;
}

int
cuStreamCreate(void **stream, unsigned flags)
{
	Queue *q = fake.stream;

	CHECK(false);
	while (q < fake.stream + STREAMS && q->live)
		q++;
	*stream = NULL;
	if (q == fake.stream + STREAMS || flags > 1)
		return INVALID_VALUE;
	*q = (Queue){ .of = now(), .live = true };
	*stream = q;
	return 0;
}

/* Its work is done still. */
int
cuStreamDestroy_v2(void *stream)
{
	Stream *s = stream_of(stream);

	CHECK(true);
	if (!s)
		return INVALID_HANDLE;
	catch_up_all(stream);
	queue_of(stream)->live = false;
	return 0;
}

int
cuStreamSynchronize(void *stream)
{
	Stream *s = stream_of(stream);

	CHECK(true);
	if (s && s->capture)
		return CUDA_CAPTURE_UNSUPPORTED;
	catch_up_all(stream);
	return is_stream(stream) ? 0 : INVALID_HANDLE;
}

int
cuCtxSynchronize(void)
{
	CHECK(true);
	catch_up_all(NULL);
	for (int i = 0; i < STREAMS; i++)
		catch_up_all(&fake.stream[i]);
	return 0;
}

int
cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
	Stream none = { 0 };
	Event *e = event;

	CHECK(true);
	if (flags || !event || !is_stream(stream))
		return INVALID_VALUE;
	catch_up(e->on, e->number);
	return stream_wait(stream_of(stream) ? stream : &none, &e->e);
}

int
cuStreamBeginCapture_v2(void *stream, int mode)
{
	CHECK(true);
	return stream_of(stream) && mode >= 0 && mode <= 2 ? stream_begin(stream) : INVALID_VALUE;
}

/* The edges of what was captured, by the numbers of its launches: FAKE_CUDA_TELL=1. */
static void
tell_edges(const Graph *g)
{
	for (unsigned i = 0; i < g->n; i++) {
		fprintf(stderr, "fake driver: node %u, %s, behind", i,
		        ((Function *)g->node[i]->k.function)->name);
		for (unsigned k = 0; k < i; k++)
			if (g->node[i]->before.word[k / 64] >> k % 64 & 1)
				fprintf(stderr, " %u", k);
		fputs("\n", stderr);
	}
}

int
cuStreamEndCapture(void *stream, void **graph)
{
	Graph *g = NULL;
	int bad = check(__func__, true), code = stream_of(stream) ? stream_end(stream, &g) : INVALID_VALUE;

	if (bad) {
		graph_free(g);
		return bad;
	}
	if (g && number("FAKE_CUDA_TELL", 0))
		tell_edges(g);
	fake.graphs += g != NULL;
	*graph = g;
	return code;
}

int
cuGraphLaunch(void *exec, void *stream)
{
	CHECK(true);
	catch_up_all(stream);
	return is_stream(stream) ? graph_run(exec, run_kept, NULL) : INVALID_VALUE;
}

int
cuGraphDestroy(void *graph)
{
	if (!graph)
		return INVALID_VALUE;
	fake.graphs--;
	graph_free(graph);
	CHECK(false);
	return 0;
}

int
cuGraphExecDestroy(void *exec)
{
	return cuGraphDestroy(exec);
}

#ifndef FAKE_OLD
int
cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	CHECK(true);
	*exec = flags ? NULL : graph_copy(graph);
	fake.graphs += *exec != NULL;
	return *exec ? 0 : INVALID_VALUE;
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
		*nodes = stream_info(s, n);
	}
	return 0;
}

int
cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const DriverNode *p)
{
	GraphNode *to = graph_node(exec, node);

	CHECK(true);
	if (!to || p->extra || !launchable(p->function, p->grid, p->shared))
		return INVALID_VALUE;
	return kept_set(&to->k, ((Function *)p->function)->of->m, ((Function *)p->function)->name,
	                p->function,
	                p->grid, p->block, p->shared, p->args);
}

int
cuGraphNodeSetEnabled(void *exec, void *node, unsigned enabled)
{
	GraphNode *to = graph_node(exec, node);

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

int
cuEventCreate(void **event, unsigned flags)
{
	Event *e;

	CHECK(true);
	*event = e = flags == 0 || flags == DRV_CU_EVENT_DISABLE_TIMING ? calloc(1, sizeof *e) : NULL;
	if (!e)
		return INVALID_VALUE;
	e->untimed = flags;
	now()->events++;
	return 0;
}

int
cuEventRecord(void *event, void *stream)
{
	Event *e = event;

	CHECK(true);
	if (!is_stream(stream))
		return INVALID_VALUE;
	e->e.launches = fake.stretch ? (uint64_t)now()->ns : (uint64_t)now()->launches;
	e->on = queue_of(stream);
	e->number = e->on ? e->on->number : 0;
	return event_record(&e->e, stream_of(stream));
}

int
cuEventSynchronize(void *event)
{
	Event *e = event;

	CHECK(true);
	if (!event)
		return INVALID_HANDLE;
	catch_up(e->on, e->number);
	return 0;
}

int
cuEventElapsedTime(float *ms, void *from, void *to)
{
	const Event *a = from, *b = to;

	CHECK(true);
	if (a->untimed || b->untimed)
		return INVALID_HANDLE;
	*ms = (float)(b->e.launches - a->e.launches);
	if (fake.stretch)
		*ms /= 1e6F;
	return 0;
}

int
cuEventDestroy_v2(void *event)
{
	if (now())
		now()->events--;
	event_drop(event);
	free(event);
	CHECK(true);
	return 0;
}
