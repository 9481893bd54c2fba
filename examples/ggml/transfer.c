/* transfer.c - copies between tensors and host memory, and between devices.
 *
 * A copy of a backend is issued on its stream, between graphs: ggml uses a backend in one thread, so that
 * none is issued while a graph is captured (replay.c). Copies without a backend are done when they return,
 * for all streams; as ggml expects, they do not wait for streams. */
#include "examples/ggml/ggml_hexc.h"

/* The device whose memory holds a tensor; NULL: none of this library. */
static Device *
device_of(const struct ggml_tensor *t)
{
	ggml_backend_buffer_t buffer = t->view_src ? t->view_src->buffer : t->buffer;

	return buffer ? buffer_device(buffer) : NULL;
}

/* Unlocks the device after a function of hexc_gpu.h, and logs what failed. */
static bool
leave(Device *d, const char *what, int status)
{
	if (status)
		device_log(d, what, hexc_gpu_why(d->gpu));
	pthread_mutex_unlock(&d->lock);
	return !status;
}

void
transfer_set(ggml_backend_t backend, struct ggml_tensor *t, const void *data, size_t offset, size_t size)
{
	Lane l = stream_lane(backend);

	if (device_of(t) != l.d || is_weight(t)) {
		ggml_backend_synchronize(backend);
		ggml_backend_tensor_set(t, data, offset, size);
		return;
	}
	pthread_mutex_lock(&l.d->lock);
	leave(l.d, "write", hexc_gpu_write_on(l.d->gpu, (char *)t->data + offset, data, size, l.stream));
}

void
transfer_get(ggml_backend_t backend, const struct ggml_tensor *t, void *data, size_t offset, size_t size)
{
	Lane l = stream_lane(backend);

	if (device_of(t) != l.d || is_weight(t)) {
		ggml_backend_synchronize(backend);
		ggml_backend_tensor_get(t, data, offset, size);
		return;
	}
	pthread_mutex_lock(&l.d->lock);
	leave(l.d, "read", hexc_gpu_read_on(l.d->gpu, data, (char *)t->data + offset, size, l.stream));
}

/* ---- between tensors ------------------------------------------------------------------------------- */

/* Issues a copy on a stream of the device of `from`. */
static bool
copy(Device *to_device, struct ggml_tensor *to, Device *d, const struct ggml_tensor *from, void *stream)
{
	size_t size = ggml_nbytes(from);
	int status;

	pthread_mutex_lock(&d->lock);
	status = hexc_gpu_copy_peer_on(to_device->gpu, to->data, d->gpu, from->data, size, stream);
	return leave(d, "copy", status);
}

/* What is issued on `l` from now on runs after what is on `before`. */
static bool
follow(const Lane *l, const Lane *before)
{
	bool ok;

	pthread_mutex_lock(&before->d->lock);
	ok = leave(before->d, "event", hexc_event_record(before->mark, before->stream));
	if (!ok)
		return false;
	pthread_mutex_lock(&l->d->lock);
	return leave(l->d, "event", hexc_stream_after(l->d->gpu, l->stream, before->mark));
}

/* The copy runs on the stream of `from`, after the work of both. */
bool
transfer_copy(ggml_backend_t from_backend, ggml_backend_t to_backend, const struct ggml_tensor *from,
              struct ggml_tensor *to)
{
	Lane a, b;

	if (!is_stream(from_backend) || !is_stream(to_backend))
		return false;
	a = stream_lane(from_backend);
	b = stream_lane(to_backend);
	if (device_of(from) != a.d || device_of(to) != b.d || is_weight(from) || is_weight(to))
		return false;
	if (from_backend == to_backend)
		return copy(b.d, to, a.d, from, a.stream);
	return follow(&a, &b) && copy(b.d, to, a.d, from, a.stream) && follow(&b, &a);
}

bool
transfer_copy_now(const struct ggml_tensor *from, struct ggml_tensor *to)
{
	Device *d = device_of(from), *to_device = device_of(to);

	if (!d || !to_device || is_weight(from) || is_weight(to) || !copy(to_device, to, d, from, NULL))
		return false;
	pthread_mutex_lock(&d->lock);
	return leave(d, "copy", hexc_stream_wait(d->gpu, NULL));
}
