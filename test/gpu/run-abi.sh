#!/bin/sh
# lib/gpu/driver.h has the names, signatures and numbers of cuda.h, if CUDA is installed.
. test/script.sh
for inc in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
	[ -e "$inc/cuda.h" ] && break
done
[ -e "$inc/cuda.h" ] || { echo "no cuda.h"; exit 77; }
cat >"$dir/abi.c" <<'END'
#include <cuda.h>
#include <stddef.h>
#include "lib/gpu/driver.h"
#if CUDA_VERSION >= 13000 /* shows what it has replaced to nobody but itself: INTERNAL */
CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
	const CUgraphNode **, size_t *);
#endif
#ifndef __CUDA_API_VERSION_INTERNAL
#define SAME(mine, its) \
	_Static_assert(offsetof(DriverNode, mine) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, its), #mine);
SAME(function, func) SAME(grid, gridDimX) SAME(block, blockDimX) SAME(shared, sharedMemBytes)
SAME(args, kernelParams) SAME(extra, extra) SAME(kernel, kern) SAME(context, ctx)
_Static_assert(sizeof(DriverNode) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2), "parameters of a node");
_Static_assert(sizeof(DriverAttribute) == sizeof(CUlaunchAttribute) && sizeof(DriverLaunch) == sizeof(CUlaunchConfig) &&
	offsetof(DriverAttribute, value) == offsetof(CUlaunchAttribute, value.clusterDim) &&
	offsetof(DriverLaunch, stream) == offsetof(CUlaunchConfig, hStream) &&
	offsetof(DriverLaunch, attribute) == offsetof(CUlaunchConfig, attrs) &&
	offsetof(DriverLaunch, n) == offsetof(CUlaunchConfig, numAttrs), "launches");
#define X(name, value) _Static_assert((int)name == value, #name);
DRIVER_NUMBERS(X)
#undef X
/* as cuda.h has them: handles are pointers there too, enumerations are ints */
typedef struct Like {
#define X(name, parameters) CUresult (*name) parameters;
	DRIVER_CALLS(X)
#undef X
} Like;
_Static_assert(sizeof(CUresult) == sizeof(int) && sizeof(CUdevice) == sizeof(int), "results and devices");
_Static_assert(sizeof(CUdeviceptr) == sizeof(unsigned long long), "addresses");
_Static_assert(sizeof(CUjit_option) == sizeof(int) && sizeof(CUdevice_attribute) == sizeof(int), "enumerations");
#define X(name, parameters) \
	static const char name##_has[] = "signature of " #name; \
	CUresult (*const name##_like) parameters = (CUresult (*) parameters)name;
DRIVER_CALLS(X)
#endif
END
"${CC:-cc}" -std=gnu11 -I. -isystem "$inc" -Wno-unused -Werror=cast-function-type -fsyntax-only "$dir/abi.c" || exit 1
"${CC:-cc}" -std=gnu11 -D__CUDA_API_VERSION_INTERNAL -I. -isystem "$inc" -Wno-unused -fsyntax-only "$dir/abi.c"
