/* driver.h - declares the CUDA driver functions that hexc calls, resolved at run time.
 *
 * Names, signatures and constants are those of the CUDA Driver API reference; cuda.h is not required.
 * test/gpu/run-abi.sh compares the two where cuda.h is installed. */
#ifndef HEXC_DRIVER_H
#define HEXC_DRIVER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct DriverNode {
	void *function;
	unsigned grid[3], block[3], shared;
	void **args, **extra;
	void *kernel, *context; /* NULL: that of the function */
} DriverNode;

/* CUlaunchAttribute: value[0..3) is the cluster's dimensions, or value[0] a number */
typedef struct DriverAttribute {
	int id;
	_Alignas(8) unsigned value[3];
	unsigned rest[13];
} DriverAttribute;

/* CUlaunchConfig */
typedef struct DriverLaunch {
	unsigned grid[3], block[3], shared;
	void *stream;
	DriverAttribute *attribute;
	unsigned n; /* number of attributes */
} DriverLaunch;

/* X(name, parameters) for functions that return a result, 0 on success. */
#define DRIVER_CALLS(X) DRIVER_ALWAYS(X) DRIVER_LATER(X)
#define DRIVER_ALWAYS(X)                                                                                     \
	X(cuInit, (unsigned flags))                                                                          \
	X(cuDriverGetVersion, (int *version))                                                                \
	X(cuGetErrorName, (int result, const char **text))                                                   \
	X(cuGetErrorString, (int result, const char **text))                                                 \
	X(cuDeviceGetCount, (int *count))                                                                    \
	X(cuDeviceGet, (int *device, int ordinal))                                                           \
	X(cuDeviceGetName, (char *name, int len, int device))                                                \
	X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                     \
	X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                 \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                                            \
	X(cuDevicePrimaryCtxRelease_v2, (int device))                                                        \
	X(cuCtxPushCurrent_v2, (void *context))                                                              \
	X(cuCtxPopCurrent_v2, (void **context))                                                              \
	X(cuCtxGetCurrent, (void **context))                                                                 \
	X(cuCtxGetDevice, (int *device))                                                                     \
	X(cuCtxSynchronize, (void))                                                                          \
	X(cuMemAlloc_v2, (unsigned long long *ptr, size_t bytes))                                            \
	X(cuMemFree_v2, (unsigned long long ptr))                                                            \
	X(cuMemcpyHtoD_v2, (unsigned long long to, const void *from, size_t bytes))                          \
	X(cuMemcpyDtoH_v2, (void *to, unsigned long long from, size_t bytes))                                \
	X(cuMemcpyHtoDAsync_v2,                                                                              \
	  (unsigned long long to, const void *from, size_t bytes, void *stream))                             \
	X(cuMemcpyDtoHAsync_v2, (void *to, unsigned long long from, size_t bytes, void *stream))             \
	X(cuMemcpyDtoDAsync_v2,                                                                              \
	  (unsigned long long to, unsigned long long from, size_t bytes, void *stream))                      \
	X(cuMemcpyPeerAsync, (unsigned long long to, void *to_context, unsigned long long from,              \
	                      void *from_context, size_t bytes, void *stream))                               \
	X(cuMemHostAlloc, (void **ptr, size_t bytes, unsigned flags))                                        \
	X(cuMemFreeHost, (void *ptr))                                                                        \
	X(cuMemsetD8Async, (unsigned long long ptr, unsigned char value, size_t bytes, void *stream))        \
	X(cuModuleLoadDataEx, (void **module, const void *image, unsigned n, int *option, void **value))     \
	X(cuLinkCreate_v2, (unsigned n, int *option, void **value, void **state))                            \
	X(cuLinkAddData_v2, (void *state, int type, void *data, size_t bytes, const char *name, unsigned n,  \
	                     int *option, void **value))                                                     \
	X(cuLinkComplete, (void *state, void **cubin, size_t *bytes))                                        \
	X(cuLinkDestroy, (void *state))                                                                      \
	X(cuModuleUnload, (void *module))                                                                    \
	X(cuModuleGetFunction, (void **function, void *module, const char *name))                            \
	X(cuFuncSetAttribute, (void *function, int attribute, int value))                                    \
	X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                       \
	  (int *blocks, void *function, int threads, size_t shared))                                         \
	X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,  \
	                   unsigned bz, unsigned shared, void *stream, void **args, void **extra))           \
	X(cuLaunchCooperativeKernel,                                                                         \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,     \
	   unsigned shared, void *stream, void **args))                                                      \
	X(cuEventCreate, (void **event, unsigned flags))                                                     \
	X(cuEventRecord, (void *event, void *stream))                                                        \
	X(cuEventSynchronize, (void *event))                                                                 \
	X(cuEventElapsedTime, (float *ms, void *from, void *to))                                             \
	X(cuEventDestroy_v2, (void *event))                                                                  \
	X(cuStreamCreate, (void **stream, unsigned flags))                                                   \
	X(cuStreamDestroy_v2, (void *stream))                                                                \
	X(cuStreamSynchronize, (void *stream))                                                               \
	X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                    \
	X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                 \
	X(cuStreamEndCapture, (void *stream, void **graph))                                                  \
	X(cuGraphLaunch, (void *exec, void *stream))                                                         \
	X(cuGraphExecDestroy, (void *exec))                                                                  \
	X(cuGraphDestroy, (void *graph))

/* Functions added later, with the driver version in DRIVER_SINCE; NULL in older drivers. */
#define DRIVER_LATER(X)                                                                                      \
	X(cuTensorMapEncodeTiled,                                                                            \
	  (void *map, int type, unsigned rank, void *address, const uint64_t *dim, const uint64_t *stride,   \
	   const unsigned *box, const unsigned *step, int interleave, int swizzle, int l2, int fill))        \
	X(cuStreamGetCaptureInfo_v2,                                                                         \
	  (void *stream, int *status, uint64_t *id, void **graph, void *const **nodes, size_t *n))           \
	X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                 \
	X(cuGraphExecKernelNodeSetParams_v2, (void *exec, void *node, const DriverNode *params))             \
	X(cuGraphNodeSetEnabled, (void *exec, void *node, unsigned enabled))                                 \
	X(cuOccupancyMaxActiveClusters, (int *clusters, void *function, const DriverLaunch *launch))         \
	X(cuLaunchKernelEx, (const DriverLaunch *launch, void *function, void **args, void **extra))
#define DRIVER_SINCE(X)                                                                                      \
	X(cuTensorMapEncodeTiled, "12")                                                                      \
	X(cuStreamGetCaptureInfo_v2, "11.3")                                                                 \
	X(cuGraphInstantiateWithFlags, "11.4")                                                               \
	X(cuGraphExecKernelNodeSetParams_v2, "12")                                                           \
	X(cuGraphNodeSetEnabled, "11.6")                                                                     \
	X(cuOccupancyMaxActiveClusters, "11.8")                                                              \
	X(cuLaunchKernelEx, "11.8")

/* X(name, value): constants of cuda.h */
#define DRIVER_NUMBERS(X)                                                                                    \
	X(CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                       \
	X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                                                 \
	X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                                                           \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                   \
	X(CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                    \
	X(CUDA_ERROR_ASSERT, 710)                                                                            \
	X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                              \
	X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                               \
	X(CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                \
	X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                             \
	X(CUDA_ERROR_INVALID_PC, 718)                                                                        \
	X(CUDA_ERROR_LAUNCH_FAILED, 719)                                                                     \
	X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720)                                                      \
	X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                      \
	X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                                             \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                  \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                  \
	X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                         \
	X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                \
	X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4)                                                          \
	X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)                                          \
	X(CU_MEMHOSTALLOC_PORTABLE, 1)                                                                       \
	X(CU_STREAM_NON_BLOCKING, 1)                                                                         \
	X(CU_EVENT_DISABLE_TIMING, 2)                                                                        \
	X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                                                                \
	X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                                                            \
	X(CU_JIT_INPUT_PTX, 1)                                                                               \
	X(CU_JIT_ERROR_LOG_BUFFER, 5)                                                                        \
	X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)
enum {
#define X(name, value) DRV_##name = value,
	DRIVER_NUMBERS(X)
#undef X
};

typedef struct Driver {
#define X(name, parameters) int(*name) parameters;
	DRIVER_CALLS(X)
#undef X
} Driver;

/* Opens libcuda.so.1 and resolves all functions; if `simulated`, libhexc_sim instead, unless the process
 * has loaded it, and the functions of its sim_cuda. Returns false with one sentence in why[0..n) if the
 * library, or a function of DRIVER_ALWAYS, is missing. */
bool driver_open(Driver *d, bool simulated, char *why, size_t n);
/* Does the driver have the function, one of DRIVER_LATER? If not, writes the sentence. */
#define DRIVER_HAS(d, function, why, n) ((d)->function || driver_lacks(#function, why, n))
bool driver_lacks(const char *function, char *why, size_t n); /* returns false */
/* Writes a sentence about the failed result of `call`. */
void driver_says(const Driver *d, const char *call, int result, char *why, size_t n);
/* Maps a driver result to a HEXC_ code. */
int driver_code(int result);
#endif
