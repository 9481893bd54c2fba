/* space_search.c - the outermost loop of the search: tiles whose space is free.  Shared memory and registers
 * are both tried, and what is found of every choice is ranked in one list.  Where instructions that skip the
 * zeros of sparse tiles are found, products without them are tried as well.
 *
 * Up to SPACES_FEW tiles in all combinations.  Of more: all shared, all in registers, then the better of
 * these with one tile at a time changed, largest first; a change that pays stays. */
#include "hexc/ir/sparse.h"
#include "infer/base/model.h"
#include "infer/search.h"
#include <string.h>

typedef struct Places {
	const Variants *v;
	Arena *arena;
	bool alone; /* there is one way only */
	Candidates *tried[2 * SPACES_TRIED * WARPS_TRIED];
	int n;
	int best; /* of those tried */
} Places;

static const Spaces *
spaces_of(const Candidates *c)
{
	return c->solve->spaces;
}

static Spaces *
spaces_new(const Places *p, const bool *registers, bool dense, int warps)
{
	SpaceChoice *tile = NEWN(p->arena, SpaceChoice, p->v->n);
	Spaces *s = NEW(p->arena, Spaces);

	for (int t = 0; t < p->v->n; t++) {
		tile[t] = p->v->tile[t];
		tile[t].registers = registers[t];
	}
	*s = (Spaces){ .tile = tile, .n = p->v->n, .dense = dense, .warps = p->v->nwarps > 1 ? warps : 0 };
	return s;
}

/* False: an error. */
static bool
try_one(Places *p, const bool *registers, bool dense, int warps)
{
	Kernel *k = p->v->make(p->v->user, registers, dense, warps, p->alone);
	Candidates *c;

	if (!k)
		return false;
	c = search_kernel(k, spaces_new(p, registers, dense, warps), p->n ? p->tried[p->n - 1] : NULL);
	p->tried[p->n] = c;
	if (p->n == 0 || cands_best(c) < cands_best(p->tried[p->best]))
		p->best = p->n;
	p->n++;
	return true;
}

/* Has it products that skip the zeros of sparse tiles? */
static bool
skips_zeros(const Kernel *k)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && dot_is_sparse(o))
			return true;
	return false;
}

static bool
try(Places *p, const bool *registers)
{
	for (int i = 0; i < p->v->nwarps; i++)
		if (!try_one(p, registers, false, p->v->warps[i]) ||
		    (skips_zeros(p->tried[p->n - 1]->k) && !try_one(p, registers, true, p->v->warps[i])))
			return false;
	return true;
}

static void
places_of(const Spaces *s, bool *registers)
{
	for (int t = 0; t < s->n; t++)
		registers[t] = s->tile[t].registers;
}

/* The largest tile that has not been changed yet. */
static int
next_tile(const Variants *v, const bool *changed)
{
	int tile = -1;

	for (int t = 0; t < v->n; t++)
		if (!changed[t] && (tile < 0 || v->tile[t].bytes > v->tile[tile].bytes))
			tile = t;
	return tile;
}

static bool
try_all(Places *p, bool *registers)
{
	int n = p->v->n;

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

		for (int t = 0; t < p->v->n; t++)
			same = same && spaces_of(p->tried[i])->tile[t].registers == registers[t];
		if (same)
			return true;
	}
	return false;
}

static bool
try_some(Places *p, bool *registers)
{
	int n = p->v->n, tile;
	bool *changed = NEWN(p->arena, bool, n);

	if (!try(p, registers))
		return false;
	memset(registers, true, (size_t)n * sizeof *registers);
	if (!try(p, registers))
		return false;
	while (p->n < SPACES_TRIED && (tile = next_tile(p->v, changed)) >= 0) {
		places_of(spaces_of(p->tried[p->best]), registers);
		registers[tile] = !registers[tile];
		changed[tile] = true;
		if (!was_tried(p, registers) && !try(p, registers))
			return false;
	}
	return true;
}

/* What was done silently, once more for those who want to see it. */
static bool
show(const Places *p, const Spaces *s, bool *registers)
{
	int warps = s->warps ? s->warps : p->v->warps[0];

	places_of(s, registers);
	return p->v->make(p->v->user, registers, s->dense, warps, true) != NULL;
}

Candidates *
space_search(Unit *u, const Variants *v)
{
	Places p = { .v = v, .arena = u->arena, .alone = v->n == 0 && !v->sparse && v->nwarps == 1 };
	bool *registers = NEWN(u->arena, bool, v->n);
	Candidates *c;

	if (!(v->n <= SPACES_FEW ? try_all : try_some)(&p, registers))
		return NULL;
	c = cands_join(p.tried, p.n);
	if (c && !p.alone && v->show && !show(&p, spaces_of(c), registers))
		return NULL;
	return c;
}
