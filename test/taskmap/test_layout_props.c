/* test_layout_props.c - tests evaluation, sizes, canonical form and equality of layouts against brute
 * force. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* Split iters at random, put units in, permute replication: the same function written differently. */
static Layout
rewritten(const Layout *l)
{
	Layout r;

	layout_init(&r, l->ndim);
	memcpy(r.offset, l->offset, sizeof r.offset);
	r.swizzle = l->swizzle;
	for (int d = 0; d < l->ndim; d++) {
		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			int64_t e = l->it[i].extent, q = rnd_in(1, e);

			while (e % q)
				q--;
			if (rnd_in(0, 3) == 0)
				layout_push_unit(&r, d, 1, rnd_in(0, 9), AX_reg);
			layout_push(&r, d, q, l->it[i].stride, (Axis)l->it[i].axis);
			layout_push(&r, d, e / q, l->it[i].stride * q, (Axis)l->it[i].axis);
		}
	}
	for (int i = l->nrep; i-- > 0;)
		layout_push_rep(&r, l->rep[i].extent, l->rep[i].stride, (Axis)l->rep[i].axis);
	return r;
}

/* Change one thing; the function may or may not stay the same. */
static Layout
mutated(const Layout *l)
{
	Layout r = *l;
	int64_t extent;
	int i = r.n ? (int)rnd_in(0, r.n - 1) : 0;

	switch (rnd_in(0, 6)) {
	case 0: r.it[i].stride = rnd_in(0, 8); break;
	case 1: r.it[i].axis = (uint8_t)rnd_in(AX_reg, AX_warp); break;
	case 2:
		extent = rnd_in(0, 1);
		r.offset[rnd_in(AX_reg, AX_warp)] += extent;
		break;
	case 3:
		extent = rnd_in(1, 3);
		layout_push_rep(&r, extent, rnd_in(0, 4), AX_warp);
		break;
	case 4:
		if (r.nrep)
			r.nrep--;
		break;
	case 5:
		if (i + 1 < r.n) {
			Iter it = r.it[i];
			r.it[i] = r.it[i + 1];
			r.it[i + 1] = it;
		}
		break;
	default: break;
	}
	return rewritten(&r);
}

TEST(canon)
{
	tm_seed = 21;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = rnd_tile((int)rnd_in(1, 3)), c = mutated(&l), d;

		l = c;
		layout_canon(&c);
		TM_MSG(brute_equal(&l, &c, false), "%s -> %s", show(&l), show(&c));
		d = c;
		layout_canon(&d);
		ck_assert_str_eq(show(&c), show(&d));
		for (int i = 0; i < c.n; i++)
			TM_INT(c.it[i].extent, >, 1);
		/* one text for all ways to write it */
		d = rewritten(&l);
		layout_canon(&d);
		ck_assert_str_eq(show(&c), show(&d));
	}
}

TEST(equal)
{
	int same = 0, same_threads = 0;

	tm_seed = 22;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_tile((int)rnd_in(1, 3)), b = mutated(&a), c = rewritten(&a);
		bool eq, th;

		TM_MSG(layout_equal(&a, &c), "%s and %s", show(&a), show(&c));
		eq = brute_equal(&a, &b, false);
		th = brute_equal(&a, &b, true);
		TM_MSG(layout_equal(&a, &b) == eq, "%s and %s: %d", show(&a), show(&b), eq);
		TM_MSG(layout_equal(&b, &a) == eq, "%s and %s: %d", show(&b), show(&a), eq);
		TM_MSG(layout_equal_threads(&a, &b) == th, "%s and %s: %d", show(&a), show(&b), th);
		same += eq;
		same_threads += th && !eq;
	}
	TM_INT(same, >, TRIALS / 10);
	TM_INT(same, <, TRIALS * 9 / 10);
	TM_INT(same_threads, >, TRIALS / 50);
}

/* Mem layouts with swizzles, where canonical forms alone do not decide. */
TEST(equal_swizzled)
{
	int same = 0;

	tm_seed = 23;
	for (int k = 0; k < TRIALS; k++) {
		Layout a = rnd_compact(4, 128, rnd_bool()), b = rewritten(&a);
		bool eq;

		for (int i = 0; i < b.n; i++)
			b.it[i].axis = AX_mem;
		a.swizzle = (Swizzle){ (int8_t)rnd_in(0, 2), (int8_t)rnd_in(0, 3),
			               (int8_t)rnd_in(2, 3) };
		b.swizzle = a.swizzle;
		if (rnd_bool())
			b.swizzle = (Swizzle){ (int8_t)rnd_in(0, 2), (int8_t)rnd_in(0, 3),
				               (int8_t)rnd_in(2, 4) };
		if (rnd_in(0, 4) == 0 && b.n)
			b.it[0].stride += 1;
		eq = brute_equal(&a, &b, false);
		same += eq;
		TM_MSG(layout_equal(&a, &b) == eq, "%s and %s: %d", show(&a), show(&b), eq);
	}
	TM_INT(same, >, TRIALS / 4);
}

/* Replication is a set of places, however it is written. */
TEST(equal_replication)
{
	static const char *const same[][2] = {
		{ "4:1@reg+[2:1@lane]+[2:2@lane]", "4:1@reg+[4:1@lane]" },
		{ "4:1@reg+[2:1@lane]+[2:1@lane]", "4:1@reg+[3:1@lane]" },
		{ "4:1@reg+[3:2@lane]+[2:1@lane]+[2:1@warp]", "4:1@reg+[2:1@warp]+[6:1@lane]" },
		{ "4:1@reg+[2:3@lane]+[3:1@lane]+[2:2@lane]", "4:1@reg+[8:1@lane]" },
	};
	static const char *const other[][2] = {
		{ "4:1@reg+[2:1@lane]+[2:2@lane]", "4:1@reg+[3:1@lane]" },
		{ "4:1@reg+[4:1@lane]", "4:1@reg+[4:1@warp]" },
		{ "4:1@reg+[4:1@lane]", "4:1@reg" },
		{ "4:1@reg+[2:3@lane]+[2:1@lane]", "4:1@reg+[2:2@lane]+[2:1@lane]" },
	};

	for (size_t i = 0; i < COUNT_OF(same); i++) {
		Layout a = lay(same[i][0]), b = lay(same[i][1]);

		TM_MSG(layout_equal(&a, &b) && layout_equal(&b, &a), "%s", same[i][0]);
		TM(brute_equal(&a, &b, false));
	}
	for (size_t i = 0; i < COUNT_OF(other); i++) {
		Layout a = lay(other[i][0]), b = lay(other[i][1]);

		TM_MSG(!layout_equal(&a, &b) && !layout_equal(&b, &a), "%s", other[i][0]);
	}
}

/* index is the inverse of at, for every replica, on register tiles and compact memory. */
TEST(index)
{
	tm_seed = 24;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = k % 2 ? rnd_tile((int)rnd_in(1, 3)) : rnd_compact(4, 300, rnd_bool());
		Coord p[2048];
		int64_t c[DIM_MAX], back[DIM_MAX];

		if (k % 2)
			l.offset[AX_warp] = rnd_in(0, 3);
		else
			l.swizzle = (Swizzle){ (int8_t)rnd_in(0, 2), (int8_t)rnd_in(0, 2),
				               (int8_t)rnd_in(2, 3) };
		for (int64_t i = 0; i < layout_size(&l); i++) {
			int n;

			coord_of(&l, i, c);
			p[0] = layout_at_index(&l, i);
			p[1] = layout_at(&l, c);
			TM(same_coord(&p[0], &p[1]));
			n = coords(&l, c, p, 2048);
			for (int d = 0; d < l.ndim; d++) { /* digits of stride 0 come back as 0 */
				int64_t w = 1, want_c = 0;

				for (int j = l.first[d]; j < l.first[d + 1]; j++) {
					if (l.it[j].stride)
						want_c += c[d] / w % l.it[j].extent * w;
					w *= l.it[j].extent;
				}
				c[d] = want_c;
			}
			for (int j = 0; j < n; j++) {
				layout_index(&l, &p[j], back);
				TM_MSG(memcmp(back, c, sizeof back[0] * (size_t)l.ndim) == 0,
				       "%s at %d", show(&l), (int)i);
			}
		}
	}
}

TEST(sizes)
{
	tm_seed = 25;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = k % 2 ? rnd_tile((int)rnd_in(1, 3)) : rnd_mem(4, 300, 40);
		int64_t size = 1, top[AX_COUNT] = { 0 }, c[DIM_MAX];
		Coord p[2048];

		if (rnd_bool())
			l.offset[k % 2 ? AX_warp : AX_mem] = rnd_in(-3, 3);
		for (int d = 0; d < l.ndim; d++)
			size *= layout_extent(&l, d);
		TM_INT(size, ==, layout_size(&l));
		for (int64_t i = 0; i < size; i++) {
			int n;

			coord_of(&l, i, c);
			n = coords(&l, c, p, 2048);
			for (int j = 0; j < n; j++)
				for (int x = 0; x < AX_COUNT; x++)
					top[x] = p[j].at[x] > top[x] ? p[j].at[x] : top[x];
		}
		for (int x = 0; x < AX_COUNT; x++)
			TM_INT(layout_cosize(&l, (Axis)x), ==, top[x] + 1);
		/* a swizzle stays below the cosize it gives */
		if (k % 2 == 0) {
			l.offset[AX_mem] = 0;
			l.swizzle = (Swizzle){ (int8_t)rnd_in(1, 2), (int8_t)rnd_in(0, 2),
				               (int8_t)(rnd_in(2, 3) * (rnd_bool() ? 1 : -1)) };
			for (int64_t i = 0; i < size; i++)
				TM_INT(at_index(&l, i), <, layout_cosize(&l, AX_mem));
		}
	}
}

TEST(rows)
{
	tm_seed = 26;
	for (int k = 0; k < TRIALS; k++) {
		int64_t shape[4], c[4], pitch;
		int ndim = (int)rnd_in(1, 4), unit = (int)rnd_in(0, ndim - 1);
		Layout l;

		for (int d = 0; d < ndim; d++)
			shape[d] = rnd_in(1, 6);
		pitch = shape[unit] + rnd_in(0, 3);
		layout_rows(&l, ndim, shape, unit, pitch);
		for (int64_t i = 0; i < layout_size(&l); i++) {
			int64_t row = 0;

			coord_of(&l, i, c);
			for (int d = 0; d < ndim; d++)
				row = d == unit ? row : row * shape[d] + c[d];
			TM_INT(layout_at(&l, c).at[AX_mem], ==, row * pitch + c[unit]);
		}
	}
}

/* Layouts whose texts differ little: sets of replicas, swizzles that change no offset. */
TEST(equal_by_meaning)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} t[] = {
		{ "4:1@reg+[4:1@lane]", "4:1@reg+[2:1@lane]+[2:2@lane]", true },
		{ "4:1@reg+[2:2@lane]+[2:1@lane]", "4:1@reg+[2:1@lane]+[2:2@lane]", true },
		{ "4:1@reg+[3:1@lane]+[2:1@lane]", "4:1@reg+[4:1@lane]", true },
		{ "4:1@reg+[2:1@lane]+[3:1@lane]", "4:1@reg+[4:1@lane]", true },
		{ "4:1@reg+[2:3@lane]", "4:1@reg+[4:1@lane]", false }, /* lanes 0 and 3 of 0 to 3 */
		{ "4:1@reg+[2:3@lane]+[2:8@lane]", "4:1@reg+[4:1@lane]+[2:8@lane]", false },
		{ "4:1@reg+[2:1@lane]", "4:1@reg+[2:1@warp]", false },
		{ "4:1@reg+[2:1@lane]", "4:1@reg", false },
		{ "Sw<1,3,3> o 64:1", "64:1", true }, /* offsets below 64 have no bit 6 */
		{ "Sw<1,3,3> o 65:1", "65:1", false },
		{ "Sw<1,3,3> o 64:1+1", "64:1+1", false },
		{ "Sw<1,3,3> o (32,2):(1,32)", "64:1", false }, /* of two dims */
		{ "Sw<1,3,3> o 2:64", "2:72", true }, /* 64 is moved to 72 */
		{ "Sw<1,0,-3> o 2:1", "2:9", true },
		{ "Sw<1,0,-3> o 4:2", "4:2", true },
	};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		Layout a = lay(t[i].a), b = lay(t[i].b);

		TM_MSG(layout_equal(&a, &b) == t[i].equal, "%s and %s", t[i].a, t[i].b);
		TM_MSG(layout_equal(&b, &a) == t[i].equal, "%s and %s", t[i].b, t[i].a);
	}
}

TEST_PROGRAM(TM_FIXTURE);
