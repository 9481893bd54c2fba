/* device.c - a device of ggml: a GPU or the simulator, opened when it is first used. */
#include "examples/ggml/ggml_hexc.h"
#include <ggml-impl.h>
#include "lib/hexc_weights.h"
#include <stdio.h>
#include <string.h>

static Device *
of(ggml_backend_dev_t dev)
{
	return dev->context;
}

void
device_log(const Device *d, const char *what, const char *why)
{
	GGML_LOG_ERROR("%s: %s: %s\n", d->name, what, why);
}

bool
device_open(Device *d, char *why, size_t n)
{
	pthread_mutex_lock(&d->lock);
	if (!d->gpu && !hexc_gpu_open(&d->gpu, d->number, why, n)) {
		d->info = (hexc_gpu_info)HEXC_GPU_INFO_INIT;
		hexc_gpu_describe(d->gpu, &d->info);
		d->limits = (Limits){ .shared = d->info.shared, .memory = &d->buffers };
		snprintf(d->text, sizeof d->text, "%s", d->info.name);
		if (hexc_cache_open(&d->cache, NULL, NULL, 0))
			d->cache = NULL;
		hexc_gpu_cache(d->gpu, d->cache);
	}
	pthread_mutex_unlock(&d->lock);
	return d->gpu;
}

/* Returns a codebook's numbers in the memory of the device, which is locked, or NULL. */
static void *
upload_codebook(Device *d, enum ggml_type type)
{
	int8_t number[CODEBOOK_MOST];
	size_t count = hexc_format_codebook(block_format(type), number, sizeof number);
	void *out;

	if (count > sizeof number || hexc_gpu_alloc(d->gpu, count, &out))
		return NULL;
	if (!hexc_gpu_write(d->gpu, out, number, count))
		return out;
	hexc_gpu_free(d->gpu, out);
	return NULL;
}

void *
device_codebook(Device *d, enum ggml_type type, char *why, size_t n)
{
	void *out;

	pthread_mutex_lock(&d->lock);
	if (!d->codebook[type])
		d->codebook[type] = upload_codebook(d, type);
	out = d->codebook[type];
	if (!out)
		snprintf(why, n, "codebook: %s", hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
	return out;
}

static const char *
device_name(ggml_backend_dev_t dev)
{
	return of(dev)->name;
}

static const char *
device_text(ggml_backend_dev_t dev)
{
	char why[WHY_MOST];

	device_open(of(dev), why, sizeof why);
	return of(dev)->text;
}

static void
device_memory(ggml_backend_dev_t dev, size_t *free, size_t *total)
{
	Device *d = of(dev);
	char why[WHY_MOST];

	device_open(d, why, sizeof why);
	*total = d->info.memory;
	*free = d->allocated < *total ? *total - d->allocated : 0;
}

static enum ggml_backend_dev_type
device_type(ggml_backend_dev_t dev)
{
	(void)dev;
	return GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void
device_props(ggml_backend_dev_t dev, struct ggml_backend_dev_props *props)
{
	*props = (struct ggml_backend_dev_props){
		.name = device_name(dev),
		.description = device_text(dev),
		.type = device_type(dev),
		.caps = { .async = true, .host_buffer = true, .events = true, .mmap_support = true },
	};
	device_memory(dev, &props->memory_free, &props->memory_total);
}

static ggml_backend_t
device_init(ggml_backend_dev_t dev, const char *params)
{
	(void)params;
	return stream_new(of(dev));
}

static ggml_backend_buffer_type_t
device_buffer_type(ggml_backend_dev_t dev)
{
	return &of(dev)->buffers;
}

static ggml_backend_buffer_type_t
device_host_type(ggml_backend_dev_t dev)
{
	return &of(dev)->host;
}

static bool
device_supports_op(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
	char why[WHY_MOST];
	Work w;

	if (ggml_op_is_empty(op->op))
		return true;
	return device_open(of(dev), why, sizeof why) && describe(&w, &of(dev)->limits, op, NULL);
}

static bool
device_supports_buft(ggml_backend_dev_t dev, ggml_backend_buffer_type_t type)
{
	return type == &of(dev)->buffers;
}

/* Rows of the result that share the weights. */
static int64_t
batch_of(const struct ggml_tensor *op)
{
	switch (op->op) {
	case GGML_OP_GET_ROWS: return 0;
	case GGML_OP_MUL_MAT: return op->ne[1];
	case GGML_OP_MUL_MAT_ID:
	case GGML_OP_ROPE:
	case GGML_OP_ROPE_BACK: return op->ne[2];
	default: return ggml_nrows(op);
	}
}

/* Is it worth a copy of weights that the host has? By the rule of ggml's CUDA backend. */
static bool
device_offload(ggml_backend_dev_t dev, const struct ggml_tensor *op)
{
	return batch_of(op) >= of(dev)->offload;
}

const struct ggml_backend_device_i device_interface = {
	.get_name = device_name,
	.get_description = device_text,
	.get_memory = device_memory,
	.get_type = device_type,
	.get_props = device_props,
	.init_backend = device_init,
	.get_buffer_type = device_buffer_type,
	.get_host_buffer_type = device_host_type,
	.supports_op = device_supports_op,
	.supports_buft = device_supports_buft,
	.offload_op = device_offload,
	.event_new = event_new,
	.event_free = event_free,
	.event_synchronize = event_synchronize,
};
