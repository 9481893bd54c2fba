/* transfers.c - a host that copies on streams: from and to pinned memory, between streams and devices, in the
 * order of events, parts at odd addresses. It ends with what it has not freed.
 *
 *	transfers DEVICE DEVICE [refuse]    numbers as hexc_gpu_open takes them
 *	                status 0: all was correct; 1: an error was reported */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/hexc_gpu.h"

enum { N = 5000, GPUS = 2 };

static struct {
	hexc_gpu *g[GPUS];
	void *stream[GPUS][2];
	hexc_event *event[GPUS];
	char *memory[GPUS][2], *pinned[2];
	char why[600];
	const char *step;
} t;

#define TRY(call)                                                                                            \
	do {                                                                                                 \
		t.step = #call;                                                                              \
		if (call)                                                                                    \
			return 1;                                                                            \
	} while (0)
#define WRONG(what)                                                                                          \
	do {                                                                                                 \
		printf("WRONG: %s\n", what);                                                                 \
		exit(3);                                                                                     \
	} while (0)

static int
start(const int device[GPUS])
{
	for (int k = 0; k < GPUS; k++) {
		TRY(hexc_gpu_open(&t.g[k], device[k], t.why, sizeof t.why));
		for (int i = 0; i < 2; i++) {
			TRY(hexc_stream_new(&t.stream[k][i], t.g[k]));
			TRY(hexc_gpu_alloc(t.g[k], N, (void **)&t.memory[k][i]));
			TRY(hexc_gpu_fill_on(t.g[k], t.memory[k][i], 99, N, NULL));
		}
		TRY(hexc_stream_wait(t.g[k], NULL));
		TRY(hexc_event_new_untimed(&t.event[k], t.g[k]));
		TRY(hexc_host_alloc(t.g[0], N, (void **)&t.pinned[k]));
	}
	return 0;
}

static void
stop(void)
{
	for (int i = 0; i < GPUS * 2; i++)
		if (t.stream[i / 2][i % 2]) {
			hexc_stream_wait(t.g[i / 2], t.stream[i / 2][i % 2]);
			hexc_stream_free(t.g[i / 2], t.stream[i / 2][i % 2]);
		}
	for (int k = 0; k < GPUS; k++) {
		hexc_event_free(t.event[k]);
		hexc_gpu_close(t.g[k]);
	}
}

/* The bytes of x[0..n) are those of seed `seed`. */
static void
write_bytes(char *x, int n, int seed)
{
	for (int i = 0; i < n; i++)
		x[i] = (char)(i * 7 + i / 256 + seed);
}

static void
check_bytes(const char *x, int n, int seed, const char *what)
{
	for (int i = 0; i < n; i++)
		if (x[i] != (char)(i * 7 + i / 256 + seed))
			WRONG(what);
}

/* To the device on one stream, and back on another one. */
static int
between_streams(void)
{
	hexc_gpu *g = t.g[0];

	write_bytes(t.pinned[0], N, 1);
	memset(t.pinned[1], 0, N);
	TRY(hexc_gpu_write_on(g, t.memory[0][0], t.pinned[0], N, t.stream[0][0]));
	TRY(hexc_event_record(t.event[0], t.stream[0][0]));
	TRY(hexc_stream_after(g, t.stream[0][1], t.event[0]));
	TRY(hexc_gpu_copy_on(g, t.memory[0][1], t.memory[0][0], N, t.stream[0][1]));
	TRY(hexc_gpu_read_on(g, t.pinned[1], t.memory[0][1], N, t.stream[0][1]));
	TRY(hexc_stream_wait(g, t.stream[0][1]));
	check_bytes(t.pinned[1], N, 1, "bytes between streams");
	return 0;
}

/* What was copied before an event that was waited for may change. */
static int
reused(void)
{
	hexc_gpu *g = t.g[0];

	write_bytes(t.pinned[0], N, 2);
	TRY(hexc_gpu_write_on(g, t.memory[0][0], t.pinned[0], N, t.stream[0][0]));
	TRY(hexc_event_record(t.event[0], t.stream[0][0]));
	TRY(hexc_event_wait(t.event[0]));
	memset(t.pinned[0], 0, N);
	TRY(hexc_gpu_read(g, t.pinned[1], t.memory[0][0], N));
	check_bytes(t.pinned[1], N, 2, "bytes of memory that is used again");
	return 0;
}

/* Written from pageable memory, they are there for all streams. */
static int
written(void)
{
	static char pageable[N];
	hexc_gpu *g = t.g[0];

	write_bytes(pageable, N, 5);
	TRY(hexc_gpu_write(g, t.memory[0][1], pageable, N));
	TRY(hexc_gpu_read_on(g, t.pinned[1], t.memory[0][1], N, t.stream[0][0]));
	TRY(hexc_stream_wait(g, t.stream[0][0]));
	check_bytes(t.pinned[1], N, 5, "written bytes on a stream");
	return 0;
}

static int
parts(void)
{
	static char pageable[N];
	hexc_gpu *g = t.g[0];
	void *stream = t.stream[0][1];

	write_bytes(pageable, N, 3);
	write_bytes(t.pinned[0], N, 3);
	TRY(hexc_gpu_write_on(g, t.memory[0][1], pageable, 13, stream));
	TRY(hexc_gpu_write_on(g, t.memory[0][1] + 13, t.pinned[0] + 13, N - 13, stream));
	TRY(hexc_gpu_fill_on(g, t.memory[0][1] + 101, 0x5a, 333, stream));
	TRY(hexc_gpu_copy_on(g, t.memory[0][0] + 5, t.memory[0][1] + 100, 335, stream));
	TRY(hexc_gpu_read_on(g, t.pinned[1] + 1, t.memory[0][0] + 5, 335, stream));
	TRY(hexc_gpu_read_on(g, pageable, t.memory[0][1], 101, stream));
	TRY(hexc_stream_wait(g, stream));
	check_bytes(pageable, 101, 3, "bytes before those that were filled");
	if (t.pinned[1][1] != t.pinned[0][100] || t.pinned[1][335] != t.pinned[0][434])
		WRONG("bytes beside those that were filled");
	for (int i = 0; i < 333; i++)
		if (t.pinned[1][2 + i] != 0x5a)
			WRONG("filled bytes");
	TRY(hexc_gpu_write_on(g, NULL, NULL, 0, stream));
	TRY(hexc_gpu_read_on(g, NULL, NULL, 0, stream));
	TRY(hexc_gpu_copy_on(g, NULL, NULL, 0, stream));
	TRY(hexc_gpu_fill_on(g, NULL, 0, 0, stream));
	return 0;
}

/* To the other device, which reads them behind an event; then to itself as if it were another one. */
static int
between_devices(void)
{
	write_bytes(t.pinned[0], N, 4);
	TRY(hexc_gpu_write_on(t.g[0], t.memory[0][0], t.pinned[0], N, t.stream[0][0]));
	TRY(hexc_gpu_copy_peer_on(t.g[1], t.memory[1][0], t.g[0], t.memory[0][0], N, t.stream[0][0]));
	TRY(hexc_event_record(t.event[0], t.stream[0][0]));
	TRY(hexc_stream_after(t.g[1], t.stream[1][0], t.event[0]));
	TRY(hexc_gpu_copy_peer_on(t.g[1], t.memory[1][1], t.g[1], t.memory[1][0], N, t.stream[1][0]));
	TRY(hexc_gpu_read_on(t.g[1], t.pinned[1], t.memory[1][1], N, t.stream[1][0]));
	TRY(hexc_event_record(t.event[1], t.stream[1][0]));
	TRY(hexc_event_wait(t.event[1]));
	check_bytes(t.pinned[1], N, 4, "bytes between devices");
	TRY(hexc_gpu_copy_peer_on(t.g[1], NULL, t.g[0], NULL, 0, t.stream[0][0]));
	return 0;
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static void
refusal(int code, int want, const hexc_gpu *g, const char *says)
{
	if (code == want && strstr(hexc_gpu_why(g), says))
		return;
	printf("WRONG: %d, not %d, and says '%s', not '%s'\n", code, want, hexc_gpu_why(g), says);
	exit(3);
}

static void
refuse_arguments(void)
{
	hexc_gpu *g = t.g[0];
	char *d = t.memory[0][0], *h = t.pinned[0];
	void *s = t.stream[0][0];
	void *p;

	refusal(hexc_gpu_write_on(NULL, d, h, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_write_on(g, NULL, h, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_write_on(g, d, NULL, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_read_on(g, h, NULL, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_copy_on(g, NULL, d, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_copy_peer_on(NULL, d, g, d, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_copy_peer_on(t.g[1], NULL, g, d, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_copy_peer_on(t.g[1], d, NULL, d, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_gpu_fill_on(g, NULL, 0, 1, s), HEXC_E_INVALID, g, "");
	refusal(hexc_host_alloc(NULL, 1, &p), HEXC_E_INVALID, g, "");
	refusal(hexc_host_alloc(g, 1, NULL), HEXC_E_INVALID, g, "");
	refusal(hexc_host_free(NULL, h), HEXC_E_INVALID, g, "");
	refusal(hexc_host_free(g, h + 1), HEXC_E_INVALID, g, "is not host memory of this GPU");
	refusal(hexc_gpu_free(g, h), HEXC_E_INVALID, g, "is not memory of this GPU");
	refusal(hexc_host_free(g, NULL), HEXC_OK, g, "");
	refusal(hexc_stream_wait(NULL, s), HEXC_E_INVALID, g, "");
	refusal(hexc_stream_after(NULL, s, t.event[0]), HEXC_E_INVALID, g, "");
	refusal(hexc_stream_after(g, s, NULL), HEXC_E_INVALID, g, "");
	refusal(hexc_event_new_untimed(NULL, g), HEXC_E_INVALID, g, "");
}

/* The driver's errors, on memory that is none. */
static void
refuse_memory(void)
{
	hexc_gpu *g = t.g[0];
	char *d = t.memory[0][0], *h = t.pinned[0];
	void *s = t.stream[0][0];

	refusal(hexc_gpu_write_on(g, d + N - 1, h, N, s), HEXC_E_DEVICE, g, "cuMemcpyHtoDAsync_v2: ");
	refusal(hexc_gpu_read_on(g, h, h, 1, s), HEXC_E_DEVICE, g, "cuMemcpyDtoHAsync_v2: ");
	refusal(hexc_gpu_copy_on(g, d, h, 1, s), HEXC_E_DEVICE, g, "cuMemcpyDtoDAsync_v2: ");
	refusal(hexc_gpu_fill_on(g, h, 0, 1, s), HEXC_E_DEVICE, g, "cuMemsetD8Async: ");
	refusal(hexc_gpu_copy_peer_on(t.g[1], h, g, d, 1, s), HEXC_E_DEVICE, g, "cuMemcpyPeerAsync: ");
}

/* What only the test's driver notices: streams of another device, memory of a copy that is freed before it
 * happens. */
static void
refuse_early(void)
{
	hexc_gpu *g = t.g[0];
	char *d = t.memory[0][0], *h = t.pinned[0];
	void *s = t.stream[1][0];

	refusal(hexc_gpu_write_on(g, d, h, 1, s), HEXC_E_DEVICE, g, "cuMemcpyHtoDAsync_v2: ");
	refusal(hexc_stream_wait(g, s), HEXC_E_DEVICE, g, "cuStreamSynchronize: ");
	refusal(hexc_stream_after(g, s, t.event[0]), HEXC_E_DEVICE, g, "cuStreamWaitEvent: ");
	s = t.stream[0][0];
	refusal(hexc_gpu_write_on(g, d, h, 1, s), HEXC_OK, g, "");
	refusal(hexc_host_free(g, h), HEXC_E_DEVICE, g, "cuMemFreeHost: ");
	refusal(hexc_gpu_free(g, d), HEXC_E_DEVICE, g, "cuMemFree_v2: ");
}

/* With a simulated device, and with an event of a closed one. */
static void
refuse_mixed(int simulated)
{
	hexc_gpu *g = t.g[0], *other;
	hexc_event *e;
	double us;

	refusal(hexc_event_us(t.event[0], t.event[0], &us), HEXC_E_INVALID, g,
	        "hexc_event_new_untimed has no time");
	if (hexc_gpu_open(&other, HEXC_SIMULATOR(80), t.why, sizeof t.why) || hexc_event_new(&e, other))
		WRONG("no simulator");
	if (!simulated) {
		refusal(hexc_gpu_copy_peer_on(other, t.memory[0][0], g, t.memory[0][0], 1, NULL),
		        HEXC_E_INVALID, g, "one of the devices is simulated");
		refusal(hexc_stream_after(g, t.stream[0][0], e), HEXC_E_INVALID, g, "one is simulated");
	}
	hexc_gpu_close(other);
	refusal(hexc_stream_after(g, t.stream[0][0], e), HEXC_E_INVALID, g, "");
	hexc_event_free(e);
}

int
main(int argc, char **argv)
{
	int device[GPUS] = { argc > 2 ? atoi(argv[1]) : 0, argc > 2 ? atoi(argv[2]) : 1 };
	int failed = start(device) || between_streams() || reused() || written() || parts();

	failed = failed || between_devices();
	if (failed)
		printf("failed: %s: %s%s%s\n", t.step, t.why, hexc_gpu_why(t.g[0]), hexc_gpu_why(t.g[1]));
	else if (argc > 3) {
		refuse_arguments();
		refuse_memory();
		refuse_mixed(device[0] < 0);
		if (device[0] >= 0)
			refuse_early();
	}
	stop();
	return failed;
}
