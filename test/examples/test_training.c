/* test_training.c - tests training steps in examples/ against their formulas in double: a loss with its
 * gradient, a norm's gradients, an optimizer, the delta rule. */
#include "test/examples/util_case.h"
#include <math.h>

/* Of approximate divisions, roots and logarithms (LANGUAGE.md, Precision), relative. */
#define APPROX 0x1p-22

/* ex2.approx is off by 2^-22 (PTX ISA); exp(d) rounds d log2 e before, and log2 e was rounded. */
static double
exp_error(double d)
{
	return 0x1p-22 + 2 * 1.45 * fabs(d) * U32;
}

/* ---- cross entropy ---------------------------------------------------------------------------------- */

static void
entropy_row(const double *x, int n, int label, double weight, double *loss, double *allow, Buf *dx,
            int64_t at)
{
	double top = -INFINITY, total = 0, e, far = 0;
	int turns = n / 512 + 1; /* of the smallest tile: each scales the sum anew */

	for (int j = 0; j < n; j++)
		top = fmax(top, x[j]);
	for (int j = 0; j < n; j++) {
		total += exp(x[j] - top);
		far = fmax(far, top - x[j]);
	}
	/* sums of n terms in any order; differences of f16 numbers are exact */
	e = 1.01 * ((n + 2 * turns) * U32 + (turns + 1) * exp_error(far));
	*loss = label < 0 ? 0 : log(total) + top - x[label];
	*allow = 0;
	if (label >= 0)
		*allow = e + APPROX * (1 + log(total)) + 3 * U32 * (log(total) + fabs(top) + fabs(x[label]));
	for (int j = 0; j < n && label >= 0; j++) {
		double p = exp(x[j] - top) / total;
		double off = p * (e + exp_error(far) + APPROX) + 2 * U32;

		dx->v[at + j] = (p - (j == label)) * weight;
		off = fabs(weight) * off;
		dx->allow[at + j] = off + ulp2(dx->type, fabs(dx->v[at + j]) + off);
	}
}

static void
cross_entropy(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	double weight = (float)0.1;
	Case c;
	Buf *x, *label, *loss, *dx;

	case_start(&c, 21);
	case_num(&c, "weight", weight);
	x = case_in(&c, "X", "f16", -4, 4, s->m, s->n, 0);
	label = case_in(&c, "LABEL", "i32", 0, s->n - 1, s->m, 0);
	buf_set(label, s->m / 2, -100);
	loss = case_out(&c, "L", "f32", s->m, 0);
	dx = case_out(&c, "DX", "f16", s->m, s->n, 0);
	for (int t = 0; t < s->m; t++)
		entropy_row(x->v + (int64_t)t * s->n, s->n, (int)label->v[t], weight, &loss->v[t],
		            &loss->allow[t], dx, (int64_t)t * s->n);
	*ncand = case_run(&c, "cross_entropy", NULL, arch, cand);
	case_end(&c);
}

/* ---- layer_norm's gradients ------------------------------------------------------------------------- */

/* A row's normed numbers, how far off they may be, and what 1 / sqrt(var + eps) is and may be off,
 * relative. */
typedef struct Normed {
	double h[4096], off[4096], scale, scale_off;
} Normed;

static void
norm_row(const double *x, int n, double eps, Normed *r)
{
	double mean = 0, mag = 0, var = 0, mean_off, spread = 0;

	for (int j = 0; j < n; j++) {
		mean += x[j] / n;
		mag += fabs(x[j]) / n;
	}
	mean_off = (n + 3) * U32 * mag;
	for (int j = 0; j < n; j++) {
		var += (x[j] - mean) * (x[j] - mean) / n;
		spread += fabs(x[j] - mean) / n;
	}
	r->scale = 1 / sqrt(var + eps);
	/* half of what the mean of squares is off by, relative to var + eps */
	var = (n + 6) * U32 * var + 2 * spread * mean_off + mean_off * mean_off;
	r->scale_off = 0.5 * var * r->scale * r->scale +
	               APPROX + 2 * U32;
	for (int j = 0; j < n; j++) {
		r->h[j] = (x[j] - mean) * r->scale;
		r->off[j] = mean_off * r->scale + fabs(r->h[j]) * (r->scale_off + 3 * U32);
	}
}

static void
row_gradient(const double *dy, const double *gamma, int n, const Normed *r, Buf *dx, int64_t at)
{
	double mean = 0, mag = 0, along = 0, along_mag = 0, along_off = 0;

	for (int j = 0; j < n; j++) {
		double g = dy[j] * gamma[j];

		mean += g / n;
		mag += fabs(g) / n;
		along += g * r->h[j] / n;
		along_mag += fabs(g * r->h[j]) / n;
		along_off += fabs(g) * r->off[j] / n;
	}
	along_off += (n + 5) * U32 * along_mag;
	for (int j = 0; j < n; j++) {
		double g = dy[j] * gamma[j], x = g - mean - r->h[j] * along;
		double off = 4 * U32 * (fabs(g) + fabs(mean) + fabs(r->h[j] * along)) + (n + 4) * U32 * mag +
		             fabs(r->h[j]) * along_off + r->off[j] * (fabs(along) + along_off);

		dx->v[at + j] = x * r->scale;
		dx->allow[at + j] = 1.01 * r->scale * (off + fabs(x) * (r->scale_off + 2 * U32));
	}
}

static void
layer_norm_backward(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	double eps = (float)1e-3;
	static Normed r;
	Case c;
	Buf *x, *gamma, *dy, *dx, *dgamma, *dbeta;

	case_start(&c, 22);
	case_num(&c, "eps", eps);
	x = case_in(&c, "X", "f32", -1, 1, s->m, s->n, 0);
	gamma = case_in(&c, "gamma", "f32", 0.5, 1.5, s->n, 0);
	dy = case_in(&c, "DY", "f32", -1, 1, s->m, s->n, 0);
	dx = case_out(&c, "DX", "f32", s->m, s->n, 0);
	dgamma = case_inout(&c, "Dgamma", "f32", 0, 0, s->n, 0);
	dbeta = case_inout(&c, "Dbeta", "f32", 0, 0, s->n, 0);
	for (int m = 0; m < s->m; m++) {
		int64_t at = (int64_t)m * s->n;

		norm_row(x->v + at, s->n, eps, &r);
		row_gradient(dy->v + at, gamma->v, s->n, &r, dx, at);
		for (int j = 0; j < s->n; j++) {
			double d = dy->v[at + j];

			/* sums of m terms in any order, and what each is off by */
			dgamma->v[j] += d * r.h[j];
			dgamma->allow[j] += 1.01 * ((s->m + 3) * U32 * fabs(d * r.h[j]) + fabs(d) * r.off[j]);
			dbeta->v[j] += d;
			dbeta->allow[j] += 1.01 * (s->m + 3) * U32 * fabs(d);
		}
	}
	*ncand = case_run(&c, "layer_norm_backward", NULL, arch, cand);
	case_end(&c);
}

/* ---- AdamW ------------------------------------------------------------------------------------------ */

typedef struct Adam {
	double rate, beta1, beta2, eps, decay, unbias1, unbias2;
} Adam;

static void
adam_step(const Adam *p, double g, Buf *w, Buf *m, Buf *v, int64_t i)
{
	double was = w->v[i], a = p->beta1 * m->v[i], b = (1 - p->beta1) * g;
	double squares = p->beta2 * v->v[i] + (1 - p->beta2) * g * g, mean = a + b, den, den_off, step, off;

	m->v[i] = mean;
	m->allow[i] = 4 * U32 * (fabs(a) + fabs(b));
	v->v[i] = squares;
	v->allow[i] = 5 * U32 * squares;
	den = sqrt(squares * p->unbias2) + p->eps;
	den_off = APPROX + 5 * U32; /* relative: half of what the square is off by, a root, a sum */
	step = mean * p->unbias1 / den;
	off = m->allow[i] * p->unbias1 / den + fabs(step) * (den_off + APPROX + 3 * U32);
	w->v[i] = was - p->rate * (step + p->decay * was);
	w->allow[i] = 1.01 * (p->rate * (off + 3 * U32 * (fabs(step) + fabs(p->decay * was))) +
	                      2 * U32 * (fabs(was) + p->rate * fabs(step)));
}

static void
adamw(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Adam p = { (float)1e-2, (float)0.9, (float)0.99, (float)1e-8, (float)0.1, (float)1.5, (float)3 };
	Case c;
	Buf *g, *w, *m, *v;

	case_start(&c, 23);
	case_num(&c, "rate", p.rate);
	case_num(&c, "beta1", p.beta1);
	case_num(&c, "beta2", p.beta2);
	case_num(&c, "eps", p.eps);
	case_num(&c, "decay", p.decay);
	case_num(&c, "unbias1", p.unbias1);
	case_num(&c, "unbias2", p.unbias2);
	g = case_in(&c, "G", "f32", -1, 1, s->n, 0);
	w = case_inout(&c, "W", "f32", -1, 1, s->n, 0);
	m = case_inout(&c, "M", "f32", -1, 1, s->n, 0);
	v = case_inout(&c, "V", "f32", 0.01, 1, s->n, 0);
	for (int i = 0; i < s->n; i++)
		adam_step(&p, g->v[i], w, m, v, i);
	*ncand = case_run(&c, "adamw", NULL, arch, cand);
	case_end(&c);
}

/* ---- the delta rule --------------------------------------------------------------------------------- */

enum { DELTA_D = 64 };

static double
length(const double *x)
{
	double sum = 0;

	for (int i = 0; i < DELTA_D; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

/* One row of a head's state through all tokens.  Where beta |k|^2 <= 1 a step makes no error longer, so that
 * it is what all steps have added: a sum of D products, a difference, two products and the sum with what was
 * there. */
static void
delta_row(const Size *s, const Buf *q, const Buf *k, const Buf *v, const Buf *beta, Buf *o, Buf *last, int b,
          int h, int e)
{
	double row[DELTA_D] = { 0 }, off = 0;

	for (int t = 0; t < s->m; t++) {
		int64_t at = ((int64_t)b * s->m + t) * s->h + h, out = at * s->n + e;
		const double *key = k->v + at * DELTA_D, *ask = q->v + at * DELTA_D;
		double found = 0, mag = 0, rate = beta->v[at], d;

		for (int i = 0; i < DELTA_D; i++) {
			found += row[i] * key[i];
			mag += fabs(row[i] * key[i]);
		}
		d = v->v[out] - found;
		for (int i = 0; i < DELTA_D; i++)
			row[i] += rate * d * key[i];
		off += U32 * (((DELTA_D + 2) * mag + 3 * fabs(d)) * rate * length(key) + length(row));
		mag = 0;
		for (int i = 0; i < DELTA_D; i++) {
			o->v[out] += row[i] * ask[i];
			mag += fabs(row[i] * ask[i]);
		}
		o->allow[out] = 1.01 * (off * length(ask) + (DELTA_D + 2) * U32 * mag);
	}
	for (int i = 0; i < DELTA_D; i++) {
		int64_t at = (((int64_t)b * s->h + h) * s->n + e) * DELTA_D + i;

		last->v[at] = row[i];
		last->allow[at] = 1.01 * off;
	}
}

static void
delta_rule(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *q, *k, *v, *beta, *o, *last;

	case_start(&c, 24);
	q = case_in(&c, "Q", "f32", -1, 1, s->b, s->m, s->h, DELTA_D, 0);
	k = case_in(&c, "K", "f32", -0.125, 0.125, s->b, s->m, s->h, DELTA_D, 0); /* at most 1 long */
	v = case_in(&c, "V", "f32", -1, 1, s->b, s->m, s->h, s->n, 0);
	beta = case_in(&c, "BETA", "f32", 0, 1, s->b, s->m, s->h, 0);
	o = case_out(&c, "O", "f32", s->b, s->m, s->h, s->n, 0);
	last = case_out(&c, "LAST", "f32", s->b, s->h, s->n, DELTA_D, 0);
	for (int b = 0; b < s->b; b++)
		for (int h = 0; h < s->h; h++)
			for (int e = 0; e < s->n; e++)
				delta_row(s, q, k, v, beta, o, last, b, h, e);
	*ncand = case_run(&c, "delta_rule", NULL, arch, cand);
	case_end(&c);
}

/* ---- all -------------------------------------------------------------------------------------------- */

#define R(m_, n_) { .m = m_, .n = n_ }
#define D(b_, m_, h_, n_) { .b = b_, .m = m_, .h = h_, .n = n_ }
static const Example example[] = {
	{ .fn = cross_entropy,
	  .size = { R(3, 2048), R(1, 1), R(5, 1333), R(2, 7), R(4, 33), R(2, 2880), R(1, 4304), R(6, 200) } },
	{ .fn = layer_norm_backward,
	  .size = { R(16, 1024), R(1, 2), R(19, 333), R(4, 7), R(33, 33), R(7, 200), R(40, 64),
	    R(2, 1000) } },
	{ .fn = adamw,
	  .size = { R(0, 4096), R(0, 1), R(0, 1333), R(0, 7), R(0, 33), R(0, 200), R(0, 2880), R(0, 4304) } },
	{ .fn = delta_rule,
	  .size = { D(1, 16, 2, 64), D(1, 1, 1, 1), D(2, 9, 3, 40), D(1, 33, 1, 7), D(1, 5, 1, 33),
	    D(3, 4, 2, 16), D(1, 20, 1, 128), D(1, 7, 4, 8) } },
};

EXAMPLES(example);
