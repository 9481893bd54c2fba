/* hexc_gpu.h - run compiled kernels on a GPU, through the CUDA driver.
 *
 * Accompanies hexc.h; the same rules apply. In libhexc and libhexc_rt. For tools without a CUDA context,
 * and for engines that have a context, streams and graphs, which are used unchanged. Hosts that need
 * neither find in hexc.h what to pass to cuModuleLoadDataEx and cuLaunchKernel.
 *
 *	hexc_gpu_open -> hexc_gpu_alloc, hexc_gpu_write -> hexc_gpu_load
 *	             -> hexc_gpu_launch, hexc_gpu_wait -> hexc_gpu_read -> hexc_gpu_close
 *	hexc_gpu_adopt -> hexc_gpu_load -> hexc_call_new -> { hexc_call_ptr, hexc_call_int, hexc_call_launch }
 *
 * The driver (libcuda.so.1) is opened by the first function that needs it; nothing is linked. Functions
 * report a missing driver, or one that is too old for the request. Each GPU is one hexc_gpu, used by one
 * thread at a time, except that launches of different hexc_call may run concurrently. Its context is
 * current only inside these functions, or as the host set it. Work goes to the default stream, unless a
 * launch or copy names another.
 *
 * Functions that return int: HEXC_OK; E_DEVICE, the driver failed; E_FAULT, a kernel faulted (the context
 * is then lost: only hexc_gpu_close is allowed); E_NOMEM; E_INVALID. hexc_gpu_why returns the sentence. */
#ifndef HEXC_GPU_H
#define HEXC_GPU_H
#include "lib/hexc_family.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hexc_gpu hexc_gpu;               /* a device and its context */
typedef struct hexc_gpu_module hexc_gpu_module; /* a module loaded on a device */

/* A value for `device` that selects the simulator with this compute capability instead of a GPU:
 * HEXC_SIMULATOR(90). All functions here work on it, so a host's tests can run its kernels on machines
 * without GPUs, with every check of the simulator. libhexc_sim is opened at run time, unless the process
 * has loaded it: from the directory of libhexc or libhexc_rt, or else by the loader's search. Each such
 * hexc_gpu has separate memory; launches run synchronously; a fault is E_FAULT, with the simulator's
 * sentence; times count launches. */
#define HEXC_SIMULATOR(capability) (-(int)(capability))
/* Opens device number `device`, from 0, as CUDA_VISIBLE_DEVICES numbers them, or HEXC_SIMULATOR. Returns
 * HEXC_OK and sets *out, or sets *out = NULL and writes one sentence to why[0..n) (n may be 0). */
HEXC_API int hexc_gpu_open(hexc_gpu **out, int device, char *why, size_t n);
/* Opens a device in the host's context, a CUcontext of any device; NULL: the one current in this thread.
 * The host keeps ownership; the context must live until hexc_gpu_close. Returns E_INVALID if none is
 * current. */
HEXC_API int hexc_gpu_adopt(hexc_gpu **out, void *context, char *why, size_t n);
/* Frees all remaining memory and modules; the caller must neither use nor free them afterwards. g may be
 * NULL. */
HEXC_API void hexc_gpu_close(hexc_gpu *g);
/* Returns the message of the last function that failed; "" if none did. */
HEXC_API const char *hexc_gpu_why(const hexc_gpu *g);

typedef struct hexc_gpu_info {
	size_t size;            /* bytes of this struct that are filled */
	const char *name;       /* "NVIDIA H200" */
	const char *arch;       /* the one of hexc_arch() to compile for; NULL: the device runs none of
	                         * them */
	uint32_t capability;    /* 90: compute capability 9.0 */
	uint32_t driver;        /* 13000: CUDA 13.0 */
	uint32_t sms;           /* streaming multiprocessors */
	uint32_t l2;            /* L2 cache in bytes */
	uint64_t memory;        /* device memory in bytes */
	uint32_t shared;        /* bytes of shared memory, at most, that a block may use */
	uint32_t reserved;      /* 0 */
} hexc_gpu_info;
#define HEXC_GPU_INFO_INIT { sizeof(hexc_gpu_info), NULL, NULL, 0, 0, 0, 0, 0, 0, 0 }

/* Returns the device's CUcontext, for the host's own driver calls. */
HEXC_API void *hexc_gpu_context(const hexc_gpu *g);
/* Fills at most out->size bytes and returns 1. Strings live as long as g. */
HEXC_API int hexc_gpu_describe(const hexc_gpu *g, hexc_gpu_info *out);
/* Returns 1 if the device runs PTX for this arch, else 0. PTX of an arch with a letter runs on its own
 * capability only, all other PTX also on newer ones. */
HEXC_API int hexc_gpu_runs(const hexc_gpu *g, const char *arch);

/* Allocates device memory, for hexc_arg.ptr, aligned to 256 bytes. 0 bytes give a valid address as well. */
HEXC_API int hexc_gpu_alloc(hexc_gpu *g, uint64_t bytes, void **out);
HEXC_API int hexc_gpu_free(hexc_gpu *g, void *ptr); /* ptr may be NULL */
/* Copy memory, after earlier work on the default stream, and return when that is done: all streams then see
 * the bytes. They do not wait for other streams. */
HEXC_API int hexc_gpu_write(hexc_gpu *g, void *to, const void *from, uint64_t bytes);
HEXC_API int hexc_gpu_read(hexc_gpu *g, void *to, const void *from, uint64_t bytes);

/* From now on stores the driver's JIT results in this cache (hexc_cache.h) and looks them up there; NULL:
 * no cache. Owned by the caller; must outlive g. */
HEXC_API int hexc_gpu_cache(hexc_gpu *g, hexc_cache *cache);
/* Loads m's cubin for the device, of the nearest arch that runs on it. If there is none, or the driver
 * rejects it, the driver compiles m's PTX. m is owned by the caller and must outlive *out. Returns
 * E_DEVICE, with the driver's log, if the driver rejects the PTX, and if the device does not run m's
 * arch. */
HEXC_API int hexc_gpu_load(hexc_gpu *g, const hexc_module *m, hexc_gpu_module **out);
/* Returns the arch of the loaded cubin; NULL if the driver compiled PTX. */
HEXC_API const char *hexc_gpu_cubin(const hexc_gpu_module *gm);
HEXC_API void hexc_gpu_unload(hexc_gpu_module *gm); /* gm may be NULL */

/* Launches kernel k with arg[i].ptr in device memory, after hexc_check_args (E_ARGS). An empty grid is not
 * launched: HEXC_OK. Does not wait; the next function that waits reports faults of the kernel. */
HEXC_API int hexc_gpu_launch(hexc_gpu_module *gm, size_t k, const hexc_arg *arg);
/* Launches on `stream`, a CUstream of the device's primary context, which frameworks share (NULL: the
 * default stream), after its current contents. The copies here do not wait for it. */
HEXC_API int hexc_gpu_launch_on(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, void *stream);
HEXC_API int hexc_gpu_wait(hexc_gpu *g);

/* Launches the kernel `runs` times (1 or more), each between two events, and writes the times to
 * us[0..runs), in microseconds. Unless `warm`, overwrites twice the size of the L2 cache before each
 * launch, so that tensors are read from memory. One untimed launch precedes. Waits for completion. */
HEXC_API int hexc_gpu_time(hexc_gpu_module *gm, size_t k, const hexc_arg *arg, uint32_t runs, int warm,
                           double *us);

/* ---- prepared launches --------------------------------------------------------------------------------- */

/* A kernel with its arguments, which persist between launches. A launch allocates no memory, takes no
 * lock, and recomputes only what changed: nothing for equal arguments, an address and the tensor's maps
 * for another pointer, everything for other sizes. One hexc_call is used by one thread at a time;
 * different ones, also of one module, by several threads. The arguments are checked as in hexc_check_args.
 *
 * A call whose module is unloaded, or whose GPU is closed, returns E_INVALID until it is freed. So does a
 * freed call, as long as its module is loaded and fewer than 16 other calls of that module were freed
 * since. After that, using it is undefined, as for any freed pointer. */
typedef struct hexc_call hexc_call;

/* Creates a call of kernel k of gm, without arguments. Returns HEXC_OK and sets *out (free with
 * hexc_call_free, before or after gm is unloaded), or sets *out = NULL and returns E_INVALID, E_NOMEM or
 * E_DEVICE; hexc_gpu_why has the sentence. */
HEXC_API int hexc_call_new(hexc_call **out, hexc_gpu_module *gm, size_t k);
HEXC_API void hexc_call_free(hexc_call *c); /* c may be NULL */
/* Returns the message of the last function on c that failed, with the names of the kernel and the
 * parameter; "" if none did. */
HEXC_API const char *hexc_call_why(const hexc_call *c);
/* Returns the index of the parameter with this name; -1 if there is none. */
HEXC_API int hexc_call_find(const hexc_call *c, const char *name);

/* Set argument i, an index from hexc_call_find: a tensor's address in device memory and its bytes (0:
 * unknown), the value of a size or integer scalar, the value of a float scalar. Return HEXC_OK, or
 * E_INVALID if parameter i is of another kind, or does not exist. */
HEXC_API int hexc_call_ptr(hexc_call *c, int i, void *ptr, uint64_t bytes);
HEXC_API int hexc_call_int(hexc_call *c, int i, int64_t x);
HEXC_API int hexc_call_float(hexc_call *c, int i, double x);
/* Computes the bytes that tensor i needs for the sizes set so far, as hexc_tensor_bytes; tensors need no
 * address yet. */
HEXC_API int hexc_call_bytes(hexc_call *c, int i, uint64_t *bytes);

/* Launches the call on a CUstream of the context (NULL: the default stream), as hexc_gpu_launch_on; on a
 * stream under graph capture it becomes a graph node. Returns E_ARGS if an argument is missing or does not
 * fit. */
HEXC_API int hexc_call_launch(hexc_call *c, void *stream);
/* Launches on a stream under capture (cuStreamBeginCapture) and sets *node to the resulting CUgraphNode;
 * NULL for an empty grid, which adds no node. Returns E_INVALID if the stream is not being captured. */
HEXC_API int hexc_call_capture(hexc_call *c, void *stream, void **node);
/* Sets the arguments of that node in a CUgraphExec, instantiated from its graph by cuGraphInstantiate, to
 * the current ones of c; later graph launches use them. With an empty grid the node is disabled until the
 * next update. c may be another call of the same kernel. */
HEXC_API int hexc_call_update(hexc_call *c, void *exec, void *node);

/* ---- families ------------------------------------------------------------------------------------------ */

/* A family (hexc_family.h) with its arguments, which persist between launches under the rules of
 * hexc_call. For other sizes it selects another of its lines; all its kernels are loaded at creation. */
typedef struct hexc_family_call hexc_family_call;

/* Creates a call of f. Returns HEXC_OK and sets *out (free with hexc_family_call_free before f is closed;
 * once g is closed, launches return E_INVALID), or sets *out = NULL and returns as hexc_gpu_load;
 * hexc_gpu_why has the sentence. */
HEXC_API int hexc_family_call_new(hexc_family_call **out, hexc_gpu *g, const hexc_family *f);
HEXC_API void hexc_family_call_free(hexc_family_call *c); /* c may be NULL */
/* Returns the message of the last function on c that failed; "" if none did. */
HEXC_API const char *hexc_family_call_why(const hexc_family_call *c);
/* As hexc_call_find, hexc_call_ptr, .._int and .._float, for the family's arguments. */
HEXC_API int hexc_family_call_find(const hexc_family_call *c, const char *name);
HEXC_API int hexc_family_call_ptr(hexc_family_call *c, int i, void *ptr, uint64_t bytes);
HEXC_API int hexc_family_call_int(hexc_family_call *c, int i, int64_t x);
HEXC_API int hexc_family_call_float(hexc_family_call *c, int i, double x);
/* Returns in *line the line for the sizes set so far, and in *workspace the bytes of workspace that it
 * needs; either may be NULL, and tensors need no address yet. Returns HEXC_OK, or as hexc_family_pick. */
HEXC_API int hexc_family_call_line(hexc_family_call *c, size_t *line, uint64_t *workspace);
/* Sets the workspace, device memory aligned to 256 bytes. Launches that use it must not overlap. It
 * persists and serves all sizes for which it is large enough. */
HEXC_API int hexc_family_call_workspace(hexc_family_call *c, void *ptr, uint64_t bytes);
/* Launches all kernels of the line, in order, on a stream, as hexc_call_launch. Returns E_ARGS if an
 * argument or the workspace is missing or does not fit, or if no line matches the sizes. */
HEXC_API int hexc_family_call_launch(hexc_family_call *c, void *stream);
/* Returns the call of stage s of the current line, with its arguments, for hexc_call_capture and
 * hexc_call_update after a launch. Owned by c. NULL past the end. */
HEXC_API hexc_call *hexc_family_call_at(hexc_family_call *c, size_t s);

/* ---- streams ------------------------------------------------------------------------------------------- */

/* A point in a stream: to wait for, and to measure times. */
typedef struct hexc_event hexc_event;

/* Creates a CUstream of the device, for hosts that have none. It does not synchronize with the default
 * stream. */
HEXC_API int hexc_stream_new(void **out, hexc_gpu *g);
HEXC_API int hexc_stream_free(hexc_gpu *g, void *stream); /* stream may be NULL; call it before the GPU is
                                                           * closed */

/* Waits until all work of the stream (NULL: the default stream) is done; reports faults of kernels
 * (E_FAULT). */
HEXC_API int hexc_stream_wait(hexc_gpu *g, void *stream);
/* Work added to this stream of g from now on runs after what the last hexc_event_record of e precedes; the
 * host does not wait. e may be of another GPU. An event that was not recorded delays nothing. Returns
 * E_INVALID if e's GPU is closed, or if only one of the two is simulated. */
HEXC_API int hexc_stream_after(hexc_gpu *g, void *stream, hexc_event *e);

/* ---- copies on streams --------------------------------------------------------------------------------- */

/* Copy memory on a stream of g (NULL: the default stream), as launches: after the stream's current contents,
 * and without waiting for the copy. hexc_stream_wait, or an event, tells when it is done; until then neither
 * side of the copy may be freed, the bytes copied from may not change, and those copied to are undefined.
 * That holds for pageable host memory as well, although the functions may wait for the stream there, or until
 * the bytes are copied to other memory. Copies to and from memory of hexc_host_alloc do not wait.
 *
 * Faults of earlier kernels may be returned here. Only hexc_stream_after orders a copy and work on another
 * stream, the default one included. On a stream that is being captured, a copy becomes a node
 * of the graph, with these addresses; the simulator captures only launches, and returns E_DEVICE. */
HEXC_API int hexc_gpu_write_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream);
HEXC_API int hexc_gpu_read_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream);
/* Within device memory; the two ranges must not overlap. */
HEXC_API int hexc_gpu_copy_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream);
/* From the memory of from_gpu to that of to_gpu, on a stream of from_gpu, which has the message if it fails.
 * Another thread may use to_gpu meanwhile. The two may be one device, also with one context. Returns
 * E_INVALID if only one of them is simulated. */
HEXC_API int hexc_gpu_copy_peer_on(hexc_gpu *to_gpu, void *to, hexc_gpu *from_gpu, const void *from,
                                   uint64_t bytes, void *stream);
/* Sets the bytes of device memory to `value`. */
HEXC_API int hexc_gpu_fill_on(hexc_gpu *g, void *to, uint8_t value, uint64_t bytes, void *stream);

/* Allocates host memory that is pinned (page-locked), for all GPUs of the process. It belongs to g until
 * hexc_host_free or hexc_gpu_close, before which copies on streams must be done with it. 0 bytes give a valid
 * address as well. Returns E_NOMEM if the system pins no more. */
HEXC_API int hexc_host_alloc(hexc_gpu *g, uint64_t bytes, void **out);
HEXC_API int hexc_host_free(hexc_gpu *g, void *ptr); /* ptr may be NULL */

/* ---- events -------------------------------------------------------------------------------------------- */

HEXC_API int hexc_event_new(hexc_event **out, hexc_gpu *g);
/* The same without times, which is cheaper: hexc_event_us returns E_INVALID. */
HEXC_API int hexc_event_new_untimed(hexc_event **out, hexc_gpu *g);
/* e may be NULL. An event whose GPU is closed returns E_INVALID. */
HEXC_API void hexc_event_free(hexc_event *e);
/* Records e after the current contents of the stream (NULL: the default stream). */
HEXC_API int hexc_event_record(hexc_event *e, void *stream);
/* Waits until everything before e is done; reports faults of kernels (E_FAULT). */
HEXC_API int hexc_event_wait(hexc_event *e);
/* Computes the microseconds between two events, both recorded and waited for. */
HEXC_API int hexc_event_us(hexc_event *from, hexc_event *to, double *us);
/* Returns the CUevent, for the host's own driver calls. */
HEXC_API void *hexc_event_handle(const hexc_event *e);

#ifdef __cplusplus
}
#endif
#endif
