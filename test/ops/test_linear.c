/* test_linear.c - tests weights of every format on a device: hexc_linear_new, and GEMMs of few and of many
 * rows against sums in double of the weights' values by hexc_weight_float. */
#include "lib/hexc_ops.h"
#include "test/ops/util_op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST_PROGRAM(.start = op_start, .one_process = true, .timeout = 300, .passed = op_passed);

enum { FORMATS = 50 };

static hexc_gpu *gpu[2];

static hexc_gpu *
device(int i)
{
	static const int capability[] = { 80, 90 };
	char why[300];

	if (!gpu[i])
		ck_assert_msg(hexc_gpu_open(&gpu[i], HEXC_SIMULATOR(capability[i]), why,
		                            sizeof why) == HEXC_OK,
		              "%s",
		              why);
	return gpu[i];
}

static double
random_of(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 33) * 0x1p-30 - 1;
}

/* A weight of the format, of numbers whose size differs from group to group; NULL: the format has none of
 * this shape. */
static hexc_weight *
try_weight(const char *format, int64_t n, int64_t k, int64_t group, uint64_t seed, char why[300])
{
	float *x = malloc((size_t)(n * k) * sizeof *x);
	hexc_weight *w = NULL;

	for (int64_t i = 0; i < n * k; i++)
		x[i] = (float)ldexp(random_of(&seed), -2 - (int)(i / 64 % 5));
	hexc_weight_quantize(&w, format, x, n, k, group, NULL, why, 300);
	free(x);
	return w;
}

static hexc_weight *
random_weight(const char *format, int64_t n, int64_t k, int64_t group, uint64_t seed)
{
	char why[300] = "";
	hexc_weight *w = try_weight(format, n, k, group, seed, why);

	ck_assert_msg(w != NULL, "%s: %s", format, why);
	return w;
}

/* The weights as f32, and the offsets alone: those with scales of 0. */
static float *
floats(const hexc_weight *w, bool offsets)
{
	float *x = calloc((size_t)(w->n * w->k), sizeof *x);
	hexc_weight zero = *w;
	hexc_plane *p = &zero.plane[HEXC_PLANE_SCALE];
	char why[200];

	if (offsets && !w->plane[HEXC_PLANE_OFFSET].dtype)
		return x;
	if (offsets)
		p->data = calloc(1, p->bytes);
	ck_assert_msg(hexc_weight_float(&zero, x, NULL, why, sizeof why) == HEXC_OK, "%s", why);
	if (offsets)
		free(p->data);
	return x;
}

typedef struct Product {
	const hexc_linear *l;
	int64_t m, n, k;
	const char *act;
	const float *w, *off;
	double scale;      /* behind the sum, of the epilogue */
	const float *bias; /* f32[N]; NULL: none */
	const hexc_linear *call; /* whose call is given l's weight; NULL: l's own */
	bool whole;              /* not quantized: the operator is gemm, which test_op_gemm.c counts */
	int odd;                 /* bytes behind where memory begins, of A and C */
} Product;

static void
give(hexc_gpu *g, hexc_family_call *c, const char *name, const void *data, uint64_t bytes, int odd,
     void **dev)
{
	unsigned char *at;

	ck_assert_int_eq(hexc_gpu_alloc(g, bytes + (uint64_t)odd, dev), HEXC_OK);
	at = (unsigned char *)*dev + odd;
	if (data)
		ck_assert_int_eq(hexc_gpu_write(g, at, data, bytes), HEXC_OK);
	ck_assert_int_eq(hexc_family_call_ptr(c, hexc_family_call_find(c, name), at, bytes), HEXC_OK);
}

/* In the type of the activations, unit roundoff u, the scale (where it is a product), its product with
 * the code, and the sum with the offset are rounded once each; of f16 small ones by half a subnormal
 * number, here relative to the largest scale, 32 of them.  Sums as LANGUAGE.md has them; a scale of the
 * sum, a factor and a bias are f32 operations. */
static void
compare(const Product *p, const hexc_dtype *t, const void *a, const void *out, const char *what)
{
	double u = strcmp(p->act, "bf16") == 0 ? 0x1p-8 : 0x1p-11, largest = 0;

	for (int64_t i = 0; i < p->n * p->k; i++)
		largest = fmax(largest, fabs((double)p->w[i]));
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t j = 0; j < p->n; j++) {
			double sum = 0, mag = 0, err = 0, is = hexc_get(t, out, (uint64_t)(i * p->n + j));

			for (int64_t k = 0; k < p->k; k++) {
				double x = hexc_get(t, a, (uint64_t)(i * p->k + k));
				double v = (double)p->w[j * p->k + k], f = (double)p->off[j * p->k + k];

				sum += x * v;
				mag += fabs(x * v);
				err += fabs(x) * (u * (2 * fabs(v - f) + fabs(f) + fabs(v)) * (1 + 4 * u) +
				                  3 * 0x1p-25 * fmax(1, largest));
			}
			err += (mag + err) * (double)(2 * p->k + 8) * 0x1p-24;
			if (p->bias) {
				sum = sum * p->scale + (double)p->bias[j];
				err = err * p->scale + (fabs(sum) + 1) * 0x1p-22;
			}
			err += (fabs(sum) + err) * u + 0x1p-25;
			ck_assert_msg(fabs(is - sum) <= err,
			        "%s: C[%lld, %lld] is %.9g, not %.9g within %.3g",
			              what, (long long)i, (long long)j, is, sum, err);
		}
}

/* The line of the table that was taken. */
static size_t
run(hexc_gpu *g, const Product *p, const char *what)
{
	const hexc_dtype *t = hexc_dtype_find(p->act);
	uint64_t seed = (uint64_t)(p->m * 7919 + p->n), bytes, out_bytes = (uint64_t)(p->m * p->n) * 2;
	void *a = malloc((size_t)(p->m * p->k) * 2), *out = malloc(out_bytes), *dev[4] = { NULL };
	hexc_family_call *c;
	size_t line;

	for (int64_t i = 0; i < p->m * p->k; i++)
		hexc_put(t, a, (uint64_t)i, random_of(&seed) * 0.0625);
	ck_assert_msg(hexc_linear_call(p->call ? p->call : p->l, &c) == HEXC_OK, "%s: %s", what,
	              hexc_gpu_why(g));
	if (p->call)
		ck_assert_int_eq(hexc_linear_bind(p->l, c), HEXC_OK);
	give(g, c, "A", a, (uint64_t)(p->m * p->k) * 2, p->odd, &dev[0]);
	give(g, c, "C", NULL, out_bytes, p->odd, &dev[1]);
	if (p->bias) {
		give(g, c, "bias", p->bias, (uint64_t)p->n * 4, 0, &dev[2]);
		hexc_family_call_float(c, hexc_family_call_find(c, "scale"), p->scale);
	}
	hexc_family_call_int(c, hexc_family_call_find(c, "M"), p->m);
	ck_assert_msg(hexc_family_call_line(c, &line, &bytes) == HEXC_OK, "%s: %s", what,
	              hexc_family_call_why(c));
	if (bytes) {
		ck_assert_int_eq(hexc_gpu_alloc(g, bytes, &dev[3]), HEXC_OK);
		hexc_family_call_workspace(c, dev[3], bytes);
	}
	ck_assert_msg(hexc_family_call_launch(c, NULL) == HEXC_OK && hexc_gpu_wait(g) == HEXC_OK,
		"%s: %s %s", what,
	              hexc_family_call_why(c), hexc_gpu_why(g));
	ck_assert_int_eq(hexc_gpu_read(g, out, (unsigned char *)dev[1] + p->odd, out_bytes), HEXC_OK);
	if (!p->odd)
		op_every_size(c);
	hexc_family_call_free(c);
	if (!p->whole)
		op_ran(hexc_op_family(hexc_linear_op(p->l)), line, (const int64_t[]){ p->m, p->n, p->k }, 3);
	for (int i = 0; i < 4; i++)
		hexc_gpu_free(g, dev[i]);
	compare(p, t, a, out, what);
	free(a);
	free(out);
	return line;
}

static void
products(hexc_gpu *g, const hexc_weight *w, const char *act, const int *m, int nm, const char *bm)
{
	hexc_op_set set[2] = { { "ACT", act }, { "BM", bm } };
	hexc_linear *l;
	Product p = { .n = w->n, .k = w->k, .act = act };
	char why[600] = "", what[100];

	ck_assert_msg(hexc_linear_new(&l, g, w, NULL, set, bm ? 2 : 1, NULL, NULL, why,
	                              sizeof why) == HEXC_OK,
	              "%s: %s",
	              w->format, why);
	p.l = l;
	p.w = floats(w, false);
	p.off = floats(w, true);
	for (int i = 0; i < nm; i++) {
		p.m = m[i];
		snprintf(what, sizeof what, "%s m %d", w->format, m[i]);
		run(g, &p, what);
	}
	if (!bm && nm > 3) { /* those of files and of many sizes: activations anywhere in memory, too */
		p.m = m[1];
		p.odd = 2;
		run(g, &p, "at an odd address");
	}
	hexc_linear_free(l);
	free((void *)(uintptr_t)p.w);
	free((void *)(uintptr_t)p.off);
}

/* Every format there is. */
TEST_SAMPLED(formats, FORMATS, 3)
{
	static const int m[] = { 5, 33, 130 };
	hexc_format f = HEXC_FORMAT_INIT;
	hexc_weight *w;

	if (!hexc_format_at((size_t)_i, &f))
		return;
	w = random_weight(f.name, 64, 256, 0, (uint64_t)_i + 1);
	products(device(0), w, _i % 4 == 3 ? "bf16" : "f16", m, 3, NULL);
	hexc_weight_free(w);
}

/* Planes of one number, of one row, of one group: one output, one group of inputs, and the fewest of both. */
TEST_SAMPLED(least_of_formats, FORMATS, 3)
{
	static const int n[] = { 1, 1, 64 }, k[] = { 256, 512, 32 }, m[] = { 3 };
	hexc_format f = HEXC_FORMAT_INIT;
	int made = 0;
	char why[300] = "";

	if (!hexc_format_at((size_t)_i, &f))
		return;
	for (int i = 0; i < 3; i++) {
		hexc_weight *w = try_weight(f.name, n[i], k[i], 0, (uint64_t)_i + 51, why);

		if (!w && n[i] == 1) /* outputs in tiles, and one group */
			w = try_weight(f.name, 64, k[i], k[i], (uint64_t)_i + 51, why);
		if (!w)
			continue;
		made++;
		hexc_plane *o = &w->plane[HEXC_PLANE_OFFSET], *o2 = &w->plane[HEXC_PLANE_OFFSET2];
		for (int64_t j = 0; o2->dtype && j < o->rows * o->cols; j++) /* none is 0 */
			hexc_put(hexc_dtype_find(o->dtype), o->data, (uint64_t)j, (double)(1 + j % 15));
		for (int64_t j = 0; o2->dtype && j < o2->rows * o2->cols; j++)
			hexc_put(hexc_dtype_find(o2->dtype), o2->data, (uint64_t)j, -0.01);
		products(device(_i % 2), w, (_i + i) % 4 == 3 ? "bf16" : "f16", m, 1, "128");
		hexc_weight_free(w);
	}
	ck_assert_msg(made >= 2, "%s: %d of its shapes: %s", f.name, made, why);
}

typedef struct Planes {
	/* 1: one number, n: one of an output, g: of a group, b: both; NULL: there is none */
	const char *scale, *scale2, *zero, *offset, *offset2;
} Planes;

static void
put_plane(hexc_weight *w, hexc_plane_id id, const char *form, const char *type, int64_t groups,
          uint64_t *seed)
{
	bool group = form && (*form == 'g' || *form == 'b'), row = form && (*form == 'n' || *form == 'b');
	int64_t rows = group ? groups : 1, cols = row ? w->n : 1;
	const hexc_dtype *t = hexc_dtype_find(type);
	hexc_plane *p = &w->plane[id];

	if (!form)
		return;
	*p = (hexc_plane){ type, rows, cols, w->k / rows, calloc(1, (size_t)(rows * cols) * 4),
		           (uint64_t)(rows * cols) * t->bits / 8 };
	for (int64_t i = 0; i < rows * cols; i++)
		hexc_put(t, p->data, (uint64_t)i, t->kind == 'f' ? 0.5 + 0.25 * random_of(seed) : 7);
}

/* Each plane with each form that it may have, beside the others. */
static const Planes planes[] = {
	{ "1", NULL, NULL, NULL, NULL }, { "n", NULL, NULL, NULL, NULL }, { "g", NULL, NULL, NULL, NULL },
	{ "1", "1", NULL, NULL, NULL },  { "n", "1", NULL, NULL, NULL },  { "g", "1", NULL, NULL, NULL },
	{ "b", "1", NULL, NULL, NULL },  { "b", "n", NULL, NULL, NULL },  { "g", "g", NULL, NULL, NULL },
	{ "1", NULL, "1", NULL, NULL },  { "n", "1", "n", NULL, NULL },   { "b", "1", "g", NULL, NULL },
	{ "1", NULL, NULL, "1", NULL },  { "n", NULL, NULL, "1", NULL },  { "1", NULL, NULL, "n", NULL },
	{ "1", "1", NULL, "1", NULL },   { "n", "1", NULL, "n", NULL },   { "b", "1", NULL, "b", NULL },
	{ "1", "1", NULL, "1", "1" },    { "b", "1", NULL, "b", "1" },    { "g", "1", NULL, "b", "n" },
	{ "b", "n", NULL, "g", "1" },    { "b", "1", "b", "b", "1" },     { "b", "g", NULL, "b", "g" },
};

TEST_SAMPLED(least_of_planes, COUNT_OF(planes), 3)
{
	static const int outputs[] = { 1, 24 }, m[] = { 2 };
	const Planes *p = &planes[_i];
	uint64_t seed = (uint64_t)_i + 3;

	for (int i = 0; i < 2; i++) {
		hexc_weight w = HEXC_WEIGHT_INIT;

		w.n = outputs[i];
		w.k = 256;
		w.format = "planes";
		w.plane[HEXC_PLANE_CODE] = (hexc_plane){ "u4", w.n, w.k, 1, malloc((size_t)(w.n * w.k) / 2),
			                                 (uint64_t)(w.n * w.k) / 2 };
		for (int64_t j = 0; j < w.n * w.k; j++)
			hexc_put(hexc_dtype_find("u4"), w.plane[HEXC_PLANE_CODE].data, (uint64_t)j,
			         floor(8 + 8 * random_of(&seed)));
		put_plane(&w, HEXC_PLANE_SCALE, p->scale, "f16", 4, &seed);
		put_plane(&w, HEXC_PLANE_SCALE2, p->scale2, "f32", 2, &seed);
		put_plane(&w, HEXC_PLANE_ZERO, p->zero, "u8", 4, &seed);
		put_plane(&w, HEXC_PLANE_OFFSET, p->offset, "f16", 4, &seed);
		put_plane(&w, HEXC_PLANE_OFFSET2, p->offset2, "f16", 2, &seed);
		products(device(i), &w, "f16", m, 1, "128");
		for (int id = 0; id < HEXC_NPLANE; id++)
			free(w.plane[id].data);
	}
}

TEST(no_format_left_out)
{
	hexc_format f = HEXC_FORMAT_INIT;

	ck_assert(!hexc_format_at(FORMATS, &f));
}

/* Few rows cut into parts, ragged outputs, on both kinds of products. */
TEST_EACH(sizes, 12)
{
	static const struct {
		const char *format;
		int n, k, group;
	} of[] = {
		{ "GPTQ-4", 96, 1024, 0 },  { "Q4_K", 40, 1024, 0 },    { "packed-5", 33, 192, 64 },
		{ "INT8", 37, 100, 0 },     { "INT8", 48, 144, 48 }, { "FP8", 130, 1032, 0 },
	};
	static const int m[] = { 1, 5, 16, 33, 130 };
	hexc_weight *w = random_weight(of[_i / 2].format, of[_i / 2].n, of[_i / 2].k, of[_i / 2].group,
	                               (uint64_t)_i + 99);

	products(device(_i % 2), w, "f16", m, _i % 2 ? 2 : 5, NULL);
	hexc_weight_free(w);
}

/* Many rows of many columns: the last line of the table. */
TEST(largest)
{
	static const int m[] = { 257 };
	hexc_weight *w = random_weight("packed-4", 1032, 64, 0, 7);

	products(device(0), w, "f16", m, 1, NULL);
	hexc_weight_free(w);
}

/* Weights of files: in the order of activations too. */
TEST_EACH(files, 3)
{
	static const char *const of[][2] = { { "gptq4-order.safetensors", "l.0" },
		{ "gptq3-order.safetensors", "l.0" },
		                             { "blocks.gguf", "blk.1.q6_k" } };
	static const int m[] = { 1,  2,  3,  7,  8,  9,  15, 16,  17,  31,
		                 32, 33, 40, 63, 64, 65, 100, 128, 129, 130 };
	char path[200], why[300];
	hexc_weight *w;
	hexc_file *f;

	snprintf(path, sizeof path, "test/weights/fixtures/%s", of[_i][0]);
	ck_assert_msg(hexc_file_open(&f, path, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_msg(hexc_weight_load(&w, f, of[_i][1], NULL, why, sizeof why) == HEXC_OK, "%s", why);
	products(device(0), w, "bf16", m, COUNT_OF(m), NULL);
	hexc_weight_free(w);
	hexc_file_close(f);
}

/* Numbers that are not quantized go to gemm, rounded to its type. */
TEST_EACH(floats_of, 4)
{
	static const char *const type[] = { "f16", "bf16", "f32", "f16" };
	static const int m[] = { 5 };
	const hexc_dtype *t = hexc_dtype_find(type[_i]);
	int k = _i == 3 ? 37 : 40; /* rows that begin anywhere */
	hexc_weight w = HEXC_WEIGHT_INIT;
	hexc_linear *l;
	uint64_t seed = (uint64_t)_i;
	float x[24 * 40], none[24 * 40] = { 0 };
	uint32_t data[24 * 40];
	char why[300];
	Product p = { NULL, m[0], 24, k, _i == 1 ? "bf16" : "f16", x, none, 1, NULL, NULL, true, 0 };

	for (int i = 0; i < 24 * k; i++) {
		hexc_put(t, data, (uint64_t)i, random_of(&seed));
		x[i] = (float)hexc_get(t, data, (uint64_t)i);
	}
	w.n = 24;
	w.k = k;
	w.plane[HEXC_PLANE_CODE] = (hexc_plane){ type[_i], 24, k, 1, data,
		                                 (uint64_t)(24 * k) * t->bits / 8 };
	ck_assert_msg(hexc_linear_new(&l, device(0), &w, NULL, NULL, 0, NULL, NULL, why,
	                              sizeof why) == HEXC_OK,
	              "%s",
	              why);
	p.l = l;
	run(device(0), &p, type[_i]);
	hexc_linear_free(l);
}

/* A weight outlives its GPU: it says so, and is freed; its memory went before. */
TEST(of_a_closed_gpu)
{
	hexc_weight *w = random_weight("Q4_0", 64, 128, 0, 5);
	char why[300] = "";
	hexc_family_call *call;
	hexc_linear *l[2];
	hexc_gpu *g;

	ck_assert_msg(hexc_gpu_open(&g, HEXC_SIMULATOR(80), why, sizeof why) == HEXC_OK, "%s", why);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(hexc_linear_new(&l[i], g, w, i ? l[0] : NULL, NULL, 0, NULL, NULL, why,
		                              sizeof why) == HEXC_OK,
		              "%s", why);
	ck_assert_int_eq(hexc_linear_call(l[0], &call), HEXC_OK);
	hexc_gpu_close(g);
	ck_assert_int_eq(hexc_linear_bind(l[1], call), HEXC_E_INVALID);
	hexc_family_call_free(call);
	ck_assert_int_eq(hexc_linear_call(l[1], &call), HEXC_E_INVALID);
	hexc_linear_free(l[1]);
	hexc_linear_free(l[0]);
	hexc_weight_free(w);
}

/* An epilogue, and a second weight that takes the kernels of the first, in its call. */
TEST(shared)
{
	static const hexc_op_set set[] = { { "tensors", "bias: f32[N], scale: f32" }, { "epilogue",
		"x * scale + bias[n]" } };
	hexc_weight *w[2] = { random_weight("Q4_0", 64, 128, 0, 5), random_weight("Q4_0", 64, 128, 0, 6) };
	hexc_linear *l[2];
	float bias[64];
	char why[300];

	for (int i = 0; i < 64; i++)
		bias[i] = (float)i / 16;
	for (int i = 0; i < 2; i++) {
		Product p = { NULL, 7, 64, 128, "f16", floats(w[i], false), floats(w[i], true), 0.25, bias,
			NULL, false, 0 };

		ck_assert_msg(hexc_linear_new(&l[i], device(0), w[i], i ? l[0] : NULL, set, 2, NULL, NULL,
		                              why,
		                              sizeof why) == HEXC_OK,
		              "%s", why);
		p.l = l[i];
		run(device(0), &p, "shared");
		p.call = l[0];
		run(device(0), &p, "bound");
		free((void *)(uintptr_t)p.w);
		free((void *)(uintptr_t)p.off);
	}
	ck_assert_ptr_eq(hexc_linear_op(l[0]), hexc_linear_op(l[1]));
	ck_assert_uint_eq(hexc_linear_bytes(l[0]), hexc_linear_bytes(l[1]));
	ck_assert_uint_ge(hexc_linear_bytes(l[0]), 64 * 128 / 2 + 64 * 4 * 2);
	hexc_linear_free(l[1]);
	hexc_linear_free(l[0]);
	hexc_weight_free(w[0]);
	hexc_weight_free(w[1]);
}

static void
refused(const hexc_weight *w, const char *name, const char *value, int code, const char *says)
{
	hexc_op_set set = { name, value };
	hexc_linear *l;
	char why[600];

	ck_assert_int_eq(hexc_linear_new(&l, device(0), w, NULL, &set, name != NULL, NULL, NULL, why,
	                                 sizeof why),
	                 code);
	ck_assert_ptr_null(l);
	ck_assert_msg(strstr(why, says) != NULL, "'%s' says nothing of '%s'", why, says);
}

TEST(errors)
{
	hexc_weight *w = random_weight("packed-4", 32, 64, 32, 1), bad = *w;

	refused(w, "CODE", "u4", HEXC_E_ARGS, "CODE is defined by its format; omit it");
	refused(w, "ACT", "f32", HEXC_E_ARGS, "ACT must be f16 or bf16");
	refused(w, "epilog", "x", HEXC_E_ARGS, "it has no constant or placeholder named epilog");
	refused(w, "epilogue", "y", HEXC_E_SOURCE, "y");
	bad.plane[HEXC_PLANE_SCALE].rows = 3;
	refused(&bad, NULL, NULL, HEXC_E_INVALID, "the plane scale is 3 x 32");
	bad = *w;
	bad.plane[HEXC_PLANE_ZERO] = bad.plane[HEXC_PLANE_SCALE];
	bad.plane[HEXC_PLANE_ZERO].group = 64;
	bad.plane[HEXC_PLANE_ZERO].rows = 1;
	refused(&bad, NULL, NULL, HEXC_E_ARGS, "zeros or offsets have separate groups, which no operator "
	                                       "supports; convert it");
	bad.plane[HEXC_PLANE_CODE].dtype = NULL;
	refused(&bad, NULL, NULL, HEXC_E_INVALID, "codes");
	ck_assert_int_eq(hexc_linear_new(NULL, device(0), w, NULL, NULL, 0, NULL, NULL, NULL, 0),
	                 HEXC_E_INVALID);
	hexc_linear_free(NULL);
	hexc_weight_free(w);
}
