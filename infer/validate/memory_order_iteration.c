/* memory_order_iteration.c - pass_validate_barriers: determines whether a loop on a path may have another
 * iteration, and the scalars' values there. */
#include "infer/validate/linear_form.h"
#include "hexc/analysis/analysis.h"
#include "infer/validate/memory_order.h"

enum { TURNS_MOST = 72, TURNS_COUNTED = 3, LEAST_DEPTH = 8 };

const struct Known *
order_known(Order *w, const Op *o)
{
	Known *h = w->known[o->id];

	if (!h) {
		h = w->known[o->id] = NEW(w->k->unit->arena, Known);
		h->k = w->k;
		known_around(h, o);
	}
	return h;
}

/* Returns x if v is x / c * c for some c > 0; else NULL. */
static const Val *
rounded_down(const Val *v)
{
	const Op *o = v->def, *of = o && o->code == O_mul ? elt_lhs(o)->def : NULL;
	int64_t c, d;

	if (!of || of->code != O_div || !type_is_index(&v->type))
		return NULL;
	if (!val_is_const(elt_rhs(o), &c) || !val_is_const(elt_rhs(of), &d) || c != d || c <= 0)
		return NULL;
	return elt_lhs(of);
}

/* Is x - y + more never negative? y NULL: 0. */
static bool
never_less(Order *w, const Known *h, const Val *x, const Val *y, int64_t more, int depth)
{
	const Op *o = x->def, *p = y ? y->def : NULL;
	const Val *of = y ? rounded_down(y) : NULL;
	LinearForm gap;

	if (depth == 0)
		return false;
	if (o && type_is_index(&x->type) && (o->code == O_max || o->code == O_min)) {
		bool first = never_less(w, h, elt_lhs(o), y, more, depth - 1);

		if (first == (o->code == O_max))
			return first;
		return never_less(w, h, elt_rhs(o), y, more, depth - 1);
	}
	if (p && type_is_index(&y->type) && p->code == O_max)
		return never_less(w, h, x, elt_lhs(p), more, depth - 1) &&
		       never_less(w, h, x, elt_rhs(p), more, depth - 1);
	if (of)
		return never_less(w, h, x, of, more, depth - 1) &&
		       never_less(w, h, x, NULL, more, depth - 1);
	gap = affine_add(affine_of(w->k, x), y ? affine_of(w->k, y) : affine_const(0), -1);
	gap = affine_add(gap, affine_const(more), 1);
	return gap.ok && known_implies(h, &gap);
}

void
order_ask(Order *w, const OrderState *s, const Op *o, bool first, bool *turn, bool *none)
{
	const OrderSum *count = order_bound(s, o->blk[0]->arg[0]), *early;
	OrderSum at = count ? *count : order_value(w, s, for_lo(o)), end = order_value(w, s, for_hi(o));
	OrderSum on = sum_between(0, 1);
	Fact all = val_fact(w->k, o->blk[0]->arg[0]), to = val_fact_at(w->k, o, for_hi(o));
	const Known *h = order_known(w, o);
	int64_t lo, hi, to_lo, to_hi, is, second, least = val_fact(w->k, for_step(o)).lo;

	sum_range(w, &at, &lo, &hi);
	sum_range(w, &end, &to_lo, &to_hi);
	to_lo = max64(to_lo, to.lo);
	to_hi = min64(to_hi, to.hi);
	*turn = first || (!never_less(w, h, for_lo(o), for_hi(o), least, LEAST_DEPTH) &&
	                  (!add64(val_fact_at(w->k, o, for_lo(o)).lo, least, &second) || second < to_hi));
	if (first || count)
		*turn = *turn && lo < to_hi && (all.lo > all.hi || lo <= all.hi);
	*none = to.lo != INT64_MAX;
	if (first || count)
		*none = *none && hi >= to_lo;
	if (first)
		*none = *none && val_fact(w->k, for_lo(o)).hi >= to.lo &&
		        !never_less(w, h, for_hi(o), for_lo(o), -1, LEAST_DEPTH);
	if (!loop_ends_early(o))
		return;
	early = order_bound(s, o->blk[0]->arg[1]);
	if (first)
		on = order_value(w, s, for_init(o, 0));
	else if (early)
		on = *early;
	if (sum_is_const(&on, &is) && is)
		return;
	*none = true;
	*turn = *turn && !sum_is_const(&on, &is);
}

/* Returns the value of the counter (i = 0) or of a carried scalar in the next iteration. After a number of
 * iterations only its range is known. */
static OrderSum
next_value(Order *w, const OrderState *s, const Op *loop, int i)
{
	const Block *b = loop->blk[0];
	OrderSum was = order_value(w, s, b->arg[i]), now;
	Fact f = val_fact(w->k, b->arg[i]);
	int times = 0;
	int64_t c;

	for (int j = 0; j < s->nturned; j++)
		times = s->turned[j].loop == loop ? s->turned[j].times : times;
	if (i > 0) {
		now = order_value(w, s, b->last->in[i - 1]);
		if (times < (sum_is_const(&now, &c) ? TURNS_MOST : TURNS_COUNTED) || sum_equal(&was, &now))
			return now;
		return sum_between(f.lo, f.hi);
	}
	if (times > TURNS_COUNTED && was.hi == INT64_MAX)
		return was; /* up to here, or further */
	now = sum_add(w, was, order_value(w, s, for_step(loop)), 1);
	if (times >= TURNS_COUNTED)
		now.hi = INT64_MAX;
	return now;
}

void
order_next_turn(Order *w, OrderState *s, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; i <= loop->nout; i++)
		if (w->wanted[b->arg[i]->id])
			order_bind_next(w, b->arg[i], next_value(w, s, loop, i));
	order_turn_over(w, s, loop);
	order_bind(w, s);
}

/* If pass split_loops split the loop, the second loop continues counting where the first ended. */
void
order_enter(Order *w, OrderState *s, const Op *o)
{
	const Op *before = o->prev;
	const OrderSum *at = NULL;
	OrderSum first;

	while (before && before->code != O_for)
		before = before->prev;
	if (before && IMM(o, split) > SPLIT_PROLOGUE && IMM(o, split) <= SPLIT_REMAINDER &&
	    IMM(before, split) < IMM(o, split))
		at = order_bound(s, before->blk[0]->arg[0]);
	first = at ? *at : order_value(w, s, for_lo(o));
	order_hand_over(w, s, o->blk[0]->arg + 1, o->in + IN_for_init, o->nout);
	if (w->wanted[o->blk[0]->arg[0]->id])
		order_bind_next(w, o->blk[0]->arg[0], first);
	order_bind(w, s);
}
