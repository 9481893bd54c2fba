/* places.c - tiles whose place is free: shared memory and registers are both tried, and the search ranks
 * what it finds of every choice in one list.  Where it finds instructions that skip the zeros of sparse
 * tiles, products without them are tried as well.
 *
 * Up to FEW tiles in all combinations.  Of more: all shared, all in registers, then the better of these
 * with one tile at a time changed, largest first; a change that pays stays. */
#include "hexc/pass/place.h"
#include "infer/infer.h"
#include "lib/passes.h"
#include <string.h>

enum { FEW = 2, TRIED = 8 };

typedef struct Places {
	Job *j;
	int i; /* the unit's kernel */
	const Kernel *base;
	Kernel *tried[2 * TRIED];
	int n;
	int best; /* of those tried */
} Places;

/* Products of sparse tiles go over what the tiles stand for, zeros and all. */
static void
mark_dense(Kernel *k, bool dense)
{
	OpWalk w;

	k->dense = dense;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_expand)
			IMM_SET(o, dense, dense);
}

/* In front of pass infer, with its solutions; false: an error. */
static bool
try_one(Places *p, const bool *registers, bool dense)
{
	Job *j = p->j;
	Kernel *k = kernel_copy(p->base);
	double t;

	place_decide(k, registers);
	mark_dense(k, dense);
	j->unit.kernel[p->i] = k;
	if (!passes_some(j, p->i, PASS_place, PASS_infer, false))
		return false;
	t = passes_clock();
	k = j->unit.kernel[p->i]; /* another one if it was read back */
	infer_find(k, p->n ? p->tried[p->n - 1] : NULL);
	module_time(j->m, "infer", passes_clock() - t);
	p->tried[p->n] = k;
	if (p->n == 0 || infer_best(k) < infer_best(p->tried[p->best]))
		p->best = p->n;
	p->n++;
	return true;
}

static bool
try(Places *p, const bool *registers)
{
	return try_one(p, registers, false) &&
	       (!infer_skips_zeros(p->tried[p->n - 1]) || try_one(p, registers, true));
}

static void
places_of(const Kernel *k, bool *registers)
{
	for (int t = 0; t < k->nplace; t++)
		registers[t] = k->place[t].registers;
}

/* The largest tile that has not been changed yet. */
static int
next_tile(const Kernel *k, const bool *changed)
{
	int tile = -1;

	for (int t = 0; t < k->nplace; t++)
		if (!changed[t] && (tile < 0 || k->place[t].bytes > k->place[tile].bytes))
			tile = t;
	return tile;
}

static bool
try_all(Places *p, bool *registers)
{
	int n = p->base->nplace;

	for (int c = 0; c < 1 << n; c++) {
		for (int t = 0; t < n; t++)
			registers[t] = c >> t & 1;
		if (!try(p, registers))
			return false;
	}
	return true;
}

static bool
was_tried(const Places *p, const bool *registers)
{
	for (int i = 0; i < p->n; i++) {
		bool same = true;

		for (int t = 0; t < p->base->nplace; t++)
			same = same && p->tried[i]->place[t].registers == registers[t];
		if (same)
			return true;
	}
	return false;
}

static bool
try_some(Places *p, bool *registers)
{
	int n = p->base->nplace, tile;
	bool *changed = NEWN(&p->j->arena, bool, n);

	if (!try(p, registers))
		return false;
	memset(registers, true, (size_t)n * sizeof *registers);
	if (!try(p, registers))
		return false;
	while (p->n < TRIED && (tile = next_tile(p->base, changed)) >= 0) {
		places_of(p->tried[p->best], registers);
		registers[tile] = !registers[tile];
		changed[tile] = true;
		if (!was_tried(p, registers) && !try(p, registers))
			return false;
	}
	return true;
}

/* What was done silently, once more for those who want to see it. */
static bool
show(Places *p, const Kernel *chosen, bool *registers)
{
	Kernel *k = kernel_copy(p->base);

	places_of(chosen, registers);
	place_decide(k, registers);
	mark_dense(k, chosen->dense);
	p->j->unit.kernel[p->i] = k;
	return passes_some(p->j, p->i, PASS_place, PASS_infer, true);
}

bool
places_choose(Job *j, int i)
{
	Places p = { .j = j, .i = i, .base = j->unit.kernel[i] };
	bool *registers = NEWN(&j->arena, bool, p.base->nplace);
	int which;

	if (!(p.base->nplace <= FEW ? try_all : try_some)(&p, registers))
		return false;
	which = infer_join(p.tried, p.n);
	if (which < 0 || ((j->ctx->opt.o.dump || j->ctx->opt.o.stop) && !show(&p, p.tried[which], registers)))
		return false;
	j->unit.kernel[i] = p.tried[which];
	return true;
}
