/* hexc_gpu.h - run compiled kernels on a GPU, through the CUDA driver.
 *
 * Beside hexc.h; the same rules hold.  In libhexc and in libhexc_rt.  For tools that have no CUDA context
 * of their own, and for engines that have one, and streams, and graphs: those are taken as they are.  Who
 * wants none of it finds in hexc.h what cuModuleLoadDataEx and cuLaunchKernel ask for.
 *
 *	hexc_gpu_open -> hexc_gpu_alloc, hexc_gpu_write -> hexc_gpu_load
 *	             -> hexc_gpu_launch, hexc_gpu_wait -> hexc_gpu_read -> hexc_gpu_close
 *	hexc_gpu_adopt -> hexc_gpu_load -> hexc_call_new -> { hexc_call_ptr, hexc_call_int, hexc_call_launch }
 *
 * The driver (libcuda.so.1) is opened when the first function needs it; nothing is linked, and where there
 * is none, or one that is too old for what is asked for, functions say so.  Several GPUs are several
 * hexc_gpu, each used by one thread at a time, but for launches of different hexc_call, which go beside one
 * another; its context is current only inside these functions, or as the host has it.  Work goes to the
 * default stream, but for launches on another.
 *
 * Functions that return int: HEXC_OK; E_DEVICE, the driver failed; E_FAULT, a kernel did something wrong (the
 * context is then lost: only hexc_gpu_close is left); E_NOMEM; E_INVALID.  hexc_gpu_why has the sentence. */
#ifndef HEXC_GPU_H
#define HEXC_GPU_H
#include "lib/hexc_family.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_gpu hexc_gpu;               /* a device */
typedef struct hexc_gpu_module hexc_gpu_module; /* a module on it */

/* A `device` that is no GPU but the simulator, as one of this compute capability: HEXC_SIMULATOR(90).  All
 * functions here work on it, so that a host's tests run its kernels, with every check that the simulator
 * has, on machines without GPUs.  libhexc_sim is opened at run time, unless the process has it: from the
 * folder that libhexc or libhexc_rt is in, or else where the loader finds it.  Each such hexc_gpu has
 * memory of its own; launches run at once; a fault is E_FAULT, with the simulator's sentence; times count
 * launches. */
#define HEXC_SIMULATOR(capability) (-(int)(capability))
/* Device number `device`, from 0, as CUDA_VISIBLE_DEVICES leaves them, or HEXC_SIMULATOR.  HEXC_OK and
 * *out, or *out = NULL and one sentence in why[0..n) (n may be 0). */
HEXC_API int hexc_gpu_open(hexc_gpu **out, int device, char *why, size_t n);
/* The same in a context of the host's, a CUcontext of any device, or NULL: the one that is current in this
 * thread.  It stays the host's, and must live until hexc_gpu_close.  E_INVALID where none is current. */
HEXC_API int hexc_gpu_adopt(hexc_gpu **out, void *context, char *why, size_t n);
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

/* Its CUcontext, for calls of the driver beside those here. */
HEXC_API void *hexc_gpu_context(const hexc_gpu *g);
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

/* What the driver makes of PTX from now on is kept in this cache (hexc_cache.h), and taken from there; NULL:
 * nothing is.  The cache stays the caller's and outlives g. */
HEXC_API int hexc_gpu_cache(hexc_gpu *g, hexc_cache *cache);
/* Hand the driver m's cubin for the device, the one of the nearest arch that runs on it, or, where there
 * is none or the driver refuses it, m's PTX to compile.  m stays the caller's and outlives *out.
 * E_DEVICE, with the driver's log, when it refuses the text, and when the device does not run m's arch. */
HEXC_API int hexc_gpu_load(hexc_gpu *g, const hexc_module *m, hexc_gpu_module **out);
/* The arch of the cubin that was taken; NULL: the driver compiled PTX. */
HEXC_API const char *hexc_gpu_cubin(const hexc_gpu_module *gm);
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

/* ---- prepared launches --------------------------------------------------------------------------------- */

/* A kernel with its arguments, kept from launch to launch: what is given once stays.  A launch takes no
 * memory and no lock, and computes only what new arguments change: nothing for the same ones, an address
 * and the maps of its tensor for another pointer, all of it for other sizes.  One hexc_call is used by one
 * thread at a time; different ones, of the same module too, by several.  The arguments are checked as
 * hexc_check_args does.
 *
 * A call whose module is unloaded, or whose GPU is closed, answers E_INVALID until it is freed.  So does a
 * call that was freed, as long as its module is loaded and fewer than 16 others of that module were freed
 * since: after that nothing may be done with it, as with any pointer to what is freed. */
typedef struct hexc_call hexc_call;

/* Kernel k of gm, without arguments.  HEXC_OK and *out (free with hexc_call_free, before gm is unloaded or
 * later), or *out = NULL, E_INVALID, E_NOMEM or E_DEVICE, and hexc_gpu_why has the sentence. */
HEXC_API int hexc_call_new(hexc_call **out, hexc_gpu_module *gm, size_t k);
HEXC_API void hexc_call_free(hexc_call *c); /* NULL is allowed */
/* What the last function on c that failed has to say, with the names of the kernel and the parameter; ""
 * if none did. */
HEXC_API const char *hexc_call_why(const hexc_call *c);
/* The number of the parameter of this name; -1: there is none. */
HEXC_API int hexc_call_find(const hexc_call *c, const char *name);

/* Give argument i, a number of hexc_call_find: a tensor its address in device memory and the bytes there
 * (0: unknown), a size or a scalar of an integer type its value, a scalar of a float type its value.
 * HEXC_OK, or E_INVALID where parameter i is of another kind, or there is none. */
HEXC_API int hexc_call_ptr(hexc_call *c, int i, void *ptr, uint64_t bytes);
HEXC_API int hexc_call_int(hexc_call *c, int i, int64_t x);
HEXC_API int hexc_call_float(hexc_call *c, int i, double x);
/* Bytes that tensor i needs for the sizes that were given, as hexc_tensor_bytes; tensors need no address
 * yet. */
HEXC_API int hexc_call_bytes(hexc_call *c, int i, uint64_t *bytes);

/* Launch it on a CUstream (NULL: the default one) of the context, as hexc_gpu_launch_on does; where the
 * stream is being captured into a graph, it becomes a node of that.  E_ARGS: an argument is missing or
 * does not fit. */
HEXC_API int hexc_call_launch(hexc_call *c, void *stream);
/* The same on a stream that is being captured (cuStreamBeginCapture), and *node is the CUgraphNode that it
 * became; NULL for an empty grid, which becomes none.  E_INVALID where the stream is not captured. */
HEXC_API int hexc_call_capture(hexc_call *c, void *stream, void **node);
/* Give such a node in a CUgraphExec, made of that graph by cuGraphInstantiate, the arguments that c has
 * now: its next launches take them.  With an empty grid the node does nothing until it is given another.
 * c may be another call of the same kernel. */
HEXC_API int hexc_call_update(hexc_call *c, void *exec, void *node);

/* ---- families ------------------------------------------------------------------------------------------ */

/* A family (hexc_family.h) with its arguments, kept from launch to launch as those of a hexc_call are: the
 * same rules hold.  For other sizes it takes another of its lines; all of its kernels are loaded from the
 * beginning. */
typedef struct hexc_family_call hexc_family_call;

/* HEXC_OK and *out (free with hexc_family_call_free, before f is closed; where g was closed before, launches
 * answer E_INVALID), or *out = NULL and as hexc_gpu_load, and hexc_gpu_why has the sentence. */
HEXC_API int hexc_family_call_new(hexc_family_call **out, hexc_gpu *g, const hexc_family *f);
HEXC_API void hexc_family_call_free(hexc_family_call *c); /* NULL is allowed */
/* What the last function on c that failed has to say; "" if none did. */
HEXC_API const char *hexc_family_call_why(const hexc_family_call *c);
/* As hexc_call_find, hexc_call_ptr, .._int and .._float, of the family's arguments. */
HEXC_API int hexc_family_call_find(const hexc_family_call *c, const char *name);
HEXC_API int hexc_family_call_ptr(hexc_family_call *c, int i, void *ptr, uint64_t bytes);
HEXC_API int hexc_family_call_int(hexc_family_call *c, int i, int64_t x);
HEXC_API int hexc_family_call_float(hexc_family_call *c, int i, double x);
/* The line for the sizes that were given, and the bytes of workspace that it takes; tensors need no address
 * yet, and either may be NULL.  HEXC_OK, or as hexc_family_pick. */
HEXC_API int hexc_family_call_line(hexc_family_call *c, size_t *line, uint64_t *workspace);
/* Device memory for that, aligned to 256 bytes: the launches that use it do not overlap.  What is large
 * enough for one size stays for others. */
HEXC_API int hexc_family_call_workspace(hexc_family_call *c, void *ptr, uint64_t bytes);
/* Launch all of the line's kernels, one after the other, on a stream, as hexc_call_launch does.  E_ARGS: an
 * argument or the workspace is missing or does not fit, or no line is for the sizes. */
HEXC_API int hexc_family_call_launch(hexc_family_call *c, void *stream);
/* The call of stage s of the line that is taken now, for hexc_call_capture and hexc_call_update behind a
 * launch: it has its arguments.  c owns it.  NULL past the end. */
HEXC_API hexc_call *hexc_family_call_at(hexc_family_call *c, size_t s);

/* ---- streams ------------------------------------------------------------------------------------------- */

/* A CUstream of the device, for hosts that have none.  It does not wait for the default stream, nor that
 * for it. */
HEXC_API int hexc_stream_new(void **out, hexc_gpu *g);
HEXC_API int hexc_stream_free(hexc_gpu *g, void *stream); /* NULL is allowed; before the GPU is closed */

/* ---- events -------------------------------------------------------------------------------------------- */

/* A point in a stream; of two the time between them. */
typedef struct hexc_event hexc_event;

HEXC_API int hexc_event_new(hexc_event **out, hexc_gpu *g);
/* NULL is allowed.  An event whose GPU is closed answers E_INVALID. */
HEXC_API void hexc_event_free(hexc_event *e);
/* Behind what is in the stream now (NULL: the default one). */
HEXC_API int hexc_event_record(hexc_event *e, void *stream);
/* Wait until all before it is done: faults of kernels come out here (E_FAULT). */
HEXC_API int hexc_event_wait(hexc_event *e);
/* Microseconds from one to the other, which both were recorded and waited for. */
HEXC_API int hexc_event_us(hexc_event *from, hexc_event *to, double *us);
/* Its CUevent, for cuStreamWaitEvent and others. */
HEXC_API void *hexc_event_handle(const hexc_event *e);

#ifdef __cplusplus
}
#endif
#endif
