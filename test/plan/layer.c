/* layer.c - runs a transformer layer, built from the examples' kernels: launched one after the other, each
 * buffer in separate memory; then as a plan on 1 and 2 streams, and as graphs, for two numbers of tokens. All
 * must give the same bits.
 *
 *	layer BUNDLE simulator|driver [quick]
 *	                status 0: all was correct; 1: an error was reported, and nothing leaked;
 *	                3: incorrect result
 *
 * quick: launches may do nothing, results are not compared; only the plan on 2 streams. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/hexc_bundle.h"
#include "lib/hexc_plan.h"

enum { WIDE = 128, HEADS = 2, DIM = 64, INNER = 256, MOST = 48, BYTES = 2 * INNER * WIDE };

/* Tensors of the layer; those up to X are given, those behind Y the layer's own. */
enum { G1, G2, BIAS, WQ, WK, WV, WO, WG, WU, WD, X, Y, H1, Q, K, V, A, R, H2, F, TENSORS };
static const int columns[TENSORS] = { 1, 1, 1, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, INNER,
	                              WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, INNER };
static const int fixed_rows[TENSORS] = { WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, WIDE, INNER, INNER, WIDE };

typedef struct Arg {
	const char *name;
	int tensor;  /* -1: */
	double x;    /* a number, or */
	int columns; /* that of this tensor's columns; -1: of tokens; 0: x */
} Arg;
#define TENSOR(name, t) { name, t, 0, 0 }
#define TOKENS(name) { name, -1, 0, -1 }
#define NUMBER(name, x) { name, -1, x, 0 }

typedef struct Launch {
	const char *label, *kernel;
	double us;
	Arg arg[12];
} Launch;

#define GEMM(label, a, b, c, n, k)                                                                           \
	{ label, "gemm_f16", 8,                                                                              \
	  { TENSOR("A", a), TENSOR("B", b), TENSOR("C", c), TOKENS("M"), NUMBER("N", n), NUMBER("K", k) } }
#define RESIDUAL(label, a, b, r, c, n, k)                                                                    \
	{ label, "gemm_epilogue", 9,                                                                         \
	  { TENSOR("A", a), TENSOR("B", b), TENSOR("BIAS", BIAS), TENSOR("R", r), TENSOR("C", c),            \
	    TOKENS("M"), NUMBER("N", n), NUMBER("K", k) } }
#define NORM(label, x, g, y)                                                                                 \
	{ label, "rms_norm", 3,                                                                              \
	  { TENSOR("X", x), TENSOR("gain", g), TENSOR("Y", y), TOKENS("M"), NUMBER("N", WIDE),               \
	    NUMBER("eps", 1e-5) } }
static const Launch layer[] = {
	NORM("norm 1", X, G1, H1),
	GEMM("q", H1, WQ, Q, WIDE, WIDE),
	GEMM("k", H1, WK, K, WIDE, WIDE),
	GEMM("v", H1, WV, V, WIDE, WIDE),
	{ "attention", "attention", 12,
	  { TENSOR("Q", Q), TENSOR("K", K), TENSOR("V", V), TENSOR("O", A), NUMBER("B", 1), TOKENS("M"),
	   TOKENS("N"),
	    NUMBER("H", HEADS), NUMBER("HK", HEADS), NUMBER("scale", 0.125) } },
	RESIDUAL("out", A, WO, X, R, WIDE, WIDE),
	NORM("norm 2", R, G2, H2),
	{ "swiglu", "swiglu", 20,
	  { TENSOR("A", H2), TENSOR("G", WG), TENSOR("U", WU), TENSOR("C", F), TOKENS("M"), NUMBER("N",
	          INNER),
	    NUMBER("K", WIDE) } },
	RESIDUAL("down", F, WD, R, Y, WIDE, INNER),
};
enum { LAUNCHES = sizeof layer / sizeof *layer };

typedef struct Engine {
	hexc_bundle *bundle;
	hexc_gpu *g;
	hexc_gpu_module *module[LAUNCHES];
	hexc_call *call[LAUNCHES];
	hexc_plan *plan;
	void *memory[TENSORS], *arena, *stream[2];
	uint64_t arena_bytes;
	int quick;
	const char *step;
	char why[600];
} Engine;

#define TRY(call)                                                                                            \
	do {                                                                                                 \
		e->step = #call;                                                                             \
		if (call)                                                                                    \
			return 1;                                                                            \
	} while (0)
#define WRONG(...)                                                                                           \
	do {                                                                                                 \
		printf("WRONG: " __VA_ARGS__);                                                               \
		exit(3);                                                                                     \
	} while (0)

/* ---- kernels and weights ------------------------------------------------------------------------------ */

/* f16 bits of a number from -1 to 1 in steps of 1/64. */
static unsigned
half_of(int n)
{
	unsigned sign = n < 0 ? 0x8000u : 0, x = (unsigned)(n < 0 ? -n : n), e = 9;

	if (!x)
		return 0;
	for (; x < 1024; x <<= 1)
		e--;
	return sign | ((e + 10) << 10) | (x & 1023);
}

static int
fill(Engine *e, int t)
{
	static uint16_t x[BYTES];
	unsigned seed = 12345u + (unsigned)t;

	for (int i = 0; i < BYTES; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = (uint16_t)half_of((int)(seed >> 24) % 33 - 16);
	}
	TRY(hexc_gpu_write(e->g, e->memory[t], x, BYTES * 2));
	return 0;
}

static int
start(Engine *e, const char *path, int device)
{
	hexc_gpu_info info = HEXC_GPU_INFO_INIT;
	hexc_want want = HEXC_WANT_INIT;
	const hexc_module *m;
	size_t i, k;

	TRY(hexc_bundle_open(&e->bundle, path, e->why, sizeof e->why));
	TRY(hexc_gpu_open(&e->g, device, e->why, sizeof e->why));
	hexc_gpu_describe(e->g, &info);
	want.arch = info.arch;
	for (int n = 0; n < LAUNCHES; n++) {
		want.kernel = layer[n].kernel;
		TRY(hexc_bundle_find(e->bundle, &want, &i, e->why, sizeof e->why));
		TRY(hexc_bundle_module(e->bundle, i, &m, &k, e->why, sizeof e->why));
		for (int o = 0; o < n; o++)
			if (strcmp(layer[o].kernel, layer[n].kernel) == 0)
				e->module[n] = e->module[o];
		if (!e->module[n])
			TRY(hexc_gpu_load(e->g, m, &e->module[n]));
		TRY(hexc_call_new(&e->call[n], e->module[n], k));
	}
	for (int t = 0; t < TENSORS; t++)
		TRY(hexc_gpu_alloc(e->g, BYTES * 2, &e->memory[t]));
	for (int t = 0; t <= X; t++)
		if (fill(e, t))
			return 1;
	for (int s = 0; s < 2; s++)
		TRY(hexc_stream_new(&e->stream[s], e->g));
	return 0;
}

static void
stop(Engine *e)
{
	hexc_plan_free(e->plan);
	for (int n = 0; n < LAUNCHES; n++)
		hexc_call_free(e->call[n]);
	for (int s = 0; s < 2 && e->g; s++)
		hexc_stream_free(e->g, e->stream[s]);
	hexc_gpu_close(e->g);
	hexc_bundle_close(e->bundle);
}

static uint64_t
bytes_of(int t, int tokens)
{
	return 2 * (uint64_t)(fixed_rows[t] ? fixed_rows[t] : tokens) * (uint64_t)columns[t];
}

static int
give_numbers(Engine *e, int tokens)
{
	for (int n = 0; n < LAUNCHES; n++)
		for (const Arg *a = layer[n].arg; a->name; a++) {
			int i = hexc_call_find(e->call[n], a->name);

			if (i < 0)
				WRONG("%s has no %s\n", layer[n].kernel, a->name);
			if (a->tensor >= 0)
				continue;
			if (a->columns)
				TRY(hexc_call_int(e->call[n], i, tokens));
			else if (a->x == (double)(int)a->x)
				TRY(hexc_call_int(e->call[n], i, (int64_t)a->x));
			else
				TRY(hexc_call_float(e->call[n], i, a->x));
		}
	return 0;
}

static int
read_result(Engine *e, int tokens, uint16_t *out)
{
	TRY(hexc_gpu_read(e->g, out, e->memory[Y], bytes_of(Y, tokens)));
	return 0;
}

/* Each launch behind the other, each tensor in memory of its own. */
static int
one_by_one(Engine *e, int tokens, uint16_t *out)
{
	if (give_numbers(e, tokens))
		return 1;
	for (int n = 0; n < LAUNCHES; n++) {
		for (const Arg *a = layer[n].arg; a->name; a++)
			if (a->tensor >= 0)
				TRY(hexc_call_ptr(e->call[n], hexc_call_find(e->call[n], a->name),
				                  e->memory[a->tensor], BYTES * 2));
		e->step = layer[n].label;
		if (hexc_call_launch(e->call[n], NULL)) {
			snprintf(e->why, sizeof e->why, "%s", hexc_call_why(e->call[n]));
			return 1;
		}
	}
	return read_result(e, tokens, out);
}

/* ---- the plan ----------------------------------------------------------------------------------------- */

static int
build_plan(Engine *e, uint32_t streams, int tokens)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	uint32_t id;

	o.streams = streams;
	o.gpu = e->g;
	TRY(hexc_plan_new(&e->plan, &o));
	for (int t = 0; t < TENSORS; t++)
		if (t <= Y)
			TRY(hexc_plan_outside(e->plan, e->memory[t], bytes_of(t, tokens), &id));
		else
			TRY(hexc_plan_buffer(e->plan, bytes_of(t, tokens), &id));
	for (int n = 0; n < LAUNCHES; n++) {
		w.name = layer[n].label;
		w.us = layer[n].us;
		w.call = e->call[n];
		TRY(hexc_plan_node(e->plan, &w, &id));
		for (const Arg *a = layer[n].arg; a->name; a++)
			if (a->tensor >= 0)
				TRY(hexc_plan_arg(e->plan, id, hexc_call_find(e->call[n], a->name),
				                  (uint32_t)a->tensor));
	}
	TRY(hexc_plan_solve(e->plan));
	return 0;
}

/* Memory for it as it is now, full of what no launch has written. */
static int
bind_memory(Engine *e)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;

	if (!hexc_plan_describe(e->plan, &info))
		WRONG("nothing to describe\n");
	if (info.bytes > e->arena_bytes) {
		TRY(hexc_gpu_free(e->g, e->arena));
		e->arena = NULL;
		TRY(hexc_gpu_alloc(e->g, info.bytes, &e->arena));
		e->arena_bytes = info.bytes;
	}
	TRY(hexc_plan_bind(e->plan, e->arena, info.bytes));
	return 0;
}

static int
same(Engine *e, int tokens, const uint16_t *want, const char *what)
{
	static uint16_t got[BYTES];

	if (read_result(e, tokens, got))
		return 1;
	if (!e->quick && memcmp(got, want, bytes_of(Y, tokens)) != 0)
		WRONG("%s: other bits\n", what);
	return fill(e, Y); /* the next one writes it anew */
}

static int
planned(Engine *e, uint32_t streams, const uint16_t *few, const uint16_t *many)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;

	if (give_numbers(e, 20) || build_plan(e, streams, 20) || bind_memory(e))
		return 1;
	hexc_plan_describe(e->plan, &info);
	if (!info.exact || info.streams != streams || info.captures || info.bytes >= info.total)
		WRONG("the plan: %u streams, %llu bytes\n", info.streams, (unsigned long long)info.bytes);
	printf("%u streams: %g us of %g, %u waits, %llu bytes of %llu\n", info.streams, info.makespan_us,
	       info.serial_us, info.waits, (unsigned long long)info.bytes, (unsigned long long)info.total);
	TRY(hexc_plan_launch(e->plan, e->stream, streams));
	if (same(e, 20, few, "launched"))
		return 1;
	TRY(hexc_plan_capture(e->plan, e->stream, streams));
	TRY(hexc_plan_replay(e->plan, e->stream[0]));
	if (same(e, 20, few, "a graph"))
		return 1;
	/* more tokens: other bytes and addresses, the same graph */
	if (give_numbers(e, MOST))
		return 1;
	for (int t = 0; t < TENSORS; t++)
		TRY(hexc_plan_set_bytes(e->plan, (uint32_t)t, bytes_of(t, MOST)));
	TRY(hexc_plan_refit(e->plan));
	if (bind_memory(e))
		return 1;
	TRY(hexc_plan_update(e->plan));
	TRY(hexc_plan_replay(e->plan, e->stream[0]));
	if (same(e, MOST, many, "a graph with other sizes"))
		return 1;
	hexc_plan_describe(e->plan, &info);
	if (info.captures != 1 || info.updates != LAUNCHES)
		WRONG("%llu captures, %llu updates\n", (unsigned long long)info.captures,
		      (unsigned long long)info.updates);
	/* solved anew, it is captured anew */
	TRY(hexc_plan_solve(e->plan));
	if (bind_memory(e))
		return 1;
	TRY(hexc_plan_update(e->plan));
	TRY(hexc_plan_replay(e->plan, e->stream[0]));
	if (same(e, MOST, many, "a graph that was captured again"))
		return 1;
	hexc_plan_describe(e->plan, &info);
	if (info.captures != 2)
		WRONG("not captured again\n");
	hexc_plan_free(e->plan);
	e->plan = NULL;
	return 0;
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static int
broken(void *user, void *stream)
{
	(void)stream;
	++*(int *)user;
	return HEXC_E_LIMIT;
}

static int
working(void *user, void *stream)
{
	(void)stream;
	++*(int *)user;
	return HEXC_OK;
}

static void
refuses(Engine *e, int code, int want, const char *text)
{
	if (code != want || strcmp(hexc_plan_why(e->plan), text) != 0)
		WRONG("%d, not %d: %s\n", code, want, hexc_plan_why(e->plan));
}

/* A node that the host launches itself: captured again when its buffer moves, not where it is the same. */
static int
of_the_host(Engine *e)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	int runs = 0;
	uint32_t id;

	o.gpu = e->g;
	TRY(hexc_plan_new(&e->plan, &o));
	TRY(hexc_plan_outside(e->plan, e->memory[X], 4, &id));
	w.launch = working;
	w.user = &runs;
	w.name = "the host's";
	TRY(hexc_plan_node(e->plan, &w, &id));
	TRY(hexc_plan_use(e->plan, 0, 0, HEXC_PLAN_WRITE));
	TRY(hexc_plan_solve(e->plan));
	TRY(hexc_plan_capture(e->plan, e->stream, 1));
	TRY(hexc_plan_changed(e->plan, 0, 0));
	TRY(hexc_plan_update(e->plan));
	TRY(hexc_plan_set_ptr(e->plan, 0, e->memory[Y]));
	TRY(hexc_plan_update(e->plan));
	TRY(hexc_plan_replay(e->plan, e->stream[0]));
	hexc_plan_describe(e->plan, &info);
	if (runs != 2 || info.captures != 2)
		WRONG("%d runs, %d captures\n", runs, (int)info.captures);
	w.launch = broken;
	TRY(hexc_plan_node(e->plan, &w, &id));
	TRY(hexc_plan_solve(e->plan));
	refuses(e, hexc_plan_launch(e->plan, e->stream, 1), HEXC_E_LIMIT,
	        "node 1 (the host's): its launch returned -3, a limit in the options was reached, or "
	        "cancel() said stop");
	refuses(e, hexc_plan_capture(e->plan, e->stream, 1), HEXC_E_LIMIT,
	        "node 1 (the host's): its launch returned -3, a limit in the options was reached, or "
	        "cancel() said stop");
	refuses(e, hexc_plan_replay(e->plan, e->stream[0]), HEXC_E_INVALID,
	        "no graph was captured; call hexc_plan_capture");
	hexc_plan_free(e->plan);
	e->plan = NULL;
	return 0;
}

static int
refused(Engine *e)
{
	void *none[2] = { NULL, NULL }, *memory = NULL;
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;

	if (build_plan(e, 2, 20) != 1 ||
	    strcmp(hexc_plan_why(e->plan),
	           "node 0 (norm 1): rms_norm: eps has no argument yet; set it with hexc_call_float") != 0)
		WRONG("calls without numbers: %s\n", hexc_plan_why(e->plan));
	hexc_plan_free(e->plan);
	if (give_numbers(e, 20) || build_plan(e, 2, 20))
		return 1;
	refuses(e, hexc_plan_arg(e->plan, 1, 3, 0), HEXC_E_INVALID, "parameter 3 of node 1 (q) is not a "
	                                                            "tensor");
	hexc_plan_describe(e->plan, &info);
	refuses(e, hexc_plan_launch(e->plan, e->stream, 1), HEXC_E_INVALID, "it requires 2 streams, got 1");
	refuses(e, hexc_plan_launch(e->plan, e->stream, 2), HEXC_E_ARGS,
	        "its buffers need 20480 bytes, but hexc_plan_bind provided 0");
	if (bind_memory(e))
		return 1;
	refuses(e, hexc_plan_capture(e->plan, none, 2), HEXC_E_INVALID,
	        "stream 0 is the default stream, which cannot be captured; create a stream");
	TRY(hexc_plan_set_bytes(e->plan, H1, 8));
	refuses(e, hexc_plan_launch(e->plan, e->stream, 2), HEXC_E_INVALID,
	        "buffer sizes changed after placement; call hexc_plan_refit or hexc_plan_solve");
	TRY(hexc_plan_refit(e->plan));
	refuses(e, hexc_plan_launch(e->plan, e->stream, 2), HEXC_E_ARGS,
	        "node 0 (norm 1): rms_norm: Y needs 5120 bytes for these sizes; its buffer has 8");
	TRY(hexc_plan_set_bytes(e->plan, H1, bytes_of(H1, 20)));
	TRY(hexc_plan_set_ptr(e->plan, X, memory));
	TRY(hexc_plan_refit(e->plan));
	refuses(e, hexc_plan_capture(e->plan, e->stream, 2), HEXC_E_ARGS,
	        "node 0 (norm 1): rms_norm: X is NULL; expected 5120 bytes");
	hexc_plan_free(e->plan);
	e->plan = NULL;
	return of_the_host(e);
}

/* Are these results of anything? */
static int
dull(const uint16_t *x, int n)
{
	int different = 0;

	for (int i = 1; i < n; i++) {
		if ((x[i] >> 10 & 31) == 31)
			return 1;
		different += x[i] != x[i - 1];
	}
	return different < n / 2;
}

int
main(int argc, char **argv)
{
	static uint16_t few[BYTES], many[BYTES];
	static Engine engine;
	Engine *e = &engine;
	int failed;

	if (argc < 3)
		return 2;
	e->quick = argc > 3;
	failed = start(e, argv[1], strcmp(argv[2], "simulator") == 0 ? HEXC_SIMULATOR(80) : 0);
	if (!e->quick)
		failed = failed || refused(e) || one_by_one(e, 20, few) || one_by_one(e, MOST, many);
	if (!failed && !e->quick && (dull(few, 20 * WIDE) || dull(many, MOST * WIDE)))
		WRONG("infinite, or all the same\n");
	if (!e->quick)
		failed = failed || planned(e, 1, few, many);
	failed = failed || planned(e, 2, few, many);
	if (failed)
		printf("failed: %s: %s%s%s\n", e->step, e->why, hexc_gpu_why(e->g), hexc_plan_why(e->plan));
	stop(e);
	return failed;
}
