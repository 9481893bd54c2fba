/* lower_extreme.c - reduce_max and reduce_min of floats: of no numbers -inf and inf.
 *
 * A NaN counts as an element that is not there.  A reduction in steps cannot keep that: of NaN and NaN it makes NaN,
 * of NaN and the -inf of a mask or a lane without elements -inf.  So the result is compared with -inf (inf) once
 * more, and depends on neither edges nor layouts.  Where all that reads it makes the same of NaN as of -inf, that
 * comparison goes again: `top = max(top, reduce_max(x, 1))`, of a `top` that is never NaN. */
#include "hexc/ir/number.h"
#include "hexc/lang/lower.h"
#include "hexc/pass/fold.h"
#include <math.h>

Val *
lower_put_extreme(Lower *l, const Expr *e, OpCode code, Val *x, int dim)
{
	Val *r = lower_put_reduce(l, e, code, x, dim);
	Value none = value_flt(code == O_reduce_max ? -(double)INFINITY : (double)INFINITY);

	if (!dtype_is_float(x->type.dtype))
		return r;
	return put2(l, code == O_reduce_max ? O_max : O_min, e->src, r, put_const(l, &none, r->type, e->src),
	            r->type);
}

/* ---- where nobody sees the difference ------------------------------------------------------------------ */

typedef struct User {
	Op *op;
	struct User *next;
} User;

enum { DEPTH = 40, ASSUMED = 8 };

typedef struct Extremes {
	Kernel *k;
	User **user; /* by id of a value */
	const Val *assumed[ASSUMED]; /* carried by loops, not NaN at the head of a turn */
	int n;
} Extremes;

static bool never_nan(Extremes *x, const Val *v, int depth);

static bool
is_assumed(const Extremes *x, const Val *v)
{
	for (int i = 0; i < x->n; i++)
		if (x->assumed[i] == v)
			return true;
	return false;
}

/* Number i of what the loop carries, by induction. */
static bool
never_carried(Extremes *x, const Op *loop, int i, int depth)
{
	const Block *body = loop->blk[0];
	const Val *head = body->arg[1 + i];
	bool ok;

	if (is_assumed(x, head))
		return true;
	if (x->n == ASSUMED || !never_nan(x, loop->in[3 + i], depth))
		return false;
	x->assumed[x->n++] = head;
	ok = never_nan(x, body->last->in[i], depth);
	x->n--;
	return ok;
}

/* Of a value without an op: a loop's, at the head of a turn. */
static bool
never_at_head(Extremes *x, const Val *v, int depth)
{
	const Op *loop = v->block ? v->block->owner : NULL;

	for (int i = 0; loop && loop->code == O_for && i < loop->nout; i++)
		if (loop->blk[0]->arg[1 + i] == v)
			return never_carried(x, loop, i, depth);
	return false;
}

/* Result v of a loop or a choice of blocks. */
static bool
never_behind(Extremes *x, const Op *o, const Val *v, int depth)
{
	for (int i = 0; i < o->nout; i++) {
		if (o->out[i] != v)
			continue;
		if (o->code == O_for)
			return never_carried(x, o, i, depth);
		return o->blk[0] && o->blk[1] && never_nan(x, o->blk[0]->last->in[i], depth) &&
		       never_nan(x, o->blk[1]->last->in[i], depth);
	}
	return false;
}

/* Is no element of v NaN, whatever tensors hold? */
static bool
never_nan(Extremes *x, const Val *v, int depth)
{
	const Op *o = v->def;
	Constant c;

	if (!dtype_is_float(v->type.dtype))
		return true;
	if (depth-- == 0)
		return false;
	if (!o)
		return never_at_head(x, v, depth);
	switch ((int)o->code) {
	case O_const: return const_get(v, &c) && !isnan(c.f);
	case O_max:
	case O_min: return never_nan(x, o->in[0], depth) || never_nan(x, o->in[1], depth);
	case O_select: return never_nan(x, o->in[1], depth) && never_nan(x, o->in[2], depth);
	case O_cast: return never_nan(x, o->in[0], depth);
	case O_splat:
	case O_broadcast:
	case O_transpose:
	case O_reshape:
	case O_slice:
	case O_neg:
	case O_abs: return v->type.space != S_shared && never_nan(x, o->in[0], depth);
	case O_for:
	case O_if: return never_behind(x, o, v, depth);
	default: return false;
	}
}

/* Is it the same to all that read v, whether an element is NaN or the number of the reduction: they take the larger
 * (smaller) one of it and of what is never NaN? */
static bool
all_absorb(Extremes *x, const Val *v, OpCode larger, int depth)
{
	const OpCode reduction = larger == O_max ? O_reduce_max : O_reduce_min;

	if (depth-- == 0)
		return false;
	for (const User *u = x->user[v->id]; u; u = u->next) {
		const Op *o = u->op;

		if (o->code == larger) {
			if (o->in[0] == o->in[1] || !never_nan(x, o->in[o->in[0] == v], DEPTH))
				return false;
		} else if (o->code == reduction || o->code == O_reshape || o->code == O_broadcast ||
		           o->code == O_transpose) {
			if (!all_absorb(x, o->out[0], larger, depth))
				return false;
		} else {
			return false;
		}
	}
	return true;
}

static bool
is_compared(const Op *o)
{
	const Op *reduce = o->nin ? o->in[0]->def : NULL;
	Constant c;

	if ((o->code != O_max && o->code != O_min) || !reduce ||
	    reduce->code != (o->code == O_max ? O_reduce_max : O_reduce_min) || !const_get(o->in[1], &c) ||
	    !dtype_is_float(o->out[0]->type.dtype))
		return false;
	return isinf(c.f) && signbit(c.f) == (o->code == O_max);
}

static void
read_users(Extremes *x)
{
	OpWalk w;

	x->user = NEWN(x->k->unit->arena, User *, x->k->nval + 1);
	for (Op *o = walk_first(&w, x->k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++) {
			User *u = NEW(x->k->unit->arena, User);

			*u = (User){ o, x->user[o->in[i]->id] };
			x->user[o->in[i]->id] = u;
		}
}

/* What reads the result of o reads what it compares. */
static void
take_away(Extremes *x, Op *o)
{
	Val *v = o->out[0], *r = o->in[0];

	for (User *u = x->user[v->id], *next; u; u = next) {
		next = u->next;
		for (int i = 0; i < u->op->nin; i++)
			if (u->op->in[i] == v)
				u->op->in[i] = r;
		u->next = x->user[r->id];
		x->user[r->id] = u;
	}
	if (!r->name)
		r->name = v->name;
	op_unlink(o);
}

void
lower_extremes(Kernel *k)
{
	Extremes x = { .k = k };
	OpWalk w;
	Op *next;

	for (Op *o = walk_first(&w, k->body); o; o = next) {
		next = walk_next(&w);
		if (!is_compared(o))
			continue;
		if (!x.user)
			read_users(&x);
		if (!o->out[0]->type.pinned && all_absorb(&x, o->out[0], o->code, DEPTH))
			take_away(&x, o);
	}
}
