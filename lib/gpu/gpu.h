/* gpu.h - what the files of hexc_gpu.h share. */
#ifndef HEXC_GPU_INT_H
#define HEXC_GPU_INT_H
#include "lib/gpu/driver.h"
#include "lib/hexc_gpu.h"
#include "lib/base/base.h"

enum { LOG_MAX = 2000 }; /* bytes of what the driver's compiler says */

struct hexc_gpu {
	Driver cu;
	int device;
	void *context;
	hexc_gpu_info info;
	char name[256];
	void **memory; /* what hexc_gpu_alloc gave and nobody freed: nmemory of them */
	size_t nmemory, memory_cap;
	hexc_gpu_module *modules; /* loaded ones, a list */
	void *flush; /* device memory of `flush_bytes`, to overwrite the L2 cache with; NULL: not yet */
	uint64_t flush_bytes;
	char why[LOG_MAX + 200];
};

/* Keep a sentence for hexc_gpu_why; returns `code`. */
int gpu_error(hexc_gpu *g, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The result of a driver's function as our code, reported if it is no success. */
int gpu_result(hexc_gpu *g, const char *call, int result);
#define GPU_CALL(g, function, ...) gpu_result(g, #function, (g)->cu.function(__VA_ARGS__))

/* The device's context is current between these two; leave returns `code`, or what went wrong leaving. */
int gpu_enter(hexc_gpu *g);
int gpu_leave(hexc_gpu *g, int code);
#endif
