/* stage_search.c - implements hexc_plan.h: selects stages by dynamic programming over the sets of
 * completed nodes.
 *
 * A state is a set that is closed under predecessors. Its complement is an ending set in the terms of IOS
 * (arXiv 2011.01302), whose recurrence is used here from its start. A stage is one node, or several
 * concurrent groups: a single group costs the same as its nodes in separate stages, and keeps as many
 * bytes alive. States are expanded by their number of nodes. All of them are retained until max_steps is
 * reached; then the search restarts as a beam, which retains the best states of each number of nodes and
 * tries stages of few nodes. */
#include "lib/plan/plan.h"
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { BEAM_STAGE = 8, BEAM_TRIES = 300 };

typedef struct StageState {
	Set done, stage;    /* the last stage before it */
	uint64_t cost, live;
	uint32_t from;      /* the state before that stage */
	uint32_t next;      /* next state with as many nodes */
	uint64_t bound;     /* lower bound of the total cost through this state */
} StageState;

typedef struct StageSearch {
	Arena *a;
	const PlanComponent *p;
	StageState *state;
	uint32_t n, cap;
	uint32_t *slot, nslot; /* a hash table of indices + 1 */
	uint32_t level[PART_NODES + 1];
	uint64_t steps, max_steps;
	uint64_t tries;     /* stages that a beam may still try from this state */
	uint32_t width;     /* beam width; 0: all states are retained */
	uint64_t tail[PART_NODES]; /* ns of the longest chain that starts with the node */
	bool full, exact;   /* full: max_steps was reached */
} StageSearch;

static uint32_t
hash(Set s)
{
	s *= UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(s >> 32);
}

static int
count(Set s)
{
	int n = 0;

	for (; s; s &= s - 1)
		n++;
	return n;
}

static void
rehash(StageSearch *s)
{
	s->nslot = s->nslot ? 2 * s->nslot : 64;
	s->slot = NEWN(s->a, uint32_t, s->nslot);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t h = hash(s->state[i].done);

		while (s->slot[h & (s->nslot - 1)])
			h++;
		s->slot[h & (s->nslot - 1)] = i + 1;
	}
}

/* Returns the state of this set, created if there is none. */
static StageState *
state_of(StageSearch *s, Set done)
{
	uint32_t h = hash(done), i;

	if (2 * (s->n + 1) > s->nslot)
		rehash(s);
	for (; (i = s->slot[h & (s->nslot - 1)]); h++)
		if (s->state[i - 1].done == done)
			return &s->state[i - 1];
	if (s->n == s->cap) {
		s->state = arena_grow(s->a, s->state, s->cap, 2 * s->cap + 64, sizeof *s->state);
		s->cap = 2 * s->cap + 64;
	}
	s->slot[h & (s->nslot - 1)] = s->n + 1;
	s->state[s->n] = (StageState){ .done = done, .cost = UINT64_MAX, .next = s->level[count(done)] };
	s->level[count(done)] = s->n;
	return &s->state[s->n++];
}

/* Returns a lower bound of the remaining cost. */
static uint64_t
rest(const StageSearch *s, Set done)
{
	uint64_t work = 0, chain = 0, lanes = 0;

	for (uint32_t i = 0; i < s->p->n; i++)
		if (!(done >> i & 1)) {
			work += s->p->work[i];
			lanes += s->p->ns[i];
			chain = s->tail[i] > chain ? s->tail[i] : chain;
		}
	lanes = (lanes + s->p->streams - 1) / s->p->streams;
	work = work > lanes ? work : lanes;
	return work > chain ? work : chain;
}

/* Extends state `from` by this stage. */
static void
step(StageSearch *s, uint32_t from, Set stage)
{
	StageState now = s->state[from];
	uint64_t cost = now.cost + stage_cost(s->p, stage, NULL, &s->exact), live;
	StageState *to = state_of(s, now.done | stage);

	if (cost > to->cost)
		return;
	live = stage_live(s->p, now.done, stage);
	live = live > now.live ? live : now.live;
	if (cost == to->cost && live >= to->live)
		return;
	to->cost = cost;
	to->live = live;
	to->from = from;
	to->stage = stage;
}

static Set
all_of(const PlanComponent *p)
{
	return p->n == PART_NODES ? ~(Set)0 : ((Set)1 << p->n) - 1;
}

/* Tries the stages that add nodes from i on to `stage`. */
static void
widen(StageSearch *s, uint32_t from, uint32_t i, Set stage, int size)
{
	Set done = s->state[from].done;

	for (; i < s->p->n && !s->full; i++) {
		Set more = stage | (Set)1 << i;

		if (done >> i & 1 || s->p->pred[i] & ~(done | stage))
			continue;
		if (s->width && s->tries-- == 0) {
			s->exact = false;
			s->tries = 0;
			return;
		}
		if (stage && stage_component(s->p, more, more & -more) != more)
			step(s, from, more);
		if (!s->width && s->steps++ > s->max_steps)
			s->full = true;
		if (s->width && size + 1 == BEAM_STAGE)
			s->exact = false;
		else
			widen(s, from, i + 1, more, size + 1);
	}
}

static void
expand(StageSearch *s, uint32_t from)
{
	Set done = s->state[from].done;

	for (uint32_t i = 0; i < s->p->n; i++)
		if (!(done >> i & 1) && !(s->p->pred[i] & ~done))
			step(s, from, (Set)1 << i);
	s->tries = BEAM_TRIES;
	if (s->p->streams > 1)
		widen(s, from, 0, 0, 0);
}

static int
compare_states(const void *x, const void *y)
{
	const StageState *a = x, *b = y;

	if (a->bound != b->bound)
		return a->bound < b->bound ? -1 : 1;
	if (a->live != b->live)
		return a->live < b->live ? -1 : 1;
	return a->done < b->done ? -1 : a->done > b->done;
}

/* Returns the *n retained states of k nodes, the best first. */
static uint32_t *
kept(StageSearch *s, uint32_t k, uint32_t *n)
{
	StageState *all;
	uint32_t *list, m = 0, i;

	for (i = s->level[k]; i != NONE; i = s->state[i].next)
		m++;
	all = NEWN(s->a, StageState, m + 1);
	list = NEWN(s->a, uint32_t, m + 1);
	m = 0;
	for (i = s->level[k]; i != NONE; i = s->state[i].next) {
		all[m] = s->state[i];
		all[m].bound = all[m].cost + (s->width ? rest(s, all[m].done) : 0);
		all[m++].next = i;
	}
	qsort(all, m, sizeof *all, compare_states);
	for (i = 0; i < m; i++)
		list[i] = all[i].next;
	*n = m;
	if (s->width && m > s->width) {
		*n = s->width;
		s->exact = false;
	}
	return list;
}

/* Returns the state with all nodes; NULL if max_steps was reached. */
static const StageState *
search(StageSearch *s, uint32_t width)
{
	s->width = width;
	s->n = s->cap = s->nslot = 0;
	s->state = NULL;
	s->full = false;
	s->exact = true;
	for (uint32_t k = 0; k <= s->p->n; k++)
		s->level[k] = NONE;
	state_of(s, 0)->cost = 0;
	for (uint32_t k = 0; k < s->p->n && !s->full; k++) {
		uint32_t n, *list = kept(s, k, &n);

		for (uint32_t i = 0; i < n && !s->full; i++)
			expand(s, list[i]);
	}
	return s->full ? NULL : state_of(s, all_of(s->p));
}

uint32_t
search_part(hexc_plan *p, const PlanComponent *part, Set *stage, uint64_t *cost, uint64_t *live, bool *exact)
{
	StageSearch s = { .a = &p->scratch, .p = part, .max_steps = p->o.max_steps };
	const StageState *end;
	uint32_t n = 0;

	for (uint32_t i = part->n; i-- > 0;) {
		s.tail[i] += part->ns[i];
		for (Set in = part->pred[i]; in; in &= in - 1)
			if (s.tail[CTZ64((int64_t)in)] < s.tail[i])
				s.tail[CTZ64((int64_t)in)] = s.tail[i];
	}
	end = search(&s, 0);
	if (!end)
		end = search(&s, p->o.beam);
	*exact = *exact && s.exact;
	*cost += end->cost;
	*live = end->live > *live ? end->live : *live;
	for (; end->done; end = &s.state[end->from])
		stage[n++] = end->stage;
	for (uint32_t i = 0; i < n / 2; i++) {
		Set other = stage[i];

		stage[i] = stage[n - 1 - i];
		stage[n - 1 - i] = other;
	}
	return n;
}
