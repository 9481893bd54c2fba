/* candidate_list.c - pass infer: merges the candidates of all kernel variants (which differ, for example, in
 * the memory spaces of tiles), ranks them by predicted cycles, and applies the selected one to the IR.
 *
 * requires   a verified kernel without pipeline loops; only pinned values have layouts
 * preserves  what the kernel computes
 * produces   layouts on all register and shared tiles, lowerings, converts */
#include "infer/search_single.h"
#include "infer/cost/cost.h"
#include "infer/search.h"
#include <math.h>

/* Does a rank before b?  The cost of spills is uncertain, so spilling solutions come after all others. */
static bool
is_before(const LayoutSolution *a, const LayoutSolution *b)
{
	return a->spills == b->spills ? a->cycles < b->cycles : b->spills;
}

void
candidates_add(Solve *s, Candidates *c, LayoutSolution *sol)
{
	int at;

	for (int i = 0; i < c->n; i++)
		if (c->sol[i]->cycles <= sol->cycles && c->sol[i]->cycles >= sol->cycles &&
		    same_choices(s, c->sol[i], sol))
			return;
	VEC_PUSH(s->arena, c->sol, c->n, c->cap, sol);
	for (at = c->n - 1; at > 0 && is_before(sol, c->sol[at - 1]); at--)
		c->sol[at] = c->sol[at - 1];
	c->sol[at] = sol;
}

/* ---- several kernels ------------------------------------------------------------------------------ */

static bool
fits_registers(const LayoutSolution *sol)
{
	return sol->smem <= sol->k->unit->target->smem;
}

LayoutSolution *
cands_best(const Candidates *c)
{
	for (int i = 0; i < c->n; i++)
		if (fits_registers(c->sol[i]))
			return c->sol[i];
	return NULL;
}

bool
cands_before(const Candidates *a, const Candidates *b)
{
	const LayoutSolution *x = cands_best(a), *y = cands_best(b);

	return x && (!y || is_before(x, y));
}

/* Merges sorted lists; at equal costs solutions of earlier lists come first. */
static void
merge(Arena *a, Candidates *const *c, int n, Candidates *out)
{
	int *at = NEWN(a, int, n), total = 0, next;

	for (int i = 0; i < n; i++)
		total += c[i]->n;
	out->sol = NEWN(a, LayoutSolution *, total + 1);
	out->n = 0;
	while (out->n < total) {
		next = -1;
		for (int i = 0; i < n; i++)
			if (at[i] < c[i]->n &&
			    (next < 0 || is_before(c[i]->sol[at[i]], c[next]->sol[at[next]])))
				next = i;
		out->sol[out->n++] = c[next]->sol[at[next]++];
	}
}

/* Returns the solution with the least shared memory; NULL: none. */
static LayoutSolution *
least_memory(const Candidates *c)
{
	LayoutSolution *least = NULL;

	for (int i = 0; i < c->n; i++)
		if (!least || c->sol[i]->smem < least->smem)
			least = c->sol[i];
	return least;
}

/* Removes solutions that exceed a block's shared memory. */
static void
keep_fitting(Candidates *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (fits_registers(c->sol[i]))
			c->sol[n++] = c->sol[i];
	c->n = n;
}

/* Returns the list of sol's kernel. */
static Candidates *
list_of(Candidates *const *c, const LayoutSolution *sol)
{
	while ((*c)->k != sol->k)
		c++;
	return *c;
}

static void
why_not(Kernel *k, const Failure *w)
{
	Diag *d = k->unit->diag;

	diag_class_error(d, DC_LAYOUT, w->src.line ? w->src : k->src, "%s",
	                 w->text ? w->text : "no layout satisfies this program");
	if (w->note)
		diag_note(d, w->note_src, "%s", w->note);
}

Candidates *
cands_join(Candidates *const *c, int n)
{
	Kernel *k = c[0]->k;
	int pick = k->unit->candidate;
	Candidates all = { 0 }, *of;
	LayoutSolution *least;

	merge(k->unit->arena, c, n, &all);
	least = least_memory(&all);
	keep_fitting(&all);
	for (int i = 0; i < n; i++)
		all.steps += c[i]->steps;
	if (all.n == 0 && least) {
		solution_too_large(list_of(c, least)->solve, least);
		return NULL;
	}
	if (all.n == 0) {
		if (c[0]->tiles)
			why_not(k, &c[0]->failure);
		return c[0]->tiles ? NULL : c[0];
	}
	if (pick >= all.n) {
		diag_class_error(k->unit->diag, DC_SOURCE, k->src,
		          "candidate %d does not exist: kernel %s has %d, counted from 0", pick, k->name,
		                 all.n);
		return NULL;
	}
	of = list_of(c, all.sol[pick]);
	of->sol = all.sol;
	of->n = all.n;
	of->steps = all.steps;
	return of;
}

/* ---- the pass ------------------------------------------------------------------------------------- */

Candidates *
infer_search(Kernel *k)
{
	Candidates *c = search_kernel(k, NEW(k->unit->arena, VariantChoices), NULL);

	return cands_join(&c, 1);
}

bool
infer_apply(const Candidates *c)
{
	if (c->n == 0)
		return false;
	solution_apply(c->solve, c->sol[c->k->unit->candidate]);
	return true;
}

bool
pass_infer(Kernel *k)
{
	const Candidates *c = infer_search(k);

	return c && infer_apply(c);
}

Kernel *
infer_kernel(const Candidates *c)
{
	return c->k;
}

int
infer_ncand(const Candidates *c)
{
	return c->n;
}

double
infer_alone(const Candidates *c, int i)
{
	return c->sol[i]->alone;
}

int
infer_registers(const Candidates *c, int i)
{
	return c->sol[i]->lane;
}

int
infer_together(const Candidates *c, int i)
{
	return c->sol[i]->blocks;
}

double
infer_cycles(const Candidates *c, int i)
{
	return c->sol[i]->cycles;
}

double
infer_cycles_with(const Candidates *c, int i, int registers, int *together)
{
	const LayoutSolution *sol = c->sol[i];
	Res total = sol->total;

	if (sol->handed.launch) /* the launch specifies the registers; ptxas does not choose them */
		registers = sol->handed.launch;
	total.unit[R_smem] -= sol->spilled;
	*together = occupancy(sol->k->unit->target, kernel_warps(sol->k), registers, sol->smem);
	return cost_share(res_busy(&total), sol->alone - sol->spilled, *together);
}

const char *
infer_describe(const Candidates *c, int i)
{
	return c->sol[i]->what;
}
