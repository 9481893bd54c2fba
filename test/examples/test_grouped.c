/* test_grouped.c - tests examples/grouped_gemm.hexc: GEMMs of row groups, each with separate weights. */
#include "test/examples/util_case.h"

/* Where group e of n begins among m rows: the first has none, the others about as many each. */
static int
begin(int e, int n, int m)
{
	return e < 2 && n > 1 ? 0 : e * m / n;
}

static void
grouped(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *a, *w, *off, *o;
	int most = 0;

	case_start(&c, 31);
	a = case_in(&c, "A", "f16", -1, 1, s->m, s->k, 0);
	w = case_in(&c, "W", "f16", -1, 1, s->x, s->n, s->k, 0);
	off = case_in(&c, "OFF", "i32", 0, 0, s->x + 1, 0);
	o = case_out(&c, "C", "f16", s->m, s->n, 0);
	for (int e = 0; e < s->x; e++) {
		int from = begin(e, s->x, s->m), to = begin(e + 1, s->x, s->m);

		buf_set(off, e + 1, to);
		most = to - from > most ? to - from : most;
		for (int i = from; i < to; i++)
			for (int j = 0; j < s->n; j++) {
				Sum d = sum_products(a, (int64_t)i * s->k, w, ((int64_t)e * s->n + j) * s->k,
				                     s->k);
				int64_t at = (int64_t)i * s->n + j;

				o->v[at] = d.x;
				o->allow[at] = ulp2(o->type, d.x) + 1.001 * sum_error(d.mag, s->k);
			}
	}
	case_num(&c, "MOST", most);
	*ncand = case_run(&c, "grouped_gemm", NULL, arch, cand);
	case_end(&c);
}

#define S(m_, n_, k_, x_) { .m = m_, .n = n_, .k = k_, .x = x_ }
static const Example example[] = {
	{ .fn = grouped,
	  .size = { S(130, 64, 64, 3), S(1, 8, 8, 1), S(70, 88, 40, 2), S(33, 200, 72, 4), S(7, 16, 200, 7),
	    S(200, 72, 136, 3), S(16, 8, 96, 2), S(65, 136, 64, 1) } },
};

EXAMPLES(example);
