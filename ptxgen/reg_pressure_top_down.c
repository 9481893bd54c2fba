/* reg_pressure_top_down.c - estimates the register pressure of a basic block by top-down list scheduling
 * with loads hoisted (one step per cycle).
 *
 * From the start to the end: of the steps whose operands are available, it takes the one with the longest
 * dependent path. If that would exceed the available registers, it takes the one that adds the fewest,
 * available or not. */
#include "ptxgen/reg_pressure.h"
#include <string.h>

enum { LOAD_CLOCKS = 30, OTHER_CLOCKS = 4 };

/* A value as one step defines it; by -1: it is live at the start. */
typedef struct Made {
	int by, halves;
	int reads; /* remaining reads */
	bool stays; /* it is live at the end */
	int reader; /* the first pair of its readers */
} Made;

typedef struct ScheduleNode {
	int *made; /* nin read, then nout written */
	int nin, nout;
	int after;  /* number of unscheduled predecessors */
	int then;   /* the first pair of its successors */
	int64_t at; /* cycle in which its operands are available */
	int64_t rest; /* cycles from its start to the end of its dependent path */
	int64_t adds; /* halves, when it is scheduled */
	bool ready, done;
} ScheduleNode;

/* Ready nodes that add the same number of halves; stale or scheduled entries are removed when they are
 * reached. */
typedef struct Alike {
	int64_t adds;
	Heap urgent;  /* operands available: by dependent path, the first of equals */
	Heap waiting; /* the others, by the cycle in which they become available */
	Heap all;     /* all, in order */
} Alike;

typedef struct TopDownSchedule {
	Arena *a;
	const uint8_t *halves;
	const PressureStep *step;
	ScheduleNode *node;
	int n;
	Made *made;
	int nmade, capmade;
	int *last; /* [nreg] the value's latest definition, from 1 */
	int *edge, nedge, capedge; /* pairs: step, index of the next pair from 1 */
	int *reader, nreader, capreader; /* pairs: a node, index of the next pair from 1 */
	Alike *alike; /* by what they add, from `least` on; those in use */
	int64_t least;
	int *used, nused, capused;
	int nready;
	int64_t clock, now, most, room, work;
} TopDownSchedule;

static int
clocks(const PressureStep *s)
{
	return s->x->order == ORDER_READS ? LOAD_CLOCKS : OTHER_CLOCKS;
}

static void
link(TopDownSchedule *o, int first, int then)
{
	if (first < 0 || first == then)
		return;
	VEC_PUSH(o->a, o->edge, o->nedge, o->capedge, then);
	VEC_PUSH(o->a, o->edge, o->nedge, o->capedge, o->node[first].then);
	o->node[first].then = o->nedge / 2;
	o->node[then].after++;
}

static int
make(TopDownSchedule *o, int v, int by)
{
	Made m = { .by = by, .halves = o->halves[v] };

	VEC_PUSH(o->a, o->made, o->nmade, o->capmade, m);
	o->last[v] = o->nmade;
	return o->nmade - 1;
}

static void
reads(TopDownSchedule *o, int i, int v)
{
	ScheduleNode *x = &o->node[i];
	int m = o->last[v] ? o->last[v] - 1 : make(o, v, -1);

	for (int j = 0; j < x->nin; j++)
		if (x->made[j] == m)
			return;
	o->made[m].reads++;
	VEC_PUSH(o->a, o->reader, o->nreader, o->capreader, i);
	VEC_PUSH(o->a, o->reader, o->nreader, o->capreader, o->made[m].reader);
	o->made[m].reader = o->nreader / 2;
	x->made[x->nin++] = m;
	link(o, o->made[m].by, i);
}

static void
find_values(TopDownSchedule *o)
{
	for (int i = 0; i < o->n; i++) {
		const PressureStep *s = &o->step[i];
		ScheduleNode *x = &o->node[i];

		x->made = NEWN(o->a, int, s->nin + 2 * s->nout + 1);
		for (int j = 0; j < s->nin; j++)
			reads(o, i, s->value[s->nout + j]);
		for (int j = 0; j < s->nout && s->x->guarded; j++)
			reads(o, i, s->value[j]);
		for (int j = 0; j < s->nout; j++)
			x->made[x->nin + x->nout++] = make(o, s->value[j], i);
	}
}

static void
find_memory(TopDownSchedule *o)
{
	int fixed = -1, first = 0; /* first of the steps after `fixed` that only read */

	for (int i = 0; i < o->n; i++) {
		if (o->step[i].x->order == ORDER_FREE)
			continue;
		link(o, fixed, i);
		if (o->step[i].x->order == ORDER_READS)
			continue;
		for (int j = first; j < i; j++)
			if (o->step[j].x->order == ORDER_READS)
				link(o, j, i);
		first = i + 1;
		fixed = i;
	}
}

static int64_t
growth(const TopDownSchedule *o, const ScheduleNode *x)
{
	int64_t sum = 0;

	for (int j = 0; j < x->nin; j++) {
		const Made *m = &o->made[x->made[j]];

		sum -= m->reads == 1 && !m->stays ? m->halves : 0;
	}
	for (int j = 0; j < x->nout; j++)
		sum += o->made[x->made[x->nin + j]].halves;
	return sum;
}

/* Adds node i to the ready ones. */
static void
enter(TopDownSchedule *o, int i)
{
	ScheduleNode *x = &o->node[i];
	Alike *like = &o->alike[x->adds - o->least];

	if (!like->all.n && !like->all.cap) {
		like->adds = x->adds;
		VEC_PUSH(o->a, o->used, o->nused, o->capused, (int)(x->adds - o->least));
	}
	x->ready = true;
	heap_push(o->a, &like->waiting, x->at * ((int64_t)1 << 32) + i, i);
	heap_push(o->a, &like->all, i, i);
	o->work += 2;
}

/* Computes the range of halves that ready nodes can add. */
static void
find_alike(TopDownSchedule *o)
{
	int64_t most = 0;

	for (int i = 0; i < o->n; i++) {
		ScheduleNode *x = &o->node[i];
		int64_t least = 0;

		x->adds = growth(o, x);
		for (int j = 0; j < x->nin; j++)
			least -= o->made[x->made[j]].halves;
		o->least = min64(o->least, least);
		most = max64(most, x->adds);
	}
	o->alike = NEWN(o->a, Alike, most - o->least + 1);
}

/* Initializes what is live before the first step. */
static void
begin(TopDownSchedule *o, int nreg, const bool *live)
{
	for (int v = 0; v < nreg; v++)
		if (live[v] && o->last[v])
			o->made[o->last[v] - 1].stays = true;
		else if (live[v])
			o->now += o->halves[v];
	for (int m = 0; m < o->nmade; m++)
		o->now += o->made[m].by < 0 ? o->made[m].halves : 0;
	o->most = o->now;
	for (int i = o->n - 1; i >= 0; i--) {
		int64_t behind = 0;

		for (int e = o->node[i].then; e; e = o->edge[2 * e - 1])
			behind = max64(behind, o->node[o->edge[2 * e - 2]].rest);
		o->node[i].rest = behind + clocks(&o->step[i]);
	}
	find_alike(o);
	for (int i = 0; i < o->n; i++)
		if (!o->node[i].after) {
			o->nready++;
			enter(o, i);
		}
}

static bool
fits(const TopDownSchedule *o, const Alike *like)
{
	return like->adds <= 0 || o->now + like->adds <= o->room;
}

/* Returns the first entry of h that is not stale; -1 if there is none. */
static int
first_of(TopDownSchedule *o, const Alike *like, Heap *h)
{
	while (h->n) {
		const ScheduleNode *x = &o->node[h->at[0].what];

		if (!x->done && x->adds == like->adds)
			return h->at[0].what;
		heap_pop(h);
		o->work++;
	}
	return -1;
}

/* Returns the first node with available operands; lowers *next (-1: unset) to the cycle in which the first
 * other one becomes available. */
static int
first_urgent(TopDownSchedule *o, Alike *like, int64_t *next)
{
	int i;

	while ((i = first_of(o, like, &like->waiting)) >= 0 && o->node[i].at <= o->clock) {
		heap_pop(&like->waiting);
		heap_push(o->a, &like->urgent, -o->node[i].rest * ((int64_t)1 << 32) + i, i);
		o->work++;
	}
	if (i >= 0 && (*next < 0 || o->node[i].at < *next))
		*next = o->node[i].at;
	return first_of(o, like, &like->urgent);
}

/* Returns, of the ready nodes that fit and have their operands, the one with the longest dependent path. -1
 * if there is none; *next is then the cycle when the first that fits has them, -1 if none fits. */
static int
most_urgent(TopDownSchedule *o, int64_t *next)
{
	int best = -1;

	*next = -1;
	for (int u = 0; u < o->nused; u++) {
		Alike *like = &o->alike[o->used[u]];
		int i = fits(o, like) ? first_urgent(o, like, next) : -1;
		const ScheduleNode *x = &o->node[i < 0 ? 0 : i], *y = &o->node[best < 0 ? 0 : best];

		if (i >= 0 && (best < 0 || x->rest > y->rest || (x->rest == y->rest && x < y)))
			best = i;
	}
	o->work += o->nused;
	return best;
}

/* Returns, of the ready nodes, the first one that adds the fewest halves. */
static int
leanest(TopDownSchedule *o)
{
	const Alike *least = NULL;
	int best = -1;

	for (int u = 0; u < o->nused; u++) {
		Alike *like = &o->alike[o->used[u]];
		int i = !least || like->adds < least->adds ? first_of(o, like, &like->all) : -1;

		if (i < 0)
			continue;
		least = like;
		best = i;
	}
	return best;
}

/* Only one reader of m is left: it now frees m. */
static void
last_reader(TopDownSchedule *o, const Made *m)
{
	for (int e = m->reader; e && !m->stays; e = o->reader[2 * e - 1]) {
		int i = o->reader[2 * e - 2];

		o->work++;
		if (o->node[i].done)
			continue;
		o->node[i].adds -= m->halves;
		if (o->node[i].ready)
			enter(o, i);
	}
}

static void
do_step(TopDownSchedule *o, int i)
{
	ScheduleNode *x = &o->node[i];

	x->done = true;
	o->nready--;
	o->now += x->adds;
	o->most = max64(o->most, o->now);
	o->clock = max64(o->clock, x->at);
	for (int j = 0; j < x->nin; j++)
		if (--o->made[x->made[j]].reads == 1)
			last_reader(o, &o->made[x->made[j]]);
	for (int j = 0; j < x->nout; j++) {
		const Made *m = &o->made[x->made[x->nin + j]];

		o->now -= m->reads || m->stays ? 0 : m->halves;
	}
	for (int e = x->then; e; e = o->edge[2 * e - 1]) {
		ScheduleNode *y = &o->node[o->edge[2 * e - 2]];

		y->at = max64(y->at, o->clock + clocks(&o->step[i]));
		if (--y->after == 0) {
			o->nready++;
			enter(o, o->edge[2 * e - 2]);
		}
	}
	o->clock++;
}

int64_t
pressure_ahead(Arena *a, Steps *s, int64_t room)
{
	TopDownSchedule o = { .a = a, .halves = s->halves, .step = s->step, .n = s->n, .room = room };

	o.node = NEWN(a, ScheduleNode, s->n + 1);
	o.last = NEWN(a, int, s->nvalue + 1);
	find_values(&o);
	find_memory(&o);
	begin(&o, s->nvalue, s->live);
	while (o.nready) {
		int64_t next;
		int at = most_urgent(&o, &next);

		if (at < 0 && next >= 0)
			o.clock = next;
		else
			do_step(&o, at < 0 ? leanest(&o) : at);
	}
	s->work += o.work;
	return o.most;
}
