/* stage_search.c - hexc_plan.h: which stages, by dynamic programming over the sets of nodes that are done.
 *
 * A state is a set that is closed under predecessors; what is left of the part is an ending set of it in the
 * words of IOS (arXiv 2011.01302), whose recurrence this is, read from its start.  A stage is one node, or
 * several groups side by side: one group by itself costs what its nodes cost as stages of their own, and
 * keeps no fewer bytes alive.  States are looked at by their number of nodes.  All of them are kept while
 * steps last; then it is begun anew as a beam, which keeps the best of each number and tries stages of few
 * nodes. */
#include "lib/plan/plan.h"
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { BEAM_STAGE = 8, BEAM_TRIES = 300 };

typedef struct StageState {
	Set done, stage;    /* the last stage of it */
	uint64_t cost, live;
	uint32_t from;      /* the state before that */
	uint32_t next;      /* of as many nodes */
	uint64_t bound;     /* no way from here is shorter in all */
} StageState;

typedef struct StageSearch {
	Arena *a;
	const PlanComponent *p;
	StageState *state;
	uint32_t n, cap;
	uint32_t *slot, nslot; /* a hash table of numbers + 1 */
	uint32_t level[PART_NODES + 1];
	uint64_t steps, max_steps;
	uint64_t tries;     /* left to this state, of a beam */
	uint32_t width;     /* 0: all are kept */
	uint64_t tail[PART_NODES]; /* ns of the longest chain that begins with it */
	bool full, exact;   /* full: steps did not last */
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

/* The state of this set, made if there is none. */
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

/* What is left takes at least so long. */
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

/* From state `from` to the one with this stage behind it. */
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

/* Stages that are `stage` and nodes from i on. */
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

/* States of k nodes that go on, the best first; *n of them. */
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

/* The state with all nodes; NULL: steps did not last. */
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
