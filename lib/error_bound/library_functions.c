/* library_functions.c - bounds library functions whose IR expansion hides that they are monotonic.
 *
 * log2 and others split their argument by its bits, so the ops imply no bound if the argument is slightly
 * off: another exponent comes with another fraction. But these functions rise or fall, with a relative
 * error of at most some 2^-n. Between two arguments the result therefore lies between the results at both.
 * Both are computed by repeating the function's ops for each end of the interval. A remainder rises by as
 * much as its argument, unless it jumps in between; the results at both ends tell that. */
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

/* The function's ops repeated, with `to` instead of x. */
typedef struct Again {
	Twin *t;
	const Val *x;
	Val *to;
	Val **made; /* by id of a value of the kernel */
	bool failed; /* it depends on another inexact value */
} Again;

/* Returns v recomputed; values that do not depend on x are reused. */
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
	if (!depends) {
		g->failed |= g->t->err[v->id] != NULL;
		return g->made[v->id] = was;
	}
	c = bound_op(g->t, o->code, o->nin, in, was->type)->def;
	memcpy(c->imm, o->imm, sizeof c->imm);
	return g->made[v->id] = c->out[0];
}

/* Returns, in f64, the function at x, of the argument's type; NULL if it depends on other inexact values. */
static Val *
value_at(Twin *t, const Site *s, Val *x)
{
	Again g = { .t = t, .x = select_no(s->o), .made = NEWN(t->a, Val *, t->from->nval + 1), .to = x };
	Val *y = again(&g, select_yes(s->o));

	return g.failed ? NULL : bound_f64(t, y);
}

/* Returns the distance of the results at both ends, plus the roundings of the ends, of the results there
 * and of results in between. */
static Val *
between(Twin *t, const Site *s, Val *ex, double error)
{
	DType d = s->r->type.dtype;
	Val *x = bound_f64(t, s->x[2]), *y = bound_f64(t, s->x[1]), *low, *high, *far, *top, *tiny;
	Val *wide = ADD(ADD(ex, MUL(ABS(x), NUM(2 * bound_roundoff(d)))), NUM(bound_smallest(d, false)));
	Val *from = SUB(x, wide), *to = ADD(x, wide), *got;

	from = bound_opn(t, O_cast, 1, &from, d);
	to = bound_opn(t, O_cast, 1, &to, d);
	low = value_at(t, s, from);
	high = value_at(t, s, to);
	if (!low) /* then high has none either */
		return NUM(INFINITY);
	got = SUB(high, low);
	top = MAX(MAX(ABS(low), ABS(high)), ABS(y));
	far = MAX(ABS(SUB(high, y)), ABS(SUB(y, low)));
	tiny = NUM(4 * bound_smallest(d, false));
	far = ADD(far, ADD(MUL(top, NUM(4.01 * error)), tiny));
	high = ADD(low, high); /* NaN if either is */
	far = bound_where(t, bound_cmp(t, O_eq, high, high), far, NUM(INFINITY));
	if (IMM(s->o, known) == KNOWN_REMAINDER) {
		Val *rise = SUB(bound_f64(t, to), bound_f64(t, from)), *lost = SUB(rise, got);

		/* of k jumps by y: at least k / (k + 2) of the rise, since results differ by at most 2 y */
		far = bound_where(t, bound_cmp(t, O_lt, lost, MUL(rise, NUM(0.25))), far, NUM(INFINITY));
	}
	if (IMM(s->o, known) == KNOWN_POSITIVE)
		far = bound_where(t, bound_cmp(t, O_lt, NUM(0), SUB(x, wide)), far, NUM(INFINITY));
	return far;
}

Val *
bound_known(Twin *t, const Site *s)
{
	Val *ex = s->e[2], *e = s->e[1], *y;
	double error = IMM(s->o, error) ? ldexp(1, -(int)IMM(s->o, error)) : 0;

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
