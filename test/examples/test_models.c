/* test_models.c - tests model components in examples/ against their formulas in double: a gated layer, rotary
 * embedding, norms, conversions, routing, sorting, Mamba 2. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ex2.approx is off by 2^-22 (PTX ISA); exp(d) rounds d log2 e before, and log2 e was rounded. */
static double
exp_error(double d)
{
	return 0x1p-22 + 2 * 1.45 * fabs(d) * U32;
}

/* ---- a gated layer ---------------------------------------------------------------------------------- */

static void
swiglu(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 11);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	Buf *g = case_in(&c, "G", "f16", -1, 1, s->n, s->k, 0);
	Buf *u = case_in(&c, "U", "f16", -1, 1, s->n, s->k, 0), *o = case_out(&c, "C", "f16", s->m, s->n, 0);
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			double gate = 0, up = 0, ge = 0, ue = 0, e;
			int64_t at = (int64_t)i * s->n + j;

			for (int k = 0; k < s->k; k++) {
				double x = a->v[i * s->k + k], y = g->v[j * s->k + k], z = u->v[j * s->k + k];

				gate += x * y;
				up += x * z;
				ge += fabs(x * y);
				ue += fabs(x * z);
			}
			/* sums of k terms in any order; silu rises nowhere by more than 1.1 */
			ge *= (s->k + 6) * U32;
			ue *= (s->k + 6) * U32;
			o->v[at] = gate / (1 + exp(-gate)) * up;
			e = fabs(o->v[at]) * (exp_error(gate) + 4 * U32);
			e += 1.1 * ge * fabs(up) + fabs(gate) * ue;
			o->allow[at] = 1.01 * e + ulp2(o->type, fabs(o->v[at]) + e);
		}
	*ncand = case_run(&c, "swiglu", NULL, arch, cand);
	case_end(&c);
}

/* ---- rows and conversions --------------------------------------------------------------------------- */

static void
rms_norm(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	double eps = (float)1e-5;
	Case c;

	case_start(&c, 12);
	case_num(&c, "eps", eps);
	Buf *x = case_in(&c, "X", "f16", -2, 2, s->m, s->n, 0);
	Buf *g = case_in(&c, "gain", "f16", 0.5, 1.5, s->n, 0);
	Buf *y = case_out(&c, "Y", "f16", s->m, s->n, 0);
	for (int i = 0; i < s->m; i++) {
		const double *r = x->v + (int64_t)i * s->n;
		double square = 0, e;

		for (int j = 0; j < s->n; j++)
			square += r[j] * r[j] / s->n;
		/* a sum of n terms in any order, halved by the root; rsqrt.approx is good to 2^-22.9 */
		e = 1.01 * (0.5 * (s->n + 3) * U32 + 0x1p-22 + 3 * U32);
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double want = r[j] / sqrt(square + eps) * g->v[j];

			y->v[at] = want;
			y->allow[at] = fabs(want) * e + ulp2(y->type, fabs(want) * (1 + e));
		}
	}
	*ncand = case_run(&c, "rms_norm", NULL, arch, cand);
	case_end(&c);
}

static void
convert(const char *kernel, const char *from, const char *to, const Size *s, const char *arch,
        uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 13);
	Buf *x = case_in(&c, "X", from, -100, 100, s->n, 0), *y = case_out(&c, "Y", to, s->n, 0);
	for (int i = 0; i < s->n; i++) {
		y->v[i] = x->v[i];
		y->allow[i] = !strcmp(to, "f16") ? ulp2(y->type, fabs(x->v[i])) : 0;
	}
	*ncand = case_run(&c, "convert", kernel, arch, cand);
	case_end(&c);
}

static void
widen(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	convert("widen", "f16", "f32", s, arch, ncand, cand);
}

static void
narrow(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	convert("narrow", "f32", "f16", s, arch, ncand, cand);
}

/* ---- rotary embedding -------------------------------------------------------------------------------- */

static void
turn(const Buf *x, const Buf *gain, const Buf *cosine, const Buf *sine, const double *at, Buf *y, int heads,
     int d, double eps)
{
	for (int64_t row = 0; row < y->n / d; row++) {
		const double *in = x->v + row * d;
		const double *c = cosine->v + (int)at[row / heads] * (d / 2);
		const double *s = sine->v + (int)at[row / heads] * (d / 2);
		double square = 0, r;

		for (int i = 0; i < d; i++)
			square += in[i] * in[i] / d;
		r = 1 / sqrt(square + eps);
		for (int i = 0; i < d; i++) {
			int other = i < d / 2 ? i + d / 2 : i - d / 2, f = i % (d / 2);
			double own = in[i] * r * gain->v[i] * c[f];
			double cross = in[other] * r * gain->v[other] * s[f];
			int64_t k = row * d + i;

			y->v[k] = i < d / 2 ? own - cross : own + cross;
			/* a sum of d positive terms, rsqrt.approx 2^-22.9, five roundings */
			y->allow[k] = (fabs(own) + fabs(cross)) * ((d / 2.0 + 8) * U32 + 0x1p-22);
			y->allow[k] += ulp2(y->type, fabs(y->v[k]) + y->allow[k]);
		}
	}
}

static void
rotary(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { POSITIONS = 50 };
	Case c;
	int d = s->d;
	double eps = (float)1e-6;

	case_start(&c, 12);
	case_def(&c, "D", d);
	case_num(&c, "eps", eps);
	Buf *q = case_in(&c, "Q", "f16", -2, 2, s->m, s->h, d, 0);
	Buf *k = case_in(&c, "K", "f16", -2, 2, s->m, s->hk, d, 0);
	Buf *gq = case_in(&c, "GQ", "f16", 0.5, 2, d, 0), *gk = case_in(&c, "GK", "f16", 0.5, 2, d, 0);
	Buf *at = case_in(&c, "POS", "i32", 0, POSITIONS - 1, s->m, 0);
	Buf *cosine = case_in(&c, "COS", "f32", 0, 0, POSITIONS, d / 2, 0);
	Buf *sine = case_in(&c, "SIN", "f32", 0, 0, POSITIONS, d / 2, 0);
	Buf *oq = case_out(&c, "OQ", "f16", s->m, s->h, d, 0);
	Buf *ok = case_out(&c, "OK", "f16", s->m, s->hk, d, 0);

	for (int64_t i = 0; i < cosine->n; i++) {
		double angle = (double)(i / (d / 2)) * pow(10000, -(double)(i % (d / 2)) / (d / 2.0));

		buf_set(cosine, i, cos(angle));
		buf_set(sine, i, sin(angle));
	}
	turn(q, gq, cosine, sine, at->v, oq, s->h, d, eps);
	turn(k, gk, cosine, sine, at->v, ok, s->hk, d, eps);
	*ncand = case_run(&c, "rotary", NULL, arch, cand);
	case_end(&c);
}

/* ---- routing ---------------------------------------------------------------------------------------- */

static void
router(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int E = s->n, K = s->k;
	double *x;

	case_start(&c, 13);
	case_def(&c, "E", E);
	case_def(&c, "K", K);
	Buf *in = case_in(&c, "X", "f32", 0, 0, s->m, E, 0);
	Buf *w = case_out(&c, "W", "f32", s->m, K, 0), *id = case_out(&c, "I", "i32", s->m, K, 0);

	for (int64_t i = 0; i < in->n; i++) /* 37 and E have no common factor: in a row all differ */
		buf_set(in, i, (double)((i + i / E) * 37 % E) * 8 / E - 4);
	for (int i = 0; i < s->m; i++) {
		double sum = 0;

		x = in->v + (int64_t)i * E;
		for (int k = 0; k < K; k++) {
			int best = -1;

			for (int j = 0; j < E; j++) {
				bool taken = false;

				for (int n = 0; n < k; n++)
					taken |= (int)id->v[i * K + n] == j;
				if (!taken && (best < 0 || x[j] > x[best]))
					best = j;
			}
			id->v[i * K + k] = best;
			sum += w->v[i * K + k] = exp(x[best]);
		}
		for (int k = 0; k < K; k++) {
			w->v[i * K + k] /= sum;
			w->allow[i * K + k] = w->v[i * K + k] * (2 * exp_error(8) + (K + 4) * U32);
		}
	}
	*ncand = case_run(&c, "router", NULL, arch, cand);
	case_end(&c);
}

/* ---- sorting ---------------------------------------------------------------------------------------- */

static int
ascending(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void
sort(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 14);
	case_def(&c, "N", s->n);
	Buf *x = case_in(&c, "X", "f32", -100, 100, s->m, s->n, 0);
	Buf *y = case_out(&c, "Y", "f32", s->m, s->n, 0);
	memcpy(y->v, x->v, (size_t)y->n * sizeof *y->v);
	for (int i = 0; i < s->m; i++)
		qsort(y->v + (int64_t)i * s->n, (size_t)s->n, sizeof *y->v, ascending);
	*ncand = case_run(&c, "sort", NULL, arch, cand);
	case_end(&c);
}

/* ---- Mamba 2 ---------------------------------------------------------------------------------------- */

enum { P = 64,
       STATE = 32 };

/* One head of one sequence of `steps` out of T: the recurrence step by step, and beside it that of
 * magnitudes. */
static void
recur(const Buf *x, const Buf *dt, const Buf *bm, const Buf *cm, double a, double skip, int T, int steps,
      int H, int h, int b, Buf *y, Buf *last)
{
	static double state[P][STATE], size[P][STATE];
	double total = 0;

	memset(state, 0, sizeof state);
	memset(size, 0, sizeof size);
	for (int t = 0; t < steps; t++) {
		int64_t row = (int64_t)b * T + t;
		const double *bt = bm->v + row * STATE, *ct = cm->v + row * STATE;
		double d = dt->v[row * H + h], decay = exp(d * a), e;

		total += d * fabs(a);
		/* f16 holds products, states and decayed inputs, each rounded once on the way to a result;
		 * the exponents are sums that are rounded T times */
		e = 4.2 * U16 + (T + 8) * 2 * total * U32 + (T + STATE + P) * U32;
		for (int p = 0; p < P; p++) {
			double in = x->v[(row * H + h) * P + p], sum = skip * in, mag = 0;
			int64_t at = (row * H + h) * P + p;

			for (int n = 0; n < STATE; n++) {
				state[p][n] = decay * state[p][n] + d * in * bt[n];
				size[p][n] = decay * size[p][n] + fabs(d * in * bt[n]);
				sum += state[p][n] * ct[n];
				mag += size[p][n] * fabs(ct[n]);
			}
			y->v[at] = sum;
			y->allow[at] = mag * e + fabs(skip * in) * 2 * U32 + (STATE + T) * 0x1p-24;
			y->allow[at] += ulp2(y->type, fabs(sum) + y->allow[at]);
			for (int n = 0; t == steps - 1 && n < STATE; n++) {
				int64_t k = (((int64_t)b * H + h) * P + p) * STATE + n;

				last->v[k] = state[p][n];
				last->allow[k] = size[p][n] * e + T * 0x1p-24;
			}
		}
	}
	for (int t = steps; t < T; t++)
		for (int p = 0; p < P; p++)
			y->allow[(((int64_t)b * T + t) * H + h) * P + p] = -1;
}

static void
mamba2(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	int B = s->b, T = s->m, H = s->h;

	case_start(&c, 15);
	Buf *x = case_in(&c, "X", "f16", -1, 1, B, T, H, P, 0);
	Buf *dt = case_in(&c, "DT", "f32", 0.01, 0.2, B, T, H, 0);
	Buf *a = case_in(&c, "A", "f32", -2, -0.5, H, 0), *d = case_in(&c, "D", "f32", -1, 1, H, 0);
	Buf *bm = case_in(&c, "BM", "f16", -1, 1, B, T, 1, STATE, 0);
	Buf *cm = case_in(&c, "CM", "f16", -1, 1, B, T, 1, STATE, 0);
	Buf *len = case_in(&c, "LEN", "i32", 0, 0, B, 0);
	Buf *y = case_out(&c, "Y", "f16", B, T, H, P, 0);
	Buf *last = case_out(&c, "LAST", "f32", B, H, P, STATE, 0);

	for (int b = 0; b < B; b++) {
		int steps = b == 0 ? T : b == 1 ? T - T / 3 : 0;

		buf_set(len, b, b ? steps : T + 7);
		for (int h = 0; h < H; h++)
			recur(x, dt, bm, cm, a->v[h], d->v[h], T, steps, H, h, b, y, last);
	}
	*ncand = case_run(&c, "mamba2", NULL, arch, cand);
	case_end(&c);
}

#define S(b_, m_, n_, k_, h_, hk_, d_) \
	{ .b = b_, .m = m_, .n = n_, .k = k_, .h = h_, .hk = hk_, .d = d_ }
#define R(m_, n_) S(0, m_, n_, 0, 0, 0, 0)
static const Example example[] = {
	{ .fn = swiglu,
	  .size = { S(0, 64, 64, 64, 0, 0, 0), S(0, 1, 7, 5, 0, 0, 0), S(0, 33, 41, 71, 0, 0, 0),
	    S(0, 100, 72, 40, 0, 0, 0), S(0, 17, 136, 104, 0, 0, 0), S(0, 70, 64, 128, 0, 0, 0),
	    S(0, 5, 199, 16, 0, 0, 0), S(0, 128, 128, 32, 0, 0, 0) },
	  .faults = { S(0, 70, 136, 264, 0, 0, 0), S(0, 140, 264, 328, 0, 0, 0) } },
	{ .fn = rotary,
	  .size = { S(0, 16, 0, 0, 4, 1, 128), S(0, 1, 0, 0, 1, 1, 64), S(0, 37, 0, 0, 3, 1, 128),
	    S(0, 20, 0, 0, 2, 2, 256), S(0, 33, 0, 0, 8, 2, 64), S(0, 5, 0, 0, 2, 1, 96),
	    S(0, 48, 0, 0, 1, 1, 128), S(0, 17, 0, 0, 5, 5, 32) } },
	{ .fn = rms_norm,
	  .size = { R(4, 4096), R(1, 1), R(3, 333), R(2, 1000), R(2, 4095), R(5, 257), R(3, 2048),
	    R(16, 8) } },
	{ .fn = widen,
	  .size = { R(0, 2048), R(0, 1), R(0, 1333), R(0, 100), R(0, 8192), R(0, 4097), R(0, 4095),
	    R(0, 8) } },
	{ .fn = narrow,
	  .size = { R(0, 2048), R(0, 1), R(0, 1333), R(0, 100), R(0, 8192), R(0, 4097), R(0, 4095),
	    R(0, 8) } },
	{ .fn = router,
	  .size = { S(0, 16, 64, 4, 0, 0, 0), S(0, 1, 8, 1, 0, 0, 0), S(0, 37, 64, 8, 0, 0, 0),
	    S(0, 20, 128, 8, 0, 0, 0), S(0, 33, 32, 2, 0, 0, 0), S(0, 5, 256, 8, 0, 0, 0),
	    S(0, 48, 16, 4, 0, 0, 0), S(0, 17, 64, 2, 0, 0, 0) } },
	{ .fn = sort,
	  .size = { S(0, 4, 64, 0, 0, 0, 0), S(0, 1, 2, 0, 0, 0, 0), S(0, 9, 64, 0, 0, 0, 0),
	    S(0, 3, 128, 0, 0, 0, 0), S(0, 7, 32, 0, 0, 0, 0), S(0, 2, 256, 0, 0, 0, 0),
	    S(0, 16, 16, 0, 0, 0, 0), S(0, 5, 8, 0, 0, 0, 0) } },
	{ .fn = mamba2,
	  .size = { S(1, 32, 0, 0, 1, 0, 0), S(1, 1, 0, 0, 1, 0, 0), S(1, 40, 0, 0, 1, 0, 0),
	    S(2, 64, 0, 0, 2, 0, 0), S(1, 100, 0, 0, 1, 0, 0), S(1, 17, 0, 0, 3, 0, 0),
	    S(3, 33, 0, 0, 1, 0, 0), S(1, 7, 0, 0, 2, 0, 0) } },
};

EXAMPLES(example);
