/* buffer.c - device memory for ggml's tensors, in ggml's own layout but for packed weights. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/packed.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256 };

static Buffer *
of(ggml_backend_buffer_t buffer)
{
	return buffer->context;
}

static bool
check(const Device *d, const char *what, int status)
{
	if (status)
		device_log(d, what, hexc_gpu_why(d->gpu));
	return !status;
}

static void
buffer_free(ggml_backend_buffer_t buffer)
{
	Buffer *b = of(buffer);

	pthread_mutex_lock(&b->d->lock);
	check(b->d, "free", hexc_gpu_free(b->d->gpu, b->data));
	b->d->allocated -= buffer->size;
	pthread_mutex_unlock(&b->d->lock);
	weights_forget(b);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static void *
buffer_base(ggml_backend_buffer_t buffer)
{
	return of(buffer)->data;
}

bool
buffer_write(Buffer *b, void *to, const void *from, size_t size)
{
	bool ok;

	pthread_mutex_lock(&b->d->lock);
	ok = check(b->d, "write", hexc_gpu_write(b->d->gpu, to, from, size));
	pthread_mutex_unlock(&b->d->lock);
	return ok;
}

bool
buffer_read(Buffer *b, void *to, const void *from, size_t size)
{
	bool ok;

	pthread_mutex_lock(&b->d->lock);
	ok = check(b->d, "read", hexc_gpu_read(b->d->gpu, to, from, size));
	pthread_mutex_unlock(&b->d->lock);
	return ok;
}

bool
buffer_wait(Buffer *b)
{
	bool ok;

	pthread_mutex_lock(&b->d->lock);
	ok = check(b->d, "wait", hexc_gpu_wait(b->d->gpu));
	pthread_mutex_unlock(&b->d->lock);
	return ok;
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
buffer_set(ggml_backend_buffer_t buffer, struct ggml_tensor *t, const void *data, size_t offset, size_t size)
{
	bool ok = true;

	if (!weights_write(buffer, t, data, offset, size, &ok))
		buffer_write(of(buffer), (char *)t->data + offset, data, size);
	if (!ok)
		device_log(of(buffer)->d, "weight", "out of memory, or the device failed");
}

static void
buffer_memset(ggml_backend_buffer_t buffer, struct ggml_tensor *t, uint8_t value, size_t offset, size_t size)
{
	void *bytes;

	if (!is_weight(t)) {
		fill_bytes(of(buffer), (char *)t->data + offset, value, size);
		return;
	}
	bytes = malloc(size);
	if (bytes)
		buffer_set(buffer, t, memset(bytes, value, size), offset, size);
	else
		device_log(of(buffer)->d, "fill", "out of memory");
	free(bytes);
}

static void
buffer_get(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data, size_t offset, size_t size)
{
	bool ok = true;

	if (!weights_read(buffer, t, data, offset, size, &ok))
		buffer_read(of(buffer), data, (const char *)t->data + offset, size);
	if (!ok)
		device_log(of(buffer)->d, "weight", "out of memory, or the device failed");
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
	weights_forget(of(buffer));
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

ggml_backend_buffer_t
buffer_of(const struct ggml_tensor *t)
{
	return t->buffer && buffer_device(t->buffer) ? t->buffer : NULL;
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
	b->d = d;
	b->data = data;
	pthread_mutex_init(&b->lock, NULL);
	return ggml_backend_buffer_init(type, buffer_interface, b, size);
}

static size_t
type_alignment(ggml_backend_buffer_type_t type)
{
	(void)type;
	return ALIGNMENT;
}

static size_t
type_alloc_size(ggml_backend_buffer_type_t type, const struct ggml_tensor *t)
{
	size_t size = ggml_nbytes(t);
	PackedForm f;

	(void)type;
	return packed_form(&f, t) && (size_t)f.bytes > size ? (size_t)f.bytes : size;
}

const struct ggml_backend_buffer_type_i buffer_type_interface = {
	.get_name = type_get_name,
	.alloc_buffer = type_alloc,
	.get_alignment = type_alignment,
	.get_alloc_size = type_alloc_size,
};
