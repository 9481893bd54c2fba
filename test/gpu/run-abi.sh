#!/bin/sh
# The names, signatures and numbers of lib/gpu/driver.h are those of cuda.h, where CUDA is installed.
. test/script.sh
for inc in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
	[ -e "$inc/cuda.h" ] && break
done
[ -e "$inc/cuda.h" ] || { echo "no cuda.h"; exit 77; }
cat >"$dir/abi.c" <<'END'
#include <cuda.h>
#include "lib/gpu/driver.h"
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
END
"${CC:-cc}" -std=gnu11 -I. -isystem "$inc" -Wno-unused -Werror=cast-function-type -fsyntax-only "$dir/abi.c"
