/* transfer.c - implements hexc_gpu.h: copies on streams. */
#include "lib/gpu/gpu.h"

/* Enters g for a copy of this many bytes. */
static int
begin(hexc_gpu *g, const void *to, const void *from, uint64_t bytes)
{
	return !g || (bytes && (!to || !from)) ? HEXC_E_INVALID : gpu_enter(g);
}

int
hexc_gpu_write_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream)
{
	int code = begin(g, to, from, bytes);

	if (code)
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemcpyHtoDAsync_v2, (uintptr_t)to, from, bytes, stream);
	return gpu_leave(g, code);
}

int
hexc_gpu_read_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream)
{
	int code = begin(g, to, from, bytes);

	if (code)
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemcpyDtoHAsync_v2, to, (uintptr_t)from, bytes, stream);
	return gpu_leave(g, code);
}

int
hexc_gpu_copy_on(hexc_gpu *g, void *to, const void *from, uint64_t bytes, void *stream)
{
	int code = begin(g, to, from, bytes);

	if (code)
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemcpyDtoDAsync_v2, (uintptr_t)to, (uintptr_t)from, bytes, stream);
	return gpu_leave(g, code);
}

int
hexc_gpu_copy_peer_on(hexc_gpu *to_gpu, void *to, hexc_gpu *from_gpu, const void *from, uint64_t bytes,
                      void *stream)
{
	hexc_gpu *g = from_gpu;
	int code;

	if (!to_gpu || !g)
		return HEXC_E_INVALID;
	if (to_gpu->context == g->context)
		return hexc_gpu_copy_on(g, to, from, bytes, stream);
	if (to_gpu->simulated != g->simulated)
		return gpu_error(g, HEXC_E_INVALID, "one of the devices is simulated, the other is not; copy "
		                                    "by hexc_gpu_read and hexc_gpu_write");
	if ((code = begin(g, to, from, bytes)))
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemcpyPeerAsync, (uintptr_t)to, to_gpu->context, (uintptr_t)from,
		                g->context, bytes, stream);
	return gpu_leave(g, code);
}

int
hexc_gpu_fill_on(hexc_gpu *g, void *to, uint8_t value, uint64_t bytes, void *stream)
{
	int code = begin(g, to, to, bytes);

	if (code)
		return code;
	if (bytes)
		code = GPU_CALL(g, cuMemsetD8Async, (uintptr_t)to, value, bytes, stream);
	return gpu_leave(g, code);
}
