/* mask_memory.c - implements the rules of pass mask_bounds for loads, stores and copies. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/memory_effects.h"
#include <string.h>

/* Adds the conditions of `more` to e, both of type t. */
static void
add_bounds(Bounds *b, Op *o, TileBounds *e, const TileBounds *more, const Type *t)
{
	for (int d = 0; d < t->rank; d++) {
		MaskCond c = cond_of_range(more, d);

		cond_add(b, o, e, t, c);
	}
	for (int i = 0; i < more->nmore; i++)
		cond_add(b, o, e, t, more->more[i]);
}

/* A store to a part of a shared tile at a run-time position writes zeros for missing elements, and all elements
 * of the tile exist afterwards. So they do after an atomic update, which leaves out missing elements. */
void
edge_store(Bounds *b, Op *o)
{
	const Type *t = &store_value(o)->type;
	TileBounds e = *edge_of(b, store_value(o));
	bool global = store_dest(o)->type.space == S_global;

	if (IMM(o, update) && !global)
		shared_all_exist(b, o, view_root(store_dest(o)));
	if (access_found(o)) { /* where nothing is written, the old value is missing */
		TileBounds old = edges_of_memory(b, o, store_dest(o));

		add_bounds(b, o, &old, &e, t);
		bounds_forget_values(&old);
		edge_set(b, view_root(access_found(o)), &old);
		shared_found(b, view_root(access_found(o)));
	}
	if (global || IMM(o, update)) {
		if (bounds_known(&e))
			VEC_PUSH(b->k->unit->arena, b->store, b->nstore, b->store_cap,
			         ((MaskedStore){ o, e }));
		return;
	}
	if (shared_written(b, o, store_dest(o), &e))
		return;
	o->in[IN_store_value] = mask_all(b, o, store_value(o), &e, 0, 0);
	shared_all_exist(b, o, view_root(store_dest(o)));
}

/* An `async copy` of the program reads zeros outside of the tensor, and these exist. */
void
edge_copy(Bounds *b, Op *o)
{
	TileBounds e = { .zero = 0 };

	if (copy_dest(o)->type.space != S_shared) {
		e = edges_of_memory(b, o, copy_source(o));
		copy_leaves_out(b, o, &e);
		return;
	}
	if (!IMM(o, async) && !IMM(o, filled))
		e = edges_of_memory(b, o, copy_source(o));
	if (!shared_written(b, o, copy_dest(o), &e))
		shared_all_exist(b, o, view_root(copy_dest(o)));
}

void
edge_load(Bounds *b, Op *o)
{
	TileBounds e;

	if (o->out[0]->type.space != S_reg) {
		if (load_source(o)->type.space == S_shared)
			zeros_in_memory(b, o, view_root(load_source(o)));
		return; /* a scalar exists: out of bounds it is 0 */
	}
	e = edges_of_memory(b, o, load_source(o));
	edge_set(b, o->out[0], &e);
}
