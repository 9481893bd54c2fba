/* mark_reductions.c - pass mark_reductions: marks reductions whose partial results a loop may carry, and
 * removes comparisons with -inf.
 *
 * requires   valid IR without layouts
 * preserves  everything but the marks and these comparisons
 *
 * Marked sums start at 0, so that the initial value of all lanes' partial sums is known to error bounds.
 * Their type is one whose sums are not rounded to a narrower one.
 *
 *     %r = reduce_max %x; %m = max %r, -inf; %t = max %top, %m    ->    %t = max %top, %r
 *
 * A NaN counts as an absent element. But a reduction of only NaNs gives NaN, and one of NaNs and a mask's
 * -inf gives -inf. So reduce_max is lowered with a comparison of its result with -inf, which makes it
 * independent of bounds and layouts. The comparison is removed if all uses treat NaN like -inf, as does the
 * max with a %top that is never NaN. */
#include "hexc/pass/mark_reductions.h"
#include "hexc/analysis/value_range.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"
#include <math.h>

/* Returns the op after o in its block that reads its result. */
static Op *
reader(const Op *o)
{
	for (Op *x = o->next; x; x = x->next)
		for (int i = 0; i < x->nin; i++)
			if (x->in[i] == o->out[0])
				return x;
	return NULL;
}

/* Returns the index of v among the values that the block yields; -1: none. */
static int
yielded(const Block *b, const Val *v)
{
	for (int i = 0; i < b->last->nin; i++)
		if (b->last->in[i] == v)
			return i;
	return -1;
}

/* Does `join` combine carried value x, optionally scaled by a factor, with reduction r? */
static bool
joins(const Op *join, OpCode reduction, const Val *x, const Val *r, Val **factor)
{
	OpCode two = reduction == O_reduce_sum ? O_add : reduction == O_reduce_max ? O_max : O_min;
	int at = join->in[0] == x ? 0 : 1;

	*factor = NULL;
	if (join->code == two)
		return join->in[at] == x && join->in[1 - at] == r;
	if (join->code != O_fma || reduction != O_reduce_sum || join->in[at] != x || fma_addend(join) != r)
		return false;
	*factor = join->in[1 - at];
	return true;
}

bool
late_find(const uint32_t *uses, const Op *reduce, DeferredReduction *out)
{
	Block *b = reduce->parent;
	Val *r = reduce->out[0], *x;

	if (!op_is(reduce, F_REDUCE) || !b->owner || b->owner->code != O_for || uses[r->id] != 1)
		return false;
	out->loop = b->owner;
	out->join = reader(reduce);
	if (!out->join || out->join->nout != 1 || uses[out->join->out[0]->id] != 1)
		return false;
	out->i = yielded(b, out->join->out[0]);
	if (out->i < 0)
		return false;
	x = b->arg[1 + out->i];
	return uses[x->id] == 1 && joins(out->join, reduce->code, x, r, &out->factor);
}

static bool
starts_at_0(const DeferredReduction *late)
{
	const Val *x = for_init(late->loop, late->i);
	Constant c;

	if (!const_get(x, &c))
		return false;
	return dtype_is_float(x->type.dtype) ? !(c.f < 0) && !(c.f > 0) : c.i == 0;
}

static bool
is_late(const uint32_t *uses, const Op *o)
{
	DType d = o->out[0]->type.dtype;
	DeferredReduction late;

	if (!late_find(uses, o, &late))
		return false;
	return o->code != O_reduce_sum || (dtype_accumulator(d) == d && starts_at_0(&late));
}

/* ---- comparisons ------------------------------------------------------------------------------- */

typedef struct User {
	Op *op;
	struct User *next;
} User;

enum { DEPTH = 40 };

typedef struct Extremes {
	Kernel *k;
	User **user; /* by id of a value */
} Extremes;

/* Do all uses of v treat NaN like an infinity, by taking the larger (smaller) one of it and a value that is
 * never NaN? */
static bool
all_absorb(Extremes *x, const Val *v, OpCode larger, int depth)
{
	const OpCode reduction = larger == O_max ? O_reduce_max : O_reduce_min;

	if (depth-- == 0)
		return false;
	for (const User *u = x->user[v->id]; u; u = u->next) {
		const Op *o = u->op;

		if (o->code == larger) {
			if (elt_lhs(o) == elt_rhs(o) || !float_never(o->in[elt_lhs(o) == v], FLOAT_NAN))
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
	    reduce->code != (o->code == O_max ? O_reduce_max : O_reduce_min) || !const_get(elt_rhs(o), &c) ||
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

/* Replaces the result of o by the value that it compares, and removes o. */
static void
take_away(Extremes *x, Op *o)
{
	Val *v = o->out[0], *r = elt_lhs(o);

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

static bool
drop_comparisons(Kernel *k)
{
	Extremes x = { .k = k };
	bool changed = false;
	OpWalk w;
	Op *next;

	for (Op *o = walk_first(&w, k->body); o; o = next) {
		next = walk_next(&w);
		if (!is_compared(o))
			continue;
		if (!x.user)
			read_users(&x);
		if (!o->out[0]->type.pinned && all_absorb(&x, o->out[0], o->code, DEPTH))
			take_away(&x, o), changed = true;
	}
	return changed;
}

bool
pass_mark_reductions(Kernel *k)
{
	bool changed = drop_comparisons(k);
	const uint32_t *uses = kernel_uses(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (!op_is(o, F_REDUCE) || !is_late(uses, o))
			continue;
		IMM_SET(o, deferrable, 1);
		changed = true;
	}
	return changed;
}
