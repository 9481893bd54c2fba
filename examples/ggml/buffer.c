/* buffer.c - device memory for ggml's tensors, in ggml's own layout. */
#include "examples/ggml/ggml_hexc.h"
#include <stdlib.h>

enum { ALIGNMENT = 256 };

typedef struct Buffer {
	Device *d;
	char *data;
} Buffer;

static Buffer *
of(ggml_backend_buffer_t buffer)
{
	return buffer->context;
}

static void
check(const Device *d, const char *what, int status)
{
	if (status)
		device_log(d, what, hexc_gpu_why(d->gpu));
}

static void
buffer_free(ggml_backend_buffer_t buffer)
{
	Buffer *b = of(buffer);

	pthread_mutex_lock(&b->d->lock);
	check(b->d, "free", hexc_gpu_free(b->d->gpu, b->data));
	b->d->allocated -= buffer->size;
	pthread_mutex_unlock(&b->d->lock);
	free(b);
}

static void *
buffer_base(ggml_backend_buffer_t buffer)
{
	return of(buffer)->data;
}

static void
write_bytes(Buffer *b, void *to, const void *from, size_t size)
{
	pthread_mutex_lock(&b->d->lock);
	check(b->d, "write", hexc_gpu_write(b->d->gpu, to, from, size));
	pthread_mutex_unlock(&b->d->lock);
}

static void
fill_bytes(Buffer *b, char *to, uint8_t value, size_t size)
{
	hexc_gpu *gpu = b->d->gpu;

	pthread_mutex_lock(&b->d->lock);
	check(b->d, "fill", hexc_gpu_fill_on(gpu, to, value, size, NULL) || hexc_stream_wait(gpu, NULL));
	pthread_mutex_unlock(&b->d->lock);
}

static void
buffer_memset(ggml_backend_buffer_t buffer, struct ggml_tensor *t, uint8_t value, size_t offset, size_t size)
{
	fill_bytes(of(buffer), (char *)t->data + offset, value, size);
}

static void
buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor *t, const void *data, size_t offset, size_t size)
{
	write_bytes(of(buffer), (char *)t->data + offset, data, size);
}

static void
buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data, size_t offset, size_t size)
{
	Buffer *b = of(buffer);

	pthread_mutex_lock(&b->d->lock);
	check(b->d, "read", hexc_gpu_read(b->d->gpu, data, (const char *)t->data + offset, size));
	pthread_mutex_unlock(&b->d->lock);
}

static bool
buffer_copy(ggml_backend_buffer_t buffer, const struct ggml_tensor *from, struct ggml_tensor *to)
{
	(void)buffer;
	return transfer_copy_now(from, to);
}

static void
buffer_clear(ggml_backend_buffer_t buffer, uint8_t value)
{
	fill_bytes(of(buffer), of(buffer)->data, value, buffer->size);
}

static const struct ggml_backend_buffer_i buffer_interface = {
	.free_buffer = buffer_free,
	.get_base = buffer_base,
	.memset_tensor = buffer_memset,
	.set_tensor = buffer_set,
	.get_tensor = buffer_get,
	.cpy_tensor = buffer_copy,
	.clear = buffer_clear,
};

Device *
buffer_device(ggml_backend_buffer_t buffer)
{
	return buffer->iface.free_buffer == buffer_free ? of(buffer)->d : NULL;
}

/* ---- the type ------------------------------------------------------------------------------------ */

static const char *
type_get_name(ggml_backend_buffer_type_t type)
{
	const Device *d = type->context;

	return d->name;
}

static ggml_backend_buffer_t
type_alloc(ggml_backend_buffer_type_t type, size_t size)
{
	Device *d = type->context;
	Buffer *b = calloc(1, sizeof *b);
	char why[WHY_MOST] = "out of memory";
	void *data = NULL;
	bool ok = b && device_open(d, why, sizeof why);

	if (ok) {
		pthread_mutex_lock(&d->lock);
		ok = !hexc_gpu_alloc(d->gpu, size, &data);
		if (ok)
			d->allocated += size;
		else
			device_log(d, "alloc", hexc_gpu_why(d->gpu));
		pthread_mutex_unlock(&d->lock);
	} else {
		device_log(d, "alloc", why);
	}
	if (!ok) {
		free(b);
		return NULL;
	}
	*b = (Buffer){ d, data };
	return ggml_backend_buffer_init(type, buffer_interface, b, size);
}

static size_t
type_alignment(ggml_backend_buffer_type_t type)
{
	(void)type;
	return ALIGNMENT;
}

const struct ggml_backend_buffer_type_i buffer_type_interface = {
	.get_name = type_get_name,
	.alloc_buffer = type_alloc,
	.get_alignment = type_alignment,
};
