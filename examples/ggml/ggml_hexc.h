/* ggml_hexc.h - a backend of ggml on hexc, as a shared library that ggml loads.
 *
 * A ggml operation becomes a list of launches of hexc's operators (work.h): `describe` writes the list
 * from the operation's tensors alone and compiles nothing. supports_op asks whether there is a list, and
 * graph_compute runs it, so what is promised is what is run.
 *
 *	registry.c   what ggml finds in the library: the devices
 *	device.c     a device: its properties, which operations it computes
 *	buffer.c     device memory that holds tensors
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
	char name[16];          /* "HEXC0" */
	char text[128];         /* "NVIDIA H200" */
	int number;             /* as hexc_gpu_open takes it */
	pthread_mutex_t lock;
	hexc_gpu *gpu;          /* NULL until the first use */
	hexc_gpu_info info;
	hexc_cache *cache;      /* of what the driver compiled; may be NULL */
	uint64_t allocated;     /* bytes in its buffers */
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

/* The interface of a device's buffer type; its context is the Device. */
extern const struct ggml_backend_buffer_type_i buffer_type_interface;

/* ---- stream.c */

/* Creates a backend of the device. NULL if it cannot be opened; the reason is in the log. */
ggml_backend_t stream_new(Device *d);
/* Waits until everything on a CUstream is done. Returns false with one sentence in why[0..n). */
bool stream_wait(Device *d, void *stream, char *why, size_t n);

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
