/* util_group.c - splits flat mem layouts by size, refines them to common shapes, and selects modes by stride
 * range. */
#include "test/taskmap/util_cute.h"

static bool
group_push(Iter *it, int *n, int64_t extent, int64_t stride)
{
	if (*n >= ITER_MAX)
		return false;
	it[(*n)++] = (Iter){ .extent = extent, .stride = stride, .axis = AX_mem };
	return true;
}

bool
cute_group(const Layout *a, int64_t n, bool skip0, Layout *head, Layout *tail)
{
	Iter h[ITER_MAX], t[ITER_MAX];
	int nh = 0, nt = 0;
	int64_t p = 1;

	if (!modes_plain(a) || n < 1)
		return false;
	for (int i = 0; i < a->n; i++) {
		int64_t s = a->it[i].extent, d = a->it[i].stride, q = n / p;
		bool counts = !(skip0 && d == 0), ok;

		if (s == 1)
			continue;
		if (p == n) {
			ok = group_push(t, &nt, s, d);
		} else if (!counts || q % s == 0) {
			ok = group_push(h, &nh, s, d);
			p *= counts ? s : 1;
		} else {
			ok = s % q == 0 && group_push(h, &nh, q, d) && group_push(t, &nt, s / q, d * q);
			p = n;
		}
		if (!ok)
			return false;
	}
	if (p != n)
		return false;
	modes_flat_layout(head, h, nh);
	modes_flat_layout(tail, t, nt);
	return true;
}

/* Next leaf with extent > 1 from at, or the end. */
static int
group_next(const Layout *l, int at)
{
	while (at < l->n && l->it[at].extent == 1)
		at++;
	return at;
}

bool
cute_common_reshape(const Layout *a, const Layout *b, Layout *ra, Layout *rb)
{
	Iter ia[ITER_MAX], ib[ITER_MAX], ca, cb;
	int na = 0, nb = 0, i, j;

	if (!modes_plain(a) || !modes_plain(b) || layout_size(a) != layout_size(b))
		return false;
	i = group_next(a, 0);
	j = group_next(b, 0);
	ca = i < a->n ? a->it[i] : (Iter){ .extent = 1 };
	cb = j < b->n ? b->it[j] : (Iter){ .extent = 1 };
	while (i < a->n && j < b->n) {
		int64_t s = ca.extent < cb.extent ? ca.extent : cb.extent;

		if (ca.extent % s || cb.extent % s || !group_push(ia, &na, s, ca.stride) ||
		    !group_push(ib, &nb, s, cb.stride))
			return false;
		ca.extent /= s;
		ca.stride *= s;
		cb.extent /= s;
		cb.stride *= s;
		if (ca.extent == 1 && (i = group_next(a, i + 1)) < a->n)
			ca = a->it[i];
		if (cb.extent == 1 && (j = group_next(b, j + 1)) < b->n)
			cb = b->it[j];
	}
	modes_flat_layout(ra, ia, na);
	modes_flat_layout(rb, ib, nb);
	return true;
}

/* Cut every mode at the strides lo and hi; parts inside [lo, hi) get stride 0, or are left out. */
static bool
group_cut(Layout *out, const Layout *a, int64_t lo, int64_t hi, bool drop)
{
	Iter r[ITER_MAX];
	int n = 0;

	if (!modes_plain(a) || lo < 1 || hi < lo)
		return false;
	for (int i = 0; i < a->n; i++) {
		int64_t s = a->it[i].extent, d = a->it[i].stride;

		if (d < 0)
			return false;
		while (s > 1) {
			int64_t border = d < lo ? lo : hi; /* the next cut above d, if any */
			int64_t part = s;
			bool inside = d >= lo && d < hi;

			if (d > 0 && d < border && d * (s - 1) >= border) {
				if (border % d || s % (border / d))
					return false;
				part = border / d;
			}
			if (!(inside && drop) && !group_push(r, &n, part, inside ? 0 : d))
				return false;
			s /= part;
			d *= part;
		}
	}
	modes_flat_layout(out, r, n);
	return true;
}

bool
cute_filter_lo_hi(Layout *out, const Layout *a, int64_t lo, int64_t hi)
{
	return group_cut(out, a, lo, hi, false);
}

bool
cute_remove_lo_hi(Layout *out, const Layout *a, int64_t lo, int64_t hi)
{
	return group_cut(out, a, lo, hi, true);
}
