/* test_cute_props.c - tests the CuTe operations against evaluation, on random layouts of any extents. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* Is f(0..n) the function of a layout?  Its first iter ends where f leaves the straight line, and
 * must divide n; the same again for what every such step does. */
static bool
brute_iters(const int64_t *f, int64_t n, int64_t step)
{
	while (n > 1) {
		int64_t e = 1;

		while (e < n && f[e * step] - f[0] == e * (f[step] - f[0]))
			e++;
		if (n % e)
			return false;
		for (int64_t k = 0; k < n; k++) { /* rows of e must repeat */
			if (f[k * step] - f[k / e * e * step] != (k % e) * (f[step] - f[0]))
				return false;
		}
		n /= e;
		step *= e;
	}
	return true;
}

TEST(coalesce)
{
	tm_seed = 1;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_mem(7, 3000, 6), r;
		int64_t n = layout_size(&a);

		if (k % 2)
			a = rnd_compact(7, 3000, k % 4 == 1);
		TM(cute_coalesce(&r, &a));
		n = layout_size(&a);
		TM_INT(layout_size(&r), ==, n);
		for (int64_t i = 0; i < n; i++)
			TM_MSG(at_index(&a, i) == at_index(&r, i), "%s -> %s", show(&a), show(&r));
		for (int i = 0; i + 1 < r.n; i++) {
			TM_INT(r.it[i].extent, !=, 1);
			TM_MSG(r.it[i].extent * r.it[i].stride != r.it[i + 1].stride, "%s",
			       show(&r));
		}
	}
}

/* Whether a o b can be written in the modes of b, found by evaluation. */
static bool
brute_composable(const Layout *a, const Layout *b)
{
	int64_t n = layout_size(b), f[4096], sum;

	for (int64_t i = 0; i < n; i++)
		f[i] = at_index(a, at_index(b, i));
	for (int64_t i = 0; i < n; i++) { /* the modes of b act apart from each other */
		int64_t w = 1;

		sum = f[0];
		for (int j = 0; j < b->n; j++) {
			sum += f[i / w % b->it[j].extent * w] - f[0];
			w *= b->it[j].extent;
		}
		if (sum != f[i])
			return false;
	}
	for (int64_t j = 0, w = 1; j < b->n; w *= b->it[j].extent, j++) {
		if (!brute_iters(f, b->it[j].extent, w))
			return false;
	}
	return true;
}

static int64_t
reach(const Layout *l)
{
	return layout_cosize(l, AX_mem);
}

TEST(compose)
{
	int done = 0, missed = 0, refused = 0;

	tm_seed = 2;
	while (done < TRIALS) {
		Layout a = rnd_bool() ? rnd_mem(4, 300, 9) : rnd_compact(4, 300, rnd_bool()), r;
		Layout b = rnd_bool() ? rnd_mem(3, 60, 8) : rnd_compact(3, 60, rnd_bool());
		int64_t n = layout_size(&b);

		if (reach(&b) > layout_size(&a) && rnd_in(0, 9)) /* a's last mode takes the rest */
			continue;
		done++;
		if (!cute_compose(&r, &a, &b)) {
			refused++;
			if (brute_composable(&a, &b) && missed++ < 25 && getenv("TM_VERBOSE"))
				printf("refused: %s o %s\n", show(&a), show(&b));
			continue;
		}
		if (b.ndim > 1) { /* a scalar may become a tuple, as in CuTe */
			TM_INT(r.ndim, ==, b.ndim);
			for (int d = 0; d < b.ndim; d++)
				TM_INT(layout_extent(&r, d), ==, layout_extent(&b, d));
		}
		for (int64_t i = 0; i < n; i++)
			TM_MSG(at_index(&r, i) == at_index(&a, at_index(&b, i)),
			       "%s o %s = %s at %d", show(&a), show(&b), show(&r), (int)i);
	}
	/* what is refused cannot be written, but for the odd carry between places that happen to agree */
	if (getenv("TM_VERBOSE"))
		printf("compose: %d done, %d refused, %d of them wrongly\n", done, refused, missed);
	TM_MSG(missed * 2000 <= done, "%d of %d refused wrongly", missed, refused);
	TM_INT(done - refused, >, TRIALS / 4);
}

/* (a o b) o c = a o (b o c) wherever all of it exists. */
TEST(compose_associates)
{
	int done = 0;

	tm_seed = 3;
	for (int k = 0; k < 10 * TRIALS && done < TRIALS; k++) {
		Layout a = rnd_compact(4, 200, true), b = rnd_compact(3, 60, true);
		Layout c = rnd_compact(3, 30, false), ab, bc, l, r;

		if (reach(&b) > layout_size(&a) || reach(&c) > layout_size(&b) ||
		    !cute_compose(&ab, &a, &b) || !cute_compose(&l, &ab, &c) ||
		    !cute_compose(&bc, &b, &c) || !cute_compose(&r, &a, &bc))
			continue;
		done++;
		for (int64_t i = 0; i < layout_size(&c); i++)
			TM_MSG(at_index(&l, i) == at_index(&r, i), "%s, %s", show(&l), show(&r));
	}
	TM_INT(done, ==, TRIALS);
}

TEST(complement)
{
	static char seen[1 << 16];
	int done = 0;

	tm_seed = 4;
	while (done < TRIALS) {
		Layout a = rnd_in(0, 3) ? rnd_compact(4, 200, true) : rnd_mem(3, 60, 12), c;
		int64_t bound = rnd_in(1, 2 * reach(&a)), na = layout_size(&a), nc, filled = 0;

		if (reach(&a) > 2000)
			continue;
		done++;
		if (!cute_complement(&c, &a, bound))
			continue;
		nc = layout_size(&c);
		for (int64_t i = 1; i < nc; i++) /* ordered */
			TM_INT(at_index(&c, i), >, at_index(&c, i - 1));
		if (nc > 1 && bound > 1) /* starts below the bound */
			TM_INT(at_index(&c, 1), <, bound> reach(&a) ? bound : reach(&a));
		/* disjoint: sums of one element of each are all different, duplicates within a aside */
		memset(seen, 0, sizeof seen);
		for (int64_t i = 0; i < na; i++) {
			int64_t p = at_index(&a, i);

			if (seen[p] & 1)
				continue;
			seen[p] |= 1;
			for (int64_t j = 0; j < nc; j++) {
				int64_t q = p + at_index(&c, j);

				TM_INT(q, <, 1 << 16);
				TM_MSG(!(seen[q] & 2), "%s and %s both reach %d", show(&a),
				       show(&c), (int)q);
				seen[q] |= 2;
				filled += q < bound;
			}
		}
		if (layout_cosize(&a, AX_mem) * 2 > bound && na * nc >= bound && filled < bound) {
			/* holes only where a stride is no multiple of what is below */
			bool divides = true;
			Layout s = a;

			for (int i = 0; i < s.n; i++)
				for (int j = 0; j < s.n; j++)
					if (s.it[i].stride > s.it[j].stride && s.it[j].stride &&
					    s.it[i].stride % (s.it[j].stride * s.it[j].extent))
						divides = false;
			TM_MSG(!divides, "%s, %s leave holes below %d", show(&a), show(&c),
			       (int)bound);
		}
	}
}

TEST(inverses)
{
	int left = 0;

	tm_seed = 5;
	for (int k = 0; k < TRIALS; k++) {
		bool gaps = rnd_bool();
		Layout a = rnd_compact(5, 500, gaps), r, l;
		int64_t n = layout_size(&a);

		TM(cute_right_inverse(&r, &a));
		for (int64_t i = 0; i < layout_size(&r); i++)
			TM_MSG(at_index(&a, at_index(&r, i)) == i, "%s, right %s", show(&a),
			       show(&r));
		if (!gaps)
			TM_INT(layout_size(&r), ==, n);
		if (!cute_left_inverse(&l, &a))
			continue;
		left++;
		for (int64_t i = 0; i < n; i++)
			TM_MSG(at_index(&l, at_index(&a, i)) == i, "%s, left %s", show(&a),
			       show(&l));
		/* the first place that is not reached is where the right inverse ends */
		bool hit = false;
		for (int64_t i = 0; i < n; i++)
			hit = hit || at_index(&a, i) == layout_size(&r);
		TM_MSG(!hit || gaps, "%s, right %s is too short", show(&a), show(&r));
	}
	TM_INT(left, >, TRIALS * 9 / 10);
}

/* Any layout, also with repeated and overlapping places: the right inverse holds all the same. */
TEST(right_inverse_of_any)
{
	tm_seed = 6;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_mem(5, 200, 8), r;

		TM(cute_right_inverse(&r, &a));
		for (int64_t i = 0; i < layout_size(&r); i++)
			TM_MSG(at_index(&a, at_index(&r, i)) == i, "%s, right %s", show(&a),
			       show(&r));
	}
}

TEST(divide)
{
	int done = 0;

	tm_seed = 7;
	for (int k = 0; k < 20 * TRIALS && done < TRIALS; k++) {
		Layout a = rnd_compact(4, 200, rnd_bool()), b = rnd_compact(2, 30, true), c, r;
		int64_t na = layout_size(&a), nb = layout_size(&b);

		if (reach(&b) > na || !cute_logical_divide(&r, &a, &b))
			continue;
		done++;
		TM(cute_complement(&c, &b, na));
		TM_INT(r.ndim, ==, 2);
		TM_INT(layout_extent(&r, 0), ==, nb);
		TM_INT(layout_extent(&r, 1), ==, layout_size(&c));
		for (int64_t i = 0; i < layout_size(&r); i++)
			TM_MSG(at_index(&r, i) ==
			               at_index(&a, at_index(&b, i % nb) + at_index(&c, i / nb)),
			       "%s by %s: %s", show(&a), show(&b), show(&r));
	}
	TM_INT(done, ==, TRIALS);
}

TEST(product)
{
	int done = 0;

	tm_seed = 8;
	for (int k = 0; k < 20 * TRIALS && done < TRIALS; k++) {
		Layout a = rnd_compact(3, 60, true), b = rnd_compact(3, 30, false), r;
		int64_t na = layout_size(&a), nb = layout_size(&b), step = 0;
		char seen[1 << 15] = { 0 };

		if (!cute_logical_product(&r, &a, &b))
			continue;
		done++;
		TM_INT(layout_extent(&r, 0), ==, na);
		TM_INT(layout_extent(&r, 1), ==, nb);
		for (int64_t i = 0; i < na; i++)
			TM_INT(at_index(&r, i), ==, at_index(&a, i));
		for (int64_t i = 0; i < na * nb; i++) {
			int64_t p = at_index(&r, i);

			/* every copy is a, moved; no two of them meet */
			TM_INT(p - at_index(&r, i / na * na), ==, at_index(&a, i % na));
			TM_INT(p, <, 1 << 15);
			TM_MSG(!seen[p], "%s by %s: %s", show(&a), show(&b), show(&r));
			seen[p] = 1;
		}
		/* copies are laid out in the order that b gives */
		for (int64_t i = 0; i < nb; i++) {
			for (int64_t j = 0; j < nb; j++) {
				step = at_index(&r, i * na) - at_index(&r, j * na);
				TM((at_index(&b, i) > at_index(&b, j)) == (step > 0));
			}
		}
	}
	TM_INT(done, ==, TRIALS);
}

TEST(group)
{
	tm_seed = 9;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_mem(5, 500, 5), h, t;
		int64_t size = layout_size(&a), n = rnd_in(1, size);

		while (size % n)
			n = rnd_in(1, size);
		if (!cute_group(&a, n, false, &h, &t))
			continue;
		TM_INT(layout_size(&h), ==, n);
		for (int64_t i = 0; i < size; i++)
			TM_INT(at_index(&a, i), ==, at_index(&h, i % n) + at_index(&t, i / n));
		/* skip0 counts only what moves */
		if (cute_group(&a, n, true, &h, &t)) {
			int64_t moving = 1;

			for (int i = 0; i < h.n; i++)
				moving *= h.it[i].stride ? h.it[i].extent : 1;
			TM_INT(moving, ==, n);
			TM_INT(layout_size(&h) * layout_size(&t), ==, size);
			for (int64_t i = 0; i < size; i++)
				TM_INT(at_index(&a, i), ==,
				       at_index(&h, i % layout_size(&h)) +
				               at_index(&t, i / layout_size(&h)));
		}
	}
}

TEST(common_reshape)
{
	int done = 0;

	tm_seed = 10;
	while (done < TRIALS) {
		Layout a = rnd_mem(5, 200, 5), b = rnd_mem(5, 200, 5), ra, rb;

		if (layout_size(&a) != layout_size(&b)) {
			TM(!cute_common_reshape(&a, &b, &ra, &rb));
			if (!layout_push(&b, 0, layout_size(&a), 3, AX_mem))
				continue;
			layout_push(&a, a.ndim - 1, layout_size(&b) / layout_size(&a), 2, AX_mem);
		}
		done++;
		if (layout_size(&a) != layout_size(&b) || !cute_common_reshape(&a, &b, &ra, &rb))
			continue;
		TM_INT(ra.n, ==, rb.n);
		for (int i = 0; i < ra.n; i++)
			TM_INT(ra.it[i].extent, ==, rb.it[i].extent);
		for (int64_t i = 0; i < layout_size(&a); i++) {
			TM_INT(at_index(&a, i), ==, at_index(&ra, i));
			TM_INT(at_index(&b, i), ==, at_index(&rb, i));
		}
	}
}

/* A border of the mixed-radix number that the places are, or one inside a digit. */
static int64_t
rnd_border(const Layout *l)
{
	const Iter *it = &l->it[rnd_in(0, l->n - 1)];
	int64_t q = rnd_in(1, it->extent);

	while (it->extent % q)
		q--;
	return it->stride * q;
}

/* Tensors of shape (lo, len, ..): cutting [lo, lo*len) out of a bijective TV layout forgets the
 * coordinate of the middle dim. */
TEST(filter_remove)
{
	int done = 0;

	tm_seed = 11;
	while (done < TRIALS) {
		Layout a = rnd_compact(6, 800, false), f, r;
		int64_t n = layout_size(&a), lo = 1, hi;

		if (a.n == 0)
			continue;
		lo = rnd_border(&a);
		hi = rnd_border(&a);
		if (hi % lo || !cute_filter_lo_hi(&f, &a, lo, hi))
			continue;
		done++;
		TM(cute_remove_lo_hi(&r, &a, lo, hi));
		for (int64_t i = 0; i < n; i++) {
			int64_t x = at_index(&a, i);

			TM_MSG(at_index(&f, i) == x % lo + x / hi * hi, "%s [%d,%d) -> %s",
			       show(&a), (int)lo, (int)hi, show(&f));
		}
		/* removed: the places left, in the same order, once each */
		int64_t next = 0;
		for (int64_t i = 0; i < n; i++) {
			int64_t x = at_index(&a, i);

			if (x / lo % (hi / lo) == 0)
				TM_INT(at_index(&r, next++), ==, x);
		}
		TM_INT(next, ==, layout_size(&r));
	}
}

/* Outputs may be the inputs. */
TEST(aliasing)
{
	Layout a, b, r, s;

	a = lay("(6,(4,2)):(8,(1,4))");
	b = lay("(3,4):(1,3)");
	TM(cute_compose(&r, &a, &b));
	s = a;
	TM(cute_compose(&s, &s, &b));
	ck_assert_str_eq(show(&s), show(&r));
	s = b;
	TM(cute_compose(&s, &a, &s));
	ck_assert_str_eq(show(&s), show(&r));
	TM(cute_logical_divide(&r, &a, &b));
	s = b;
	TM(cute_logical_divide(&s, &a, &s));
	ck_assert_str_eq(show(&s), show(&r));
	TM(cute_logical_product(&r, &a, &b));
	s = b;
	TM(cute_logical_product(&s, &a, &s));
	ck_assert_str_eq(show(&s), show(&r));
	r = lay("(2,2,8):(0,1,2)");
	TM(cute_group(&r, 2, false, &r, &s));
	want(&r, "2:0");
	want(&s, "(2,8):(1,2)");
	a = lay("(4,8,8):(1,16,256)");
	b = lay("(16,4,4):(1,32,512)");
	TM(cute_common_reshape(&a, &b, &b, &a));
	want(&b, "(4,4,2,2,4):(1,16,64,256,512)");
	want(&a, "(4,4,2,2,4):(1,4,32,64,512)");
}

/* What cannot be is refused, and nothing overflows. */
TEST(refusals)
{
	Layout a = lay("(4,3):(1,10)"), b = lay("(3,2):(1,2)"), r;

	TM(!cute_compose(&r, &a, &b)); /* 2 + 2 carries into the mode of stride 10 */
	a = lay("(5,4):(1,10)");
	b = lay("6:2");
	TM(!cute_compose(&r, &a, &b));
	b = lay("3:2");
	TM(cute_compose(&r, &a, &b));
	want(&r, "3:2");
	b = lay("2:7"); /* two places are always on a line */
	TM(cute_compose(&r, &a, &b));
	want(&r, "2:12");
	a = lay("(2,3):(3,2)");
	TM(!cute_left_inverse(&r, &a));
	a = lay("(4,4):(1,2)");
	TM(!cute_complement(&r, &a, 64));
	a = lay("2:576460752303423488");
	b = lay("4:1");
	TM(!cute_compose(&r, &a, &b));
	TM(cute_complement(&r, &a, 1));
	TM(!cute_logical_product(&r, &a, &a));
	a = lay("6:1"); /* 4 cuts it, but does not divide it */
	TM(!cute_filter_lo_hi(&r, &a, 4, 8));
	TM(!cute_remove_lo_hi(&r, &a, 4, 8));
	a = lay("4:3");
	TM(!cute_filter_lo_hi(&r, &a, 1, 8));
	TM(cute_filter_lo_hi(&r, &a, 1, 6));
	want(&r, "(2,2):(0,6)");
	a = lay("4:1@lane");
	TM(!cute_coalesce(&r, &a));
	a = lay("Sw<3,3,3> o (8,64):(64,1)");
	b = lay("(4,2):(2,1)");
	TM(!cute_compose(&r, &b, &a));
	TM(cute_compose(&r, &a, &b));
	want(&r, "Sw<3,3,3> o (4,2):(128,64)");
	a = lay("(2,2,2,2,2,2,2,2):(256,128,64,32,16,8,4,2)"); /* ten modes in one dim at the end */
	b = lay("1024:1");
	a.tuple = true;
	TM(layout_push(&a, 7, 2, 1, AX_mem) && layout_push(&a, 7, 2, 512, AX_mem));
	TM(cute_compose(&r, &a, &b));
	TM_INT(r.ndim, ==, 1);
	TM(cute_coalesce(&r, &a));
	for (int i = 0; i < 1024; i++)
		TM_INT(at_index(&r, i), ==, at_index(&a, i));
}

/* Numbers as large as layouts may have: nothing overflows, and results stay in range. */
static Layout
rnd_huge(void)
{
	Layout l;

	do {
		layout_init(&l, (int)rnd_in(1, 3));
		for (int i = (int)rnd_in(1, 5); i > 0; i--) {
			int64_t e = rnd_bool() ? rnd_in(1, 9) : rnd_in(1, (int64_t)1 << rnd_in(1, 40));
			int64_t s = rnd_bool() ? rnd_in(0, 9) : rnd_in(0, (int64_t)1 << rnd_in(1, 55));

			s = rnd_in(0, 9) ? s : -s;
			layout_push_unit(&l, (int)rnd_in(0, l.ndim - 1), e, s, AX_mem);
		}
	} while (!layout_in_range(&l));
	return l;
}

TEST(extremes)
{
	static bool (*const two[])(Layout *, const Layout *, const Layout *) = {
		cute_compose,
		cute_logical_divide,
		cute_logical_product,
		cute_blocked_product,
		cute_raked_product,
	};
	static bool (*const one[])(Layout *, const Layout *) = {
		cute_coalesce,
		cute_right_inverse,
		cute_left_inverse,
		cute_flatten,
	};

	tm_seed = 12;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_huge(), b = rnd_huge(), r, s;
		int64_t lo = rnd_in(1, (int64_t)1 << rnd_in(1, 50)), hi;

		for (size_t i = 0; i < COUNT_OF(two); i++)
			TM(!two[i](&r, &a, &b) || layout_in_range(&r));
		for (size_t i = 0; i < COUNT_OF(one); i++)
			TM(!one[i](&r, &a) || layout_in_range(&r));
		TM(!cute_complement(&r, &a, lo) || layout_in_range(&r));
		TM(!cute_group(&a, lo, rnd_bool(), &r, &s) || layout_in_range(&r));
		TM(!cute_common_reshape(&a, &b, &r, &s) || layout_in_range(&s));
		hi = lo * rnd_in(1, 99);
		TM(!cute_filter_lo_hi(&r, &a, lo, hi) || layout_in_range(&r));
		TM(!cute_remove_lo_hi(&r, &a, lo, hi) || layout_in_range(&r));
		r = a;
		layout_canon(&r);
		TM(layout_equal(&r, &a) && layout_in_range(&r));
		TM(layout_cosize(&a, AX_mem) >= 1);
		layout_at_index(&a, layout_size(&a) - 1);
	}
}

TEST_PROGRAM(TM_FIXTURE);
