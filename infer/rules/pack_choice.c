/* pack_choice.c - chooses the memory layout (pack) of packed tensors from the layouts of the tiles that read
 * them.
 *
 * A tensor has one pack.  The first reader determines it, unless the program specifies it.  Tiles of other
 * readers are read in the layout of the pack and converted. */
#include "hexc/ir/bit_order.h"
#include "infer/core/tile_origin.h"
#include "infer/memory/memory.h"
#include "infer/memory/pack_layout.h"
#include "infer/rules/layout_rules.h"

static const Pack *
pack_of(const Solve *s, const Op *unpack)
{
	const Pack *p = s->sol ? s->sol->pack[pack_tensor(unpack)->index] : NULL;

	return p ? p : val_param(s->k, pack_tensor(unpack))->pack;
}

/* ---- the op -------------------------------------------------------------------------------------------- */

static void
keep_pack(Solve *s, const Op *o, const Pack *p)
{
	const Pack **have = &s->sol->pack[pack_tensor(o)->index];

	if (!*have) {
		Pack *copy = NEW(s->arena, Pack);

		*copy = *p;
		*have = copy;
	}
}

/* Computes the tile's layout from the chosen pack, or from a default one. */
static bool
own_layout(Solve *s, const Op *o, const Type *t, Pack *p, Layout *l)
{
	*p = *pack_of(s, o);
	return (p->layout || pack_default(s, p)) && pack_layout(s, t, p, l);
}

/* Does l, once arranged, agree with the tensor's pack?  If there is no pack, l defines it in *p. */
static bool
agrees(Solve *s, const Op *o, Layout *l, Pack *p)
{
	const Pack *have = pack_of(s, o);
	const int at[2] = { l->ndim - 2, l->ndim - 1 };

	*p = *have;
	if (!pack_arrange(l, at, have))
		return false;
	pack_read(s, l, at, p);
	return !have->layout || (have->streams == p->streams && layout_equal(have->layout, p->layout));
}

void
rule_unpack(Solve *s, Op *o)
{
	const Layout *known = s->sol->val[o->out[0]->id];
	Layout l, words;
	Pack p;

	if (!known)
		return;
	l = *known;
	if ((!agrees(s, o, &l, &p) && !own_layout(s, o, &o->out[0]->type, &p, &l)) ||
	    !pack_words_layout(&words, &l, &p)) {
		s->unpackable = o;
		return;
	}
	keep_pack(s, o, &p);
	require_operand(s, o, 0, &words);
	set_result(s, o, 0, &l);
}

bool
anchor_unpack(Solve *s, Op *o)
{
	Val *tile = o->code == O_pack ? pack_source(o) : o->out[0];
	Layout l;
	Pack p;

	return own_layout(s, o, &tile->type, &p, &l) && set_layout(s, tile, &l, o);
}

/* The tile is required in the layout of the pack. */
void
rule_pack(Solve *s, Op *o)
{
	const Layout *known = s->sol->val[pack_source(o)->id];
	Layout l, words;
	Pack p;

	if (!known)
		return;
	l = *known;
	if ((!agrees(s, o, &l, &p) && !own_layout(s, o, &pack_source(o)->type, &p, &l)) ||
	    !pack_words_layout(&words, &l, &p)) {
		s->unpackable = o;
		return;
	}
	keep_pack(s, o, &p);
	require_operand(s, o, 0, &l);
	set_result(s, o, 0, &words);
}

/* ---- dots ---------------------------------------------------------------------------------------------- */

static bool
has_shape(const Layout *l, const Type *t)
{
	for (int d = 0; d < l->ndim; d++)
		if (d >= t->rank || layout_extent(l, d) != t->shape[d])
			return false;
	return l->ndim == t->rank;
}

static bool arrange_tile(const Solve *s, const Val *v, Layout *l, const Pack *p);

static bool
arrange_transposed(const Solve *s, const Op *o, Layout *l, const Pack *p)
{
	int perm[DIM_MAX], back[DIM_MAX];
	Layout inner;

	for (int i = 0; i < o->out[0]->type.rank; i++) {
		perm[i] = (int)IMM_AT(o, perm, i);
		back[IMM_AT(o, perm, i)] = i;
	}
	layout_permute(&inner, l, back);
	if (!arrange_tile(s, op_source(o), &inner, p))
		return false;
	layout_permute(l, &inner, perm);
	return true;
}

static bool
arrange_reshaped(const Solve *s, const Op *o, Layout *l, const Pack *p)
{
	const Type *from = &op_source(o)->type, *to = &o->out[0]->type;
	Layout inner;

	return layout_reshape(&inner, l, from->rank, from->shape) &&
	       arrange_tile(s, op_source(o), &inner, p) &&
	       layout_reshape(l, &inner, to->rank, to->shape);
}

/* Renumbers the registers of l, a layout of v, as the unpacked tile that v comes from has them by its pack.
 * Returns false if it cannot have this layout. */
static bool
arrange_tile(const Solve *s, const Val *v, Layout *l, const Pack *p)
{
	const struct TileOrigin *from = &s->origin[v->id];
	const int at[2] = { l->ndim - 2, l->ndim - 1 };

	if (!from->from)
		return pack_arrange(l, at, p);
	if (v->def->code == O_transpose)
		return arrange_transposed(s, v->def, l, p);
	if (v->def->code == O_reshape)
		return arrange_reshaped(s, v->def, l, p);
	return has_shape(l, &from->from->type) && arrange_tile(s, from->from, l, p);
}

bool
suit_pack(const Solve *s, const Val *v, Layout *l)
{
	const struct TileOrigin *from = &s->origin[v->id];
	const Pack *p = from->unpack ? val_param(s->k, pack_tensor(from->unpack))->pack : NULL;
	Layout own = *l;

	if (!p)
		return true;
	if (!arrange_tile(s, v, &own, p))
		return p->layout != NULL; /* unchanged, and converted */
	*l = own;
	return true;
}

/* ---- bit order ----------------------------------------------------------------------------------- */

void
settle_packs(Solve *s)
{
	int *bit_order = NEWN(s->arena, int, s->k->nparam);

	for (int i = 0; i < s->k->nparam; i++)
		bit_order[i] = -1;
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		int *one = o->code == O_unpack ? &bit_order[pack_tensor(o)->index] : NULL;

		if (one)
			*one = s->sol->made[o->id][0] ? 0 : bit_order_liked_packed(s, o->out[0], *one);
	}
	for (int i = 0; i < s->k->nparam; i++) {
		const Pack *asked = s->k->param[i].pack;
		Pack *p = NEW(s->arena, Pack);

		if (!s->sol->pack[i])
			continue;
		*p = *s->sol->pack[i];
		p->bit_order = asked->layout ? asked->bit_order : bit_order[i] > 0 ? bit_order[i]
		                                                                   : 0;
		if (asked->layout)
			;
		else if (dtype_info[p->dtype].bits >= p->bit_order ||
		         p->block[0] * p->block[1] / p->streams %
		                 bit_order_unit(dtype_info[p->dtype].bits, p->bit_order))
			p->bit_order = 0;
		s->sol->pack[i] = p;
	}
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		const Pack *p = o->code == O_unpack ? s->sol->pack[pack_tensor(o)->index] : NULL;

		/* readers that do not support that order get natural order */
		if (p && p->bit_order && !s->sol->made[o->id][0] &&
		    bit_order_liked_packed(s, o->out[0], -1) == p->bit_order)
			bit_order_set(s, o->out[0], p->bit_order);
	}
}
