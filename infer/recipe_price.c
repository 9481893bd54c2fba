/* recipe_price.c - what casts of narrow elements cost, by their recipes. */
#include "infer/recipe.h"
#include "infer/solve.h"

const CastPrice *
cast_price(const Solve *s, const Op *o, int spread)
{
	CastPrice *p = &s->cast[3 * o->id + (uint32_t)spread / 8];
	Recipe r;

	if (p->known)
		return p;
	p->known = true;
	p->any = recipe_make(&r, o->in[0]->type.dtype, spread, o->out[0]->type.dtype,
	                     s->k->unit->target->features);
	if (p->any) {
		p->steps = r.nstep;
		p->last = recipe_arithmetic(&r);
	}
	return p;
}
