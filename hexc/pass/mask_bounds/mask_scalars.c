/* mask_scalars.c - for pass mask_bounds: warns of single elements of tiles that may be out of bounds, where
 * they read 0, and that decide something. Elements of a whole tile would stay out of bounds; a scalar is
 * always there. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"

/* Is the element of the shared tile that o loads always in bounds? The old value of an atomic update of one
 * element counts as such. */
static bool
element_exists(const Bounds *b, Op *o, const Val *tile)
{
	const TileBounds *e = edge_of(b, tile);
	const Op *view = load_source(o)->def;

	if (!bounds_known(e) || (tile->id < b->nshared && b->shared[tile->id].found))
		return true;
	if (view->code != O_view || view_source(view) != tile || e->nmore)
		return false;
	for (int d = 0; d < tile->type.rank; d++) {
		Val *at = view_start(view, d);

		if (e->at[d] && !prove_inside(b->k, o, &at, 1, 1, e->at[d]))
			return false;
		if (e->from[d] && !bound_at_most(o, e->from[d], at))
			return false;
	}
	return true;
}

/* Returns what operand `slot` of o decides; NULL: nothing. */
static const char *
decision(const Op *o, int slot)
{
	switch (o->code) {
	case O_view:
		return slot >= IN_view_start ? "an index" : NULL;
	case O_for:
		return slot < IN_for_init ? "a loop's bound" : NULL;
	case O_if:
		return "a condition";
	default:
		return op_is(o, F_COMPARE) ? "compared" : NULL;
	}
}

/* .. and v, as a number of any type, or for each element of a tile. */
static const char *
decides(const Kernel *k, const Val *v)
{
	const char *what = NULL;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o && !what; o = walk_next(&w))
		for (int i = 0; i < o->nin && !what; i++) {
			if (o->in[i] != v)
				continue;
			what = decision(o, i);
			if (!what && (o->code == O_cast || o->code == O_splat || o->code == O_broadcast))
				what = decides(k, o->out[0]);
		}
	return what;
}

void
warn_missing_scalar(Bounds *b, Op *o)
{
	Val *tile = view_root(load_source(o));
	const char *what = diag_wants(b->k->unit->diag, DW_missing) && !element_exists(b, o, tile)
	                           ? decides(b->k, o->out[0])
	                           : NULL;

	if (what)
		bounds_warning(b, o,
		               "this element%s%s%s may be out of bounds, where it reads 0, and is %s; to say "
		               "so, fill the tile: `fill(.., 0)`",
		               tile->name ? " of `" : "", tile->name ? tile->name : "", tile->name ? "`" : "",
		               what);
}
