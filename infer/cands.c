/* cands.c - pass_infer: the ranked list of what the search found, of one kernel or of several that differ
 * in where tiles live; the one taken goes into the IR.
 *
 * needs   a verified kernel without pipeline loops; nothing has a layout but what the program pinned
 * keeps   what the kernel computes
 * leaves  layouts on all register and shared tiles, picks, converts; kernel->cands */
#include "hexc/ir/sparse.h"
#include "infer/search.h"
#include <math.h>

static bool
same_words(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

void
cands_add(Solve *s, Cands *c, Sol *sol)
{
	int at;

	for (int i = 0; i < c->n; i++)
		if (same_words(c->sol[i]->what, sol->what) && c->sol[i]->cycles <= sol->cycles &&
		    c->sol[i]->cycles >= sol->cycles)
			return;
	VEC_PUSH(s->arena, c->sol, c->n, c->cap, sol);
	for (at = c->n - 1; at > 0 && c->sol[at - 1]->cycles > sol->cycles; at--)
		c->sol[at] = c->sol[at - 1];
	c->sol[at] = sol;
}

/* ---- several kernels ------------------------------------------------------------------------------ */

double
infer_best(const Kernel *k)
{
	for (int i = 0; i < k->cands->n; i++)
		if (!k->cands->sol[i]->crowded)
			return k->cands->sol[i]->cycles;
	return HUGE_VAL;
}

/* Of lists with their cheapest first, one such; at equal prices those of earlier lists come first. */
static void
merge(Arena *a, Kernel *const *k, int n, Cands *out)
{
	int *at = NEWN(a, int, n), total = 0, next;

	for (int i = 0; i < n; i++)
		total += k[i]->cands->n;
	out->sol = NEWN(a, Sol *, total + 1);
	out->n = 0;
	while (out->n < total) {
		next = -1;
		for (int i = 0; i < n; i++) {
			const Cands *c = k[i]->cands;

			if (at[i] < c->n &&
			    (next < 0 || c->sol[at[i]]->cycles < k[next]->cands->sol[at[next]]->cycles))
				next = i;
		}
		out->sol[out->n++] = k[next]->cands->sol[at[next]++];
	}
}

/* Solutions whose staging does not fit beside the tiles go, unless there are no others: those may still be
 * placed over each other. */
static void
drop_crowded(Cands *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (!c->sol[i]->crowded)
			c->sol[n++] = c->sol[i];
	c->n = n ? n : c->n;
}

static void
why_not(Kernel *k, const Why *w)
{
	Diag *d = k->unit->diag;

	diag_fail(d, DC_LAYOUT, w->src.line ? w->src : k->src, "%s",
	          w->text ? w->text : "no layout satisfies this program");
	if (w->note)
		diag_note(d, w->note_src, "%s", w->note);
}

int
infer_join(Kernel *const *k, int n)
{
	Arena *a = k[0]->unit->arena;
	int pick = k[0]->unit->candidate, of = 0;
	Cands *all = NEW(a, Cands);

	merge(a, k, n, all);
	drop_crowded(all);
	for (int i = 0; i < n; i++)
		all->steps += k[i]->cands->steps;
	if (all->n == 0) {
		if (k[0]->cands->tiles)
			why_not(k[0], &k[0]->cands->why);
		return k[0]->cands->tiles ? -1 : 0;
	}
	if (pick >= all->n) {
		diag_fail(k[0]->unit->diag, DC_SOURCE, k[0]->src,
		          "candidate %d does not exist: kernel %s has %d, counted from 0", pick, k[0]->name,
		          all->n);
		return -1;
	}
	while (k[of] != all->sol[pick]->k)
		of++;
	k[of]->cands->sol = all->sol;
	k[of]->cands->n = all->n;
	k[of]->cands->steps = all->steps;
	return of;
}

/* ---- the pass ------------------------------------------------------------------------------------- */

bool
pass_infer(Kernel *k)
{
	if (!k->cands) {
		infer_find(k, NULL);
		if (infer_join(&k, 1) < 0)
			return false;
	}
	if (k->cands->n == 0)
		return false;
	apply(k->cands->solve, k->cands->sol[k->unit->candidate]);
	return true;
}

int
infer_ncand(const Kernel *k)
{
	return k->cands ? k->cands->n : 0;
}

bool
infer_skips_zeros(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && dot_is_sparse(o))
			return true;
	return false;
}

double
infer_cycles(const Kernel *k, int i)
{
	return k->cands->sol[i]->cycles;
}

const char *
infer_describe(const Kernel *k, int i)
{
	return k->cands->sol[i]->what;
}

uint64_t
infer_steps(const Kernel *k)
{
	return k->cands ? k->cands->steps : 0;
}
