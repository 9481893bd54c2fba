/* cases.c - defines the examples of the demo: their inputs, and the expected outputs by the operator's
 * formula in float64. */
#include "examples/demo/demo.h"
#include <math.h>
#include <stdlib.h>

/* c[m,n] = sum over k of a[m,k] * b(k,n), summed in f32 in any order, rounded to f16 */
static void
product(Tensor *c, const double *a, const double *bt, size_t m, size_t n, size_t k)
{
	for (size_t i = 0; i < m; i++) {
		for (size_t j = 0; j < n; j++) {
			double sum = 0, mass = 0;
			for (size_t l = 0; l < k; l++) {
				double p = a[i * k + l] * bt[j * k + l];
				sum += p;
				mass += fabs(p);
			}
			c->v[i * n + j] = sum;
			c->allow[i * n + j] = (double)k * 0x1p-23 * mass + half_ulp(sum);
		}
	}
}

static void
vector_add(Case *c)
{
	Tensor *a = add(c, "A", F32, 100003, false), *b = add(c, "B", F32, 100003, false);
	Tensor *out = add(c, "C", F32, 100003, true);

	random_fill(a, 1);
	random_fill(b, 2);
	for (size_t i = 0; i < out->n; i++) {
		out->v[i] = a->v[i] + b->v[i];
		out->allow[i] = fabs(out->v[i]) * 0x1p-24;
	}
	size(c, "N", 100003);
}

static void
softmax(Case *c)
{
	Tensor *x = add(c, "X", F32, ROWS * COLS, false), *y = add(c, "Y", F32, ROWS * COLS, true);

	read_npy("examples/data/minilm_tokens_x.npy", x);
	for (size_t i = 0; i < ROWS; i++) {
		const double *row = x->v + i * COLS;
		double top = -INFINITY, low = INFINITY, sum = 0;
		for (size_t j = 0; j < COLS; j++) {
			top = fmax(top, row[j]);
			low = fmin(low, row[j]);
		}
		for (size_t j = 0; j < COLS; j++)
			sum += exp(row[j] - top);
		for (size_t j = 0; j < COLS; j++) {
			double p = exp(row[j] - top) / sum;
			y->v[i * COLS + j] = p;
			/* exp(x) is exp2(x * log2(e)), whose argument is rounded; sums of COLS */
			y->allow[i * COLS + j] = p * (2 * (top - low) + COLS + 16) * 0x1p-23;
		}
	}
	size(c, "M", ROWS);
	size(c, "N", COLS);
}

static void
layer_norm(Case *c)
{
	Tensor *x = add(c, "X", F32, ROWS * COLS, false), *g = add(c, "gamma", F32, COLS, false);
	Tensor *b = add(c, "beta", F32, COLS, false), *y = add(c, "Y", F32, ROWS * COLS, true);

	read_npy("examples/data/minilm_tokens_x.npy", x);
	random_fill(g, 3);
	random_fill(b, 4);
	for (size_t i = 0; i < ROWS; i++) {
		const double *row = x->v + i * COLS;
		double mean = 0, mass = 0, var = 0;
		for (size_t j = 0; j < COLS; j++) {
			mean += row[j] / COLS;
			mass += fabs(row[j]) / COLS;
		}
		for (size_t j = 0; j < COLS; j++)
			var += (row[j] - mean) * (row[j] - mean) / COLS;
		for (size_t j = 0; j < COLS; j++) {
			double scale = g->v[j] / sqrt(var + 1e-5), z = (row[j] - mean) * scale;
			y->v[i * COLS + j] = z + b->v[j];
			/* f32 sums of COLS for the mean and the variance, the rest elementwise */
			y->allow[i * COLS + j] = 0x1p-23 * COLS * (mass * fabs(scale) + fabs(z)) +
			                         0x1p-21 * (fabs(z) + fabs(b->v[j]));
		}
	}
	size(c, "M", ROWS);
	size(c, "N", COLS);
	scalar(c, "eps", 1e-5);
}

static void
gemm_f16(Case *c)
{
	Tensor *a = add(c, "A", F16, ROWS * COLS, false), *b = add(c, "B", F16, COLS * COLS, false);
	Tensor *out = add(c, "C", F16, ROWS * COLS, true);

	read_npy("examples/data/minilm_tokens_x.npy", a);
	read_npy("examples/data/minilm_query_w.npy", b);
	product(out, a->v, b->v, ROWS, COLS, COLS);
	size(c, "M", ROWS);
	size(c, "N", COLS);
	size(c, "K", COLS);
}

/* Rows of w to 4 bits: each group of 128 gets the f16 scale and the whole zero point that map its range
 * onto 0..15; without zero points the range is symmetric around code 8.  Scales and zero points are laid
 * out as [GROUPS, COLS], so that neighbours in n are neighbours in memory. */
static void
quantize(const double *w, Tensor *q, Tensor *s, Tensor *z)
{
	for (size_t g = 0; g < COLS * GROUPS; g++) {
		const double *x = w + g * GROUP;
		size_t at = g % GROUPS * COLS + g / GROUPS;
		double lo = 0, hi = 0, zero = 8, scale;
		for (size_t i = 0; i < GROUP; i++) {
			lo = fmin(lo, x[i]);
			hi = fmax(hi, x[i]);
		}
		scale = to_half(z ? (hi - lo) / 15 : fmax(hi / 7, -lo / 8));
		if (z)
			z->v[at] = zero = fmin(15, nearbyint(-lo / scale));
		s->v[at] = scale;
		for (size_t i = 0; i < GROUP; i++)
			q->v[g * GROUP + i] = fmin(15, fmax(0, nearbyint(x[i] / scale) + zero));
	}
	store(q);
	store(s);
	if (z)
		store(z);
}

double *
dequantized(const Tensor *q, const Tensor *s, const Tensor *z)
{
	double *w = need(q->n, sizeof *w);

	for (size_t i = 0; i < q->n; i++) {
		size_t at = i % COLS / GROUP * COLS + i / COLS;
		w[i] = to_half((q->v[i] - (z ? z->v[at] : 8)) * s->v[at]);
	}
	return w;
}

static void
w4a16(Case *c, bool zeros)
{
	Tensor *a = add(c, "A", F16, ROWS * COLS, false), *q = add(c, "W", U4, COLS * COLS, false);
	Tensor *s = add(c, "S", F16, COLS * GROUPS, false);
	Tensor *z = zeros ? add(c, "Z", U4, COLS * GROUPS, false) : NULL;
	Tensor *out = add(c, "C", F16, ROWS * COLS, true);
	Tensor w = { "", F16, COLS * COLS, false, NULL, NULL, NULL, 0, 0 };
	double *deq;

	read_npy("examples/data/minilm_tokens_x.npy", a);
	w.v = need(w.n, sizeof *w.v);
	w.mem = need(w.n, 2);
	read_npy("examples/data/minilm_query_w.npy", &w);
	quantize(w.v, q, s, z);
	deq = dequantized(q, s, z);
	product(out, a->v, deq, ROWS, COLS, COLS);
	free(deq);
	free(w.v);
	free(w.mem);
	size(c, "M", ROWS);
	size(c, "N", COLS);
	size(c, "K", COLS);
}

void
gemm_w4a16(Case *c)
{
	w4a16(c, true);
}

static void
gemm_w4a16_sym(Case *c)
{
	w4a16(c, false);
}

const Example examples[] = {
	{ "vector_add", vector_add },
	{ "softmax", softmax },
	{ "layer_norm", layer_norm },
	{ "gemm_f16", gemm_f16 },
	{ "gemm_w4a16", gemm_w4a16 },
	{ "gemm_w4a16_sym", gemm_w4a16_sym },
	{ NULL, NULL },
};
