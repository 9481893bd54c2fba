/* tm_test.h - shared by the tests of taskmap/: parsing and printing layouts, a seeded generator of random
 * ones, and the fixture. */
#ifndef HEXC_TM_TEST_H
#define HEXC_TM_TEST_H
#include "test/taskmap/util_cute.h"
#include "test/check.h"
#include "test/util_layout.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 10000 };

/* Check's own assertions write to a file each time they hold; these cost nothing until they fail. */
#define TM_MSG(cond, ...)                                                                          \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s: %s", #cond, arena_printf(&tm_arena, __VA_ARGS__));       \
	} while (0)
#define TM(cond) TM_MSG(cond, "does not hold")
#define TM_INT(a, op, b)                                                                           \
	do {                                                                                       \
		long long tm_a = (long long)(a), tm_b = (long long)(b);                            \
		if (!(tm_a op tm_b))                                                               \
			ck_abort_msg("%s: %lld, %lld", #a " " #op " " #b, tm_a, tm_b);             \
	} while (0)

static Arena tm_arena;
static uint64_t tm_seed;

static inline uint64_t
rnd(void)
{
	tm_seed ^= tm_seed >> 12;
	tm_seed ^= tm_seed << 25;
	tm_seed ^= tm_seed >> 27;
	return tm_seed * 0x2545f4914f6cdd1dU;
}

/* One of lo .. hi.  Call it once in a statement's arguments: their order is the compiler's. */
static inline int64_t
rnd_in(int64_t lo, int64_t hi)
{
	return lo + (int64_t)(rnd() >> 20) % (hi - lo + 1);
}

static inline bool
rnd_bool(void)
{
	return rnd() >> 40 & 1;
}

static inline const char *
show(const Layout *l)
{
	return layout_print(&tm_arena, l);
}

static inline Layout
lay(const char *s)
{
	return layout_of(s);
}

/* Expect this exact text. */
static inline void
want(const Layout *got, const char *text)
{
	ck_assert_str_eq(show(got), text);
}

/* Expect this function: the text may write it differently. */
static inline void
want_same(const Layout *got, const char *text)
{
	Layout w = lay(text);

	TM_MSG(layout_equal(got, &w), "got %s, want %s", show(got), text);
}

static inline int64_t
at_index(const Layout *l, int64_t i)
{
	return layout_at_index(l, i).at[AX_mem];
}

static inline void
coord_of(const Layout *l, int64_t i, int64_t *c)
{
	for (int d = 0; d < l->ndim; d++) {
		c[d] = i % layout_extent(l, d);
		i /= layout_extent(l, d);
	}
}

static inline bool
same_coord(const Coord *a, const Coord *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* A mem layout of at most `iters` iters and size `limit`, strides 0 .. far. */
static inline Layout
rnd_mem(int iters, int64_t limit, int64_t far)
{
	Layout l;
	int64_t size = 1;
	int ndim = (int)rnd_in(1, 3), d;

	layout_init(&l, ndim);
	for (int i = (int)rnd_in(1, iters); i > 0; i--) {
		int64_t e = rnd_in(1, 8);

		if (size * e > limit)
			continue;
		size *= e;
		d = (int)rnd_in(0, ndim - 1);
		layout_push(&l, d, e, rnd_in(0, far), AX_mem);
	}
	return l;
}

/* A bijective one: strides are products of the other extents in some order, as in a compact tensor.
 * `gaps`: some strides are larger, so that the image has holes; it stays injective. */
static inline Layout
rnd_compact(int iters, int64_t limit, bool gaps)
{
	Layout l = rnd_mem(iters, limit, 0);
	int order[ITER_MAX];
	int64_t stride = 1;

	for (int i = 0; i < l.n; i++) {
		int j = (int)rnd_in(0, i);

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < l.n; i++) {
		if (gaps && rnd_in(0, 2) == 0)
			stride *= rnd_in(1, 4);
		l.it[order[i]].stride = stride;
		stride *= l.it[order[i]].extent;
	}
	return l;
}

/* A register layout, mixed-radix on every axis: lanes to 32, up to 6 warps, replication and
 * broadcast registers included; at most 384 coordinates in all. */
static inline Layout
rnd_tile(int ndim)
{
	Layout l;
	int64_t lane = 1, warp = 1, reg = 1, all = 1;

	layout_init(&l, ndim);
	for (int i = (int)rnd_in(1, 8); i > 0; i--) {
		int64_t e = rnd_in(2, 4);
		int d = (int)rnd_in(0, ndim - 1);
		bool rep = rnd_in(0, 5) == 0;

		if (all * e > 384)
			continue;
		all *= e;
		switch (rnd_in(0, 4)) {
		case 0:
		case 1:
			e = e == 3 ? 2 : e;
			if (lane * e > WARP_SIZE)
				break;
			if (!rep)
				layout_push(&l, d, e, lane, AX_lane);
			else
				layout_push_rep(&l, e, lane, AX_lane);
			lane *= e;
			break;
		case 2:
			if (warp * e > 6)
				break;
			if (!rep)
				layout_push(&l, d, e, warp, AX_warp);
			else
				layout_push_rep(&l, e, warp, AX_warp);
			warp *= e;
			break;
		default:
			if (rep) {
				layout_push(&l, d, e, 0, AX_reg);
			} else {
				layout_push(&l, d, e, reg, AX_reg);
				reg *= e;
			}
		}
	}
	return l;
}

/* All coordinates of an element: every replica. */
static inline int
coords(const Layout *l, const int64_t *c, Coord *p, int max)
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

static inline bool
subset(const Coord *a, int na, const Coord *b, int nb)
{
	for (int i = 0; i < na; i++) {
		bool found = false;

		for (int j = 0; j < nb && !found; j++)
			found = same_coord(&a[i], &b[j]);
		if (!found)
			return false;
	}
	return true;
}

/* Equality by looking at every element; threads: registers do not count. */
static inline bool
brute_equal(const Layout *a, const Layout *b, bool threads)
{
	static Coord pa[2048], pb[2048];
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
		na = coords(a, c, pa, 2048);
		nb = coords(b, c, pb, 2048);
		for (int j = 0; threads && j < na; j++)
			pa[j].at[AX_reg] = 0;
		for (int j = 0; threads && j < nb; j++)
			pb[j].at[AX_reg] = 0;
		if (!subset(pa, na, pb, nb) || !subset(pb, nb, pa, na))
			return false;
	}
	return true;
}

/* For printing only. */
static inline void
tm_setup(void)
{
	test_arena(&tm_arena);
}

static inline void
tm_teardown(void)
{
	arena_free(&tm_arena);
}

#define TM_FIXTURE .setup = tm_setup, .teardown = tm_teardown, .one_process = true
#endif
