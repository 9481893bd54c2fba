/* warp_roles.c - interleaves the warp roles of a block in the interpreter: each runs until it waits for an
 * incomplete mbarrier phase. */
#include "hexc/interp/interp_internal.h"

/* ---- barriers ---------------------------------------------------------------------------------- */

bool
eval_mbarrier(Interp *it, Op *o)
{
	View *v = slot_of(it, o->out[0])->view;
	Barriers *b = v->barriers;
	int64_t all = o->out[0]->type.shape[0] * it->nclock;

	if (!b) {
		b = v->barriers = NEW(&it->arena, Barriers);
		b->op = o;
		b->n = o->out[0]->type.shape[0];
		b->phase = NEWN(&it->arena, int64_t, b->n);
		b->arrived = NEWN(&it->arena, int64_t, b->n);
		b->clock = it->clock_used;
		it->clock_used += (int)b->n;
		if (it->opt.races) {
			b->done = NEWN(&it->arena, int64_t, all);
			b->open = NEWN(&it->arena, int64_t, all);
		}
	}
	for (int64_t i = 0; i < b->n; i++)
		b->phase[i] = b->arrived[i] = 0;
	for (int64_t i = 0; i < all && it->opt.races; i++)
		b->done[i] = b->open[i] = 0;
	return true;
}

static const char *
barrier_name(const Barriers *b)
{
	return b->op->out[0]->name ? b->op->out[0]->name : "an mbarrier";
}

Barriers *
interp_barrier(Interp *it, const Op *o, int64_t *which)
{
	Barriers *b = slot_of(it, op_mbar(o)->out[0])->view->barriers;

	*which = slot_of(it, op_slot(o))->i[0];
	if (*which >= 0 && *which < b->n)
		return b;
	interp_error(it, INTERP_E_FAULT, o, "mbarrier %lld of `%s` is out of range [0, %lld)",
	             (long long)*which, barrier_name(b), (long long)b->n);
	return NULL;
}

bool
eval_mbarrier_wait(Interp *it, Op *o)
{
	int64_t which, phase = slot_of(it, mbarrier_parity(o))->i[0];
	Barriers *b = interp_barrier(it, o, &which);

	if (b && (b->phase[which] & 1) == (phase & 1))
		it->task->blocked = o;
	else if (b)
		race_seen(it, b, which);
	return b != NULL;
}

/* Blocks of a cluster run one at a time, each as if the others did the same simultaneously: it receives as
 * many arrivals as it sends to other blocks. */
static int
heard_from(const Op *arrive)
{
	int n = 0;

	for (int64_t mask = IMM(arrive, cluster); mask; mask &= mask - 1)
		n++;
	return n ? n : 1;
}

bool
eval_mbarrier_arrive(Interp *it, Op *o)
{
	Task *t = it->task;
	int64_t which;
	Barriers *b = interp_barrier(it, o, &which);

	if (!b)
		return false;
	for (int i = 0; i < t->npending && IMM(o, expect); i++)
		if (t->pending[i].barriers == b && t->pending[i].which == which &&
		    copy_arrival(t->pending[i].op) == o)
			t->pending[i].expected = true;
	/* lets a producer run as early, and as far ahead, as possible */
	t->turn = it->opt.late && t->role == ROLE_CONSUMER;
	race_arrive(it, b, which);
	b->arrived[which] += heard_from(o);
	if (b->arrived[which] < IMM(b->op, arrivals))
		return true;
	race_complete(it, b, which);
	b->arrived[which] = 0;
	b->phase[which]++;
	return interp_land_phase(it, b, which);
}

/* ---- roles ------------------------------------------------------------------------------------- */

bool
eval_consumer_group_id(Interp *it, Op *o)
{
	slot_of(it, o->out[0])->i[0] = it->task->team;
	return true;
}

/* Copies the values before the roles into the task. */
static void
hand_over(Interp *it, Task *t, const Op *roles)
{
	const Block *b = roles->parent;

	for (int i = 0; i < b->narg; i++)
		t->slot[b->arg[i]->id] = *slot_of(it, b->arg[i]);
	for (const Op *o = b->first; o != roles; o = o->next)
		for (int i = 0; i < o->nout; i++)
			t->slot[o->out[i]->id] = *slot_of(it, o->out[i]);
}

static void
start(Interp *it, Op *o)
{
	int n = 1 + it->k->teams;

	if (!it->role) {
		it->role = NEWN(&it->arena, Task, n);
		for (int i = 0; i < n; i++)
			it->role[i].slot = NEWN(&it->arena, InterpValue, (size_t)it->k->nval + 1);
	}
	for (int i = 0; i < n; i++) {
		Task *t = &it->role[i];

		t->role = i ? ROLE_CONSUMER : ROLE_PRODUCER;
		t->team = i - 1;
		t->nframe = t->npending = t->product.n = t->out.n = 0;
		t->groups = t->product.groups = t->out.groups = 0;
		t->blank = false;
		hand_over(it, t, o);
		it->task = t;
		interp_enter(it, o->blk[i ? 1 : 0]);
		it->task = &it->all;
	}
	race_roles(it);
}

/* Runs each unfinished task once; with `late` waiting tasks run first. *poll: whether all polling tasks are
 * stuck. */
static bool
turns(Interp *it, bool *moved, bool *left, Poll *poll)
{
	int n = 1 + it->k->teams;

	*moved = *left = false;
	*poll = POLL_NONE;
	for (int i = 0; i < n; i++) {
		Task *t = it->task = &it->role[it->opt.late ? n - 1 - i : i];
		uint64_t before = t->steps;

		if (t->nframe && !interp_task(it))
			return false;
		*moved = *moved || (t->steps != before && !t->poll);
		*left = *left || t->nframe;
		if (t->poll && *poll != POLL_AGAIN)
			*poll = t->poll;
	}
	return true;
}

/* Appends e.g. " waits in line 3 for phase 0 of `full[1]`". */
static void
say_waiting(Interp *it, Text *t, const Op *w)
{
	int64_t which;
	const Barriers *b = interp_barrier(it, w, &which);

	if (b)
		text_printf(t, " waits in line %u for phase %lld of `%s[%lld]`", w->src.line,
		            (long long)b->phase[which], barrier_name(b), (long long)which);
}

static bool
deadlock(Interp *it, const Op *o)
{
	Text t = { .arena = &it->arena };

	for (int i = 0; i < 1 + it->k->teams; i++) {
		it->task = &it->role[i];
		if (!it->task->nframe || !it->task->blocked)
			continue;
		text_printf(&t, "%s", t.n ? ", " : "");
		if (i)
			text_printf(&t, "consumer group %d", i - 1);
		else
			text_printf(&t, "the producer");
		say_waiting(it, &t, it->task->blocked);
	}
	return interp_error(it, INTERP_E_FAULT, o, "deadlock: %s", t.s ? t.s : "no role can continue");
}

bool
eval_roles(Interp *it, Op *o)
{
	bool moved = true, left = true, ok = true;
	Poll poll = POLL_NONE;

	if (!it->in_roles)
		start(it, o);
	it->in_roles = true;
	while (ok && left && moved)
		ok = turns(it, &moved, &left, &poll);
	it->task = &it->all;
	if (ok && left && poll) { /* other blocks have to run: this op will be executed again */
		it->all.poll = poll;
		it->all.blocked = o;
		return true;
	}
	if (ok && left)
		ok = deadlock(it, o);
	it->in_roles = false;
	it->task = &it->all;
	return ok;
}

bool
eval_fence_proxy_async(Interp *it, Op *o)
{
	(void)o;
	race_proxy(it);
	return true;
}

bool
eval_none(Interp *it, Op *o)
{
	(void)it;
	(void)o;
	return true;
}
