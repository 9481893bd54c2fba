/* scan_levels.c - chooses the levels of a scan: how threads distribute a row whose elements are combined
 * in order. */
#include "taskmap/scan_levels.h"
#include "taskmap/support/support.h"
#include "taskmap/layout.h"
#include <string.h>

/* Returns the i-th fan-in to try: 8 down to 2, and then more, which have longer sequential chains. */
static int64_t
neighbours(int i)
{
	return i < 7 ? 8 - i : i + 2;
}

/* Computes fan-ins whose product is at least n and close to minimal: a single one if possible, else the first
 * of several.  In out[]; returns the product. */
static int64_t
factors(int64_t n, int64_t *out, int *nout)
{
	int64_t best = INT64_MAX, of[LEVELS_MAX];
	int nof;

	*nout = 0;
	if (n <= 1)
		return 1;
	if (n <= NEIGHBOURS_MAX) {
		*nout = 1;
		return out[0] = n;
	}
	for (int i = 0; neighbours(i) <= NEIGHBOURS_MAX && best - n > n / 32; i++) {
		int64_t c = neighbours(i), all = c * factors(ceil_div(n, c), of, &nof);

		if (all >= best)
			continue;
		best = all;
		out[0] = c;
		memcpy(out + 1, of, (size_t)nof * sizeof *of);
		*nout = 1 + nof;
	}
	return best;
}

/* Computes the levels of a row of n elements over `threads` threads, the lowest with fan-in `first`. */
static void
levels_of(Levels *x, int64_t n, int64_t threads, int64_t first)
{
	int64_t all = first, places = 1;
	int more;

	*x = (Levels){ .of = { first }, .n = first > 1 };
	all *= factors(ceil_div(ceil_div(n, first), threads), x->of + x->n, &more);
	x->n += more;
	n = ceil_div(n, all);
	while (places < n) /* lanes and warps are powers of two */
		places *= 2;
	if (places > WARP_SIZE) {
		all *= factors(places / WARP_SIZE, x->of + x->n, &more);
		x->n += more;
		places = WARP_SIZE;
	}
	x->padded = all * places;
}

void
levels_share(Levels *x, int64_t n, int64_t lines, int64_t threads, int64_t access)
{
	int64_t least = INT64_MAX, vec = gcd64(n, access);

	*x = (Levels){ .padded = n };
	for (int64_t f = access; f > 1 && n > WARP_SIZE; f -= vec) {
		if (f == access - vec)
			least -= least / 8;
		for (int64_t t = 1; t <= threads; t *= 2) {
			int64_t all = align_up(lines, threads / t);
			Levels y;

			if (n * all >= least)
				continue;
			levels_of(&y, n, t, f);
			if (y.padded * all < least) {
				least = y.padded * all;
				*x = y;
			}
		}
	}
}
