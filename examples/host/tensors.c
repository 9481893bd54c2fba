/* tensors.c - loads a file's tensors to a device, and creates operators for them. */
#include "examples/host/host.h"
#include <stdlib.h>
#include <string.h>

void *
host_numbers(const hexc_file *f, const char *name, const char *type, hexc_file_tensor *t, char *why)
{
	const hexc_dtype *from, *to = hexc_dtype_find(type);
	void *numbers = NULL, *copy = NULL;
	uint64_t n = 1;

	*t = (hexc_file_tensor)HEXC_FILE_TENSOR_INIT;
	if (!hexc_file_find(f, name, t) || !t->dtype) {
		host_fail(why, name, "the model has no such tensor of numbers");
		return NULL;
	}
	from = hexc_dtype_find(t->dtype);
	for (uint32_t d = 0; d < t->rank; d++)
		n *= (uint64_t)t->dim[d];
	copy = malloc(t->bytes + 8); /* in the file it is not aligned */
	numbers = malloc(n * to->bits / 8 + 8);
	if (copy && numbers) {
		memcpy(from == to ? numbers : copy, t->data, t->bytes);
		for (uint64_t i = 0; i < n && from != to; i++)
			hexc_put(to, numbers, i, hexc_get(from, copy, i));
		t->bytes = n * to->bits / 8;
	} else {
		host_fail(why, name, "out of memory");
		free(numbers);
		numbers = NULL;
	}
	free(copy);
	return numbers;
}

void *
host_upload(hexc_gpu *gpu, const char *name, const void *from, uint64_t bytes, char *why)
{
	void *zeros = from ? NULL : calloc(1, bytes + 1), *dev = NULL;

	if (!from && !zeros) {
		host_fail(why, name, "out of memory");
	} else if (hexc_gpu_alloc(gpu, bytes, &dev) || hexc_gpu_write(gpu, dev, from ? from : zeros, bytes)) {
		host_fail(why, name, "%s", hexc_gpu_why(gpu));
		dev = NULL;
	}
	free(zeros);
	return dev;
}

hexc_op *
host_op(hexc_gpu *gpu, hexc_cache *cache, const char *name, const hexc_op_set *set, size_t n, char *why)
{
	hexc_op_opts o = HEXC_OP_OPTS_INIT;
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	char text[HOST_WHY];
	hexc_op *op;

	hexc_gpu_describe(gpu, &info);
	o.arch = info.arch;
	o.cache = cache;
	if (hexc_op_plan(&op, name, set, n, &o, text, sizeof text))
		host_fail(why, name, "%s", text);
	return op;
}
