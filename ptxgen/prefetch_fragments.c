/* prefetch_fragments.c - emits the fragment prefetch of an MMA's first k step, one iteration early. `ahead`
 * loads the words of a load's tile that the step needs, and those loaded by the same instructions; `begun`
 * is the tile with these words already loaded. */
#include "hexc/ir/ids.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/load.h"

/* The elements of a tile, in lane 0 of warp 0, that a value is computed from. */
typedef struct NeededElements {
	Codegen *g;
	const Val *tile;
	bool *elem; /* by row-major index */
	bool all;
	Ids ids;     /* of the loop: other values do not come from the tile */
	bool **met;  /* by ids_val: the elements that need() has met, by row-major index; or NULL */
	bool *other; /* by ids_val: values found not to be computed from the tile */
} NeededElements;

/* Is v computed from the tile? */
static bool
is_of_tile(const NeededElements *n, const Val *v)
{
	const Op *o = v->def;
	bool yes = v == n->tile;
	int64_t at = ids_val(&n->ids, v);

	if (at < 0 || n->other[at])
		return false;
	for (int i = 0; o && o->code != O_load && v->type.space == S_reg && i < o->nin && !yes; i++)
		yes = is_of_tile(n, o->in[i]);
	n->other[at] = !yes;
	return yes;
}

/* Returns true at the first call for the element of v at c, which can be reached in exponentially many ways;
 * false for values from outside of the loop. */
static bool
is_new(NeededElements *n, const Val *v, const int64_t *c)
{
	int64_t e = row_major_index(v->type.rank, v->type.shape, c), at = ids_val(&n->ids, v);
	bool *met = at < 0 ? NULL : n->met[at];

	if (at < 0)
		return false;
	if (!met)
		met = n->met[at] = NEWN(n->g->a, bool, type_size(&v->type));
	if (met[e])
		return false;
	return met[e] = true;
}

/* Marks what the element of v at c is computed from. */
static void
need(NeededElements *n, const Val *v, const int64_t *c)
{
	const Op *o = v->def;
	int64_t in[DIM_MAX] = { 0 };

	if (v == n->tile) {
		n->elem[row_major_index(v->type.rank, v->type.shape, c)] = true;
		return;
	}
	if (!o || v->type.space != S_reg || op_is(o, F_FILL) || !is_new(n, v, c))
		return;
	switch (o->code) {
	case O_broadcast:
	case O_transpose:
	case O_reshape:
	case O_slice:
	case O_concat:
		v = source_coord(o, c, in);
		need(n, v, in);
		return;
	case O_load:
		return;
	default:
		break;
	}
	if (!op_is(o, F_ELT) && o->code != O_mask && o->code != O_prefetched && o->code != O_pin &&
	    o->code != O_relabel_layout && o->code != O_convert_layout) {
		n->all = is_of_tile(n, v);
		return;
	}
	for (int i = 0; i < o->nin && !n->all; i++)
		need(n, o->in[i], c);
}

/* Returns the MMA that `ahead` prefetches words for, and the tile. */
static Op *
product_of(Codegen *g, const Op *ahead, const Val **tile)
{
	const Val *v = ahead->out[0];
	Op *loop = ahead->parent->owner, *dot = NULL;
	int at = -1;

	/* its only use is near: blocks are long */
	for (Op *o = ahead->next; o && at < 0; o = o->next)
		for (int i = 0; (o->code == O_for || o->code == O_yield) && i < o->nin; i++)
			if (o->in[i] == v) {
				loop = o->code == O_for ? o : loop;
				at = o->code == O_for ? i - IN_for_init : i;
			}
	BUG_IF(g->a, !loop || at < 0);
	*tile = NULL;
	for (Op *o = loop->blk[0]->first; o && !dot; o = o->next) {
		if (o->code == O_prefetched && prefetched_fragments(o) == loop->blk[0]->arg[1 + at])
			*tile = o->out[0];
		if (o->code == O_dot && *tile)
			dot = o;
	}
	BUG_IF(g->a, !dot);
	return dot;
}

/* Is everything ever read of the tile read between its start and the MMA? If threads synchronize there, as
 * for an operand converted through shared memory, nothing of it may be loaded later. */
static bool
read_in_front(const Val *tile, const Op *dot)
{
	for (const Op *o = tile->def->next; o != dot; o = o->next)
		if (op_is(o, F_SYNC) || lowering_is_staged(o->lowering) || o->blk[0])
			return true;
	return false;
}

/* Marks the words of the tile that the MMA's first step needs. */
static void
first_words(Codegen *g, Op *dot, const Val *tile, int nword, bool *word)
{
	const Layout *l = tile->type.layout;
	int epw = dtype_per_word(tile->type.dtype);
	NeededElements n = { .g = g,
		   .tile = tile,
		   .elem = NEWN(g->a, bool, type_size(&tile->type)),
		   .all = tile->type.bit_order != 0 || read_in_front(tile, dot),
		   .ids = ids_of(dot->parent) };

	n.met = NEWN(g->a, bool *, n.ids.nval);
	n.other = NEWN(g->a, bool, n.ids.nval);
	for (int i = 0; i < 2; i++) {
		const Val *v = dot->in[i];
		int per = dtype_per_word(v->type.dtype);
		int64_t nreg = layout_cosize(v->type.layout, AX_reg);
		bool *use = NEWN(g->a, bool, nreg);

		dot_first_words(g, dot, i, use);
		for (int64_t r = 0; r < nreg && !n.all; r++) {
			Coord p = { { 0 } };
			int64_t c[DIM_MAX] = { 0 };

			p.at[AX_reg] = r;
			layout_index(v->type.layout, &p, c);
			if (use[r / per])
				need(&n, v, c);
		}
	}
	for (int64_t e = 0; e < type_size(&tile->type); e++) {
		int64_t c[DIM_MAX] = { 0 };

		row_major_coord(tile->type.rank, tile->type.shape, e, c);
		if (n.elem[e])
			word[layout_at(l, c).at[AX_reg] / epw] = true;
	}
	for (int w = 0; w < nword && n.all; w++)
		word[w] = true;
}

void
emit_fragment_prefetch(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	bool *part = NEWN(g->a, bool, t->nword);
	const Val *tile;
	Op *dot = product_of(g, o, &tile);

	first_words(g, dot, tile, t->nword, part);
	load_close(g, op_source(o)->def, part);
	for (int w = 0; w < t->nword; w++)
		if (part[w])
			t->word[w] = word_get(g, op_source(o), w);
	t->part = part;
	gen_seal(g, op_source(o)->def);
}

static void
pull_begun(Codegen *g, Op *o, int w)
{
	Val *v = tile_has(tile_of(g, prefetched_fragments(o)), w) ? prefetched_fragments(o) : op_source(o);

	tile_of(g, o->out[0])->word[w] = word_get(g, v, w);
}

/* What the iteration has read of the tile before the next barrier is all that it reads. */
void
emit_prefetched(Codegen *g, Op *o)
{
	tile_lazy(g, o, pull_begun, NULL);
	gen_seal(g, op_source(o)->def);
}
