/* bit_order_choice.c - chooses the order of bits in the 32-bit registers of a narrow tile: the one that
 * makes its readers' casts cheapest. */
#include "hexc/ir/bit_order.h"
#include "infer/core/cost_constants.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/narrow_cast/cast_sequence.h"

/* Returns the bit order with the cheapest cast sequence.  Candidates are orders as wide as the result's
 * elements if possible; for packed floats also the order designed for their fields.  Natural order is
 * preferred for power-of-two widths unless its sequence is longer. */
static int
cast_likes(const Solve *s, const Op *o, bool packed)
{
	int bits = bits_of(op_source(o)), lane = bits_of(o->out[0]), wide = lane <= 8 ? 8 : 16, best = 0;
	const DTypeInfo *from = &dtype_info[op_source(o)->type.dtype];
	const DTypeInfo *to = &dtype_info[o->out[0]->type.dtype];
	/* 8 and 16: the first that works; for floats 4, and the order for their fields */
	int order[4] = { wide, 24 - wide, 4, ORDER_HALF + to->man - from->man };
	bool whole = is_pow2(bits), half = packed && lane == 16 && from->kind == K_flt;
	double least = 1e9;

	if (whole && cast_cost(s, o, 0)->any)
		least = cast_cost(s, o, 0)->steps + cast_cost(s, o, 0)->last;
	if (lane > 16 && whole)
		return 0;
	for (int i = 0; i < (half ? 4 : 2); i++) {
		const CastCost *p;

		if ((i == 1 && best) || !bit_order_valid(bits, order[i]))
			continue;
		p = cast_cost(s, o, order[i]);
		if (bits < order[i] && p->any && p->steps + p->last < least) {
			least = p->steps + p->last;
			best = order[i];
		}
	}
	return best;
}

/* Returns the bit order that all readers of a narrow tile prefer, packed or not; 0: they disagree; -1: no
 * reader so far. */
static int
liked(const Solve *s, const Val *v, int depth, int so_far, bool packed)
{
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const OperandUse *u = &s->use[v->id][i];
		int one = 0;

		if (s->sol->want[u->op->id][u->i] || depth == 0)
			return 0; /* a conversion comes in between */
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
bit_order_liked(const Solve *s, const Val *v)
{
	int bit_order = liked(s, v, CHAIN_DEPTH, -1, false);
	CastSequence *r = NEW(s->arena, CastSequence);
	DType to = bit_order == 16 ? D_f16 : D_i8;
	unsigned have = s->k->unit->target->features;

	return bit_order > 0 && recipe_make(r, v->type.dtype, bit_order, to, have) ? bit_order : 0;
}

int
bit_order_liked_packed(const Solve *s, const Val *v, int so_far)
{
	return liked(s, v, CHAIN_DEPTH, so_far, true);
}

void
bit_order_set(Solve *s, const Val *v, int bit_order)
{
	s->sol->bit_order[v->id] = bit_order;
	for (int i = 0; i < s->nuse[v->id]; i++) {
		const Op *o = s->use[v->id][i].op;

		if (o->code == O_transpose || o->code == O_reshape)
			bit_order_set(s, o->out[0], bit_order);
	}
}
