/* test_updates.c - tests atomic updates of shared tiles (histogram.hexc, updates.hexc) against plain C
 * loops. */
#include "test/examples/util_case.h"
#include <math.h>

#define PROGRAM "../test/examples/updates"

/* Values with some outside of the bins at both ends, all multiples of 2^-8: their bins are exact. */
static void
histogram(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	Case c;
	Buf *x, *h;

	case_start(&c, 1);
	c.scattered = true;
	case_num(&c, "low", -1);
	case_num(&c, "scale", 128);
	x = case_in(&c, "X", "f32", -1.25, 1.25, s->n, 0);
	h = case_inout(&c, "H", "i32", 0, 9, 256, 0);
	for (int i = 0; i < s->n; i++) {
		double bin;

		buf_set(x, i, floor(x->v[i] * 256) / 256);
		bin = floor((x->v[i] + 1) * 128);
		if (bin >= 0 && bin < 256)
			h->v[(int)bin]++;
	}
	*ncand = case_run(&c, "histogram", "histogram", arch, cand);
	case_end(&c);
}

static void
extremes(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { PLACES = 40 };
	Case c;
	Buf *p, *x, *hi, *lo, *f;
	double seen[PLACES] = { 0 };

	case_start(&c, 2);
	c.scattered = true;
	p = case_in(&c, "P", "i32", -2, PLACES + 1, s->n, 0);
	x = case_in(&c, "X", "f32", -1, 1, s->n, 0);
	hi = case_out(&c, "HI", "f32", PLACES, 0);
	lo = case_out(&c, "LO", "f32", PLACES, 0);
	f = case_out(&c, "F", "i32", PLACES, 0);
	for (int i = 0; i < PLACES; i++) {
		hi->v[i] = -INFINITY;
		lo->v[i] = INFINITY;
	}
	for (int i = 0; i < s->n; i++) {
		int at = (int)p->v[i];

		if (at < 0 || at >= PLACES)
			continue;
		hi->v[at] = fmax(hi->v[at], x->v[i]);
		lo->v[at] = fmin(lo->v[at], x->v[i]);
		f->v[at] += seen[at]++; /* whoever comes first: 0 + 1 + .. */
	}
	*ncand = case_run(&c, PROGRAM, "extremes", arch, cand);
	case_end(&c);
}

/* Small whole numbers, halved a few times: exact in f32. */
static void
rows(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { ROWS = 8, COLS = 24, BN = 16 };
	Case c;
	Buf *p, *x, *y;

	case_start(&c, 3);
	c.scattered = true;
	p = case_in(&c, "P", "i32", -1, ROWS, s->n, 0);
	x = case_in(&c, "X", "f32", 0, 0, s->n, COLS, 0);
	y = case_out(&c, "Y", "f32", ROWS, COLS, 0);
	for (int i = 0; i < x->n; i++)
		buf_set(x, i, i * 7 % 5 - 2);
	for (int n = 0; n < s->n; n += BN) {
		int end = n + BN < s->n ? n + BN : s->n;

		for (int i = n; i < end; i++)
			for (int j = 0; j < COLS; j++)
				if (p->v[i] >= 0 && p->v[i] < ROWS)
					y->v[(int)p->v[i] * COLS + j] += x->v[i * COLS + j];
		for (int i = n; i < end; i++)
			if (p->v[i] >= 0 && p->v[i] < ROWS) {
				double *at = &y->v[(int)p->v[i] * (COLS + 1)];

				*at = fmax(*at, 1);
			}
		for (int j = 0; j < COLS; j++)
			y->v[j] *= 0.5;
	}
	*ncand = case_run(&c, PROGRAM, "rows", arch, cand);
	case_end(&c);
}

/* Places are a permutation of those there are, but for the last one, which is outside. */
static void
swaps(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { BN = 64 };
	Case c;
	Buf *p, *x, *swapped, *compared;
	double now[BN], then[BN];

	case_start(&c, 4);
	p = case_in(&c, "P", "i32", 0, 0, s->n, 0);
	x = case_in(&c, "X", "u32", 10, 1000, s->n, 0);
	swapped = case_out(&c, "S", "u32", s->n, 0);
	compared = case_out(&c, "C", "u32", s->n, 0);
	for (int i = 0; i < BN; i++)
		now[i] = then[i] = 7;
	for (int i = 0; i < s->n; i++) {
		int at = (i * 5 + 3) % BN;

		buf_set(p, i, i == s->n - 1 ? BN : at);
		if (i == s->n - 1)
			continue;
		now[at] = x->v[i];
		then[at] = at % 2 == 0 ? x->v[i] : 7;
	}
	for (int i = 0; i < s->n; i++) {
		int had = i == s->n - 1 ? 0 : 7;

		swapped->v[i] = now[i] + had;
		compared->v[i] = then[i] + had;
	}
	*ncand = case_run(&c, PROGRAM, "swaps", arch, cand);
	case_end(&c);
}

static void
halves(const Size *s, const char *arch, uint32_t *ncand, uint32_t cand)
{
	enum { PLACES = 40 };
	Case c;
	Buf *p, *x, *sum, *hi, *bits;
	uint16_t all[PLACES], xors[PLACES] = { 0 };

	case_start(&c, 5);
	c.scattered = true;
	p = case_in(&c, "P", "i32", -2, PLACES + 1, s->n, 0);
	x = case_in(&c, "X", "i16", -32768, 32767, s->n, 0);
	sum = case_inout(&c, "S", "i16", -32768, 32767, PLACES, 0);
	hi = case_out(&c, "HI", "i16", PLACES, 0);
	bits = case_out(&c, "U", "u16", PLACES, 0);
	for (int i = 0; i < PLACES; i++) {
		all[i] = (uint16_t)(int)sum->v[i];
		hi->v[i] = -32768;
	}
	for (int i = 0; i < s->n; i++) {
		int at = (int)p->v[i];

		if (at < 0 || at >= PLACES)
			continue;
		all[at] = (uint16_t)(all[at] + (uint16_t)(int)x->v[i]);
		hi->v[at] = fmax(hi->v[at], x->v[i]);
		xors[at] = (uint16_t)(xors[at] ^ (uint16_t)(int)x->v[i]);
	}
	for (int i = 0; i < PLACES; i++) {
		sum->v[i] = (int16_t)all[i];
		bits->v[i] = xors[i];
	}
	*ncand = case_run(&c, PROGRAM, "halves", arch, cand);
	case_end(&c);
}

/* The third size is ragged. */
static const Example example[] = {
	{ .fn = histogram,
	  .size = { { .n = 4096 }, { .n = 1 }, { .n = 5001 }, { .n = 7000 }, { .n = 33 }, { .n = 9000 },
	    { .n = 200 }, { .n = 11008 } } },
	{ .fn = extremes,
	  .size = { { .n = 512 }, { .n = 1 }, { .n = 777 }, { .n = 200 }, { .n = 33 }, { .n = 1000 },
	    { .n = 2880 }, { .n = 7 } } },
	{ .fn = rows,
	  .size = { { .n = 64 }, { .n = 1 }, { .n = 77 }, { .n = 33 }, { .n = 16 }, { .n = 100 }, { .n = 7 },
	    { .n = 50 } } },
	{ .fn = swaps,
	  .size = { { .n = 64 }, { .n = 1 }, { .n = 33 }, { .n = 63 }, { .n = 7 }, { .n = 50 }, { .n = 2 },
	    { .n = 48 } } },
	{ .fn = halves,
	  .size = { { .n = 512 }, { .n = 1 }, { .n = 777 }, { .n = 200 }, { .n = 33 }, { .n = 1000 },
	    { .n = 2880 }, { .n = 7 } } },
};

TEST_EACH(sizes, COUNT_OF(example))
{
	example_sizes(&example[_i]);
}

TEST_EACH(candidates, COUNT_OF(example))
{
	example_candidates(&example[_i]);
}

/* Not of the histogram, which a second launch adds to; nor of extremes, where threads read what they found
 * themselves, for which a barrier stands all the same. */
TEST_EACH(faults, COUNT_OF(example))
{
	if (example[_i].fn != histogram && example[_i].fn != extremes)
		example_faults(&example[_i]);
}
TEST_PROGRAM(.timeout = 3600);
