/* test_by_hand.c - tests examples with a hand-written schedule against those scheduled by the compiler: for
 * integers, identical bits and correct results for every schedule, tile and number of blocks. */
#include "test/examples/util_case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Shape {
	int m, n, k;
} Shape;

typedef struct Pair {
	const char *hand, *own; /* files */
	bool weights; /* of 4 bits, with scales and zero points of 128 along k */
} Pair;

static const Pair pair[] = { { "gemm_roles", "gemm_f16", false }, { "gemm_w4_roles", "gemm_w4a16", true } };

/* One tile with edges, several, and a turn more than there are stages; 600 along k is no multiple of 64. */
static const Shape plain[] = { { 8, 8, 8 }, { 200, 136, 320 }, { 264, 264, 600 } };
static const Shape scaled[] = { { 8, 32, 128 }, { 100, 160, 256 }, { 136, 288, 640 } };

static Buf *
whole(Case *c, const char *name, const char *type, double lo, double hi, int rows, int columns)
{
	Buf *b = case_in(c, name, type, lo, hi, rows, columns, 0);

	for (int64_t i = 0; i < b->n; i++)
		buf_set(b, i, nearbyint(b->v[i]));
	return b;
}

/* Sums of whole numbers below 2048 are f16, in any order. */
static Buf *
data(Case *c, bool weights, const Shape *s)
{
	const Buf *a = whole(c, "A", "f16", -1, 1, s->m, s->k);
	const Buf *b = weights ? whole(c, "W", "u4", 0, 15, s->n, s->k)
	                       : whole(c, "B", "f16", -3, 3, s->n, s->k);
	const Buf *f = weights ? whole(c, "S", "f16", 1, 2, s->k / 128, s->n) : NULL;
	const Buf *z = weights ? whole(c, "Z", "u4", 0, 15, s->k / 128, s->n) : NULL;
	Buf *out = case_out(c, "C", "f16", s->m, s->n, 0);

	for (int i = 0; i < s->m; i++)
		for (int j = 0; j < s->n; j++) {
			double sum = 0;

			for (int k = 0; k < s->k; k++) {
				double x = b->v[(int64_t)j * s->k + k];
				int64_t group = k / 128 * (int64_t)s->n + j;

				x = f ? (x - z->v[group]) * f->v[group] : x;
				sum += a->v[(int64_t)i * s->k + k] * x;
			}
			ck_assert_msg(fabs(sum) <= 2048, "too large to be f16: %g", sum);
			out->v[(int64_t)i * s->n + j] = sum;
			out->allow[(int64_t)i * s->n + j] = 0;
		}
	return out;
}

/* The result, which is the caller's. */
static void *
run(const Pair *p, const Shape *s, const char *file, const char *schedule, uint32_t blocks, int bm,
    uint64_t *n)
{
	Case c;
	void *bits;
	Buf *out;

	case_start(&c, 1);
	out = data(&c, p->weights, s);
	case_def(&c, "BM", bm);
	c.schedule = schedule;
	c.clusters = blocks;
	case_run(&c, file, NULL, "sm_90a", 0);
	*n = out->bytes;
	bits = malloc(out->bytes);
	ck_assert_ptr_nonnull(bits);
	memcpy(bits, out->mem, out->bytes);
	case_end(&c);
	return bits;
}

static void
same(const Pair *p, const Shape *s, int bm)
{
	static const char *const schedule[] = { "groups", "roles", "roles2" };
	uint64_t n, m;
	void *hand = run(p, s, p->hand, NULL, 0, bm, &n);

	for (uint32_t i = 0; i < COUNT_OF(schedule); i++)
		for (uint32_t blocks = 1; blocks <= (i ? 3 : 1); blocks += 2) {
			void *own = run(p, s, p->own, schedule[i], blocks, bm, &m);

			ck_assert_msg(n == m && memcmp(hand, own, n) == 0,
			              "%s of %d x %d x %d, rows by %d: %s with %s in %u blocks is another",
			              p->hand, s->m, s->n, s->k, bm, p->own, schedule[i], blocks);
			free(own);
		}
	free(hand);
}

TEST_EACH(same_bits, 2 * COUNT_OF(pair) * COUNT_OF(plain))
{
	const Pair *p = &pair[_i / 2 % (int)COUNT_OF(pair)];
	int at = _i / 2 / (int)COUNT_OF(pair);

	same(p, p->weights ? &scaled[at] : &plain[at], _i % 2 ? 128 : 64);
}

TEST_PROGRAM(.timeout = 60);
