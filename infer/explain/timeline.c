/* timeline.c - computes the timeline of a block's first iterations, by simulating the code with a clock for
 * each role.
 *
 * Roles wait for each other. The simulation is therefore repeated with the times of the last one until they
 * do not change: a phase of a barrier depends on earlier ones only, so each repetition fixes at least one
 * more. */
#include "infer/explain/timeline_sim.h"
#include <math.h>

enum {
	TURNS_MORE = 4, /* after the first round of stages */
	ROUNDS_MOST = 64, /* maximum number of simulations until the times are stable */
};

static void walk(Sim *s, const Block *b);

/* Does the block itself, not a nested loop, wait for copies or phases? */
static bool
waits(const Block *b)
{
	for (const Op *o = b->first; o; o = o->next) {
		if (o->code == O_mbarrier_wait || (o->code == O_async_wait && !IMM(o, bulk)))
			return true;
		for (int i = 0; i < 2 && o->code == O_if; i++)
			if (waits(o->blk[i]))
				return true;
	}
	return false;
}

static bool
waits_inside(Block *b)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == O_mbarrier_wait || (o->code == O_async_wait && !IMM(o, bulk)))
			return true;
	return false;
}

/* Do iterations of this loop wait, without a nested loop that does? */
static bool
has_turns(const Op *loop)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w))
		if (o->code == O_for && waits_inside(o->blk[0]))
			return false;
	return waits(loop->blk[0]);
}

/* Returns the number of simulated iterations of the loop. */
static int
turns_of(const Sim *s, const Op *loop)
{
	int64_t from, to, step;

	if (val_is_const(for_lo(loop), &from) && val_is_const(for_hi(loop), &to) &&
	    val_is_const(for_step(loop), &step) && step > 0 && ceil_div(to - from, step) < s->out->turns)
		return (int)max64(ceil_div(to - from, step), 0);
	return s->out->turns;
}

static void
walk_loop(Sim *s, const Op *loop)
{
	double runs = explain_runs(s->ex, loop), inside = explain_runs(s->ex, loop->blk[0]->last);
	int n = turns_of(s, loop), outer = s->turn;

	if (IMM(loop, split) == SPLIT_MAIN || IMM(loop, split) == SPLIT_PROLOGUE)
		return; /* reported with the remainder */
	if (!has_turns(loop)) {
		double times = s->times;

		s->times *= waits_inside(loop->blk[0]) || runs <= 0 ? 1 : inside / runs;
		walk(s, loop->blk[0]);
		s->times = times;
		return;
	}
	walk_flush(s);
	if (!s->producer)
		s->nstart = 0;
	for (s->turn = 0; s->turn < n; s->turn++) {
		if (!s->producer)
			s->start[s->nstart++] = s->clock;
		walk(s, loop->blk[0]);
		walk_flush(s);
	}
	if (!s->producer)
		s->start[s->nstart] = s->clock;
	s->turn = outer;
}

/* Is the condition `from < counter`, which is false in the loop's first iteration? */
static bool
first_turn_skips(const Sim *s, const Op *o)
{
	const Op *is = if_cond(o)->def, *loop = o->parent->owner;

	return s->turn == 0 && is && is->code == O_lt && loop && loop->code == O_for &&
	       elt_lhs(is) == for_lo(loop) && elt_rhs(is) == loop->blk[0]->arg[0];
}

static void
walk_roles(Sim *s, const Op *o)
{
	double from, to;

	walk_flush(s);
	from = s->clock;
	s->producer = true;
	s->warps = s->ex->k->producer_warps;
	walk(s, o->blk[0]);
	walk_flush(s);
	to = s->clock;
	s->clock = from;
	s->producer = false;
	s->warps = s->ex->k->warps;
	s->open = (Fill){ 0 };
	s->free_stage = NULL;
	walk(s, o->blk[1]);
	walk_flush(s);
	s->clock = fmax(s->clock, to);
}

static void
walk_op(Sim *s, const Op *o)
{
	Res r = { 0 };

	explain_res(s->ex, o, &r);
	switch (o->code) {
	case O_for: walk_loop(s, o); break;
	case O_if:
		if (!first_turn_skips(s, o))
			walk(s, o->blk[0]);
		if (!IMM(o, versions))
			walk(s, o->blk[1]);
		break;
	case O_roles: walk_roles(s, o); break;
	case O_mbarrier_wait:
		if (!barrier_tells_turn(s, mbarrier_barrier(o)))
			walk_phase(s, o, &r);
		break;
	case O_mbarrier_arrive:
		if (!IMM(o, pingpong))
			walk_arrive(s, o, &r);
		break;
	case O_wgmma: walk_product(s, o, &r); break;
	case O_wgmma_wait: walk_products(s, o); break;
	case O_wgmma_commit:
		VEC_PUSH(s->ex->k->unit->arena, s->group, s->ngroup, s->groupcap, s->product);
		break;
	case O_async_commit:
		if (!IMM(o, bulk))
			walk_close(s);
		break;
	case O_async_wait:
		if (!IMM(o, bulk))
			walk_group(s, o);
		break;
	default:
		if (o->code == O_copy && copy_ends_later(o)) {
			walk_copy(s, o, &r);
			break;
		}
		if (res_cycles(&r) > 0)
			walk_add(s, o, &r);
		if (r.barrier)
			walk_flush(s);
	}
}

static void
walk(Sim *s, const Block *b)
{
	for (const Op *o = b->first; o; o = o->next)
		walk_op(s, o);
}

/* Simulates the kernel once. Returns false if the times are unchanged. */
static bool
walk_kernel(Sim *s)
{
	bool other = false;

	s->nfill = s->ngroup = s->nbusy = 0;
	s->clock = s->tensor = s->product = s->extra = s->waited = 0;
	s->times = 1;
	s->turn = -1;
	s->warps = kernel_warps(s->ex->k);
	s->producer = false;
	s->load = s->piece = (Res){ 0 };
	s->open = (Fill){ 0 };
	for (int i = 0; i < s->nring; i++)
		s->ring[i]->n = s->ring[i]->waits = s->ring[i]->came = 0;
	walk(s, s->ex->k->body);
	walk_flush(s);
	for (int i = 0; i < s->nring; i++) {
		StageBarriers *r = s->ring[i];

		for (int j = 0; j < r->n; j++) {
			other = other || fabs(r->done[j] - r->old[j]) > 0.01;
			r->old[j] = r->done[j];
		}
	}
	return other;
}

static int
deepest(const Explained *ex)
{
	int64_t most = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, ex->k->body); o; o = walk_next(&w)) {
		if (o->code == O_mbarrier)
			most = max64(most, o->out[0]->type.shape[0]);
		if (o->code == O_for)
			most = max64(most, IMM(o, stages));
	}
	return (int)(most < TURNS_MOST ? most : TURNS_MOST);
}

const Timeline *
timeline(const Explained *ex)
{
	Arena *a = ex->k->unit->arena;
	Sim *s;
	Timeline *t;

	if (!waits_inside(ex->k->body))
		return NULL;
	s = NEW(a, Sim);
	t = NEW(a, Timeline);
	*s = (Sim){ .ex = ex, .out = t };
	t->stages = deepest(ex) > 0 ? deepest(ex) : 1;
	t->turns = t->stages + TURNS_MORE < TURNS_MOST ? t->stages + TURNS_MORE : TURNS_MOST;
	t->limit = "";
	for (int i = 0; i < ROUNDS_MOST && walk_kernel(s); i++)
		arena_step(a);
	s->draw = true;
	walk_kernel(s);
	t->total = fmax(t->total, s->clock);
	walk_stages(s);
	walk_steady(s);
	walk_order(s);
	return t;
}
