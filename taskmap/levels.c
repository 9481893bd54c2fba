/* levels.c - how threads share out a line whose elements are combined with each other in order. */
#include "taskmap/levels.h"
#include "taskmap/base.h"
#include "taskmap/layout.h"
#include <string.h>

/* Numbers from 2 to `most` whose product is at least n, and as little as possible; of several those that
 * begin with the largest.  In out[]; returns the product. */
static int64_t
factors(int64_t n, int64_t most, int64_t *out, int *nout)
{
	int64_t best = INT64_MAX, of[LEVELS_MAX];
	int nof;

	*nout = 0;
	if (n <= 1)
		return 1;
	for (int64_t c = most; c > 1 && best - n > n / 8; c = c > LATER_MAX ? c / 2 : c - 1) {
		int64_t all = c * factors(ceil_div(n, c), LATER_MAX, of, &nof);

		if (all >= best)
			continue;
		best = all;
		out[0] = c;
		memcpy(out + 1, of, (size_t)nof * sizeof *of);
		*nout = 1 + nof;
	}
	return best;
}

/* Levels of a line of n elements that so many threads share out. */
static void
levels_of(Levels *x, int64_t n, int64_t threads)
{
	int64_t all, places = 1;
	int upper;

	*x = (Levels){ .padded = n };
	all = factors(ceil_div(n, threads), NEIGHBOURS_MAX, x->of, &x->n);
	n = ceil_div(n, all);
	if (n > WARP_SIZE) {
		all *= factors(ceil_div(n, WARP_SIZE), LATER_MAX, x->of + x->n, &upper);
		x->n += upper;
		n = WARP_SIZE;
	}
	while (places < n)
		places *= 2;
	if (x->n)
		x->padded = all * places;
}

void
levels_share(Levels *x, int64_t n, int64_t lines, int64_t threads)
{
	int64_t least = INT64_MAX;

	*x = (Levels){ .padded = n };
	for (int64_t t = 1; t <= threads && n > WARP_SIZE; t *= 2) {
		Levels y;
		int64_t size;

		levels_of(&y, n, t);
		size = y.padded * align_up(lines, threads / t);
		if (size < least) {
			least = size;
			*x = y;
		}
	}
}
