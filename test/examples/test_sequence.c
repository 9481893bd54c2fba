/* test_sequence.c - tests attention, selective scan and long softmax of examples/ against their formulas in
 * double. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attention ------------------------------------------------------------------------------------ */

/* One row of attention: n keys of d numbers at k[j * step], as many values of dv at v; `o` gets dv numbers,
 * `allow` how far off a kernel may be that multiplies f16 in f32, rounds probabilities to f16 and uses
 * ex2.approx. */
static void
attend(const double *q, const double *k, const double *v, int64_t step, int n, int d, int dv, double scale,
       double *o, double *allow)
{
	double *p = calloc((size_t)n + 1, sizeof *p), top = -INFINITY, sum = 0, err = 0;

	for (int j = 0; j < n; j++) {
		double mag = 0;

		for (int i = 0; i < d; i++) {
			p[j] += q[i] * k[j * step + i];
			mag += fabs(q[i] * k[j * step + i]);
		}
		/* error of the exponent: the sum's, and three roundings of a number of this size */
		err = fmax(err, fabs(scale) * mag * (d + 6) * U32);
		p[j] *= scale;
		top = fmax(top, p[j]);
	}
	for (int j = 0; j < n; j++)
		sum += p[j] = exp(p[j] - top);
	/* 2^-22 for ex2.approx (PTX ISA); a running sum is scaled and added to n times */
	err = 2 * expm1(err * 2) + 0x1p-21 + 4.0 * (n + d) * U32;
	for (int i = 0; i < dv; i++) {
		double x = 0, mag = 0;

		for (int j = 0; j < n; j++) {
			x += p[j] / sum * v[j * step + i];
			mag += p[j] / sum * fabs(v[j * step + i]);
		}
		o[i] = x;
		allow[i] = mag * (err + U16 * 1.01) + 0x1p-25 * n;
	}
	free(p);
}

static void
attention(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int seen, causal = s->x;
	double scale = (float)(1 / sqrt(s->d));

	case_start(&c, 1);
	case_def(&c, "D", s->d);
	case_def(&c, "CAUSAL", causal);
	if (s->k)
		case_def(&c, "STAGES", s->k);
	if (s->d > 64 && !strcmp(arch, "sm_75")) { /* 64 KiB of shared memory */
		case_def(&c, "BN", s->d == 256 ? 16 : 32);
		case_def(&c, "BM", s->d == 256 ? 32 : 64);
	} else if (s->d == 256) {
		case_def(&c, "BN", 32);
	}
	case_num(&c, "scale", scale);
	Buf *q = case_in(&c, "Q", "f16", -2, 2, s->b, s->m, s->h, s->d, 0);
	Buf *k = case_in(&c, "K", "f16", -2, 2, s->b, s->n, s->hk, s->d, 0);
	Buf *v = case_in(&c, "V", "f16", -2, 2, s->b, s->n, s->hk, s->d, 0);
	Buf *o = case_out(&c, "O", "f16", s->b, s->m, s->h, s->d, 0);

	for (int b = 0; b < s->b; b++)
		for (int i = 0; i < s->m; i++)
			for (int h = 0; h < s->h; h++) {
				int64_t at = (((int64_t)b * s->m + i) * s->h + h) * s->d;
				int64_t kv = ((int64_t)b * s->n * s->hk + h / (s->h / s->hk)) * s->d;

				seen = causal && i + s->n - s->m + 1 < s->n ? i + s->n - s->m + 1 : s->n;
				if (seen > 0)
					attend(q->v + at, k->v + kv, v->v + kv, (int64_t)s->hk * s->d, seen,
					       s->d, s->d, scale, o->v + at, o->allow + at);
				for (int e = 0; e < s->d; e++)
					o->allow[at + e] += ulp2(o->type, o->v[at + e]);
			}
	*ncand = case_run(&c, "attention", NULL, arch, cand);
	case_end(&c);
}

/* What stands in a page of `each` positions behind the first `count` of them is no number. */
static void
spoil_behind(Buf *cache, int page, int each, int count)
{
	int64_t row = cache->n / cache->dim[0] / each;
	int first = count < 0 ? 0 : count < each ? count : each;

	buf_spoil(cache, ((int64_t)page * each + first) * row, (each - first) * row);
}

/* n: positions of the longest sequence; x: pages of a block. */
static void
paged(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { PAGE = 64 };
	Case c;
	int pages = (s->n + PAGE - 1) / PAGE, parts = (pages + s->x - 1) / s->x, all = s->b * pages + 3;
	int row = s->hk * s->d;
	double scale = (float)(1 / sqrt(s->d)), *seq;

	all += all % 7 == 0; /* each page is one sequence's */
	case_start(&c, 2);
	case_def(&c, "D", s->d);
	case_def(&c, "G", s->h / s->hk);
	case_def(&c, "SPLIT", s->x);
	case_num(&c, "scale", scale);
	Buf *q = case_in(&c, "Q", "f16", -2, 2, s->b, s->h, s->d, 0);
	Buf *k = case_in(&c, "K", "f16", -2, 2, all, PAGE, s->hk, s->d, 0);
	Buf *v = case_in(&c, "V", "f16", -2, 2, all, PAGE, s->hk, s->d, 0);
	Buf *t = case_in(&c, "T", "i32", 0, 0, s->b, pages, 0), *len = case_in(&c, "L", "i32", 0, 0, s->b, 0);
	Buf *a = case_out(&c, "A", "f32", s->b, parts, s->h, s->d, 0),
	        *w = case_out(&c, "W", "f32", s->b, parts, s->h, 2, 0);
	Buf *o = case_out(&c, "O", "f16", s->b, s->h, s->d, 0);

	seq = calloc(2 * (size_t)pages * PAGE * (size_t)row, sizeof *seq);
	for (int64_t i = 0; i < a->n; i++)
		a->allow[i] = -1;
	for (int64_t i = 0; i < w->n; i++)
		w->allow[i] = -1;
	for (int b = 0; b < s->b; b++) {
		double *sk = seq, *sv = seq + (size_t)pages * PAGE * (size_t)row;
		int n = b == 0 ? s->n : 1 + (b * 37) % s->n;

		buf_set(len, b, n);
		for (int p = 0; p < pages; p++) {
			/* 7 and the count of pages have no common factor */
			int from = (b + p * s->b) * 7 % all;

			buf_set(t, b * pages + p, from);
			for (int i = 0; i < PAGE * row; i++) {
				sk[p * PAGE * row + i] = k->v[(int64_t)from * PAGE * row + i];
				sv[p * PAGE * row + i] = v->v[(int64_t)from * PAGE * row + i];
			}
			spoil_behind(k, from, PAGE, n - p * PAGE);
			spoil_behind(v, from, PAGE, n - p * PAGE);
		}
		for (int h = 0; h < s->h; h++) {
			int64_t at = ((int64_t)b * s->h + h) * s->d, kv = (int64_t)(h / (s->h / s->hk)) *
			                                                  s->d;

			attend(q->v + at, sk + kv, sv + kv, row, n, s->d, s->d, scale, o->v + at,
			       o->allow + at);
			for (int e = 0; e < s->d; e++)
				o->allow[at + e] += ulp2(o->type, o->v[at + e]);
		}
	}
	free(seq);
	*ncand = case_run(&c, "paged_attention", "decode", arch, cand);
	c.ndef = 1; /* `combine` knows D only */
	case_run(&c, "paged_attention", "combine", arch, 0);
	case_end(&c);
}

/* m heads share keys of d + hk numbers and values of d.  n, x: as above; h: positions of a page. */
static void
latent(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int pages = (s->n + s->h - 1) / s->h, parts = (pages + s->x - 1) / s->x, all = s->b * pages + 3;
	int wide = s->d + s->hk;
	double scale = (float)(1 / sqrt(wide)), *seq;

	all += all % 7 == 0;
	case_start(&c, 5);
	/* a lane has 18 numbers of such a tile, 4 bytes each time: zeros behind the end are stored in twice
	 * the time */
	c.scattered = s->h == 16;
	case_def(&c, "R", s->d);
	case_def(&c, "E", s->hk);
	case_def(&c, "PAGE", s->h);
	case_def(&c, "BN", s->h == 16 ? 16 : 32);
	case_def(&c, "STAGES", s->d == 512 ? 1 : 2);
	case_def(&c, "SPLIT", s->x);
	case_num(&c, "scale", scale);
	Buf *q = case_in(&c, "Q", "f16", -2, 2, s->b, s->m, wide, 0);
	Buf *k = case_in(&c, "C", "f16", -2, 2, all, s->h, wide, 0);
	Buf *t = case_in(&c, "T", "i32", 0, 0, s->b, pages, 0), *len = case_in(&c, "L", "i32", 0, 0, s->b, 0);
	Buf *a = case_out(&c, "A", "f32", s->b, parts, s->m, s->d, 0),
	        *w = case_out(&c, "W", "f32", s->b, parts, s->m, 2, 0);
	Buf *o = case_out(&c, "O", "f16", s->b, s->m, s->d, 0);

	seq = calloc((size_t)pages * (size_t)s->h * (size_t)wide, sizeof *seq);
	for (int64_t i = 0; i < a->n; i++)
		a->allow[i] = -1;
	for (int64_t i = 0; i < w->n; i++)
		w->allow[i] = -1;
	for (int b = 0; b < s->b; b++) {
		int n = b == 0 ? s->n : 1 + (b * 37) % s->n;
		int64_t page = (int64_t)s->h * wide;

		buf_set(len, b, n);
		for (int p = 0; p < pages; p++) {
			int from = (b + p * s->b) * 7 % all;

			buf_set(t, b * pages + p, from);
			memcpy(seq + p * page, k->v + from * page, (size_t)page * sizeof *seq);
			spoil_behind(k, from, s->h, n - p * s->h);
		}
		for (int h = 0; h < s->m; h++) {
			int64_t at = (int64_t)b * s->m + h;

			attend(q->v + at * wide, seq, seq, wide, n, wide, s->d, scale, o->v + at * s->d,
			       o->allow + at * s->d);
			for (int64_t e = at * s->d; e < (at + 1) * s->d; e++)
				o->allow[e] += ulp2(o->type, o->v[e]);
		}
	}
	free(seq);
	*ncand = case_run(&c, "mla_decode", NULL, arch, cand);
	c.ndef = 0;
	case_def(&c, "D", s->d);
	case_run(&c, "paged_attention", "combine", arch, 0);
	case_end(&c);
}

/* ---- selective scan: b sequences, m steps, n channels ------------------------------------------------ */

static void
scan(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { N = 16 };
	Case c;
	int T = s->m, C = s->n;

	case_start(&c, 3);
	Buf *x = case_in(&c, "X", "f16", -1, 1, s->b, T, C, 0),
	        *dt = case_in(&c, "DT", "f16", -2, 2, s->b, T, C, 0);
	Buf *a = case_in(&c, "A", "f32", -2, -0.1, C, N, 0),
	        *bm = case_in(&c, "BM", "f16", -1, 1, s->b, T, N, 0);
	Buf *cm = case_in(&c, "CM", "f16", -1, 1, s->b, T, N, 0),
	        *skip = case_in(&c, "SKIP", "f32", -1, 1, C, 0);
	Buf *z = case_in(&c, "Z", "f16", -3, 3, s->b, T, C, 0),
	        *bias = case_in(&c, "BIAS", "f32", -1, 1, C, 0);
	Buf *y = case_out(&c, "Y", "f16", s->b, T, C, 0), *last = case_out(&c, "LAST", "f32", s->b, C, N, 0);

	for (int b = 0; b < s->b; b++)
		for (int ch = 0; ch < C; ch++) {
			double h[N] = { 0 }, err[N] = { 0 };

			for (int t = 0; t < T; t++) {
				int64_t at = ((int64_t)b * T + t) * C + ch, st = ((int64_t)b * T + t) * N;
				double d = log1p(exp(dt->v[at] + bias->v[ch])), sum = 0, mag = 0, e = 0, g;
				/* log(1 + exp(x)) in f32 is off by some 2^-22 absolutely, then the
				 * product's rounding */
				double ed = 0x1p-21 + 4 * U32 * d;

				for (int i = 0; i < N; i++) {
					double f = exp(d * a->v[ch * N + i]),
					       in = d * x->v[at] * bm->v[st + i];

					/* relative error of the decay: of its exponent, and of ex2.approx
					 * (2^-22, PTX ISA); a scan multiplies and adds at most log2(16) + 2
					 * times to get here */
					double steps = ed * fabs(a->v[ch * N + i]) * 1.5 + 0x1p-21 + 12 * U32;

					err[i] = f * err[i] + fabs(h[i]) * f * steps;
					err[i] += fabs(in) * (ed / d + 12 * U32);
					h[i] = f * h[i] + in;
					err[i] += 8 * U32 * fabs(h[i]);
					sum += h[i] * cm->v[st + i];
					mag += fabs(h[i] * cm->v[st + i]);
					e += err[i] * fabs(cm->v[st + i]);
				}
				g = z->v[at] / (1 + exp(-z->v[at]));
				sum += skip->v[ch] * x->v[at];
				y->v[at] = sum * g;
				y->allow[at] = ulp2(y->type, y->v[at]) +
				               1.01 * fabs(g) *
				                       (e + (mag + 1) * 24 * U32 + fabs(sum) * 0x1p-19);
			}
			for (int i = 0; i < N; i++) {
				last->v[((int64_t)b * C + ch) * N + i] = h[i];
				last->allow[((int64_t)b * C + ch) * N + i] = 1.01 * err[i];
			}
		}
	*ncand = case_run(&c, "selective_scan", NULL, arch, cand);
	case_end(&c);
}

/* ---- softmax ------------------------------------------------------------------------------------------ */

static void
softmax(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 4);
	Buf *x = case_in(&c, "X", "f32", -8, 8, s->m, s->n, 0), *y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	case_softmax(x, y, s->m, s->n);
	*ncand = case_run(&c, "softmax_long", NULL, arch, cand);
	case_end(&c);
}

#define S(b_, m_, n_, h_, hk_, d_, x_) \
	{ .b = b_, .m = m_, .n = n_, .h = h_, .hk = hk_, .d = d_, .x = x_ }
#define DEEP(b_, m_, n_, d_, x_) \
	{ .b = b_, .m = m_, .n = n_, .h = 1, .hk = 1, .d = d_, .x = x_, .k = 3 }
static const Example example[] = {
	{ .fn = attention,
	  .size = { S(1, 64, 64, 1, 1, 64, 0), S(1, 70, 70, 2, 1, 128, 1), S(2, 33, 100, 4, 2, 64, 1),
	    S(1, 1, 130, 2, 2, 128, 0), S(1, 130, 60, 1, 1, 256, 1), S(2, 17, 40, 2, 1, 256, 0),
	    S(1, 130, 130, 1, 1, 64, 1), S(1, 40, 17, 3, 1, 64, 0) },
	  .faults = { S(1, 70, 70, 2, 1, 64, 1), S(1, 200, 330, 2, 1, 64, 1), S(2, 330, 330, 2, 1, 64, 1) } },
	/* three stages: on sm_90a, products of two iterations overlap */
	{ .fn = attention,
	  .size = { DEEP(1, 64, 64, 64, 0), DEEP(1, 70, 70, 64, 1), DEEP(1, 33, 200, 64, 1),
	    DEEP(1, 1, 330, 64, 0), DEEP(1, 130, 60, 64, 1), DEEP(2, 17, 140, 64, 0),
	    DEEP(1, 130, 400, 64, 1), DEEP(1, 40, 257, 64, 0) },
	  .faults = { DEEP(1, 70, 270, 64, 0), DEEP(1, 200, 330, 64, 1), DEEP(1, 330, 650, 64, 1) } },
	{ .fn = paged,
	  .size = { S(2, 0, 128, 8, 1, 128, 1), S(1, 0, 65, 8, 2, 64, 4), S(3, 0, 400, 16, 2, 128, 2),
	    S(4, 0, 200, 4, 4, 64, 2), S(1, 0, 1000, 8, 1, 64, 4), S(2, 0, 63, 8, 2, 128, 1),
	    S(5, 0, 129, 8, 8, 64, 16), S(1, 0, 1, 16, 1, 64, 1) },
	  .faults = { S(2, 0, 400, 8, 2, 64, 4), S(2, 0, 400, 8, 1, 128, 4) } },
	{ .fn = latent,
	  .size = { S(1, 16, 70, 64, 64, 512, 1), S(1, 3, 40, 16, 16, 128, 2), S(2, 17, 100, 32, 32, 64, 1),
	    S(3, 20, 65, 64, 64, 128, 1), S(1, 16, 1, 64, 64, 512, 4), S(1, 40, 300, 128, 64, 64, 1),
	    S(5, 7, 63, 16, 32, 64, 4), S(1, 1, 129, 64, 64, 256, 2) },
	  .faults = { S(1, 7, 300, 64, 64, 64, 4), S(1, 20, 600, 64, 64, 64, 4) } },
	{ .fn = scan,
	  .size = { S(1, 16, 16, 0, 0, 0, 0), S(1, 1, 8, 0, 0, 0, 0), S(2, 37, 40, 0, 0, 0, 0),
	    S(1, 100, 24, 0, 0, 0, 0), S(3, 17, 16, 0, 0, 0, 0), S(1, 64, 33, 0, 0, 0, 0),
	    S(2, 33, 72, 0, 0, 0, 0), S(1, 5, 100, 0, 0, 0, 0) } },
	{ .fn = softmax,
	  .size = { S(0, 1, 2048, 0, 0, 0, 0), S(0, 2, 1, 0, 0, 0, 0), S(0, 3, 5000, 0, 0, 0, 0),
	    S(0, 5, 100, 0, 0, 0, 0), S(0, 1, 40000, 0, 0, 0, 0), S(0, 4, 7001, 0, 0, 0, 0),
	    S(0, 2, 8192, 0, 0, 0, 0), S(0, 7, 333, 0, 0, 0, 0) } },
};

EXAMPLES(example);
