/* test_packed_weights.c - tests packed weights in examples/ against sums in double: decoding with split K,
 * 8-bit activations, two levels of scales, activation order. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct WeightType { const char *name; double lo, hi; int zero; } WeightType;

/* x: the type of the weights; b: parts of K. */
static void
decode(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	static const WeightType type[] = {
		{ "u1", 0, 1, 1 }, { "i2", -2, 1, 0 }, { "u3", 0, 7, 4 }, { "u4", 0, 15, 8 },
		        { "i5", -16, 15, 0 },
		{ "u6", 0, 63, 32 }, { "i7", -64, 63, 0 }, { "i8", -128, 127, 0 }, { "e2m1", -6, 6, 0 },
	};
	enum { G = 128 };
	const WeightType *t = &type[s->x];
	Case c;

	case_start(&c, 21);
	case_def(&c, "WEIGHT", hexc_type_value(t->name));
	case_def(&c, "ZERO", t->zero);
	case_def(&c, "KMULT", s->k % 64 ? 8 : 64);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	Buf *w = case_in(&c, "W", t->name, t->lo, t->hi, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "f16", 0.01, 0.1, (s->k + G - 1) / G, s->n, 0);
	Buf *p = case_out(&c, "P", "f32", s->b, s->m, s->n, 0), *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int64_t i = 0; i < p->n; i++)
		p->allow[i] = -1; /* what a part is, is nobody's business */
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			Sum d = sum_scaled(a, i, w, j, t->zero, sc, G);

			o->v[at] = d.x;
			/* the product of weight and scale is rounded once */
			o->allow[at] = ulp2(o->type, o->v[at]) +
			               1.01 * (U16 * d.mag + sum_error(d.mag, s->k + s->b));
		}
	*ncand = case_run(&c, "decode_wNa16", "decode", arch, cand);
	c.ndef = 0;
	case_run(&c, "decode_wNa16", "join", arch, 0);
	case_end(&c);
}

/* x: the types of weights and activations. */
static void
act8(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	static const WeightType type[] = {
		{ "i4", -8, 7, 0 }, { "i2", -2, 1, 0 }, { "i3", -4, 3, 0 }, { "i5", -16, 15, 0 },
		        { "i6", -32, 31, 0 },
		{ "i8", -128, 127, 0 }, { "e2m1", -6, 6, 0 }, { "e2m3", -7, 7, 0 }, { "e3m2", -28, 28, 0 },
		{ "e4m3", -4, 4, 0 },
	};
	enum { FLOATS = 6, BK = 128 };
	const WeightType *t = &type[s->x];
	const char *act = s->x < FLOATS ? "i8" : "e4m3";
	double most = s->x < FLOATS ? 127 : 4;
	Case c;

	case_start(&c, 22);
	case_def(&c, "WEIGHT", hexc_type_value(t->name));
	case_def(&c, "ACT", hexc_type_value(act));
	if (!strcmp(arch, "sm_75")) /* three stages are more than its shared memory */
		case_def(&c, "STAGES", 2);
	Buf *a = case_in(&c, "A", act, -most, most, s->m, s->k, 0),
	        *sa = case_in(&c, "SA", "f32", 0.01, 0.1, s->m, 0);
	Buf *w = case_in(&c, "W", t->name, t->lo, t->hi, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "f16", 0.01, 0.1, (s->k + BK - 1) / BK, s->n, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			Sum d = sum_scaled(a, i, w, j, 0, sc, BK);

			o->v[at] = d.x * sa->v[i];
			/* sums of integers are exact, those of floats and of groups are not */
			o->allow[at] = ulp2(o->type, o->v[at]) +
			               1.01 * sum_error(d.mag * sa->v[i], BK + s->k / BK + 4);
		}
	*ncand = case_run(&c, "gemm_wNa8", NULL, arch, cand);
	case_end(&c);
}

static void
q4k(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 23);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "u4", 0, 15, s->n, s->k, 0);
	Buf *sc = case_in(&c, "SC", "u6", 0, 63, s->k / 32, s->n, 0),
	        *mn = case_in(&c, "MN", "u6", 0, 63, s->k / 32, s->n, 0);
	Buf *d = case_in(&c, "D", "f16", 0.0001, 0.001, s->k / 256, s->n, 0);
	Buf *dm = case_in(&c, "DMIN", "f16", 0.0001, 0.001, s->k / 256, s->n, 0);
	Buf *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int q = 0; q < s->k; q++) {
				double x = a->v[(int64_t)i * s->k + q];
				double scale = d->v[q / 256 * s->n + j] * sc->v[q / 32 * s->n + j];
				double least = dm->v[q / 256 * s->n + j] * mn->v[q / 32 * s->n + j];

				o->v[at] += x * (scale * w->v[(int64_t)j * s->k + q] - least);
				mag += fabs(x) * (scale * w->v[(int64_t)j * s->k + q] + least);
			}
			/* roundings to f16: of the scale, its product with the code, the minimum, the
			 * difference; where those are subnormal, half of the least such number */
			o->allow[at] = ulp2(o->type, o->v[at]);
			o->allow[at] += 1.01 * (4 * U16 * mag + sum_error(mag, s->k));
			o->allow[at] += 4 * 0x1p-25 * 16 * s->k;
		}
	*ncand = case_run(&c, "gemm_q4k", NULL, arch, cand);
	case_end(&c);
}

static void
act_order(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { G = 128 };
	Case c;

	case_start(&c, 24);
	Buf *a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0),
	        *w = case_in(&c, "W", "u4", 0, 15, s->n, s->k, 0);
	Buf *sc = case_in(&c, "S", "f16", 0.01, 0.1, (s->k + G - 1) / G, s->n, 0),
	        *o = case_out(&c, "C", "f16", s->m, s->n, 0);
	Buf *perm = case_in(&c, "PERM", "i32", 0, 0, s->k, 0);

	for (int q = 0; q < s->k; q++) /* 1021 is a prime and divides no K */
		buf_set(perm, q, (double)((int64_t)q * 1021 % s->k));
	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double mag = 0;

			for (int q = 0; q < s->k; q++) {
				double x = a->v[(int64_t)i * s->k + (int)perm->v[q]] *
				           (w->v[(int64_t)j * s->k + q] - 8) * sc->v[q / G * s->n + j];
				o->v[at] += x;
				mag += fabs(x);
			}
			o->allow[at] = ulp2(o->type, o->v[at]) + 1.01 * (U16 * mag + sum_error(mag, s->k));
		}
	*ncand = case_run(&c, "gemm_act_order", NULL, arch, cand);
	case_end(&c);
}

/* ---- sizes ----------------------------------------------------------------------------------------- */

#define S(m_, n_, k_, x_) { .m = m_, .n = n_, .k = k_, .x = x_ }
#define P(m_, n_, k_, x_, b_) { .m = m_, .n = n_, .k = k_, .x = x_, .b = b_ }
static const Example example[] = {
	{ .fn = decode,
	  .size = { P(1, 256, 256, 3, 2), P(4, 72, 200, 0, 1), P(8, 264, 328, 2, 3), P(16, 512, 128, 1, 1),
	    P(3, 40, 264, 4, 2), P(7, 104, 192, 5, 2), P(2, 8, 400, 6, 3), P(5, 136, 320, 7, 5) },
	  .faults = { P(8, 264, 328, 2, 3), P(17, 520, 1160, 2, 2) } },
	{ .fn = act8,
	  .size = { S(40, 136, 272, 0), S(1, 128, 128, 1), S(70, 88, 208, 2), S(16, 160, 400, 3),
	    S(33, 128, 112, 4), S(64, 72, 256, 5), S(5, 8, 336, 6), S(17, 200, 144, 7) },
	  .faults = { S(70, 88, 208, 2), S(130, 264, 656, 2) } },
	{ .fn = act8,
	  .size = { S(33, 72, 128, 6), S(17, 96, 208, 8), S(40, 136, 656, 9), S(5, 136, 80, 8),
	    S(64, 40, 128, 7), S(1, 104, 336, 0), S(9, 64, 64, 9), S(20, 88, 192, 6) },
	  .faults = { S(40, 136, 656, 9), S(130, 264, 656, 9) } },
	{ .fn = q4k,
	  .size = { S(40, 128, 256, 0), S(1, 16, 256, 0), S(70, 80, 512, 0), S(16, 160, 256, 0),
	    S(33, 144, 256, 0), S(64, 64, 512, 0), S(5, 208, 768, 0), S(17, 32, 256, 0) },
	  .faults = { S(70, 80, 512, 0), S(140, 272, 512, 0) } },
	{ .fn = act_order,
	  .size = { S(40, 136, 264, 0), S(1, 128, 128, 0), S(20, 88, 200, 0), S(16, 160, 392, 0),
	    S(33, 128, 120, 0), S(64, 72, 256, 0), S(5, 8, 328, 0), S(17, 200, 136, 0) } },
};

EXAMPLES(example);
