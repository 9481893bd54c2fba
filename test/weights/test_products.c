/* test_products.c - tests the path from a file of weights to a GEMM: load, pack, the kernel of its scheme on
 * the simulator, compared with sums in double of the weights by the format's own decoder (test_files.c
 * compares hexc_weight_float with that). */
#include "lib/hexc_weights.h"
#include "test/check.h"
#include "test/examples/util_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plane as the kernel's parameter of this name; rows of one number become dims of one. */
static void
plane(Case *c, const char *name, const hexc_plane *p)
{
	Buf *b = p->cols == 1 ? case_in(c, name, p->dtype, 0, 0, (int)p->rows, 0)
	                      : case_in(c, name, p->dtype, 0, 0, (int)p->rows, (int)p->cols, 0);

	ck_assert_uint_eq(b->bytes, p->bytes);
	memcpy(b->mem, p->data, p->bytes);
}

static float *
floats(const hexc_weight *w)
{
	float *x = malloc((size_t)(w->n * w->k) * sizeof *x);
	char why[200];

	ck_assert_msg(hexc_weight_float(w, x, NULL, why, sizeof why) == HEXC_OK, "%s", why);
	return x;
}

/* The offsets alone: the weights with scales of zero. */
static float *
offsets(const hexc_weight *w)
{
	hexc_weight zero = *w;
	hexc_plane *p = &zero.plane[HEXC_PLANE_SCALE];
	float *x;

	p->data = calloc(1, p->bytes);
	if (strcmp(p->dtype, "e8m0") == 0) { /* has no zero, and no offsets either */
		free(p->data);
		return calloc((size_t)(w->n * w->k), sizeof *x);
	}
	x = floats(&zero);
	free(p->data);
	return x;
}

/* An order wants zeros: those of a symmetric weight are its bias. */
static void
zeros(Case *c, const hexc_weight *w)
{
	const hexc_plane *zero = &w->plane[HEXC_PLANE_ZERO], *scale = &w->plane[HEXC_PLANE_SCALE];
	hexc_plane bias = *scale;

	if (zero->dtype) {
		plane(c, "Z", zero);
		case_def(c, "ZEROS", hexc_type_value(zero->dtype));
		return;
	}
	bias.dtype = w->plane[HEXC_PLANE_CODE].dtype;
	bias.bytes = (uint64_t)(bias.rows * bias.cols) * hexc_dtype_find(bias.dtype)->bits / 8;
	bias.data = calloc(1, (size_t)bias.bytes + 8);
	for (int64_t i = 0; i < bias.rows * bias.cols; i++)
		hexc_put(hexc_dtype_find(bias.dtype), bias.data, (uint64_t)i, (double)w->bias);
	plane(c, "Z", &bias);
	case_def(c, "ZEROS", hexc_type_value(bias.dtype));
	free(bias.data);
}

/* The kernel of examples/gemm_schemes.hexc that a weight wants, with its constants and tensors. */
static const char *
scheme(Case *c, const hexc_weight *w, const char *act)
{
	const hexc_plane *p = w->plane;
	bool coarse = p[HEXC_PLANE_SCALE2].dtype && p[HEXC_PLANE_SCALE2].cols > 1;

	case_def(c, "WEIGHT", hexc_type_value(p[HEXC_PLANE_CODE].dtype));
	case_def(c, "ACT", hexc_type_value(act));
	plane(c, "W", &p[HEXC_PLANE_CODE]);
	plane(c, "S", &p[HEXC_PLANE_SCALE]);
	if (!p[HEXC_PLANE_INDEX].dtype)
		case_def(c, "G", p[HEXC_PLANE_SCALE].group);
	if (!p[HEXC_PLANE_OFFSET2].dtype && !(coarse && p[HEXC_PLANE_TABLE].dtype))
		case_def(c, "SCALE", hexc_type_value(p[HEXC_PLANE_SCALE].dtype));
	if (p[HEXC_PLANE_ZERO].dtype || p[HEXC_PLANE_INDEX].dtype) {
		zeros(c, w);
		if (!p[HEXC_PLANE_INDEX].dtype)
			return "gemm_zero";
		plane(c, "I", &p[HEXC_PLANE_INDEX]);
		return "gemm_ordered";
	}
	if (coarse)
		plane(c, "S2", &p[HEXC_PLANE_SCALE2]);
	if (p[HEXC_PLANE_OFFSET].dtype)
		plane(c, "O", &p[HEXC_PLANE_OFFSET]);
	if (p[HEXC_PLANE_OFFSET2].dtype) {
		plane(c, "O2", &p[HEXC_PLANE_OFFSET2]);
		return "gemm_two_level_offset";
	}
	if (p[HEXC_PLANE_OFFSET].dtype)
		return "gemm_offset";
	if (p[HEXC_PLANE_TABLE].dtype) {
		Buf *b = case_in(c, "T", p[HEXC_PLANE_TABLE].dtype, 0, 0, (int)p[HEXC_PLANE_TABLE].cols, 0);

		memcpy(b->mem, p[HEXC_PLANE_TABLE].data, b->bytes);
		case_def(c, "TABLE", p[HEXC_PLANE_TABLE].cols);
		return coarse ? "gemm_table_two_level" : "gemm_table";
	}
	case_def(c, "ZERO", w->bias);
	if (coarse)
		return "gemm_two_level";
	case_num(c, "factor", p[HEXC_PLANE_SCALE2].dtype ? (double)*(float *)p[HEXC_PLANE_SCALE2].data : 1);
	return "gemm_scale";
}

/* What is right, and how far from it a right result may be: in the type of the activations, unit
 * roundoff u, the scale (where it is a product), its product with the code and the sum with the offset
 * are rounded once each. */
static void
expect(Case *c, Buf *a, Buf *o, const hexc_weight *w, const char *act, int64_t m)
{
	float *x = floats(w), *off = offsets(w);
	double u = strcmp(act, "bf16") == 0 ? 0x1p-8 : 0x1p-11;

	(void)c;
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < w->n; j++) {
			double sum = 0, mag = 0, err = 0;

			for (int64_t k = 0; k < w->k; k++) {
				double v = (double)x[j * w->k + k], f = (double)off[j * w->k + k];
				double b = fabs(a->v[i * w->k + k]);

				sum += a->v[i * w->k + k] * v;
				mag += b * fabs(v);
				err += b * (u * (2 * fabs(v - f) + fabs(f) + fabs(v)) * (1 + 4 * u) +
				            3 * 0x1p-25);
			}
			o->v[i * w->n + j] = sum;
			err += (mag + err) * (double)(w->k + 4) * 0x1p-24;
			o->allow[i * w->n + j] = err + ulp2(o->type, fabs(sum) + err);
		}
	}
	free(x);
	free(off);
}

static void
product(const char *file, const char *name, int nth)
{
	static const char *const archs[] = { "sm_80", "sm_75", "sm_89", "sm_90a" };
	char path[300], why[300];
	hexc_file *f;
	hexc_weight *w;
	const char *act, *kernel;
	int m = 19;
	Case c;

	snprintf(path, sizeof path, "test/weights/fixtures/%s", file);
	ck_assert_msg(hexc_file_open(&f, path, why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_msg(hexc_weight_load(&w, f, name, NULL, why, sizeof why) == HEXC_OK, "%s", why);
	act = strcmp(w->plane[HEXC_PLANE_SCALE].dtype, "e8m0") == 0 ? "bf16" : "f16";
	case_start(&c, (uint64_t)nth + 1);
	Buf *a = case_in(&c, "A", act, -0.0625, 0.0625, m, (int)w->k, 0);
	Buf *o = case_out(&c, "C", act, m, (int)w->n, 0);

	kernel = scheme(&c, w, act);
	expect(&c, a, o, w, act, m);
	/* bf16 products need sm_80 */
	case_run(&c, "gemm_schemes", kernel, archs[strcmp(act, "bf16") == 0 ? 0 : nth % 4], 0);
	case_end(&c);
	hexc_weight_free(w);
	hexc_file_close(f);
}

TEST(files)
{
	FILE *list = fopen("test/weights/fixtures/expected.tsv", "r");
	char line[600], file[100], name[100];
	int n = 0;

	ck_assert_ptr_nonnull(list);
	for (; fgets(line, sizeof line, list); n++) {
		ck_assert_int_eq(sscanf(line, "%99s %99s", file, name), 2);
		product(file, name, n);
	}
	fclose(list);
	ck_assert_int_ge(n, 29);
}

/* compressed-tensors' zeros, orders and both. */
TEST(compressed_files)
{
	static const char *const of[][2] = {
		{ "in_place", "w4.zero" },         { "in_place", "w3.zero" },
		{ "in_place", "w4.row" },          { "in_place", "w8.zero_int" },
		{ "ordered", "w4.drawn" },         { "ordered", "w4.zero_drawn" },
		{ "ordered", "w8.zero_unset" },    { "ordered", "w8.int_zero_drawn" },
		{ "ordered", "w8.int_drawn" },
	};
	char file[100];

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		snprintf(file, sizeof file, "compressed/%s.safetensors", of[i][0]);
		product(file, of[i][1], (int)i);
	}
}

TEST_PROGRAM(.timeout = 300);
