/* mask_memory.c - implements the rules of pass mask_bounds for loads, stores and copies, and tracks which
 * bounds each part of a shared tile has. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/memory_effects.h"
#include <string.h>

/* Returns bounds e, in terms of a view's dims, in terms of its source's dims. `part`: the type of the part of
 * the source that the view selects. */
static TileBounds
of_root(Bounds *b, Op *o, const TileBounds *e, const Op *view, const Type *part)
{
	TileBounds r = { .zero = 0 };
	const Type *t = &view->out[0]->type;

	for (int i = 0; i < t->rank + e->nmore; i++) {
		MaskCond c = i < t->rank ? cond_of_range(e, i) : e->more[i - t->rank], to = c;

		to.dims = 0;
		memset(to.coef, 0, sizeof to.coef);
		for (int d = 0; d < part->rank; d++) {
			int at = view_result_dim(view, d);

			if (at < 0)
				continue;
			to.dims |= (c.dims >> at & 1) << d;
			to.coef[d] = c.coef[at];
			for (int axis = 0; c.tile && axis < c.tile->type.rank; axis++)
				if (c.axis[axis] == at)
					to.axis[axis] = (int8_t)d;
		}
		if (c.tile || c.lo || c.hi)
			cond_add(b, o, &r, part, to);
	}
	return r;
}

/* Updates the bounds of a shared tile for a write by o of elements with bounds e to v, the tile or a part of
 * it. Returns false if the part is gathered, strided or starts at a run-time position. */
static bool
written(Bounds *b, Op *o, Val *v, const TileBounds *e)
{
	Val *root = view_root(v);
	const Op *view = v->def;
	int64_t at[DIM_MAX];
	Type part = root->type;
	TileBounds now, own;

	if (!root->def || root->def->code != O_alloc)
		return true;
	if (root->id >= b->nwriter) {
		uint32_t n = root->id + root->id / 2 + 64;

		b->writer = arena_grow(b->k->unit->arena, b->writer, b->nwriter, n, sizeof(Op *));
		b->nwriter = n;
	}
	b->writer[root->id] = v == root && o->code == O_store ? o : NULL;
	if (v == root) {
		edge_set(b, root, e);
		return true;
	}
	if (!bounds_known(e) && !bounds_known(edge_of(b, root)))
		return true;
	if (view->code != O_view || view_source(view) != root)
		return false;
	for (int d = 0; d < root->type.rank; d++) {
		if (view_gathers(view, d) || !val_is_const(view_start(view, d), &at[d]) ||
		    view_step(view, d) != 1)
			return false;
		part.shape[d] = view_span(view, d);
	}
	own = of_root(b, o, e, view, &part);
	now = bounds_replaced(b, o, edge_of(b, root), &own, at, &part, &root->type);
	edge_set(b, root, &now);
	return true;
}

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

/* Makes all elements of a shared tile exist: the missing ones are 0. */
static void
all_exist(Bounds *b, Val *root)
{
	static const TileBounds all;

	zeros_in_memory(b, root);
	edge_set(b, root, &all);
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
		all_exist(b, view_root(store_dest(o)));
	if (access_found(o)) { /* where nothing is written, the old value is missing */
		TileBounds old = edges_of_memory(b, o, store_dest(o));

		add_bounds(b, o, &old, &e, t);
		bounds_forget_values(&old);
		edge_set(b, view_root(access_found(o)), &old);
	}
	if (global || IMM(o, update)) {
		if (bounds_known(&e))
			VEC_PUSH(b->k->unit->arena, b->store, b->nstore, b->store_cap,
			         ((MaskedStore){ o, e }));
		return;
	}
	if (written(b, o, store_dest(o), &e))
		return;
	o->in[IN_store_value] = mask_all(b, o, store_value(o), &e, 0, 0);
	all_exist(b, view_root(store_dest(o)));
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
	if (!written(b, o, copy_dest(o), &e))
		all_exist(b, view_root(copy_dest(o)));
}

void
edge_load(Bounds *b, Op *o)
{
	TileBounds e;

	if (o->out[0]->type.space != S_reg) {
		if (load_source(o)->type.space == S_shared)
			zeros_in_memory(b, view_root(load_source(o)));
		return; /* a scalar exists: out of bounds it is 0 */
	}
	e = edges_of_memory(b, o, load_source(o));
	edge_set(b, o->out[0], &e);
}
