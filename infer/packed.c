/* packed.c - packed tensors: where in its blocks each element is follows from what reads it.
 *
 * A layout of the tile of elements is cut at the blocks.  In a block its digits are registers and lanes: the
 * lanes are the pack's streams, the registers the elements of a stream, and so the place of every element.
 * Whole blocks are dealt out to the rest of the registers, lanes and warps.  The words then lie by
 * themselves: a lane holds the words of its streams, four of them at a time neighbours in memory.
 *
 * A tensor has one pack.  The first reader chooses it; tiles of others, and of a pack that the program gives,
 * are made as the pack has them and converted. */
#include "hexc/facts.h"
#include "hexc/pack.h"
#include "hexc/spread.h"
#include "infer/recipe.h"
#include "infer/solve.h"

enum { DEPTH = 24, ACCESS_BITS = 128 };

/* A digit of a layout of elements. */
typedef struct Digit {
	Iter *it;
	int dim;
	bool inside; /* of a block */
} Digit;

static int
digits(Layout *l, const int at[2], const int64_t block[2], Digit *out)
{
	int n = 0;

	for (int d = 0; d < l->ndim; d++) {
		int64_t weight = 1, most = d == at[0] ? block[0] : d == at[1] ? block[1]
		                                                              : 1;

		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			out[n++] = (Digit){ &l->it[i], d, weight < most };
			weight *= l->it[i].extent;
		}
	}
	return n;
}

static const Pack *
pack_of(const Solve *s, const Op *unpack)
{
	const Pack *p = s->sol ? s->sol->pack[unpack->in[1]->index] : NULL;

	return p ? p : val_param(s->k, unpack->in[1])->pack;
}

/* ---- from a layout to a pack ------------------------------------------------------------------------- */

static bool
block_is_shared_well(const Digit *x, int n, int bits, int64_t *each)
{
	*each = 1;
	for (int i = 0; i < n; i++) {
		const Iter *it = x[i].it;

		if (!x[i].inside || it->extent == 1)
			continue;
		if (it->axis == AX_reg && it->stride)
			*each *= it->extent;
		else if (it->axis != AX_lane)
			return false;
	}
	return *each * bits % ACCESS_BITS == 0;
}

/* Registers of a block get numbers below `each`, those along the dim of the first register first. */
static void
number_inside(Digit *x, int n, const int at[2])
{
	int first = at[1];
	int64_t next = 1;

	for (int i = 0; i < n; i++)
		if (x[i].inside && x[i].it->axis == AX_reg && x[i].it->stride == 1 && x[i].it->extent > 1)
			first = x[i].dim;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < n; i++) {
			Iter *it = x[i].it;

			if (!x[i].inside || it->axis != AX_reg || (x[i].dim == first) != (pass == 0))
				continue;
			it->stride = it->extent > 1 ? next : it->stride;
			next *= it->extent;
		}
}

/* The other registers keep their order. */
static void
number_outside(Digit *x, int n, int64_t next)
{
	Iter *order[ITER_MAX];
	int k = 0;

	for (int i = 0; i < n; i++) {
		int j = k;

		if (x[i].inside || x[i].it->axis != AX_reg || !x[i].it->stride || x[i].it->extent == 1)
			continue;
		for (k++; j > 0 && order[j - 1]->stride > x[i].it->stride; j--)
			order[j] = order[j - 1];
		order[j] = x[i].it;
	}
	for (int i = 0; i < k; i++) {
		order[i]->stride = next;
		next *= order[i]->extent;
	}
}

/* Number the registers of l so that those of a block follow one another.  False: its lanes do not share the
 * blocks by whole accesses. */
static bool
arrange(Layout *l, const int at[2], const Pack *p)
{
	Digit x[ITER_MAX];
	int64_t each;
	int n;

	for (int i = 0; i < 2; i++)
		if (layout_extent(l, at[i]) > p->block[i] && !layout_split(l, at[i], p->block[i]))
			return false;
	n = digits(l, at, p->block, x);
	if (l->offset[AX_reg] || !block_is_shared_well(x, n, dtype_info[p->dtype].bits, &each))
		return false;
	number_inside(x, n, at);
	number_outside(x, n, each);
	return true;
}

/* Lanes of the digits inside that count slower than this stride. */
static int64_t
lanes_below(const Digit *x, int n, int64_t stride)
{
	int64_t lanes = 1;

	for (int i = 0; i < n; i++)
		if (x[i].inside && x[i].it->axis == AX_lane && x[i].it->stride < stride)
			lanes *= x[i].it->extent;
	return lanes;
}

/* The pack that an arranged layout asks for. */
static void
read_pack(Solve *s, Layout *l, const int at[2], Pack *p)
{
	Layout *place = NEW(s->arena, Layout);
	Digit x[ITER_MAX];
	int n = digits(l, at, p->block, x);
	int64_t each;

	block_is_shared_well(x, n, dtype_info[p->dtype].bits, &each);
	layout_init(place, 2);
	for (int i = 0; i < n; i++)
		if (x[i].inside)
			layout_push(place, x[i].dim == at[1], x[i].it->extent,
			            x[i].it->axis == AX_reg ? x[i].it->stride
			                                    : each * lanes_below(x, n, x[i].it->stride),
			            AX_mem);
	p->place = place;
	p->streams = p->block[0] * p->block[1] / each;
}

/* How the words lie under elements that lie as l, arranged. */
static bool
words_layout(Layout *out, Layout *l, const Pack *p)
{
	const int at[2] = { l->ndim - 2, l->ndim - 1 };
	int64_t each = p->block[0] * p->block[1] / p->streams, words = each * dtype_info[p->dtype].bits / 32;
	int64_t quad = words % 4 ? words : 4, done = 0;
	Digit x[ITER_MAX];
	int n = digits(l, at, p->block, x);

	layout_init(out, l->ndim + 1);
	for (int i = 0; i < n; i++) {
		const Iter *it = x[i].it;
		int64_t stride = it->axis == AX_reg ? it->stride / each * words : it->stride;

		if (!x[i].inside && !layout_push(out, x[i].dim, it->extent, stride, (Axis)it->axis))
			return false;
	}
	layout_push(out, l->ndim, quad, 1, AX_reg);
	for (bool more = true; more;) { /* lanes from the fastest */
		const Iter *next = NULL;

		for (int i = 0; i < n; i++)
			if (x[i].inside && x[i].it->axis == AX_lane && x[i].it->stride > done &&
			    x[i].it->extent > 1 && (!next || x[i].it->stride < next->stride))
				next = x[i].it;
		more = next && layout_push(out, l->ndim, next->extent, next->stride, AX_lane);
		done = next ? next->stride : done;
	}
	if (!layout_push(out, l->ndim, words / quad, quad, AX_reg))
		return false;
	for (int i = 0; i < l->nrep; i++)
		if (!layout_push_rep(out, l->rep[i].extent, l->rep[i].stride, (Axis)l->rep[i].axis))
			return false;
	return true;
}

/* ---- from a pack to a layout --------------------------------------------------------------------------- */

/* Where nothing is asked: neighbours along a row in registers, then in lanes. */
static bool
default_pack(Solve *s, Pack *p)
{
	Layout *place = NEW(s->arena, Layout);
	int64_t each = p->block[0] * p->block[1] / WARP_SIZE, run = each < 8 ? each : 8;
	int64_t lanes = p->block[1] / run < WARP_SIZE ? p->block[1] / run : WARP_SIZE;
	int64_t more = p->block[1] / run / lanes, down = WARP_SIZE / lanes;

	if (each < 1 || p->block[1] % (run * lanes) || p->block[0] % down ||
	    each * dtype_info[p->dtype].bits % ACCESS_BITS)
		return false;
	layout_init(place, 2);
	layout_push(place, 1, run, 1, AX_mem);
	layout_push(place, 1, lanes, each, AX_mem);
	layout_push(place, 1, more, run, AX_mem);
	layout_push(place, 0, down, each * lanes, AX_mem);
	layout_push(place, 0, p->block[0] / down, run * more, AX_mem);
	p->place = place;
	p->streams = WARP_SIZE;
	return true;
}

/* Digits of dim i of a block: places in a stream are registers, streams are lanes. */
static bool
block_digits(Layout *l, int dim, const Layout *place, int i, int64_t each)
{
	for (int j = place->first[i]; j < place->first[i + 1]; j++) {
		const Iter *it = &place->it[j];
		int64_t regs = it->stride >= each ? 1 : it->extent;

		if (regs > 1 && it->stride * it->extent > each) {
			regs = each / it->stride;
			if (each % it->stride || it->extent % regs)
				return false;
		}
		if (!layout_push(l, dim, regs, it->stride, AX_reg) ||
		    !layout_push(l, dim, it->extent / regs, it->stride * regs / each, AX_lane))
			return false;
	}
	return true;
}

/* A tile as its pack has it: a block to the lanes of its streams, blocks of a row to the other lanes, rows of
 * blocks to the warps. */
static bool
layout_of_pack(Solve *s, const Type *t, const Pack *p, Layout *l)
{
	int64_t each = p->block[0] * p->block[1] / p->streams, regs = each, rest[DIM_MAX];
	int64_t lanes = WARP_SIZE, warps = s->k->warps;

	if (p->streams > WARP_SIZE || WARP_SIZE % p->streams)
		return false;
	layout_init(l, t->rank);
	lanes /= p->streams;
	for (int d = t->rank - 1; d >= 0; d--) {
		int i = d - (t->rank - 2);
		int64_t g;

		if (i >= 0 && !block_digits(l, d, p->place, i, each))
			return false;
		rest[d] = t->shape[d] / (i >= 0 ? p->block[i] : 1);
		g = gcd64(lanes, rest[d]);
		if (!layout_push(l, d, g, WARP_SIZE / lanes, AX_lane))
			return false;
		lanes /= g;
		rest[d] /= g;
	}
	for (int j = 0; j < t->rank; j++) {
		int d = j < 2 ? t->rank - 2 + j : j - 2;
		int64_t g = gcd64(warps, rest[d]);

		if (!layout_push(l, d, rest[d] / g, regs, AX_reg) ||
		    !layout_push(l, d, g, s->k->warps / warps, AX_warp))
			return false;
		regs *= rest[d] / g;
		warps /= g;
	}
	return (lanes == 1 || layout_push_rep(l, lanes, WARP_SIZE / lanes, AX_lane)) &&
	       (warps == 1 || layout_push_rep(l, warps, s->k->warps / warps, AX_warp));
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
	return (p->place || default_pack(s, p)) && layout_of_pack(s, t, p, l);
}

/* Does l, arranged, have the elements where the tensor's pack has them?  Without a pack, it has one now. */
static bool
agrees(Solve *s, const Op *o, Layout *l, Pack *p)
{
	const Pack *have = pack_of(s, o);
	const int at[2] = { l->ndim - 2, l->ndim - 1 };

	*p = *have;
	if (!arrange(l, at, have))
		return false;
	read_pack(s, l, at, p);
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
	    !words_layout(&words, &l, &p)) {
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
	    !words_layout(&words, &l, &p)) {
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
	if (!arrange(&own, at, val_param(s->k, o->in[1])->pack))
		return val_param(s->k, o->in[1])->pack->place != NULL; /* as it is, and converted */
	*l = own;
	return true;
}

/* ---- the order of bits --------------------------------------------------------------------------- */

/* The order that a cast likes best: one with a recipe, as wide as the result's elements if it can be. 
 * Natural order will do for what lies in whole words as it is. */
static int
cast_likes(const Solve *s, const Op *o)
{
	bool known = o->out[0]->type.dtype != D_bf16 || s->k->unit->target->features & T_BF16;
	int bits = bits_of(o->in[0]), lane = bits_of(o->out[0]), best = lane <= 8 ? 8 : 16;

	if (lane > 16 && (bits & (bits - 1)) == 0)
		return 0;
	for (int i = 0; known && i < 2; i++, best = 24 - best)
		if (bits < best && cast_price(s, o, best)->any)
			return best;
	return 0;
}

/* The spread that all readers of a narrow tile like, -1 not asked yet. */
static int
liked(const Solve *s, const Val *v, int depth, int so_far)
{
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const Use *u = &s->use[v->id][i];
		int one = 0;

		if (s->sol->want[u->op->id][u->i] || depth == 0)
			return 0; /* a conversion stands in between */
		if (u->op->code == O_transpose || u->op->code == O_reshape)
			one = liked(s, u->op->out[0], depth - 1, so_far);
		else if (u->op->code == O_cast)
			one = cast_likes(s, u->op);
		if (so_far >= 0 && one != so_far)
			return 0;
		so_far = one;
	}
	return so_far;
}

int
spread_liked(const Solve *s, const Val *v)
{
	int spread = liked(s, v, DEPTH, -1);
	Recipe *r = NEW(s->arena, Recipe);
	DType to = spread == 16 ? D_f16 : D_i8;

	return spread > 0 && recipe_make(r, v->type.dtype, spread, to) ? spread : 0;
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
			*one = s->sol->made[o->id][0] ? 0 : liked(s, o->out[0], DEPTH, *one);
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
		if (p && p->spread && !s->sol->made[o->id][0] && liked(s, o->out[0], DEPTH, -1) == p->spread)
			spread_tile(s, o->out[0], p->spread);
	}
}
