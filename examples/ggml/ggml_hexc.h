/* ggml_hexc.h - a backend of ggml on hexc, as a shared library that ggml loads.
 *
 * A ggml operation becomes a list of launches of hexc's operators (work.h): `describe` writes the list from
 * the operation's tensors and the device's limits alone and compiles nothing. supports_op asks whether there
 * is a list, and graph_compute runs it, so what is promised is what is run.
 *
 *	registry.c   what ggml finds in the library: the devices
 *	device.c     a device: its properties, which operations it computes
 *	buffer.c     device memory that holds tensors
 *	packed_weights.c  weights in it that are packed: packed.c converts them
 *	host.c       host memory for copies that do not wait
 *	transfer.c   copies, on streams and at once
 *	event.c      ggml's events
 *	stream.c     a ggml_backend: a stream on which graphs run
 *	replay.c     graphs that come again, as CUDA graphs
 *	walk.c       which launches a graph is
 *	compile_queue.c  operators, compiled in the background
 *	compiled.c   the calls of compiled operators on a stream
 *	times.c      how long they take
 *	work.c       writes lists of launches
 *	chain.c      operations of elements behind another one, as the epilogue of its launch
 *	fuse.c       finds these operations in a graph
 *	view.c       tensors as hexc reads them: dims and strides in elements
 *	ops.def      the operations: one line each */
#ifndef GGML_HEXC_H
#define GGML_HEXC_H
#include "examples/ggml/work.h"
#include <ggml-backend-impl.h>
#include "lib/hexc_cache.h"
#include "lib/hexc_ops.h"
#include <pthread.h>

enum { DEVICES_MOST = 16, WHY_MOST = 600, CODEBOOK_MOST = 1 << 14 };

/* A GPU, or a simulated one. `lock` is held while `gpu` is used, except by launches. */
typedef struct Device {
	struct ggml_backend_device base;
	struct ggml_backend_buffer_type buffers;
	struct ggml_backend_buffer_type host; /* pinned memory */
	char name[16];          /* "HEXC0" */
	char host_name[24];     /* "HEXC0_Host" */
	char text[128];         /* "NVIDIA H200" */
	int number;             /* as hexc_gpu_open takes it */
	int offload;            /* rows from which on an operation is worth a copy of its weights */
	pthread_mutex_t lock;
	hexc_gpu *gpu;          /* NULL until the first use */
	hexc_gpu_info info;
	Limits limits;          /* of info */
	hexc_cache *cache;      /* of what the driver compiled; may be NULL */
	uint64_t allocated;     /* bytes in its buffers */
	uint64_t repacked;      /* how often weights changed their layout or factor; atomic */
	void *codebook[GGML_TYPE_COUNT]; /* in its memory; NULL until the first use */
} Device;

/* ---- device.c */

/* The interface of a device; its context is a Device. */
extern const struct ggml_backend_device_i device_interface;
/* Opens the GPU if it is not open. Returns false, with one sentence in why, if it cannot be opened. */
bool device_open(Device *d, char *why, size_t n);
/* Returns the codebook of a block type in the device's memory, or NULL with one sentence in why[0..n). */
void *device_codebook(Device *d, enum ggml_type type, char *why, size_t n);
/* Writes through ggml's log: "HEXC0: what: why". */
void device_log(const Device *d, const char *what, const char *why);

/* ---- buffer.c */

enum { WEIGHT_BUCKETS = 64 };

/* Device memory with tensors. `lock` is held while the weights are used. */
typedef struct Buffer {
	Device *d;
	char *data;
	pthread_mutex_t lock;
	struct Packed *weight[WEIGHT_BUCKETS]; /* lists of what is or will be packed, by address */
} Buffer;

/* The buffer of a tensor if it is one of ours; else NULL. */
ggml_backend_buffer_t buffer_of(const struct ggml_tensor *t);
/* Copy between the host and the device. Return false after a line in the log. */
bool buffer_write(Buffer *b, void *to, const void *from, size_t size);
bool buffer_read(Buffer *b, void *to, const void *from, size_t size);
/* Waits until nothing runs on the device. Returns as they do. */
bool buffer_wait(Buffer *b);

/* The interface of a device's buffer type; its context is the Device. */
extern const struct ggml_backend_buffer_type_i buffer_type_interface;
/* The device of a buffer; NULL if it is none of this library. */
Device *buffer_device(ggml_backend_buffer_t buffer);

/* ---- host.c */

/* The interface of a device's type of pinned host memory; its context is the Device. Where no memory can be
 * pinned, its buffers are the CPU's. */
extern const struct ggml_backend_buffer_type_i host_type_interface;

/* ---- packed_weights.c */

/* Where the weight at this address is listed. */
static inline unsigned
weight_bucket(const void *data)
{
	return (unsigned)((uintptr_t)data / 256 % WEIGHT_BUCKETS);
}

/* Write and read a part of a tensor that is a weight, or a view of one. Return false, and do nothing, if it
 * is in ggml's layout and stays so; else *ok says if it went well. */
bool weights_write(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, const void *data, size_t offset,
                   size_t size, bool *ok);
bool weights_read(ggml_backend_buffer_t buffer, const struct ggml_tensor *t, void *data, size_t offset,
                  size_t size, bool *ok);
/* Is t packed, or to be packed when all of its bytes are there? Then only weights_write and weights_read know
 * where these are. */
bool is_weight(const struct ggml_tensor *t);
/* Empties the lists. */
void weights_forget(Buffer *b);
/* Brings packed weights that the operation writes, or reads in another way than a product does, into ggml's
 * layout, for good. Returns false if that failed. */
bool weights_unpack_for(const struct ggml_tensor *op);

/* ---- stream.c */

/* Creates a backend of the device. NULL if it cannot be opened; the reason is in the log. */
ggml_backend_t stream_new(Device *d);
/* A stream, as copies and events use it. */
typedef struct Lane {
	Device *d;
	void *stream;           /* CUstream */
	hexc_event *mark;       /* for the order between it and another stream */
} Lane;

bool is_stream(ggml_backend_t backend); /* is it a backend of this library? */
Lane stream_lane(ggml_backend_t backend);
/* Waits until everything on a CUstream is done. Returns false with one sentence in why[0..n). */
bool stream_wait(Device *d, void *stream, char *why, size_t n);

/* ---- transfer.c */

/* Copy on the stream of a backend, as ggml's set_tensor_async and get_tensor_async. */
void transfer_set(ggml_backend_t backend, struct ggml_tensor *t, const void *data, size_t offset,
                  size_t size);
void transfer_get(ggml_backend_t backend, const struct ggml_tensor *t, void *data, size_t offset,
                  size_t size);
/* Copies a tensor after all work of both backends, and before what follows on them. Returns false if one of
 * them, or of the tensors, is none of this library, or if it fails. */
bool transfer_copy(ggml_backend_t from_backend, ggml_backend_t to_backend, const struct ggml_tensor *from,
                   struct ggml_tensor *to);
/* Copies a tensor and waits; false as above. */
bool transfer_copy_now(const struct ggml_tensor *from, struct ggml_tensor *to);

/* ---- event.c */

/* As ggml's functions of devices and of backends. */
ggml_backend_event_t event_new(ggml_backend_dev_t dev);
void event_free(ggml_backend_dev_t dev, ggml_backend_event_t event);
void event_synchronize(ggml_backend_dev_t dev, ggml_backend_event_t event);
void event_record(ggml_backend_t backend, ggml_backend_event_t event);
void event_wait(ggml_backend_t backend, ggml_backend_event_t event);

/* ---- compiled.c */

/* The calls of a stream, by key. */
typedef struct Calls Calls;

/* Is called before the stream waits for an operator that it has not launched yet. */
typedef void (*NewOperator)(void *user);

/* Runs the launches of w on a CUstream. Scratch memory and workspaces grow on demand; the stream is waited
 * for before they move. Returns false with one sentence in why[0..n). */
bool calls_run(Calls *c, const Work *w, void *stream, char *why, size_t n);
/* A number that changes when scratch memory or workspaces move. */
uint64_t calls_epoch(const Calls *c);
/* `new_operator` may have other operators compiled that the stream will need. */
Calls *calls_new(Device *d, NewOperator new_operator, void *user);
void calls_free(Calls *c); /* c may be NULL */
#endif
