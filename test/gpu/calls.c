/* calls.c - an engine that exercises the runtime library: a bundle, the host's context or one of hexc's,
 * prepared launches with new addresses and sizes, graphs, tensor maps, events, two GPUs. Its results are sums
 * and products of small integers, which are exact.
 *
 *	calls BUNDLE open|adopt|given|two|refuse|old|oldmaps
 *	calls BUNDLE cubins GOOD EXPECTED    which cubin of a module is selected
 *	                status 0: all was correct; 1: an error was reported, and nothing leaked
 *
 * ALLOC_FAIL_AT=N: the N-th allocation of hexc fails. */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/gpu/driver.h"
#include "lib/hexc_bundle.h"
#include "lib/hexc_gpu.h"

/* Of the driver that this is linked with. */
#define DECLARE(name, parameters) int name parameters;
DRIVER_ALWAYS(DECLARE)
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);

/* ---- memory that runs out ----------------------------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static struct {
	char *from, *to; /* the code of libhexc_rt */
	int requests, fail_at;
} memory;

static int
find_library(struct dl_phdr_info *info, size_t size, void *user)
{
	(void)size;
	(void)user;
	if (!strstr(info->dlpi_name, "libhexc_rt"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_flags & PF_X) {
			memory.from = (char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			memory.to = memory.from + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

/* Does hexc get nothing this time? */
static int
refused(const void *caller)
{
	if ((const char *)caller < memory.from || (const char *)caller >= memory.to)
		return 0;
	return ++memory.requests == memory.fail_at;
}

void *
malloc(size_t n)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return n && refused(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
}

/* ---- one GPU and what is on it ------------------------------------------------------------------------ */

enum { MOST = 4096 };

typedef struct Engine {
	hexc_bundle *bundle;
	hexc_gpu *g;
	hexc_gpu_module *module[2];
	hexc_call *add, *gemm;
	hexc_event *event[2];
	void *buffer[5];
	void *graph, *exec;
	char why[600];
	const char *step;
} Engine;

#define TRY(call)                                                                                            \
	do {                                                                                                 \
		e->step = #call;                                                                             \
		if (call)                                                                                    \
			return 1;                                                                            \
	} while (0)
#define WRONG(what)                                                                                          \
	do {                                                                                                 \
		printf("WRONG: %s\n", what);                                                                 \
		exit(3);                                                                                     \
	} while (0)

static void *
current(void)
{
	void *context = NULL;

	return cuCtxGetCurrent(&context) ? NULL : context;
}

static int
start(Engine *e, const char *path, void *context, int device)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_want want = HEXC_WANT_INIT;
	static const char *const name[] = { "vector_add", "gemm_roles" };
	const hexc_module *m;
	size_t i, k;

	TRY(hexc_bundle_open(&e->bundle, path, e->why, sizeof e->why));
	if (context)
		TRY(hexc_gpu_adopt(&e->g, current() ? NULL : context, e->why, sizeof e->why));
	else
		TRY(hexc_gpu_open(&e->g, device, e->why, sizeof e->why));
	hexc_gpu_describe(e->g, &info);
	want.arch = info.arch;
	for (int n = 0; n < 2; n++) {
		want.kernel = name[n];
		TRY(hexc_bundle_find(e->bundle, &want, &i, e->why, sizeof e->why));
		TRY(hexc_bundle_module(e->bundle, i, &m, &k, e->why, sizeof e->why));
		TRY(hexc_gpu_load(e->g, m, &e->module[n]));
		TRY(hexc_call_new(n ? &e->gemm : &e->add, e->module[n], k));
	}
	for (int n = 0; n < 5; n++)
		TRY(hexc_gpu_alloc(e->g, MOST * 4, &e->buffer[n]));
	for (int n = 0; n < 2; n++)
		TRY(hexc_event_new(&e->event[n], e->g));
	return 0;
}

static void
stop(Engine *e)
{
	for (int i = 0; i < 2; i++)
		hexc_event_free(e->event[i]);
	hexc_call_free(e->add);
	hexc_call_free(e->gemm);
	if (e->graph)
		cuGraphDestroy(e->graph);
	if (e->exec)
		cuGraphExecDestroy(e->exec);
	hexc_gpu_close(e->g);
	hexc_bundle_close(e->bundle);
}

static int
put_floats(Engine *e, int buffer, float first)
{
	static float x[MOST];

	for (int i = 0; i < MOST; i++)
		x[i] = first + (float)i;
	TRY(hexc_gpu_write(e->g, e->buffer[buffer], x, sizeof x));
	return 0;
}

/* A launch, which takes no memory. */
static int
launched(hexc_call *c)
{
	int before = memory.requests, code = hexc_call_launch(c, NULL);

	if (!code && memory.requests != before)
		WRONG("a launch takes memory");
	return code;
}

/* n sums in that buffer, which begin with `first` and go on by 2; behind them 0 .. */
static int
check_sums(Engine *e, int buffer, int n, float first)
{
	static float x[MOST];

	TRY(hexc_gpu_read(e->g, x, e->buffer[buffer], sizeof x));
	for (int i = 0; i < n; i++)
		if (x[i] != first + 2 * (float)i)
			WRONG("a sum");
	if (n < MOST && x[n] == first + 2 * (float)n)
		WRONG("too many sums");
	return 0;
}

/* ---- launches ----------------------------------------------------------------------------------------- */

/* The simulated driver's: launches that may start beside the one before, until now. */
int fakeDependent(void);

static int
sums(Engine *e)
{
	int before = fakeDependent();
	int a = hexc_call_find(e->add, "A"), b = hexc_call_find(e->add, "B"), c = hexc_call_find(e->add, "C");
	int n = hexc_call_find(e->add, "N");
	uint64_t bytes;

	if (put_floats(e, 0, 0) || put_floats(e, 1, 5) || put_floats(e, 2, -99) || put_floats(e, 3, 7) ||
	    put_floats(e, 4, -99))
		return 1;
	TRY(hexc_call_ptr(e->add, a, e->buffer[0], MOST * 4));
	TRY(hexc_call_ptr(e->add, b, e->buffer[1], MOST * 4));
	TRY(hexc_call_ptr(e->add, c, e->buffer[2], MOST * 4));
	TRY(hexc_call_int(e->add, n, 1000));
	TRY(hexc_call_bytes(e->add, c, &bytes));
	if (bytes != 4000)
		WRONG("the size of C in bytes cannot be computed for these sizes");
	TRY(hexc_event_record(e->event[0], NULL));
	TRY(launched(e->add));
	if (fakeDependent() != before + 1)
		WRONG("how a kernel is launched that waits for those before");
	TRY(hexc_event_record(e->event[1], NULL));
	TRY(hexc_event_wait(e->event[1]));
	if (check_sums(e, 2, 1000, 5))
		return 1;
	/* another address, then another size */
	TRY(hexc_call_ptr(e->add, b, e->buffer[3], MOST * 4));
	TRY(launched(e->add));
	if (check_sums(e, 2, 1000, 7))
		return 1;
	TRY(hexc_call_int(e->add, n, 0));
	TRY(launched(e->add));
	TRY(hexc_call_int(e->add, n, 2500));
	TRY(launched(e->add));
	return check_sums(e, 2, 2500, 7);
}

static int
timed(Engine *e)
{
	double us;

	TRY(hexc_event_us(e->event[0], e->event[1], &us));
	if (us != 1000) /* one launch, as the simulated driver counts */
		WRONG("the time of a launch");
	if (!hexc_event_handle(e->event[0]))
		WRONG("no CUevent");
	return 0;
}

/* Captured once, launched with other addresses, sizes, none, and more. */
static int
graph(Engine *e)
{
	int b = hexc_call_find(e->add, "B"), c = hexc_call_find(e->add, "C"), n = hexc_call_find(e->add, "N");
	void *stream = NULL, *node = NULL;

	TRY(cuStreamCreate(&stream, 1));
	TRY(cuStreamBeginCapture_v2(stream, 0));
	TRY(hexc_call_ptr(e->add, b, e->buffer[1], MOST * 4));
	TRY(hexc_call_ptr(e->add, c, e->buffer[4], MOST * 4));
	TRY(hexc_call_int(e->add, n, 10));
	TRY(hexc_call_capture(e->add, stream, &node));
	TRY(cuStreamEndCapture(stream, &e->graph));
	TRY(!node);
	TRY(cuGraphInstantiateWithFlags(&e->exec, e->graph, 0));
	TRY(cuGraphLaunch(e->exec, stream));
	if (check_sums(e, 4, 10, 5))
		return 1;
	TRY(hexc_call_int(e->add, n, 3000));
	TRY(hexc_call_ptr(e->add, b, e->buffer[3], MOST * 4));
	TRY(hexc_call_update(e->add, e->exec, node));
	TRY(cuGraphLaunch(e->exec, stream));
	if (check_sums(e, 4, 3000, 7))
		return 1;
	TRY(hexc_call_int(e->add, n, 0));
	TRY(hexc_call_ptr(e->add, b, e->buffer[1], MOST * 4));
	TRY(hexc_call_update(e->add, e->exec, node));
	TRY(cuGraphLaunch(e->exec, stream));
	if (check_sums(e, 4, 3000, 7))
		return 1;
	TRY(hexc_call_int(e->add, n, 20));
	TRY(hexc_call_update(e->add, e->exec, node));
	TRY(cuGraphLaunch(e->exec, stream));
	return check_sums(e, 4, 20, 5);
}

/* The host's own calls want its context. */
static int
graphs(Engine *e)
{
	void *context;
	int status;

	TRY(cuCtxPushCurrent_v2(hexc_gpu_context(e->g)));
	status = graph(e);
	cuCtxPopCurrent_v2(&context);
	return status;
}

/* A[i,k] = a, B[j,k] = b: all products are 64 a b.  Numbers are f16. */
static int
products(Engine *e)
{
	static const unsigned short one = 0x3c00, two = 0x4000;
	int a = hexc_call_find(e->gemm, "A"), b = hexc_call_find(e->gemm, "B"),
	    c = hexc_call_find(e->gemm, "C");
	static unsigned short x[MOST];

	for (int i = 0; i < MOST; i++)
		x[i] = one;
	TRY(hexc_gpu_write(e->g, e->buffer[0], x, sizeof x));
	for (int i = 0; i < MOST; i++)
		x[i] = two;
	TRY(hexc_gpu_write(e->g, e->buffer[1], x, sizeof x));
	TRY(hexc_call_ptr(e->gemm, a, e->buffer[0], 0));
	TRY(hexc_call_ptr(e->gemm, b, e->buffer[1], 0));
	TRY(hexc_call_ptr(e->gemm, c, e->buffer[2], 0));
	TRY(hexc_call_int(e->gemm, hexc_call_find(e->gemm, "M"), 40));
	TRY(hexc_call_int(e->gemm, hexc_call_find(e->gemm, "N"), 16));
	TRY(hexc_call_int(e->gemm, hexc_call_find(e->gemm, "K"), 64));
	TRY(launched(e->gemm));
	TRY(hexc_gpu_read(e->g, x, e->buffer[2], sizeof x));
	for (int i = 0; i < 40 * 16; i++)
		if (x[i] != 0x5800) /* 128 */
			WRONG("a product");
	/* the map of A is that of another address now */
	TRY(hexc_call_ptr(e->gemm, a, e->buffer[1], 0));
	TRY(launched(e->gemm));
	TRY(hexc_gpu_read(e->g, x, e->buffer[2], sizeof x));
	for (int i = 0; i < 40 * 16; i++)
		if (x[i] != 0x5c00) /* 256 */
			WRONG("a product of another tensor");
	return 0;
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static void
refusal(hexc_call *c, int code, int want, const char *says)
{
	if (code == want && (!says || strstr(hexc_call_why(c), says)))
		return;
	printf("WRONG: %d, not %d, and says '%s', not '%s'\n", code, want, hexc_call_why(c),
	       says ? says : "");
	exit(3);
}

/* Devices that there are not. */
static void
refuse_devices(void)
{
	char why[200] = "";
	hexc_gpu *none;

	refusal(NULL, hexc_gpu_open(&none, 9, why, sizeof why), HEXC_E_DEVICE, NULL);
	if (none || !strstr(why, "GPU 9 does not exist; the driver reports 1 (numbered from 0)"))
		WRONG(why);
	refusal(NULL, hexc_gpu_adopt(&none, NULL, why, sizeof why), HEXC_E_INVALID, NULL);
	if (none || !strstr(why, "no current CUDA context; pass one or call cuCtxSetCurrent"))
		WRONG(why);
}

static int
refusals(Engine *e)
{
	hexc_call *c = NULL, *none;
	void *node, *stream = NULL;
	uint64_t bytes;

	TRY(hexc_call_new(&c, e->module[0], 0));
	if (*hexc_call_why(c) || hexc_call_find(c, "X") != -1 || hexc_call_find(c, "C") != 2)
		WRONG("a fresh call");
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS,
	        "vector_add: A has no argument yet; set it with hexc_call_ptr");
	refusal(c, hexc_call_bytes(c, 2, &bytes), HEXC_E_ARGS,
	        "vector_add: N has no argument yet; set it with hexc_call_int");
	refusal(c, hexc_call_ptr(c, 3, NULL, 0), HEXC_E_INVALID, "vector_add: N is not a tensor");
	refusal(c, hexc_call_int(c, 0, 1), HEXC_E_INVALID,
	        "vector_add: A is a tensor, and cannot be set to an integer");
	refusal(c, hexc_call_float(c, 3, 1), HEXC_E_INVALID, "vector_add: N is not a scalar of a float type");
	refusal(c, hexc_call_ptr(c, 4, NULL, 0), HEXC_E_INVALID, "vector_add: it has no parameter 4");
	refusal(c, hexc_call_int(c, -1, 0), HEXC_E_INVALID, "vector_add: it has no parameter -1");
	for (int i = 0; i < 3; i++)
		hexc_call_ptr(c, i, e->buffer[i], 64);
	hexc_call_int(c, 3, 100);
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS,
	        "vector_add: A needs 400 bytes for these sizes; its buffer has 64");
	hexc_call_int(c, 3, -1);
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS, "vector_add: the size N is -1");
	hexc_call_int(c, 3, 16);
	TRY(hexc_call_launch(c, NULL));
	/* what only an address changes is looked at, too */
	hexc_call_ptr(c, 1, (char *)e->buffer[1] + 4, 64);
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS,
	        "vector_add: the address of B is not a multiple of 16");
	hexc_call_ptr(c, 1, NULL, 64);
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS, "vector_add: B is NULL");
	hexc_call_ptr(c, 1, e->buffer[1], 32);
	refusal(c, hexc_call_launch(c, NULL), HEXC_E_ARGS, "vector_add: B needs 64 bytes");
	hexc_call_ptr(c, 1, e->buffer[1], 64);
	TRY(cuStreamCreate(&stream, 1));
	refusal(c, hexc_call_capture(c, stream, &node), HEXC_E_INVALID,
	        "vector_add: the stream is not being captured; call cuStreamBeginCapture first");
	refusal(c, hexc_call_update(c, NULL, NULL), HEXC_E_INVALID, NULL);
	refusal(c, hexc_call_launch(c, (void *)5), HEXC_E_DEVICE, "vector_add: cuLaunchKernelEx: ");
	refusal(c, hexc_call_new(&none, e->module[0], 9), HEXC_E_INVALID, NULL);
	if (none || !strstr(hexc_gpu_why(e->g), "no kernel 9"))
		WRONG("a kernel that is none");
	refuse_devices();
	refusal(c, hexc_event_new(NULL, e->g), HEXC_E_INVALID, NULL);
	refusal(c, hexc_event_record(NULL, NULL), HEXC_E_INVALID, NULL);
	refusal(c, hexc_event_wait(NULL), HEXC_E_INVALID, NULL);
	refusal(c, hexc_event_us(e->event[0], NULL, NULL), HEXC_E_INVALID, NULL);
	refusal(c, hexc_call_new(NULL, NULL, 0), HEXC_E_INVALID, NULL);
	refusal(NULL, hexc_call_launch(NULL, NULL), HEXC_E_INVALID, NULL);
	refusal(NULL, hexc_call_ptr(NULL, 0, NULL, 0), HEXC_E_INVALID, NULL);
	refusal(NULL, hexc_call_capture(NULL, NULL, NULL), HEXC_E_INVALID, NULL);
	hexc_call_free(c);
	return 0;
}

/* ---- cubins ----------------------------------------------------------------------------------------- */

/* A module with cubins for sm_75, sm_80, sm_86 and sm_90, as the simulated driver takes them: its PTX
 * behind a line.  That of `good` is whole, the others are not; CUBIN says which the driver should be
 * handed, "-" for PTX. */
static int
cubins(Engine *e, const char *path, const char *good, const char *expect)
{
	static const char *const arch[] = { "sm_75", "sm_80", "sm_86", "sm_90" };
	static char text[4][1 << 16], whole[1 << 19];
	hexc_cubin cubin[4];
	const hexc_module *m;
	hexc_module *with;
	hexc_gpu_module *gm;
	const char *is;
	size_t k, n;

	TRY(hexc_bundle_open(&e->bundle, path, e->why, sizeof e->why));
	TRY(hexc_bundle_module(e->bundle, 0, &m, &k, e->why, sizeof e->why));
	for (int i = 0; i < 4; i++) {
		int right = strcmp(arch[i], good) == 0;

		snprintf(text[i], sizeof text[i], "\177ELF%s\n%s", arch[i],
		         right ? hexc_ptx(m, NULL) : "no code");
		cubin[i] = (hexc_cubin){ arch[i], text[i], strlen(text[i]) };
	}
	TRY(hexc_module_save(m, cubin, 4, whole, sizeof whole, &n));
	TRY(hexc_module_load(&with, whole, n, e->why, sizeof e->why));
	TRY(hexc_gpu_open(&e->g, 0, e->why, sizeof e->why));
	if (hexc_gpu_load(e->g, with, &gm)) {
		hexc_module_free(with);
		return 1;
	}
	is = hexc_gpu_cubin(gm);
	if (strcmp(is ? is : "-", expect) != 0)
		WRONG(is ? is : "PTX was taken");
	hexc_gpu_unload(gm);
	hexc_module_free(with);
	return 0;
}

/* ---- an old driver ------------------------------------------------------------------------------------ */

/* Without what graphs take: that is said. */
static int
old(Engine *e, const char *path)
{
	const hexc_module *m;
	void *node;
	size_t k;

	TRY(hexc_bundle_open(&e->bundle, path, e->why, sizeof e->why));
	TRY(hexc_bundle_module(e->bundle, 0, &m, &k, e->why, sizeof e->why));
	TRY(hexc_gpu_open(&e->g, 0, e->why, sizeof e->why));
	TRY(hexc_gpu_load(e->g, m, &e->module[0]));
	TRY(hexc_call_new(&e->add, e->module[0], k));
	refusal(e->add, hexc_call_capture(e->add, NULL, &node), HEXC_E_DEVICE,
	        "the CUDA driver has no cuStreamGetCaptureInfo_v2: it is older than CUDA 11.3; "
	        "install a newer one");
	refusal(e->add, hexc_call_update(e->add, e, e), HEXC_E_DEVICE,
	        "the CUDA driver has no cuGraphExecKernelNodeSetParams_v2: it is older than CUDA 12; "
	        "install a newer one");
	return 0;
}

/* Without tensor maps: a launch that is not prepared says so as well. */
static int
old_maps(Engine *e, const char *path)
{
	static const char *const size[] = { "M", "N", "K" }, *const tensor[] = { "A", "B", "C" };
	static const char says[] = "the CUDA driver has no cuTensorMapEncodeTiled: it is older than CUDA 12; "
	                           "install a newer one";
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_want want = HEXC_WANT_INIT;
	hexc_arg arg[HEXC_MAX_PARAMS] = { 0 };
	const hexc_module *m;
	size_t i, k;

	TRY(hexc_bundle_open(&e->bundle, path, e->why, sizeof e->why));
	TRY(hexc_gpu_open(&e->g, 0, e->why, sizeof e->why));
	hexc_gpu_describe(e->g, &info);
	want.kernel = "gemm_roles";
	want.arch = info.arch;
	TRY(hexc_bundle_find(e->bundle, &want, &i, e->why, sizeof e->why));
	TRY(hexc_bundle_module(e->bundle, i, &m, &k, e->why, sizeof e->why));
	TRY(hexc_gpu_load(e->g, m, &e->module[0]));
	for (int n = 0; n < 3; n++) {
		TRY(hexc_gpu_alloc(e->g, MOST * 2, &e->buffer[n]));
		arg[hexc_param_find(m, k, tensor[n])].ptr = e->buffer[n];
		arg[hexc_param_find(m, k, size[n])].i = 32;
	}
	if (hexc_gpu_launch(e->module[0], k, arg) != HEXC_E_DEVICE || !strstr(hexc_gpu_why(e->g), says))
		WRONG(hexc_gpu_why(e->g));
	return 0;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static int
all(Engine *e, const char *path, void *context, int device)
{
	return start(e, path, context, device) || sums(e) || timed(e) || graphs(e) || products(e);
}

/* On failure somebody must have said why. */
static int
failed(const Engine *e)
{
	const char *why = *e->why ? e->why : "";

	if (strncmp(e->step, "cu", 2) == 0)
		why = "the host's own call";
	if (!*why && e->g)
		why = *hexc_gpu_why(e->g)      ? hexc_gpu_why(e->g)
		      : *hexc_call_why(e->add) ? hexc_call_why(e->add)
		                               : hexc_call_why(e->gemm);
	printf("failed: %s: %s\n", e->step, why);
	return 1;
}

int
main(int argc, char **argv)
{
	const char *fail_at = getenv("ALLOC_FAIL_AT");
	static Engine one, two;
	const char *mode = argc > 2 ? argv[2] : "";
	int status, given = strcmp(mode, "given") == 0, adopt = given || strcmp(mode, "adopt") == 0;
	void *context = NULL, *popped;

	dl_iterate_phdr(find_library, NULL);
	memory.fail_at = fail_at ? atoi(fail_at) : 0;
	if (adopt) {
		if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
		    (!given && cuCtxPushCurrent_v2(context)))
			return printf("failed: host: its own calls\n"), 1;
	}
	if (argc > 4)
		status = cubins(&one, argv[1], argv[3], argv[4]) ? failed(&one) : 0;
	else if (strcmp(mode, "old") == 0)
		status = old(&one, argv[1]) ? failed(&one) : 0;
	else if (strcmp(mode, "oldmaps") == 0)
		status = old_maps(&one, argv[1]) ? failed(&one) : 0;
	else
		status = all(&one, argv[1], context, 0) ? failed(&one) : 0;
	if (!status && strcmp(mode, "two") == 0)
		status = all(&two, argv[1], NULL, 1) ? failed(&two) : 0;
	if (!status && strcmp(mode, "refuse") == 0)
		status = refusals(&one) ? failed(&one) : 0;
	memory.fail_at = 0;
	stop(&two);
	stop(&one);
	if (current() != (given ? NULL : context))
		WRONG("another context is current than before");
	if (adopt && !given)
		cuCtxPopCurrent_v2(&popped);
	if (adopt)
		cuDevicePrimaryCtxRelease_v2(0);
	if (fail_at && memory.requests < atoi(fail_at))
		puts("memory was enough");
	return status;
}
