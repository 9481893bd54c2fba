/* test_mapping.c - tests task mappings against lists of tasks, and the thread-value form. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

/* ---- Hidet's meaning of a mapping: each worker has a list of tasks -------------------------------- */

enum { WORKERS = 64, TASKS = 256 };

typedef struct Lists {
	int ndim, n, len; /* workers, tasks of each */
	int64_t dim[DIM_MAX];
	int64_t task[WORKERS][TASKS][3];
} Lists;

static void
row_major_digits(int ndim, const int64_t *dim, int64_t i, int64_t *c)
{
	for (int d = ndim; d-- > 0; i /= dim[d])
		c[d] = i % dim[d];
}

static void
list_atom(Lists *l, int ndim, const int64_t *dim, bool spatial)
{
	int64_t all = 1;

	l->ndim = ndim;
	for (int d = 0; d < ndim; d++)
		all *= l->dim[d] = dim[d];
	l->n = spatial ? (int)all : 1;
	l->len = spatial ? 1 : (int)all;
	for (int64_t i = 0; i < all; i++)
		row_major_digits(ndim, dim, i, l->task[spatial ? i : 0][spatial ? 0 : i]);
}

/* f(w) = [ t1 * d2 + t2 for t1 in outer(w / n2) for t2 in inner(w mod n2) ] */
static void
list_product(Lists *r, const Lists *outer, const Lists *inner)
{
	r->ndim = outer->ndim;
	r->n = outer->n * inner->n;
	r->len = outer->len * inner->len;
	for (int d = 0; d < r->ndim; d++)
		r->dim[d] = outer->dim[d] * inner->dim[d];
	for (int w = 0; w < r->n; w++)
		for (int i = 0; i < outer->len; i++)
			for (int j = 0; j < inner->len; j++)
				for (int d = 0; d < r->ndim; d++)
					r->task[w][i * inner->len + j][d] =
						outer->task[w / inner->n][i][d] * inner->dim[d] +
						inner->task[w % inner->n][j][d];
}

static void
check_lists(const Layout *l, const Lists *want_l)
{
	int64_t c[DIM_MAX];

	TM_INT(l->ndim, ==, want_l->ndim);
	for (int d = 0; d < l->ndim; d++)
		TM_INT(layout_extent(l, d), ==, want_l->dim[d]);
	TM_INT(layout_cosize(l, AX_lane), ==, want_l->n);
	TM_INT(layout_cosize(l, AX_reg), ==, want_l->len);
	for (int w = 0; w < want_l->n; w++) {
		for (int t = 0; t < want_l->len; t++) {
			Coord p = { .at = { 0 } }, q;

			p.at[AX_lane] = w;
			p.at[AX_reg] = t;
			layout_index(l, &p, c);
			for (int d = 0; d < l->ndim; d++)
				TM_MSG(c[d] == want_l->task[w][t][d], "%s, worker %d, task %d",
				       show(l), w, t);
			q = layout_at(l, c);
			TM(same_coord(&p, &q));
		}
	}
}

/* One more step outside of what is there: row-major, so the last dim first. */
static void
add_step(Layout *l, const int64_t *dim, bool spatial)
{
	for (int d = l->ndim - 1; d >= 0; d--)
		TM(spatial ? mapping_spatial(l, d, dim[d], AX_lane) : mapping_repeat(l, d, dim[d]));
}

/* A product of random spatial and repeat parts; the lists of the same. */
static void
rnd_mapping(Layout *l, Lists *lists, int ndim, int parts)
{
	static const int64_t one[3] = { 1, 1, 1 };
	static Lists atom, next;

	layout_init(l, ndim);
	list_atom(lists, ndim, one, true);
	for (int k = 0; k < parts; k++) {
		int64_t dim[3];
		bool spatial = rnd_bool();
		int64_t all = 1;

		for (int d = 0; d < ndim; d++) {
			dim[d] = rnd_in(1, 3);
			all *= dim[d];
		}
		if (lists->n * (spatial ? all : 1) > WORKERS || lists->len * (spatial ? 1 : all) > TASKS)
			continue;
		add_step(l, dim, spatial);
		list_atom(&atom, ndim, dim, spatial);
		list_product(&next, &atom, lists);
		*lists = next;
		check_lists(l, lists);
	}
}

TEST(product_is_hidets)
{
	static Lists lists;

	tm_seed = 51;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3);
		Layout l;

		rnd_mapping(&l, &lists, ndim, (int)rnd_in(1, 4));
		check_lists(&l, &lists);
	}
}

/* Tasks dealt to workers: no more than divide them, and who is left over shares. */
TEST(workers)
{
	static Lists lists;

	tm_seed = 52;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), d = (int)rnd_in(0, ndim - 1);
		int64_t tasks = rnd_in(1, 24), all, n, used;
		Layout l;

		rnd_mapping(&l, &lists, ndim, (int)rnd_in(1, 3));
		used = layout_cosize(&l, AX_lane);
		all = used * rnd_in(1, 8);
		n = mapping_workers(&l, tasks, all, AX_lane);
		TM(tasks % n == 0 && all % (used * n) == 0);
		for (int64_t more = n + 1; more <= tasks; more++)
			TM(tasks % more || all % (used * more));
		TM(mapping_spatial(&l, d, n, AX_lane) && mapping_repeat(&l, d, tasks / n));
		TM_INT(layout_cosize(&l, AX_lane), ==, used * n);
		TM(mapping_share(&l, all, AX_lane));
		TM_INT(layout_cosize(&l, AX_lane), ==, all);
		TM_INT(layout_replicas(&l) * used * n, ==, all);
	}
}

/* What mapping_print says, made again: steps from the last, which is the innermost. */
static bool
mapping_read(Layout *l, int ndim, const char *s)
{
	static const struct {
		const char *name;
		Axis axis;
	} kind[] = { { "repeat(", AX_reg }, { "lanes(", AX_lane }, { "warps(", AX_warp } };
	const char *step[64];
	int n = 0;

	for (; s; s = strchr(s, ' ') ? strchr(s, ' ') + 1 : NULL)
		step[n++] = s;
	layout_init(l, ndim);
	while (n-- > 0) {
		int64_t dim[DIM_MAX] = { 0 };
		size_t i = 0;
		const char *at;

		while (i < COUNT_OF(kind) && strncmp(step[n], kind[i].name, strlen(kind[i].name)) != 0)
			i++;
		if (i == COUNT_OF(kind))
			return false;
		at = step[n] + strlen(kind[i].name);
		for (int d = 0; d < ndim; d++, at++) {
			char *end;

			dim[d] = strtoll(at, &end, 10);
			at = end;
		}
		for (int d = ndim - 1; d >= 0; d--)
			if (!mapping_spatial(l, d, dim[d], kind[i].axis))
				return false;
	}
	return true;
}

TEST(printed)
{
	static Lists lists;
	Layout l;

	tm_seed = 55;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3);
		Layout back;
		const char *text;

		rnd_mapping(&l, &lists, ndim, (int)rnd_in(1, 4));
		TM(mapping_spatial(&l, 0, rnd_in(1, 4), AX_warp));
		text = mapping_print(&tm_arena, &l);
		TM_MSG(text != NULL, "%s", show(&l));
		TM_MSG(mapping_read(&back, ndim, text) && layout_equal(&back, &l), "%s: %s", show(&l), text);
		if (k % 100 == 0)
			arena_free(&tm_arena);
	}
	/* rows of 64 elements, 8 an access, by four warps */
	l = lay("((4,4,8),(8,8)):((8@lane,1@warp,8@reg),(1@reg,1@lane))");
	ck_assert_str_eq(mapping_print(&tm_arena, &l), "repeat(8,1) warps(4,1) lanes(4,8) repeat(1,8)");
	l = lay("8:4@lane+[4:1@lane]");
	ck_assert_str_eq(mapping_print(&tm_arena, &l), "lanes(8) copies(4 lanes)");
	l = lay("(8,4):(4@lane,0@reg)+[4:1@lane]");
	TM(mapping_print(&tm_arena, &l) == NULL);
	l = lay("(8,4):(4@lane,2@lane)");
	TM(mapping_print(&tm_arena, &l) == NULL);
}

/* Fragments as products of mappings, the way Tilus writes them: read from the right. */
TEST(fragments)
{
	int64_t s84[2] = { 8, 4 }, s12[2] = { 1, 2 }, s21[2] = { 2, 1 };
	Layout f;

	/* A of m16n8k16: column_local(2,2).spatial(8,4).local(1,2) */
	layout_init(&f, 2);
	add_step(&f, s12, false);
	add_step(&f, s84, true);
	TM(mapping_repeat(&f, 0, 2) && mapping_repeat(&f, 1, 2));
	want_same(&f, "((8,2),(2,4,2)):((4@lane,2@reg),(1@reg,1@lane,4@reg))");
	/* B, as (k,n): local(2,1).column_spatial(4,8).local(2,1) */
	layout_init(&f, 2);
	add_step(&f, s21, false);
	TM(mapping_spatial(&f, 0, 4, AX_lane) && mapping_spatial(&f, 1, 8, AX_lane));
	add_step(&f, s21, false);
	want_same(&f, "((2,4,2),8):((1@reg,1@lane,2@reg),4@lane)");
	/* C: local(2,1).spatial(8,4).local(1,2) */
	layout_init(&f, 2);
	add_step(&f, s12, false);
	add_step(&f, s84, true);
	add_step(&f, s21, false);
	want_same(&f, "((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))");
}

/* ---- thread-value form ----------------------------------------------------------------------------- */

/* Who holds what, by looking: (thread, value) must give the first position of what is there. */
static void
check_tv(const Layout *l, const Layout *t, const Layout *v, int nwarp)
{
	int64_t c[DIM_MAX];

	TM_INT(layout_size(t), ==, 32 * nwarp);
	TM_INT(layout_size(v), ==, layout_cosize(l, AX_reg));
	for (int64_t th = 0; th < layout_size(t); th++) {
		for (int64_t r = 0; r < layout_size(v); r++) {
			Coord p = { .at = { 0 } };
			int64_t index = 0, w = 1;

			p.at[AX_lane] = th % 32;
			p.at[AX_warp] = th / 32;
			p.at[AX_reg] = r;
			layout_index(l, &p, c);
			for (int d = 0; d < l->ndim; d++) {
				index += c[d] * w;
				w *= layout_extent(l, d);
			}
			TM_MSG(at_index(t, th) + at_index(v, r) == index, "%s: T %s, V %s", show(l),
			       show(t), show(v));
		}
	}
}

TEST(tv_round_trip)
{
	int done = 0;

	tm_seed = 53;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3), nwarp;
		Layout l = rnd_tile(ndim), back, w, t, v, t2, v2;
		int64_t shape[3];

		/* fewer threads than there are: the others hold copies */
		nwarp = (int)layout_cosize(&l, AX_warp) * (int)rnd_in(1, 2);
		if (!tv_from_layout(&t, &v, &l, nwarp)) {
			TM(32 % layout_cosize(&l, AX_lane) != 0);
			continue;
		}
		done++;
		check_tv(&l, &t, &v, nwarp);
		for (int d = 0; d < ndim; d++)
			shape[d] = layout_extent(&l, d);
		TM_MSG(layout_from_tv(&back, &t, &v, ndim, shape), "%s: T %s, V %s", show(&l),
		       show(&t), show(&v));
		w = l; /* with the copies that missing threads hold */
		layout_push_rep(&w, 32 / layout_cosize(&w, AX_lane), layout_cosize(&w, AX_lane),
		                AX_lane);
		layout_push_rep(&w, nwarp / layout_cosize(&w, AX_warp), layout_cosize(&w, AX_warp),
		                AX_warp);
		TM_MSG(layout_equal(&back, &w), "%s, back %s", show(&w), show(&back));
		TM(tv_from_layout(&t2, &v2, &back, nwarp));
		TM_MSG(strcmp(show(&t), show(&t2)) == 0 && strcmp(show(&v), show(&v2)) == 0, "%s",
		       show(&l));
	}
	TM_INT(done, >, TRIALS / 2);
}

/* Random T and V over random shapes: what is accepted is right, element by element. */
TEST(from_tv)
{
	int done = 0;

	tm_seed = 54;
	for (int k = 0; k < 100 * TRIALS && done < TRIALS; k++) {
		int64_t shape[3] = { rnd_in(1, 12), rnd_in(1, 12), rnd_in(1, 4) },
			all = shape[0] * shape[1] * shape[2];
		Layout tv = rnd_compact(5, all, false), t, v, l, bar;
		int cut = (int)rnd_in(0, tv.n);
		int64_t c[3], regs[4096];

		if (layout_size(&tv) > all)
			continue;
		layout_init(&t, 1);
		layout_init(&v, 1);
		for (int i = 0; i < tv.n; i++) {
			int64_t s = rnd_in(0, 9) ? tv.it[i].stride : 0;
			layout_push(i < cut ? &t : &v, 0, tv.it[i].extent, s, AX_mem);
		}
		if (!layout_from_tv(&l, &t, &v, 3, shape))
			continue;
		done++;
		/* register of value j: values of stride 0 are the same register */
		bar = v;
		int64_t next = 1;
		for (int i = 0; i < bar.n; i++) {
			bar.it[i].stride = bar.it[i].stride ? next : 0;
			next *= bar.it[i].stride ? bar.it[i].extent : 1;
		}
		for (int64_t j = 0; j < layout_size(&v); j++)
			regs[j] = at_index(&bar, j);
		for (int64_t i = 0; i < layout_size(&t); i++) {
			for (int64_t j = 0; j < layout_size(&v); j++) {
				int64_t x = at_index(&t, i) + at_index(&v, j);
				Coord p = { .at = { 0 } };
				int64_t got = 0;

				p.at[AX_lane] = i % 32;
				p.at[AX_warp] = i / 32;
				p.at[AX_reg] = regs[j];
				layout_index(&l, &p, c);
				got = c[0] + shape[0] * (c[1] + shape[1] * c[2]);
				TM_MSG(got == x, "T %s, V %s: %s, thread %d value %d", show(&t),
				       show(&v), show(&l), (int)i, (int)j);
			}
		}
	}
	TM_INT(done, ==, TRIALS);
}

TEST(tv_known)
{
	int64_t s16[2] = { 16, 8 }, s66[2] = { 6, 6 };
	Layout t = lay("(4,8):(32,1)"), v = lay("(2,2):(16,8)"), l, a, b;

	ck_assert(layout_from_tv(&l, &t, &v, 2, s16));
	want(&l, "((8,2),(2,4)):((4@lane,2@reg),(1@reg,1@lane))");
	t = lay("(4,8):(0,1)"); /* a row each: the reduced fragment */
	v = lay("(2,2):(0,8)");
	ck_assert(layout_from_tv(&l, &t, &v, 2, s16));
	want(&l, "((8,2),8):((4@lane,1@reg),0@reg)+[4:1@lane]");
	t = lay("4:9"); /* 9 is no place a (6,6) tile steps by */
	v = lay("9:1");
	ck_assert(!layout_from_tv(&l, &t, &v, 2, s66));
	t = lay("3:12");
	v = lay("12:1"); /* straddles the first dim, dividing it */
	ck_assert(layout_from_tv(&l, &t, &v, 2, s66));
	want(&l, "(6,(2,3)):(1@reg,(6@reg,1@lane))");
	t = lay("4:1");
	v = lay("4:1"); /* both reach the same elements */
	ck_assert(!layout_from_tv(&l, &t, &v, 2, s16));
	l = lay("(8,4):(4@lane,1@lane)+5@warp");
	ck_assert(!tv_from_layout(&a, &b, &l, 8));
	t = lay("4:1");
	v = lay("2:6"); /* 6 is no multiple of the 4 below it */
	ck_assert(!layout_from_tv(&l, &t, &v, 1, (int64_t[]){ 12 }));
	l = lay("(4,3):(1@lane,6@lane)");
	ck_assert(!tv_from_layout(&a, &b, &l, 1));
	l = lay("(4,2):(1@warp,6@warp)");
	ck_assert(!tv_from_layout(&a, &b, &l, 12));
	l = lay("8:1@mem");
	ck_assert(!tv_from_layout(&a, &b, &l, 1));
	l = lay("16:1@lane");
	ck_assert(tv_from_layout(&a, &b, &l, 2));
	want(&a, "(16,4):(1,0)");
	want(&b, "1:0");
}

TEST_PROGRAM(TM_FIXTURE);
