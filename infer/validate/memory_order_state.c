/* memory_order_state.c - pass_validate_barriers: stores the states of paths from an access, and the values
 * of scalars in them.
 *
 * The values of a state are sorted by scalar and uniqued: paths through loops reach equal ones repeatedly. */
#include "infer/validate/memory_order.h"
#include <string.h>

enum { STATES_MOST = 128, BOUNDS_LEAST = 256 };

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t
hash_of(const Bound *a, int n)
{
	uint64_t h = (uint64_t)n;

	for (int i = 0; i < n; i++) {
		const OrderSum *is = &a[i].is;
		uint64_t terms = 0; /* independent of the order */

		for (int j = 0; j < is->n; j++)
			terms += (uint64_t)is->term[j].k * (2 * (uint64_t)is->term[j].v->id + 1);
		h = (h ^ a[i].v->id) * 0x9e3779b97f4a7c15;
		h = (h ^ (uint64_t)is->lo ^ (uint64_t)is->hi << 1 ^ terms << 2) * 0xbf58476d1ce4e5b9;
		h ^= h >> 29;
	}
	return h;
}

static bool
same_bounds(const OrderBounds *a, const Bound *b, int n)
{
	if (a->n != n)
		return false;
	for (int i = 0; i < n; i++)
		if (a->a[i].v != b[i].v || !sum_equal(&a->a[i].is, &b[i].is))
			return false;
	return true;
}

static void
put(Order *w, const OrderBounds *one)
{
	int i = (int)(one->hash & (uint64_t)(w->nplace - 1));

	while (w->place[i])
		i = (i + 1) & (w->nplace - 1);
	w->place[i] = one;
}

static void
make_room(Order *w)
{
	const OrderBounds **old = w->place;
	int n = w->nplace;

	w->nplace = n ? 2 * n : BOUNDS_LEAST;
	w->place = NEWN(w->k->unit->arena, const OrderBounds *, w->nplace);
	for (int i = 0; i < n; i++)
		if (old[i])
			put(w, old[i]);
}

/* Returns the uniqued copy of the sorted values. */
static const OrderBounds *
keep(Order *w, const Bound *a, int n)
{
	uint64_t h = hash_of(a, n);
	OrderBounds *one;
	Bound *own;

	if (2 * w->nkept >= w->nplace)
		make_room(w);
	for (int i = (int)(h & (uint64_t)(w->nplace - 1)); w->place[i]; i = (i + 1) & (w->nplace - 1))
		if (w->place[i]->hash == h && same_bounds(w->place[i], a, n))
			return w->place[i];
	one = NEW(w->k->unit->arena, OrderBounds);
	own = NEWN(w->k->unit->arena, Bound, n + 1);
	memcpy(own, a, sizeof *a * (size_t)n);
	*one = (OrderBounds){ .a = own, .n = n, .hash = h };
	put(w, one);
	w->nkept++;
	return one;
}

const OrderSum *
order_bound(const OrderState *s, const Val *v)
{
	int lo = 0, hi = s->bounds ? s->bounds->n : 0;

	while (lo < hi) {
		int at = (lo + hi) / 2;

		if (s->bounds->a[at].v == v)
			return &s->bounds->a[at].is;
		if (s->bounds->a[at].v->id < v->id)
			lo = at + 1;
		else
			hi = at;
	}
	return NULL;
}

/* Queues a binding; queued values are evaluated in the state before all of them are bound. */
void
order_bind_next(Order *w, const Val *v, OrderSum is)
{
	int i = w->nnext;

	if (w->nnext == w->nextcap) {
		w->next_bound = arena_grow(w->k->unit->arena, w->next_bound, (size_t)w->nextcap,
		                           (size_t)w->nextcap * 2 + 8, sizeof *w->next_bound);
		w->nextcap = w->nextcap * 2 + 8;
	}
	for (; i > 0 && w->next_bound[i - 1].v->id > v->id; i--)
		w->next_bound[i] = w->next_bound[i - 1];
	w->next_bound[i] = (Bound){ v, is };
	w->nnext++;
}

void
order_bind(Order *w, OrderState *s)
{
	const Bound *was = s->bounds ? s->bounds->a : NULL, *now = w->next_bound;
	int n = s->bounds ? s->bounds->n : 0, i = 0, j = 0, m = 0;
	Bound *all;

	if (!w->nnext)
		return;
	while (w->nall < n + w->nnext) {
		w->nall = w->nall * 2 + 16;
		w->all = NEWN(w->k->unit->arena, Bound, w->nall);
	}
	all = w->all;
	while (i < n || j < w->nnext) {
		if (j == w->nnext || (i < n && was[i].v->id < now[j].v->id)) {
			all[m++] = was[i++];
			continue;
		}
		i += i < n && was[i].v == now[j].v;
		all[m++] = now[j++];
	}
	w->nnext = 0;
	s->bounds = keep(w, all, m);
}

void
order_hand_over(Order *w, OrderState *s, Val *const *to, Val *const *from, int n)
{
	for (int i = 0; i < n; i++)
		if (w->wanted[to[i]->id])
			order_bind_next(w, to[i], order_value(w, s, from[i]));
	order_bind(w, s);
}

void
order_turn_over(Order *w, OrderState *s, const Op *loop)
{
	Turned *all = NEWN(w->k->unit->arena, Turned, s->nturned + 1);
	int i = 0;

	if (s->nturned)
		memcpy(all, s->turned, sizeof *all * (size_t)s->nturned);
	while (i < s->nturned && all[i].loop != loop)
		i++;
	if (i == s->nturned)
		all[s->nturned++] = (Turned){ loop, 0 };
	s->turned = all;
	all[i].times++;
}

/* ---- states ---------------------------------------------------------------------------------- */

static bool
same_state(const OrderState *a, const OrderState *b)
{
	return a->age == b->age && a->done == b->done && a->shown == b->shown && a->told == b->told &&
	       a->taken == b->taken && a->ordered == b->ordered && a->bounds == b->bounds;
}

States
order_no_states(Order *w)
{
	States s = { NULL, 0, 0 };

	if (w->nspare)
		s = w->spare[--w->nspare];
	s.n = 0;
	return s;
}

void
order_drop(Order *w, States *s)
{
	if (s->cap)
		VEC_PUSH(w->k->unit->arena, w->spare, w->nspare, w->sparecap, *s);
	*s = (States){ NULL, 0, 0 };
}

void
order_push(Order *w, States *to, const OrderState *s)
{
	for (int i = 0; i < to->n; i++)
		if (same_state(&to->a[i], s))
			return;
	if (to->n == STATES_MOST) {
		order_unjudged(w, GAP_ways);
		w->steps = 0;
		return;
	}
	VEC_PUSH(w->k->unit->arena, to->a, to->n, to->cap, *s);
}

void
order_push_all(Order *w, States *to, const States *from)
{
	for (int i = 0; i < from->n; i++)
		order_push(w, to, &from->a[i]);
}
