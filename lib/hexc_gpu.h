/* hexc_gpu.h - run compiled kernels on a GPU, through the CUDA driver.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.  For hosts that have no CUDA context of
 * their own: tools, tests, tuners.  An engine that has one needs none of this: hexc_ptx, hexc_kernel and
 * hexc_grid are all that cuModuleLoadDataEx and cuLaunchKernel ask for.
 *
 *	hexc_gpu_open -> hexc_gpu_alloc, hexc_gpu_write -> hexc_gpu_load
 *	             -> hexc_gpu_launch, hexc_gpu_wait -> hexc_gpu_read -> hexc_gpu_close
 *
 * The driver (libcuda.so.1) is opened when the first function needs it; nothing is linked, and where there is
 * none hexc_gpu_open says so.  One hexc_gpu is used by one thread at a time; it holds the device's primary
 * context, which is made current only inside these functions.  Work goes to the default stream,
 * but for launches on another.
 *
 * Functions that return int: HEXC_OK; E_DEVICE, the driver failed; E_FAULT, a kernel did something wrong (the
 * context is then lost: only hexc_gpu_close is left); E_NOMEM; E_INVALID.  hexc_gpu_why has the sentence. */
#ifndef HEXC_GPU_H
#define HEXC_GPU_H
#include "lib/hexc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_gpu hexc_gpu;               /* a device */
typedef struct hexc_gpu_module hexc_gpu_module; /* a module on it */

/* Device number `device`, from 0, as CUDA_VISIBLE_DEVICES leaves them.  HEXC_OK and *out, or *out = NULL and
 * one sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_gpu_open(hexc_gpu **out, int device, char *why, size_t n);
/* Frees all memory and modules that are left; they are not to be used, nor freed, after it.  NULL is
 * allowed. */
HEXC_API void hexc_gpu_close(hexc_gpu *g);
/* What the last function that failed has to say; "" if none did. */
HEXC_API const char *hexc_gpu_why(const hexc_gpu *g);

typedef struct hexc_gpu_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* "NVIDIA H200" */
	const char *arch;       /* the one of hexc_arch() to compile for; NULL: it runs none of them */
	uint32_t capability;    /* 90: compute capability 9.0 */
	uint32_t driver;        /* 13000: CUDA 13.0 */
	uint32_t sms;           /* streaming multiprocessors */
	uint32_t l2;            /* bytes */
	uint64_t memory;        /* bytes */
} hexc_gpu_info;
#define HEXC_GPU_INFO_INIT { sizeof(hexc_gpu_info), NULL, NULL, 0, 0, 0, 0, 0 }

/* Fills at most the bytes that out->size says, returns 1.  Strings live as long as g. */
HEXC_API int hexc_gpu_describe(const hexc_gpu *g, hexc_gpu_info *out);
/* 1 if the device takes PTX for this arch, else 0.  That of an arch with a letter runs on its own capability
 * alone, all other PTX on newer ones too. */
HEXC_API int hexc_gpu_runs(const hexc_gpu *g, const char *arch);

/* Device memory, which hexc_arg.ptr takes; aligned to 256 bytes.  0 bytes give an address as well. */
HEXC_API int hexc_gpu_alloc(hexc_gpu *g, uint64_t bytes, void **out);
HEXC_API int hexc_gpu_free(hexc_gpu *g, void *ptr); /* NULL is allowed */
/* Copies; they wait for what was launched before. */
HEXC_API int hexc_gpu_write(hexc_gpu *g, void *to, const void *from, uint64_t bytes);
HEXC_API int hexc_gpu_read(hexc_gpu *g, void *to, const void *from, uint64_t bytes);

/* Have the driver compile m's PTX.  m stays the caller's and outlives *out.  E_DEVICE, with the driver's log,
 * when it refuses the text. */
HEXC_API int hexc_gpu_load(hexc_gpu *g, const hexc_module *m, hexc_gpu_module **out);
HEXC_API void hexc_gpu_unload(hexc_gpu_module *gm); /* NULL is allowed */

/* Launch kernel k with arg[i].ptr in device memory, after hexc_check_args (E_ARGS).  An empty grid is not
 * launched: HEXC_OK.  Does not wait: what goes wrong in the kernel comes from the next function that does. */
HEXC_API int hexc_gpu_launch(hexc_gpu_module *gm, size_t k, const hexc_arg *arg);
/* The same on `stream`, a CUstream of the device's primary context, which frameworks share (NULL: the default
 * one): what is in it already runs before.  The copies here do not wait for it. */
HEXC_API int hexc_gpu_launch_on(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, void *stream);
HEXC_API int hexc_gpu_wait(hexc_gpu *g);

/* Launch it `runs` times (1 or more), each between two events, and write their times to us[0..runs), in
 * microseconds.  Before each, twice the L2 cache is overwritten, so that tensors come from memory, unless
 * `warm`.  One launch before is not timed.  Waits. */
HEXC_API int hexc_gpu_time(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, uint32_t runs, int warm,
                           double *us);

#ifdef __cplusplus
}
#endif
#endif
