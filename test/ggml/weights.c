/* weights.c - weights in a buffer of weights, which the backend packs: they are written in parts of any
 * size and order, read back byte by byte, changed, multiplied, two of different types by the same rows, and
 * read by operations that do not take them packed. Products are compared with sums in f64 of the numbers
 * that ggml decodes. */
#include <ggml.h>
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K = 512, N = 80, E = 3, ROWS_MOST = 20, BYTES = K * N * E * 4 };

/* Numbers are rounded to f16: the squares of these errors are at most 2^-22 / 3 of the numbers' squares, in
 * the mean. Of a weight w = s c + o rounded are the scale, which errs s c, the offset and the weight; and the
 * activation. For numbers that are even in [-1, 1] the mean of w^2 is 1/3, o is -1 and the mean of (s c)^2
 * is 4/3: together 4 + 3 + 1 + 1 of these parts. The scale is a product of two numbers, of which the kernel
 * rounds one more (f32 to f16): twice the errors of s c and o. */
static const double LIMIT = (2 * (4 + 3) + 1 + 1) / 3.0 / (1 << 22);

static const enum ggml_type types[] = {
	GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0, GGML_TYPE_Q2_K,
	GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS,
	GGML_TYPE_TQ2_0, GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_Q1_0, GGML_TYPE_Q2_0,
};

static float weight[K * N * E], input[K * ROWS_MOST * E], result[N * ROWS_MOST * E];
static unsigned char bytes[BYTES], back[BYTES];
static unsigned seed = 1;
static int bad;

static unsigned
next(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static float
number(void)
{
	return (float)next(2001) / 1000 - 1;
}

static void
check(bool ok, enum ggml_type type, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", ggml_type_name(type), what);
	bad++;
}

/* Fills blocks of these rows, and the numbers that they stand for. */
static size_t
fill(enum ggml_type type, int rows, unsigned char *to, float *value)
{
	size_t size;

	for (int i = 0; i < rows * K; i++)
		value[i] = number();
	size = ggml_quantize_chunk(type, value, to, 0, rows, K, NULL);
	ggml_get_type_traits(type)->to_float(to, value, (int64_t)rows * K);
	return size;
}

/* Writes [0, size) in parts, the last of them first. */
static void
write_in_parts(struct ggml_tensor *t, const unsigned char *from, size_t size)
{
	for (size_t end = size; end; ) {
		size_t part = 1 + next(7001);

		part = part < end ? part : end;
		end -= part;
		ggml_backend_tensor_set(t, from + end, end, part);
	}
}

static void
compare_bytes(struct ggml_tensor *t, enum ggml_type type, size_t size, const char *what)
{
	size_t from = next((unsigned)size / 2), part = 1 + next((unsigned)size / 2);

	memset(back, 0x55, size);
	ggml_backend_tensor_get(t, back, 0, size);
	check(!memcmp(back, bytes, size), type, what);
	memset(back, 0x55, size);
	ggml_backend_tensor_get(t, back, from, part);
	check(!memcmp(back, bytes + from, part), type, what);
}

/* Is `result` the product of these weights [K, N, matrices] with `input`, [K, rows, matrices]? */
static void
check_product(const float *values, int rows, int64_t matrices, enum ggml_type type, const char *what)
{
	double error = 0, all = 0;

	for (int i = 0; i < rows * matrices * N; i++) {
		const float *of = values + (size_t)(i / (rows * N) * N + i % N) * K;
		const float *x = input + (size_t)(i / N) * K;
		double sum = 0;

		for (int k = 0; k < K; k++)
			sum += (double)of[k] * x[k];
		error += (result[i] - sum) * (result[i] - sum);
		all += sum * sum;
	}
	if (!(error <= LIMIT * all))
		printf("error %g: ", error / all);
	check(error <= LIMIT * all, type, what);
}

/* The weight [K, N, E] with `rows` rows of input. */
static void
compare_product(ggml_backend_t backend, struct ggml_tensor *w, enum ggml_type type, int rows,
                const char *what)
{
	struct ggml_init_params p = { 16 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(p);
	struct ggml_tensor *a = ggml_new_tensor_3d(c, GGML_TYPE_F32, K, rows, w->ne[2]);
	struct ggml_tensor *y = ggml_mul_mat(c, w, a);
	struct ggml_cgraph *g = ggml_new_graph(c);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);

	for (int i = 0; i < K * rows * w->ne[2]; i++)
		input[i] = number();
	ggml_build_forward_expand(g, y);
	ggml_backend_tensor_set(a, input, 0, ggml_nbytes(a));
	check(ggml_backend_graph_compute(backend, g) == GGML_STATUS_SUCCESS, type, what);
	ggml_backend_tensor_get(y, result, 0, ggml_nbytes(y));
	check_product(weight, rows, w->ne[2], type, what);
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
}

/* A copy in a buffer that is not one of weights, which also is read on the backend's stream. */
static void
compare_copy(ggml_backend_t backend, struct ggml_tensor *w, enum ggml_type type, size_t size)
{
	struct ggml_init_params p = { 4 * ggml_tensor_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(p);
	struct ggml_tensor *to = ggml_new_tensor_3d(c, type, K, N, w->ne[2]);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);

	ggml_backend_tensor_copy(w, to);
	compare_bytes(to, type, size, "bytes of a copy differ");
	memset(back, 0x55, size);
	ggml_backend_tensor_get_async(backend, w, back, 0, size);
	ggml_backend_synchronize(backend);
	check(!memcmp(back, bytes, size), type, "bytes differ on the stream");
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
}

/* Rows of the weight, by an operation that reads blocks. */
static void
compare_rows(ggml_backend_t backend, struct ggml_tensor *w, enum ggml_type type)
{
	struct ggml_init_params p = { 16 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(p);
	struct ggml_tensor *matrix = ggml_view_2d(c, w, K, N, w->nb[1], w->nb[2] * (size_t)(w->ne[2] - 1));
	struct ggml_tensor *at = ggml_new_tensor_1d(c, GGML_TYPE_I32, 2), *y = ggml_get_rows(c, matrix, at);
	struct ggml_cgraph *g = ggml_new_graph(c);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);
	const int32_t index[2] = { N - 1, 3 };
	const float *of = weight + (size_t)(w->ne[2] - 1) * N * K;
	float most = 0;

	ggml_build_forward_expand(g, y);
	ggml_backend_tensor_set(at, index, 0, sizeof index);
	check(ggml_backend_graph_compute(backend, g) == GGML_STATUS_SUCCESS, type, "rows are not read");
	ggml_backend_tensor_get(y, result, 0, ggml_nbytes(y));
	for (int i = 0; i < 2 * K; i++)
		most = fmaxf(most, fabsf(result[i] - of[index[i / K] * K + i % K]));
	check(most <= 1e-6f, type, "rows are wrong");
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
}

static void
run(ggml_backend_t backend, enum ggml_type type, int matrices, int at)
{
	struct ggml_init_params p = { 4 * ggml_tensor_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(p);
	struct ggml_tensor *w = ggml_new_tensor_3d(c, type, K, N, matrices);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);
	size_t size = fill(type, N * matrices, bytes, weight), row = ggml_row_size(type, K);

	ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	if (at % 3 == 0) {
		write_in_parts(w, bytes, size);
	} else if (at % 3 == 1) {
		ggml_backend_tensor_set(w, bytes, 0, size);
	} else {
		ggml_backend_tensor_set_async(backend, w, bytes + size / 3, size / 3, size - size / 3);
		ggml_backend_tensor_set_async(backend, w, bytes, 0, size / 3);
	}
	compare_bytes(w, type, size, "bytes differ");
	compare_copy(backend, w, type, size);
	for (int i = 0; i < 3; i++)
		compare_product(backend, w, type, i == 2 ? ROWS_MOST : 1 + 6 * i, "a product is wrong");

	fill(type, 5, bytes + 11 * row, weight + 11 * K);
	ggml_backend_tensor_set(w, bytes + 11 * row, 11 * row, 5 * row);
	compare_bytes(w, type, size, "bytes differ behind a change");
	compare_product(backend, w, type, 1, "a product is wrong behind a change");

	memset(bytes + 2 * row, 0, 3 * row);
	ggml_get_type_traits(type)->to_float(bytes + 2 * row, weight + 2 * K, 3 * K);
	ggml_backend_tensor_memset(w, 0, 2 * row, 3 * row);
	compare_bytes(w, type, size, "bytes differ behind a fill");
	compare_product(backend, w, type, 1, "a product is wrong behind a fill");

	compare_rows(backend, w, type);
	compare_bytes(w, type, size, "bytes differ behind a view");
	compare_product(backend, w, type, 1, "a product is wrong behind a view");
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
}

/* ---- large weights ------------------------------------------------------------------------------------- */

enum { WIDE = 8192, TALL = 400 };

/* A matrix large enough for several bands of rows, the last of them shorter, and its product with a
 * vector. */
static void
run_large(ggml_backend_t backend, enum ggml_type type)
{
	static float vector[WIDE], y[TALL];
	struct ggml_init_params p = { 8 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(p);
	struct ggml_tensor *w = ggml_new_tensor_2d(c, type, WIDE, TALL);
	struct ggml_tensor *x = ggml_new_tensor_1d(c, GGML_TYPE_F32, WIDE), *product = ggml_mul_mat(c, w, x);
	struct ggml_cgraph *g = ggml_new_graph(c);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);
	size_t size = ggml_nbytes(w);
	float *value = malloc(sizeof(float) * WIDE * TALL);
	unsigned char *block = malloc(size), *read = calloc(1, size);
	double error = 0, all = 0;

	for (int i = 0; i < WIDE * TALL; i++)
		value[i] = number();
	for (int i = 0; i < WIDE; i++)
		vector[i] = number();
	ggml_quantize_chunk(type, value, block, 0, TALL, WIDE, NULL);
	ggml_get_type_traits(type)->to_float(block, value, WIDE * TALL);
	ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ggml_backend_tensor_set(w, block, 0, size);
	ggml_backend_tensor_get(w, read, 0, size);
	check(!memcmp(read, block, size), type, "bytes of a large weight differ");
	ggml_build_forward_expand(g, product);
	ggml_backend_tensor_set(x, vector, 0, sizeof vector);
	check(ggml_backend_graph_compute(backend, g) == GGML_STATUS_SUCCESS, type, "a large product fails");
	ggml_backend_tensor_get(product, y, 0, sizeof y);
	for (int n = 0; n < TALL; n++) {
		double sum = 0;

		for (int k = 0; k < WIDE; k++)
			sum += (double)value[n * WIDE + k] * vector[k];
		error += (y[n] - sum) * (y[n] - sum);
		all += sum * sum;
	}
	check(error <= LIMIT * all, type, "a large product is wrong");
	free(value);
	free(block);
	free(read);
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
}

/* ---- two weights --------------------------------------------------------------------------------------- */

/* Two weights of different types, and their products with one input. */
static void
run_two(ggml_backend_t backend, const enum ggml_type type[2], int rows)
{
	struct ggml_init_params p = { 8 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true };
	struct ggml_context *weights = ggml_init(p), *c = ggml_init(p);
	struct ggml_tensor *a = ggml_new_tensor_2d(c, GGML_TYPE_F32, K, rows), *w[2], *y[2];
	struct ggml_cgraph *g = ggml_new_graph(c);
	ggml_backend_buffer_t buffer[2];

	for (int i = 0; i < 2; i++) {
		w[i] = ggml_new_tensor_2d(weights, type[i], K, N);
		y[i] = ggml_mul_mat(c, w[i], a);
		ggml_build_forward_expand(g, y[i]);
	}
	buffer[0] = ggml_backend_alloc_ctx_tensors(weights, backend);
	buffer[1] = ggml_backend_alloc_ctx_tensors(c, backend);
	ggml_backend_buffer_set_usage(buffer[0], GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	for (int i = 0; i < 2; i++) {
		size_t size = fill(type[i], N, bytes, weight + (size_t)i * N * K);

		ggml_backend_tensor_set(w[i], bytes, 0, size);
	}
	for (int i = 0; i < K * rows; i++)
		input[i] = number();
	ggml_backend_tensor_set(a, input, 0, ggml_nbytes(a));
	check(ggml_backend_graph_compute(backend, g) == GGML_STATUS_SUCCESS, type[0], "two products fail");
	for (int i = 0; i < 2; i++) {
		ggml_backend_tensor_get(y[i], result, 0, ggml_nbytes(y[i]));
		check_product(weight + (size_t)i * N * K, rows, 1, type[i], "one of two products is wrong");
		ggml_backend_buffer_free(buffer[i]);
	}
	ggml_free(weights);
	ggml_free(c);
}

/* Each type with another one. */
static void
run_pairs(ggml_backend_t backend, size_t each)
{
	size_t n = sizeof types / sizeof types[0];

	for (size_t i = 0; i < n; i += each) {
		const enum ggml_type type[2] = { types[i], types[(i * 5 + 2) % n] };

		run_two(backend, type, i % 3 ? 1 : ROWS_MOST);
	}
}

/* weights [EACH [pairs]]: only each EACH-th type. */
int
main(int argc, char **argv)
{
	size_t each = argc > 1 && atoi(argv[1]) > 0 ? (size_t)atoi(argv[1]) : 1;
	ggml_backend_t backend;

	ggml_backend_load_all();
	backend = ggml_backend_init_by_name("HEXC0", NULL);
	if (!backend)
		return 1;
	if (argc > 2) {
		run_pairs(backend, each);
	} else {
		for (size_t i = 0; i < sizeof types / sizeof types[0]; i += each)
			run(backend, types[i], i % 4 ? 1 : E, (int)i);
		run_large(backend, GGML_TYPE_Q8_0);
	}
	ggml_backend_free(backend);
	return bad > 0;
}
