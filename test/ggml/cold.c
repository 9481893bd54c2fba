/* cold.c - when the backend compiles the operators of a graph. The first argument says what is done with it:
 *
 *	plan NAMES..    ggml's scheduler plans it; once nothing is compiled any more, it is computed twice
 *	run NAMES..     each device computes it without a scheduler, all at the same time
 *	exit NAMES..    it is planned, and the process ends
 *	fail NAMES..    it is planned, and computed twice; both must fail
 *
 * NAMES are devices. */
#include <ggml.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 64, M = 4, THREADS_MOST = 8 };

typedef struct ggml_tensor Tensor;
typedef struct ggml_context Context;

/* A layer: six operators of hexc. */
static Tensor *
layer(Context *c, Tensor *x)
{
	Tensor *w = ggml_new_tensor_2d(c, GGML_TYPE_F16, N, N), *y;

	ggml_set_input(w);
	y = ggml_rms_norm(c, x, 1e-5f);
	y = ggml_add(c, ggml_mul_mat(c, w, y), x);
	y = ggml_soft_max(c, y);
	y = ggml_mul(c, ggml_l2_norm(c, y, 1e-5f), x);
	y = ggml_cumsum(c, y);
	return ggml_sum_rows(c, y);
}

/* A graph. */
typedef struct Made {
	Context *c;
	struct ggml_cgraph *g;
	Tensor *x, *y;
} Made;

static Made
make(void)
{
	struct ggml_init_params params = { 1 << 20, NULL, true };
	Made m = { ggml_init(params), NULL, NULL, NULL };

	m.x = ggml_new_tensor_2d(m.c, GGML_TYPE_F32, N, M);
	ggml_set_input(m.x);
	m.y = layer(m.c, m.x);
	ggml_set_output(m.y);
	m.g = ggml_new_graph(m.c);
	ggml_build_forward_expand(m.g, m.y);
	return m;
}

/* Waits until the process's threads do nothing. */
static void
wait_idle(void)
{
	for (int quiet = 0; quiet < 5;) {
		clock_t before = clock();

		usleep(100000);
		quiet = clock() - before < CLOCKS_PER_SEC / 1000 ? quiet + 1 : 0;
	}
}

/* Fails if the sums are not those of rows of finite numbers. */
static int
check(const Made *m)
{
	float y[M];

	ggml_backend_tensor_get(m->y, y, 0, sizeof y);
	for (int i = 0; i < M; i++)
		if (!isfinite(y[i]))
			return 1;
	return 0;
}

static void
fill(Tensor *t)
{
	char zero[1 << 16] = { 0 };

	ggml_backend_tensor_set(t, zero, 0, ggml_nbytes(t));
}

static void
fill_inputs(struct ggml_cgraph *g)
{
	for (int i = 0; i < ggml_graph_n_nodes(g); i++)
		for (int k = 0; k < GGML_MAX_SRC; k++) {
			Tensor *t = ggml_graph_node(g, i)->src[k];

			if (t && t->op == GGML_OP_NONE && ggml_nbytes(t) <= 1 << 16)
				fill(t);
		}
}

static void
assign(ggml_backend_sched_t sched, ggml_backend_t backend, struct ggml_cgraph *g)
{
	for (int i = 0; i < ggml_graph_n_nodes(g); i++)
		ggml_backend_sched_set_tensor_backend(sched, ggml_graph_node(g, i), backend);
}

/* Returns the number of runs that failed; -1 if it cannot be planned. */
static int
plan_and_run(const char *device, Made *m, int runs)
{
	ggml_backend_t backend[2] = { ggml_backend_init_by_name(device, NULL),
		                      ggml_backend_init_by_name("CPU", NULL) };
	ggml_backend_sched_t sched = ggml_backend_sched_new(backend, NULL, 2, 128, false, true);
	int failed = 0;

	assign(sched, backend[0], m->g);
	if (!ggml_backend_sched_reserve(sched, m->g))
		return -1;
	if (!runs)
		exit(0);
	wait_idle();
	for (int i = 0; i < runs; i++) {
		ggml_backend_sched_reset(sched);
		assign(sched, backend[0], m->g);
		if (!ggml_backend_sched_alloc_graph(sched, m->g))
			return -1;
		fill_inputs(m->g);
		failed += ggml_backend_sched_graph_compute(sched, m->g) != GGML_STATUS_SUCCESS || check(m);
	}
	ggml_backend_sched_free(sched);
	ggml_backend_free(backend[0]);
	ggml_backend_free(backend[1]);
	return failed;
}

static void *
run(void *device)
{
	Made m = make();
	ggml_backend_t backend = ggml_backend_init_by_name(device, NULL);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(m.c, backend);
	bool ok;

	fill_inputs(m.g);
	ok = ggml_backend_graph_compute(backend, m.g) == GGML_STATUS_SUCCESS && !check(&m);
	ggml_backend_buffer_free(buffer);
	ggml_backend_free(backend);
	ggml_free(m.c);
	return ok ? NULL : device;
}

static int
run_all(int devices, char **device)
{
	pthread_t thread[THREADS_MOST];
	int bad = 0;

	for (int i = 0; i < devices; i++)
		if (pthread_create(&thread[i], NULL, run, device[i]))
			return 1;
	for (int i = 0; i < devices; i++) {
		void *failed = NULL;

		pthread_join(thread[i], &failed);
		bad |= failed != NULL;
	}
	return bad;
}

int
main(int argc, char **argv)
{
	bool fails = argc > 1 && !strcmp(argv[1], "fail");
	int runs = 2, failed;
	Made m;

	if (argc < 3 || argc > THREADS_MOST)
		return 2;
	ggml_backend_load_all();
	if (!strcmp(argv[1], "run"))
		return run_all(argc - 2, argv + 2);
	if (!strcmp(argv[1], "exit"))
		runs = 0;
	m = make();
	failed = plan_and_run(argv[2], &m, runs);
	ggml_free(m.c);
	return failed != (fails ? runs : 0);
}
