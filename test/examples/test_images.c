/* test_images.c - tests examples whose tiles are tensor windows that extend out of bounds: convolutions and
 * pooling, against their sums in double. */
#include "test/examples/util_case.h"
#include <math.h>

/* m: batch, n: filters, k: channels, h: height, d: dilation, x: stride; width is h + 2, 3 x 3 filters. */
static void
convolution(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int h = s->h, w = s->h + 2, p = (h - 1) / s->x + 1, q = (w - 1) / s->x + 1;

	case_start(&c, 8);
	case_def(&c, "STRIDE", s->x);
	case_def(&c, "DILATION", s->d);
	case_def(&c, "PAD", s->d);
	case_def(&c, "TP", 4);
	case_def(&c, "BN", s->n > 32 ? 64 : 32);
	case_def(&c, "BK", s->k % 32 ? 16 : 32);
	case_def(&c, "STAGES", 3);
	Buf *x = case_in(&c, "X", "f16", -1, 1, s->m, h, w, s->k, 0),
	        *f = case_in(&c, "F", "f16", -1, 1, s->n, 9, s->k, 0);
	Buf *o = case_out(&c, "Y", "f16", s->m, p, q, s->n, 0);

	for (int64_t at = 0; at < o->n; at++) {
		int n = (int)(at % s->n), j = (int)(at / s->n % q), i = (int)(at / s->n / q % p);
		int b = (int)(at / s->n / q / p);
		double mag = 0;

		for (int r = 0; r < 9; r++) {
			int y = i * s->x + (r / 3 - 1) * s->d, z = j * s->x + (r % 3 - 1) * s->d;
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
	*ncand = case_run(&c, "conv2d", NULL, arch, cand);
	case_end(&c);
}

/* m: batch, k: channels, h: height, x: stride; width is h + 3, windows of 3 x 3. */
static void
pooling(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int h = s->h, w = s->h + 3, p = (h - 1) / s->x + 1, q = (w - 1) / s->x + 1;

	case_start(&c, 9);
	case_def(&c, "STRIDE", s->x);
	/* below 0, so that a zero from outside would be the largest */
	Buf *x = case_in(&c, "X", "f16", -2, -1, s->m, h, w, s->k, 0);
	Buf *o = case_out(&c, "Y", "f16", s->m, p, q, s->k, 0);

	for (int64_t at = 0; at < o->n; at++) {
		int n = (int)(at % s->k), j = (int)(at / s->k % q), i = (int)(at / s->k / q % p);
		int b = (int)(at / s->k / q / p);

		o->v[at] = -INFINITY;
		for (int r = 0; r < 9; r++) {
			int y = i * s->x + r / 3 - 1, z = j * s->x + r % 3 - 1;

			if (y >= 0 && y < h && z >= 0 && z < w)
				o->v[at] = fmax(o->v[at], x->v[(((int64_t)b * h + y) * w + z) * s->k + n]);
		}
		o->allow[at] = 0;
	}
	*ncand = case_run(&c, "max_pool", NULL, arch, cand);
	case_end(&c);
}

/* m: batch, n: length, k: channels, x: taps. */
static void
causal(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 10);
	case_def(&c, "TAPS", s->x);
	Buf *x = case_in(&c, "X", "f16", -1, 1, s->m, s->n, s->k, 0);
	Buf *w = case_in(&c, "W", "f16", -1, 1, s->x, s->k, 0);
	Buf *bias = case_in(&c, "bias", "f16", -1, 1, s->k, 0);
	Buf *o = case_out(&c, "Y", "f16", s->m, s->n, s->k, 0);

	for (int64_t at = 0; at < o->n; at++) {
		int d = (int)(at % s->k), l = (int)(at / s->k % s->n);
		double y = bias->v[d], mag = fabs(y), e;

		for (int t = 0; t < s->x; t++) {
			int64_t from = at + (int64_t)(t - s->x + 1) * s->k;
			double term = l + t - s->x + 1 < 0 ? 0 : x->v[from] * w->v[(int64_t)t * s->k + d];

			y += term;
			mag += fabs(term);
		}
		o->v[at] = y / (1 + exp(-y));
		/* y / (1 + e^-y) is at most 1.1 steep; exp is good to 2^-21 and abs(y) 2^-23, the quotient to
		 * 2^-20 (hexc/LANGUAGE.md) */
		e = 1.1 * sum_error(mag, s->x + 1) + fabs(o->v[at]) * ((8 + fabs(y)) * U32 + 0x1p-20);
		o->allow[at] = 1.01 * e + ulp2(o->type, fabs(o->v[at]) + e);
	}
	*ncand = case_run(&c, "causal_conv", NULL, arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_, h_, d_, x_) { .m = m_, .n = n_, .k = k_, .h = h_, .d = d_, .x = x_ }
static const Example example[] = {
	{ .fn = convolution,
	  .size = { S(1, 64, 64, 8, 1, 1), S(2, 24, 48, 9, 1, 2), S(1, 8, 16, 5, 2, 1), S(3, 16, 32, 4, 1, 1),
	    S(1, 72, 16, 11, 3, 1), S(2, 64, 32, 7, 2, 2), S(1, 136, 32, 6, 1, 3), S(4, 8, 64, 1, 1, 1) },
	  .faults = { S(3, 136, 64, 12, 1, 1), S(3, 136, 72, 13, 1, 1) } },
	{ .fn = pooling,
	  .size = { S(1, 0, 64, 8, 0, 2), S(2, 0, 24, 9, 0, 2), S(1, 0, 8, 5, 0, 1), S(3, 0, 16, 4, 0, 1),
	    S(1, 0, 72, 11, 0, 3), S(2, 0, 128, 7, 0, 2), S(1, 0, 136, 6, 0, 1), S(4, 0, 8, 1, 0, 1) } },
	{ .fn = causal,
	  .size = { S(1, 64, 64, 0, 0, 4), S(2, 7, 24, 0, 0, 4), S(1, 1, 8, 0, 0, 4), S(3, 33, 200, 0, 0, 2),
	    S(1, 200, 72, 0, 0, 3), S(2, 31, 128, 0, 0, 4), S(1, 100, 136, 0, 0, 8), S(4, 2, 8, 0, 0, 4) } },
};

EXAMPLES(example);
