/* pressure_ahead.c - how many registers a straight piece of code takes where loads are asked for early.
 *
 * From the begin to the end, a step a clock: of those whose operands have come, the one that most waits for.
 * Where there would be more than there is room for, the one that adds least, come or not. */
#include "ptxgen/pressure.h"
#include <string.h>

enum { LOAD_CLOCKS = 30, OTHER_CLOCKS = 4 };

/* A value as one step makes it; by -1: it is there in front of the first. */
typedef struct Made {
	int by, halves;
	int reads; /* that are left */
	bool stays; /* behind the last step */
} Made;

typedef struct Node {
	int *made; /* nin read, then nout written */
	int nin, nout;
	int after;  /* how many have to be done before it */
	int then;   /* the first pair of those behind it */
	int64_t at; /* its operands have come */
	int64_t rest; /* clocks from its begin to the end of what waits for it */
} Node;

typedef struct Ahead {
	Arena *a;
	const uint8_t *halves;
	const Step *step;
	Node *node;
	int n;
	Made *made;
	int nmade, capmade;
	int *last; /* [nreg] the value's latest, from 1 */
	int *edge, nedge, capedge; /* pairs: step, number of the next pair from 1 */
	int *ready, nready;
	int64_t clock, now, most, room;
} Ahead;

static int
clocks(const Step *s)
{
	return s->x->order == ORDER_READS ? LOAD_CLOCKS : OTHER_CLOCKS;
}

static void
link(Ahead *o, int first, int then)
{
	if (first < 0 || first == then)
		return;
	VEC_PUSH(o->a, o->edge, o->nedge, o->capedge, then);
	VEC_PUSH(o->a, o->edge, o->nedge, o->capedge, o->node[first].then);
	o->node[first].then = o->nedge / 2;
	o->node[then].after++;
}

static int
make(Ahead *o, int v, int by)
{
	Made m = { .by = by, .halves = o->halves[v] };

	VEC_PUSH(o->a, o->made, o->nmade, o->capmade, m);
	o->last[v] = o->nmade;
	return o->nmade - 1;
}

static void
reads(Ahead *o, int i, int v)
{
	Node *x = &o->node[i];
	int m = o->last[v] ? o->last[v] - 1 : make(o, v, -1);

	for (int j = 0; j < x->nin; j++)
		if (x->made[j] == m)
			return;
	o->made[m].reads++;
	x->made[x->nin++] = m;
	link(o, o->made[m].by, i);
}

static void
find_values(Ahead *o)
{
	for (int i = 0; i < o->n; i++) {
		const Step *s = &o->step[i];
		Node *x = &o->node[i];

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
find_memory(Ahead *o)
{
	int fixed = -1, first = 0; /* of those that only read, behind `fixed` */

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

/* What lives in front of the first step. */
static void
begin(Ahead *o, int nreg, const bool *live)
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
	for (int i = 0; i < o->n; i++)
		if (!o->node[i].after)
			o->ready[o->nready++] = i;
}

static int64_t
growth(const Ahead *o, const Node *x)
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

static bool
fits(const Ahead *o, const Node *x)
{
	int64_t adds = growth(o, x);

	return adds <= 0 || o->now + adds <= o->room;
}

/* Of those that are ready and fit, and have their operands, the one that most waits for: its number in
 * `ready`; -1: none, and *next is the clock when the first that fits has them, -1 where none fits. */
static int
most_urgent(const Ahead *o, int64_t *next)
{
	int best = -1;

	*next = -1;
	for (int i = 0; i < o->nready; i++) {
		const Node *x = &o->node[o->ready[i]], *y = best < 0 ? NULL : &o->node[o->ready[best]];
		bool better = !y || x->rest > y->rest || (x->rest == y->rest && x < y);

		if (x->at <= o->clock && better && fits(o, x))
			best = i;
		else if (best < 0 && x->at > o->clock && (*next < 0 || x->at < *next) && fits(o, x))
			*next = x->at;
	}
	return best;
}

/* Of those that are ready, the one that adds least. */
static int
leanest(const Ahead *o)
{
	int best = 0;
	int64_t least = INT64_MAX;

	for (int i = 0; i < o->nready; i++) {
		int64_t adds = growth(o, &o->node[o->ready[i]]);

		if (adds > least || (adds == least && o->ready[i] > o->ready[best]))
			continue;
		best = i;
		least = adds;
	}
	return best;
}

static void
do_step(Ahead *o, int at)
{
	int i = o->ready[at];
	Node *x = &o->node[i];

	o->ready[at] = o->ready[--o->nready];
	o->now += growth(o, x);
	o->most = max64(o->most, o->now);
	o->clock = max64(o->clock, x->at);
	for (int j = 0; j < x->nin; j++)
		o->made[x->made[j]].reads--;
	for (int j = 0; j < x->nout; j++) {
		const Made *m = &o->made[x->made[x->nin + j]];

		o->now -= m->reads || m->stays ? 0 : m->halves;
	}
	for (int e = x->then; e; e = o->edge[2 * e - 1]) {
		Node *y = &o->node[o->edge[2 * e - 2]];

		y->at = max64(y->at, o->clock + clocks(&o->step[i]));
		if (--y->after == 0)
			o->ready[o->nready++] = o->edge[2 * e - 2];
	}
	o->clock++;
}

int64_t
pressure_ahead(Arena *a, Steps *s, int64_t room)
{
	Ahead o = { .a = a, .halves = s->halves, .step = s->step, .n = s->n, .room = room };

	o.node = NEWN(a, Node, s->n + 1);
	o.last = NEWN(a, int, s->nvalue + 1);
	o.ready = NEWN(a, int, s->n + 1);
	find_values(&o);
	find_memory(&o);
	begin(&o, s->nvalue, s->live);
	while (o.nready) {
		int64_t next;
		int at = most_urgent(&o, &next);

		s->work += o.nready;
		if (at < 0 && next >= 0)
			o.clock = next;
		else
			do_step(&o, at < 0 ? leanest(&o) : at);
	}
	return o.most;
}
