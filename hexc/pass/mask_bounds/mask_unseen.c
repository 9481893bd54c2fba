/* mask_unseen.c - for op fill in pass mask_bounds: finds ends past which no use of a tile sees an element.
 *
 * An element past an end is unseen if it leads only to elements of other tiles past the same end, and to none
 * of a tensor. It may have any value, so that fill need not write one. A program that fills a tile because a
 * sum along its columns sees them fills its rows as well, which are often unseen.
 *
 * The analysis follows the dim from tile to tile, through the uses that there were before the pass changed
 * any op. An op that it does not know sees the elements. A tile that reaches a later iteration of a loop, as
 * a carried value or in shared memory, may meet another end there, unless the end is the same in all
 * iterations. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dot.h"
#include <string.h>

typedef struct Use {
	Op *op;
	int slot;
	Block *body; /* of a loop, which another op may own by now, with the same values first */
} Use;

struct TileUses {
	Use *use;        /* by value */
	uint32_t *first; /* by value id: index of its first use; the next value's follow */
	uint32_t n;      /* the greatest id */
	unsigned *reached; /* by value id: bit d: the walk has reached dim d */
};

/* A dim of a tile along which there are unfilled elements. */
typedef struct Reached {
	const Val *tile;
	int dim;
} Reached;

typedef struct Unseen {
	Bounds *b;
	Val *at, *from; /* the end or the front; the other is NULL */
	Reached *reached;
	int n, cap;
} Unseen;

struct TileUses *
tile_uses(const Kernel *k)
{
	struct TileUses *u = NEW(k->unit->arena, struct TileUses);
	uint32_t *next = NEWN(k->unit->arena, uint32_t, k->nval + 2);
	OpWalk w;

	u->n = k->nval;
	u->first = NEWN(k->unit->arena, uint32_t, k->nval + 2);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			u->first[o->in[i]->id + 1]++;
	for (uint32_t v = 0; v <= k->nval; v++)
		u->first[v + 1] += u->first[v];
	memcpy(next, u->first, (k->nval + 2) * sizeof *next);
	u->use = NEWN(k->unit->arena, Use, u->first[k->nval + 1] + 1);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			u->use[next[o->in[i]->id]++] = (Use){ o, i, o->blk[0] };
	u->reached = NEWN(k->unit->arena, unsigned, k->nval + 1);
	return u;
}

/* Adds a dim to those reached. Returns false if the uses of the tile are unknown. */
static bool
reach(Unseen *u, const Val *tile, int dim)
{
	struct TileUses *uses = u->b->uses;
	Reached r = { tile, dim };

	if (tile->id > uses->n)
		return false;
	if (uses->reached[tile->id] >> dim & 1)
		return true;
	uses->reached[tile->id] |= 1u << dim;
	VEC_PUSH(u->b->k->unit->arena, u->reached, u->n, u->cap, r);
	return true;
}

/* Returns the dim of the result of a reshape that is dim d of its operand, -1 if none is. */
static int
reshaped_dim(const Op *o, int d)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	int64_t before = 1, to = 1;

	for (int i = 0; i < d; i++)
		before *= x->shape[i];
	for (int i = 0; i < t->rank; to *= t->shape[i++])
		if (to == before && t->shape[i] == x->shape[d])
			return i;
	return -1;
}

/* Returns the dim of the result that dim d of operand `slot` becomes: elements of the result depend only on
 * those at the same index along it. Returns -1 if there is none. */
static int
result_dim(const Op *o, int slot, int d)
{
	const Type *x = &o->in[slot]->type;

	if (op_is(o, F_ELT) || o->code == O_fill || o->code == O_unmask)
		return d;
	switch (o->code) {
	case O_shift:
	case O_slice:
	case O_concat:
	case O_reduce_sum:
	case O_reduce_max:
	case O_reduce_min:
		return IMM(o, dim) == d ? -1 : d;
	case O_pin:
	case O_relabel_layout:
		return d;
	case O_broadcast:
		return o->out[0]->type.shape[d] == x->shape[d] ? d : -1;
	case O_transpose:
		for (int i = 0; i < x->rank; i++)
			if (IMM_AT(o, perm, i) == d)
				return i;
		return -1;
	case O_reshape:
		return reshaped_dim(o, d);
	case O_dot:
		if (slot == IN_mma_acc || d < dot_batch(o))
			return d;
		return o->nin == IN_mma_acc + 1 && d - dot_batch(o) == slot ? d : -1;
	default:
		return -1;
	}
}

/* Is the end the same in all iterations of all loops? */
static bool
end_stays(const Unseen *u)
{
	return val_is_invariant(u->at ? u->at : u->from);
}

/* Do loops around store o keep the shared tile, so that a later iteration may read it? */
static bool
outlives_iteration(const Op *o, const Val *tile)
{
	for (const Block *b = o->parent; b != tile->def->parent; b = b->owner->parent)
		if (!b->owner || b->owner->code == O_for)
			return true;
	return false;
}

/* Returns the dim of a view that is all of dim d of its source, -1 if none is. */
static int
viewed_dim(const Op *o, int d)
{
	int to = view_result_dim(o, d);
	int64_t start;

	if (view_gathers(o, d) || to < 0 || view_step(o, d) != 1)
		return -1;
	if (!val_is_const(view_start(o, d), &start) || start != 0)
		return -1;
	return o->out[0]->type.shape[to] == view_source(o)->type.shape[d] ? to : -1;
}

/* Returns the dim of a shared tile that is all of dim d of v, the tile or a view of it; -1 if none is. */
static int
tile_dim(const Val *tile, const Val *v, int d)
{
	if (v == tile)
		return d;
	for (int i = 0; v->def->code == O_view && view_source(v->def) == tile && i < tile->type.rank; i++)
		if (viewed_dim(v->def, i) == d)
			return i;
	return -1;
}

/* Is a stored tile unseen? A tensor ends where it does, or earlier; a shared tile may keep the elements. */
static bool
unseen_by_store(Unseen *u, Op *o, int slot, int d)
{
	TileBounds to = { .zero = 0 };
	Val *root = view_root(store_dest(o));
	int at;

	if (slot == IN_store_dest)
		return true;
	if (slot != IN_store_value || o->nin > IN_store_dest + 1)
		return false;
	if (root->def) {
		at = tile_dim(root, store_dest(o), d);
		return at >= 0 && (end_stays(u) || !outlives_iteration(o, root)) && reach(u, root, at);
	}
	range_of_memory(u->b, o, store_dest(o), d, &to);
	return u->at ? to.at[d] && bound_implies(u->b, o, to.at[d], u->at, false, o->in[slot]->type.shape[d])
	             : to.from[d] && bound_implies(u->b, o, to.from[d], u->from, true, 0);
}

/* Is the tile unseen by this use, as far as the result's uses do not see it? */
static bool
unseen_by(Unseen *u, const Use *use, int d)
{
	Op *o = use->op;
	int to;

	switch (o->code) {
	case O_store:
		return unseen_by_store(u, o, use->slot, d);
	case O_load:
		return reach(u, o->out[0], d);
	case O_view:
		to = use->slot == IN_view_source ? viewed_dim(o, d) : -1;
		return to >= 0 && reach(u, o->out[0], to);
	case O_inside:
	case O_inside_any:
	case O_inside_count:
	case O_inside_first:
	case O_inside_end:
		return true; /* they depend on the tile's bounds only */
	case O_if_range:
		return use->slot == IN_op_source || reach(u, o->out[0], d);
	case O_for:
		return reach(u, o->out[use->slot - IN_for_init], d) &&
		       reach(u, use->body->arg[1 + use->slot - IN_for_init], d);
	case O_yield:
		if (o->parent->owner->code == O_for && !end_stays(u))
			return false;
		o = o->parent->owner;
		if (o->code != O_for && o->code != O_if)
			return false;
		return reach(u, o->out[use->slot], d) &&
		       (o->code == O_if || reach(u, o->blk[0]->arg[1 + use->slot], d));
	default:
		to = result_dim(o, use->slot, d);
		return to >= 0 && reach(u, o->out[0], to);
	}
}

static bool
unseen(Unseen *u, const Val *x, int d)
{
	const struct TileUses *uses = u->b->uses;
	bool r = reach(u, x, d);

	for (int i = 0; r && i < u->n; i++) {
		const Reached at = u->reached[i];

		arena_work(u->b->k->unit->arena, 1);
		for (uint32_t j = uses->first[at.tile->id]; r && j < uses->first[at.tile->id + 1]; j++)
			r = unseen_by(u, &uses->use[j], at.dim);
	}
	for (int i = 0; i < u->n; i++)
		uses->reached[u->reached[i].tile->id] = 0;
	return r;
}

void
drop_unseen(Bounds *b, const Val *x, TileBounds *e)
{
	for (int d = 0; d < x->type.rank; d++) {
		Unseen end = { .b = b, .at = e->at[d] }, front = { .b = b, .from = e->from[d] };

		if (e->at[d] && unseen(&end, x, d))
			e->at[d] = NULL;
		if (e->from[d] && unseen(&front, x, d))
			e->from[d] = NULL;
	}
}
