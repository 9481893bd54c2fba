/* gpu.h - what the files of hexc_gpu.h share. */
#ifndef HEXC_GPU_INT_H
#define HEXC_GPU_INT_H
#include "lib/gpu/driver.h"
#include "lib/hexc_gpu.h"
#include "lib/base/base.h"
#include <stdatomic.h>

enum { LOG_MAX = 2000 }; /* bytes of what the driver's compiler says */

/* What is of a GPU, and outlives it: an event, a weight.  g is NULL once that is closed. */
typedef struct GpuChild {
	hexc_gpu *g;
	void (*closing)(struct GpuChild *c); /* in hexc_gpu_close, while g is there still; NULL is allowed */
	struct GpuChild *next, *prev; /* of g */
} GpuChild;

struct hexc_gpu {
	Driver cu;
	int device;
	void *context;
	bool adopted;   /* the context is the host's */
	bool simulated; /* it is one of the simulator's, for g alone */
	hexc_gpu_info info;
	char name[256];
	hexc_cache *cache; /* NULL: none */
	void **memory; /* what hexc_gpu_alloc gave and nobody freed: nmemory of them */
	size_t nmemory, memory_cap;
	hexc_gpu_module *modules; /* loaded ones, a list */
	GpuChild *children;
	void *flush; /* device memory of `flush_bytes`, to overwrite the L2 cache with; NULL: not yet */
	uint64_t flush_bytes;
	char why[LOG_MAX + 200];
};

/* One that is unloaded, or whose GPU is closed, stays in memory as long as it has calls, so that these can
 * say so; its g and m are NULL then.  Calls that were freed stay, too, the last CALLS_KEPT of them. */
enum { CALLS_KEPT = 16 };
struct hexc_gpu_module {
	hexc_gpu *g;
	const hexc_module *m;
	_Atomic size_t refs;   /* calls that are not freed, and 1 while it is loaded */
	_Atomic size_t nfreed; /* calls ever; modulo CALLS_KEPT the place of the oldest */
	_Atomic(hexc_call *) freed[CALLS_KEPT];
	void *module;
	const char *cubin; /* the arch of the one that was loaded; NULL: PTX was */
	hexc_gpu_module *next, *prev; /* of g */
};

/* CUtensorMap */
typedef struct CuTensorMap {
	_Alignas(64) unsigned char opaque[128];
} CuTensorMap;

/* How many blocks of a kernel the device holds at a time; of a kernel in clusters those of whole ones.  In
 * the context. */
int gpu_held(hexc_gpu *g, void *function, const hexc_kernel_info *info, uint32_t *blocks);
/* The blocks of a persistent kernel that are launched for this grid: as many as the device holds, in whole
 * clusters, if the grid has more. */
void gpu_hold(const uint32_t cluster[3], uint32_t held, uint32_t grid[3]);

/* A launch without attributes of a kernel whose info says so beside those before it in its stream, where the
 * driver can (hexc_kernel_info.pdl).  The driver's result, and which of its functions says so. */
int gpu_start(const Driver *cu, DriverLaunch l, const hexc_kernel_info *info, void *function, void **arg,
              const char **call);
/* Hand the driver PTX or a cubin.  In the context, as the next. */
int gpu_load_image(hexc_gpu *g, const void *image, void **module);
/* Load what the driver makes of the PTX by way of the cache; false: there is none, or the linker fails. */
bool gpu_load_cached(hexc_gpu_module *gm);

/* gpu_launch.c: one reference less; the last frees it, with the calls that are kept. */
void gpu_module_release(hexc_gpu_module *gm);
/* prepared_launch.c: of prepared launches.  What the kernel does with tensor i: 1 reads, 2 writes, their sum; 0: it is
 * no tensor, or there is none.  Blocks of a launch with the sizes that were given, whatever the tensors'
 * addresses; and which part of the device they fill, up to 1. */
uint32_t call_touches(const hexc_call *c, int i);
int call_blocks(hexc_call *c, uint64_t *blocks);
int call_fill(hexc_call *c, double *fill);

/* gpu_family.c: what a family's kernels, of any line, do with its tensor i; its line and calls with all that
 * was given, as for a launch; and how often its arguments have changed. */
uint32_t family_touches(const hexc_family_call *c, int i);
int family_give(hexc_family_call *c);
uint64_t family_changes(const hexc_family_call *c);

/* Keep a sentence for hexc_gpu_why; returns `code`. */
#define gpu_error(g, code, ...) why_error(code, (g)->why, sizeof (g)->why, __VA_ARGS__)
/* The result of a driver's function as our code, reported if it is no success. */
int gpu_result(hexc_gpu *g, const char *call, int result);
#define GPU_CALL(g, function, ...) gpu_result(g, #function, (g)->cu.function(__VA_ARGS__))

/* c is of g from now on; and no more, where it is of one. */
void gpu_child_join(GpuChild *c, hexc_gpu *g);
void gpu_child_leave(GpuChild *c);

/* The device's context is current between these two; leave returns `code`, or what went wrong leaving. */
int gpu_enter(hexc_gpu *g);
int gpu_leave(hexc_gpu *g, int code);
#endif
