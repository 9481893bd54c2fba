/* overhead.c - measures the host cost of a launch: cuLaunchKernel by itself, and hexc_call_launch, with the
 * same arguments, another address, another size. With a driver whose launches do nothing the difference is
 * hexc's.
 *
 *	overhead BUNDLE    lines of kernel, what changes, nanoseconds of CPU/launch (the best round's) */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "lib/gpu/driver.h"
#include "lib/hexc_bundle.h"
#include "lib/hexc_gpu.h"

#define DECLARE(name, parameters) int name parameters;
DRIVER_ALWAYS(DECLARE)

enum { LAUNCHES = 20000, ROUNDS = 7 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
must(int code, const char *why)
{
	if (code) {
		fprintf(stderr, "overhead: %d: %s\n", code, why);
		exit(1);
	}
}

typedef struct Bench {
	hexc_gpu *g;
	const hexc_module *m;
	hexc_call *call;
	hexc_kernel_info info;
	void *function, *a[2];
	int tensor, size;
} Bench;

/* cuLaunchKernel with a block of as many parameters as the kernel has. */
static void
alone(Bench *b, int i)
{
	static uint64_t map[HEXC_MAX_PARAMS][16];
	static void *params[HEXC_MAX_PARAMS];

	(void)i;
	for (uint32_t p = 0; !params[0] && p < HEXC_MAX_PARAMS; p++)
		params[p] = map[p];
	cuLaunchKernel(b->function, 1, 1, 1, b->info.block[0], 1, 1, b->info.smem, NULL, params, NULL);
}

static void
same(Bench *b, int i)
{
	(void)i;
	must(hexc_call_launch(b->call, NULL), hexc_call_why(b->call));
}

static void
address(Bench *b, int i)
{
	hexc_call_ptr(b->call, b->tensor, b->a[i % 2], 0);
	must(hexc_call_launch(b->call, NULL), hexc_call_why(b->call));
}

static void
size(Bench *b, int i)
{
	hexc_call_int(b->call, b->size, 64 + 8 * (i % 2));
	must(hexc_call_launch(b->call, NULL), hexc_call_why(b->call));
}

static void
measure(Bench *b, const char *what, void (*launch)(Bench *, int))
{
	double least = 0;

	for (int r = 0; r < ROUNDS; r++) {
		double t = now();

		for (int i = 0; i < LAUNCHES; i++)
			launch(b, i);
		t = (now() - t) / LAUNCHES;
		least = r == 0 || t < least ? t : least;
	}
	printf("%s\t%s\t%.1f\n", b->info.name, what, least);
}

static void
kernel(Bench *b, const hexc_bundle *bundle, size_t i)
{
	const hexc_kernel_info none = HEXC_KERNEL_INFO_INIT;
	hexc_param_info p = HEXC_PARAM_INFO_INIT;
	hexc_gpu_module *gm;
	char why[300];
	void *module;
	size_t k;

	must(hexc_bundle_module(bundle, i, &b->m, &k, why, sizeof why), why);
	must(hexc_gpu_load(b->g, b->m, &gm), hexc_gpu_why(b->g));
	must(hexc_call_new(&b->call, gm, k), hexc_gpu_why(b->g));
	b->info = none;
	hexc_kernel(b->m, k, &b->info);
	b->tensor = b->size = -1;
	for (int n = 0; hexc_param(b->m, k, (size_t)n, &p); n++, p.size = sizeof p)
		if (p.kind == HEXC_POINTER) {
			b->tensor = b->tensor < 0 ? n : b->tensor;
			must(hexc_call_ptr(b->call, n, b->a[0], 0), "ptr");
		} else {
			b->size = b->size < 0 ? n : b->size;
			must(hexc_call_int(b->call, n, 64), "int");
		}
	must(cuModuleLoadDataEx(&module, hexc_ptx(b->m, NULL), 0, NULL, NULL), "load");
	must(cuModuleGetFunction(&b->function, module, b->info.name), "function");
	must(cuFuncSetAttribute(b->function, DRV_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	                        (int)b->info.smem),
	     "shared memory");
	measure(b, "driver alone", alone);
	measure(b, "same arguments", same);
	measure(b, "another address", address);
	measure(b, "another size", size);
	must(cuModuleUnload(module), "unload");
	hexc_call_free(b->call);
}

int
main(int argc, char **argv)
{
	Bench b = { .g = NULL };
	hexc_bundle *bundle;
	hexc_bundle_entry e = HEXC_BUNDLE_ENTRY_INIT;
	char why[300];

	must(argc != 2, "which bundle?");
	must(hexc_bundle_open(&bundle, argv[1], why, sizeof why), why);
	must(hexc_gpu_open(&b.g, 0, why, sizeof why), why);
	for (int i = 0; i < 2; i++)
		must(hexc_gpu_alloc(b.g, 1 << 16, &b.a[i]), hexc_gpu_why(b.g));
	must(cuCtxPushCurrent_v2(hexc_gpu_context(b.g)), "push"); /* as an engine has it */
	for (size_t i = 0; hexc_bundle_at(bundle, i, &e); i++)
		kernel(&b, bundle, i);
	return 0;
}
