/* test_demo.c - tests the examples of `make demo` on more sizes, targets and candidates: plain and w4a16
 * GEMM, softmax, layer normalization, an elementwise sum. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
gemm(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand, bool wide)
{
	Case c;
	case_start(&c, 1);
	if (wide) { /* 144 KiB of shared memory, where there are as many, or 48 */
		bool much = !strcmp(arch, "sm_80") || !strcmp(arch, "sm_90a");

		case_def(&c, "BN", 256);
		case_def(&c, "BK", much ? 64 : 32);
		case_def(&c, "STAGES", much ? 3 : 2);
		case_def(&c, "WARPS", 8);
	}
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *b = case_in(&c, "B", "f16", -1, 1, s->n, s->k, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			Sum d = sum_products(a, (int64_t)i * s->k, b, (int64_t)j * s->k, s->k);

			o->v[at] = d.x;
			o->allow[at] = 1.001 * (ulp2(o->type, d.x) + sum_error(d.mag, s->k));
		}
	*ncand = case_run(&c, "gemm_f16", NULL, arch, cand);
	case_end(&c);
}

static void
gemm_default(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	gemm(s, arch, ncand, cand, false);
}

static void
gemm_wide(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	gemm(s, arch, ncand, cand, true);
}

/* A 4-bit weight product; zero points from a tensor or, symmetric, all 8.  The weight, less its zero point
 * exact in f16, is rounded once when it is scaled. */
static void
w4a16(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand, bool zeros)
{
	enum { G = 128 };
	int groups = s->k / G;
	Case c;

	case_start(&c, 2);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "u4", 0, 15, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "f16", 0.01, 0.1, groups, s->n, 0);
	Buf *z = zeros ? case_in(&c, "Z", "u4", 0, 15, groups, s->n, 0) : NULL;
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);
	double *x = malloc(sizeof *x * (size_t)s->n * (size_t)s->k);

	ck_assert_ptr_nonnull(x);
	for (int j = 0; j < s->n; j++)
		for (int q = 0; q < s->k; q++) {
			int64_t at = (int64_t)j * s->k + q, g = q / G * s->n + j;

			x[at] = (w->v[at] - (z ? z->v[g] : 8)) * sc->v[g];
		}
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			const double *row = &a->v[(int64_t)i * s->k], *col = &x[(int64_t)j * s->k];
			int64_t at = (int64_t)i * s->n + j;
			double sum = 0, mag = 0;

			for (int q = 0; q < s->k; q++) {
				sum += row[q] * col[q];
				mag += fabs(row[q] * col[q]);
			}
			o->v[at] = sum;
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.01 * mag * (U16 + (s->k + 2) * U32);
		}
	free(x);
	*ncand = case_run(&c, zeros ? "gemm_w4a16" : "gemm_w4a16_sym", NULL, arch, cand);
	case_end(&c);
}

static void
w4a16_zeros(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	w4a16(s, arch, ncand, cand, true);
}

static void
w4a16_sym(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	w4a16(s, arch, ncand, cand, false);
}

static void
softmax(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 3);
	Buf *x = case_in(&c, "X", "f32", -8, 8, s->m, s->n, 0), *y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	case_softmax(x, y, s->m, s->n);
	*ncand = case_run(&c, "softmax", NULL, arch, cand);
	case_end(&c);
}

static void
layer_norm(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	double eps = (float)1e-5;
	Case c;

	case_start(&c, 4);
	case_num(&c, "eps", eps);
	Buf *x = case_in(&c, "X", "f32", -2, 2, s->m, s->n, 0),
	        *g = case_in(&c, "gamma", "f32", 0.5, 1.5, s->n, 0);
	Buf *b = case_in(&c, "beta", "f32", -1, 1, s->n, 0), *y = case_out(&c, "Y", "f32", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++) {
		const double *r = x->v + (int64_t)i * s->n;
		double mean = 0, mag = 0, var = 0, e, scale;

		for (int j = 0; j < s->n; j++) {
			mean += r[j] / s->n;
			mag += fabs(r[j]) / s->n;
		}
		for (int j = 0; j < s->n; j++)
			var += (r[j] - mean) * (r[j] - mean) / s->n;
		scale = 1 / sqrt(var + eps);
		/* sums of n terms in f32 in any order */
		e = 1.01 * U32 * (s->n + 2);
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double d = r[j] - mean, ed = mag * e + U32 * fabs(d);
			/* relative: the variance's error halves in the root; each d is off by mag * e,
			 * which to first order cancels in the sum of squares and to second adds its square;
			 * rsqrt.approx is good to 2^-22.9 (PTX ISA) */
			double square = (e + 4 * U32) * var + mag * mag * e * e + 2 * mag * e * sqrt(var);
			double es = 0.5 * square / (var + eps) + 0x1p-22;

			y->v[at] = d * scale * g->v[j] + b->v[j];
			y->allow[at] = 1.01 * scale * g->v[j] * (ed + fabs(d) * (es + 2 * U32)) +
			               2 * U32 * (fabs(y->v[at]) + fabs(b->v[j]));
		}
	}
	*ncand = case_run(&c, "layer_norm", NULL, arch, cand);
	case_end(&c);
}

static void
vector_add(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 5);
	Buf *a = case_in(&c, "A", "f32", -1, 1, s->n, 0), *b = case_in(&c, "B", "f32", -1, 1, s->n, 0);
	Buf *o = case_out(&c, "C", "f32", s->n, 0);

	for (int i = 0; i < s->n; i++)
		o->v[i] = (float)(a->v[i] + b->v[i]); /* one rounding: f64 holds the exact sum of such f32 */
	*ncand = case_run(&c, "vector_add", NULL, arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_) { .m = m_, .n = n_, .k = k_ }
static const Example example[] = {
	{ .fn = gemm_default,
	  .size = { S(128, 128, 64), S(1, 8, 8), S(70, 88, 104), S(130, 136, 96), S(65, 72, 136),
	    S(33, 200, 72), S(16, 64, 200), S(140, 16, 24) } },
	{ .fn = gemm_wide,
	  .size = { S(128, 256, 128), S(1, 8, 8), S(70, 344, 200), S(130, 264, 96), S(65, 72, 264),
	    S(33, 200, 136), S(16, 512, 72), S(140, 16, 328) } },
	{ .fn = w4a16_zeros,
	  .size = { S(64, 128, 128), S(1, 32, 128), S(70, 160, 256), S(33, 96, 384), S(16, 64, 128),
	    S(5, 192, 256), S(65, 32, 128), S(17, 128, 256) } },
	{ .fn = w4a16_sym,
	  .size = { S(64, 128, 128), S(1, 32, 128), S(70, 160, 256), S(33, 96, 384), S(16, 64, 128),
	    S(5, 192, 256), S(65, 32, 128), S(17, 128, 256) } },
	{ .fn = softmax,
	  .size = { S(4, 256, 0), S(1, 1, 0), S(7, 333, 0), S(5, 100, 0), S(2, 2048, 0), S(9, 257, 0),
	    S(3, 1000, 0), S(64, 32, 0) } },
	{ .fn = layer_norm,
	  .size = { S(4, 1024, 0), S(1, 8, 0), S(7, 333, 0), S(5, 100, 0), S(2, 768, 0), S(9, 257, 0),
	    S(3, 1000, 0), S(64, 32, 0) } },
	{ .fn = vector_add,
	  .size = { S(0, 1024, 0), S(0, 1, 0), S(0, 1333, 0), S(0, 100, 0), S(0, 2048, 0), S(0, 4097, 0),
	    S(0, 1000, 0),
	    S(0, 32, 0) } },
};

/* What orders their threads is taken away from these programs in test_gemm.c, in smaller tiles. */
TEST_EACH(sizes, COUNT_OF(example))
{
	example_sizes(&example[_i]);
}

TEST_EACH(candidates, COUNT_OF(example))
{
	example_candidates(&example[_i]);
}
TEST_PROGRAM(.timeout = 3600);
