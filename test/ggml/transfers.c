/* transfers.c - copies and events of the ggml backend, which ggml's test program does not test: parts of
 * tensors, between two streams and two devices, behind events, from and to pinned memory; ggml's scheduler
 * with weights of the host, and with two devices that work on several graphs at a time. Needs HEXC0 and
 * HEXC1. */
#include <ggml.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5000, WIDE = 64, ROWS = 40, ROUNDS = 6 };

typedef struct ggml_tensor Tensor;
typedef struct ggml_context Context;

static struct {
	ggml_backend_t cpu, stream[3]; /* two of HEXC0, one of HEXC1 */
	ggml_backend_buffer_t pinned;
	char *host[2];
	int bad;
} t;

static void
check(int ok, const char *what)
{
	if (!ok)
		printf("%s\n", what);
	t.bad |= !ok;
}

static Context *
context(void)
{
	struct ggml_init_params params = { 1 << 20, NULL, true };

	return ggml_init(params);
}

static void
write_bytes(char *x, int seed)
{
	for (int i = 0; i < N; i++)
		x[i] = (char)(i * 7 + i / 256 + seed);
}

static int
has_bytes(const char *x, int from, int to, int seed)
{
	for (int i = from; i < to; i++)
		if (x[i] != (char)(i * 7 + i / 256 + seed))
			return 0;
	return 1;
}

static int
is_filled(const char *x, int from, int to, char with)
{
	while (from < to && x[from] == with)
		from++;
	return from == to;
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

/* N bytes on each of the streams' devices. */
typedef struct Bytes {
	Context *c;
	Tensor *x[3];
	ggml_backend_buffer_t buffer[3];
} Bytes;

static Bytes
bytes_new(void)
{
	Bytes b = { .c = context() };

	for (int i = 0; i < 3; i++) {
		b.x[i] = ggml_new_tensor_1d(b.c, GGML_TYPE_I8, N);
		b.buffer[i] = ggml_backend_alloc_buffer(t.stream[i], N + 256);
		ggml_backend_tensor_alloc(b.buffer[i], b.x[i], ggml_backend_buffer_get_base(b.buffer[i]));
		ggml_backend_buffer_clear(b.buffer[i], 99);
	}
	return b;
}

static void
bytes_free(Bytes *b)
{
	for (int i = 0; i < 3; i++)
		ggml_backend_buffer_free(b->buffer[i]);
	ggml_free(b->c);
}

static void
parts(const Bytes *b)
{
	static char pageable[N];

	write_bytes(t.host[0], 1);
	write_bytes(pageable, 1);
	ggml_backend_tensor_set_async(t.stream[0], b->x[0], pageable, 0, 13);
	ggml_backend_tensor_set_async(t.stream[0], b->x[0], t.host[0] + 13, 13, N - 13);
	ggml_backend_tensor_get_async(t.stream[0], b->x[0], t.host[1], 0, 1001);
	ggml_backend_tensor_get_async(t.stream[0], b->x[0], t.host[1] + 1001, 1001, N - 1001);
	memset(pageable, 0, N);
	ggml_backend_tensor_get_async(t.stream[0], b->x[0], pageable + 3, 3, 17);
	ggml_backend_synchronize(t.stream[0]);
	check(has_bytes(t.host[1], 0, N, 1), "parts, pinned");
	check(has_bytes(pageable, 3, 20, 1) && !pageable[2] && !pageable[20], "parts, pageable");
}

static void
filled(const Bytes *b)
{
	ggml_backend_buffer_clear(b->buffer[0], 7);
	ggml_backend_tensor_memset(b->x[0], 0x5a, 101, 333);
	ggml_backend_tensor_get(b->x[0], t.host[1], 0, N);
	check(is_filled(t.host[1], 0, 101, 7) && is_filled(t.host[1], 101, 434, 0x5a) &&
	              is_filled(t.host[1], 434, N, 7),
	      "filled bytes");
}

/* From each stream to each, behind what is on it; the source changes behind the copy. */
static void
between(const Bytes *b, int from, int to)
{
	char what[40];

	write_bytes(t.host[0], 2 + from);
	snprintf(what, sizeof what, "from stream %d to stream %d", from, to);
	ggml_backend_tensor_set_async(t.stream[from], b->x[from], t.host[0], 0, N);
	ggml_backend_tensor_copy_async(t.stream[from], t.stream[to], b->x[from], b->x[to]);
	ggml_backend_tensor_get_async(t.stream[to], b->x[to], t.host[1], 0, N);
	ggml_backend_synchronize(t.stream[to]);
	check(has_bytes(t.host[1], 0, N, 2 + from), what);
}

/* What the other stream still reads is not overwritten. */
static void
not_before(const Bytes *b, int from, int to)
{
	write_bytes(t.host[0], 5);
	ggml_backend_tensor_set(b->x[to], t.host[0], 0, N);
	ggml_backend_tensor_memset(b->x[from], 1, 0, N);
	ggml_backend_tensor_get_async(t.stream[to], b->x[to], t.host[1], 0, N);
	ggml_backend_tensor_copy_async(t.stream[from], t.stream[to], b->x[from], b->x[to]);
	ggml_backend_synchronize(t.stream[from]);
	ggml_backend_synchronize(t.stream[to]);
	check(has_bytes(t.host[1], 0, N, 5), "a copy came before what was to be read");
	ggml_backend_tensor_get(b->x[to], t.host[1], 0, N);
	check(is_filled(t.host[1], 0, N, 1), "a copy behind what was read");
}

static void
now(const Bytes *b, int from, int to)
{
	write_bytes(t.host[0], 6 + to);
	ggml_backend_tensor_set(b->x[from], t.host[0], 0, N);
	ggml_backend_tensor_copy(b->x[from], b->x[to]);
	ggml_backend_tensor_get(b->x[to], t.host[1], 0, N);
	check(has_bytes(t.host[1], 0, N, 6 + to), "a copy that waits");
}

/* Writes on the first stream, and records e there. */
static void
write_before(const Bytes *b, ggml_backend_event_t e, int seed)
{
	write_bytes(t.host[0], seed);
	ggml_backend_tensor_set_async(t.stream[0], b->x[0], t.host[0], 0, N);
	ggml_backend_event_record(e, t.stream[0]);
}

/* Another stream and the host read behind an event; then the host, behind another device that waits. */
static void
events(const Bytes *b)
{
	ggml_backend_event_t e = ggml_backend_event_new(ggml_backend_get_device(t.stream[0]));
	ggml_backend_event_t other = ggml_backend_event_new(ggml_backend_get_device(t.stream[2]));

	if (!e || !other) {
		check(0, "no event");
		return;
	}
	write_before(b, e, 9);
	ggml_backend_event_wait(t.stream[1], e);
	ggml_backend_tensor_get_async(t.stream[1], b->x[0], t.host[1], 0, N);
	ggml_backend_synchronize(t.stream[1]);
	check(has_bytes(t.host[1], 0, N, 9), "a stream behind an event");
	write_before(b, e, 10);
	ggml_backend_event_synchronize(e);
	ggml_backend_tensor_get(b->x[0], t.host[1], 0, N);
	check(has_bytes(t.host[1], 0, N, 10), "the host behind an event");
	write_before(b, e, 11);
	ggml_backend_event_wait(t.stream[2], e);
	ggml_backend_event_record(other, t.stream[2]);
	ggml_backend_event_synchronize(other);
	ggml_backend_tensor_get(b->x[0], t.host[1], 0, N);
	check(has_bytes(t.host[1], 0, N, 11), "the host behind another device");
	ggml_backend_event_free(e);
	ggml_backend_event_free(other);
}

static void
of_bytes(void)
{
	Bytes b = bytes_new();

	parts(&b);
	filled(&b);
	for (int from = 0; from < 3; from++)
		for (int to = 0; to < 3; to++)
			if (from != to) {
				between(&b, from, to);
				not_before(&b, from, to);
				now(&b, from, to);
			}
	events(&b);
	bytes_free(&b);
}

/* ---- the scheduler ------------------------------------------------------------------------------------ */

static Tensor *
floats(Context *c, ggml_backend_buffer_type_t type, int64_t rows, ggml_backend_buffer_t *buffer)
{
	Tensor *x = ggml_new_tensor_2d(c, GGML_TYPE_F32, WIDE, rows);

	*buffer = ggml_backend_buft_alloc_buffer(type, ggml_nbytes(x) + 256);
	ggml_backend_tensor_alloc(*buffer, x, ggml_backend_buffer_get_base(*buffer));
	return x;
}

/* Small integers, whose sums and products are exact. */
static float
number(int i, int seed)
{
	return (float)((i * 5 + seed * 3) % 7 - 3);
}

static void
set_numbers(Tensor *x, int seed)
{
	static float data[WIDE * WIDE];

	for (int i = 0; i < ggml_nelements(x); i++)
		data[i] = number(i, seed);
	ggml_backend_tensor_set(x, data, 0, ggml_nbytes(x));
}

/* The product of weights that the host has in pinned memory: HEXC0 computes it for many rows, the CPU for
 * few. */
static void
offloaded(int rows, ggml_backend_t where)
{
	ggml_backend_t backend[2] = { t.stream[0], t.cpu };
	ggml_backend_buffer_type_t pinned = ggml_backend_buffer_get_type(t.pinned);
	ggml_backend_buffer_type_t type[2] = { ggml_backend_get_default_buffer_type(t.stream[0]), pinned };
	ggml_backend_sched_t sched = ggml_backend_sched_new(backend, type, 2, 64, false, true);
	ggml_backend_buffer_t buffer[2];
	Context *c = context();
	Tensor *w = floats(c, pinned, WIDE, &buffer[0]), *x = floats(c, pinned, rows, &buffer[1]);
	Tensor *y = ggml_mul_mat(c, w, x);
	struct ggml_cgraph *g = ggml_new_graph(c);
	static float have[WIDE * ROWS];
	int right = 1;

	ggml_backend_buffer_set_usage(buffer[0], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	set_numbers(w, 1);
	set_numbers(x, 2);
	ggml_set_output(y);
	ggml_build_forward_expand(g, y);
	check(ggml_backend_sched_graph_compute(sched, g) == GGML_STATUS_SUCCESS, "the scheduler");
	check(ggml_backend_sched_get_tensor_backend(sched, y) == where, "another device than expected");
	ggml_backend_tensor_get(y, have, 0, ggml_nbytes(y));
	for (int m = 0; m < rows; m++)
		for (int n = 0; n < WIDE; n++) {
			float sum = 0;

			for (int k = 0; k < WIDE; k++)
				sum += number(m * WIDE + k, 2) * number(n * WIDE + k, 1);
			right &= have[m * WIDE + n] == sum;
		}
	check(right, "a product of weights of the host");
	ggml_backend_sched_free(sched);
	for (int i = 0; i < 2; i++)
		ggml_backend_buffer_free(buffer[i]);
	ggml_free(c);
}

/* A graph over both devices: w1 (x + w0) + w0, whose input changes each time, without a wait in between. */
static void
two_devices(void)
{
	ggml_backend_t backend[3] = { t.stream[0], t.stream[2], t.cpu };
	ggml_backend_sched_t sched = ggml_backend_sched_new(backend, NULL, 3, 64, true, false);
	ggml_backend_buffer_t buffer[2];
	static float out[ROUNDS][WIDE * ROWS];
	static float in[WIDE * ROWS];
	Context *w = context();
	Tensor *w0 = floats(w, ggml_backend_get_default_buffer_type(t.stream[0]), ROWS, &buffer[0]);
	Tensor *w1 = floats(w, ggml_backend_get_default_buffer_type(t.stream[2]), ROWS, &buffer[1]);

	set_numbers(w0, 3);
	set_numbers(w1, 4);
	for (int i = 0; i < 2; i++)
		ggml_backend_buffer_set_usage(buffer[i], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (int round = 0; round < ROUNDS; round++) {
		Context *c = context();
		Tensor *x = ggml_new_tensor_2d(c, GGML_TYPE_F32, WIDE, ROWS), *y;
		struct ggml_cgraph *g = ggml_new_graph(c);

		ggml_set_input(x);
		y = ggml_mul(c, ggml_add(c, x, w0), w1);
		ggml_set_output(y);
		ggml_build_forward_expand(g, y);
		ggml_backend_sched_reset(sched);
		check(ggml_backend_sched_alloc_graph(sched, g), "no memory for a graph");
		for (int i = 0; i < WIDE * ROWS; i++)
			in[i] = number(i, round);
		ggml_backend_tensor_set(x, in, 0, sizeof in);
		check(ggml_backend_sched_graph_compute_async(sched, g) == GGML_STATUS_SUCCESS, "two devices");
		check(ggml_backend_sched_get_tensor_backend(sched, y) == t.stream[2], "one device only");
		ggml_backend_tensor_get_async(t.stream[2], y, out[round], 0, sizeof out[round]);
		ggml_free(c);
	}
	check(ggml_backend_sched_get_n_copies(sched) > 1, "one graph at a time");
	ggml_backend_sched_synchronize(sched);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < WIDE * ROWS; i++)
			if (out[round][i] != (number(i, round) + number(i, 3)) * number(i, 4)) {
				check(0, "a result of two devices");
				break;
			}
	ggml_backend_sched_free(sched);
	for (int i = 0; i < 2; i++)
		ggml_backend_buffer_free(buffer[i]);
	ggml_free(w);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

/* Pinned memory, with room for two times N bytes; the CPU's if PLAIN=1 is set. */
static void
pin(void)
{
	ggml_backend_dev_t d = ggml_backend_get_device(t.stream[0]);
	ggml_backend_buffer_type_t type = ggml_backend_dev_host_buffer_type(d);
	struct ggml_backend_dev_props props;
	int plain = getenv("PLAIN") != NULL;

	ggml_backend_dev_get_props(d, &props);
	check(props.caps.async && props.caps.host_buffer && props.caps.events, "capabilities");
	check(!strcmp(ggml_backend_buft_name(type), "HEXC0_Host"), "the type's name");
	t.pinned = ggml_backend_buft_alloc_buffer(type, 2 * N);
	check(ggml_backend_buffer_is_host(t.pinned), "host memory");
	check((ggml_backend_buffer_get_type(t.pinned) == type) != plain, "pinned or not");
	t.host[0] = ggml_backend_buffer_get_base(t.pinned);
	t.host[1] = t.host[0] + N;
	ggml_backend_buffer_clear(t.pinned, 3);
	check(is_filled(t.host[0], 0, 2 * N, 3), "host memory that is filled");
}

int
main(void)
{
	static const char *const name[3] = { "HEXC0", "HEXC0", "HEXC1" };

	ggml_backend_load_all();
	t.cpu = ggml_backend_init_by_name("CPU", NULL);
	for (int i = 0; i < 3; i++)
		if (!(t.stream[i] = ggml_backend_init_by_name(name[i], NULL)))
			return 2;
	pin();
	of_bytes();
	offloaded(ROWS, t.stream[0]);
	offloaded(4, t.cpu);
	two_devices();
	ggml_backend_buffer_free(t.pinned);
	for (int i = 0; i < 3; i++)
		ggml_backend_free(t.stream[i]);
	ggml_backend_free(t.cpu);
	return t.bad;
}
