/* test_quantize.c - tests rounding a matrix to every format: it reads back from the format's own file form,
 * and is as near as the scheme allows. */
#include "lib/weights/format.h"
#include "lib/hexc_weights.h"
#include "test/check.h"
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
# include <xmmintrin.h>
#endif

enum { N = 64, K = 512 };

static float x[N * K], back[N * K], again[N * K];

/* Roughly normal, each output with its own size. */
static void
fill(uint64_t seed)
{
	for (int i = 0; i < N * K; i++) {
		double sum = 0;

		for (int j = 0; j < 12; j++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			sum += (double)(seed >> 40) * 0x1p-24 - 0.5;
		}
		x[i] = (float)(sum * (0.01 + 0.02 * (i / K % 7)));
	}
}

static double
error(const float *a)
{
	double e = 0, s = 0;

	for (int i = 0; i < N * K; i++) {
		e += ((double)a[i] - (double)x[i]) * ((double)a[i] - (double)x[i]);
		s += (double)x[i] * (double)x[i];
	}
	return sqrt(e / s);
}

/* A safetensors or GGUF file is not needed to read a weight back: the tensors stand for themselves. */
static void
write_safetensors(const hexc_weight *w, unsigned char **file, size_t *n)
{
	char *head = malloc(4000);
	size_t at = (size_t)sprintf(head, "{"), data = 0;
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	uint64_t len;

	for (size_t i = 0; hexc_weight_tensor(w, i, &t, NULL, 0); i++, t.size = sizeof t) {
		at += (size_t)sprintf(head + at, "%s\"w%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "",
		                      t.name, t.type);
		for (uint32_t d = 0; d < t.rank; d++)
			at += (size_t)sprintf(head + at, "%s%lld", d ? "," : "", (long long)t.dim[d]);
		at += (size_t)sprintf(head + at, "],\"data_offsets\":[%zu,%zu]}", data,
		                      data + (size_t)t.bytes);
		data += (size_t)t.bytes;
	}
	at += (size_t)sprintf(head + at, "}");
	*n = 8 + at + data;
	*file = malloc(*n);
	len = at;
	memcpy(*file, &len, 8);
	memcpy(*file + 8, head, at);
	data = 8 + at;
	for (size_t i = 0; hexc_weight_tensor(w, i, &t, *file + data, *n - data); i++, t.size = sizeof t)
		data += (size_t)t.bytes;
	free(head);
}

static size_t
put(unsigned char *p, uint64_t v, size_t n)
{
	memcpy(p, &v, n);
	return n;
}

static void
write_gguf(const hexc_weight *w, unsigned char **file, size_t *n)
{
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	size_t at = 4;
	unsigned char *p;

	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, NULL, 0), 1);
	p = *file = calloc(1, 256 + (size_t)t.bytes);
	memcpy(p, "GGUF", 4);
	at += put(p + at, 3, 4);
	at += put(p + at, 1, 8);
	at += put(p + at, 0, 8);
	at += put(p + at, 1, 8);
	p[at++] = 'w';
	at += put(p + at, 2, 4);
	at += put(p + at, (uint64_t)t.dim[1], 8);
	at += put(p + at, (uint64_t)t.dim[0], 8);
	at += put(p + at, (uint64_t)file_type("gguf", t.type, NULL)->id, 4);
	at += put(p + at, 0, 8);
	at = (at + 31) / 32 * 32;
	t.size = sizeof t;
	ck_assert_int_eq(hexc_weight_tensor(w, 0, &t, p + at, t.bytes), 1);
	*n = at + (size_t)t.bytes;
}

/* How far rounding to b bits of a normal distribution's groups is from it, with room: half a step
 * uniformly, the step being the group's range by the number of codes.  The range of a normal group is
 * from tables of order statistics, twice the largest magnitude's where codes are symmetric a little
 * more. */
static double
may_be(const hexc_format *f, const hexc_weight *w)
{
	int bits = (int)hexc_dtype_find(f->code)->bits;
	bool two = w->plane[HEXC_PLANE_SCALE2].dtype && strcmp(w->plane[HEXC_PLANE_SCALE].dtype, "e4m3") != 0;
	int64_t group = w->plane[HEXC_PLANE_SCALE].group;
	double range = group <= 16 ? 4.1 : group <= 32 ? 4.6
	                           : group <= 128      ? 5.8
	                                          : 6.6;

	if (bits == 1)
		return 0.61; /* of a normal distribution, sqrt(1 - 2 / pi) */
	if (strcmp(f->name, "TQ2_0") == 0 || strcmp(f->name, "Q2_0") == 0)
		return 0.85; /* three values for 64 or 256 numbers, by the largest */
	if (strcmp(f->code, "e2m1") == 0)
		return 0.17;
	if (strcmp(f->code, "e4m3") == 0)
		return 0.04;
	return range / ((1 << bits) - 1) / sqrt(12) * (two ? 1.1 : 1.05) + (two ? 0.006 : 0);
}

TEST(all_formats)
{
	hexc_format f = HEXC_FORMAT_INIT;
	char why[300];
	size_t i;

	fill(1);
	for (i = 0; hexc_format_at(i, &f); i++, f.size = sizeof f) {
		hexc_weight *w, *v, info = HEXC_WEIGHT_INIT;
		hexc_file *file;
		unsigned char *bytes;
		size_t n;
		double e;

		ck_assert_msg(hexc_weight_quantize(&w, f.name, x, N, K, 0, NULL, why, sizeof why) == HEXC_OK,
		              "%s: %s", f.name, why);
		ck_assert_int_eq(hexc_weight_float(w, back, NULL, why, sizeof why), HEXC_OK);
		e = error(back);
		if (getenv("SHOW"))
			printf("%-16s %6.3f bits %8.5f (%.5f)\n", f.name, 8 * (double)w->bytes / (N * K),
			       e, may_be(&f, w));
		ck_assert_msg(e < may_be(&f, w), "%s: error %g, not %g", f.name, e, may_be(&f, w));
		(strcmp(f.container, "gguf") == 0 ? write_gguf : write_safetensors)(w, &bytes, &n);
		ck_assert_msg(hexc_file_memory(&file, bytes, n, why, sizeof why) == HEXC_OK, "%s: %s",
		              f.name, why);
		if (strncmp(f.name, "GPTQ-v2-", 8) == 0) { /* tensors do not tell the version */
			static const char v2[] = "{\"checkpoint_format\": \"gptq_v2\"}";

			ck_assert_int_eq(hexc_file_config(file, v2, sizeof v2 - 1, NULL, 0), HEXC_OK);
		}
		ck_assert_msg(hexc_file_weight(file, 0, &info) == 1, "%s is not found in its file", f.name);
		if (strncmp(f.name, "packed-", 7) != 0 || strcmp(f.name, "packed-4") == 0 ||
		    strcmp(f.name, "packed-4-zero") == 0) { /* shapes do not tell the width */
			ck_assert_msg(strcmp(info.format, f.name) == 0, "%s is taken for %s", f.name,
			              info.format);
			ck_assert_int_eq(hexc_weight_load(&v, file, "w", NULL, why, sizeof why), HEXC_OK);
			ck_assert_int_eq(hexc_weight_float(v, again, NULL, why, sizeof why), HEXC_OK);
			ck_assert_msg(memcmp(back, again, sizeof back) == 0,
			              "%s: the file has other weights", f.name);
			hexc_weight_free(v);
		}
		hexc_file_close(file);
		free(bytes);
		hexc_weight_free(w);
	}
	ck_assert_uint_eq(i, nformats);
}

/* What a format can hold exactly stays as it is. */
TEST(exact)
{
	static const char *const names[] = { "Q4_0", "Q4_1", "GPTQ-4", "AWQ-4", "Marlin-4", "packed-4",
					     "packed-4-zero" };
	char why[300];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		hexc_weight *w;

		for (int j = 0; j < N * K; j++)
			x[j] = (float)(j % 16 - 8) * 0.25f; /* each group has all of -2 .. 1.75 */
		ck_assert_int_eq(hexc_weight_quantize(&w, names[i], x, N, K, 128, NULL, why, sizeof why),
		                 HEXC_OK);
		ck_assert_int_eq(hexc_weight_float(w, back, NULL, why, sizeof why), HEXC_OK);
		for (int j = 0; j < N * K; j++)
			ck_assert_msg(back[j] == x[j], "%s: %g for %g", names[i], (double)back[j],
			              (double)x[j]);
		hexc_weight_free(w);
	}
}

/* The host's thread may round upwards and flush subnormal numbers. */
TEST(host_arithmetic)
{
	hexc_weight *w, *v;
	hexc_format f = HEXC_FORMAT_INIT;

	for (size_t i = 0; hexc_format_at(i, &f); i++, f.size = sizeof f) {
		fill(7 + i);
		x[0] = 1e-41f;
		ck_assert_int_eq(hexc_weight_quantize(&w, f.name, x, N, K, 0, NULL, NULL, 0), HEXC_OK);
		ck_assert_int_eq(hexc_weight_float(w, back, NULL, NULL, 0), HEXC_OK);
		fesetround(FE_UPWARD);
#ifdef __SSE__
		_mm_setcsr(_mm_getcsr() | 0x8040);
#endif
		ck_assert_int_eq(hexc_weight_quantize(&v, f.name, x, N, K, 0, NULL, NULL, 0), HEXC_OK);
		ck_assert_int_eq(hexc_weight_float(w, again, NULL, NULL, 0), HEXC_OK);
		fesetenv(FE_DFL_ENV);
		ck_assert_msg(memcmp(back, again, sizeof back) == 0, "%s back to f32", f.name);
		for (int p = 0; p < HEXC_NPLANE; p++)
			ck_assert_msg(!w->plane[p].dtype || memcmp(w->plane[p].data, v->plane[p].data,
			                                           (size_t)w->plane[p].bytes) == 0,
			              "%s, plane %d", f.name, p);
		hexc_weight_free(w);
		hexc_weight_free(v);
	}
}

TEST(refusals)
{
	hexc_weight *w;
	char why[300];

	fill(2);
	ck_assert_int_eq(hexc_weight_quantize(&w, "Q4_9", x, N, K, 0, NULL, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, "unknown format Q4_9");
	ck_assert_int_eq(hexc_weight_quantize(&w, "Q4_K", x, N, 128, 0, NULL, why, sizeof why),
	                 HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "128 inputs are not a multiple of the group size 256"));
	ck_assert_int_eq(hexc_weight_quantize(&w, "Marlin-4", x, 48, K, 0, NULL, why, sizeof why),
	                 HEXC_E_INVALID);
	ck_assert_ptr_nonnull(strstr(why, "requires outputs in multiples of 64 and inputs in multiples of"));
	x[3] = NAN;
	ck_assert_int_eq(hexc_weight_quantize(&w, "Q4_0", x, N, K, 0, NULL, why, sizeof why), HEXC_E_INVALID);
	ck_assert_str_eq(why, "W[0, 3] is not a finite number");
	ck_assert_ptr_null(w);
	for (int i = 0; i < N * K; i++) /* nothing to find a scale in */
		x[i] = 0;
	for (size_t i = 0; i < nformats; i++) {
		ck_assert_int_eq(hexc_weight_quantize(&w, formats[i].name, x, N, K, 0, NULL, why, sizeof why),
		                 HEXC_OK);
		ck_assert_int_eq(hexc_weight_float(w, back, NULL, why, sizeof why), HEXC_OK);
		for (int j = 0; j < N * K; j++)
			ck_assert_msg(fabsf(back[j]) < 1e-30f, "%s: %g for 0", formats[i].name,
			              (double)back[j]);
		w->plane[HEXC_PLANE_SCALE].rows++;
		ck_assert_int_eq(hexc_weight_float(w, back, NULL, why, sizeof why), HEXC_E_INVALID);
		ck_assert_ptr_nonnull(strstr(why, "the plane scale is"));
		hexc_weight_free(w);
	}
}

/* A part of a file whose planes the weight has not is written as zeros. */
TEST(absent_plane)
{
	enum { ROWS = 32, COLUMNS = 64 };
	static float values[ROWS * COLUMNS];
	hexc_file_tensor t = HEXC_FILE_TENSOR_INIT;
	unsigned char data[1024];
	hexc_weight *w;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		values[i] = (float)(i % 31) - 15;
	ck_assert_int_eq(hexc_weight_quantize(&w, "GPTQ-4", values, ROWS, COLUMNS, 32, NULL, NULL, 0),
	                 HEXC_OK);
	w->plane[HEXC_PLANE_ZERO].dtype = NULL;
	memset(data, 0xab, sizeof data);
	ck_assert_int_eq(hexc_weight_tensor(w, 2, &t, data, sizeof data), 1);
	ck_assert_str_eq(t.name, ".qzeros");
	ck_assert_ptr_eq(t.data, data);
	for (uint64_t i = 0; i < sizeof data; i++)
		ck_assert_int_eq(data[i], i < t.bytes ? 0 : 0xab);
	hexc_weight_free(w);
}

TEST_PROGRAM(.timeout = 60);
