/* test_layout_surgery.c - tests register indices and dim operations of layouts against brute force. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* The registers of a tile, renumbered: those of one element in the old numbering stay together. */
static void
check_regs(const Layout *old, const Layout *new, bool ordered)
{
	int64_t seen[4096], used = 0;

	memset(seen, -1, sizeof seen);
	for (int64_t i = 0; i < layout_size(old); i++) {
		int64_t a = layout_at_index(old, i).at[AX_reg],
			b = layout_at_index(new, i).at[AX_reg];

		TM_INT(b, <, 4096);
		TM_MSG(seen[b] < 0 || seen[b] == a, "%s -> %s", show(old), show(new));
		used += seen[b] < 0;
		seen[b] = a;
	}
	TM_INT(used, ==, layout_cosize(new, AX_reg)); /* no gaps */
	for (int64_t i = 1; ordered && i < used; i++)
		TM_MSG(seen[i] > seen[i - 1], "%s -> %s", show(old), show(new));
}

TEST(compact_regs)
{
	tm_seed = 29;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile(3), r, s;
		int order[3] = { 0, 1, 2 }, last = -1;
		int64_t c[3] = { 0, 0, 0 };

		for (int i = 0; i < l.n; i++) { /* gaps to close */
			if (l.it[i].axis == AX_reg)
				l.it[i].stride *= 3;
		}
		l.offset[AX_reg] = rnd_in(0, 2);
		for (int i = 0; i < 3; i++) {
			int j = (int)rnd_in(i, 2), t = order[i];
			order[i] = order[j];
			order[j] = t;
		}
		r = l;
		layout_compact_regs(&r, order);
		TM(brute_equal(&l, &r, true));
		check_regs(&l, &r, false);
		/* walking the dims in that order meets the registers in theirs */
		for (c[order[2]] = 0; c[order[2]] < layout_extent(&l, order[2]); c[order[2]]++)
			for (c[order[1]] = 0; c[order[1]] < layout_extent(&l, order[1]);
			     c[order[1]]++)
				for (c[order[0]] = 0; c[order[0]] < layout_extent(&l, order[0]);
				     c[order[0]]++) {
					int reg = (int)layout_at(&r, c).at[AX_reg];
					TM_MSG(reg <= last + 1, "%s", show(&r));
					last = reg > last ? reg : last;
				}
		s = l;
		layout_squeeze_regs(&s);
		TM(brute_equal(&l, &s, true));
		check_regs(&l, &s, true);
	}
}

/* Another shape of as many elements: of random neighbours merged and extents split. */
static int
rnd_shape(const int64_t *from, int n, int64_t *to)
{
	int m = 0;

	for (int d = 0; d < n; d++) {
		int64_t x = from[d], by = rnd_in(1, x);

		if (m && rnd_in(0, 2) == 0) {
			to[m - 1] *= x;
			continue;
		}
		to[m++] = x;
		if (m < DIM_MAX && x % by == 0 && rnd_in(0, 1)) {
			to[m - 1] = by;
			to[m++] = x / by;
		}
	}
	return m;
}

TEST(reshape)
{
	int done = 0;

	tm_seed = 31;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), m;
		Layout l = rnd_tile(ndim), q, back;
		int64_t shape[DIM_MAX], other[DIM_MAX], c[DIM_MAX], p[DIM_MAX], size = layout_size(&l);

		for (int d = 0; d < ndim; d++)
			shape[d] = layout_extent(&l, d);
		m = rnd_shape(shape, ndim, other);
		if (!layout_reshape(&q, &l, m, other))
			continue;
		done++;
		TM_INT(q.ndim, ==, m);
		for (int64_t i = 0; i < size; i++) { /* row-major */
			int64_t x = i, y = i;
			Coord a, b;

			for (int d = ndim - 1; d >= 0; d--) {
				c[d] = x % shape[d];
				x /= shape[d];
			}
			for (int d = m - 1; d >= 0; d--) {
				p[d] = y % other[d];
				y /= other[d];
			}
			a = layout_at(&l, c);
			b = layout_at(&q, p);
			TM(same_coord(&a, &b));
		}
		TM(layout_reshape(&back, &q, ndim, shape));
		TM(layout_equal(&back, &l));
		other[0]++;
		TM(!layout_reshape(&q, &l, m, other));
	}
	TM_INT(done, >, TRIALS / 4);
}

TEST(permute_insert_drop_concat)
{
	tm_seed = 30;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 4), perm[4], at = (int)rnd_in(0, ndim);
		Layout l = rnd_tile(ndim), p, q, b;
		int64_t c[DIM_MAX], pc[DIM_MAX];

		l.offset[AX_warp] = rnd_in(0, 2);
		for (int i = 0; i < ndim; i++) {
			int j = (int)rnd_in(0, i);
			perm[i] = perm[j];
			perm[j] = i;
		}
		layout_permute(&p, &l, perm);
		TM(layout_insert_dim(&q, &l, at));
		TM_INT(layout_extent(&q, at), ==, 1);
		for (int64_t i = 0; i < layout_size(&l); i++) {
			Coord want_p, got;

			coord_of(&l, i, c);
			want_p = layout_at(&l, c);
			for (int d = 0; d < ndim; d++)
				pc[d] = c[perm[d]];
			got = layout_at(&p, pc);
			TM(same_coord(&got, &want_p));
			pc[at] = 0;
			for (int d = 0; d < ndim; d++)
				pc[d < at ? d : d + 1] = c[d];
			got = layout_at(&q, pc);
			TM(same_coord(&got, &want_p));
		}
		TM(layout_drop_dim(&q, &q, at));
		TM(layout_equal(&q, &l));
		if (layout_extent(&l, 0) > 1)
			TM(!layout_drop_dim(&q, &l, 0));
		b = rnd_tile((int)rnd_in(1, 3));
		b.nrep = 0;
		b.offset[AX_lane] = rnd_in(0, 2);
		TM(layout_concat_dims(&q, &l, &b));
		for (int64_t i = 0; i < layout_size(&q); i += rnd_in(1, 9)) {
			Coord x, y, z;

			coord_of(&q, i, c);
			x = layout_at(&q, c);
			y = layout_at(&l, c);
			z = layout_at(&b, c + ndim);
			for (int a = 0; a < AX_COUNT; a++)
				TM_INT(x.at[a], ==, y.at[a] + z.at[a]);
		}
	}
}

/* Threads that hold any element of the row, before: exactly those hold the result, after. */
TEST(reduce_broadcast)
{
	static Coord pl[4096], pr[4096];
	int done = 0;

	tm_seed = 31;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), dim = (int)rnd_in(0, ndim - 1);
		Layout l = rnd_tile(ndim), r, b, w, w2;
		int64_t c[DIM_MAX], n = layout_extent(&l, dim), m;

		if (!layout_reduce(&r, &l, dim))
			continue;
		done++;
		TM_INT(layout_extent(&r, dim), ==, 1);
		for (int64_t i = 0; i < layout_size(&r); i++) {
			int na = 0, nb;

			coord_of(&r, i, c);
			nb = coords(&r, c, pr, 4096);
			for (c[dim] = 0; c[dim] < n; c[dim]++)
				na += coords(&l, c, pl + na, 4096 - na);
			for (int j = 0; j < na; j++)
				pl[j].at[AX_reg] = 0;
			for (int j = 0; j < nb; j++)
				pr[j].at[AX_reg] = 0;
			TM_MSG(subset(pl, na, pr, nb) && subset(pr, nb, pl, na), "%s dim %d -> %s",
			       show(&l), dim, show(&r));
		}
		/* registers: element (.., 0, ..) of l, numbers closed up */
		w = l;
		for (int i = l.first[dim]; i < l.first[dim + 1]; i++) {
			if (w.it[i].axis == AX_reg)
				w.it[i].stride = 0;
		}
		b = r; /* one register for the row */
		TM(layout_push(&b, dim, n, 0, AX_reg));
		TM_INT(layout_extent(&b, dim), ==, n);
		check_regs(&w, &b, true);
		/* all positions of the dim are in the one place the reduced element has */
		for (int64_t i = 0; i < layout_size(&b); i++) {
			Coord x, y;

			coord_of(&b, i, c);
			x = layout_at(&b, c);
			c[dim] = 0;
			y = layout_at(&r, c);
			TM(same_coord(&x, &y));
		}
		TM_INT(b.nrep, ==, r.nrep);
		TM(n == 1 || !layout_broadcast(&b, &b, dim, 2));
		/* broadcast to any extent, and back */
		m = rnd_in(1, 12);
		if (layout_broadcast(&b, &r, dim, m)) {
			TM_INT(layout_extent(&b, dim), ==, m);
			TM(layout_reduce(&w2, &b, dim));
			TM_MSG(layout_equal(&w2, &r), "%s from %s", show(&b), show(&r));
		}
		b = r;
		TM(layout_push(&b, dim, n, 0, AX_reg));
		/* like the big one: every element is where it was, one register for the row */
		TM_MSG(layout_broadcast_like(&b, &r, dim, &l), "%s like %s", show(&r), show(&l));
		layout_squeeze_regs(&w);
		TM_MSG(brute_equal(&b, &w, false), "%s like %s: %s", show(&r), show(&l), show(&b));
	}
	TM_INT(done, >, TRIALS * 9 / 10);
}

/* The registers kept are those of the range, in their order, numbered without gaps. */
static void
check_sliced_regs(const Layout *l, const Layout *r, int dim, int64_t lo)
{
	int64_t old[512], seen[512], c[DIM_MAX], m = 0;

	memset(seen, -1, sizeof seen);
	for (int64_t i = 0; i < layout_size(r); i++) {
		int64_t x, y;

		coord_of(r, i, c);
		x = layout_at(r, c).at[AX_reg];
		c[dim] += lo;
		y = layout_at(l, c).at[AX_reg];
		TM_INT(x, <, 512);
		TM(seen[x] < 0 || old[x] == y);
		m += seen[x] < 0;
		seen[x] = 0;
		old[x] = y;
	}
	TM_INT(m, ==, layout_cosize(r, AX_reg));
	for (int64_t i = 1; i < m; i++)
		TM_INT(old[i], >, old[i - 1]);
}

/* Do other threads hold the slice from lo on, or the same registers? */
static bool
told_apart_otherwise(const Layout *l, int dim, int64_t lo, int64_t len)
{
	int64_t c[DIM_MAX];

	for (int64_t i = 0; i < layout_size(l); i++) {
		Coord x, y;

		coord_of(l, i, c);
		if (c[dim] >= len)
			continue;
		x = layout_at(l, c);
		c[dim] += lo;
		y = layout_at(l, c);
		if (x.at[AX_lane] != y.at[AX_lane] || x.at[AX_warp] != y.at[AX_warp] ||
		    x.at[AX_reg] == y.at[AX_reg])
			return true;
	}
	return false;
}

TEST(slice)
{
	int done = 0, refused = 0;

	tm_seed = 32;
	for (int k = 0; k < 4 * TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), dim = (int)rnd_in(0, ndim - 1);
		Layout l = rnd_tile(ndim), r, cut = l;
		int64_t n = layout_extent(&l, dim), len = rnd_in(1, n), c[DIM_MAX];
		bool other = false;

		if (n == 1 || !layout_split(&cut, dim, len)) {
			TM(n == 1 || !layout_slice(&r, &l, dim, len));
			continue;
		}
		for (int64_t lo = len; lo < n; lo += len)
			other = other || told_apart_otherwise(&l, dim, lo, len);
		TM_MSG(layout_slice(&r, &l, dim, len) == !other, "%s by %d", show(&l), (int)len);
		refused += other;
		done += !other;
		for (int64_t lo = 0; lo < n && !other; lo += len) {
			for (int64_t i = 0; i < layout_size(&r); i++) {
				Coord x, y;

				coord_of(&r, i, c);
				x = layout_at(&r, c);
				c[dim] += lo;
				y = layout_at(&l, c);
				x.at[AX_reg] = y.at[AX_reg] = 0;
				TM_MSG(same_coord(&x, &y), "%s -> %s", show(&l), show(&r));
			}
			check_sliced_regs(&l, &r, dim, lo);
		}
	}
	TM_INT(done, >, TRIALS / 4);
	TM_INT(refused, >, TRIALS / 4);
}

/* The digits below a position taken out: who holds any element of a run, and in what is left of registers. */
TEST(reduce_low)
{
	static Coord pl[4096], pr[4096];
	int done = 0;

	tm_seed = 33;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), dim = (int)rnd_in(0, ndim - 1);
		Layout l = rnd_tile(ndim), r, cut = l;
		int64_t c[DIM_MAX], run = rnd_in(1, layout_extent(&l, dim));

		if (!layout_split(&cut, dim, run)) {
			TM(!layout_reduce_low(&r, &l, dim, run));
			continue;
		}
		if (!layout_reduce_low(&r, &l, dim, run))
			continue;
		done++;
		TM_INT(layout_extent(&r, dim), ==, layout_extent(&l, dim) / run);
		for (int64_t i = 0; i < layout_size(&r); i++) {
			int na = 0, nb;
			int64_t reg;

			coord_of(&r, i, c);
			nb = coords(&r, c, pr, 4096);
			reg = pr[0].at[AX_reg];
			c[dim] *= run;
			TM_INT(layout_at(&l, c).at[AX_reg], ==, reg);
			for (int64_t j = 0; j < run; j++, c[dim]++)
				na += coords(&l, c, pl + na, 4096 - na);
			for (int j = 0; j < na; j++)
				pl[j].at[AX_reg] = reg;
			TM_MSG(subset(pl, na, pr, nb) && subset(pr, nb, pl, na), "%s dim %d by %d -> %s",
			       show(&l), dim, (int)run, show(&r));
		}
	}
	TM_INT(done, >, TRIALS / 4);
}

/* Two digits first: the others keep their order, and nothing moves to another thread. */
TEST(regs_first)
{
	int done = 0;

	tm_seed = 34;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile(3), r;
		Digit a = dim_digits(&l, 2), b = dim_digits(&l, 0);
		int64_t c[DIM_MAX] = { 0 };
		int dim[2] = { 2, 0 }, rest = 0, order[ITER_MAX], now[ITER_MAX], n, m;

		if (!a.it || a.it->axis != AX_reg || !a.it->stride || !b.it || b.it->axis != AX_reg ||
		    !b.it->stride)
			continue;
		done++;
		r = l;
		layout_regs_first(&r, 2, dim);
		TM(brute_equal(&l, &r, true));
		check_regs(&l, &r, false);
		c[2] = 1;
		TM_INT(layout_at(&r, c).at[AX_reg], ==, 1);
		c[2] = 0;
		c[0] = 1;
		TM_INT(layout_at(&r, c).at[AX_reg], ==, a.it->extent);
		n = layout_by_stride(&l, AX_reg, order);
		m = layout_by_stride(&r, AX_reg, now);
		TM_INT(m, ==, n);
		TM(now[0] == a.at && now[1] == b.at);
		for (int i = 0; i < n; i++)
			if (order[i] != a.at && order[i] != b.at)
				TM_INT(now[2 + rest++], ==, order[i]);
	}
	TM_INT(done, >, TRIALS / 50);
}

TEST(aliasing)
{
	Layout a = lay("((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg))"), r, s;
	int perm[2] = { 1, 0 };

	layout_permute(&r, &a, perm);
	s = a;
	layout_permute(&s, &s, perm);
	ck_assert_str_eq(show(&s), show(&r));
	s = a;
	TM(layout_reduce(&r, &a, 1) && layout_reduce(&s, &s, 1));
	ck_assert_str_eq(show(&s), show(&r));
	TM(layout_push(&r, 1, 16, 0, AX_reg));
	want(&r, "((2,8),16):((1@reg,4@lane),0@reg)+[4:1@lane]");
	TM(layout_broadcast_like(&s, &s, 1, &a));
	want(&s, "((2,8),(2,4,2)):((1@reg,4@lane),(0@reg,1@lane,0@reg))");
	s = a;
	TM(layout_slice(&s, &s, 1, 1) == false);
	s = lay("(8,8):(4@lane,1@reg)");
	TM(layout_slice(&s, &s, 1, 4));
	want(&s, "(8,4):(4@lane,1@reg)");
	TM(layout_concat_dims(&s, &s, &s));
	want(&s, "(8,4,8,4):(4@lane,1@reg,4@lane,1@reg)");
}

TEST_PROGRAM(TM_FIXTURE);
