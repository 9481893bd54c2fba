/* memory_order_paths.c - pass_validate_barriers: follows the paths from an access to the ops that order it
 * or conflict with it.
 *
 * All paths are followed until something orders the access: into branches, out of loops, whether or not
 * these have had an iteration, and around them. */
#include "hexc/ir/memory_effects.h"
#include "infer/validate/memory_order.h"

enum { BYTES_MOST = 1 << 28 };

/* ---- what orders ----------------------------------------------------------------------------- */

/* Passes a barrier. Returns false if the access is ordered before all that follows. */
static bool
pass_barrier(const Order *w, OrderState *s)
{
	const OrderTouch *t = &w->from;

	if (!s->done)
		return true;
	s->ordered = true;
	return w->engines && t->write && t->root && t->root->type.space == S_shared && !s->shown;
}

static void
pass_wait(const Order *w, OrderState *s, const Op *o)
{
	const OrderTouch *t = &w->from;
	bool tensor = t->root && t->root->type.space == S_global;

	if (s->done || t->bulk != (IMM(o, bulk) != 0) || s->age == OPEN || s->age < IMM(o, pending))
		return;
	s->done = !(tensor && t->bulk && IMM(o, reads));
}

/* Is it an access to a tile by which roles hand over data? */
static bool
is_handed(const Order *w)
{
	const uint8_t both = 1 << ROLE_PRODUCER | 1 << ROLE_CONSUMER;

	return w->from.root && (w->roles[w->from.root->id] & both) == both;
}

/* Applies the effect of o on the order. Returns false if the access is ordered before all that follows. */
static bool
pass_op(const Order *w, OrderState *s, const Op *o)
{
	if (lowering_is_staged(o->lowering))
		return pass_barrier(w, s);
	switch (o->code) {
	case O_barrier:
	case O_grid_barrier: return pass_barrier(w, s);
	case O_async_wait: pass_wait(w, s, o); break;
	case O_mbarrier_arrive: s->told = s->told || s->done; break;
	case O_mbarrier_wait: s->taken = s->taken || (s->told && is_handed(w)); break;
	case O_async_commit:
		if (!s->done && w->from.bulk == (IMM(o, bulk) != 0))
			s->age += s->age < INT16_MAX;
		break;
	case O_fence_proxy_async: s->shown = s->shown || (s->done && IMM(o, space) == S_shared); break;
	default: break;
	}
	return true;
}

/* ---- conflicts ------------------------------------------------------------------------------- */

bool
order_is_signal(const Op *o)
{
	return o->code == O_store && IMM(o, ordered) != 0;
}

bool
order_is_full(const Order *w)
{
	const Arena *a = w->k->unit->arena;

	return a->held - w->held > (a->limit && a->limit / 4 < BYTES_MOST ? a->limit / 4 : BYTES_MOST);
}

bool
order_is_tensor(const OrderTouch *t)
{
	return t->root && t->root->type.space == S_global;
}

/* Are both the same kind of update of the same memory? Their order does not matter. */
static bool
commute(const OrderTouch *a, const OrderTouch *b)
{
	return a->update && b->update && a->root == b->root && IMM(a->op, update) == IMM(b->op, update);
}

void
order_unjudged(Order *w, Gap why)
{
	if (w->gap)
		return;
	w->gap = why;
	w->gap_at = w->from.op;
}

static void
violation(Order *w, const Op *o, const char *what)
{
	const char *text = arena_printf(w->k->unit->arena, "%s, line %u", what, w->from.op->src.line);

	prove_violation(w->k, &w->ok, o, text);
}

static void
compare(Order *w, const OrderState *s, const OrderTouch *t)
{
	const OrderTouch *from = &w->from;
	bool lanes = s->done && !t->engine && !(t->group && t->bulk) && !from->engine;
	bool hidden = t->engine && s->done && from->write && !s->shown;

	if (order_is_tensor(from) && order_is_tensor(t) && !s->ordered &&
	    order_is_signal(from->op) != order_is_signal(t->op))
		violation(w, t->op,
		          "no barrier between it and memory passed between blocks, or the update that "
		          "passes it");
	if ((!from->write && !t->write) || commute(from, t) || (s->ordered && !t->engine))
		return;
	if (from->engine && t->engine && !from->write && !t->write)
		return;
	if (!order_meets(w, s, t, lanes))
		return;
	if (s->taken && !hidden)
		order_unjudged(w, GAP_roles);
	else if (s->ordered || s->taken)
		violation(w, t->op, "no proxy fence between it and generic-proxy writes");
	else if (!s->done)
		violation(w, t->op, "no wait and barrier between it and the completion of a copy");
	else
		violation(w, t->op, "no barrier between it and another access to that memory");
}

static void
step(Order *w, States *now, const Op *o)
{
	OrderTouch t[TOUCHES];
	int n = order_touches(w, o, t), kept = 0;

	for (int i = 0; i < now->n && w->ok; i++) {
		OrderState s = now->a[i];

		for (int j = 0; j < n; j++)
			compare(w, &s, &t[j]);
		if (pass_op(w, &s, o))
			now->a[kept++] = s;
	}
	now->n = kept;
}

/* ---- loops and branches ---------------------------------------------------------------------- */

bool
order_is_of_blocks(const Op *loop)
{
	return for_lo(loop)->def && for_lo(loop)->def->code == O_linear_block_id;
}

void
order_part_ways(Order *w, const OrderState *s, const Op *o, bool first, States *heads, States *behind)
{
	OrderState left = *s;
	bool turn, none;

	order_ask(w, s, o, first, &turn, &none);
	if (none) {
		order_hand_over(w, &left, o->out, o->blk[0]->arg + 1, o->nout);
		order_push(w, behind, &left);
	}
	if (turn)
		order_push(w, heads, s);
}

void
order_walk_turns(Order *w, States *heads, const Op *o, States *behind)
{
	for (int i = 0; i < heads->n && w->ok && w->steps > 0; i++) {
		States one = order_no_states(w);

		order_push(w, &one, &heads->a[i]);
		order_walk(w, &one, o->blk[0]->first);
		for (int j = 0; j < one.n && !(order_is_of_blocks(o) && order_is_tensor(&w->from)); j++) {
			order_next_turn(w, &one.a[j], o);
			order_part_ways(w, &one.a[j], o, false, heads, behind);
		}
		order_drop(w, &one);
	}
}

static void
walk_loop(Order *w, States *now, const Op *o)
{
	States behind = order_no_states(w), heads = order_no_states(w);

	for (int i = 0; i < now->n; i++) {
		OrderState s = now->a[i];

		order_enter(w, &s, o);
		order_part_ways(w, &s, o, true, &heads, &behind);
	}
	order_walk_turns(w, &heads, o, &behind);
	order_drop(w, &heads);
	order_drop(w, now);
	*now = behind;
}

static void
walk_if(Order *w, States *now, const Op *o)
{
	States behind = order_no_states(w);

	for (int r = 0; r < 2; r++) {
		States side = order_no_states(w);

		for (int i = 0; i < now->n; i++) {
			OrderSum c = order_value(w, &now->a[i], if_cond(o));
			int64_t is;

			if (!sum_is_const(&c, &is) || (is == 0) == (r == 1) || IMM(o, zero_fill))
				order_push(w, &side, &now->a[i]);
		}
		order_walk(w, &side, o->blk[r]->first);
		for (int i = 0; i < side.n; i++) {
			order_hand_over(w, &side.a[i], o->out, o->blk[r]->last->in, o->nout);
			order_push(w, &behind, &side.a[i]);
		}
		order_drop(w, &side);
	}
	order_drop(w, now);
	*now = behind;
}

static void
walk_roles(Order *w, States *now, const Op *o)
{
	States behind = order_no_states(w);

	for (int r = 0; r < 2; r++) {
		States side = order_no_states(w);

		order_push_all(w, &side, now);
		order_walk(w, &side, o->blk[r]->first);
		order_push_all(w, &behind, &side);
		order_drop(w, &side);
	}
	order_drop(w, now);
	*now = behind;
}

bool
order_matters(Order *w, const Op *o)
{
	OrderTouch t[TOUCHES];

	return o->blk[0] || op_is_barrier(o) || o->code == O_async_wait || o->code == O_async_commit ||
	       o->code == O_fence_proxy_async || o->code == O_mbarrier_arrive || o->code == O_mbarrier_wait ||
	       order_touches(w, o, t) > 0;
}

void
order_walk(Order *w, States *now, const Op *from)
{
	const Op *o = from && !order_matters(w, from) ? w->next[from->id] : from;

	for (; o && now->n && w->ok; o = w->next[o->id]) {
		if (--w->steps <= 0 || order_is_full(w)) {
			order_unjudged(w, GAP_ways);
			return;
		}
		if (o->code == O_for)
			walk_loop(w, now, o);
		else if (o->code == O_if)
			walk_if(w, now, o);
		else if (o->code == O_roles)
			walk_roles(w, now, o);
		else
			step(w, now, o);
	}
}
