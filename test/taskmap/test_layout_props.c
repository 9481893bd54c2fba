/* test_layout_props.c - text, evaluation, normal form and surgery against brute force. */
#include "test/taskmap/tm_test.h"

/* All places of an element: every replica. */
static int
places(const Layout *l, const int64_t *c, Place *p, int max)
{
	int n = 1;

	p[0] = layout_at(l, c);
	for (int i = 0; i < l->nrep; i++) {
		int have = n;

		for (int64_t k = 1; k < l->rep[i].extent; k++) {
			for (int j = 0; j < have; j++) {
				TM_INT(n, <, max);
				p[n] = p[j];
				p[n++].at[l->rep[i].axis] += k * l->rep[i].stride;
			}
		}
	}
	return n;
}

static bool
subset(const Place *a, int na, const Place *b, int nb)
{
	for (int i = 0; i < na; i++) {
		bool found = false;

		for (int j = 0; j < nb && !found; j++)
			found = same_place(&a[i], &b[j]);
		if (!found)
			return false;
	}
	return true;
}

/* Equality by looking at every element; threads: registers do not count. */
static bool
brute_equal(const Layout *a, const Layout *b, bool threads)
{
	static Place pa[2048], pb[2048];
	int64_t c[DIM_MAX];

	if (a->ndim != b->ndim)
		return false;
	for (int d = 0; d < a->ndim; d++) {
		if (layout_extent(a, d) != layout_extent(b, d))
			return false;
	}
	for (int64_t i = 0; i < layout_size(a); i++) {
		int na, nb;

		coord_of(a, i, c);
		na = places(a, c, pa, 2048);
		nb = places(b, c, pb, 2048);
		for (int j = 0; threads && j < na; j++)
			pa[j].at[AX_reg] = 0;
		for (int j = 0; threads && j < nb; j++)
			pb[j].at[AX_reg] = 0;
		if (!subset(pa, na, pb, nb) || !subset(pb, nb, pa, na))
			return false;
	}
	return true;
}

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

START_TEST(canon)
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
END_TEST

START_TEST(equal)
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
END_TEST

/* Mem layouts with swizzles, where canonical forms alone do not decide. */
START_TEST(equal_swizzled)
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
END_TEST

/* Replication is a set of places, however it is written. */
START_TEST(equal_replication)
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
END_TEST

/* coord is the inverse of at, for every replica, on register tiles and compact memory. */
START_TEST(coord)
{
	tm_seed = 24;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = k % 2 ? rnd_tile((int)rnd_in(1, 3)) : rnd_compact(4, 300, rnd_bool());
		Place p[2048];
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
			TM(same_place(&p[0], &p[1]));
			n = places(&l, c, p, 2048);
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
				layout_coord(&l, &p[j], back);
				TM_MSG(memcmp(back, c, sizeof back[0] * (size_t)l.ndim) == 0,
				       "%s at %d", show(&l), (int)i);
			}
		}
	}
}
END_TEST

START_TEST(sizes)
{
	tm_seed = 25;
	for (int k = 0; k < TRIALS; k++) {
		Layout l = k % 2 ? rnd_tile((int)rnd_in(1, 3)) : rnd_mem(4, 300, 40);
		int64_t size = 1, top[AX_COUNT] = { 0 }, c[DIM_MAX];
		Place p[2048];

		if (rnd_bool())
			l.offset[k % 2 ? AX_warp : AX_mem] = rnd_in(-3, 3);
		for (int d = 0; d < l.ndim; d++)
			size *= layout_extent(&l, d);
		TM_INT(size, ==, layout_size(&l));
		for (int64_t i = 0; i < size; i++) {
			int n;

			coord_of(&l, i, c);
			n = places(&l, c, p, 2048);
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
END_TEST

START_TEST(row_major)
{
	tm_seed = 26;
	for (int k = 0; k < TRIALS; k++) {
		int64_t shape[4], c[4];
		int ndim = (int)rnd_in(1, 4);
		Layout l;

		for (int d = 0; d < ndim; d++)
			shape[d] = rnd_in(1, 6);
		layout_row_major(&l, ndim, shape);
		for (int64_t i = 0; i < layout_size(&l); i++) {
			int64_t x = 0;

			coord_of(&l, i, c);
			for (int d = 0; d < ndim; d++)
				x = x * shape[d] + c[d];
			TM_INT(layout_at(&l, c).at[AX_mem], ==, x);
		}
	}
}
END_TEST

/* Random trees of modes, as CuTe nests them. */
static void
rnd_tree(Text *shape, Text *stride, int depth, int *leaves)
{
	if (depth == 0 || rnd_in(0, 2) == 0 || *leaves > 12) {
		text_printf(shape, "%d", (int)rnd_in(1, 5));
		text_printf(stride, "%d", (int)rnd_in(0, 20));
		++*leaves;
		return;
	}
	text_printf(shape, "(");
	text_printf(stride, "(");
	for (int n = (int)rnd_in(1, 3); n > 0; n--) {
		rnd_tree(shape, stride, depth - 1, leaves);
		if (n > 1) {
			text_printf(shape, ",");
			text_printf(stride, ",");
		}
	}
	text_printf(shape, ")");
	text_printf(stride, ")");
}

static bool
same_form(const Layout *a, const Layout *b)
{
	bool same = a->ndim == b->ndim && a->n == b->n && a->nrep == b->nrep &&
	            memcmp(a->first, b->first, (size_t)a->ndim + 1) == 0 &&
	            memcmp(a->offset, b->offset, sizeof a->offset) == 0 &&
	            memcmp(&a->swizzle, &b->swizzle, sizeof a->swizzle) == 0;

	for (int i = 0; same && i < a->n + a->nrep; i++) {
		const Iter *x = i < a->n ? &a->it[i] : &a->rep[i - a->n];
		const Iter *y = i < a->n ? &b->it[i] : &b->rep[i - a->n];

		same = x->extent == y->extent && x->stride == y->stride && x->axis == y->axis &&
		       x->open == y->open && x->close == y->close;
	}
	return same;
}

START_TEST(text)
{
	tm_seed = 27;
	for (int k = 0; k < TRIALS; k++) {
		Text s = { .arena = &tm_arena }, t = { .arena = &tm_arena };
		Layout l, back;
		int leaves = 0;
		size_t at;
		const char *p;

		/* CuTe text comes back to the letter */
		rnd_tree(&s, &t, 4, &leaves);
		p = arena_printf(&tm_arena, "%s:%s", s.s, t.s);
		l = lay(p);
		ck_assert_str_eq(show(&l), p);
		/* register layouts come back as the same thing */
		l = rnd_tile((int)rnd_in(1, 4));
		if (rnd_bool())
			l.offset[AX_warp] = rnd_in(-5, 5);
		if (rnd_bool())
			l.offset[AX_mem] = rnd_in(-5, 5);
		if (rnd_in(0, 9) == 0)
			l.swizzle = (Swizzle){ 3, 3, 3 };
		p = show(&l);
		back = lay(p);
		ck_assert_str_eq(show(&back), p);
		TM_MSG(same_form(&back, &l) || layout_is_mem(&l), "%s", p);
		TM(layout_equal(&l, &back));
		/* any cut or changed text is refused or read, never worse; where it stops is inside */
		char buf[512];
		snprintf(buf, sizeof buf, "%s", p);
		size_t n = strlen(buf), cut = (size_t)rnd_in(0, (int64_t)n);
		if (rnd_bool() && n)
			buf[rnd_in(0, (int64_t)n - 1)] = "(),:@+[]<>-0129 regSw"[rnd_in(0, 20)];
		if (!layout_parse(&back, buf, cut, &at))
			TM_INT(at, <=, cut);
		else
			show(&back);
		if (k % 100 == 0)
			arena_free(&tm_arena);
	}
}
END_TEST

START_TEST(text_forms)
{
	static const char *const bad[] = {
		"",
		"4",
		"4:",
		"(4:1",
		"(4,2):(1)",
		"(4,2):(1,2",
		"(4,2):1",
		"4:1 x",
		"0:1",
		"-2:1",
		"():1",
		"(4,(2,3)):(1,2,3)",
		"4:1@",
		"4:1@lanes",
		"4:1@foo",
		"4:1+[4]",
		"4:1+[2:1@lane",
		"4:1+[2:-1@lane]",
		"Sw<3,3> o 4:1",
		"Sw<3,3,2> o 4:1",
		"Sw<3,3,3> 4:1",
		"Sw<40,3,40> o 4:1",
		"4:1+",
		"99999999999999999999:1",
		"(1073741824,1073741824,1073741824):(1,1,1)",
		"1073741824:1073741824000",
		"(1,1,1,1,1,1,1,1,1):(0,0,0,0,0,0,0,0,0)",
		"(,):(,)",
		"(()):(())",
	};
	static const char *const same[][2] = {
		{ " ( 4 , 8 ) : ( 32 ,1 ) ", "(4,8):(32,1)" },
		{ "(8,(4,2)):(4@lane,(1@lane,1@reg))", "(8,(4,2)):(4@lane,(1@lane,1@reg))" },
		{ "((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg)) + [4:1@warp] + 5@warp",
		  "((2,8),(2,4,2)):((2@reg,4@lane),(1@reg,1@lane,4@reg))+[4:1@warp]+5@warp" },
		{ "Sw<3,3,3> o (8,64):(64,1)", "Sw<3,3,3> o (8,64):(64,1)" },
		{ "Sw<2,0,-2> o 16:1", "Sw<2,0,-2> o 16:1" },
		{ "4:1+3", "4:1+3@mem" },
		{ "4:-1+3", "4:-1+3@mem" },
		{ "4:1@warp-2@reg", "4:1@warp-2@reg" },
		{ "4:1@warpgroup", "4:1@warpgroup" },
		{ "(4,1):(1@lane,0)", "(4,1):(1@lane,0)" },
		{ "(((1,4),(1,1)),2):(((0,1@reg),(0,0)),1@lane)", "((4),2):((1@reg),1@lane)" },
		{ "(((1,1),4),2):(((0,0),1@reg),1@lane)", "(4,2):(1@reg,1@lane)" },
		{ "():()", "():()" },
		{ "(((2,3),3),2):(((36,1),12),3)", "(((2,3),3),2):(((36,1),12),3)" },
	};
	Layout l;
	size_t at;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		TM_MSG(!layout_parse(&l, bad[i], strlen(bad[i]), &at), "'%s' was read", bad[i]);
	for (size_t i = 0; i < COUNT_OF(same); i++) {
		l = lay(same[i][0]);
		want(&l, same[i][1]);
	}
	TM(!layout_parse(&l, "(4,x):(1,2)", 11, &at));
	TM_INT(at, ==, 3);
}
END_TEST

START_TEST(split)
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
END_TEST

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

START_TEST(compact_regs)
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
END_TEST

START_TEST(permute_insert_drop_concat)
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
			Place want_p, got;

			coord_of(&l, i, c);
			want_p = layout_at(&l, c);
			for (int d = 0; d < ndim; d++)
				pc[d] = c[perm[d]];
			got = layout_at(&p, pc);
			TM(same_place(&got, &want_p));
			pc[at] = 0;
			for (int d = 0; d < ndim; d++)
				pc[d < at ? d : d + 1] = c[d];
			got = layout_at(&q, pc);
			TM(same_place(&got, &want_p));
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
			Place x, y, z;

			coord_of(&q, i, c);
			x = layout_at(&q, c);
			y = layout_at(&l, c);
			z = layout_at(&b, c + ndim);
			for (int a = 0; a < AX_COUNT; a++)
				TM_INT(x.at[a], ==, y.at[a] + z.at[a]);
		}
	}
}
END_TEST

/* Threads that hold any element of the row, before: exactly those hold the result, after. */
START_TEST(reduce_broadcast)
{
	static Place pl[4096], pr[4096];
	int done = 0;

	tm_seed = 31;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), dim = (int)rnd_in(0, ndim - 1);
		Layout l = rnd_tile(ndim), r, b, w;
		int64_t c[DIM_MAX], n = layout_extent(&l, dim);

		if (!layout_reduce(&r, &l, dim))
			continue;
		done++;
		TM_INT(layout_extent(&r, dim), ==, 1);
		for (int64_t i = 0; i < layout_size(&r); i++) {
			int na = 0, nb;

			coord_of(&r, i, c);
			nb = places(&r, c, pr, 4096);
			for (c[dim] = 0; c[dim] < n; c[dim]++)
				na += places(&l, c, pl + na, 4096 - na);
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
		TM(layout_broadcast(&b, &r, dim, n));
		TM_INT(layout_extent(&b, dim), ==, n);
		check_regs(&w, &b, true);
		/* all positions of the dim are in the one place the reduced element has */
		for (int64_t i = 0; i < layout_size(&b); i++) {
			Place x, y;

			coord_of(&b, i, c);
			x = layout_at(&b, c);
			c[dim] = 0;
			y = layout_at(&r, c);
			TM(same_place(&x, &y));
		}
		TM_INT(b.nrep, ==, r.nrep);
		TM(n == 1 || !layout_broadcast(&b, &b, dim, 2));
		/* like the big one: every element is where it was, one register for the row */
		TM_MSG(layout_broadcast_like(&b, &r, dim, &l), "%s like %s", show(&r), show(&l));
		layout_squeeze_regs(&w);
		TM_MSG(brute_equal(&b, &w, false), "%s like %s: %s", show(&r), show(&l), show(&b));
	}
	TM_INT(done, >, TRIALS * 9 / 10);
}
END_TEST

START_TEST(slice)
{
	int done = 0, refused = 0;

	tm_seed = 32;
	while (done < TRIALS) {
		int ndim = (int)rnd_in(1, 3), dim = (int)rnd_in(0, ndim - 1);
		Layout l = rnd_tile(ndim), r;
		int64_t n = layout_extent(&l, dim), lo = rnd_in(0, n - 1), len = rnd_in(1, n - lo),
			c[DIM_MAX];
		bool regs = true;

		for (int i = l.first[dim]; i < l.first[dim + 1]; i++)
			regs = regs && l.it[i].axis == AX_reg;
		if (n == 1 || (!regs && rnd_in(0, 9)))
			continue;
		if (!layout_slice(&r, &l, dim, lo, len)) {
			/* in registers, a range of whole runs must do */
			Layout m = l;
			int64_t run;

			refused++;
			layout_canon(&m);
			run = m.it[m.first[dim]].extent;
			TM_MSG(!regs || len > run || lo / run != (lo + len - 1) / run,
			       "%s [%d,+%d)", show(&l), (int)lo, (int)len);
			continue;
		}
		done++;
		TM(regs);
		TM_INT(layout_extent(&r, dim), ==, len);
		for (int64_t i = 0; i < layout_size(&r); i++) {
			Place x, y;

			coord_of(&r, i, c);
			x = layout_at(&r, c);
			c[dim] += lo;
			y = layout_at(&l, c);
			x.at[AX_reg] = y.at[AX_reg] = 0;
			TM_MSG(same_place(&x, &y), "%s -> %s", show(&l), show(&r));
		}
		/* the registers kept are those of the range, in their order */
		int64_t old[512], seen[512], m = 0;
		memset(seen, -1, sizeof seen);
		for (int64_t i = 0; i < layout_size(&r); i++) {
			int64_t x, y;

			coord_of(&r, i, c);
			x = layout_at(&r, c).at[AX_reg];
			c[dim] += lo;
			y = layout_at(&l, c).at[AX_reg];
			TM_INT(x, <, 512);
			TM(seen[x] < 0 || old[x] == y);
			m += seen[x] < 0;
			seen[x] = 0;
			old[x] = y;
		}
		TM_INT(m, ==, layout_cosize(&r, AX_reg));
		for (int64_t i = 1; i < m; i++)
			TM_INT(old[i], >, old[i - 1]);
	}
	TM_INT(refused, <, 4 * TRIALS);
}
END_TEST

START_TEST(aliasing)
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
	TM(layout_broadcast(&r, &r, 1, 16));
	want(&r, "((2,8),16):((1@reg,4@lane),0@reg)+[4:1@lane]");
	TM(layout_broadcast_like(&s, &s, 1, &a));
	want(&s, "((2,8),(2,4,2)):((1@reg,4@lane),(0@reg,1@lane,0@reg))");
	s = a;
	TM(layout_slice(&s, &s, 1, 0, 1) == false);
	s = lay("(8,8):(4@lane,1@reg)");
	TM(layout_slice(&s, &s, 1, 2, 4));
	want(&s, "(8,4):(4@lane,1@reg)");
	TM(layout_concat_dims(&s, &s, &s));
	want(&s, "(8,4,8,4):(4@lane,1@reg,4@lane,1@reg)");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("layout_props");
	TCase *c = tcase_create("properties");

	tcase_add_test(c, canon);
	tcase_add_test(c, equal);
	tcase_add_test(c, equal_swizzled);
	tcase_add_test(c, equal_replication);
	tcase_add_test(c, coord);
	tcase_add_test(c, sizes);
	tcase_add_test(c, row_major);
	tcase_add_test(c, text);
	tcase_add_test(c, text_forms);
	tcase_add_test(c, split);
	tcase_add_test(c, compact_regs);
	tcase_add_test(c, permute_insert_drop_concat);
	tcase_add_test(c, reduce_broadcast);
	tcase_add_test(c, slice);
	tcase_add_test(c, aliasing);
	suite_add_tcase(s, c);
	return tm_main(s);
}
