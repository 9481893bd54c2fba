/* mask_shared.c - tracks for pass mask_bounds which elements of shared tiles exist: of parts, and
 * through loops and branches. */
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <math.h>
#include <string.h>

/* The result is valid until the next call. */
static SharedTile *
shared_of(Bounds *b, const Val *root)
{
	if (root->id >= b->nshared) {
		uint32_t n = root->id + root->id / 2 + 64;

		b->shared = arena_grow(b->k->unit->arena, b->shared, b->nshared, n, sizeof *b->shared);
		b->nshared = n;
	}
	return &b->shared[root->id];
}

static bool
is_shared(const Val *root)
{
	return root->def && root->def->code == O_alloc;
}

/* Is it known which elements of the tile exist, where o reads it? Reports if not. */
static bool
check_read(Bounds *b, Op *o, const Val *root)
{
	SharedTile *s = is_shared(root) ? shared_of(b, root) : NULL;

	if (!s || !s->unknown)
		return true;
	bounds_error(b, o,
	             "which elements of the shared tile are out of bounds depends on the role that stored "
	             "them last; store `fill(x, 0)` to the tile");
	s->unknown = false; /* one report */
	return false;
}

enum { PICK_MAX = 4 };

/* Reduces the condition's tile to its element `at`, a run-time index, along its dim i. */
static void
pick_from_tile(Op *o, MaskCond *c, int i, Val *at)
{
	MaskCond all = *c;
	Val *any = NULL;

	for (int64_t k = 0; k < all.tile->type.shape[i]; k++) {
		Val *here, *is = ir_bin(o->parent, o, O_eq, at, ir_const(o->parent, o, k));

		*c = all;
		cond_slice_tile(o, c, i, k, 0);
		here = mask_op2(o, O_and, mask_splat(o, is, c->tile->type), c->tile, c->tile->type);
		any = any ? mask_op2(o, O_or, any, here, here->type) : here;
	}
	c->tile = any;
}

/* Reduces the condition's tile to n elements from `start` on, a run-time index, along its dim i: through
 * shared memory. */
static void
slice_in_memory(Op *o, MaskCond *c, int i, Val *start, int64_t n)
{
	Type t = type_tile(D_bool, S_shared, c->tile->type.rank, c->tile->type.shape), part = t;
	Val *in[1 + DIM_MAX] = { c->tile };

	in[1] = op_new(o->parent, o, O_alloc, o->src, 0, NULL, 1, &t)->out[0];
	op_new(o->parent, o, O_store, o->src, 2, in, 0, NULL);
	in[0] = in[1];
	for (int d = 0; d < t.rank; d++)
		in[1 + d] = d == i ? start : ir_const(o->parent, o, 0);
	part.shape[i] = n;
	in[0] = op_new(o->parent, o, O_view, o->src, 1 + t.rank, in, 1, &part)->out[0];
	part.space = S_reg;
	c->tile = op_new(o->parent, o, O_load, o->src, 1, in, 1, &part)->out[0];
}

/* Sets the tile of `to` to the part of c's tile that a view takes of its source. Along c's dims the view
 * does not gather; no view of a shared tile is strided. */
static void
tile_of_view(Op *o, const Op *view, const MaskCond *c, MaskCond *to)
{
	MaskCond r = *c;

	for (int i = r.tile->type.rank - 1; i >= 0; i--) {
		int d = r.axis[i];
		int64_t at;
		bool one;

		one = view_result_dim(view, d) < 0;
		if (!val_is_const(view_start(view, d), &at)) {
			if (one && r.tile->type.shape[i] <= PICK_MAX) {
				pick_from_tile(o, &r, i, view_start(view, d));
				continue;
			}
			slice_in_memory(o, &r, i, view_start(view, d), one ? 1 : view_span(view, d));
			at = 0;
		}
		cond_slice_tile(o, &r, i, at, one ? 0 : view_span(view, d));
	}
	to->tile = r.tile;
	for (int i = 0; i < r.tile->type.rank; i++)
		to->axis[i] = (int8_t)(view_result_dim(view, r.axis[i]) < 0
		                               ? 0
		                               : view_result_dim(view, r.axis[i]));
}

static SharedStores *
stores_of(Bounds *b, const Val *root)
{
	SharedTile *s = shared_of(b, root);

	if (!s->by)
		s->by = NEW(b->k->unit->arena, SharedStores);
	return s->by;
}

/* Makes a store to a shared tile, of a value with bounds e, or a copy write zeros for missing elements. */
static void
write_zeros(Bounds *b, Op *o, const TileBounds *e)
{
	if (o->code == O_copy)
		copy_zeros(b, o, e);
	else
		o->in[IN_store_value] = mask_all(b, o, store_value(o), e, 0, 0);
}

static void
all_zeros(Bounds *b, SharedStores *all)
{
	for (int i = 0; i < all->n; i++)
		write_zeros(b, all->store[i].op, &all->store[i].value);
	all->n = 0;
	all->zeros = true;
}

/* Makes missing elements of a shared tile 0 in memory, if c says that some may be missing and not 0: an
 * op reads them as 0, and they exist. Which store was the last one does not matter. */
static void
zero_in_memory(Bounds *b, const Val *root, const MaskCond *c)
{
	SharedStores *all = stores_of(b, root);

	if (c->zero || shared_of(b, root)->found)
		return;
	all_zeros(b, all);
}

/* Store or copy o, of a value with bounds e, writes a shared tile: sets what is known of missing elements,
 * or notes it. */
static void
note_store(Bounds *b, Op *o, const Val *root, TileBounds *e)
{
	SharedStores *all = stores_of(b, root);

	if (!bounds_known(e))
		return;
	if (!all->zeros) {
		VEC_PUSH(b->k->unit->arena, all->store, all->n, all->cap,
		         ((MaskedStore){ o, *e, false }));
		return;
	}
	write_zeros(b, o, e);
	e->zero = ~0u;
	for (int i = 0; i < e->nmore; i++)
		e->more[i].zero = true;
}

void
zeros_in_memory(Bounds *b, Op *o, Val *root)
{
	TileBounds e;

	if (!is_shared(root) || !check_read(b, o, root))
		return;
	e = *edge_of(b, root);
	for (int d = 0; d < root->type.rank; d++) {
		MaskCond c = cond_of_range(&e, d);

		if (c.lo || c.hi)
			zero_in_memory(b, root, &c);
	}
	e.zero = ~0u; /* from here on */
	for (int i = 0; i < e.nmore; i++) {
		zero_in_memory(b, root, &e.more[i]);
		e.more[i].zero = true;
	}
	edge_set(b, root, &e);
}

/* Returns the op that loads tile x from shared memory, if x is only moved and cast from there; or NULL. */
static const Op *
loaded_by(const Val *x)
{
	const Op *o = x->def;

	while (o && (op_moved(o) || o->code == O_cast || o->code == O_reshape))
		o = op_source(o)->def;
	return o && o->code == O_load && load_source(o)->type.space == S_shared ? o : NULL;
}

bool
zeros_by_copies(Bounds *b, const Val *x)
{
	const Op *load = loaded_by(x);
	Val *root = load ? view_root(load_source(load)) : NULL;
	SharedStores *all;

	if (!root || !is_shared(root) || shared_of(b, root)->unknown || shared_of(b, root)->found ||
	    fabs(num_outside(root->type.dtype)) > 0)
		return false;
	all = stores_of(b, root);
	for (int i = 0; i < all->n; i++)
		if (all->store[i].op->code != O_copy || !copy_can_be_bounded(b, all->store[i].op))
			return false;
	if (!all->n && !all->zeros)
		return false;
	all_zeros(b, all);
	return true;
}

/* Sets *to to the condition c of a view's source in terms of the view's dims. Returns false if the view
 * gathers along a dim that c names and so has no such condition. */
static bool
cond_of_view(Bounds *b, Op *o, const Op *view, MaskCond c, MaskCond *to)
{
	const Type *x = &view_source(view)->type;

	*to = (MaskCond){ .zero = c.zero, .finite = c.finite };
	for (int d = 0; d < x->rank; d++)
		if (c.dims >> d & 1 && view_gathers(view, d)) {
			if (is_shared(view_source(view)))
				zero_in_memory(b, view_source(view), &c);
			else
				zeros_in_memory(b, o, view_root(view_source(view)));
			return false;
		}
	for (int d = 0; d < x->rank; d++) {
		int r = view_result_dim(view, d);
		Val *by;

		if (c.dims >> d & 1 && r >= 0)
			to->dims |= 1u << r;
		if (c.tile || !c.coef[d])
			continue;
		by = ir_bin(o->parent, o, O_mul, view_start(view, d), ir_const(o->parent, o, c.coef[d]));
		c.lo = c.lo ? ir_bin(o->parent, o, O_sub, c.lo, by) : NULL;
		c.hi = c.hi ? ir_bin(o->parent, o, O_sub, c.hi, by) : NULL;
		if (r >= 0)
			to->coef[r] = c.coef[d] * view_step(view, d);
	}
	if (c.tile)
		tile_of_view(o, view, &c, to);
	to->lo = c.lo;
	to->hi = c.hi;
	return true;
}

/* Returns the bounds of a view of shared memory whose source has bounds e. */
static TileBounds
bounds_of_view(Bounds *b, Op *o, const Op *view, const TileBounds *e)
{
	const Type *x = &view_source(view)->type, *t = &view->out[0]->type;
	TileBounds r = { .zero = ~0u };
	MaskCond c;

	for (int d = 0; d < x->rank; d++)
		if ((e->at[d] || e->from[d]) && cond_of_view(b, o, view, cond_of_range(e, d), &c))
			cond_add(b, o, &r, t, c);
	for (int i = 0; i < e->nmore; i++)
		if (cond_of_view(b, o, view, e->more[i], &c))
			cond_add(b, o, &r, t, c);
	return r;
}

TileBounds
bounds_of_shared(Bounds *b, Op *o, Val *v)
{
	static const TileBounds none;
	TileBounds e;

	if (!v->def || (v->def->code != O_view && !val_is_alias(v)))
		return check_read(b, o, v) ? *edge_of(b, v) : none;
	e = bounds_of_shared(b, o, v->def->in[0]);
	if (v->def->code != O_view)
		return bounds_reshaped(b, o, &e, &op_source(v->def)->type, &v->type);
	e = bounds_of_view(b, o, v->def, &e);
	if (view_gather_dim(v->def) >= 0)
		edge_of_indices(b, o, v->def, &e);
	return e;
}

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

/* Sets *whole to bounds of the tile whose part of type `part` at `at` has bounds own, and whose other
 * elements were never written. The conditions name the dims that the part cuts. Returns false for bool
 * tiles along these. */
static bool
bounds_extended(Bounds *b, Op *o, const TileBounds *own, const int64_t *at, const Type *part,
                const Type *root, TileBounds *whole)
{
	unsigned cut = 0;

	*whole = (TileBounds){ .zero = ~0u, .finite = ~0u };
	for (int d = 0; d < root->rank; d++)
		cut |= (unsigned)(part->shape[d] != root->shape[d]) << d;
	for (int i = 0; i < root->rank + own->nmore; i++) {
		MaskCond c = i < root->rank ? cond_of_range(own, i) : own->more[i - root->rank];
		int64_t by = 0;

		if (!c.tile && !c.lo && !c.hi)
			continue;
		for (int j = 0; c.tile && j < c.tile->type.rank; j++)
			if (cut >> c.axis[j] & 1)
				return false;
		for (int d = 0; d < root->rank && !c.tile; d++)
			by += c.coef[d] * at[d];
		if (by && c.lo)
			c.lo = ir_bin(o->parent, o, O_add, c.lo, ir_const(o->parent, o, by));
		if (by && c.hi)
			c.hi = ir_bin(o->parent, o, O_add, c.hi, ir_const(o->parent, o, by));
		c.dims |= cut;
		cond_add(b, o, whole, root, c);
	}
	return true;
}

/* Keeps of what e knows of missing elements only what `part` knows too. */
static TileBounds
known_of_both(const TileBounds *e, const TileBounds *part)
{
	TileBounds r = *e;
	bool zero = true, finite = true;

	for (int d = 0; d < DIM_MAX; d++)
		if (part->at[d] || part->from[d]) {
			zero = zero && part->zero >> d & 1;
			finite = finite && part->finite >> d & 1;
		}
	for (int i = 0; i < part->nmore; i++) {
		zero = zero && part->more[i].zero;
		finite = finite && part->more[i].finite;
	}
	r.zero = zero ? r.zero : 0;
	r.finite = finite ? r.finite : 0;
	for (int i = 0; i < r.nmore; i++) {
		r.more[i].zero = r.more[i].zero && zero;
		r.more[i].finite = r.more[i].finite && finite;
	}
	return r;
}

/* Is v the tile, or a view of all of it? */
static bool
is_whole(const Val *v, const Val *root)
{
	int64_t at;

	if (v == root)
		return true;
	if (v->def->code != O_view || view_source(v->def) != root || v->type.rank != root->type.rank)
		return false;
	for (int d = 0; d < v->type.rank; d++)
		if (view_gathers(v->def, d) || !val_is_const(view_start(v->def, d), &at) || at ||
		    view_step(v->def, d) != 1 || v->type.shape[d] != root->type.shape[d])
			return false;
	return true;
}

/* Sets `at` and *part to the start and the type of the part of the tile that v is, a view of it. Returns
 * false if v gathers, is strided or starts at a run-time position. */
static bool
part_of(const Val *v, const Val *root, int64_t *at, Type *part)
{
	const Op *view = v->def;

	*part = root->type;
	if (view->code != O_view || view_source(view) != root)
		return false;
	for (int d = 0; d < root->type.rank; d++) {
		if (view_gathers(view, d) || !val_is_const(view_start(view, d), &at[d]) ||
		    view_step(view, d) != 1)
			return false;
		part->shape[d] = view_span(view, d);
	}
	return true;
}

/* Sets the bounds of the tile after o has written its part v, which starts at `at`, with bounds e.
 * `first`: nothing has been written before. */
static void
part_written(Bounds *b, Op *o, const Val *v, Val *root, const int64_t *at, const Type *part,
             const TileBounds *e, bool first)
{
	TileBounds own = of_root(b, o, e, v->def, part), now, old, both;

	if (type_same(part, &root->type)) {
		edge_set(b, root, &own);
		return;
	}
	if (!first || !bounds_extended(b, o, &own, at, part, &root->type, &now)) {
		old = bounds_of_view(b, o, v->def, edge_of(b, root));
		if (bounds_same(o, &old, e, v->type.rank, &both))
			now = known_of_both(edge_of(b, root), e);
		else
			now = bounds_replaced(b, o, edge_of(b, root), &own, at, part, &root->type);
	}
	edge_set(b, root, &now);
}

bool
shared_written(Bounds *b, Op *o, Val *v, const TileBounds *of)
{
	Val *root = view_root(v);
	int64_t at[DIM_MAX];
	Type part;
	TileBounds e = *of;
	SharedTile *s;
	bool first, whole, known;

	if (!is_shared(root))
		return true;
	s = shared_of(b, root);
	first = !s->written;
	s->written = true;
	whole = is_whole(v, root);
	known = whole || part_of(v, root, at, &part);
	if (known && (o->code == O_store || copy_is_bounded(o)))
		note_store(b, o, root, &e);
	s->unknown = s->unknown && !whole;
	if (whole)
		edge_set(b, root, &e);
	else if (!s->unknown && (bounds_known(&e) || bounds_known(edge_of(b, root)))) {
		if (!known)
			return false;
		part_written(b, o, v, root, at, &part, &e, first);
	}
	return true;
}

/* Stores in a tile of bools which elements with bounds e exist; `like`: the elements' type. */
static void
store_inside(Op *o, const TileBounds *e, const Type *like, Val *to)
{
	Val *in[2] = { inside_tile(o, e, like), to };
	Type cond = type_tile(D_bool, S_reg, like->rank, like->shape);

	in[0] = in[0] ? in[0] : mask_number(o, 1, cond);
	op_new(o->parent, o, O_store, o->src, 2, in, 0, NULL);
}

void
shared_placed(Bounds *b, Op *o, const TileBounds *e)
{
	Val *root = view_root(store_dest(o)), *in[1 + DIM_MAX];
	const Op *view = store_dest(o)->def;
	const TileBounds *before = edge_of(b, root);
	Type t = type_tile(D_bool, S_shared, root->type.rank, root->type.shape), part = store_dest(o)->type;
	MaskCond c = { .dims = 0 };
	TileBounds after = { .zero = 0 };
	Op *read;

	part.dtype = t.dtype;
	in[0] = op_new(o->parent, o, O_alloc, o->src, 0, NULL, 1, &t)->out[0];
	store_inside(o, before, &root->type, in[0]);
	for (int d = 0; d < t.rank; d++) {
		MaskCond own = cond_of_range(e, d), old = cond_of_range(before, d);

		in[1 + d] = view_start(view, d);
		c.dims |= own.lo || own.hi ? own.dims : 0;
		c.dims |= old.lo || old.hi ? old.dims : 0;
		c.dims |= (unsigned)(part.shape[d] != t.shape[d]) << d;
	}
	for (int i = 0; i < before->nmore; i++)
		c.dims |= before->more[i].dims;
	for (int i = 0; i < e->nmore; i++)
		c.dims |= e->more[i].dims;
	store_inside(o, e, &part, op_new(o->parent, o, O_view, o->src, 1 + t.rank, in, 1, &part)->out[0]);
	t.space = S_reg;
	read = op_new(o->parent, o->next, O_load, o->src, 1, in, 1, &t);
	cond_set_tile(read->next, &c, read->out[0]);
	cond_add(b, read->next, &after, &root->type, c);
	edge_set(b, root, &after);
}

void
shared_all_exist(Bounds *b, Op *o, Val *root)
{
	static const TileBounds all;

	zeros_in_memory(b, o, root);
	edge_set(b, root, &all);
}

void
shared_found(Bounds *b, const Val *root)
{
	shared_of(b, root)->found = true;
}

/* ---- loops and branches ---------------------------------------------------------------------------- */

/* Saves the state of the tiles as state `at`: 0: before the op; 1, 2: after its blocks. */
static void
save(Bounds *b, SharedStates *s, int at)
{
	s->was[at] = arena_alloc(b->k->unit->arena, (size_t)s->n * sizeof *s->was[at]);
	for (int i = 0; i < s->n; i++) {
		stores_of(b, s->root[i]); /* one for all states */
		s->was[at][i].tile = *shared_of(b, s->root[i]);
		s->was[at][i].edge = edge_of(b, s->root[i]);
	}
}

void
shared_enter(Bounds *b, const Op *o, SharedStates *s)
{
	int cap = 0;

	memset(s, 0, sizeof *s);
	for (int r = 0; r < 2 && o->blk[r] && b->tiles; r++) {
		OpWalk w;

		for (Op *in = walk_first(&w, o->blk[r]); in; in = walk_next(&w)) {
			Val *to = access_target(in), *root = to ? view_root(to) : NULL;
			bool had = !root || !is_shared(root) || block_inside(root->block, o->blk[r]);

			for (int i = 0; i < s->n && !had; i++)
				had = s->root[i] == root;
			if (!had)
				VEC_PUSH(b->k->unit->arena, s->root, s->n, cap, root);
		}
	}
	if (!s->n)
		return;
	save(b, s, 0);
	for (int i = 0; i < s->n && o->code == O_for; i++)
		shared_of(b, s->root[i])->written = true;
}

void
shared_carried(Bounds *b, Val *root, const TileBounds *e)
{
	edge_set(b, root, e);
}

void
shared_next(Bounds *b, SharedStates *s, int r)
{
	if (!s->n)
		return;
	save(b, s, 1 + r);
	for (int i = 0; i < s->n && r == 0; i++) {
		*shared_of(b, s->root[i]) = s->was[0][i].tile;
		edge_set(b, s->root[i], s->was[0][i].edge);
	}
}

/* Do the same elements of tile i exist as before the op, after block r? What is known of the missing elements
 * must hold as well. */
static bool
is_as_before(const Op *o, const SharedStates *s, int i, int r)
{
	const TileBounds *x = s->was[0][i].edge, *y = s->was[1 + r][i].edge;
	TileBounds both;
	int rank = s->root[i]->type.rank;

	if (s->was[0][i].tile.unknown || s->was[1 + r][i].tile.unknown || !bounds_same(o, x, y, rank, &both))
		return false;
	for (int d = 0; d < rank; d++)
		if ((x->at[d] || x->from[d]) &&
		    (((x->zero ^ both.zero) | (x->finite ^ both.finite)) >> d & 1))
			return false;
	for (int m = 0; m < x->nmore; m++)
		if (x->more[m].zero != both.more[m].zero || x->more[m].finite != both.more[m].finite)
			return false;
	return true;
}

/* Sets the state of tile i after the op. */
static Op *
leave_tile(Bounds *b, Op *o, SharedStates *s, int i, int blocks, const CarriedBounds *c)
{
	static const TileBounds none;
	SharedTile now = s->was[0][i].tile;
	bool same = true;

	for (int r = 0; r < blocks; r++) {
		same = same && is_as_before(o, s, i, r);
		now.written = now.written || s->was[1 + r][i].tile.written;
		now.found = now.found && s->was[1 + r][i].tile.found;
		now.unknown = now.unknown || s->was[1 + r][i].tile.unknown;
	}
	if (o->code == O_for) {
		if (!c->learned->carries[i]) { /* else bounds_after_loop has set the bounds */
			if (!same)
				bounds_carry_tile(b, c, i);
			edge_set(b, s->root[i], s->was[0][i].edge);
		}
	} else if (!same && o->code == O_if && !now.unknown) {
		TileBounds own[2] = { *s->was[1][i].edge, *s->was[2][i].edge }, e;

		o = bounds_chosen(b, o, own, &s->root[i]->type, &e);
		edge_set(b, s->root[i], &e);
	} else {
		now.unknown = now.unknown || !same;
		edge_set(b, s->root[i], same ? s->was[0][i].edge : &none);
	}
	*shared_of(b, s->root[i]) = now;
	return o;
}

Op *
shared_leave(Bounds *b, Op *o, SharedStates *s, const CarriedBounds *c)
{
	int blocks = !o->blk[0] ? 0 : o->blk[1] ? 2 : 1;

	for (int i = 0; i < s->n; i++)
		o = leave_tile(b, o, s, i, blocks, c);
	return o;
}
