/* graphs.c - small graphs that ggml's test program does not have, whole on HEXC0 and on the CPU: operations
 * of several launches with an operation of elements behind them, rows whose indices are computed, values with
 * two readers, scans of chosen states. Each is run several times with new data, the later ones as a replay,
 * also when scratch memory has moved since. With arguments, only the graphs with these names. */
#include <ggml.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40, M = 6, TOKENS = 3, SIZE = N * M, WIDE = 60 * N, RESULT_MOST = WIDE * M, RUNS = 2, ROUNDS = 2 };

typedef struct ggml_tensor Tensor;
typedef struct ggml_context Context;

static Tensor *
matrix(Context *c, int64_t n, int64_t m)
{
	return ggml_new_tensor_2d(c, GGML_TYPE_F32, n, m);
}

static Tensor *
concat_of(Context *c, Tensor *a, Tensor *b)
{
	return ggml_silu(c, ggml_concat(c, a, b, 0));
}

static Tensor *
outer_of(Context *c, Tensor *a, Tensor *b)
{
	return ggml_scale(c, ggml_out_prod(c, a, b), 2);
}

static Tensor *
copied(Context *c, Tensor *a, Tensor *b)
{
	return ggml_add(c, ggml_cont_2d(c, ggml_transpose(c, a), N, M), b);
}

static Tensor *
summed(Context *c, Tensor *a, Tensor *b)
{
	Tensor *part = ggml_view_2d(c, b, 8, 2, b->nb[1], 0);

	return ggml_neg(c, ggml_acc(c, a, part, a->nb[1], a->nb[2], a->nb[3], 16));
}

static Tensor *
repeated(Context *c, Tensor *a, Tensor *b)
{
	return ggml_mul(c, ggml_repeat(c, ggml_view_2d(c, a, N, 2, a->nb[1], 0), b), b);
}

static Tensor *
two_readers(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = ggml_add(c, a, b);

	return ggml_mul(c, ggml_silu(c, x), x);
}

static Tensor *
gated(Context *c, Tensor *a, Tensor *b)
{
	return ggml_swiglu_split(c, ggml_mul_mat(c, a, b), ggml_mul_mat(c, ggml_scale(c, a, 0.5f), b));
}
/* The indices are made behind the product that is stored by them. */
static Tensor *
rows(Context *c, Tensor *a, Tensor *b)
{
	Tensor *product = ggml_mul_mat(c, a, b);
	Tensor *at = ggml_argsort(c, ggml_view_1d(c, b, M, 0), GGML_SORT_ORDER_ASC);

	return ggml_set_rows(c, ggml_cont(c, ggml_view_2d(c, a, M, M, a->nb[1], 0)), product, at);
}

/* It needs more scratch memory than the others. */
static Tensor *
outer_of_outer(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = ggml_out_prod(c, a, b);

	return ggml_out_prod(c, x, x);
}

/* Each result is of two numbers that results overwrite. */
static Tensor *
turned_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = ggml_reshape_3d(c, ggml_repeat_4d(c, a, WIDE, M, 1, 1), WIDE, 1, M);
	Tensor *at = ggml_argsort(c, ggml_view_1d(c, b, M, 0), GGML_SORT_ORDER_ASC);

	return ggml_rope_inplace(c, x, at, WIDE, GGML_ROPE_TYPE_NEOX);
}

static Tensor *
gradient_in_place(Context *c, Tensor *a, Tensor *b)
{
	return ggml_soft_max_ext_back_inplace(c, ggml_neg(c, a), ggml_soft_max(c, b), 0.5f, 0);
}

/* Queries and keys: products of one factor, turned at the same positions. */
static void
queries_and_keys(Context *c, Tensor *a, Tensor *b, Tensor *at, Tensor *out[2])
{
	Tensor *x = ggml_view_2d(c, a, N / 2, TOKENS, a->nb[1], 0);

	for (size_t i = 0; i < 2; i++) {
		Tensor *weight = ggml_view_2d(c, b, N / 2, M, b->nb[1], i * N / 2 * sizeof(float));
		Tensor *product = ggml_mul_mat(c, weight, x);

		out[i] = ggml_rope(c, ggml_reshape_3d(c, product, M, 1, TOKENS), at, M, GGML_ROPE_TYPE_NEOX);
	}
}

static Tensor *
two_turned(Context *c, Tensor *a, Tensor *b)
{
	Tensor *at = ggml_argsort(c, ggml_view_1d(c, b, TOKENS, 0), GGML_SORT_ORDER_ASC), *turned[2];

	queries_and_keys(c, a, b, at, turned);
	return ggml_concat(c, turned[0], turned[1], 0);
}

/* Keys go to rows of a cache, the end of a. */
static Tensor *
two_turned_rows(Context *c, Tensor *a, Tensor *b)
{
	Tensor *at = ggml_argsort(c, ggml_view_1d(c, b, TOKENS, 0), GGML_SORT_ORDER_ASC), *turned[2];
	Tensor *cache = ggml_view_2d(c, a, M, TOKENS, M * sizeof(float), (M - 1) * a->nb[1]);

	queries_and_keys(c, a, b, at, turned);
	cache = ggml_set_rows(c, cache, ggml_reshape_2d(c, turned[1], M, TOKENS), at);
	return ggml_concat(c, ggml_reshape_2d(c, turned[0], M, TOKENS), cache, 0);
}

/* Before keys, values go to a cache as rows of one number each, which a product's launch does not store: it
 * writes the product, in the place of that of the queries, which wait for the keys to be turned. */
static Tensor *
turned_and_values(Context *c, Tensor *a, Tensor *b)
{
	Tensor *places = ggml_argsort(c, ggml_view_1d(c, b, TOKENS * M, 0), GGML_SORT_ORDER_DESC), *turned[2];
	Tensor *x = ggml_view_2d(c, a, N / 2, TOKENS, a->nb[1], 0);
	Tensor *weight = ggml_view_2d(c, b, N / 2, M, b->nb[1], N / 4 * sizeof(float));
	Tensor *value = ggml_reshape_2d(c, ggml_mul_mat(c, weight, x), 1, TOKENS * M);
	Tensor *values = ggml_view_2d(c, a, 1, TOKENS * M, sizeof(float), (M - 1) * a->nb[1]);

	queries_and_keys(c, a, b, ggml_view_1d(c, places, TOKENS, 0), turned);
	values = ggml_reshape_3d(c, ggml_set_rows(c, values, value, places), M, 1, TOKENS);
	return ggml_concat(c, turned[0], ggml_concat(c, values, turned[1], 0), 0);
}

/* ---- results in the place of operands: a block must have read what another thread writes -------------- */

static Tensor *
short_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = ggml_view_1d(c, a, 16, 0);

	return ggml_mul_inplace(c, x, ggml_add(c, ggml_sin(c, x), ggml_view_1d(c, b, 16, 0)));
}

static Tensor *
sum_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = ggml_view_1d(c, a, M, 0);

	return ggml_acc_inplace(c, x, ggml_view_1d(c, b, M, 0), a->nb[1], a->nb[2], a->nb[3], 0);
}

static Tensor *
narrow_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *at = ggml_argsort(c, ggml_view_1d(c, b, 10, 0), GGML_SORT_ORDER_ASC);
	Tensor *x = ggml_reshape_3d(c, ggml_view_1d(c, a, 180, 0), 6, 3, 10);

	return ggml_rope_inplace(c, x, at, 6, GGML_ROPE_TYPE_NORMAL);
}

/* The first of the values that are added is in the place of the result. */
static Tensor *
product_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *first = ggml_sqr(c, ggml_cont(c, ggml_view_2d(c, a, M, M, a->nb[1], 0)));
	Tensor *sum = ggml_add(c, first, ggml_mul_mat(c, a, b));

	return ggml_add(c, sum, ggml_view_2d(c, b, M, M, b->nb[1], 0));
}

static Tensor *
norm_in_place(Context *c, Tensor *a, Tensor *b)
{
	Tensor *first = ggml_sqr(c, ggml_cont(c, ggml_view_2d(c, a, 12, M, a->nb[1], 0)));
	Tensor *norm = ggml_rms_norm(c, ggml_view_2d(c, b, 12, M, b->nb[1], 0), 1e-5f);

	return ggml_add(c, first, ggml_mul(c, norm, ggml_view_1d(c, b, 12, 0)));
}

/* The rows of a cache are read, and go to other rows of it. */
static Tensor *
moved_rows(Context *c, Tensor *a, Tensor *b)
{
	int64_t rows = 34 * M;
	Tensor *cache = ggml_repeat_4d(c, ggml_view_2d(c, a, 36, M, a->nb[1], 0), 36, rows, 1, 1);
	Tensor *x = ggml_repeat_4d(c, a, N, rows, 1, 1), *weight = ggml_repeat_4d(c, b, N, 36, 1, 1);
	Tensor *product = ggml_mul_mat(c, weight, x);
	Tensor *at = ggml_argsort(c, ggml_arange(c, 0, (float)rows, 1), GGML_SORT_ORDER_DESC);

	return ggml_set_rows(c, cache, ggml_add(c, product, cache), at);
}

/* The next numbers of t, from number *at on. */
static Tensor *
part(Context *c, Tensor *t, int64_t *at, int64_t n0, int64_t n1, int64_t n2, int64_t n3)
{
	size_t one = sizeof(float);
	int64_t from = *at;

	*at += n0 * n1 * n2 * n3;
	return ggml_view_4d(c, t, n0, n1, n2, n3, one * (size_t)n0, one * (size_t)(n0 * n1),
	                    one * (size_t)(n0 * n1 * n2), one * (size_t)from);
}

/* Three tokens of two sequences, whose states are two of five. */
static Tensor *
scan(Context *c, Tensor *a, Tensor *b, int64_t rows, int64_t heads, int64_t groups, int64_t decays)
{
	int64_t at = 0, first = 0;
	Tensor *s = part(c, a, &first, 4, rows, heads, 5);
	Tensor *x = part(c, b, &at, rows, heads, 3, 2), *dt = part(c, b, &at, heads, 3, 2, 1);
	Tensor *decay = part(c, b, &at, decays, heads, 1, 1);
	Tensor *in = part(c, b, &at, 4, groups, 3, 2), *out = part(c, b, &at, 4, groups, 3, 2);
	Tensor *ids = ggml_argsort(c, ggml_view_1d(c, a, 5, 0), GGML_SORT_ORDER_DESC);

	return ggml_silu(c, ggml_ssm_scan(c, s, x, dt, decay, in, out, ggml_view_1d(c, ids, 2, 0), 1));
}

static Tensor *
mamba_1(Context *c, Tensor *a, Tensor *b)
{
	return scan(c, a, b, 1, 6, 2, 4);
}

static Tensor *
mamba_2(Context *c, Tensor *a, Tensor *b)
{
	return scan(c, a, b, 3, 4, 2, 1);
}

/* A decay of each place, in heads of several rows. */
static Tensor *
mamba_1_heads(Context *c, Tensor *a, Tensor *b)
{
	return scan(c, a, b, 3, 4, 2, 4);
}

/* The part of a of 32 columns, repeated to 64 columns and m rows. */
static Tensor *
enlarged(Context *c, Tensor *a, int64_t m)
{
	return ggml_repeat(c, ggml_view_2d(c, a, 32, M, a->nb[1], 0), matrix(c, 64, m));
}

/* Blocks that are decoded before the products of many rows: two factors, and a tail. */
static Tensor *
many_rows_of_blocks(Context *c, Tensor *a, Tensor *b)
{
	Tensor *x = enlarged(c, b, 25 * M), *gate = ggml_cast(c, enlarged(c, a, 8 * M), GGML_TYPE_Q8_0);
	Tensor *up = ggml_cast(c, ggml_sqr(c, enlarged(c, a, 8 * M)), GGML_TYPE_Q8_0);

	return ggml_swiglu_split(c, ggml_mul_mat(c, gate, x), ggml_mul_mat(c, up, x));
}

static const struct {
	const char *name;
	Tensor *(*make)(Context *, Tensor *, Tensor *);
	bool compact; /* results have the memory of earlier ones that are not read any more */
} graph[] = {
	{ "concat", concat_of }, { "outer product", outer_of }, { "copy", copied }, { "acc", summed },
	{ "repeat", repeated }, { "two readers", two_readers }, { "gated", gated }, { "rows", rows },
	{ "outer product of outer products", outer_of_outer },
	{ "turned in place", turned_in_place },
	{ "gradient in place", gradient_in_place },
	{ "Mamba 1", mamba_1 }, { "Mamba 2", mamba_2 }, { "Mamba 1, heads", mamba_1_heads },
	{ "short in place", short_in_place }, { "sum in place", sum_in_place },
	{ "narrow in place", narrow_in_place }, { "moved rows", moved_rows },
	{ "product in place", product_in_place, true }, { "norm in place", norm_in_place, true },
	{ "two turned", two_turned }, { "two turned, rows", two_turned_rows },
	{ "two turned, values", turned_and_values, true },
	{ "many rows of blocks", many_rows_of_blocks },
};
enum { GRAPHS = sizeof graph / sizeof graph[0] };

/* A graph of `graph` on a backend. */
typedef struct Made {
	Context *c;
	Tensor *factor[2], *y;
	struct ggml_cgraph *g;
	ggml_backend_buffer_t buffer; /* or */
	ggml_gallocr_t memory;
} Made;

static void
make(Made *m, ggml_backend_t backend, int which)
{
	struct ggml_init_params params = { 1 << 20, NULL, true };

	m->c = ggml_init(params);
	m->factor[0] = matrix(m->c, N, M);
	m->factor[1] = matrix(m->c, N, M);
	ggml_set_input(m->factor[0]);
	ggml_set_input(m->factor[1]);
	m->y = graph[which].make(m->c, m->factor[0], m->factor[1]);
	m->g = ggml_new_graph(m->c);
	ggml_set_output(m->y);
	ggml_build_forward_expand(m->g, m->y);
	if (graph[which].compact) {
		m->memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
		ggml_gallocr_alloc_graph(m->memory, m->g);
	} else {
		m->buffer = ggml_backend_alloc_ctx_tensors(m->c, backend);
	}
}

static void
discard(Made *m)
{
	ggml_gallocr_free(m->memory);
	ggml_backend_buffer_free(m->buffer);
	ggml_free(m->c);
}

static void
run(const Made *m, ggml_backend_t backend, int seed, float *out)
{
	float x[SIZE];

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < SIZE; i++)
			x[i] = (float)((i * 37 + k * 11 + seed * 17) % 101) / 50 - 1;
		ggml_backend_tensor_set(m->factor[k], x, 0, sizeof x);
	}
	if (ggml_backend_graph_compute(backend, m->g) != GGML_STATUS_SUCCESS)
		puts("a graph is not computed");
	ggml_backend_synchronize(backend);
	ggml_backend_tensor_get(m->y, out, 0, ggml_nbytes(m->y));
}

/* Returns 1 if the results differ by more than the limit of ggml's test program for products. */
static int
compare(const char *name, int64_t n, const float *have, const float *want)
{
	double error = 0, all = 0;

	for (int64_t k = 0; k < n; k++) {
		error += ((double)have[k] - (double)want[k]) * ((double)have[k] - (double)want[k]);
		all += (double)want[k] * (double)want[k];
	}
	if (error <= 5e-4 * all)
		return 0;
	printf("%s: NMSE %g\n", name, error / all);
	return 1;
}

static int
is_wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc == 1;
}

int
main(int argc, char **argv)
{
	static float have[RESULT_MOST], want[RESULT_MOST];
	static Made here[GRAPHS], there[GRAPHS];
	ggml_backend_t cpu, hexc;
	int bad = 0;

	ggml_backend_load_all();
	cpu = ggml_backend_init_by_name("CPU", NULL);
	hexc = ggml_backend_init_by_name("HEXC0", NULL);
	if (!cpu || !hexc)
		return 2;
	for (int i = 0; i < GRAPHS; i++) {
		make(&here[i], hexc, i);
		make(&there[i], cpu, i);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < GRAPHS; i++)
			for (int k = 0; k < RUNS && is_wanted(argc, argv, graph[i].name); k++) {
				int seed = round * RUNS + k;

				run(&here[i], hexc, seed, have);
				run(&there[i], cpu, seed, want);
				bad |= compare(graph[i].name, ggml_nelements(here[i].y), have, want);
			}
	for (int i = 0; i < GRAPHS; i++) {
		discard(&here[i]);
		discard(&there[i]);
	}
	ggml_backend_free(hexc);
	ggml_backend_free(cpu);
	return bad;
}
