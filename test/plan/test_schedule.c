/* test_schedule.c - tests the stages of hexc_plan_solve against exhaustive enumeration: the least makespan,
 * and of those plans the fewest live bytes.
 *
 * The cost of a plan depends only on the order that its edges impose, so orders are tried: all on up to 6
 * nodes whose numbers are in the order (4824 of 6), of the 96,428 of 7 every 16th, all with PLAN_ALL=1; each
 * with random times, fills and bytes. Then random graphs, which also contain implied edges. */
#include "lib/hexc_plan.h"
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

typedef struct Graph {
	int n;
	unsigned pred[MOST];
	uint64_t ns[MOST];
	double fill[MOST];
	uint64_t bytes[MOST]; /* of the buffer that it writes */
	int streams;
	uint64_t sync;
} Graph;

static uint64_t
random_number(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

static void
random_weights(Graph *g, uint64_t *seed)
{
	for (int i = 0; i < g->n; i++) {
		g->ns[i] = 1000 + random_number(seed) % 9000;
		if (random_number(seed) % 8 == 0)
			g->ns[i] = 0;
		g->fill[i] = (double)(1 + random_number(seed) % 8) / 8;
		g->bytes[i] = 64 * (random_number(seed) % 20);
	}
	g->sync = random_number(seed) % 3 * 700;
}

/* ---- all plans ----------------------------------------------------------------------------------------- */

typedef struct Brute {
	const Graph *g;
	int stage[MOST]; /* of each node */
	uint64_t cost, live; /* the best */
} Brute;

/* The least time of the nodes in set as one stage: all ways to give them streams. */
static uint64_t
one_stage(const Graph *g, unsigned set)
{
	uint64_t best = UINT64_MAX;
	int ways = 1, node[MOST], m = 0;

	for (int i = 0; i < g->n; i++)
		if (set >> i & 1) {
			node[m++] = i;
			ways *= g->streams;
		}
	for (int w = 0; w < ways; w++) {
		int stream[MOST] = { 0 }, rest = w, used = 0, good = 1;
		uint64_t load[4] = { 0 }, most = 0, work = 0;

		for (int k = 0; k < m; k++, rest /= g->streams) {
			stream[node[k]] = rest % g->streams;
			load[rest % g->streams] += g->ns[node[k]];
			used |= 1 << rest % g->streams;
			work += (uint64_t)((double)g->ns[node[k]] * g->fill[node[k]] + 0.5);
		}
		for (int k = 0; k < m; k++)
			for (int i = 0; i < g->n; i++)
				if ((set & g->pred[node[k]]) >> i & 1 && stream[i] != stream[node[k]])
					good = 0;
		for (int s = 0; s < g->streams; s++)
			most = load[s] > most ? load[s] : most;
		most = (most > work ? most : work) + (used & (used - 1) ? g->sync : 0);
		if (good && most < best)
			best = most;
	}
	return best;
}

/* Bytes alive at once, a buffer from the stage of its writer to that of its last reader. */
static uint64_t
bytes_alive(const Brute *b, int stages)
{
	uint64_t most = 0;

	for (int s = 0; s < stages; s++) {
		uint64_t sum = 0;

		for (int i = 0; i < b->g->n; i++) {
			int last = b->stage[i];

			for (int k = 0; k < b->g->n; k++)
				if (b->g->pred[k] >> i & 1 && b->stage[k] > last)
					last = b->stage[k];
			if (b->stage[i] <= s && s <= last)
				sum += b->g->bytes[i];
		}
		most = sum > most ? sum : most;
	}
	return most;
}

static void
try_all(Brute *b, unsigned done, uint64_t cost, int stages)
{
	unsigned left = ((1u << b->g->n) - 1) & ~done;
	uint64_t live;

	if (cost > b->cost)
		return;
	if (!left) {
		live = bytes_alive(b, stages);
		if (cost < b->cost || live < b->live)
			b->live = live;
		b->cost = cost;
		return;
	}
	for (unsigned set = left; set; set = (set - 1) & left) {
		int good = 1;

		for (int i = 0; i < b->g->n; i++)
			if (set >> i & 1) {
				good &= !(b->g->pred[i] & ~(done | set));
				b->stage[i] = stages;
			}
		if (good)
			try_all(b, done | set, cost + one_stage(b->g, set), stages + 1);
		for (int i = 0; i < b->g->n; i++) /* deeper calls wrote there */
			if (set >> i & 1)
				b->stage[i] = stages;
	}
}

/* ---- the planner's ------------------------------------------------------------------------------------ */

static void
check(const Graph *g)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	Brute b = { .g = g, .cost = UINT64_MAX, .live = UINT64_MAX };
	hexc_plan *p;
	uint32_t id;

	o.streams = (uint32_t)g->streams;
	o.sync_us = (double)g->sync / 1000;
	o.align = 64;
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	for (int i = 0; i < g->n; i++) {
		hexc_plan_work w = HEXC_PLAN_WORK_INIT;

		w.us = (double)g->ns[i] / 1000;
		w.fill = g->fill[i];
		ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
		ck_assert_int_eq(hexc_plan_buffer(p, g->bytes[i], &id), HEXC_OK);
		ck_assert_int_eq(hexc_plan_use(p, id, id, HEXC_PLAN_WRITE), HEXC_OK);
		for (uint32_t k = 0; k < id; k++)
			if (g->pred[i] >> k & 1)
				ck_assert_int_eq(hexc_plan_use(p, id, k, HEXC_PLAN_READ), HEXC_OK);
	}
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	ck_assert(hexc_plan_describe(p, &info));
	try_all(&b, 0, 0, 0);
	ck_assert_msg(info.exact, "no exact search of %d nodes", g->n);
	ck_assert_msg((uint64_t)(info.makespan_us * 1000 + 0.5) == b.cost, "%d nodes: %g us, not %g", g->n,
	              info.makespan_us, (double)b.cost / 1000);
	ck_assert_msg(info.live == b.live, "%d nodes: %llu bytes alive, not %llu", g->n,
	              (unsigned long long)info.live, (unsigned long long)b.live);
	ck_assert(info.bytes <= info.total && info.live <= info.total);
	ck_assert(info.makespan_us >= info.critical_us && info.makespan_us <= info.serial_us);
	hexc_plan_free(p);
}

/* Orders on n nodes, u < v only where u's number is smaller; the i-th of each `every`. */
static long
each_order(Graph *g, int v, long *count, long every, uint64_t *seed)
{
	long n = 0;

	if (v == g->n) {
		if ((*count)++ % every)
			return 0;
		random_weights(g, seed);
		check(g);
		return 1;
	}
	for (unsigned set = 0; set < 1u << v; set++) {
		int closed = 1;

		for (int u = 0; u < v; u++)
			if (set >> u & 1)
				closed &= !(g->pred[u] & ~set);
		if (!closed)
			continue;
		g->pred[v] = set;
		n += each_order(g, v + 1, count, every, seed);
	}
	return n;
}

static void
all_orders(int n, int streams, long want, long every)
{
	Graph g = { .n = n, .streams = streams };
	uint64_t seed = (uint64_t)(100 * n + streams);
	long count = 0, checked = each_order(&g, 0, &count, every, &seed);

	ck_assert_int_eq(count, want); /* https://oeis.org/A006455 */
	ck_assert_int_eq(checked, (want + every - 1) / every);
}

TEST_EACH(orders, 3)
{
	static const long many[] = { 1, 1, 2, 7, 40, 357, 4824 };

	for (int n = 1; n <= (_i == 2 ? 5 : 6); n++)
		all_orders(n, _i + 1, many[n], 1);
}

TEST(orders_of_seven)
{
	all_orders(7, 2, 96428, getenv("PLAN_ALL") ? 1 : 16);
}

TEST_EACH(graphs, 4)
{
	uint64_t seed = 77 + (uint64_t)_i;

	for (int i = 0; i < 300; i++) {
		Graph g = { .n = 1 + (int)(random_number(&seed) % 7), .streams =
		           1 + (int)(random_number(&seed) % 3) };
		unsigned rare = 1 + (unsigned)(random_number(&seed) % 6);

		for (int v = 0; v < g.n; v++)
			for (int u = 0; u < v; u++)
				g.pred[v] |= (unsigned)(random_number(&seed) % rare == 0) << u;
		random_weights(&g, &seed);
		check(&g);
	}
}

/* ---- larger ones -------------------------------------------------------------------------------------- */

/* A chain of `blocks` diamonds of `width` branches: a waist between each two. */
static hexc_plan *
diamonds(int blocks, int width, uint32_t streams, uint64_t max_steps)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan *p;
	uint32_t id, head = 0;

	o.streams = streams;
	o.max_steps = max_steps;
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	w.us = 10;
	w.fill = 0.25;
	ck_assert_int_eq(hexc_plan_node(p, &w, &head), HEXC_OK);
	for (int b = 0; b < blocks; b++) {
		uint32_t first = head + 1;

		for (int i = 0; i < width; i++) {
			ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
			ck_assert_int_eq(hexc_plan_after(p, id, head), HEXC_OK);
		}
		ck_assert_int_eq(hexc_plan_node(p, &w, &head), HEXC_OK);
		for (uint32_t i = first; i < head; i++)
			ck_assert_int_eq(hexc_plan_after(p, head, i), HEXC_OK);
	}
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	return p;
}

TEST(long_chains_are_exact)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = diamonds(100, 4, 4, 0);

	ck_assert(hexc_plan_describe(p, &info));
	ck_assert_int_eq(info.nodes, 501);
	ck_assert(info.exact);
	ck_assert_double_eq(info.makespan_us, 10 + 100 * 20);
	ck_assert_double_eq(info.serial_us, 5010);
	ck_assert_int_eq(info.streams, 4);
	hexc_plan_free(p);
}

TEST(beams)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = diamonds(2, 40, 4, 0); /* 2^40 sets: no exact search ends */

	ck_assert(hexc_plan_describe(p, &info));
	ck_assert(!info.exact);
	ck_assert_double_eq(info.makespan_us,
	                    10 + 2 * 110); /* which is the least: 40 of 10 us on 4 streams */
	hexc_plan_free(p);
	p = diamonds(3, 7, 2, 20); /* steps that do not last */
	ck_assert(hexc_plan_describe(p, &info));
	ck_assert(!info.exact);
	ck_assert_double_eq(info.makespan_us, 10 + 3 * 50);
	hexc_plan_free(p);
}

/* One part of more nodes than a set has. */
TEST(wide_and_long)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = diamonds(1, 200, 2, 1000);

	ck_assert(hexc_plan_describe(p, &info));
	ck_assert(!info.exact);
	ck_assert_double_eq(info.makespan_us, 20 + 200 / 2 * 10);
	hexc_plan_free(p);
}

TEST_PROGRAM(.timeout = 120);
