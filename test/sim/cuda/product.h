/* product.h - matrix products as sums in double, for tests of tensor cores. */
#ifndef SIMTEST_PRODUCT_H
#define SIMTEST_PRODUCT_H
#include "test/sim/cuda/cuda.h"

/* c[m,n] = scale * (start + sum over k of a[m,k] * b): one argument of values each.  Element (m,k) of A is at
 * m*am + k*ak, likewise B.  Sums of f32 may be made in any order; with `exact`, all of them are exact. */
typedef struct Product {
	unsigned a, b, c, m, n, k, am, ak, bn, bk;
	double scale, start;
	bool exact;
	double (*va)(const Run *, unsigned, size_t), (*vb)(const Run *, unsigned, size_t);
} Product;

static inline void
product(Run *r, Product p)
{
	for (unsigned i = 0; i < p.m; i++)
		for (unsigned j = 0; j < p.n; j++) {
			double sum = p.start, mag = fabs(p.start), want;
			for (unsigned k = 0; k < p.k; k++) {
				double v = (p.va ? p.va : before)(r, p.a, i * p.am + k * p.ak) *
				           (p.vb ? p.vb : before)(r, p.b, j * p.bn + k * p.bk);
				sum += v;
				mag += fabs(v);
			}
			want = p.scale * sum;
			near(r, p.c, i * p.n + j, want, p.exact ? 0x1p-60 : p.k * mag * 0x1p-24);
		}
}

static inline double
byte(const Run *r, unsigned a, size_t i)
{
	return (int8_t)r->a[a].in.b[i];
}

/* To 10 bits of fraction, ties away from zero (cvt.rna.tf32). */
static inline double
tf32(const Run *r, unsigned a, size_t i)
{
	double v = before(r, a, i), u = ulp(v, 11);

	return v < 0 ? -floor(-v / u + 0.5) * u : floor(v / u + 0.5) * u;
}

static inline void
whole_numbers(Run *r)
{
	for (unsigned a = 0; a < 2; a++)
		for (unsigned i = 0; i < r->a[a].n; i++)
			put(r, a, i, floor(before(r, a, i)));
}
#endif
