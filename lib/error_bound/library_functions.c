/* library_functions.c - values of functions whose text says less than what they are.
 *
 * log2 and others take their argument apart by its bits, so that nothing follows from the ops where the
 * argument is a little off: another exponent goes with another fraction.  But such a function rises, or
 * falls, and is off by no more than some 2^-n of itself: so at whatever is between two arguments it is
 * between its values there.  These are computed, by the same ops once more for each end. */
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

/* The function once more, at `to` instead of x. */
typedef struct Again {
	Twin *t;
	const Val *x;
	Val *to;
	Val **made; /* by id of a value of the kernel */
	bool failed; /* it depends on something else that is not exact */
} Again;

/* What does not depend on x was there before. */
static Val *
again(Again *g, const Val *v)
{
	const Op *o = v->def;
	Val *in[3], *was = bound_val(g->t, v);
	bool depends = false;
	Op *c;

	if (v == g->x)
		return g->to;
	if (v->id < g->x->id || !o || !op_is(o, F_ELT)) {
		g->failed |= g->t->err[v->id] != NULL;
		return was;
	}
	if (g->made[v->id])
		return g->made[v->id];
	for (int i = 0; i < o->nin; i++) {
		in[i] = again(g, o->in[i]);
		depends |= in[i] != bound_val(g->t, o->in[i]);
	}
	if (!depends)
		return g->made[v->id] = was;
	c = op_new(g->t->at, NULL, o->code, o->src, o->nin, in, 1, &was->type);
	memcpy(c->imm, o->imm, sizeof c->imm);
	c->fimm = o->fimm;
	return g->made[v->id] = c->out[0];
}

/* In f64, the function where its argument is x, an f64, rounded to the argument's type; NULL: it depends on
 * more that is not exact. */
static Val *
value_at(Twin *t, const Site *s, Val *x)
{
	Again g = { .t = t, .x = s->o->in[2], .made = NEWN(t->a, Val *, t->from->nval + 1) };
	Val *y;

	g.to = bound_opn(t, O_cast, 1, &x, s->r->type.dtype);
	y = again(&g, s->o->in[1]);
	return g.failed ? NULL : bound_f64(t, y);
}

/* The distance of the values at both ends, and on top what rounding may do to the ends, to the results there
 * and to what is between them. */
static Val *
between(Twin *t, const Site *s, Val *ex, double error)
{
	DType d = s->r->type.dtype;
	Val *x = bound_f64(t, s->x[2]), *y = bound_f64(t, s->x[1]), *low, *high, *far, *top, *tiny;
	Val *wide = ADD(ADD(ex, MUL(ABS(x), NUM(2 * bound_roundoff(d)))), NUM(bound_smallest(d, false)));

	low = value_at(t, s, SUB(x, wide));
	high = value_at(t, s, ADD(x, wide));
	if (!low || !high)
		return NUM(INFINITY);
	top = MAX(MAX(ABS(low), ABS(high)), ABS(y));
	far = MAX(ABS(SUB(high, y)), ABS(SUB(y, low)));
	tiny = NUM(4 * bound_smallest(d, false));
	far = ADD(far, ADD(MUL(top, NUM(4.01 * error)), tiny));
	high = ADD(low, high); /* a NaN, where one is */
	far = bound_where(t, bound_cmp(t, O_eq, high, high), far, NUM(INFINITY));
	if (IMM(s->o, known) == KNOWN_POSITIVE)
		far = bound_where(t, bound_cmp(t, O_lt, NUM(0), SUB(x, wide)), far, NUM(INFINITY));
	return far;
}

Val *
bound_known(Twin *t, const Site *s)
{
	Val *ex = s->e[2], *e = s->e[1], *y;
	double error = ldexp(1, -(int)IMM(s->o, error));

	if (!ex || !e)
		return e;
	if (IMM(s->o, known) == KNOWN_SLOW) {
		y = ABS(bound_f64(t, s->x[1]));
		y = ADD(ex, MUL(ADD(MUL(y, NUM(2)), ex), NUM(error)));
		y = ADD(y, NUM(2 * bound_smallest(s->r->type.dtype, false)));
	} else {
		y = between(t, s, ex, error);
	}
	return bound_if_positive(t, e, MIN(e, MUL(y, NUM(1 + ldexp(1, -40)))));
}
