/* grid_uniform.c - determines whether all blocks of the grid execute an op equally often. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include <string.h>

/* A search for values that differ between blocks: by a block's index, or by what an update found. */
typedef struct GridSearch {
	const Kernel *k;
	const Differs *differs; /* by value id */
	uint8_t *seen;
} GridSearch;

static bool varies(GridSearch *s, const Val *v);

static bool
any_varies(GridSearch *s, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if (varies(s, v[i]))
			return true;
	return false;
}

/* Is a shared tile filled with what an update found, or with what differs? */
static bool
tile_varies(GridSearch *s, const Val *tile)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, s->k->body); o; o = walk_next(&w)) {
		if (access_found(o) && view_root(access_found(o)) == tile)
			return true;
		if (o->code == O_store && view_root(store_dest(o)) == tile && varies(s, store_value(o)))
			return true;
		if (o->code == O_copy && view_root(copy_dest(o)) == tile && copy_source(o)->def &&
		    any_varies(s, copy_source(o)->def->in, IN_view_start))
			return true;
	}
	return false;
}

/* Results and carried values of a loop or branch, and the conditions that select them. */
static bool
region_varies(GridSearch *s, const Op *o, int i)
{
	if (any_varies(s, o->in, o->code == O_for ? IN_for_init : 1))
		return true;
	if (loop_ends_early(o) && (varies(s, for_init(o, 0)) || varies(s, yield_value(o->blk[0]->last, 0))))
		return true;
	if (o->code == O_for && i >= 0 && varies(s, for_init(o, i)))
		return true;
	for (int r = 0; i >= 0 && r < 2 && o->blk[r]; r++)
		if (varies(s, o->blk[r]->last->in[i]))
			return true;
	return false;
}

static bool
varies(GridSearch *s, const Val *v)
{
	const Op *o = v->def ? v->def : v->block->owner;

	if (s->seen[v->id] || !o)
		return false;
	s->seen[v->id] = true;
	if (s->differs[v->id] == DIFFERS_YES)
		return true;
	if (o->code == O_for || o->code == O_if)
		return region_varies(s, o, v->def ? v->index : v->index - 1);
	if (o->code == O_load && view_root(load_source(o))->type.space == S_shared)
		return tile_varies(s, view_root(load_source(o)));
	return any_varies(s, o->in, o->nin);
}

/* Returns the value that decides whether, or how often, o's regions run, if it may differ between blocks. */
static const Val *
decider(GridSearch *s, const Op *o)
{
	int n = o->code == O_for ? IN_for_init : 1;

	memset(s->seen, 0, (size_t)s->k->nval + 1);
	for (int i = 0; i < n; i++)
		if (varies(s, o->in[i]))
			return o->in[i];
	if (loop_ends_early(o) && varies(s, for_init(o, 0)))
		return for_init(o, 0);
	if (loop_ends_early(o) && varies(s, yield_value(o->blk[0]->last, 0)))
		return yield_value(o->blk[0]->last, 0);
	return NULL;
}

static GridSearch
new_search(Kernel *k)
{
	return (GridSearch){ k, facts_differ(k), NEWN(k->unit->arena, uint8_t, k->nval + 1) };
}

bool
grid_varies(Kernel *k, const Val *v)
{
	GridSearch s = new_search(k);

	return varies(&s, v);
}

const Val *
grid_decider(Kernel *k, const Op *owner)
{
	GridSearch s = new_search(k);

	return decider(&s, owner);
}
