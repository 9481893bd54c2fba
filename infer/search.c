/* search.c - enumerates plans, solves each, and ranks the complete solutions.
 *
 * Each plan is also tried, where possible, with prefetched fragments
 * (infer/schedule/prefetch_fragments.c), with multicast in clusters, and with narrow tiles transposed in
 * whole 32-bit registers (SearchPlan.turned). */
#include "infer/search.h"
#include "hexc/analysis/analysis.h"
#include "infer/core/cost_constants.h"
#include "infer/cost/cost.h"
#include <math.h>

static bool
has_store_choice(const Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_store && store_dest(s->order[i])->type.space == S_global)
			return true;
	return false;
}

static bool
has_narrow_load(const Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		if (s->order[i]->code == O_load && load_source(s->order[i])->type.space == S_shared &&
		    dtype_info[s->order[i]->out[0]->type.dtype].bits <= 8)
			return true;
	return false;
}

/* The choices of all dots, and the state of the enumeration. */
typedef struct LayoutSearch {
	Solve *s;
	DotChoice **choice; /* [ndot][nchoice] */
	int *nchoice;
	int nstore, nwiden, nline, nmajor;
	Failure nearest; /* the failure of the plan that came closest to a solution */
	int tried;
	Candidates *out;
} LayoutSearch;

/* Keeps the failure to report if all plans fail: the one at the latest stage of solve_plan().  At equal
 * stages it is the one that missed by least (registers needed, or elements with other owners than pinned),
 * then the first. */
static void
note_failure(LayoutSearch *x)
{
	const Failure *w = &x->s->failure, *n = &x->nearest;

	if (!n->text || w->stage > n->stage || (w->stage == n->stage && w->excess < n->excess))
		x->nearest = *w;
}

static double
cycles_of(const LayoutSolution *sol)
{
	return sol ? sol->cycles : HUGE_VAL;
}

/* Adds `sol` and its fragment-prefetch and multicast variants to the candidates, unless dominated.  Returns
 * the lowest predicted cycles. */
static double
add_candidates_of(LayoutSearch *x, LayoutSolution *sol)
{
	LayoutSolution *rotated = cost_rotated(x->s), *together = clustered(x->s);

	if (together) {
		together->what = solution_describe(x->s, together);
		candidates_add(x->s, x->out, together);
		if (x->s->k->cluster_asked[0])
			return together->cycles;
	}
	if (rotated) {
		rotated->what = solution_describe(x->s, rotated);
		candidates_add(x->s, x->out, rotated);
	}
	if (rotated && rotated->blocks >= sol->blocks && rotated->cycles <= sol->cycles)
		return rotated->cycles;
	candidates_add(x->s, x->out, sol);
	return fmin(sol->cycles, fmin(cycles_of(rotated), cycles_of(together)));
}

/* Advances p to the next strategy for loads worth trying; p was the last plan solved.  Returns false if there
 * is none. */
static bool
next_way(const Solve *s, SearchPlan *p)
{
	if (s->load_matters && p->load == LOAD_AS_WANTED && !p->turned) {
		p->load = LOAD_COALESCED;
		return true;
	}
	p->load = LOAD_AS_WANTED;
	return s->narrow && s->turnable && ++p->turned < 2 * DIM_MAX;
}

/* Tries all variants of the plan with these choices for the dots.  Returns the cycles of the best, or
 * infinity. */
static double
try_dots(LayoutSearch *x, const int *at)
{
	const DotChoice **dot = NEWN(x->s->arena, const DotChoice *, x->s->ndot + 1);
	double best = HUGE_VAL;

	for (int i = 0; i < x->s->ndot; i++)
		dot[i] = &x->choice[i][at[i]];
	for (int v = 0; v < x->nstore * x->nwiden * x->nline * x->nmajor; v++) {
		SearchPlan p = {
			.dot = dot,
			.store = (StoreStrategy)(v % x->nstore),
			.widen = (SubwordLoadStrategy)(v / x->nstore % x->nwiden),
			.line = (ShiftStrategy)(v / x->nstore / x->nwiden % x->nline),
			.warp_major = (WarpOrder)(v / x->nstore / x->nwiden / x->nline),
		};

		do {
			LayoutSolution *sol = solve_plan(x->s, &p);
			int before = x->out->n;

			x->tried++;
			if (sol)
				best = fmin(best, add_candidates_of(x, sol));
			else
				note_failure(x);
			trace_plan(x->s, &p, x->tried, sol, x->out->n - before);
			if (x->out->n == before)
				solution_drop(x->s);
		} while (next_way(x->s, &p));
	}
	return best;
}

/* Returns the first choice of dot i with the warp layout of c, or 0. */
static int
like(const LayoutSearch *x, int i, const DotChoice *c)
{
	for (int j = 0; j < x->nchoice[i]; j++)
		if (x->choice[i][j].wm == c->wm && x->choice[i][j].wn == c->wn &&
		    x->choice[i][j].wb == c->wb)
			return j;
	return 0;
}

static void
all_combinations(LayoutSearch *x, int *at)
{
	bool more = true;

	while (more) {
		try_dots(x, at);
		more = false;
		for (int i = 0; i < x->s->ndot && !more; i++) {
			more = ++at[i] < x->nchoice[i];
			if (!more)
				at[i] = 0;
		}
	}
}

/* Do dots i and j change their choice together?  In programs with many dots, those of equal types do. */
static bool
share_choice(const LayoutSearch *x, int i, int j)
{
	const Op *p = x->s->dot[i], *q = x->s->dot[j];

	return i == j || (x->s->ndot > DOT_GROUPS && x->nchoice[i] == x->nchoice[j] &&
	                  type_same(&mma_a(p)->type, &mma_a(q)->type) &&
	                  type_same(&mma_b(p)->type, &mma_b(q)->type) &&
	                  type_same(&p->out[0]->type, &q->out[0]->type));
}

/* Finds the first dot of each group in program order.  If there are too many groups, keeps those with the
 * most work. */
static int
leaders(const LayoutSearch *x, int *lead)
{
	double *work = NEWN(x->s->arena, double, x->s->ndot + 1);
	int n = 0;

	for (int i = 0; i < x->s->ndot; i++) {
		const Op *o = x->s->dot[i];
		double mnk = sqrt((double)type_size(&mma_a(o)->type) * (double)type_size(&mma_b(o)->type) *
		                  (double)type_size(&o->out[0]->type));
		int g = 0;

		while (g < n && !share_choice(x, lead[g], i))
			g++;
		if (g == n)
			lead[n++] = i;
		work[lead[g]] += mnk * x->s->weight[o->id];
	}
	while (n > DOT_GROUPS) {
		int least = 0;

		for (int g = 1; g < n; g++)
			if (work[lead[g]] <= work[lead[least]])
				least = g;
		n--;
		for (int g = least; g < n; g++)
			lead[g] = lead[g + 1];
	}
	return n;
}

static void
set_group(const LayoutSearch *x, int lead, int c, int *at)
{
	for (int i = lead; i < x->s->ndot; i++)
		if (share_choice(x, lead, i))
			at[i] = c;
}

/* For many dots: tries equal warp layouts first, then the best of these with one group changed at a time. */
static void
one_at_a_time(LayoutSearch *x, int *at)
{
	int *lead = NEWN(x->s->arena, int, x->s->ndot + 1), nlead = leaders(x, lead);
	int n = x->s->ndot, base = 0;
	double best = HUGE_VAL;

	for (int c = 0; c < x->nchoice[0]; c++) {
		double t;
		for (int i = 0; i < n; i++)
			at[i] = i ? like(x, i, &x->choice[0][c]) : c;
		t = try_dots(x, at);
		if (t < best) {
			best = t;
			base = c;
		}
	}
	for (int i = 0; i < n; i++)
		at[i] = i ? like(x, i, &x->choice[0][base]) : base;
	for (int g = 0; g < nlead; g++) {
		int kept = at[lead[g]], good = kept;
		for (int c = 0; c < x->nchoice[lead[g]]; c++) {
			double t;
			if (c == kept)
				continue;
			set_group(x, lead[g], c, at);
			t = try_dots(x, at);
			if (t < best) {
				best = t;
				good = c;
			}
		}
		set_group(x, lead[g], good, at);
	}
}

static bool
has_line(const Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		OpCode c = s->order[i]->code;
		if (c == O_shift || c == O_slice || c == O_concat)
			return true;
	}
	return false;
}

static void
no_choice(Solve *s, const Op *o)
{
	const Type *a = &mma_a(o)->type, *b = &mma_b(o)->type;

	if (o->code != O_wgmma)
		infer_error(s, o->src, "no MMA instruction and warp layout match this dot");
	else
		infer_error(s, o->src,
		            "no wgmma on %s computes %s from %s and %s with %d warps: M (or N, with "
		            "operands swapped) must be a multiple of 64 per warpgroup (4 warps), the other "
		            "dimension a multiple of 8, and K of 32 bytes",
		            s->k->unit->target->name, type_print(s->arena, &o->out[0]->type),
		            type_print(s->arena, a), type_print(s->arena, b), op_warps(o));
}

static void
search(Solve *s, Candidates *out)
{
	LayoutSearch x = {
		.s = s,
		.out = out,
		.nstore = has_store_choice(s) ? STORE_WAYS : 1,
		.nwiden = has_narrow_load(s) ? NARROW_WAYS : 1,
		.nline = has_line(s) ? LINE_WAYS : 1,
		.nmajor = s->ndot ? 1 : WARP_ORDERS,
	};
	int *at = NEWN(s->arena, int, s->ndot + 1);
	int64_t combinations = 1;

	x.choice = NEWN(s->arena, DotChoice *, s->ndot + 1);
	x.nchoice = NEWN(s->arena, int, s->ndot + 1);
	for (int i = 0; i < s->ndot; i++) {
		x.nchoice[i] = dot_choices(s, s->dot[i], &x.choice[i]);
		if (x.nchoice[i] == 0) {
			no_choice(s, s->dot[i]);
			return;
		}
		if (combinations <= DOT_COMBINATIONS)
			combinations *= x.nchoice[i];
	}
	if (combinations <= DOT_COMBINATIONS)
		all_combinations(&x, at);
	else
		one_at_a_time(&x, at);
	s->failure = x.nearest;
	if (x.nearest.text && x.tried > 1)
		s->failure.text = arena_printf(s->arena, "%s (the nearest of %d plans "
		                                         "tried)", s->failure.text,
		                               x.tried);
}

static bool
has_tiles(const Solve *s)
{
	for (int i = 0; i < s->norder; i++)
		for (int j = 0; j < s->order[i]->nout; j++)
			if (s->order[i]->out[j]->type.rank > 0)
				return true;
	return false;
}

Candidates *
search_kernel(Kernel *k, const VariantChoices *spaces, const Candidates *like)
{
	Solve *s = NEW(k->unit->arena, Solve);
	Candidates *c = NEW(k->unit->arena, Candidates);
	uint64_t before = k->unit->arena->steps;

	facts_keep(k);
	solve_init(s, k, spaces);
	if (like) {
		s->interned = like->solve->interned;
		s->memo = like->solve->memo;
		s->stages = like->solve->stages;
	}
	c->k = k;
	c->nval = k->nval;
	c->nop = k->nop;
	c->weight = s->weight;
	c->solve = s;
	search(s, c);
	facts_drop(k);
	c->tiles = has_tiles(s);
	c->failure = s->failure;
	c->steps = k->unit->arena->steps - before;
	return c;
}
