/* block_variance.c - determines which values of a kernel differ between blocks of the grid. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include <string.h>

typedef struct Blocks {
	Kernel *k;
	Differs *known, *before; /* by value id: this round's and the previous round's result */
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

/* Variance of the contents of shared memory: that of the stored values, MAYBE at least. */
static Differs
shared_differs(Blocks *b, const Val *root)
{
	Differs most = DIFFERS_MAYBE;
	OpWalk w;

	for (const Op *o = walk_first(&w, b->k->body); o; o = walk_next(&w))
		if (access_target(o) && view_root(access_target(o)) == root && !access_found(o) &&
		    (o->code == O_copy ? view_differs(b, copy_source(o)) : differs(b, store_value(o))) ==
		            DIFFERS_YES)
			most = DIFFERS_YES;
	return most;
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
	if (b->known[v->id] == DIFFERS_UNSEEN) {
		/* for a value that depends on itself */
		b->known[v->id] = b->before[v->id] ? b->before[v->id] : DIFFERS_NO;
		b->known[v->id] = find(b, v);
	}
	return b->known[v->id];
}

/* Loops propagate differences: iterates to a fixed point. */
static void
find_all(Blocks *b)
{
	size_t n = (size_t)b->k->nval + 1;
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

Differs *
facts_differ(Kernel *k)
{
	size_t n = (size_t)k->nval + 1;
	Blocks b = { k, NEWN(k->unit->arena, Differs, n), NEWN(k->unit->arena, Differs, n) };

	find_all(&b);
	return b.known;
}
