/* reg_pressure_bottom_up.c - estimates the minimum register pressure of straight-line code by bottom-up
 * list scheduling.
 *
 * From the end to the start: of all steps whose users are scheduled, it takes the one that frees the most
 * registers. */
#include "ptxgen/reg_pressure.h"
#include <string.h>

typedef struct BottomUpSchedule {
	Arena *a;
	const PressureStep *step;
	int n;
	int *edge, nedge, cap; /* pairs: step, index of the next pair from 1 */
	int *before; /* [n] the first pair of a step's predecessors */
	int *behind; /* [n] number of unscheduled successors; -1: it is scheduled */
	int *user, nuser, capuser; /* pairs: a step, index of the next pair from 1 */
	int *users;     /* [nvalue] the first pair of the steps that write or read it */
	int64_t *grows; /* [n] halves live before the step minus those after it, while it is ready */
	bool *behind_it; /* [nvalue] liveness of the current step's values after it */
	Heap ready;     /* by `grows`, the last step first; changed entries are duplicated */
} BottomUpSchedule;

/* Keeps step `first` before `then`. */
static void
keep(BottomUpSchedule *o, int first, int then)
{
	if (first < 0 || first == then)
		return;
	VEC_PUSH(o->a, o->edge, o->nedge, o->cap, first);
	VEC_PUSH(o->a, o->edge, o->nedge, o->cap, o->before[then]);
	o->before[then] = o->nedge / 2;
	o->behind[first]++;
}

/* Orders steps by what each reads and writes. */
static void
keep_values(BottomUpSchedule *o, int nreg)
{
	/* by value, from 1: the last writer; the last pair of `chain` */
	int *writer = NEWN(o->a, int, nreg + 1), *reader = NEWN(o->a, int, nreg + 1);
	int *chain = NULL, nchain = 0, cap = 0; /* pairs: a reader, the preceding one */

	for (int i = 0; i < o->n; i++) {
		const PressureStep *s = &o->step[i];

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
keep_memory(BottomUpSchedule *o)
{
	int fixed = -1, first = 0; /* first of the steps after `fixed` that only read */

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
is_read(const PressureStep *s, int value)
{
	for (int j = 0; j < s->nin; j++)
		if (s->value[s->nout + j] == value)
			return true;
	return false;
}

/* Returns the halves live before a step minus those live after it. */
static int64_t
growth(const PressureStep *s, const uint8_t *halves, const bool *live)
{
	int64_t sum = 0;

	for (int j = 0; j < s->nin; j++)
		sum += live[s->value[s->nout + j]] ? 0 : halves[s->value[s->nout + j]];
	for (int j = 0; j < s->nout && !s->x->guarded; j++)
		sum -= live[s->value[j]] && !is_read(s, s->value[j]) ? halves[s->value[j]] : 0;
	return sum;
}

/* Steps that add the fewest halves come first, the last of equals. */
static int64_t
rank(const BottomUpSchedule *o, int i)
{
	return o->grows[i] * ((int64_t)1 << 32) - i;
}

static void
is_ready(BottomUpSchedule *o, Steps *s, int i)
{
	o->grows[i] = growth(&s->step[i], s->halves, s->live);
	heap_push(o->a, &o->ready, rank(o, i), i);
	s->work++;
}

/* Schedules step i, and updates the liveness of its values. Ready steps that have a value whose liveness
 * changed get a new rank. */
static void
go_before(BottomUpSchedule *o, Steps *s, int i)
{
	const PressureStep *x = &s->step[i];

	for (int j = 0; j < x->nout + x->nin; j++)
		o->behind_it[x->value[j]] = s->live[x->value[j]];
	for (int j = 0; j < x->nout + x->nin; j++)
		s->live[x->value[j]] = j >= x->nout || x->x->guarded;
	for (int j = 0; j < x->nout + x->nin; j++) {
		int v = x->value[j];

		if (s->live[v] == o->behind_it[v])
			continue;
		o->behind_it[v] = s->live[v];
		for (int e = o->users[v]; e; e = o->user[2 * e - 1]) {
			s->work++;
			if (o->behind[o->user[2 * e - 2]] == 0)
				is_ready(o, s, o->user[2 * e - 2]);
		}
	}
}

static void
find_users(BottomUpSchedule *o, const Steps *s)
{
	o->users = NEWN(o->a, int, s->nvalue + 1);
	for (int i = 0; i < s->n; i++)
		for (int j = 0; j < s->step[i].nout + s->step[i].nin; j++) {
			int v = s->step[i].value[j];

			VEC_PUSH(o->a, o->user, o->nuser, o->capuser, i);
			VEC_PUSH(o->a, o->user, o->nuser, o->capuser, o->users[v]);
			o->users[v] = o->nuser / 2;
		}
}

/* Returns the next step, from the end; -1 if all are scheduled. */
static int
take(BottomUpSchedule *o)
{
	while (o->ready.n) {
		HeapItem top = o->ready.at[0];

		heap_pop(&o->ready);
		if (o->behind[top.what] == 0 && top.key == rank(o, top.what))
			return top.what;
	}
	return -1;
}

int64_t
pressure_least(Arena *a, Steps *s)
{
	BottomUpSchedule o = { .a = a, .step = s->step, .n = s->n };
	int64_t now = 0, most;

	o.before = NEWN(a, int, s->n + 1);
	o.behind = NEWN(a, int, s->n + 1);
	o.behind_it = NEWN(a, bool, s->nvalue + 1);
	o.grows = NEWN(a, int64_t, s->n + 1);
	keep_values(&o, s->nvalue);
	keep_memory(&o);
	find_users(&o, s);
	for (int i = 0; i < s->nvalue; i++)
		now += s->live[i] ? s->halves[i] : 0;
	for (int i = 0; i < s->n; i++)
		if (!o.behind[i])
			is_ready(&o, s, i);
	most = now;
	for (int i; (i = take(&o)) >= 0;) {
		const PressureStep *x = &s->step[i];
		int64_t dead = now;

		o.behind[i] = -1;
		now += o.grows[i];
		for (int j = 0; j < x->nout; j++)
			dead += s->live[x->value[j]] ? 0 : s->halves[x->value[j]];
		go_before(&o, s, i);
		most = max64(most, max64(now, dead));
		for (int e = o.before[i]; e; e = o.edge[2 * e - 1])
			if (--o.behind[o.edge[2 * e - 2]] == 0)
				is_ready(&o, s, o.edge[2 * e - 2]);
	}
	return most;
}
