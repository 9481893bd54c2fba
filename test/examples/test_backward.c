/* test_backward.c - tests the gradients of examples/attention_backward.hexc against their formulas in double,
 * for given results of the forward pass. */
#include "test/examples/util_case.h"
#include <math.h>

enum { E = 64 };
#define SCALE 0.125
#define TINY16 0x1p-25 /* half the smallest f16 */

typedef struct Grad {
	Case c;
	const Size *s;
	Buf *q, *k, *v, *g, *l, *delta;
} Grad;

/* Element e of row i of head h. */
static int64_t
at(const Size *s, int rows, int b, int i, int h)
{
	return (((int64_t)b * rows + i) * s->h + h) * E;
}

static bool
sees(const Size *s, int i, int j)
{
	return !s->x || j <= i;
}

static void
grad_start(Grad *x, const Size *s, uint64_t seed)
{
	x->s = s;
	case_start(&x->c, seed);
	case_def(&x->c, "CAUSAL", s->x);
	case_num(&x->c, "scale", SCALE);
	x->q = case_in(&x->c, "Q", "f16", -1, 1, s->b, s->m, s->h, E, 0);
	x->k = case_in(&x->c, "K", "f16", -1, 1, s->b, s->n, s->h, E, 0);
	x->v = case_in(&x->c, "V", "f16", -1, 1, s->b, s->n, s->h, E, 0);
	x->g = case_in(&x->c, "DO", "f16", -1, 1, s->b, s->m, s->h, E, 0);
	x->l = case_in(&x->c, "L", "f32", 0, 0, s->b, s->h, s->m, 0);
	x->delta = case_in(&x->c, "DELTA", "f32", -1, 1, s->b, s->h, s->m, 0);
	for (int b = 0; b < s->b; b++)
		for (int h = 0; h < s->h; h++)
			for (int i = 0; i < s->m; i++) {
				int64_t qi = at(s, s->m, b, i, h);
				double total = 0;

				for (int j = 0; j < s->n; j++) {
					int64_t kj = at(s, s->n, b, j, h);

					if (sees(s, i, j))
						total += exp(SCALE * sum_products(x->q, qi, x->k, kj, E).x);
				}
				buf_set(x->l, ((int64_t)b * s->h + h) * s->m + i, log(total));
			}
}

/* P and S of one pair, and how far off they may be as f16. */
typedef struct Pair {
	double p, p_off, s, s_off;
} Pair;

static Pair
pair(const Grad *x, int b, int h, int i, int j)
{
	const Size *s = x->s;
	int64_t row = ((int64_t)b * s->h + h) * s->m + i;
	int64_t qi = at(s, s->m, b, i, h), kj = at(s, s->n, b, j, h);
	Sum qk = sum_products(x->q, qi, x->k, kj, E), gv = sum_products(x->g, qi, x->v, kj, E);
	double d = SCALE * qk.x - x->l->v[row], t = gv.x - x->delta->v[row], off, t_off;
	Pair r = { 0 };

	if (!sees(s, i, j))
		return r;
	/* ex2.approx 2^-22, the product with log2 e, and what the exponent is off by */
	off = 0x1p-22 + 2 * 1.45 * fabs(d) * U32 +
	      1.01 * (SCALE * sum_error(qk.mag, E) + 2 * U32 * (fabs(SCALE * qk.x) + fabs(x->l->v[row])));
	r.p = exp(d);
	t_off = sum_error(gv.mag, E) + U32 * fabs(t);
	r.s = r.p * t;
	r.s_off = r.p * (off * (fabs(t) + t_off) + t_off) + (U32 + U16) * fabs(r.s) + TINY16;
	r.p_off = r.p * (off + U16) + TINY16;
	return r;
}

/* Adds weight w, off by so much, times row `from` of x to row `to` of y. */
static void
add_row(Buf *y, int64_t to, double w, double off, const Buf *x, int64_t from, double *mag)
{
	for (int e = 0; e < E; e++) {
		y->v[to + e] += w * x->v[from + e];
		y->allow[to + e] += off * fabs(x->v[from + e]);
		mag[e] += fabs(w * x->v[from + e]);
	}
}

/* .. n rows in all, in any order; then they are times `scale`. */
static void
end_row(Buf *y, int64_t to, const double *mag, int n, double scale)
{
	for (int e = 0; e < E; e++) {
		y->v[to + e] *= scale;
		y->allow[to + e] = 1.02 * (scale * (y->allow[to + e] + sum_error(mag[e], n)) +
		                           2 * U32 * fabs(y->v[to + e]));
	}
}

static void
keys(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Grad x;
	Buf *dk, *dv;

	grad_start(&x, s, 41);
	dk = case_out(&x.c, "DK", "f32", s->b, s->n, s->h, E, 0);
	dv = case_out(&x.c, "DV", "f32", s->b, s->n, s->h, E, 0);
	for (int b = 0; b < s->b; b++)
		for (int h = 0; h < s->h; h++)
			for (int j = 0; j < s->n; j++) {
				double mk[E] = { 0 }, mv[E] = { 0 };
				int64_t to = at(s, s->n, b, j, h);

				for (int i = 0; i < s->m; i++) {
					Pair r = pair(&x, b, h, i, j);

					add_row(dv, to, r.p, r.p_off, x.g, at(s, s->m, b, i, h), mv);
					add_row(dk, to, r.s, r.s_off, x.q, at(s, s->m, b, i, h), mk);
				}
				end_row(dv, to, mv, s->m, 1);
				end_row(dk, to, mk, s->m, SCALE);
			}
	*ncand = case_run(&x.c, "attention_backward", "keys", arch, cand);
	case_end(&x.c);
}

static void
queries(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Grad x;
	Buf *dq;

	grad_start(&x, s, 42);
	dq = case_out(&x.c, "DQ", "f32", s->b, s->m, s->h, E, 0);
	for (int b = 0; b < s->b; b++)
		for (int h = 0; h < s->h; h++)
			for (int i = 0; i < s->m; i++) {
				double mag[E] = { 0 };
				int64_t to = at(s, s->m, b, i, h);

				for (int j = 0; j < s->n; j++) {
					Pair r = pair(&x, b, h, i, j);

					add_row(dq, to, r.s, r.s_off, x.k, at(s, s->n, b, j, h), mag);
				}
				end_row(dq, to, mag, s->n, SCALE);
			}
	*ncand = case_run(&x.c, "attention_backward", "queries", arch, cand);
	case_end(&x.c);
}

static void
rows(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *o, *g, *d;

	case_start(&c, 43);
	o = case_in(&c, "O", "f16", -1, 1, s->b, s->m, s->h, E, 0);
	g = case_in(&c, "DO", "f16", -1, 1, s->b, s->m, s->h, E, 0);
	d = case_out(&c, "DELTA", "f32", s->b, s->h, s->m, 0);
	for (int b = 0; b < s->b; b++)
		for (int h = 0; h < s->h; h++)
			for (int i = 0; i < s->m; i++) {
				Sum x = sum_products(o, at(s, s->m, b, i, h), g, at(s, s->m, b, i, h), E);
				int64_t to = ((int64_t)b * s->h + h) * s->m + i;

				d->v[to] = x.x;
				d->allow[to] = sum_error(x.mag, E);
			}
	*ncand = case_run(&c, "attention_backward", "rows", arch, cand);
	case_end(&c);
}

#define A(b_, m_, n_, h_, causal) { .b = b_, .m = m_, .n = n_, .h = h_, .x = causal }
static const Size size[] = {
	A(1, 64, 64, 2, 0), A(1, 1, 1, 1, 1),  A(2, 33, 50, 1, 0), A(1, 70, 70, 1, 1),
	A(1, 7, 130, 1, 0), A(1, 66, 7, 2, 0), A(2, 48, 48, 1, 1), A(1, 65, 65, 1, 1),
};
static ExampleFn *const fn[] = { keys, queries, rows };

/* Four products in a loop have hundreds of solutions: the first two of each size, the targets in turn. */
TEST_EACH(sizes, COUNT_OF(fn))
{
	static const char *const arch[] = { "sm_80", "sm_90a", "sm_75" };
	uint32_t n;

	for (size_t i = 0; i < COUNT_OF(size); i++)
		for (uint32_t k = 0; k < 2; k++)
			fn[_i](&size[i], arch[i % COUNT_OF(arch)], &n, k);
}

TEST_PROGRAM(.timeout = 900);
