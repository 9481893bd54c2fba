/* mask_stores.c - makes stores leave out missing elements, for pass mask_bounds.
 *
 * Most stores need no change, since the target ends where the value does. Other stores go through indices,
 * which are -1 for missing elements, so that nothing is written there. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <string.h>

/* The state of `implied`. */
typedef struct Implies {
	Bounds *b;
	const Op *store;
	const Val *target; /* the target's own end, or front; NULL: it has none */
	bool front;
	int64_t extent;
	bool *seen; /* by value id: a carried value that is assumed to be implied; NULL: none yet */
	int steps;
} Implies;

enum { IMPLIES_STEPS = 400 };

static bool implied(Implies *q, Val *x);

/* Is carried value i of a loop implied? It is if its initial value is, and each next one if the preceding
 * ones are. */
static bool
carried_implied(Implies *q, Op *loop, int i)
{
	const Op *yield = loop->blk[0]->last;

	if (!q->seen)
		q->seen = NEWN(q->b->k->unit->arena, bool, q->b->k->nval + 1);
	if (q->seen[loop->out[i]->id])
		return true;
	if (i >= yield->nin)
		return false;
	q->seen[loop->out[i]->id] = true;
	return implied(q, for_init(loop, i)) && implied(q, yield->in[i]);
}

/* Are all elements within the target also within the end or front x? */
static bool
implied(Implies *q, Val *x)
{
	Op *def = x ? x->def : NULL, *owner = x && !def ? x->block->owner : NULL;

	if (!x)
		return true;
	if (q->steps++ > IMPLIES_STEPS)
		return false;
	if (q->target &&
	    (q->front ? bound_at_most(q->store, x, q->target)
	              : bound_at_most(q->store, q->target, x)))
		return true;
	if (owner && owner->code == O_for && x->index > 0)
		return carried_implied(q, owner, x->index - 1);
	if (def && def->code == O_for)
		return carried_implied(q, def, x->index);
	if (def && def->code == O_if)
		return implied(q, def->blk[0]->last->in[x->index]) &&
		       implied(q, def->blk[1]->last->in[x->index]);
	if (def && def->code == O_select)
		return implied(q, select_yes(def)) && implied(q, select_no(def));
	if (def && def->code == (q->front ? O_max : O_min))
		return implied(q, elt_lhs(def)) && implied(q, elt_rhs(def));
	return q->front ? val_fact(q->b->k, x).hi <= 0 : val_fact(q->b->k, x).lo >= q->extent;
}

bool
bound_implies(Bounds *b, const Op *o, const Val *x, Val *y, bool front, int64_t extent)
{
	Implies q = { b, o, x, front, extent, NULL, 0 };

	return implied(&q, y);
}

/* Does c hold for all elements of a tile of type x? */
static bool
never_missing(Bounds *b, const MaskCond *c, const Type *x)
{
	return !c->tile && (!c->lo || val_fact(b->k, c->lo).hi <= 0) &&
	       (!c->hi || val_fact(b->k, c->hi).lo > mask_form_end(c, x));
}

/* Returns the conditions of e that the target's bounds t do not imply. */
static TileBounds
not_implied(Bounds *b, const Op *o, const TileBounds *e, const TileBounds *t, const Type *x)
{
	TileBounds r = { .zero = 0 };

	for (int d = 0; d < x->rank; d++) {
		Implies end = { b, o, t->at[d], false, x->shape[d], NULL, 0 };
		Implies front = { b, o, t->from[d], true, 0, NULL, 0 };

		r.at[d] = implied(&end, e->at[d]) ? NULL : e->at[d];
		r.from[d] = implied(&front, e->from[d]) ? NULL : e->from[d];
	}
	for (int i = 0; i < e->nmore; i++) {
		bool same = false;

		for (int j = 0; j < t->nmore; j++)
			same = same || cond_equal(o, &e->more[i], &t->more[j]);
		for (int d = 0; d < x->rank; d++) {
			MaskCond range = cond_of_range(t, d);

			same = same || ((range.lo || range.hi) && cond_equal(o, &e->more[i], &range));
		}
		if (!same && !never_missing(b, &e->more[i], x))
			r.more[r.nmore++] = e->more[i];
	}
	return r;
}

/* Returns `all` and lo <= 0 < hi; each may be NULL: true, or open. */
static Val *
holds_at_0(Op *o, Val *all, Val *lo, Val *hi)
{
	Val *zero = ir_const(o->parent, o, 0);

	lo = lo ? ir_bin(o->parent, o, O_le, lo, zero) : NULL;
	hi = hi ? ir_bin(o->parent, o, O_lt, zero, hi) : NULL;
	return mask_both(o, mask_both(o, all, lo), hi);
}

/* Removes from r the conditions that hold for all elements or for none. Returns a bool scalar, true if they
 * hold; NULL if there are none. */
static Val *
take_uniform(Op *o, TileBounds *r, const Type *x)
{
	Val *all = NULL;
	int n = 0;

	for (int d = 0; d < x->rank; d++)
		if (x->shape[d] == 1 && (r->at[d] || r->from[d])) {
			all = holds_at_0(o, all, r->from[d], r->at[d]);
			r->at[d] = r->from[d] = NULL;
		}
	for (int i = 0; i < r->nmore; i++) {
		const MaskCond *c = &r->more[i];
		bool varies = c->tile != NULL;

		for (int d = 0; d < x->rank; d++)
			varies = varies || (c->coef[d] && x->shape[d] > 1);
		if (varies) {
			r->more[n++] = *c;
			continue;
		}
		all = holds_at_0(o, all, c->lo, c->hi);
	}
	r->nmore = n;
	return all;
}

/* Returns a target equal to dest where cond is true, and past the end of the tensor in one dim otherwise.
 * It prefers a dim with a single index. Returns NULL if no dim will do. */
static Val *
unless_uniform(Op *o, Val *dest, Val *cond)
{
	const Op *view = dest->def;
	Val *root = view ? view_source(view) : dest, *in[1 + DIM_MAX] = { root }, *choice[3] = { cond };
	Type i64 = type_scalar(D_i64);
	int best = -1;
	Op *n;

	if (root->def)
		return NULL;
	for (int d = root->type.rank - 1; d >= 0; d--) {
		bool gathers = view && view_gathers(view, d);
		bool single = view && view_result_dim(view, d) < 0;

		in[1 + d] = view ? view_start(view, d) : ir_const(o->parent, o, 0);
		if (!gathers && (best < 0 || single || !(view && view_result_dim(view, best) < 0)))
			best = d;
	}
	if (best < 0)
		return NULL;
	choice[1] = in[1 + best];
	choice[2] = val_param(o->parent->kernel, root)->size[best];
	in[1 + best] = op_new(o->parent, o, O_select, o->src, 3, choice, 1, &i64)->out[0];
	n = op_new(o->parent, o, O_view, o->src, 1 + root->type.rank, in, 1, &dest->type);
	if (view)
		memcpy(n->imm, view->imm, sizeof n->imm);
	return n->out[0];
}

/* Returns a tile of the indices start + i * step along dim d of type t, with extent 1 in its other dims. */
static Val *
indices_along(Op *o, Val *start, int64_t step, int d, const Type *t)
{
	Type at = type_tile(D_i64, S_reg, t->rank, t->shape), narrow;
	Val *in[2];

	for (int i = 0; i < t->rank; i++)
		at.shape[i] = i == d ? t->shape[d] : 1;
	narrow = at;
	narrow.dtype = D_i32;
	in[0] = mask_op(o, O_iota, 0, NULL, narrow);
	IMM_SET(in[0]->def, dim, d);
	in[0] = mask_op(o, O_cast, 1, in, at);
	if (step != 1) {
		in[1] = mask_op(o, O_const, 0, NULL, at);
		IMM_SET(in[1]->def, value, step);
		in[0] = mask_op(o, O_mul, 2, in, at);
	}
	in[1] = mask_op(o, O_splat, 1, &start, at);
	return mask_op(o, O_add, 2, in, at);
}

/* Returns the dims along which conditions of r vary; bit d: dim d. */
static unsigned
dims_of(const TileBounds *r, const Type *x)
{
	unsigned dims = 0;

	for (int d = 0; d < x->rank; d++) {
		dims |= (unsigned)(r->at[d] || r->from[d]) << d;
		for (int i = 0; i < r->nmore; i++)
			dims |= (unsigned)cond_varies(&r->more[i], d) << d;
	}
	return dims;
}

/* Returns a bool tile over dims [g, g + n) of x, true in bounds of r, whose conditions vary along these
 * only. */
static Val *
inside_of_dims(Op *o, const TileBounds *r, const Type *x, int g, int n)
{
	Type part = *x, t = type_tile(D_bool, S_reg, n, x->shape + g);
	Val *v;

	for (int d = 0; d < x->rank; d++)
		if (d < g || d >= g + n)
			part.shape[d] = 1;
	v = inside_tile(o, r, &part);
	return type_same(&v->type, &t) ? v : mask_op(o, O_reshape, 1, &v, t);
}

/* Returns the indices, broadcast to the shape of `there`, with -1 where `there` is false. */
static Val *
indices_or_none(Op *o, Val *index, Val *there)
{
	Type at = type_tile(index->type.dtype, S_reg, there->type.rank, there->type.shape);
	Val *in[3] = { there, index, mask_op(o, O_const, 0, NULL, at) };

	IMM_SET(in[2]->def, value, -1);
	if (!type_same(&index->type, &at))
		in[1] = mask_op(o, O_broadcast, 1, &index, at);
	return mask_op(o, O_select, 3, in, at);
}

/* Returns the target with indices for dims [g, g + n), -1 for elements out of bounds of r, whose conditions
 * vary along these dims only. The other dims stay slices. */
static Val *
by_some_indices(Op *o, Val *dest, const TileBounds *r, int g, int n)
{
	const Op *view = dest->def;
	Val *root = view ? view_source(view) : dest, *in[1 + DIM_MAX] = { root }, *there;
	bool done = false;
	Op *v;

	there = inside_of_dims(o, r, &dest->type, g, n);
	for (int d = 0; d < root->type.rank; d++) {
		int at = view ? view_result_dim(view, d) : d;

		in[1 + d] = view ? view_start(view, d) : ir_const(o->parent, o, 0);
		if (done || (view && view_gathers(view, d) ? false : at != g))
			continue;
		if (!(view && view_gathers(view, d))) {
			Type line = type_tile(dest->type.dtype, S_reg, 1, dest->type.shape + g);

			in[1 + d] = indices_along(o, in[1 + d], view ? view_step(view, d) : 1, 0, &line);
		}
		in[1 + d] = indices_or_none(o, in[1 + d], there);
		done = true;
	}
	v = op_new(o->parent, o, O_view, o->src, 1 + root->type.rank, in, 1, &dest->type);
	if (view)
		memcpy(v->imm, view->imm, sizeof v->imm);
	for (int d = 0; d < root->type.rank; d++)
		if (view_gathers(v, d))
			IMM_SET_AT(v, step, d, 0);
	return v->out[0];
}

/* Returns the target with indices for all dims, -1 for elements out of bounds of r. */
static Val *
by_all_indices(Op *o, Val *dest, const TileBounds *r)
{
	const Op *view = dest->def;
	Val *root = view ? view_source(view) : dest, *in[1 + DIM_MAX] = { root };
	const Type *t = &dest->type;
	int64_t dropped = 0;
	int found = 0;
	Type type = type_tile(t->dtype, t->space, t->rank, t->shape);
	Op *n;

	for (int d = 0; d < root->type.rank; d++) {
		Val *start = view ? view_start(view, d) : ir_const(o->parent, o, 0);
		int at = view ? view_result_dim(view, d) : d;
		bool gathers = view && view_gathers(view, d);
		Type tile = type_tile(start->type.dtype, S_reg, t->rank, t->shape);

		in[1 + d] = start;
		if (!gathers && at < 0) {
			dropped |= (int64_t)1 << d;
			continue;
		}
		if (gathers) {
			int g = view_gather_dim(view);

			for (int i = 0; i < t->rank; i++)
				tile.shape[i] = i >= g && i < g + start->type.rank
				                        ? start->type.shape[i - g]
				                        : 1;
			in[1 + d] = mask_op(o, O_reshape, 1, &start, tile);
		} else {
			in[1 + d] = indices_along(o, start, view ? view_step(view, d) : 1, at, t);
		}
		if (found++)
			dropped |= (int64_t)1 << d;
		else
			in[1 + d] = indices_or_none(o, in[1 + d], inside_tile(o, r, t));
	}
	n = op_new(o->parent, o, O_view, o->src, 1 + root->type.rank, in, 1, &type);
	IMM_SET(n, dropped, dropped);
	return n->out[0];
}

/* Returns the target without elements out of bounds of r. Returns NULL if it is a view of a view. *indexed:
 * it had indices already, and no other dims changed. */
static Val *
by_indices(Op *o, Val *dest, const TileBounds *r, bool *indexed)
{
	const Op *view = dest->def;
	unsigned dims = dims_of(r, &dest->type), one = dims & (0u - dims);
	int g = view ? view_gather_dim(view) : -1, n = view ? view_gather_rank(view) : 0;

	*indexed = false;
	if (view && view_source(view)->def && view_source(view)->def->code != O_alloc)
		return NULL;
	if (g >= 0 && !(dims & ((1u << g) - 1)) && !(dims >> (g + n))) {
		*indexed = true;
		return by_some_indices(o, dest, r, g, n);
	}
	if (g < 0 && dims == one)
		for (int d = 0; d < dest->type.rank; d++)
			if (dims == 1u << d)
				return by_some_indices(o, dest, r, d, 1);
	return by_all_indices(o, dest, r);
}

/* A copy to a tensor cannot leave elements out. */
static void
copy_leaves_out(Bounds *b, Op *o, const TileBounds *e)
{
	TileBounds target, rest;

	target = edges_of_memory(b, o, copy_dest(o));
	rest = not_implied(b, o, e, &target, &copy_dest(o)->type);
	if (bounds_known(&rest))
		diag_error(b->k->unit->diag, o->src,
		           "this asynchronous store would leave out elements that the shared tile does "
		           "not have; fill it with `fill(x, value)`");
}

void
store_leaves_out(Bounds *b, const MaskedStore *s)
{
	Op *o = s->op;
	const TileBounds *e = &s->value;
	const Type *x = &o->in[0]->type;
	TileBounds target, rest, left;
	Val *to, *cond;
	bool indexed;

	if (o->code == O_copy) {
		copy_leaves_out(b, o, e);
		return;
	}
	if (x->space != S_reg || !bounds_known(e))
		return;
	target = (TileBounds){ .zero = 0 };
	if (!view_root(store_dest(o))->def) /* all elements of a shared tile exist */
		target = edges_of_memory(b, o, store_dest(o));
	rest = not_implied(b, o, e, &target, x);
	if (!bounds_known(&rest))
		return;
	b->changed = true;
	left = rest;
	cond = take_uniform(o, &left, x);
	to = cond ? unless_uniform(o, store_dest(o), cond) : NULL;
	if (to) {
		o->in[IN_store_dest] = to;
		rest = left;
		if (!bounds_known(&rest))
			return;
	}
	to = by_indices(o, store_dest(o), &rest, &indexed);
	if (!to) {
		diag_error(b->k->unit->diag, o->src,
		           "this store would leave out elements that its value does not have; "
		           "store `fill(x, value)`");
		return;
	}
	o->in[IN_store_dest] = to;
	if (!indexed && !s->bounded && !view_root(to)->def)
		diag_warn(b->k->unit->diag, DW_leftout, o->src,
		          "the store leaves out elements that its value does not have%s%s%s; "
		          "to store a number for them, write `fill(x, number)`",
		          store_value(o)->name ? ": `" : "", store_value(o)->name ? store_value(o)->name : "",
		          store_value(o)->name ? "`" : "");
}
