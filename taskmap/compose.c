/* compose.c - composition of CuTe layouts. */
#include "taskmap/modes.h"

/* The place of index x in the modes a[0..n), the last one taking what is left; *digit per mode. */
static bool
compose_at(const Iter *a, int n, int64_t x, int64_t *digit, int64_t *place)
{
	*place = 0;
	for (int i = 0; i < n; i++) {
		int64_t term;

		digit[i] = i + 1 < n ? x % a[i].extent : x;
		x = i + 1 < n ? x / a[i].extent : 0;
		if (!mul64(digit[i], a[i].stride, &term) || !add64(*place, term, place))
			return false;
	}
	return true;
}

static bool
compose_fits(const Iter *a, int n, const int64_t *load)
{
	for (int i = 0; i + 1 < n; i++) {
		if (load[i] >= a[i].extent)
			return false;
	}
	return true;
}

/* a o (s:d) for one leaf, d >= 0, s > 1, appended to `out`.  load[i] grows by the largest digit that
 * the leaf gives mode i: over all leaves of b it must stay below the mode's extent, or else a carry
 * would make a(x + y) differ from a(x) + a(y). */
static bool
compose_leaf(Modes *out, const Iter *a, int n, int64_t s, int64_t d, int64_t *load)
{
	for (int i = 0; i < n; i++) {
		int64_t digit[MODES_MAX], place, e = a[i].extent, t;
		bool straight = true;

		if (!compose_at(a + i, n - i, d, digit, &place))
			return false;
		for (int j = 0; j < n - i - 1; j++)
			straight = straight && digit[j] <= (a[i + j].extent - 1) / (s - 1);
		if (straight) { /* the digits of k * d are k times those of d */
			for (int j = 0; j < n - i - 1; j++)
				load[i + j] += (s - 1) * digit[j];
			return compose_fits(a, n, load) && modes_push(out, s, place);
		}
		if (d >= e) {
			if (d % e)
				return false;
			d /= e;
			continue;
		}
		if (e % d || s % (e / d))
			return false;
		t = e / d; /* fill mode i, then go on with the next one */
		load[i] += (t - 1) * d;
		if (!compose_fits(a, n, load) || !modes_push(out, t, d * a[i].stride))
			return false;
		s /= t;
		d = 1;
		if (s == 1)
			return true;
	}
	return false;
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
		int64_t digit[MODES_MAX], place;

		if (leaf->stride < 0)
			return false;
		if (leaf->stride == 0 || leaf->extent == 1) {
			if (!compose_at(flat.it, flat.n, leaf->stride, digit, &place) ||
			    !modes_push(&r, leaf->extent, place))
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
