/* layer.c - compares ten checkpoint formats on one layer of realistic size: bits per weight, error against
 * the original weights, and the result of the kernel for the format's scheme. */
#include "examples/demo/demo.h"
#include "lib/hexc_weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A projection of a model of 7 billion weights; a few tokens, as in decoding. */
enum { M = 4, N = 4096, K = 4096 };

/* Which kernel of examples/gemm_schemes.hexc, with which constants. */
typedef struct Choice {
	const char *kernel;
	hexc_define def[8];
	size_t ndef;
} Choice;

static void
define(Choice *c, const char *name, int64_t value)
{
	c->def[c->ndef++] = (hexc_define){ name, value };
}

static Choice
choose(const hexc_weight *w)
{
	const hexc_plane *p = w->plane;
	bool zero = p[HEXC_PLANE_ZERO].dtype != NULL, offset = p[HEXC_PLANE_OFFSET].dtype != NULL;
	bool coarse = p[HEXC_PLANE_SCALE2].dtype && p[HEXC_PLANE_SCALE2].cols > 1;
	bool table = p[HEXC_PLANE_TABLE].dtype != NULL;
	Choice c = { zero     ? "gemm_zero"
		     : table  ? coarse ? "gemm_table_two_level" : "gemm_table"
		     : coarse ? offset ? "gemm_two_level_offset" : "gemm_two_level"
		     : offset ? "gemm_offset"
		              : "gemm_scale",
		     { { NULL, 0 } },
		     0 };

	define(&c, "WEIGHT", hexc_type_value(p[HEXC_PLANE_CODE].dtype));
	define(&c, "G", p[HEXC_PLANE_SCALE].group);
	if (!(coarse && (offset || table)))
		define(&c, "SCALE", hexc_type_value(p[HEXC_PLANE_SCALE].dtype));
	if (zero)
		define(&c, "ZEROS", hexc_type_value(p[HEXC_PLANE_ZERO].dtype));
	if (!zero && !offset && !table)
		define(&c, "ZERO", w->bias);
	define(&c, "BM", 16);
	return c;
}

static hexc_module *
build(const char *arch, const char *src, const Choice *c, Row *row)
{
	hexc_opts o = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *ctx;

	o.arch = arch;
	o.kernel = c->kernel;
	o.define = c->def;
	o.ndefine = c->ndef;
	if (hexc_open(&ctx, &o) != HEXC_OK)
		return NULL;
	if (hexc_compile(&m, ctx, "gemm_schemes", src, strlen(src)) != HEXC_OK && hexc_diag(ctx, 0, &d))
		snprintf(row->verdict, sizeof row->verdict, "%s", d.text);
	hexc_close(ctx);
	return m;
}

/* The planes under the names of the kernel's parameters, and the codes as its pack has them. */
static bool
tensors(Case *c, const hexc_module *m, const hexc_weight *w)
{
	static const char *const names[HEXC_NPLANE] = { "W", "S", "S2", "Z", "O", "O2", "I", "T" };
	hexc_param_info info = HEXC_PARAM_INFO_INIT;
	int64_t dim[2] = { w->n, w->k };

	for (int i = 0; i < HEXC_NPLANE; i++) {
		const hexc_plane *p = &w->plane[i];
		Tensor *t = &c->t[c->nt];

		if (!p->dtype || i == HEXC_PLANE_INDEX || (i == HEXC_PLANE_SCALE2 && p->cols == 1))
			continue;
		*t = (Tensor){ .name = names[i], .n = (size_t)(p->rows * p->cols), .bytes = p->bytes };
		for (size_t j = 0; i == HEXC_PLANE_CODE && hexc_param(m, 0, j, &info);
		     j++, info.size = sizeof info) {
			uint64_t bytes;

			if (strcmp(info.name, "W") != 0)
				continue;
			if (hexc_pack_bytes(hexc_module_pack(m, 0, j), 2, dim, &bytes, NULL, 0) != HEXC_OK)
				return false;
			t->mem = need(bytes, 1);
			t->bytes = bytes;
			if (hexc_pack(hexc_module_pack(m, 0, j), 2, dim, p->data, t->mem, NULL, NULL, 0) !=
			    HEXC_OK)
				return false;
		}
		if (!t->mem)
			t->mem = memcpy(need(p->bytes, 1), p->data, p->bytes);
		c->nt++;
	}
	return true;
}

/* The products with the weights as they are now, and how far from them the kernel may be: f16 scales,
 * products with them and sums with offsets are rounded once each, sums in f32 are in any order. */
static void
reference(Case *c, const float *x, const float *wide)
{
	const Tensor *a = &c->t[0];
	Tensor *o = &c->t[1];

	for (int i = 0; i < M; i++) {
		for (int j = 0; j < N; j++) {
			double sum = 0, mag = 0, err = 0;
			for (int k = 0; k < K; k++) {
				double p = a->v[i * K + k], v = (double)x[j * K + k];
				sum += p * v;
				mag += fabs(p * v);
				err += fabs(p) * (double)wide[j];
			}
			err = 0x1p-11 * (4 * mag + err) * 1.01 + mag * (K + 4) * 0x1p-24;
			o->v[i * N + j] = sum;
			o->allow[i * N + j] = err + half_ulp(fabs(sum) + err);
		}
	}
}

static double
relative_rms(const float *x, const float *y)
{
	double e = 0, s = 0;

	for (size_t i = 0; i < (size_t)N * K; i++) {
		double d = (double)x[i] - (double)y[i];
		e += d * d;
		s += (double)y[i] * (double)y[i];
	}
	return sqrt(e / s);
}

/* The largest weight of each output: no offset is larger than twice that. */
static void
widest(const float *x, float *wide)
{
	for (size_t j = 0; j < N; j++) {
		wide[j] = 0;
		for (size_t k = 0; k < K; k++)
			wide[j] = fmaxf(wide[j], 4 * fabsf(x[j * K + k]));
	}
}

static bool
one(const char *arch, const char *src, const char *format, const float *w, float *x, float *wide)
{
	Case c = { 0 };
	Row row = { 0 };
	hexc_weight *q;
	hexc_module *m = NULL;
	Choice choice;
	char why[200];

	if (hexc_weight_quantize(&q, format, w, N, K, 128, NULL, why, sizeof why) != HEXC_OK ||
	    hexc_weight_float(q, x, NULL, why, sizeof why) != HEXC_OK) {
		printf("%-10s %s\n", format, why);
		return false;
	}
	random_fill(add(&c, "A", F16, (size_t)M * K, false), 7);
	add(&c, "C", F16, (size_t)M * N, true);
	size(&c, "M", M);
	size(&c, "N", N);
	size(&c, "K", K);
	scalar(&c, "factor",
	       q->plane[HEXC_PLANE_SCALE2].cols == 1 ? (double)*(float *)q->plane[HEXC_PLANE_SCALE2].data
	                                             : 1);
	if (q->plane[HEXC_PLANE_OFFSET].dtype)
		widest(x, wide);
	else
		memset(wide, 0, N * sizeof *wide);
	reference(&c, x, wide);
	choice = choose(q);
	m = build(arch, src, &choice, &row);
	row.right = m && tensors(&c, m, q) && simulate(m, &c, &row);
	printf("%-10s %6.3f %11.3f %% %13.2e %9llu %+7.1f%%  %-7s %s\n", format,
	       8 * (double)q->bytes / ((double)N * K), 100 * relative_rms(x, w), row.err,
	       (unsigned long long)row.conflicts, row.sectors, row.right ? "right" : "WRONG",
	       row.right ? choice.kernel : row.verdict);
	fflush(stdout);
	hexc_module_free(m);
	hexc_weight_free(q);
	case_free(&c);
	return row.right;
}

int
layer_in_formats(const char *arch, const char *src)
{
	static const char *const formats[] = { "FP8", "Q8_0", "Q6_K", "Q5_1", "Q4_K",
		                               "GPTQ-4", "NVFP4", "MXFP4", "GPTQ-3", "Q2_K" };
	Tensor normal = { .name = "", .elt = F32, .n = (size_t)N * K };
	float *x = need(normal.n, sizeof *x), *w = need(normal.n, sizeof *w), *wide = need(N, sizeof *wide);
	int bad = 0;

	normal.v = need(normal.n, sizeof *normal.v);
	normal.mem = need(normal.n, 4);
	random_fill(&normal, 1);
	for (size_t i = 0; i < normal.n; i++)
		w[i] = (float)(0.02 * normal.v[i]);
	free(normal.v);
	free(normal.mem);
	printf("\nA layer of %d x %d normal weights, rounded to ten formats of checkpoints, "
	       "times %d rows; %s.\n"
	       "%-10s %6s %13s %13s %9s %8s  %-7s %s\n",
	       N, K, M, arch, "format", "bits", "rounding", "kernel error", "conflicts", "sectors",
	       "verdict", "kernel of gemm_schemes");
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		bad += !one(arch, src, formats[i], w, x, wide);
	printf("bits: of the file for each weight.  rounding: root mean square, of that of the weights.\n");
	free(x);
	free(w);
	free(wide);
	return bad;
}
