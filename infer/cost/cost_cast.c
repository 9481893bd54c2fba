/* cost_cast.c - estimates the cost of casts of narrow elements, from their cast sequences, and of lookups. */
#include "infer/cost/cost.h"
#include "infer/narrow_cast/cast_sequence.h"

enum { ORDERS = 4 }; /* cached per cast: orders 0, 8, 16, and the last other one */

void
forget_casts(Solve *s)
{
	s->cast = NEWN(s->arena, CastCost, ORDERS * (s->k->nop + 1));
}

const CastCost *
cast_cost(const Solve *s, const Op *o, int bit_order)
{
	CastCost *p = &s->cast[ORDERS * o->id + (uint32_t)(bit_order <= 16 ? bit_order / 8 : 3)];
	CastSequence r;

	if (p->known && p->bit_order == bit_order)
		return p;
	p->known = true;
	p->bit_order = bit_order;
	p->any = recipe_make(&r, op_source(o)->type.dtype, bit_order, o->out[0]->type.dtype,
	                     s->k->unit->target->features);
	if (p->any) {
		p->steps = r.nstep;
		p->last = recipe_arithmetic(&r);
	}
	return p;
}

double
lookup_weight(const Solve *s, const Op *o)
{
	const Val *index = lookup_index(o);
	int bits = bits_of(index), bytes = bits_of(o->out[0]) / 8;
	double four = bytes * (bits == 4 ? 3 : 1) + (bytes == 1 ? 0 : 2 * bytes - 2) + (bits == 4 ? 2.5 : 1);

	if (bits < 3 && !s->sol->bit_order[index->id]) /* codes are moved to slots of 4 bits */
		four += bits == 2 ? 3 : 6;
	return four / 4;
}
