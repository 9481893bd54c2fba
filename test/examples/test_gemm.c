/* test_gemm.c - tests the GEMMs of examples/ against sums in double: epilogues, split K, LoRA, int8, fp8,
 * experts, convolutions. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double
gelu(double x)
{
	return 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}

static void
epilogue(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	case_start(&c, 1);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0);
	Buf *bias = case_in(&c, "BIAS", "f16", -1, 1, s->n, 0),
	        *r = case_in(&c, "R", "f16", -1, 1, s->m, s->n, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			Sum d = sum_products(a, (int64_t)i * s->k, b, (int64_t)j * s->k, s->k);
			int64_t at = (int64_t)i * s->n + j;
			double x = d.x + bias->v[j], e = sum_error(d.mag + 1, s->k);

			o->v[at] = gelu(x) + r->v[at];
			/* gelu is at most 1.13 steep; tanh.approx is good to 2^-10.987 of its value (PTX
			 * ISA), and the rest are ten f32 roundings of numbers up to |x| */
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.13 * e +
			               fabs(x) * (0.5 * 0x1p-10 + 16 * U32);
		}
	*ncand = case_run(&c, "gemm_epilogue", NULL, arch, cand);
	case_end(&c);
}

static void
complex_numbers(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	case_start(&c, 11);
	case_def(&c, "BN", 32);
	case_def(&c, "BK", 16);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 2, 0),
	        *b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 2, 0);
	Buf *o = case_out(&c, "C", "f32", s->m, s->n, 2, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			const double *x = a->v + (int64_t)i * s->k * 2, *y = b->v + (int64_t)j * s->k * 2;
			double *z = o->v + ((int64_t)i * s->n + j) * 2, mag[2] = { 0, 0 };

			for (int k = 0; k < 2 * s->k; k += 2) {
				z[0] += x[k] * y[k] - x[k + 1] * y[k + 1];
				z[1] += x[k] * y[k + 1] + x[k + 1] * y[k];
				mag[0] += fabs(x[k] * y[k]) + fabs(x[k + 1] * y[k + 1]);
				mag[1] += fabs(x[k] * y[k + 1]) + fabs(x[k + 1] * y[k]);
			}
			for (int p = 0; p < 2; p++)
				o->allow[((int64_t)i * s->n + j) * 2 + p] =
					1.001 * sum_error(mag[p], 2 * s->k);
		}
	*ncand = case_run(&c, "complex_gemm", NULL, arch, cand);
	case_end(&c);
}

static void
split_k(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	case_start(&c, 2);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0);
	Buf *p = case_out(&c, "P", "f32", s->x, s->m, s->n, 0), *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int64_t i = 0; i < p->n; i++)
		p->allow[i] = -1; /* what a part is, is nobody's business */
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			Sum d = sum_products(a, (int64_t)i * s->k, b, (int64_t)j * s->k, s->k);
			int64_t at = (int64_t)i * s->n + j;

			o->v[at] = d.x;
			o->allow[at] = ulp2(o->type, d.x) + 1.001 * sum_error(d.mag, s->k + s->x);
		}
	*ncand = case_run(&c, "split_k", "partial", arch, cand);
	case_run(&c, "split_k", "join", arch, 0);
	case_end(&c);
}

static void
lora(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int rank = 16;
	case_start(&c, 3);
	Buf *x = case_in(&c, "X", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "f16", -1, 1, s->n, s->k, 0);
	Buf *u = case_in(&c, "U", "f16", -1, 1, rank, s->k, 0),
	        *v = case_in(&c, "V", "f16", -1, 1, s->n, rank, 0);
	Buf *o = case_out(&c, "Y", "f16", s->m, s->n, 0);

	case_num(&c, "scale", 0.25);
	for (int i = 0; i < s->m; i++) {
		double low[16], err[16];

		for (int q = 0; q < rank; q++) {
			Sum d = sum_products(x, (int64_t)i * s->k, u, (int64_t)q * s->k, s->k);
			low[q] = 0.25 * d.x;
			err[q] = 0.25 * sum_error(d.mag, s->k) + U16 * fabs(low[q]) * 1.01 + 0x1p-25;
		}
		for (int j = 0; j < s->n; j++) {
			Sum d = sum_products(x, (int64_t)i * s->k, w, (int64_t)j * s->k, s->k);
			int64_t at = (int64_t)i * s->n + j;
			double e = 0;

			for (int q = 0; q < rank; q++) {
				double p = low[q] * v->v[j * rank + q];
				d.x += p;
				d.mag += fabs(p);
				e += err[q] * fabs(v->v[j * rank + q]);
			}
			o->v[at] = d.x;
			o->allow[at] = ulp2(o->type, d.x) + 1.001 * (e + sum_error(d.mag + e, s->k + rank));
		}
	}
	*ncand = case_run(&c, "lora", NULL, arch, cand);
	case_end(&c);
}

/* Two of four kept: the whole of A is written out here. */
static void
sparse(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	static const int pair[6][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 3 }, { 2, 3 } };
	Case c;
	int half = s->k / 2;
	case_start(&c, 31);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, half, 0),
	        *p = case_in(&c, "P", "u2", 0, 3, s->m, half, 0);
	Buf *b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0), *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int64_t g = 0; g < p->n / 2; g++) {
		const int *at = pair[(g * 7 + (int64_t)(p->v[2 * g] * 4 + p->v[2 * g + 1])) % 6];

		buf_set(p, 2 * g, at[0]);
		buf_set(p, 2 * g + 1, at[1]);
	}
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int q = 0; q < half; q++) {
				int col = q / 2 * 4 + (int)p->v[i * half + q];
				double x = a->v[i * half + q] * b->v[(int64_t)j * s->k + col];

				o->v[at] += x;
				mag += fabs(x);
			}
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.001 * sum_error(mag, s->k);
		}
	*ncand = case_run(&c, "gemm_sparse", NULL, arch, cand);
	case_end(&c);
}

static void
int8(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	case_start(&c, 4);
	Buf *a = case_in(&c, "A", "i8", -128, 127, s->m, s->k, 0),
	        *b = case_in(&c, "B", "i8", -128, 127, s->n, s->k, 0);
	Buf *sa = case_in(&c, "SA", "f32", 0.001, 0.01, s->m, 0),
	        *sb = case_in(&c, "SB", "f32", 0.001, 0.01, s->n, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			Sum d = sum_products(a, (int64_t)i * s->k, b, (int64_t)j * s->k, s->k);
			int64_t at = (int64_t)i * s->n + j;

			o->v[at] = d.x * sa->v[i] * sb->v[j];
			o->allow[at] = 1.001 * ulp2(o->type, o->v[at]) + 4 * U32 * fabs(o->v[at]);
		}
	*ncand = case_run(&c, "gemm_int8", NULL, arch, cand);
	case_end(&c);
}

static void
fp8(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int kb = s->k / 128, nb = s->n / 128;
	case_start(&c, 5);
	Buf *a = case_in(&c, "A", "e4m3", -4, 4, s->m, s->k, 0),
	        *b = case_in(&c, "B", "e4m3", -4, 4, s->n, s->k, 0);
	Buf *sa = case_in(&c, "SA", "f32", 0.1, 1, s->m, kb, 0),
	        *sb = case_in(&c, "SB", "f32", 0.1, 1, nb, kb, 0);
	Buf *o = case_out(&c, "C", "bf16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int q = 0; q < kb; q++) {
				Sum d = sum_products(a, (int64_t)i * s->k + 128 * q, b,
				                     (int64_t)j * s->k + 128 * q, 128);
				double f = sa->v[i * kb + q] * sb->v[j / 128 * kb + q];
				o->v[at] += d.x * f;
				mag += d.mag * f;
			}
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.001 * sum_error(mag, 128 + 4 * kb);
		}
	*ncand = case_run(&c, "gemm_fp8", NULL, arch, cand);
	case_end(&c);
}

/* Rows of tokens sorted by expert, each expert's padded to blocks of 16. */
static void
experts(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { G = 64,
	       BM = 16 };
	Case c;
	int e = s->x, groups = s->k / G, row[4096], expert[256], rows = 0;

	for (int x = 0; x < e; x++) {
		int first = rows / BM;

		for (int t = 0; t < s->m; t++)
			if ((t * 7 + x) % e < 2)
				row[rows++] = t;
		while (rows % BM)
			row[rows++] = -1;
		for (int i = first; i < rows / BM; i++)
			expert[i] = x;
	}
	case_start(&c, 6);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "u4", 0, 15, e, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "f16", 0.01, 0.1, e, s->n, groups, 0),
	        *tok = case_in(&c, "TOK", "i32", 0, 0, rows, 0);
	Buf *ex = case_in(&c, "EX", "i32", 0, 0, rows / BM, 0), *o = case_out(&c, "Y", "f16", rows, s->n, 0);

	for (int i = 0; i < rows; i++)
		buf_set(tok, i, row[i]);
	for (int i = 0; i < rows / BM; i++)
		buf_set(ex, i, expert[i]);
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < s->n && row[i] >= 0; j++) {
			int64_t at = (int64_t)i * s->n + j, wrow = (int64_t)expert[i / BM] * s->n + j;
			double mag = 0;

			for (int q = 0; q < s->k; q++) {
				double f = (w->v[wrow * s->k + q] - 8) * sc->v[wrow * groups + q / G];
				double p = a->v[(int64_t)row[i] * s->k + q] * f;
				o->v[at] += p;
				mag += fabs(p);
			}
			/* the weight is rounded to f16 once */
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.01 * (U16 * mag + sum_error(mag, s->k));
		}
	*ncand = case_run(&c, "moe", NULL, arch, cand);
	case_end(&c);
}

/* Types of weights: the numbers drawn, what is taken off, and what a number may be off by when it is made an
 * activation (e4m3's least are subnormal halves; all others are exact). */
static const struct NarrowType { const char *name; double lo, hi, zero; } narrow_type[] = {
	{ "u1", 0, 1, 1 }, { "i1", -1, 0, 0 }, { "u2", 0, 3, 2 }, { "i2", -2, 1, 0 }, { "u3", 0, 7, 4 },
	{ "i3", -4, 3, 0 }, { "u4", 0, 15, 8 }, { "i4", -8, 7, 0 }, { "u5", 0, 31, 16 }, { "i5", -16, 15, 0 },
	{ "u6", 0, 63, 32 }, { "i6", -32, 31, 0 }, { "u7", 0, 127, 64 }, { "i7", -64, 63, 0 },
	{ "u8", 0, 255, 128 }, { "i8", -128, 127, 0 }, { "e2m1", -6, 6, 0 }, { "e2m3", -7, 7, 0 },
	{ "e3m2", -28, 28, 0 }, { "e3m3", -15, 15, 0 }, { "e4m3", -4, 4, 0 }, { "e5m2", -4, 4, 0 },
	{ "e1m1", -3, 3, 0 }, { "e1m2", -3, 3, 0 }, { "e1m3", -3, 3, 0 }, { "e2m2", -7, 7, 0 },
	{ "e3m1", -24, 24, 0 }, { "e1m4", -3, 3, 0 }, { "e4m1", -28, 28, 0 }, { "e1m5", -3, 3, 0 },
	{ "e2m4", -7, 7, 0 }, { "e4m2", -28, 28, 0 }, { "e5m1", -4, 4, 0 }, { "e1m6", -3, 3, 0 },
	{ "e2m5", -7, 7, 0 }, { "e3m4", -15, 15, 0 }, { "e6m1", -4, 4, 0 }, { "nf4", -1, 1, 0 },
};

/* x: the type of the weights; activations are f16 and bf16 in turn. */
static void
narrow_product(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand, const char *file, bool packed)
{
	enum { G = 128, BM = 64, BN = 128, BK = 64 };
	const struct NarrowType *t = &narrow_type[s->x];
	const char *act = s->x % 2 ? "bf16" : "f16";
	double u = s->x % 2 ? 0x1p-8 : U16;
	int groups = (s->k + G - 1) / G;
	Case c;

	case_start(&c, 8);
	case_def(&c, "WEIGHT", hexc_type_value(t->name));
	case_def(&c, "ACT", hexc_type_value(act));
	case_def(&c, "ZERO", (int64_t)t->zero);
	Buf *a = case_in(&c, "A", act, -1, 1, s->m, s->k, 0);
	Buf *w = case_in(&c, "W", t->name, t->lo, t->hi, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", act, 0.01, 0.1, groups, s->n, 0),
	        *o = case_out(&c, "C", act, s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			Sum d = sum_scaled(a, i, w, j, t->zero, sc, G);

			o->v[at] = d.x;
			/* w - zero is exact but for e4m3's smallest; the product with the scale is rounded
			 * once */
			o->allow[at] =
				ulp2(o->type, o->v[at]) + 1.01 * (2 * u * d.mag + sum_error(d.mag, s->k));
		}
	if (packed)
		case_def(&c, "KMULT", s->k % BK ? 8 : BK);
	if (packed && s->k > BK && (s->x % 2 == 0 || strcmp(arch, "sm_75"))) {
		/* a lane has 32 elements of a block, as many words as an element has bits; 16 of 8 bits */
		c.words = w->type->bits % 4 == 0 ? 4 : w->type->bits % 2 == 0 ? 2 : 1;
		c.packed = (uint64_t)((s->m + BM - 1) / BM) * (uint64_t)((s->n + BN - 1) / BN) *
		           (uint64_t)((s->k + BK - 1) / BK) * BN * BK * w->type->bits / 8;
	}
	*ncand = case_run(&c, file, NULL, arch, cand);
	case_end(&c);
}

static void
narrow(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	narrow_product(s, arch, ncand, cand, "gemm_wNa16_natural", false);
}

static void
narrow_packed(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	narrow_product(s, arch, ncand, cand, "gemm_wNa16", true);
}

/* Numbers of e2m1 by the table of the OCP specification, scales 2^-7 .. 2^1. */
static void
mxfp4(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	static const double e2m1[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
	Case c;

	case_start(&c, 9);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "e2m1", 0, 0, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "e8m0", 1, 1, s->k / 32, s->n, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int64_t i = 0; i < w->n; i++) {
		double x = (i * 11 & 8 ? -1 : 1) * e2m1[i * 5 % 8 ^ i / 64 % 8];

		buf_set(w, i, x);
		ck_assert(w->v[i] == x);
	}
	for (int64_t i = 0; i < sc->n; i++) {
		buf_set(sc, i, ldexp(1, (int)(i * 7 % 9) - 7));
		ck_assert(sc->v[i] == ldexp(1, (int)(i * 7 % 9) - 7));
	}
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int q = 0; q < s->k; q++) {
				double p = a->v[(int64_t)i * s->k + q] * w->v[(int64_t)j * s->k + q] *
				           sc->v[q / 32 * s->n + j];

				o->v[at] += p;
				mag += fabs(p);
			}
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.001 * sum_error(mag, s->k + s->k / 32);
		}
	*ncand = case_run(&c, "gemm_mxfp4", NULL, arch, cand);
	case_end(&c);
}

/* m: batch, n: filters, k: channels, x: height; width is x + 2, 3 x 3 filters. */
static void
convolution(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int h = s->x, w = s->x + 2, stride = 1 + s->x % 2, p = (h - 1) / stride + 1, q = (w - 1) / stride + 1;
	case_start(&c, 7);
	case_def(&c, "STRIDE", stride);
	Buf *x = case_in(&c, "X", "f16", -1, 1, s->m, h, w, s->k, 0),
	        *f = case_in(&c, "F", "f16", -1, 1, s->n, 3, 3, s->k, 0);
	Buf *o = case_out(&c, "Y", "f16", s->m, p, q, s->n, 0);

	for (int64_t at = 0; at < o->n; at++) {
		int n = (int)(at % s->n), j = (int)(at / s->n % q), i = (int)(at / s->n / q % p);
		int b = (int)(at / s->n / q / p);
		double mag = 0;

		for (int r = 0; r < 9; r++) {
			int y = i * stride + r / 3 - 1, z = j * stride + r % 3 - 1;
			Sum d;
			if (y < 0 || y >= h || z < 0 || z >= w)
				continue;
			d = sum_products(x, (((int64_t)b * h + y) * w + z) * s->k, f,
			                 ((int64_t)n * 9 + r) * s->k, s->k);
			o->v[at] += d.x;
			mag += d.mag;
		}
		o->allow[at] = ulp2(o->type, o->v[at]) + 1.001 * sum_error(mag, 9 * s->k);
	}
	*ncand = case_run(&c, "conv", NULL, arch, cand);
	case_end(&c);
}

/* ---- sizes ----------------------------------------------------------------------------------------- */

#define S(m_, n_, k_, x_) { .m = m_, .n = n_, .k = k_, .x = x_ }
static const Example example[] = {
	{ .fn = epilogue,
	  .size = { S(64, 64, 64, 0), S(1, 8, 8, 0), S(70, 88, 40, 0), S(128, 136, 96, 0), S(65, 72, 136, 0),
	    S(33, 200, 72, 0), S(16, 64, 200, 0), S(130, 16, 24, 0) } },
	{ .fn = split_k,
	  .size = { S(64, 64, 256, 4), S(1, 8, 8, 3), S(70, 90, 200, 3), S(33, 17, 136, 2), S(65, 72, 320, 5),
	    S(16, 130, 64, 1), S(128, 64, 96, 7), S(5, 5, 168, 2) } },
	{ .fn = lora,
	  .size = { S(64, 64, 64, 0), S(1, 8, 8, 0), S(70, 88, 40, 0), S(128, 136, 96, 0), S(65, 72, 136, 0),
	    S(33, 200, 72, 0), S(16, 64, 200, 0), S(130, 16, 24, 0) } },
	{ .fn = int8,
	  .size = { S(64, 64, 64, 0), S(1, 8, 16, 0), S(70, 88, 80, 0), S(128, 136, 96, 0), S(65, 72, 144, 0),
	    S(33, 200, 208, 0), S(16, 64, 400, 0), S(130, 16, 32, 0) } },
	{ .fn = sparse,
	  .size = { S(64, 64, 64, 0), S(1, 8, 64, 0), S(70, 88, 192, 0), S(128, 136, 128, 0),
	    S(65, 72, 320, 0), S(33, 200, 256, 0), S(16, 64, 512, 0), S(130, 16, 64, 0) } },
	{ .fn = fp8,
	  .size = { S(64, 128, 128, 0), S(1, 128, 128, 0), S(70, 128, 256, 0), S(128, 256, 128, 0),
	    S(65, 128, 384, 0), S(33, 256, 256, 0), S(16, 128, 512, 0), S(130, 128, 128, 0) } },
	{ .fn = experts,
	  .size = { S(40, 64, 64, 4), S(5, 8, 64, 2), S(33, 72, 128, 3), S(64, 128, 192, 4), S(17, 16, 64, 5),
	    S(50, 136, 128, 6), S(21, 40, 256, 2), S(96, 64, 64, 8) },
	  .faults = { S(33, 72, 128, 3), S(50, 136, 1536, 6), S(21, 41, 256, 2) } },
	{ .fn = narrow,
	  .size = { S(40, 136, 256, 0), S(1, 128, 128, 1), S(70, 88, 256, 2), S(16, 160, 384, 3),
	    S(33, 128, 128, 6), S(64, 72, 256, 7), S(5, 8, 384, 14), S(17, 200, 128, 20) },
	  .faults = { S(70, 88, 256, 2), S(130, 264, 384, 2) } },
	{ .fn = narrow_packed,
	  .size = { S(40, 136, 264, 0), S(1, 128, 128, 1), S(70, 88, 200, 4), S(16, 160, 392, 3),
	    S(33, 128, 120, 6), S(64, 72, 256, 7), S(5, 8, 328, 14), S(17, 200, 136, 20) },
	  .faults = { S(70, 88, 200, 4), S(130, 264, 392, 4) } },
	{ .fn = narrow_packed,
	  .size = { S(33, 72, 136, 8), S(17, 96, 200, 11), S(40, 8, 264, 12), S(5, 136, 72, 15),
	    S(64, 40, 128, 16), S(9, 64, 64, 18), S(1, 104, 328, 17), S(20, 88, 192, 21) },
	  .faults = { S(40, 8, 264, 12), S(130, 264, 392, 12) } },
	{ .fn = narrow_packed,
	  .size = { S(33, 72, 136, 22), S(17, 96, 200, 25), S(40, 8, 264, 26), S(5, 136, 72, 29),
	    S(64, 40, 128, 30), S(9, 64, 64, 33), S(1, 104, 328, 36), S(20, 88, 192, 37) },
	  .faults = { S(40, 8, 264, 26), S(130, 264, 392, 26) } },
	{ .fn = mxfp4,
	  .size = { S(64, 64, 64, 0), S(1, 16, 32, 0), S(70, 96, 96, 0), S(128, 144, 128, 0),
	    S(65, 80, 160, 0), S(33, 208, 64, 0), S(16, 64, 256, 0), S(130, 16, 32, 0) } },
	{ .fn = convolution,
	  .size = { S(1, 64, 64, 8), S(2, 24, 40, 9), S(1, 8, 8, 5), S(3, 16, 72, 4), S(1, 72, 16, 11),
	    S(2, 64, 32, 7), S(1, 136, 24, 6), S(4, 8, 64, 3) } },
};

/* With the best candidate; test/infer/run-join.sh has others.  Faults are planted in other products. */
static const Example complex_pairs = {
	.fn = complex_numbers,
	.size = { S(64, 64, 64, 0), S(1, 7, 5, 0), S(33, 20, 20, 0), S(70, 9, 40, 0), S(17, 72, 33, 0),
	    S(65, 64, 16, 0), S(16, 20, 100, 0), S(130, 16, 12, 0) },
};

TEST(complex_gemm)
{
	example_sizes(&complex_pairs);
}

EXAMPLES(example);
