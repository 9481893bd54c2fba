/* test_serving.c - tests the inference steps around a model's GEMMs in examples/ against their formulas in
 * double: an embedding, an 8-bit cache, quantization, the maximum of rows. */
#include "test/examples/util_case.h"
#include <math.h>

/* A scale and what it divides: two approximate divisions (LANGUAGE.md, Precision), relative. */
#define SCALED (2 * 0x1p-22 + 2 * U32)

static void
embedding(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { ROWS = 50 };
	Case c;
	Buf *token, *table, *y;

	case_start(&c, 31);
	token = case_in(&c, "I", "i32", -1, ROWS, s->m, 0);
	table = case_in(&c, "E", "f16", -1, 1, ROWS, s->n, 0);
	y = case_out(&c, "Y", "f16", s->m, s->n, 0);
	for (int t = 0; t < s->m; t++)
		for (int d = 0; d < s->n; d++)
			if (token->v[t] >= 0 && token->v[t] < ROWS)
				y->v[(int64_t)t * s->n + d] = table->v[(int64_t)token->v[t] * s->n + d];
	*ncand = case_run(&c, "embedding", NULL, arch, cand);
	case_end(&c);
}

/* `rows` runs of n numbers, `apart` from one another, become numbers of q below `most` and one scale.
 * Rounding to the type of q is half of the distance of its neighbours, 1 of integers. */
static void
quantized(const double *x, int rows, int n, int64_t apart, double most, Buf *q, int64_t at, Buf *scale,
          int64_t nth)
{
	double top = 0, one;

	for (int i = 0; i < rows; i++)
		for (int j = 0; j < n; j++)
			top = fmax(top, fabs(x[i * apart + j]));
	one = top > 0 ? top / most : 1;
	scale->v[nth] = one;
	scale->allow[nth] = one * SCALED;
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < n; j++) {
			double want = x[i * apart + j] / one, off = fabs(want) * SCALED;
			int64_t to = at + i * apart + j;

			q->v[to] = want;
			q->allow[to] = off + (q->type->kind == 'f' ? ulp2(q->type, fabs(want) + off) : 0.5);
		}
}

static void
kv_append(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { D = 128 };
	Case c;
	Buf *slot, *from[2], *to[2], *scale[2];
	int slots = s->m + 5;

	case_start(&c, 32);
	slot = case_in(&c, "SLOT", "i32", 0, 0, s->m, 0);
	from[0] = case_in(&c, "K", "f16", -2, 2, s->m, s->h, D, 0);
	from[1] = case_in(&c, "V", "f16", -2, 2, s->m, s->h, D, 0);
	to[0] = case_inout(&c, "KC", "i8", -128, 127, slots, s->h, D, 0);
	to[1] = case_inout(&c, "VC", "i8", -128, 127, slots, s->h, D, 0);
	scale[0] = case_inout(&c, "KS", "f32", 0, 1, slots, s->h, 0);
	scale[1] = case_inout(&c, "VS", "f32", 0, 1, slots, s->h, 0);
	for (int d = 0; d < D; d++) /* a head of zeros */
		buf_set(from[0], d, 0);
	for (int t = 0; t < s->m; t++) {
		buf_set(slot, t, t == 3 ? -1 : slots - 1 - t);
		for (int i = 0; i < 2 && t != 3; i++)
			for (int h = 0; h < s->h; h++) {
				int64_t at = (int64_t)slot->v[t] * s->h + h;

				quantized(from[i]->v + ((int64_t)t * s->h + h) * D, 1, D, 0, 127, to[i],
				          at * D, scale[i], at);
			}
	}
	*ncand = case_run(&c, "kv_append", NULL, arch, cand);
	case_end(&c);
}

static void
token_int8(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *q, *scale;

	case_start(&c, 33);
	x = case_in(&c, "X", "f16", -3, 3, s->m, s->n, 0);
	q = case_out(&c, "Q", "i8", s->m, s->n, 0);
	scale = case_out(&c, "S", "f32", s->m, 0);
	for (int m = 0; m < s->m; m++)
		quantized(x->v + (int64_t)m * s->n, 1, s->n, 0, 127, q, (int64_t)m * s->n, scale, m);
	*ncand = case_run(&c, "quantize", "token_int8", arch, cand);
	case_end(&c);
}

/* d by k numbers have one scale. */
static void
block_fp8(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *q, *scale;
	int wide = s->n / s->k;

	case_start(&c, 34);
	case_def(&c, "ROWS", s->d);
	case_def(&c, "COLS", s->k);
	x = case_in(&c, "X", "f16", -3, 3, s->m, s->n, 0);
	q = case_out(&c, "Q", "e4m3", s->m, s->n, 0);
	scale = case_out(&c, "S", "f32", s->m / s->d, wide, 0);
	for (int m = 0; m < s->m; m += s->d)
		for (int k = 0; k < s->n; k += s->k)
			quantized(x->v + (int64_t)m * s->n + k, s->d, s->k, s->n, 448, q,
			          (int64_t)m * s->n + k, scale, m / s->d * wide + k / s->k);
	*ncand = case_run(&c, "quantize", "block_fp8", arch, cand);
	case_end(&c);
}

/* The largest but those before it, of equal ones the first. */
static void
top_k(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *value, *index;

	case_start(&c, 35);
	case_def(&c, "K", s->k);
	x = case_in(&c, "X", "f32", -1, 1, s->m, s->n, 0);
	for (int i = 0; i < x->n; i += 3) /* equal ones */
		buf_set(x, i, floor(x->v[i] * 8) / 8);
	value = case_out(&c, "V", "f32", s->m, s->k, 0);
	index = case_out(&c, "I", "i32", s->m, s->k, 0);
	for (int m = 0; m < s->m; m++) {
		const double *row = x->v + (int64_t)m * s->n;
		double last = INFINITY;
		int at = s->n;

		for (int k = 0; k < s->k; k++) {
			int best = -1;

			for (int j = 0; j < s->n; j++)
				if ((row[j] < last || (!(row[j] > last) && j > at)) &&
				    (best < 0 || row[j] > row[best]))
					best = j;
			last = row[best];
			at = best;
			value->v[m * s->k + k] = last;
			index->v[m * s->k + k] = at;
		}
	}
	*ncand = case_run(&c, "top_k", NULL, arch, cand);
	case_end(&c);
}

#define R(m_, n_) { .m = m_, .n = n_ }
#define H(m_, h_) { .m = m_, .h = h_ }
#define B(m_, n_, d_, k_) { .m = m_, .n = n_, .d = d_, .k = k_ }
static const Example example[] = {
	{ .fn = embedding,
	  .size = { R(32, 256), R(1, 1), R(37, 200), R(5, 7), R(16, 33), R(3, 1000), R(64, 64),
	    R(2, 2880) } },
	{ .fn = kv_append,
	  .size = { H(8, 2), H(1, 1), H(7, 3), H(16, 1), H(5, 4), H(33, 1), H(4, 2), H(12, 8) } },
	{ .fn = token_int8,
	  .size = { R(4, 2048), R(1, 1), R(3, 1333), R(2, 7), R(5, 33), R(2, 2880), R(1, 4304), R(7, 200) } },
	{ .fn = block_fp8,
	  .size = { B(32, 256, 1, 128), B(1, 128, 1, 128), B(37, 384, 1, 128), B(128, 128, 128, 128),
	    B(5, 64, 1, 64), B(256, 256, 128, 128), B(12, 96, 4, 32), B(20, 128, 1, 32) } },
	{ .fn = top_k,
	  .size = { B(4, 1024, 0, 8), B(1, 1, 0, 1), B(3, 333, 0, 8), B(2, 7, 0, 7), B(5, 33, 0, 4),
	    B(2, 200, 0, 16), B(1, 1000, 0, 2), B(6, 64, 0, 8) } },
};

EXAMPLES(example);
