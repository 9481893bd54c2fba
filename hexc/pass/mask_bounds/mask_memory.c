/* mask_memory.c - implements the rules of pass mask_bounds for loads and stores. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
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

/* A store to a part of a shared tile at a run-time position writes zeros for missing elements, and all
 * elements of the tile exist afterwards. So they do after an atomic update, which leaves out missing
 * elements. */
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
		bool bounded = global && memory_is_bounded(store_dest(o));

		if (bounded) { /* the target ends where it says, like a value that ends there */
			TileBounds target = edges_of_memory(b, o, store_dest(o));

			add_bounds(b, o, &e, &target, t);
		}
		if (bounds_known(&e))
			VEC_PUSH(b->k->unit->arena, b->store, b->nstore, b->store_cap,
			         ((MaskedStore){ o, e, bounded }));
		return;
	}
	if (shared_written(b, o, store_dest(o), &e))
		return;
	if (IMM(o, placed)) {
		shared_placed(b, o, &e);
		return;
	}
	o->in[IN_store_value] = mask_all(b, o, store_value(o), &e, 0, 0);
	shared_all_exist(b, o, view_root(store_dest(o)));
}

/* Makes a scalar read from a view with bounds of its own 0 outside of these. */
static void
bounded_scalar(Bounds *b, Op *o)
{
	const Op *view = load_source(o)->def;
	Type t = o->out[0]->type;
	Val *in[3] = { NULL, o->out[0], NULL }, *all = NULL;
	Op *at = o->next;

	for (int d = 0; d < view_source(view)->type.rank; d++) {
		Val *start = view_start(view, d), *bound[2] = { view_from(view, d), view_below(view, d) };

		for (int i = 0; i < 2; i++) {
			Val *x = !bound[i] ? NULL
			         : i == 0  ? ir_bin(at->parent, at, O_le, bound[0], start)
			                   : ir_bin(at->parent, at, O_lt, start, bound[1]);

			all = x && all ? ir_bin(at->parent, at, O_and, all, x) : x ? x : all;
		}
	}
	if (!all)
		return;
	in[0] = all;
	in[2] = op_new(at->parent, at, O_const, o->src, 0, NULL, 1, &t)->out[0];
	if (dtype_is_float(t.dtype))
		in[2]->def->fimm = num_outside(t.dtype);
	in[0] = op_new(at->parent, at, O_select, o->src, 3, in, 1, &t)->out[0];
	in[0]->name = o->out[0]->name;
	replace_after(b, o->out[0], in[0]);
	b->changed = true;
}

void
edge_load(Bounds *b, Op *o)
{
	TileBounds e;

	if (o->out[0]->type.space != S_reg) {
		if (load_source(o)->type.space == S_shared) {
			warn_missing_scalar(b, o);
			zeros_in_memory(b, o, view_root(load_source(o)));
		} else if (memory_is_bounded(load_source(o))) {
			bounded_scalar(b, o);
		}
		return; /* a scalar exists: out of bounds it is 0 */
	}
	e = edges_of_memory(b, o, load_source(o));
	edge_set(b, o->out[0], &e);
}
