/* util_compose.c - composes CuTe layouts. */
#include "test/taskmap/util_cute.h"

/* The coord of index x in the modes a[0..n), the last one taking what is left; *digit per mode. */
static bool
compose_at(const Iter *a, int n, int64_t x, int64_t *digit, int64_t *coord)
{
	*coord = 0;
	for (int i = 0; i < n; i++) {
		int64_t term;

		digit[i] = i + 1 < n ? x % a[i].extent : x;
		x = i + 1 < n ? x / a[i].extent : 0;
		if (!mul64(digit[i], a[i].stride, &term) || !add64(*coord, term, coord))
			return false;
	}
	return true;
}

/* How many multiples of a number with these digits have just its digits multiplied. */
static int64_t
compose_run(const Iter *a, int n, const int64_t *digit)
{
	int64_t run = INT64_MAX;

	for (int i = 0; i + 1 < n; i++) {
		if (digit[i] > 0 && (a[i].extent - 1) / digit[i] < run)
			run = (a[i].extent - 1) / digit[i];
	}
	return run < INT64_MAX ? run + 1 : run;
}

/* a o (s:d) for one leaf, d > 0, s > 1, appended to `out`: the first `run` multiples of d are on a line;
 * what follows are such lines again, run * d apart.  load[i] grows by the largest digit that the leaf
 * gives mode i: over all leaves of b it must stay below the mode's extent, or else a carry would make
 * a(x + y) differ from a(x) + a(y). */
static bool
compose_leaf(Modes *out, const Iter *a, int n, int64_t s, int64_t d, int64_t *load)
{
	int at = out->n;

	while (s > 1) {
		int64_t digit[MODES_MAX], coord, run, next;

		if (!compose_at(a, n, d, digit, &coord))
			return false;
		run = compose_run(a, n, digit);
		if (run > s)
			run = s;
		if (s % run || !mul64(d, run, &d))
			return false;
		for (int i = 0; i + 1 < n; i++) {
			load[i] += (run - 1) * digit[i];
			if (load[i] >= a[i].extent)
				return false;
		}
		if (out->n > at && mul64(out->it[out->n - 1].extent, out->it[out->n - 1].stride, &next) &&
		    next == coord)
			out->it[out->n - 1].extent *= run;
		else if (!modes_push(out, run, coord))
			return false;
		s /= run;
	}
	return true;
}

bool
modes_compose(Modes *out, const Modes *a, const Modes *b)
{
	Modes flat = *a, r = { .n = 0 };
	int64_t load[MODES_MAX] = { 0 };

	modes_coalesce(&flat);
	for (int i = 0; i < b->n; i++) {
		const Iter *leaf = &b->it[i];
		int at = r.n;
		int64_t digit[MODES_MAX], coord;

		if (leaf->stride < 0)
			return false;
		if (leaf->stride == 0 || leaf->extent == 1) {
			if (!compose_at(flat.it, flat.n, leaf->stride, digit, &coord) ||
			    !modes_push(&r, leaf->extent, coord))
				return false;
		} else if (!compose_leaf(&r, flat.it, flat.n, leaf->extent, leaf->stride, load)) {
			return false;
		}
		r.it[at].open = (uint8_t)(leaf->open + (r.n - at > 1));
		r.it[r.n - 1].close = (uint8_t)(leaf->close + (r.n - at > 1));
	}
	*out = r;
	return true;
}

bool
cute_compose(Layout *out, const Layout *a, const Layout *b)
{
	Modes ma, mb, r;
	Layout l;

	if (!layout_is_mem(a) || a->nrep || !modes_plain(b))
		return false;
	modes_from_layout(&ma, a);
	modes_from_layout(&mb, b);
	if (!modes_compose(&r, &ma, &mb) || !modes_finish(&l, &r))
		return false;
	l.swizzle = a->swizzle;
	l.offset[AX_mem] = a->offset[AX_mem];
	*out = l;
	return true;
}
