/* gpu.h - declares what the files of hexc_gpu.h share. */
#ifndef HEXC_GPU_INT_H
#define HEXC_GPU_INT_H
#include "lib/gpu/driver.h"
#include "lib/hexc_gpu.h"
#include "lib/base/base.h"
#include <stdatomic.h>

enum { LOG_MAX = 2000 }; /* bytes of the JIT compiler's log */

/* An object of a GPU that may outlive it: an event, a weight. g is NULL once the GPU is closed. */
typedef struct GpuChild {
	hexc_gpu *g;
	void (*closing)(struct GpuChild *c); /* called by hexc_gpu_close while g is still valid; may be
	                                      * NULL */
	struct GpuChild *next, *prev; /* list of g */
} GpuChild;

/* A list of addresses. */
typedef struct GpuMemory {
	void **at;
	size_t n, cap;
} GpuMemory;

struct hexc_gpu {
	Driver cu;
	int device;
	void *context;
	bool adopted;   /* the host owns the context */
	bool simulated; /* the context is a simulator's, private to g */
	hexc_gpu_info info;
	char name[256];
	hexc_cache *cache; /* NULL: none */
	GpuMemory memory; /* allocations of hexc_gpu_alloc that are not freed */
	GpuMemory pinned; /* and of hexc_host_alloc */
	hexc_gpu_module *modules; /* list of loaded modules */
	GpuChild *children;
	void *flush; /* device memory of `flush_bytes` bytes, for overwriting the L2 cache; NULL: not
	              * allocated yet */
	uint64_t flush_bytes;
	char why[LOG_MAX + 200];
};

/* A module that is unloaded, or whose GPU is closed, stays allocated as long as it has calls, so that
 * these can report it; its g and m are NULL then. The last CALLS_KEPT freed calls stay allocated, too. */
enum { CALLS_KEPT = 16 };
struct hexc_gpu_module {
	hexc_gpu *g;
	const hexc_module *m;
	_Atomic size_t refs;   /* calls not freed, plus 1 while it is loaded */
	_Atomic size_t nfreed; /* number of freed calls; modulo CALLS_KEPT the index of the oldest */
	_Atomic(hexc_call *) freed[CALLS_KEPT];
	void *module;
	const char *cubin; /* arch of the loaded cubin; NULL: PTX was loaded */
	hexc_gpu_module *next, *prev; /* list of g */
};

/* CUtensorMap */
typedef struct CuTensorMap {
	_Alignas(64) unsigned char opaque[128];
} CuTensorMap;

/* Computes the kernel's resident blocks on the device; for kernels with clusters, blocks of entire
 * clusters. The context must be current. */
int gpu_held(hexc_gpu *g, void *function, const hexc_kernel_info *info, uint32_t *blocks);
/* Limits the grid of a persistent kernel to the resident blocks `held`, in entire clusters, if the grid
 * has more. */
void gpu_hold(const uint32_t cluster[3], uint32_t held, uint32_t grid[3]);

/* Are all blocks of a grid resident if the device holds `held`? Else returns E_ARGS, with a sentence. */
int gpu_resident(uint32_t held, const uint32_t grid[3], char *why, size_t n);

/* Launches l, which has no attributes: cooperatively if info.cooperative is set; if info.pdl is set and the
 * driver supports it, as a programmatic dependent launch (overlapping the preceding kernels in the stream).
 * Returns the driver's result; *call is the function that returned it. */
int gpu_start(const Driver *cu, DriverLaunch l, const hexc_kernel_info *info, void *function, void **arg,
              const char **call);
/* Loads PTX or a cubin. The context must be current, here and below. */
int gpu_load_image(hexc_gpu *g, const void *image, void **module);
/* Loads the cubin of the PTX through the cache; returns false without a cache, or if the linker fails. */
bool gpu_load_cached(hexc_gpu_module *gm);

/* gpu_launch.c: drops a reference; the last one frees the module with its retained calls. */
void gpu_module_release(hexc_gpu_module *gm);
/* prepared_launch.c: call_touches returns how the kernel accesses tensor i: 1 reads, 2 writes, or their
 * sum; 0 if it is no tensor, or i is out of range. call_blocks computes the blocks of a launch with the
 * current sizes, whatever the tensors' addresses, and call_fill the fraction of the device that they
 * occupy, up to 1. */
uint32_t call_touches(const hexc_call *c, int i);
int call_blocks(hexc_call *c, uint64_t *blocks);
int call_fill(hexc_call *c, double *fill);

/* gpu_family.c: family_touches returns how the family's kernels, of any line, access tensor i. family_give
 * selects the line and sets all arguments of its calls, as for a launch. family_changes counts changes of
 * the arguments. */
uint32_t family_touches(const hexc_family_call *c, int i);
int family_give(hexc_family_call *c);
uint64_t family_changes(const hexc_family_call *c);

/* Stores a sentence for hexc_gpu_why; returns `code`. */
#define gpu_error(g, code, ...) why_error(code, (g)->why, sizeof (g)->why, __VA_ARGS__)
/* Converts a driver result to a HEXC_ code; reports failures. */
int gpu_result(hexc_gpu *g, const char *call, int result);
#define GPU_CALL(g, function, ...) gpu_result(g, #function, (g)->cu.function(__VA_ARGS__))

/* Adds c to g's list, and removes it if it is in one. */
void gpu_child_join(GpuChild *c, hexc_gpu *g);
void gpu_child_leave(GpuChild *c);

/* The device's context is current between these two; leave returns `code`, or its own error. */
int gpu_enter(hexc_gpu *g);
int gpu_leave(hexc_gpu *g, int code);
#endif
