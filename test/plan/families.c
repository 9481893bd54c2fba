/* families.c - runs two consecutive GEMMs, each by a family: the entry for few rows is a chain of two kernels
 * with a workspace, those for more rows are one. A plan's graph, captured for one number of rows and updated
 * for others, gives the same exact bits as launches; the graph of a plan whose nodes changed is rejected.
 *
 *	families BUNDLE simulator|driver
 *	            status 0: all was correct; 1: an error was reported; 3: incorrect result */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/hexc_bundle.h"
#include "lib/hexc_family.h"
#include "lib/hexc_plan.h"

enum { ROWS = 300, DEPTH = 1024, MIDDLE = 64, COLUMNS = 40, NODES = 2 };
enum { X, W1, W2, T, Y, SPACE, BUFFERS };

static struct {
	hexc_gpu *g;
	hexc_bundle *b;
	hexc_family *f;
	hexc_family_call *c[NODES];
	hexc_plan *p;
	void *memory[BUFFERS], *arena, *stream;
	uint64_t arena_bytes, bytes[BUFFERS];
	char why[600];
} e = { .bytes = { ROWS * DEPTH * 2, 2 * MIDDLE * DEPTH, 2 * COLUMNS * MIDDLE, 2 * ROWS * MIDDLE,
	           2 * ROWS * COLUMNS,
	           1 << 22 } };

#define TRY(call)                                                                                            \
	do {                                                                                                 \
		if (call)                                                                                    \
			return printf("failed: %s: %s%s%s%s%s\n", #call, e.why, hexc_gpu_why(e.g),           \
			              hexc_plan_why(e.p), hexc_family_call_why(e.c[0]),                      \
			              hexc_family_call_why(e.c[1])),                                         \
			       1;                                                                            \
	} while (0)
#define WRONG(...)                                                                                           \
	do {                                                                                                 \
		printf("WRONG: " __VA_ARGS__);                                                               \
		exit(3);                                                                                     \
	} while (0)

/* Mostly 0, so that sums of sums are small: f16 has them all. */
static int
element(int which, int i, int k)
{
	unsigned x = (unsigned)(i * 131 + k * 71 + which * 17) * 2654435761u;

	return x >> 28 == 0 ? 1 : x >> 28 == 1 ? -1 : 0;
}

static int
fill(int which, int rows, int columns)
{
	static uint16_t x[ROWS * DEPTH];
	const hexc_dtype *f16 = hexc_dtype_find("f16");

	for (int i = 0; i < rows; i++)
		for (int k = 0; k < columns; k++)
			hexc_put(f16, x, (uint64_t)(i * columns + k), element(which, i, k));
	TRY(hexc_gpu_write(e.g, e.memory[which], x, (uint64_t)rows * (uint64_t)columns * 2));
	return 0;
}

static int
start(const char *path, int device)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;

	TRY(hexc_bundle_open(&e.b, path, e.why, sizeof e.why));
	TRY(hexc_gpu_open(&e.g, device, e.why, sizeof e.why));
	hexc_gpu_describe(e.g, &info);
	TRY(hexc_family_open(&e.f, e.b, "gemm", info.arch, e.why, sizeof e.why));
	for (int t = 0; t < BUFFERS; t++)
		TRY(hexc_gpu_alloc(e.g, e.bytes[t], &e.memory[t]));
	for (int n = 0; n < NODES; n++) {
		TRY(hexc_family_call_new(&e.c[n], e.g, e.f));
		TRY(hexc_family_call_int(e.c[n], hexc_family_call_find(e.c[n], "N"), n ? COLUMNS : MIDDLE));
		TRY(hexc_family_call_int(e.c[n], hexc_family_call_find(e.c[n], "K"), n ? MIDDLE : DEPTH));
	}
	TRY(hexc_stream_new(&e.stream, e.g));
	return fill(X, ROWS, DEPTH) || fill(W1, MIDDLE, DEPTH) || fill(W2, COLUMNS, MIDDLE);
}

static int
rows(int m)
{
	for (int n = 0; n < NODES; n++)
		TRY(hexc_family_call_int(e.c[n], hexc_family_call_find(e.c[n], "M"), m));
	return 0;
}

/* Y as it is on the device; then zeros are there. */
static int
result(int m, uint16_t *out)
{
	static const uint16_t zero[ROWS * COLUMNS];

	TRY(hexc_gpu_wait(e.g));
	TRY(hexc_gpu_read(e.g, out, e.memory[Y], (uint64_t)m * COLUMNS * 2));
	TRY(hexc_gpu_write(e.g, e.memory[Y], zero, e.bytes[Y]));
	return 0;
}

static const int tensor[NODES][3] = { { X, W1, T }, { T, W2, Y } };
static const char *const name[3] = { "A", "B", "C" };

/* One launch behind the other, each tensor in memory of its own. */
static int
launches(int m, uint16_t *out)
{
	if (rows(m))
		return 1;
	for (int n = 0; n < NODES; n++) {
		for (int i = 0; i < 3; i++)
			TRY(hexc_family_call_ptr(e.c[n], hexc_family_call_find(e.c[n], name[i]),
			                         e.memory[tensor[n][i]],
			                         e.bytes[tensor[n][i]]));
		TRY(hexc_family_call_workspace(e.c[n], e.memory[SPACE], e.bytes[SPACE]));
		TRY(hexc_family_call_launch(e.c[n], NULL));
	}
	return result(m, out);
}

/* Are these the sums? */
static void
exact(int m, const uint16_t *got)
{
	const hexc_dtype *f16 = hexc_dtype_find("f16");

	for (int i = 0; i < m; i++) {
		int t[MIDDLE];

		for (int j = 0; j < MIDDLE; j++) {
			t[j] = 0;
			for (int k = 0; k < DEPTH; k++)
				t[j] += element(X, i, k) * element(W1, j, k);
		}
		for (int j = 0; j < COLUMNS; j++) {
			int sum = 0;

			for (int k = 0; k < MIDDLE; k++)
				sum += t[k] * element(W2, j, k);
			if (hexc_get(f16, got, (uint64_t)(i * COLUMNS + j)) != sum)
				WRONG("M = %d, [%d, %d]\n", m, i, j);
		}
	}
}

/* Buffers of the plan have the bytes that m rows take, and it the memory that they take. */
static int
sizes(int m)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	uint64_t space, most = 0;
	size_t line;

	if (rows(m))
		return 1;
	for (int n = 0; n < NODES; n++) {
		TRY(hexc_family_call_line(e.c[n], &line, &space));
		most = space > most ? space : most;
	}
	TRY(hexc_plan_set_bytes(e.p, T, (uint64_t)m * MIDDLE * 2));
	TRY(hexc_plan_set_bytes(e.p, SPACE, most));
	TRY(hexc_plan_describe(e.p, &info) ? hexc_plan_refit(e.p) : hexc_plan_solve(e.p));
	if (!hexc_plan_describe(e.p, &info))
		WRONG("nothing to describe\n");
	if (info.bytes > e.arena_bytes) {
		TRY(hexc_gpu_alloc(e.g, info.bytes, &e.arena));
		e.arena_bytes = info.bytes;
	}
	TRY(hexc_plan_bind(e.p, e.arena, e.arena_bytes));
	return 0;
}

static int
build(void)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	uint32_t id;

	o.gpu = e.g;
	TRY(hexc_plan_new(&e.p, &o));
	for (int t = 0; t < BUFFERS; t++)
		TRY(t == T || t == SPACE ? hexc_plan_buffer(e.p, 0, &id)
		                         : hexc_plan_outside(e.p, e.memory[t], e.bytes[t], &id));
	for (int n = 0; n < NODES; n++) {
		TRY(hexc_plan_node(e.p, &w, &id));
		TRY(hexc_plan_family(e.p, id, e.c[n]));
		for (int i = 0; i < 3; i++)
			TRY(hexc_plan_arg(e.p, id, hexc_family_call_find(e.c[n], name[i]),
			                  (uint32_t)tensor[n][i]));
		TRY(hexc_plan_workspace(e.p, id, SPACE));
	}
	return 0;
}

static void
refuses(int code, const char *text)
{
	if (code != HEXC_E_INVALID || strcmp(hexc_plan_why(e.p), text) != 0)
		WRONG("%d: %s\n", code, hexc_plan_why(e.p));
}

static int
replays(void)
{
	static const int m[] = { 1, 16, 64, 300, 290, 16, 1 };
	static uint16_t want[ROWS * COLUMNS], got[ROWS * COLUMNS];
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	uint64_t captures = 0;

	for (size_t i = 0; i < sizeof m / sizeof *m; i++) {
		size_t bytes = (size_t)m[i] * COLUMNS * 2;

		if (launches(m[i], want))
			return 1;
		exact(m[i], want);
		if (sizes(m[i]))
			return 1;
		if (i == 0) {
			TRY(hexc_plan_capture(e.p, &e.stream, 1));
		} else {
			refuses(hexc_plan_replay(e.p, e.stream),
			        "node 0 has changed since the graph was captured; call hexc_plan_update");
			TRY(hexc_plan_update(e.p));
		}
		TRY(hexc_plan_replay(e.p, e.stream));
		if (result(m[i], got))
			return 1;
		if (memcmp(want, got, bytes) != 0)
			WRONG("the graph for M = %d\n", m[i]);
		TRY(hexc_plan_launch(e.p, &e.stream, 1));
		if (result(m[i], got))
			return 1;
		if (memcmp(want, got, bytes) != 0)
			WRONG("the plan for M = %d\n", m[i]);
		hexc_plan_describe(e.p, &info);
		/* 300 and 290 rows take one line, others a line each but 1 and 16 */
		captures += m[i] != 290 && !(i == 1 || i == 6);
		if (info.captures != captures)
			WRONG("%d captures, not %d, at M = %d\n", (int)info.captures, (int)captures, m[i]);
	}
	return 0;
}

static int
said(void *user, void *stream)
{
	(void)stream;
	++*(int *)user;
	return HEXC_OK;
}

/* What cannot be said of nodes; and what of the launches of a host must be. */
static int
changes(void)
{
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	int runs = 0, m = hexc_family_call_find(e.c[0], "M");
	char text[60];
	uint32_t id;

	refuses(hexc_plan_changed(e.p, 0, 1),
	        "node 0 has no launch; other changes are detected automatically");
	refuses(hexc_plan_family(e.p, 0, e.c[0]),
	        "node 0 already has a launch; a family requires a node without call and launch");
	w.launch = said;
	w.user = &runs;
	TRY(hexc_plan_node(e.p, &w, &id));
	refuses(hexc_plan_workspace(e.p, id, SPACE), "node 2 has no family that could use a workspace");
	snprintf(text, sizeof text, "parameter %d of node 0 is not a tensor", m);
	refuses(hexc_plan_arg(e.p, 0, m, X), text);
	TRY(hexc_plan_solve(e.p));
	if (sizes(64))
		return 1;
	TRY(hexc_plan_capture(e.p, &e.stream, 1));
	refuses(hexc_plan_update(e.p),
	        "node 2 is a launch callback, whose work may have changed since the capture; call "
	        "hexc_plan_changed with 1 or 0, or make it a call or a family");
	TRY(hexc_plan_changed(e.p, id, 0));
	TRY(hexc_plan_update(e.p));
	if (runs != 1)
		WRONG("a launch that is the same was made again\n");
	TRY(hexc_plan_changed(e.p, id, 1));
	TRY(hexc_plan_changed(e.p, id, 0)); /* since the update it has */
	refuses(hexc_plan_replay(e.p, e.stream),
	        "node 2 has changed since the graph was captured; call hexc_plan_update");
	TRY(hexc_plan_update(e.p));
	TRY(hexc_plan_replay(e.p, e.stream));
	hexc_plan_describe(e.p, &info);
	if (runs != 2)
		WRONG("a launch that changed was not made again\n");
	refuses(hexc_plan_update(e.p),
	        "node 2 is a launch callback, whose work may have changed since the capture; call "
	        "hexc_plan_changed with 1 or 0, or make it a call or a family");
	return 0;
}

static void
stop(void)
{
	hexc_plan_free(e.p);
	for (int n = 0; n < NODES; n++)
		hexc_family_call_free(e.c[n]);
	hexc_family_close(e.f);
	hexc_gpu_close(e.g);
	hexc_bundle_close(e.b);
}

int
main(int argc, char **argv)
{
	int failed;

	if (argc != 3)
		return 2;
	failed = start(argv[1], strcmp(argv[2], "simulator") == 0 ? HEXC_SIMULATOR(80) : 0);
	failed = failed || build() || replays() || changes();
	stop();
	return failed;
}
