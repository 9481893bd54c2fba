/* canonicalize.c - computes the canonical form of layouts, their equality and their hash. */
#include "taskmap/layout.h"
#include <string.h>

/* ---- canonical form ---------------------------------------------------------------------------- */

/* Does b continue a: is the pair one iter of a.extent * b.extent? */
static bool
normal_continues(const Iter *a, const Iter *b)
{
	return a->axis == b->axis && b->stride == a->extent * a->stride;
}

/* Merges the iters of one dim in place; returns how many are left. */
static int
normal_merge(Iter *it, int n)
{
	int k = 0;

	for (int i = 0; i < n; i++) {
		Iter cur = it[i];

		cur.open = cur.close = 0;
		if (cur.extent == 1)
			continue;
		if (k > 0 && normal_continues(&it[k - 1], &cur))
			it[k - 1].extent *= cur.extent;
		else
			it[k++] = cur;
	}
	return k;
}

static bool
normal_rep_before(const Iter *a, const Iter *b)
{
	if (a->axis != b->axis)
		return a->axis < b->axis;
	if (a->stride != b->stride)
		return a->stride < b->stride;
	return a->extent < b->extent;
}

/* Replication is a set: its order is irrelevant, and a stride of 0 adds no coordinate. */
static void
normal_rep(Layout *l)
{
	int n = 0;

	for (int i = 0; i < l->nrep; i++) {
		Iter cur = l->rep[i];
		int at = n;

		if (cur.extent == 1 || cur.stride == 0)
			continue;
		while (at > 0 && normal_rep_before(&cur, &l->rep[at - 1])) {
			l->rep[at] = l->rep[at - 1];
			at--;
		}
		l->rep[at] = cur;
		n++;
	}
	l->nrep = normal_merge(l->rep, n);
}

void
layout_canon(Layout *l)
{
	int n = 0, lo = 0;
	bool mem = layout_is_mem(l);

	/* a stride of 0 is on no axis: use the axis it is always written with */
	for (int i = 0; i < l->n; i++) {
		if (l->it[i].stride == 0)
			l->it[i].axis = mem ? AX_mem : AX_reg;
	}
	for (int d = 0; d < l->ndim; d++) {
		int hi = l->first[d + 1];
		int k = normal_merge(&l->it[lo], hi - lo);

		memmove(&l->it[n], &l->it[lo], sizeof l->it[0] * (size_t)k);
		l->first[d] = (uint8_t)n;
		n += k;
		lo = hi;
	}
	l->first[l->ndim] = (uint8_t)n;
	l->n = n;
	normal_rep(l);
}

/* ---- equality ---------------------------------------------------------------------------------- */

static bool
normal_same_iter(const Iter *a, const Iter *b)
{
	return a->extent == b->extent && a->stride == b->stride &&
	       (a->stride == 0 || a->axis == b->axis);
}

/* Is `sum` a sum of digits of the iters of this axis? */
static bool
normal_reaches(const Iter *it, int n, uint8_t axis, int64_t sum)
{
	if (n == 0 || sum <= 0)
		return sum == 0;
	if (it->axis != axis)
		return normal_reaches(it + 1, n - 1, axis, sum);
	for (int64_t k = 0; k < it->extent && k * it->stride <= sum; k++) {
		if (normal_reaches(it + 1, n - 1, axis, sum - k * it->stride))
			return true;
	}
	return false;
}

/* Is every sum of the iters a[] on the axis also one of b[]? */
static bool
normal_rep_within(const Iter *a, int na, const Iter *b, int nb, uint8_t axis, int64_t sum)
{
	if (na == 0)
		return normal_reaches(b, nb, axis, sum);
	if (a->axis != axis)
		return normal_rep_within(a + 1, na - 1, b, nb, axis, sum);
	for (int64_t k = 0; k < a->extent; k++) {
		if (!normal_rep_within(a + 1, na - 1, b, nb, axis, sum + k * a->stride))
			return false;
	}
	return true;
}

/* The largest of the sums; if these differ, no sum needs to be compared. */
static int64_t
normal_rep_top(const Layout *l, uint8_t axis)
{
	int64_t top = 0;

	for (int i = 0; i < l->nrep; i++) {
		if (l->rep[i].axis == axis)
			top += (l->rep[i].extent - 1) * l->rep[i].stride;
	}
	return top;
}

static bool
normal_same_rep(const Layout *a, const Layout *b)
{
	bool same = a->nrep == b->nrep;

	for (int i = 0; same && i < a->nrep; i++)
		same = normal_same_iter(&a->rep[i], &b->rep[i]);
	for (int x = 0; !same && x < AX_COUNT; x++) {
		if (normal_rep_top(a, (uint8_t)x) != normal_rep_top(b, (uint8_t)x))
			return false;
		if (!normal_rep_within(a->rep, a->nrep, b->rep, b->nrep, (uint8_t)x, 0) ||
		    !normal_rep_within(b->rep, b->nrep, a->rep, a->nrep, (uint8_t)x, 0))
			return false;
	}
	return true;
}

static bool
normal_same_dims(const Layout *a, const Layout *b)
{
	if (a->n != b->n || memcmp(a->first, b->first, (size_t)a->ndim + 1) != 0)
		return false;
	for (int i = 0; i < a->n; i++) {
		if (!normal_same_iter(&a->it[i], &b->it[i]))
			return false;
	}
	return memcmp(a->offset, b->offset, sizeof a->offset) == 0;
}

/* Merged iters of a dim are unique: the first ends where the function first deviates from linearity, and so
 * on.  So the canonical forms decide, unless the swizzles differ. */
static bool
normal_equal(Layout *a, Layout *b)
{
	int64_t size;

	if (a->ndim != b->ndim)
		return false;
	for (int d = 0; d < a->ndim; d++) {
		if (layout_extent(a, d) != layout_extent(b, d))
			return false;
	}
	layout_canon(a);
	layout_canon(b);
	if (!normal_same_rep(a, b))
		return false;
	if (!layout_swizzle_matters(a))
		a->swizzle = (Swizzle){ 0 };
	if (!layout_swizzle_matters(b))
		b->swizzle = (Swizzle){ 0 };
	if (memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) == 0)
		return normal_same_dims(a, b);
	size = layout_size(a);
	for (int64_t i = 0; i < size; i++) {
		Coord p = layout_at_index(a, i), q = layout_at_index(b, i);

		if (memcmp(&p, &q, sizeof p) != 0)
			return false;
	}
	return true;
}

bool
layout_equal(const Layout *a, const Layout *b)
{
	Layout ca = *a, cb = *b;

	return normal_equal(&ca, &cb);
}

static void
normal_forget_regs(Layout *l)
{
	int n = 0;

	for (int i = 0; i < l->n; i++) {
		if (l->it[i].axis == AX_reg)
			l->it[i].stride = 0;
	}
	for (int i = 0; i < l->nrep; i++) {
		if (l->rep[i].axis != AX_reg)
			l->rep[n++] = l->rep[i];
	}
	l->nrep = n;
	l->offset[AX_reg] = 0;
}

bool
layout_equal_threads(const Layout *a, const Layout *b)
{
	Layout ca = *a, cb = *b;

	normal_forget_regs(&ca);
	normal_forget_regs(&cb);
	return normal_equal(&ca, &cb);
}

/* ---- identity and hash --------------------------------------------------------------------------- */

static uint64_t
normal_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

uint64_t
layout_hash(const Layout *l)
{
	uint64_t h = normal_mix((uint64_t)l->n, (uint64_t)l->nrep);

	for (int d = 0; d < l->ndim; d++)
		h = normal_mix(h, l->first[d + 1]);
	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);

		h = normal_mix(normal_mix(h, (uint64_t)it->extent), (uint64_t)it->stride * 8 + it->axis);
	}
	return h;
}

static bool
normal_identical(const Iter *a, const Iter *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].stride != b[i].stride || a[i].extent != b[i].extent || a[i].axis != b[i].axis ||
		    a[i].open != b[i].open || a[i].close != b[i].close)
			return false;
	return true;
}

bool
layout_identical(const Layout *a, const Layout *b)
{
	return a->n == b->n && a->ndim == b->ndim && a->nrep == b->nrep && a->tuple == b->tuple &&
	       memcmp(a->first, b->first, (size_t)a->ndim + 1) == 0 && normal_identical(a->it, b->it, a->n) &&
	       normal_identical(a->rep, b->rep, a->nrep) &&
	       memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) == 0 &&
	       memcmp(a->offset, b->offset, sizeof a->offset) == 0;
}
