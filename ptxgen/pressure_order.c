/* pressure_order.c - how many registers a straight piece of code needs in an order that ptxas could choose.
 *
 * From the end to the begin: of all steps that nothing left needs, the one that frees most. */
#include "ptxgen/pressure.h"
#include <string.h>

typedef struct Order {
	Arena *a;
	const Step *step;
	int n;
	int *edge, nedge, cap; /* pairs: step, number of the next pair from 1 */
	int *before; /* [n] the first pair of those that a step has to stay behind */
	int *behind; /* [n] how many that are left have to stay behind it */
	int *ready;
	int nready;
} Order;

/* Step `first` stays in front of `then`. */
static void
keep(Order *o, int first, int then)
{
	if (first < 0 || first == then)
		return;
	VEC_PUSH(o->a, o->edge, o->nedge, o->cap, first);
	VEC_PUSH(o->a, o->edge, o->nedge, o->cap, o->before[then]);
	o->before[then] = o->nedge / 2;
	o->behind[first]++;
}

/* By what each reads and writes. */
static void
keep_values(Order *o, int nreg)
{
	int *writer = NEWN(o->a, int, nreg + 1), *reader = NEWN(o->a, int, nreg + 1); /* from 1; the last */
	int *chain = NULL, nchain = 0, cap = 0; /* pairs: a reader, the one before */

	for (int i = 0; i < o->n; i++) {
		const Step *s = &o->step[i];

		for (int j = 0; j < s->nin; j++) {
			int v = s->value[s->nout + j];

			keep(o, writer[v] - 1, i);
			VEC_PUSH(o->a, chain, nchain, cap, i);
			VEC_PUSH(o->a, chain, nchain, cap, reader[v]);
			reader[v] = nchain / 2;
		}
		for (int j = 0; j < s->nout; j++) {
			int v = s->value[j];

			keep(o, writer[v] - 1, i);
			for (int r = reader[v]; r; r = chain[2 * r - 1])
				keep(o, chain[2 * r - 2], i);
			writer[v] = i + 1;
			reader[v] = 0;
		}
	}
}

static void
keep_memory(Order *o)
{
	int fixed = -1, first = 0; /* of those that only read, behind `fixed` */

	for (int i = 0; i < o->n; i++) {
		if (o->step[i].x->order == ORDER_FREE)
			continue;
		keep(o, fixed, i);
		if (o->step[i].x->order == ORDER_READS)
			continue;
		for (int j = first; j < i; j++)
			if (o->step[j].x->order == ORDER_READS)
				keep(o, j, i);
		first = i + 1;
		fixed = i;
	}
}

static bool
is_read(const Step *s, int value)
{
	for (int j = 0; j < s->nin; j++)
		if (s->value[s->nout + j] == value)
			return true;
	return false;
}

/* By how many halves more live in front of a step than behind it. */
static int64_t
growth(const Step *s, const uint8_t *halves, const bool *live)
{
	int64_t sum = 0;

	for (int j = 0; j < s->nin; j++)
		sum += live[s->value[s->nout + j]] ? 0 : halves[s->value[s->nout + j]];
	for (int j = 0; j < s->nout && !s->x->guarded; j++)
		sum -= live[s->value[j]] && !is_read(s, s->value[j]) ? halves[s->value[j]] : 0;
	return sum;
}

/* Of those that are ready, the one to be done last. */
static int
take(Order *o, const uint8_t *halves, const bool *live)
{
	int best = 0;
	int64_t least = INT64_MAX;

	for (int i = 0; i < o->nready; i++) {
		int64_t g = growth(&o->step[o->ready[i]], halves, live);

		if (g > least || (g == least && o->ready[i] < o->ready[best]))
			continue;
		least = g;
		best = i;
	}
	least = o->ready[best];
	o->ready[best] = o->ready[--o->nready];
	return (int)least;
}

int64_t
pressure_least(Arena *a, Steps *steps)
{
	const uint8_t *halves = steps->halves;
	const Step *step = steps->step;
	bool *live = steps->live;
	int n = steps->n;
	Order o = { .a = a, .step = step, .n = n };
	int64_t now = 0, most;

	o.before = NEWN(a, int, n + 1);
	o.behind = NEWN(a, int, n + 1);
	o.ready = NEWN(a, int, n + 1);
	keep_values(&o, steps->nvalue);
	keep_memory(&o);
	for (int i = 0; i < steps->nvalue; i++)
		now += live[i] ? halves[i] : 0;
	for (int i = 0; i < n; i++)
		if (!o.behind[i])
			o.ready[o.nready++] = i;
	for (most = now; o.nready;) {
		int waiting = o.nready, i = take(&o, halves, live);
		const Step *s = &step[i];
		int64_t dead = now;

		steps->work += waiting;
		now += growth(s, halves, live);
		for (int j = 0; j < s->nout; j++) {
			dead += live[s->value[j]] ? 0 : halves[s->value[j]];
			live[s->value[j]] = s->x->guarded;
		}
		for (int j = 0; j < s->nin; j++)
			live[s->value[s->nout + j]] = true;
		most = max64(most, max64(now, dead));
		for (int e = o.before[i]; e; e = o.edge[2 * e - 1])
			if (--o.behind[o.edge[2 * e - 2]] == 0)
				o.ready[o.nready++] = o.edge[2 * e - 2];
	}
	return most;
}
