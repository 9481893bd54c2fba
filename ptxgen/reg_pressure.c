/* reg_pressure.c - estimates the register pressure of PTX, and the registers/thread that ptxas uses for
 * it. */
#include "ptxgen/reg_pressure.h"

enum {
	LONGEST = 6000, /* statements; longer blocks are not reordered */
	/* fitted to ptxas 13.0 on the examples: registers in addition to values (the stack's, and
	 * temporaries of moves), statements of loops whose iterations it interleaves, number of interleaved
	 * iterations */
	BESIDE_VALUES = 3,
	SHORT = 100,
	TURNS_AT_ONCE = 4,
};

/* Returns the register pressure of block p in the better of two orders: bottom-up, most freed registers
 * first, and top-down, fewest added registers first. */
static int
reordered(Lives *l, const PtxBlock *p)
{
	Arena *a = l->b.a;
	int64_t from_begin, from_end;
	Steps s;

	if (p->to - p->from > LONGEST)
		return p->live;
	lives_steps(l, p, 1, &s);
	from_begin = pressure_ahead(a, &s, 0);
	from_end = pressure_least(a, &s);
	l->work += s.work;
	return (int)min64(p->live, ceil_div(min64(from_begin, from_end), 2));
}

/* ---- what ptxas uses ------------------------------------------------------------------------- */

static bool
turns_by_itself(const Lives *l, const PtxBlock *p)
{
	return p->next[0] == p - l->part || p->next[1] == p - l->part;
}

/* Returns the pressure of block p with loads as early as `room` registers allow; iterations of a short loop
 * are interleaved. */
static int
ahead(Lives *l, const PtxBlock *p, int room)
{
	int turns = turns_by_itself(l, p) && p->to - p->from <= SHORT ? TURNS_AT_ONCE : 1;
	int64_t most;
	Steps s;

	if (p->to - p->from > LONGEST)
		return p->live;
	lives_steps(l, p, turns, &s);
	most = pressure_ahead(l->b.a, &s, 2 * (int64_t)room);
	l->work += s.work;
	return (int)ceil_div(most, 2);
}

static bool
has_limits(const Lives *l)
{
	for (int i = 0; i < l->b.n; i++)
		if (l->b.ins[i].kind == INS_LIMIT)
			return true;
	return false;
}

/* Returns the maximum registers/thread with the same occupancy as `need`. */
static int
share(const Lives *l, const Target *t, int need)
{
	int grain = t->grain / WARP_SIZE, blocks = occupancy(t, l->b.warps, need, 0);

	return t->regs / (blocks * l->b.warps * WARP_SIZE) / grain * grain;
}

/* ptxas hides latencies with registers, but not at the cost of occupancy. The minimum order determines the
 * occupancy, and loads are issued as early as its share of registers allows. */
static int
registers_used(Lives *l, const Target *t)
{
	int need = 0, used = 0, most;

	for (int i = 0; i < l->npart; i++)
		if (l->part[i].reached && l->part[i].live > need)
			need = (int)max64(need, reordered(l, &l->part[i]));
	most = (int)min64(share(l, t, need), l->b.limit);
	for (int i = 0; i < l->npart && used + BESIDE_VALUES < most; i++) {
		const PtxBlock *p = &l->part[i];

		if (p->reached && TURNS_AT_ONCE * lives_bound(l, p) > used)
			used = (int)max64(used, ahead(l, p, most - BESIDE_VALUES));
	}
	return (int)min64(used + BESIDE_VALUES, most);
}

/* Returns the spare registers/thread of a block. */
static int
room(const PtxBlock *p, int live)
{
	return p->limit - live;
}

Pressure
ptx_pressure(Arena *a, const Target *t, const char *ptx, const char *name)
{
	Lives l = { .b = { .a = a } };
	Pressure worst = { 0 };

	if (!lives_find(&l, ptx, name))
		return worst;
	for (int i = 0; i < l.npart; i++) {
		const PtxBlock *p = &l.part[i];
		int least = p->live;

		if (!p->reached)
			continue;
		if (p->live > p->limit)
			least = reordered(&l, p);
		if (!worst.limit || room(p, least) < worst.limit - worst.least)
			worst = (Pressure){ p->live, least, p->limit, 0, 0 };
	}
	if (!has_limits(&l))
		worst.used = registers_used(&l, t);
	worst.work = l.work;
	return worst;
}
