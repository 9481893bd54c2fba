/* packed.c - packed tensors: where in its blocks each element is follows from what reads it.
 *
 * A tensor has one pack.  The first reader chooses it; tiles of others, and of a pack that the program gives,
 * are made as the pack has them and converted. */
#include "hexc/ir/spread.h"
#include "infer/memory/pack_layout.h"
#include "infer/recipe/recipe.h"

enum { DEPTH = 24 };

static const Pack *
pack_of(const Solve *s, const Op *unpack)
{
	const Pack *p = s->sol ? s->sol->pack[unpack->in[1]->index] : NULL;

	return p ? p : val_param(s->k, unpack->in[1])->pack;
}

/* ---- the op -------------------------------------------------------------------------------------------- */

static void
keep_pack(Solve *s, const Op *o, const Pack *p)
{
	const Pack **have = &s->sol->pack[o->in[1]->index];

	if (!*have) {
		Pack *copy = NEW(s->arena, Pack);

		*copy = *p;
		*have = copy;
	}
}

/* The tile as the pack that is chosen has it, or as a default one. */
static bool
own_layout(Solve *s, const Op *o, const Type *t, Pack *p, Layout *l)
{
	*p = *pack_of(s, o);
	return (p->place || pack_default(s, p)) && pack_layout(s, t, p, l);
}

/* Does l, arranged, have the elements where the tensor's pack has them?  Without a pack, it has one now. */
static bool
agrees(Solve *s, const Op *o, Layout *l, Pack *p)
{
	const Pack *have = pack_of(s, o);
	const int at[2] = { l->ndim - 2, l->ndim - 1 };

	*p = *have;
	if (!pack_arrange(l, at, have))
		return false;
	pack_read(s, l, at, p);
	return !have->place || (have->streams == p->streams && layout_equal(have->place, p->place));
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
	demand(s, o, 0, &words);
	deliver(s, o, 0, &l);
}

bool
anchor_unpack(Solve *s, Op *o)
{
	Val *tile = o->code == O_pack ? o->in[0] : o->out[0];
	Layout l;
	Pack p;

	return own_layout(s, o, &tile->type, &p, &l) && give(s, tile, &l, o);
}

/* The pack is known: the tile is wanted as it has it. */
void
rule_pack(Solve *s, Op *o)
{
	const Layout *known = s->sol->val[o->in[0]->id];
	Layout l, words;
	Pack p;

	if (!known)
		return;
	l = *known;
	if ((!agrees(s, o, &l, &p) && !own_layout(s, o, &o->in[0]->type, &p, &l)) ||
	    !pack_words_layout(&words, &l, &p)) {
		s->unpackable = o;
		return;
	}
	keep_pack(s, o, &p);
	demand(s, o, 0, &l);
	deliver(s, o, 0, &words);
}

/* ---- dots ---------------------------------------------------------------------------------------------- */

/* The unpack that v comes from, elementwise; at[i]: v's dim of the rows and columns. */
static const Op *
unpack_behind(const Val *v, int at[2], int depth)
{
	const Op *o = v->def, *found;

	if (!o || depth == 0)
		return NULL;
	if (o->code == O_unpack) {
		at[0] = v->type.rank - 2;
		at[1] = v->type.rank - 1;
		return o;
	}
	if (o->code == O_transpose) {
		found = unpack_behind(o->in[0], at, depth - 1);
		for (int i = 0; found && i < 2; i++) {
			int d = 0;

			while (o->imm[d] != at[i])
				d++;
			at[i] = d;
		}
		return found;
	}
	if (o->code != O_clip && !(op_info[o->code].flags & F_ELT))
		return NULL;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_reg && (found = unpack_behind(o->in[i], at, depth - 1)) != NULL)
			return found;
	return NULL;
}

bool
is_unpacked(const Val *v)
{
	int at[2];

	return unpack_behind(v, at, DEPTH) != NULL;
}

bool
suit_pack(const Solve *s, const Val *v, Layout *l)
{
	int at[2];
	const Op *o = unpack_behind(v, at, DEPTH);
	Layout own = *l;

	if (!o)
		return true;
	if (!pack_arrange(&own, at, val_param(s->k, o->in[1])->pack))
		return val_param(s->k, o->in[1])->pack->place != NULL; /* as it is, and converted */
	*l = own;
	return true;
}

/* ---- the order of bits --------------------------------------------------------------------------- */

/* The order that a cast likes best: one with a recipe, as wide as the result's elements if it can be, of
 * packed floats the one that is made for them.  Natural order is as good for what lies in whole words as it
 * is, if its recipe is no longer. */
static int
cast_likes(const Solve *s, const Op *o, bool packed)
{
	int bits = bits_of(o->in[0]), lane = bits_of(o->out[0]), wide = lane <= 8 ? 8 : 16, best = 0;
	const DTypeInfo *from = &dtype_info[o->in[0]->type.dtype], *to = &dtype_info[o->out[0]->type.dtype];
	/* of 8 and 16 the first that will do; for floats 4, and the one for their fields */
	int order[4] = { wide, 24 - wide, 4, SPREAD_HALF + to->man - from->man };
	bool whole = is_pow2(bits), half = packed && lane == 16 && from->kind == K_flt;
	double least = 1e9;

	if (whole && cast_price(s, o, 0)->any)
		least = cast_price(s, o, 0)->steps + cast_price(s, o, 0)->last;
	if (lane > 16 && whole)
		return 0;
	for (int i = 0; i < (half ? 4 : 2); i++) {
		const CastPrice *p;

		if ((i == 1 && best) || !spread_valid(bits, order[i]))
			continue;
		p = cast_price(s, o, order[i]);
		if (bits < order[i] && p->any && p->steps + p->last < least) {
			least = p->steps + p->last;
			best = order[i];
		}
	}
	return best;
}

/* The spread that all readers of a narrow tile like, packed or not; -1 not asked yet. */
static int
liked(const Solve *s, const Val *v, int depth, int so_far, bool packed)
{
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const Use *u = &s->use[v->id][i];
		int one = 0;

		if (s->sol->want[u->op->id][u->i] || depth == 0)
			return 0; /* a conversion stands in between */
		if (u->op->code == O_transpose || u->op->code == O_reshape)
			one = liked(s, u->op->out[0], depth - 1, so_far, packed);
		else if (u->op->code == O_cast)
			one = cast_likes(s, u->op, packed);
		else if (u->op->code == O_lookup && packed && bits_of(v) < 4)
			one = 4;
		if (so_far >= 0 && one != so_far)
			return 0;
		so_far = one;
	}
	return so_far;
}

int
spread_liked(const Solve *s, const Val *v)
{
	int spread = liked(s, v, DEPTH, -1, false);
	Recipe *r = NEW(s->arena, Recipe);
	DType to = spread == 16 ? D_f16 : D_i8;
	unsigned have = s->k->unit->target->features;

	return spread > 0 && recipe_make(r, v->type.dtype, spread, to, have) ? spread : 0;
}

void
spread_tile(Solve *s, const Val *v, int spread)
{
	s->sol->spread[v->id] = spread;
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const Op *o = s->use[v->id][i].op;

		if (o->code == O_transpose || o->code == O_reshape)
			spread_tile(s, o->out[0], spread);
	}
}

void
settle_packs(Solve *s)
{
	int *spread = NEWN(s->arena, int, s->k->nparam);

	for (int i = 0; i < s->k->nparam; i++)
		spread[i] = -1;
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		int *one = o->code == O_unpack ? &spread[o->in[1]->index] : NULL;

		if (one)
			*one = s->sol->made[o->id][0] ? 0 : liked(s, o->out[0], DEPTH, *one, true);
	}
	for (int i = 0; i < s->k->nparam; i++) {
		const Pack *asked = s->k->param[i].pack;
		Pack *p = NEW(s->arena, Pack);

		if (!s->sol->pack[i])
			continue;
		*p = *s->sol->pack[i];
		p->spread = asked->place ? asked->spread : spread[i] > 0 ? spread[i]
		                                                         : 0;
		if (asked->place)
			;
		else if (dtype_info[p->dtype].bits >= p->spread ||
		         p->block[0] * p->block[1] / p->streams %
		                 spread_unit(dtype_info[p->dtype].bits, p->spread))
			p->spread = 0;
		s->sol->pack[i] = p;
	}
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		const Pack *p = o->code == O_unpack ? s->sol->pack[o->in[1]->index] : NULL;

		/* who cannot read that order has the bits put in natural order */
		if (p && p->spread && !s->sol->made[o->id][0] &&
		    liked(s, o->out[0], DEPTH, -1, true) == p->spread)
			spread_tile(s, o->out[0], p->spread);
	}
}
