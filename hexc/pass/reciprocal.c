/* reciprocal.c - pass reciprocal: replaces f32 division by a constant or broadcast divisor with
 * multiplication by its reciprocal, computed once per divisor.
 *
 * requires   valid IR without layouts
 * preserves  divisions that the program marks exact
 * leaves     dead ops for dce; repeated reciprocals for cse */
#include "hexc/pass/fold.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/pass.h"
#include <math.h>

/* Returns the value that y repeats; NULL: y is no broadcast. */
static Val *
shared_value(const Val *y)
{
	const Op *p = y->def;

	return p && (p->code == O_broadcast || p->code == O_splat) ? op_source(p) : NULL;
}

/* Returns 1 / x, computed before op at. */
static Val *
reciprocal(Op *at, Val *x)
{
	Val *in[2] = { const_make(at, &x->type, (Constant){ 0, 1 }), x };

	return op_new(at->parent, at, O_div, at->src, 2, in, 1, &x->type)->out[0];
}

/* Returns 1 / divisor of o, in its type and shape, computed before o; NULL: not profitable. */
static Val *
factor_of(Op *o)
{
	Val *y = elt_rhs(o), *x = shared_value(y);
	Constant c;

	if (const_get(y, &c)) {
		c.f = num_round(y->type.dtype, 1 / c.f);
		return isnormal(c.f) ? const_make(o, &y->type, c) : NULL;
	}
	if (!x)
		return NULL;
	x = reciprocal(o, x);
	return op_new(o->parent, o, y->def->code, o->src, 1, &x, 1, &y->type)->out[0];
}

bool
pass_reciprocal(Kernel *k)
{
	uint32_t n = (uint32_t)k->nval + 1;
	Val **to = NEWN(k->unit->arena, Val *, n);
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		Val *in[2], *r;

		if (o->code != O_div || o->out[0]->type.dtype != D_f32 || IMM(o, exact))
			continue;
		in[0] = elt_lhs(o);
		in[1] = factor_of(o);
		if (!in[1])
			continue;
		r = op_new(o->parent, o, O_mul, o->src, 2, in, 1, &o->out[0]->type)->out[0];
		r->name = o->out[0]->name;
		to[o->out[0]->id] = r;
		changed = true;
	}
	if (changed)
		vals_replace(k, to, n);
	return changed;
}
