/* test_mapping.c - task mappings against lists of tasks, and the thread-value form. */
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
			Place p = { .at = { 0 } }, q;

			p.at[AX_lane] = w;
			p.at[AX_reg] = t;
			layout_coord(l, &p, c);
			for (int d = 0; d < l->ndim; d++)
				TM_MSG(c[d] == want_l->task[w][t][d], "%s, worker %d, task %d",
				       show(l), w, t);
			q = layout_at(l, c);
			TM(same_place(&p, &q));
		}
	}
}

/* A chain of random spatial and repeat parts; the lists of the same. */
static void
rnd_mapping(Layout *l, Lists *lists, int ndim, int parts)
{
	static Lists atom, next;
	Layout a;

	for (int k = 0; k < parts; k++) {
		int64_t dim[3];
		bool spatial = rnd_bool();
		int64_t all = 1;

		for (int d = 0; d < ndim; d++) {
			dim[d] = rnd_in(1, 3);
			all *= dim[d];
		}
		if (k && (lists->n * (spatial ? all : 1) > WORKERS ||
		          lists->len * (spatial ? 1 : all) > TASKS))
			continue;
		TM(spatial ? mapping_spatial(&a, ndim, dim) : mapping_repeat(&a, ndim, dim));
		list_atom(&atom, ndim, dim, spatial);
		check_lists(&a, &atom);
		if (k == 0) {
			*l = a;
			*lists = atom;
			continue;
		}
		TM(mapping_product(l, l, &a));
		list_product(&next, lists, &atom);
		*lists = next;
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

TEST(product_associates)
{
	static Lists lists;

	tm_seed = 52;
	for (int k = 0; k < TRIALS; k++) {
		int ndim = (int)rnd_in(1, 3);
		Layout a, b, c, l, r;

		rnd_mapping(&a, &lists, ndim, 2);
		rnd_mapping(&b, &lists, ndim, 2);
		rnd_mapping(&c, &lists, ndim, 2);
		layout_push_rep(&b, rnd_in(1, 2), layout_cosize(&b, AX_lane),
		                AX_lane); /* shared by workers */
		TM(mapping_product(&l, &a, &b) && mapping_product(&l, &l, &c));
		TM(mapping_product(&r, &b, &c) && mapping_product(&r, &a, &r));
		TM_MSG(layout_equal(&l, &r), "%s, %s", show(&l), show(&r));
	}
}

/* Fragments as products of mappings, the way Tilus writes them. */
TEST(fragments)
{
	int64_t s22[2] = { 2, 2 }, s84[2] = { 8, 4 }, s12[2] = { 1, 2 }, s21[2] = { 2, 1 },
		s48[2] = { 4, 8 };
	int column[2] = { 1, 0 };
	Layout f, a, b;

	/* A of m16n8k16: column_local(2,2).spatial(8,4).local(1,2) */
	ck_assert(mapping_repeat_order(&f, 2, s22, column) && mapping_spatial(&a, 2, s84) &&
	          mapping_repeat(&b, 2, s12));
	ck_assert(mapping_product(&f, &f, &a) && mapping_product(&f, &f, &b));
	want_same(&f, "((8,2),(2,4,2)):((4@lane,2@reg),(1@reg,1@lane,4@reg))");
	/* B, as (k,n): local(2,1).column_spatial(4,8).local(2,1) */
	ck_assert(mapping_repeat(&f, 2, s21) && mapping_spatial_order(&a, 2, s48, column) &&
	          mapping_repeat(&b, 2, s21));
	ck_assert(mapping_product(&f, &f, &a) && mapping_product(&f, &f, &b));
	want_same(&f, "((2,4,2),8):((1@reg,1@lane,2@reg),4@lane)");
	/* C: local(2,1).spatial(8,4).local(1,2) */
	ck_assert(mapping_repeat(&f, 2, s21) && mapping_spatial(&a, 2, s84) &&
	          mapping_repeat(&b, 2, s12));
	ck_assert(mapping_product(&f, &f, &a) && mapping_product(&f, &f, &b));
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
			Place p = { .at = { 0 } };
			int64_t index = 0, w = 1;

			p.at[AX_lane] = th % 32;
			p.at[AX_warp] = th / 32;
			p.at[AX_reg] = r;
			layout_coord(l, &p, c);
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
				Place p = { .at = { 0 } };
				int64_t got = 0;

				p.at[AX_lane] = i % 32;
				p.at[AX_warp] = i / 32;
				p.at[AX_reg] = regs[j];
				layout_coord(&l, &p, c);
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
