/* block_variance.c - determines which values of a kernel differ between blocks of the grid. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include <string.h>

/* A store or copy to a shared tile. */
typedef struct TileStore {
	const Op *op;
	struct TileStore *next; /* to the same tile */
} TileStore;

typedef struct Blocks {
	Kernel *k;
	size_t n;           /* value ids */
	Differs *known, *before; /* this round's and the previous round's result: of value v at v->id, of the
	                          * contents of a tile at n + id of the tile */
	TileStore **stores; /* by id of the tile */
} Blocks;

static Differs differs(Blocks *b, const Val *v);

static Differs
any_of(Blocks *b, Val *const *v, int n)
{
	Differs most = DIFFERS_NO;

	for (int i = 0; i < n && most != DIFFERS_YES; i++) {
		Differs one = differs(b, v[i]);

		most = one > most ? one : most;
	}
	return most;
}

/* Variance of the view's address. */
static Differs
view_differs(Blocks *b, const Val *mem)
{
	const Op *view = mem->def;

	if (!view || view->code != O_view)
		return DIFFERS_NO;
	return any_of(b, view->in + IN_view_start, view->nin - IN_view_start);
}

static Differs
contents_differ(Blocks *b, const Val *tile)
{
	Differs most = DIFFERS_MAYBE;

	for (const TileStore *t = b->stores[tile->id]; t && most != DIFFERS_YES; t = t->next)
		if ((t->op->code == O_copy ? view_differs(b, copy_source(t->op))
		                           : differs(b, store_value(t->op))) == DIFFERS_YES)
			most = DIFFERS_YES;
	return most;
}

/* NULL if the result at `at` is known. Otherwise returns it, set for a value that depends on itself. */
static Differs *
unseen(Blocks *b, size_t at)
{
	if (b->known[at] != DIFFERS_UNSEEN)
		return NULL;
	b->known[at] = b->before[at] ? b->before[at] : DIFFERS_NO;
	return &b->known[at];
}

/* Variance of the contents of shared memory: that of the stored values, MAYBE at least. */
static Differs
shared_differs(Blocks *b, const Val *tile)
{
	size_t at = b->n + (size_t)tile->id;
	Differs *found = unseen(b, at);

	if (found)
		*found = contents_differ(b, tile);
	return b->known[at];
}

static Differs
load_differs(Blocks *b, const Op *o)
{
	Val *root = view_root(load_source(o));
	const Param *p = val_param(b->k, root);
	Differs where = view_differs(b, load_source(o));

	if (where == DIFFERS_YES || !p)
		return where == DIFFERS_YES ? DIFFERS_YES : shared_differs(b, root);
	return p->written ? DIFFERS_MAYBE : where;
}

/* Carried value i of a loop, with the bounds that determine the trip count. */
static Differs
carried_differs(Blocks *b, const Op *loop, int i)
{
	Val *v[5] = { for_lo(loop), for_hi(loop), for_step(loop), for_init(loop, i),
		      loop->blk[0]->last->in[i] };

	return any_of(b, v, 5);
}

static Differs
find(Blocks *b, const Val *v)
{
	const Op *o = v->def, *owner = v->block->owner;
	Val *at[3];

	if (!o && owner && owner->code == O_for && v->index > 0)
		return carried_differs(b, owner, v->index - 1);
	if (!o && owner && owner->code == O_for) {
		at[0] = for_lo(owner);
		at[1] = for_step(owner);
		return any_of(b, at, 2);
	}
	if (!o)
		return DIFFERS_NO;
	switch (o->code) {
	case O_block_id: return DIFFERS_YES;
	case O_load: return load_differs(b, o);
	case O_for: return carried_differs(b, o, v->index);
	case O_if:
		at[0] = o->blk[0]->last->in[v->index];
		at[1] = o->blk[1]->last->in[v->index];
		at[2] = if_cond(o);
		return any_of(b, at, 3);
	default: return op_is(o, F_PURE) ? any_of(b, o->in, o->nin) : DIFFERS_MAYBE;
	}
}

static Differs
differs(Blocks *b, const Val *v)
{
	Differs *found = unseen(b, (size_t)v->id);

	if (found)
		*found = find(b, v);
	return b->known[v->id];
}

/* Loops propagate differences: iterates to a fixed point. */
static void
find_all(Blocks *b)
{
	size_t n = 2 * b->n;
	OpWalk w;

	do {
		Differs *last = b->before;

		b->before = b->known;
		b->known = last;
		memset(b->known, 0, n * sizeof *b->known);
		for (const Op *o = walk_first(&w, b->k->body); o; o = walk_next(&w))
			for (int i = 0; i < o->nin; i++)
				differs(b, o->in[i]);
	} while (memcmp(b->known, b->before, n * sizeof *b->known) != 0);
}

static void
list_stores(Blocks *b)
{
	OpWalk w;

	b->stores = NEWN(b->k->unit->arena, TileStore *, b->n);
	for (const Op *o = walk_first(&w, b->k->body); o; o = walk_next(&w)) {
		const Val *tile = access_target(o) && !access_found(o) ? view_root(access_target(o)) : NULL;
		TileStore *t;

		if (!tile || val_param(b->k, tile))
			continue;
		t = NEW(b->k->unit->arena, TileStore);
		*t = (TileStore){ o, b->stores[tile->id] };
		b->stores[tile->id] = t;
	}
}

Differs *
facts_differ(Kernel *k)
{
	Blocks b = { .k = k, .n = (size_t)k->nval + 1 };

	b.known = NEWN(k->unit->arena, Differs, 2 * b.n);
	b.before = NEWN(k->unit->arena, Differs, 2 * b.n);
	list_stores(&b);
	find_all(&b);
	return b.known;
}
