/* test_scaled.c - tests GEMMs of two operands with block scales along k against sums in double. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>

/* Powers of two, some of them far apart; for 8-bit floats a sign too, which is not to count. */
static void
set_scales(Buf *b, int step, bool sign)
{
	for (int64_t i = 0; i < b->n; i++) {
		double x = ldexp(1, (int)(i * step % 9) - 7) * (sign ? 1 + (double)(i % 3) / 8 : 1);

		buf_set(b, i, sign && i % 5 == 0 ? -x : x);
		ck_assert(fabs(b->v[i]) == x);
	}
}

/* What C is, and how far a right result may be off: products are exact wherever they are made, the sum is
 * not, and it is rounded, times `factor`, twice. */
static void
set_product(Buf *o, const Buf *a, const Buf *w, const Buf *sa, const Buf *sw, const Size *s, int block,
            double factor)
{
	int nb = s->k / block;

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			int64_t at = (int64_t)i * s->n + j;
			double sum = 0, mag = 0;

			for (int q = 0; q < s->k; q++) {
				double p = a->v[(int64_t)i * s->k + q] * fabs(sa->v[i * nb + q / block]) *
				           w->v[(int64_t)j * s->k + q] * fabs(sw->v[j * nb + q / block]);

				sum += p;
				mag += fabs(p);
			}
			o->v[at] = sum * factor;
			o->allow[at] = ulp2(o->type, o->v[at]) +
			               1.001 * (sum_error(mag, s->k) * factor + U32 * fabs(o->v[at]));
		}
}

/* x: the types of the factors. */
static void
microscaled(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	static const struct {
		const char *name;
		double most;
	} type[5] = { { "e4m3", 8 }, { "e5m2", 8 }, { "e3m2", 28 }, { "e2m3", 7 }, { "e2m1", 6 } };
	const char *ta = type[s->x / 5].name, *tw = type[s->x % 5].name;
	Case c;

	case_start(&c, 21);
	case_def(&c, "ACT", hexc_type_value(ta));
	case_def(&c, "WEIGHT", hexc_type_value(tw));
	Buf *a = case_in(&c, "A", ta, -type[s->x / 5].most, type[s->x / 5].most, s->m, s->k, 0),
	    *w = case_in(&c, "W", tw, -type[s->x % 5].most, type[s->x % 5].most, s->n, s->k, 0),
	    *sa = case_in(&c, "SA", "e8m0", 1, 1, s->m, s->k / 32, 0),
	    *sw = case_in(&c, "SW", "e8m0", 1, 1, s->n, s->k / 32, 0),
	    *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	set_scales(sa, 7, false);
	set_scales(sw, 5, false);
	set_product(o, a, w, sa, sw, s, 32, 1);
	*ncand = case_run(&c, "gemm_mxfp", NULL, arch, cand);
	case_end(&c);
}

static void
nvfp4(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;

	case_start(&c, 22);
	Buf *a = case_in(&c, "A", "e2m1", -6, 6, s->m, s->k, 0),
	    *w = case_in(&c, "W", "e2m1", -6, 6, s->n, s->k, 0),
	    *sa = case_in(&c, "SA", "e4m3", 1, 1, s->m, s->k / 16, 0),
	    *sw = case_in(&c, "SW", "e4m3", 1, 1, s->n, s->k / 16, 0),
	    *o = case_out(&c, "C", "f16", s->m, s->n, 0);

	case_num(&c, "scale", 0.125);
	set_scales(sa, 7, true);
	set_scales(sw, 5, true);
	set_product(o, a, w, sa, sw, s, 16, 0.125);
	*ncand = case_run(&c, "gemm_nvfp4", NULL, arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_, x_) { .m = m_, .n = n_, .k = k_, .x = x_ }
static const Example example[] = {
	{ .fn = microscaled,
	  .size = { S(64, 64, 128, 0), S(1, 8, 32, 6), S(70, 88, 96, 24), S(128, 136, 256, 24),
	    S(65, 72, 160, 4), S(33, 200, 64, 13), S(16, 64, 416, 20), S(130, 16, 128, 12) } },
	{ .fn = nvfp4,
	  .size = { S(64, 64, 128, 0), S(1, 8, 64, 0), S(70, 88, 192, 0), S(128, 136, 256, 0),
	    S(65, 72, 320, 0), S(33, 200, 64, 0), S(16, 64, 448, 0), S(130, 16, 128, 0) } },
};

TEST_EACH(sizes, COUNT_OF(example))
{
	example_sizes(&example[_i]);
}

/* Ways to multiply with scales are the target's that has them; of some hundred candidates a sample, FULL=1:
 * all. */
TEST_EACH(candidates, COUNT_OF(example))
{
	uint32_t n = 1, step = getenv("FULL") ? 1 : 7;

	for (uint32_t k = 0; k < n && example_on("sm_120a"); k += step)
		example[_i].fn(&example[_i].size[2], "sm_120a", &n, k);
}

TEST_PROGRAM(.timeout = 3600);
