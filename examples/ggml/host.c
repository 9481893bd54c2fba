/* host.c - host memory that is pinned, so that copies from and to it do not wait: ggml keeps tensors of the
 * CPU there. */
#include "examples/ggml/ggml_hexc.h"
#include <ggml-impl.h>

static Device *
of(ggml_backend_buffer_type_t type)
{
	return type->context;
}

static const char *
host_name(ggml_backend_buffer_type_t type)
{
	return of(type)->host_name;
}

static void
host_free(ggml_backend_buffer_t buffer)
{
	Device *d = of(buffer->buft);

	pthread_mutex_lock(&d->lock);
	if (hexc_host_free(d->gpu, buffer->context))
		device_log(d, "free", hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
}

/* Returns pinned memory, or NULL. */
static void *
pin(Device *d, size_t size)
{
	char why[WHY_MOST];
	void *data = NULL;

	if (!device_open(d, why, sizeof why)) {
		GGML_LOG_DEBUG("%s: %zu bytes are not pinned: %s\n", d->name, size, why);
		return NULL;
	}
	pthread_mutex_lock(&d->lock);
	if (hexc_host_alloc(d->gpu, size, &data))
		GGML_LOG_DEBUG("%s: %zu bytes are not pinned: %s\n", d->name, size, hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
	return data;
}

/* The CPU's buffer, in other memory. */
static ggml_backend_buffer_t
host_alloc(ggml_backend_buffer_type_t type, size_t size)
{
	void *data = pin(of(type), size);
	ggml_backend_buffer_t buffer;

	if (!data)
		return ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
	buffer = ggml_backend_cpu_buffer_from_ptr(data, size);
	buffer->buft = type;
	buffer->iface.free_buffer = host_free;
	return buffer;
}

static size_t
host_alignment(ggml_backend_buffer_type_t type)
{
	(void)type;
	return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
}

static bool
host_is_host(ggml_backend_buffer_type_t type)
{
	(void)type;
	return true;
}

const struct ggml_backend_buffer_type_i host_type_interface = {
	.get_name = host_name,
	.alloc_buffer = host_alloc,
	.get_alignment = host_alignment,
	.is_host = host_is_host,
};
