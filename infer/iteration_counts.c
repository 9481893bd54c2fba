/* iteration_counts.c - expresses the predicted cycles of a block as a function of its loops' trip counts,
 * which only the host knows.
 *
 * Cycles are sums of the loops' cycles per iteration, apart from the maxima over units and over roles.
 * Each alternative of such a maximum is a sum by itself, a CostWay.  Every other maximum of the cost model
 * keeps the branch that it has for the assumed trip counts.  The cycles per iteration are the model's
 * difference quotient for a small fraction of an iteration more. */
#include "infer/core/cost_constants.h"
#include "infer/cost/cost.h"
#include "infer/search.h"
#include "infer/infer.h"
#include <math.h>

enum { LOOPS_MOST = 64, WAYS_MOST = ROLE_WAYS + RES_UNITS };
#define A_LITTLE 0x1p-10 /* of an iteration: exact in binary, too small to change a maximum */

typedef struct IterationCounts {
	Solve *s;
	const LayoutSolution *sol;
	const Op *op[LOOPS_MOST];
	LoopTurns *loop;
	int nloop;
	bool roles;
} IterationCounts;

static double
turns_of(const Solve *s, const Op *loop)
{
	return s->weight[loop->blk[0]->last->id] / s->weight[loop->id];
}

static bool
is_constant(const Op *loop)
{
	int64_t x;

	for (int i = 0; i < IN_for_init; i++) /* first index, end, step */
		if (!val_is_const(loop->in[i], &x))
			return false;
	return true;
}

static int
loop_around(const IterationCounts *t, const Op *loop)
{
	for (const Op *o = loop->parent->owner; o; o = o->parent->owner)
		for (int i = 0; i < t->nloop; i++)
			if (t->op[i] == o)
				return i;
	return -1;
}

/* Returns false if there are too many loops. */
static bool
find_loops(IterationCounts *t)
{
	const Solve *s = t->s;

	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];

		t->roles = t->roles || o->code == O_roles;
		if (o->code != O_for || is_constant(o) || !(s->weight[o->id] > 0) || !(turns_of(s, o) > 0))
			continue;
		if (t->nloop == LOOPS_MOST)
			return false;
		t->loop[t->nloop] = (LoopTurns){
			.in = loop_around(t, o),
			.lo = for_lo(o),
			.hi = for_hi(o),
			.step = for_step(o),
			.turns = turns_of(s, o),
			.most = loop_ends_early(o) ? UNKNOWN_TRIPS : 0,
		};
		t->op[t->nloop++] = o;
	}
	return true;
}

/* Computes the cycles of all ways, with A_LITTLE more of an iteration of `loop`, or without if it is NULL. */
static void
ask(const IterationCounts *t, const Op *loop, double cycles[WAYS_MOST])
{
	Question q = { .loop = loop, .more = A_LITTLE, .role = ROLE_ANY };

	arena_step(t->s->arena);
	for (int role = 0; role < ROLE_WAYS; role++) {
		q.role = t->roles ? role : ROLE_ANY;
		cost_asked(t->s, t->sol, &q);
		cycles[role] = q.alone;
	}
	for (int u = 0; u < RES_UNITS; u++)
		cycles[ROLE_WAYS + u] = res_busy_unit(&q.total, u);
}

static bool
find_ways(const IterationCounts *t, CostWay *way)
{
	Arena *a = t->s->arena;
	double base[WAYS_MOST], more[WAYS_MOST];
	double *each[WAYS_MOST];
	bool known = true;

	ask(t, NULL, base);
	for (int w = 0; w < WAYS_MOST; w++)
		each[w] = NEWN(a, double, t->nloop + 1);
	for (int i = t->nloop - 1; i >= 0; i--) { /* loops before those around them */
		int in = t->loop[i].in;

		ask(t, t->op[i], more);
		for (int w = 0; w < WAYS_MOST; w++) {
			double all = (more[w] - base[w]) / A_LITTLE * t->loop[i].turns;

			each[w][i] += all; /* minus what its inner loops have subtracted */
			if (in >= 0)
				each[w][in] -= all;
		}
	}
	for (int w = 0; w < WAYS_MOST; w++) {
		way[w] = (CostWay){ w < ROLE_WAYS, base[w], each[w] };
		for (int i = 0; i < t->nloop; i++)
			way[w].fixed -= each[w][i];
		known = known && isfinite(way[w].fixed);
	}
	return known;
}

bool
infer_turns(const Candidates *c, int i, TurnCosts *out)
{
	IterationCounts t = { .s = c->solve };
	CostWay *way;

	if (i >= c->n || c->sol[i]->k != c->k)
		return false;
	t.sol = c->sol[i];
	t.loop = NEWN(t.s->arena, LoopTurns, LOOPS_MOST);
	way = NEWN(t.s->arena, CostWay, WAYS_MOST);
	if (!find_loops(&t) || !find_ways(&t, way))
		return false;
	*out = (TurnCosts){ t.loop, t.nloop, way, WAYS_MOST };
	return true;
}
