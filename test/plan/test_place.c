/* test_place.c - tests placement and order of plans: live buffers never share bytes, and no node runs before
 * its dependencies, in 10,000 random graphs, judged only by the steps, waits and offsets of hexc_plan.h. Each
 * is then given other bytes and times by hexc_plan_refit, with the same steps, and judged again. */
#include "lib/hexc_plan.h"
#include "test/check.h"
#include "test/lib/util_lib.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 14, BUFFERS = 30, GRAPHS = 10000, ROUNDS = 20 };

typedef struct Case {
	uint64_t seed;
	uint32_t n, m, streams, align;
	uint64_t bytes[BUFFERS];
	bool outside[BUFFERS];
	uint32_t how[NODES][BUFFERS]; /* what each node does with each buffer */
	bool after[NODES][NODES];     /* [v][u]: v after u */
	/* what the plan says */
	uint32_t step[NODES]; /* of each node */
	bool before[NODES][NODES]; /* [v][u]: u has ended when v begins, by streams and waits */
} Case;

static uint64_t
number(Case *c)
{
	c->seed = c->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return c->seed >> 33;
}

static void
make_case(Case *c, uint64_t seed)
{
	memset(c, 0, sizeof *c);
	c->seed = seed;
	c->n = 1 + (uint32_t)(number(c) % NODES);
	c->m = 1 + (uint32_t)(number(c) % BUFFERS);
	c->streams = 1 + (uint32_t)(number(c) % 4);
	c->align = 1u << number(c) % 10;
	for (uint32_t b = 0; b < c->m; b++) {
		bool written = false;

		c->bytes[b] = number(c) % 10 == 0 ? 0 : number(c) % 5000;
		c->outside[b] = number(c) % 6 == 0;
		for (uint32_t v = (uint32_t)number(c) % c->n; v < c->n; v += 1 + (uint32_t)(number(c) % 6)) {
			bool writes = (!written && !c->outside[b]) || number(c) % 4 == 0;

			c->how[v][b] = (uint32_t)(writes ? HEXC_PLAN_WRITE : HEXC_PLAN_READ);
			if (writes && written)
				c->how[v][b] |= (uint32_t)(number(c) & 1);
			written |= writes;
		}
	}
	for (uint32_t v = 1; v < c->n; v++)
		if (number(c) % 8 == 0)
			c->after[v][number(c) % v] = true;
}

static void
random_times(Case *c, hexc_plan *p)
{
	for (uint32_t v = 0; v < c->n; v++)
		ck_assert_int_eq(hexc_plan_set_time(p, v, (double)(number(c) % 50),
		                                    (double)(number(c) % 9) / 8),
		                 HEXC_OK);
}

static hexc_plan *
plan_of(Case *c)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan *p;
	uint32_t id;

	o.streams = c->streams;
	o.align = c->align;
	o.max_steps = 100; /* exact ones are test_schedule.c's */
	o.beam = 1;
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	for (uint32_t v = 0; v < c->n; v++)
		ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
	for (uint32_t b = 0; b < c->m; b++)
		ck_assert_int_eq(c->outside[b] ? hexc_plan_outside(p, NULL, c->bytes[b], &id)
		                               : hexc_plan_buffer(p, c->bytes[b], &id),
		                 HEXC_OK);
	for (uint32_t v = 0; v < c->n; v++) {
		for (uint32_t b = 0; b < c->m; b++)
			if (c->how[v][b])
				ck_assert_int_eq(hexc_plan_use(p, v, b, c->how[v][b]), HEXC_OK);
		for (uint32_t u = 0; u < v; u++)
			if (c->after[v][u])
				ck_assert_int_eq(hexc_plan_after(p, v, u), HEXC_OK);
	}
	random_times(c, p);
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	return p;
}

/* ---- the judge ---------------------------------------------------------------------------------------- */

/* What is before what, from the streams and the waits. */
static void
read_order(Case *c, const hexc_plan *p)
{
	hexc_plan_step t[NODES + 1];
	uint32_t seen = 0;

	memset(c->before, 0, sizeof c->before);
	for (uint32_t i = 0; i <= c->n; i++) {
		t[i] = (hexc_plan_step)HEXC_PLAN_STEP_INIT;
		ck_assert_int_eq(hexc_plan_step_at(p, i, &t[i]), i < c->n);
	}
	for (uint32_t i = 0; i < c->n; i++) {
		ck_assert(t[i].node < c->n && !(seen >> t[i].node & 1) && t[i].stream < c->streams);
		seen |= 1u << t[i].node;
		c->step[t[i].node] = i;
		for (uint32_t k = 0; k < i; k++)
			if (t[k].stream == t[i].stream)
				c->before[t[i].node][t[k].node] = true;
		for (uint32_t k = 0; k < t[i].nwait; k++) {
			int64_t w = hexc_plan_wait_at(p, i, k);

			ck_assert(w >= 0 && w < (int64_t)i && t[w].stream != t[i].stream);
			c->before[t[i].node][t[w].node] = true;
		}
		ck_assert_int_eq(hexc_plan_wait_at(p, i, t[i].nwait), -1);
	}
	for (uint32_t k = 0; k < c->n; k++) /* Warshall */
		for (uint32_t v = 0; v < c->n; v++)
			for (uint32_t u = 0; u < c->n; u++)
				c->before[v][u] |= c->before[v][k] && c->before[k][u];
}

static void
judge_dependencies(const Case *c)
{
	for (uint32_t v = 0; v < c->n; v++)
		for (uint32_t u = 0; u < v; u++) {
			bool needs = c->after[v][u];

			for (uint32_t b = 0; b < c->m; b++)
				needs |= c->how[v][b] && c->how[u][b] &&
				         ((c->how[v][b] | c->how[u][b]) & HEXC_PLAN_WRITE);
			ck_assert_msg(!needs || c->before[v][u], "node %u does not wait for node %u", v, u);
		}
}

static bool
all_before(const Case *c, uint32_t a, uint32_t b)
{
	for (uint32_t u = 0; u < c->n; u++)
		for (uint32_t v = 0; v < c->n; v++)
			if (c->how[u][a] && c->how[v][b] && !c->before[v][u])
				return false;
	return true;
}

static bool
touched(const Case *c, uint32_t b)
{
	for (uint32_t v = 0; v < c->n; v++)
		if (c->how[v][b])
			return true;
	return false;
}

static uint64_t
judge_bytes(const Case *c, const hexc_plan *p)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	uint64_t at[BUFFERS];

	ck_assert(hexc_plan_describe(p, &info));
	for (uint32_t b = 0; b < c->m; b++) {
		ck_assert_int_eq(hexc_plan_offset(p, b, &at[b]), HEXC_OK);
		if (c->outside[b] || !touched(c, b))
			continue;
		ck_assert(at[b] % c->align == 0 && at[b] + c->bytes[b] <= info.bytes);
		for (uint32_t a = 0; a < b; a++)
			if (!c->outside[a] && touched(c, a) && at[a] < at[b] + c->bytes[b] &&
			    at[b] < at[a] + c->bytes[a])
				ck_assert_msg(all_before(c, a, b) || all_before(c, b, a),
				              "buffers %u and %u share bytes and may be alive together",
				              a, b);
	}
	ck_assert(info.bytes <= info.total);
	ck_assert(info.critical_us <= info.makespan_us && info.makespan_us <= info.serial_us);
	return info.total - info.bytes;
}

TEST_EACH(random_graphs, ROUNDS)
{
	uint64_t shared = 0, refitted = 0;

	for (int i = 0; i < GRAPHS / ROUNDS; i++) {
		Case c, again;
		hexc_plan *p;

		make_case(&c, (uint64_t)(_i * GRAPHS + i));
		p = plan_of(&c);
		read_order(&c, p);
		judge_dependencies(&c);
		shared += judge_bytes(&c, p);
		again = c;
		for (uint32_t b = 0; b < c.m; b++) {
			again.bytes[b] = number(&again) % 9000;
			ck_assert_int_eq(hexc_plan_set_bytes(p, b, again.bytes[b]), HEXC_OK);
		}
		random_times(&again, p);
		ck_assert_int_eq(hexc_plan_refit(p), HEXC_OK);
		read_order(&again, p);
		ck_assert(memcmp(again.before, c.before, sizeof c.before) == 0);
		refitted += judge_bytes(&again, p);
		hexc_plan_free(p);
	}
	ck_assert_msg(shared > 0 && refitted > 0, "nothing was shared");
}

/* ---- known ones --------------------------------------------------------------------------------------- */

/* A chain of n nodes, each reading what the one before wrote. */
static hexc_plan *
chain(uint32_t n, uint64_t bytes)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan *p;
	uint32_t id;

	o.streams = 2;
	w.us = 5;
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	for (uint32_t v = 0; v < n; v++) {
		ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
		ck_assert_int_eq(hexc_plan_buffer(p, bytes, &id), HEXC_OK);
		ck_assert_int_eq(hexc_plan_use(p, v, v, HEXC_PLAN_WRITE), HEXC_OK);
		if (v)
			ck_assert_int_eq(hexc_plan_use(p, v, v - 1, HEXC_PLAN_READ), HEXC_OK);
	}
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	return p;
}

TEST(a_chain_takes_two_buffers)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = chain(50, 1000);

	ck_assert(hexc_plan_describe(p, &info));
	ck_assert_uint_eq(info.bytes, 2 * 1024); /* at multiples of 256 */
	ck_assert_uint_eq(info.total, 50 * 1024);
	ck_assert_uint_eq(info.streams, 1);
	ck_assert_uint_eq(info.waits, 0);
	ck_assert_double_eq(info.makespan_us, 250);
	hexc_plan_free(p);
}

TEST(many_nodes)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *p = chain(4096, 100);
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	uint32_t id;

	ck_assert(hexc_plan_describe(p, &info));
	ck_assert_uint_eq(info.bytes, 512);
	ck_assert(info.exact);
	ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_E_LIMIT);
	ck_assert_str_eq(hexc_plan_why(p), "a plan can have at most 4096 nodes");
	hexc_plan_free(p);
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static int
with_memory(LibAlloc *a)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_plan *p;
	uint32_t id;
	int code;

	o.streams = 2;
	o.realloc = lib_realloc;
	o.user = a;
	w.name = "one of many";
	w.us = 3;
	w.fill = 0.5;
	if ((code = hexc_plan_new(&p, &o)))
		return code;
	for (uint32_t v = 0; v < 20 && !code; v++)
		if ((code = hexc_plan_node(p, &w, &id)) == HEXC_OK &&
		    (code = hexc_plan_buffer(p, 5000, &id)) == HEXC_OK &&
		    (code = hexc_plan_use(p, v, v, HEXC_PLAN_WRITE)) == HEXC_OK && v > 2 &&
		    (code = hexc_plan_use(p, v, v - 3, HEXC_PLAN_READ)) == HEXC_OK)
			code = hexc_plan_after(p, v, v - 2);
	if (code == HEXC_OK && (code = hexc_plan_solve(p)) == HEXC_OK &&
	    (code = hexc_plan_refit(p)) == HEXC_OK)
		code = hexc_plan_refit(p);
	if (code) {
		ck_assert_str_eq(hexc_plan_why(p), "out of memory");
		a->fail_at = 0; /* and then there is some */
		if (p && hexc_plan_solve(p) == HEXC_OK)
			ck_assert_int_eq(hexc_plan_refit(p), HEXC_OK);
	}
	hexc_plan_free(p);
	return code;
}

TEST_EACH(no_memory, 2)
{
	long n;

	for (n = 1; n < 10000; n++) {
		LibAlloc a = { 0, 0, n, _i };
		int code = with_memory(&a);

		ck_assert_msg(a.live == 0, "%ld blocks leak when allocation %ld fails", a.live, n);
		if (code == HEXC_OK)
			break;
		ck_assert_int_eq(code, HEXC_E_NOMEM);
	}
	ck_assert_msg(n > 4, "only %ld allocations", n);
}

TEST_PROGRAM(.timeout = 120);
