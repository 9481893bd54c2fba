/* test_layout_digits.c - tests modes of dims: walking, splitting, refining and exchanging them; contiguous
 * runs, vectors along a dim, replicas. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* Walking a dim takes a coordinate apart; walking the layout is walking its dims. */
TEST(walk)
{
	tm_seed = 60;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 4));
		int64_t c[DIM_MAX], sum[DIM_MAX];
		Digit all = layout_digits(&l);

		coord_of(&l, rnd_in(0, layout_size(&l) - 1), c);
		for (int d = 0; d < l.ndim; d++) {
			Coord p = layout_dim_at(&l, d, c[d]);
			Digit g;

			sum[d] = 0;
			for (g = dim_digits(&l, d); g.it; digit_next(&g), digit_next(&all)) {
				sum[d] += c[d] / g.weight % g.it->extent * g.weight;
				TM(all.it == g.it && all.at == g.at);
				TM(all.dim == d && all.weight == g.weight);
				p.at[g.it->axis] -= c[d] / g.weight % g.it->extent * g.it->stride;
			}
			TM_INT(g.weight, ==, layout_extent(&l, d));
			TM_INT(sum[d], ==, c[d]);
			for (int x = 0; x < AX_COUNT; x++)
				TM_INT(p.at[x], ==, 0);
		}
		TM(all.it == NULL);
	}
}

TEST(split)
{
	int done = 0;

	tm_seed = 28;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3)), r = l;
		int d = (int)rnd_in(0, l.ndim - 1);
		int64_t e = layout_extent(&l, d), w = rnd_in(1, e + 1), p = 1;
		bool can = false;

		for (int i = l.first[d]; i < l.first[d + 1];
		     i++) { /* a boundary fits into one iter */
			can = can || (w % p == 0 && l.it[i].extent % (w / p) == 0);
			p *= l.it[i].extent;
		}
		can = can || w == p;
		TM_MSG(layout_split(&r, d, w) == can, "%s dim %d at %d", show(&l), d, (int)w);
		TM(brute_equal(&l, &r, false));
		if (!can) {
			TM(memcmp(&l, &r, sizeof l) == 0);
			continue;
		}
		done++;
		p = 1;
		for (int i = r.first[d]; i < r.first[d + 1] && p < w; i++)
			p *= r.it[i].extent;
		TM_INT(p, ==, w);
	}
	TM_INT(done, >, TRIALS / 3);
}

TEST(refine)
{
	int done = 0;

	tm_seed = 61;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_tile(1), b = rnd_tile(1), x, y;
		bool bits = rnd_bool();

		if (rnd_in(0, 3)) { /* of one extent: the first, written otherwise */
			layout_init(&b, 1);
			for (int64_t left = layout_extent(&a, 0), e; left > 1; left /= e) {
				for (e = rnd_in(2, left); left % e; e--)
					;
				e = e < 2 ? left : e;
				layout_push(&b, 0, e, rnd_in(1, 9), rnd_bool() ? AX_lane : AX_reg);
			}
		}
		x = a;
		y = b;
		if (!layout_refine(&x, &y, 0, bits)) {
			bool divide = layout_extent(&a, 0) == layout_extent(&b, 0);

			for (Digit g = dim_digits(&a, 0); g.it; digit_next(&g)) {
				Layout t = b;
				divide = divide && layout_split(&t, 0, g.weight);
			}
			for (Digit g = dim_digits(&b, 0); g.it; digit_next(&g)) {
				Layout t = a;
				divide = divide && layout_split(&t, 0, g.weight);
			}
			TM_MSG(!divide, "%s and %s", show(&a), show(&b));
			continue;
		}
		done++;
		TM_INT(x.n, ==, y.n);
		for (int i = 0; i < x.n; i++) {
			TM_INT(x.it[i].extent, ==, y.it[i].extent);
			TM(!bits || x.it[i].extent == 2 || x.it[i].extent % 2);
		}
		TM(brute_equal(&a, &x, false) && brute_equal(&b, &y, false));
	}
	TM_INT(done, >, TRIALS / 4);
}

/* A coordinate as digits low, mid, high, above: its element is at low, high, mid, above in the result. */
TEST(swap_digits)
{
	int done = 0;

	tm_seed = 62;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3)), r = l;
		int d = (int)rnd_in(0, l.ndim - 1);
		int64_t n = layout_extent(&l, d), w[3] = { 1, 1, 1 }, c[DIM_MAX];

		for (int i = 0; i < 3; i++)
			w[i] = (i ? w[i - 1] : 1) * rnd_in(1, 4);
		if (!layout_swap_digits(&r, d, w[0], w[1], w[2])) {
			TM(layout_identical(&l, &r));
			continue;
		}
		done++;
		for (int64_t i = 0; i < layout_size(&l); i++) {
			int64_t low, mid, high, above;
			Coord x, y;

			coord_of(&l, i, c);
			x = layout_at(&l, c);
			low = c[d] % w[0];
			mid = c[d] / w[0] % (w[1] / w[0]);
			high = c[d] / w[1] % (w[2] / w[1]);
			above = c[d] / w[2] * w[2];
			c[d] = low + high * w[0] + mid * w[0] * (w[2] / w[1]) + above;
			TM_INT(c[d], <, n);
			y = layout_at(&r, c);
			TM_MSG(same_coord(&x, &y), "%s at %d, %d, %d: %s", show(&l), (int)w[0], (int)w[1],
			       (int)w[2], show(&r));
		}
	}
	TM_INT(done, >, TRIALS / 8);
}

/* Elements that differ in two digits find each other's place. */
TEST(trade)
{
	int done = 0;

	tm_seed = 68;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3)), r = l;
		int a = (int)rnd_in(0, l.ndim - 1), b = (int)rnd_in(0, l.ndim - 1);
		int64_t wa = rnd_in(1, 4), wb = rnd_in(1, 4), e, c[DIM_MAX];

		if (!layout_trade(&r, a, wa, b, wb)) {
			Digit x = layout_digit(&l, a, wa), y = layout_digit(&l, b, wb);

			TM(layout_identical(&l, &r) && (!x.it || !y.it || x.it->extent != y.it->extent));
			continue;
		}
		done++;
		e = layout_digit(&l, a, wa).it->extent;
		for (int64_t i = 0; i < layout_size(&l); i++) {
			int64_t x, y;
			Coord p, q;

			coord_of(&l, i, c);
			p = layout_at(&l, c);
			x = c[a] / wa % e;
			y = c[b] / wb % e;
			c[a] += (y - x) * wa;
			c[b] += (x - y) * wb;
			q = layout_at(&r, c);
			TM_MSG(same_coord(&p, &q), "%s: %s", show(&l), show(&r));
		}
	}
	TM_INT(done, >, TRIALS / 20);
}

TEST(runs)
{
	tm_seed = 63;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3)), p;
		int d = (int)rnd_in(0, l.ndim - 1), order[ITER_MAX], n;
		Axis axis = (Axis)rnd_in(AX_reg, AX_warp);
		int64_t run = layout_run(&l, d, axis), c[DIM_MAX] = { 0 }, on = 0;

		for (c[d] = 0; c[d] < run; c[d]++)
			TM_INT(layout_at(&l, c).at[axis], ==, c[d]);
		if (run < layout_extent(&l, d)) { /* as far as iters go */
			Layout m = l;
			Digit g;

			TM(layout_split(&m, d, run));
			for (g = dim_digits(&m, d); g.it && g.weight < run; digit_next(&g))
				;
			TM(g.it->axis != axis || g.it->stride != run);
		}
		layout_project(&p, &l, d, axis);
		TM_INT(layout_size(&p), ==, layout_extent_on(&l, d, axis));
		for (int64_t i = 0; i < layout_extent(&l, d); i++) { /* once each, where the others are 0 */
			Coord x = layout_dim_at(&l, d, i);
			bool rest = false;

			for (Digit g = dim_digits(&l, d); g.it; digit_next(&g))
				rest = rest || (g.it->axis != axis && i / g.weight % g.it->extent);
			if (!rest)
				TM_INT(layout_at_index(&p, on++).at[axis], ==, x.at[axis]);
		}
		TM_INT(on, ==, layout_size(&p));
		n = layout_by_stride(&l, axis, order);
		for (int i = 0; i < n; i++) {
			TM(l.it[order[i]].axis == axis && l.it[order[i]].stride > 0);
			TM(i == 0 || l.it[order[i]].stride >= l.it[order[i - 1]].stride);
		}
		for (int i = 0; i < l.n; i++)
			n -= l.it[i].axis == axis && l.it[i].stride > 0 && l.it[i].extent > 1;
		TM_INT(n, ==, 0);
	}
}

/* A dim that is a line: the lane and the order of registers follow from three numbers. */
TEST(line)
{
	int done = 0;

	tm_seed = 64;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile(2);
		DimLine x;
		int64_t base;

		if (rnd_bool()) { /* one that is */
			int64_t lanes = (int64_t)1 << rnd_in(0, 3);

			layout_init(&l, 2);
			layout_push(&l, 0, rnd_in(1, 4), 1, AX_reg);
			layout_push(&l, 0, lanes, (int64_t)1 << rnd_in(0, 2), AX_lane);
			layout_push(&l, 0, rnd_in(1, 4), 7, AX_reg);
		}
		if (!layout_line(&l, 0, &x))
			continue;
		done++;
		TM_INT(x.low * x.lanes * x.high, ==, layout_extent(&l, 0));
		for (int64_t i = 0; i < layout_extent(&l, 0); i++) {
			Coord p = layout_dim_at(&l, 0, i);

			TM_INT(p.at[AX_warp], ==, 0);
			TM_INT(p.at[AX_lane], ==, i / x.low % x.lanes * x.stride);
			base = i % x.low + i / (x.low * x.lanes) * x.low * x.lanes; /* lane 0's */
			TM_INT(p.at[AX_reg], ==, layout_dim_at(&l, 0, base).at[AX_reg]);
			for (int64_t j = 0; j < i; j++) /* no register twice */
				TM(layout_dim_at(&l, 0, j).at[AX_reg] != p.at[AX_reg] ||
				   layout_dim_at(&l, 0, j).at[AX_lane] != p.at[AX_lane]);
		}
	}
	TM_INT(done, >, TRIALS / 4);
	{
		Layout w = lay("(4,2):(1@lane,1@warp)"), z = lay("4:0@reg");
		Layout two = lay("((2,2)):((4@lane,1@lane))");
		DimLine x;

		TM(layout_line(&w, 0, &x) && x.lanes == 4 && x.stride == 1);
		TM(!layout_line(&w, 1, &x) && !layout_line(&z, 0, &x) && !layout_line(&two, 0, &x));
	}
}

/* Replicas are the places that hold an element; one lane of them is the first. */
TEST(replicas)
{
	tm_seed = 65;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3));
		int64_t c[DIM_MAX], n = layout_replicas(&l), first = 0;
		Coord want_p[2048], got[2048];
		int m;

		TM_INT(n, ==, layout_replicas_on(&l, AX_lane) * layout_replicas_on(&l, AX_warp));
		coord_of(&l, rnd_in(0, layout_size(&l) - 1), c);
		m = coords(&l, c, want_p, 2048);
		TM_INT(m, ==, n);
		for (int64_t i = 0; i < n; i++) {
			got[i] = layout_at(&l, c);
			layout_replica(&l, i, &got[i]);
			first += layout_first_replica(&l, got[i].at[AX_lane], got[i].at[AX_warp]);
		}
		TM(subset(want_p, m, got, m) && subset(got, m, want_p, m));
		TM_INT(first, ==, 1);
		TM(layout_first_replica(&l, want_p[0].at[AX_lane], want_p[0].at[AX_warp]));
	}
}

TEST(pushes)
{
	tm_seed = 66;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_tile((int)rnd_in(1, 3)), b, c;
		int d = (int)rnd_in(0, a.ndim - 1);
		int64_t e = rnd_in(1, 4), by = rnd_in(1, 5), i, at[DIM_MAX];
		Coord x, y;

		layout_init(&b, a.ndim);
		for (int j = 0; j < a.ndim; j++)
			TM(layout_push_dim(&b, j, &a, j));
		TM(layout_push_reps(&b, &a));
		TM(layout_equal(&a, &b) && layout_identical(&a, &b) && layout_hash(&a) == layout_hash(&b));
		layout_scale(&b, AX_reg, by);
		c = b;
		TM(layout_push_front(&c, d, e, 1, AX_reg));
		TM(e == 1 || !layout_identical(&b, &c));
		for (i = 0; i < layout_size(&c); i += rnd_in(1, 5)) {
			coord_of(&c, i, at);
			x = layout_at(&c, at);
			x.at[AX_reg] -= at[d] % e;
			at[d] /= e;
			y = layout_at(&a, at);
			y.at[AX_reg] *= by;
			TM(same_coord(&x, &y));
		}
	}
}

TEST(numbers)
{
	tm_seed = 67;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(0, 4);
		int64_t shape[4], c[4], n = 1, i;

		for (int d = 0; d < ndim; d++)
			n *= shape[d] = rnd_in(1, 7);
		i = rnd_in(0, n - 1);
		row_major_coord(ndim, shape, i, c);
		for (int d = 0; d < ndim; d++)
			TM(c[d] >= 0 && c[d] < shape[d]);
		TM_INT(row_major_index(ndim, shape, c), ==, i);
		if (ndim && c[ndim - 1] + 1 < shape[ndim - 1]) { /* the last dim is fastest */
			c[ndim - 1]++;
			TM_INT(row_major_index(ndim, shape, c), ==, i + 1);
		}
	}
}

TEST_PROGRAM(TM_FIXTURE);
