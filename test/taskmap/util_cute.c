/* util_cute.c - computes coalesce, compose, complement, inverses, divide and product of CuTe layouts. */
#include "test/taskmap/util_cute.h"
#include <string.h>

bool
modes_plain(const Layout *l)
{
	return layout_is_mem(l) && l->nrep == 0 && l->swizzle.bits == 0 && l->offset[AX_mem] == 0;
}

bool
modes_finish(Layout *l, const Modes *m)
{
	Modes one = *m;
	Layout r;

	if (!modes_to_layout(&r, m)) {
		modes_wrap(&one);
		if (!modes_to_layout(&r, &one))
			return false;
	}
	if (!layout_in_range(&r))
		return false;
	*l = r;
	return true;
}

int64_t
modes_size(const Modes *m)
{
	int64_t p = 1;

	for (int i = 0; i < m->n; i++)
		p *= m->it[i].extent;
	return p;
}

/* ---- coalesce ---------------------------------------------------------------------------------- */

/* Leaves without extent 1, neighbours merged; parentheses gone.  Returns how many are left. */
static int
cute_merge(Iter *it, int n)
{
	int k = 0;

	for (int i = 0; i < n; i++) {
		Iter cur = it[i];
		int64_t next;

		cur.open = cur.close = 0;
		if (cur.extent == 1)
			continue;
		if (k > 0 && mul64(it[k - 1].extent, it[k - 1].stride, &next) && next == cur.stride)
			it[k - 1].extent *= cur.extent;
		else
			it[k++] = cur;
	}
	return k;
}

void
modes_coalesce(Modes *m)
{
	if (m->n == 1) { /* a leaf stays, whatever its extent */
		m->it[0].open = m->it[0].close = 0;
		return;
	}
	m->n = cute_merge(m->it, m->n);
	if (m->n == 0)
		modes_push(m, 1, 0);
	if (m->n > 1)
		modes_wrap(m);
}

bool
cute_coalesce(Layout *out, const Layout *a)
{
	Modes m;
	Layout r;

	if (!layout_is_mem(a) || a->nrep)
		return false;
	modes_from_layout(&m, a);
	modes_coalesce(&m);
	if (!modes_finish(&r, &m))
		return false;
	r.swizzle = a->swizzle;
	r.offset[AX_mem] = a->offset[AX_mem];
	*out = r;
	return true;
}

/* ---- complement and inverses --------------------------------------------------------------------- */

/* Stable insertion sort by stride; rank[i] goes along. */
static void
cute_sort(Iter *it, int64_t *rank, int n)
{
	for (int i = 1; i < n; i++) {
		Iter cur = it[i];
		int64_t r = rank[i];
		int at = i;

		for (; at > 0 && cur.stride < it[at - 1].stride; at--) {
			it[at] = it[at - 1];
			rank[at] = rank[at - 1];
		}
		it[at] = cur;
		rank[at] = r;
	}
}

/* The modes of `m` that move (extent > 1, stride > 0) sorted by stride; rank[] is the index weight each
 * has in `m`.  -1 when a stride is negative or the size overflows. */
static int
cute_sorted(Iter *it, int64_t *rank, const Modes *m)
{
	int64_t weight = 1;
	int n = 0;

	for (int i = 0; i < m->n; i++) {
		if (m->it[i].stride < 0)
			return -1;
		if (m->it[i].extent > 1 && m->it[i].stride > 0) {
			it[n] = m->it[i];
			rank[n++] = weight;
		}
		if (!mul64(weight, m->it[i].extent, &weight))
			return -1;
	}
	cute_sort(it, rank, n);
	return n;
}

static void
cute_emit(Iter *it, int *n, int64_t extent, int64_t stride)
{
	it[(*n)++] = (Iter){ .extent = extent, .stride = stride, .axis = AX_mem };
}

/* bound <= 0: the layout is not closed by a bound, and its last mode is 1:(where a's image ends). */
static bool
cute_complement_modes(Modes *out, const Modes *a, int64_t bound)
{
	Iter it[MODES_MAX], r[MODES_MAX + 1];
	int64_t rank[MODES_MAX], cur = 1;
	int n = cute_sorted(it, rank, a), k = 0;

	if (n < 0)
		return false;
	for (int i = 0; i < n; i++) {
		if (it[i].stride < cur)
			return false;
		if (it[i].stride / cur > 1)
			cute_emit(r, &k, it[i].stride / cur, cur);
		if (!mul64(it[i].extent, it[i].stride, &cur))
			return false;
	}
	if (bound > cur)
		cute_emit(r, &k, (bound - 1) / cur + 1, cur);
	else if (bound <= 0 || k == 0)
		cute_emit(r, &k, 1, cur);
	if (k > MODES_MAX)
		return false;
	out->n = k;
	memcpy(out->it, r, sizeof r[0] * (size_t)k);
	if (k > 1)
		modes_wrap(out);
	return true;
}

bool
cute_complement(Layout *out, const Layout *a, int64_t bound)
{
	Modes m;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	return cute_complement_modes(&m, &m, bound) && modes_finish(out, &m);
}

static bool
cute_give(Layout *out, const Layout *l)
{
	if (!layout_in_range(l))
		return false;
	*out = *l;
	return true;
}

bool
cute_right_inverse(Layout *out, const Layout *a)
{
	Modes m, r = { .n = 0 };
	Iter it[MODES_MAX];
	int64_t rank[MODES_MAX], cur = 1;
	Layout l;
	int n;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	m.n = cute_merge(m.it, m.n);
	n = cute_sorted(it, rank, &m);
	for (int i = 0; i < n; i++) {
		if (it[i].stride != cur)
			continue;
		modes_push(&r, it[i].extent, rank[i]);
		if (!mul64(it[i].extent, it[i].stride, &cur))
			return false;
	}
	if (n < 0)
		return false;
	r.n = cute_merge(r.it, r.n);
	modes_flat_layout(&l, r.it, r.n);
	return cute_give(out, &l);
}

bool
cute_left_inverse(Layout *out, const Layout *a)
{
	Modes m;
	Iter it[MODES_MAX], r[MODES_MAX + 1];
	int64_t rank[MODES_MAX];
	Layout l;
	int n, k = 0;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	m.n = cute_merge(m.it, m.n);
	n = cute_sorted(it, rank, &m);
	if (n < 0)
		return false;
	if (n > 0 && it[0].stride > 1)
		cute_emit(r, &k, it[0].stride, 0);
	for (int i = 0; i < n; i++) {
		int64_t extent = it[i].extent;

		if (i + 1 < n) {
			if (it[i + 1].stride % it[i].stride)
				return false;
			extent = it[i + 1].stride / it[i].stride;
		}
		cute_emit(r, &k, extent, rank[i]);
	}
	k = cute_merge(r, k);
	if (k > ITER_MAX)
		return false;
	modes_flat_layout(&l, r, k);
	return cute_give(out, &l);
}

/* ---- divide and product --------------------------------------------------------------------------- */

/* The tuple (a, b). */
static bool
cute_pair(Modes *out, const Modes *a, const Modes *b)
{
	Modes r = *a;

	if (!modes_append(&r, b, false))
		return false;
	modes_wrap(&r);
	*out = r;
	return true;
}

bool
modes_logical_divide(Modes *out, const Modes *a, const Modes *b)
{
	Modes rest, pair;

	return cute_complement_modes(&rest, b, modes_size(a)) && cute_pair(&pair, b, &rest) &&
	       modes_compose(out, a, &pair);
}

bool
modes_logical_product(Modes *out, const Modes *a, const Modes *b)
{
	Modes rest, copies;
	int64_t bound, cosize = 1;

	for (int i = 0; i < b->n; i++) {
		int64_t far;

		if (b->it[i].stride < 0 || !mul64(b->it[i].extent - 1, b->it[i].stride, &far) ||
		    !add64(cosize, far, &cosize))
			return false;
	}
	return mul64(modes_size(a), cosize, &bound) && cute_complement_modes(&rest, a, bound) &&
	       modes_compose(&copies, &rest, b) && cute_pair(out, a, &copies);
}

bool
cute_logical_divide(Layout *out, const Layout *a, const Layout *b)
{
	Modes ma, mb;

	if (!modes_plain(a) || !modes_plain(b))
		return false;
	modes_from_layout(&ma, a);
	modes_from_layout(&mb, b);
	return modes_logical_divide(&ma, &ma, &mb) && modes_finish(out, &ma);
}

bool
cute_logical_product(Layout *out, const Layout *a, const Layout *b)
{
	Modes ma, mb;

	if (!modes_plain(a) || !modes_plain(b))
		return false;
	modes_from_layout(&ma, a);
	modes_from_layout(&mb, b);
	return modes_logical_product(&ma, &ma, &mb) && modes_finish(out, &ma);
}
