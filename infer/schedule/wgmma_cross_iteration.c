/* wgmma_cross_iteration.c - pass wgmma_waits: keeps wgmma in flight across the end of a loop iteration, by
 * delaying stage releases by one iteration. */
#include "hexc/ir/memory_effects.h"
#include "infer/schedule/wgmma_waits.h"

/* A loop that does little but multiply. */
typedef struct MmaLoop {
	Kernel *k;
	const uint32_t *web; /* by value id */
	Op *loop;
	Op *last; /* the commit */
	int commits;
	Op **arrive; /* movable arrivals after MMAs */
	int n, cap;
} MmaLoop;

/* Is v, a result of MMA `made`, used only by later MMAs of the same shape and by the yield? */
static bool
stays_under_way(const MmaLoop *t, const Val *v, const Op *made)
{
	for (const Op *o = t->loop->blk[0]->first; o; o = o->next)
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == v && !(stays_in_place(t->web, o, i) &&
			                       (o->code == O_yield || same_instances(o, made))))
				return false;
	return true;
}

/* If an iteration ends with the result of an MMA, does the next one start with an MMA that adds to it? */
static bool
goes_on(const MmaLoop *t, const Op *made)
{
	const Block *b = t->loop->blk[0];

	for (int i = 0; i < b->last->nin; i++)
		if (b->last->in[i] == made->out[0] && !stays_under_way(t, b->arg[i + 1], made))
			return false;
	return true;
}

/* Does o accumulate in place, or start from zeros? */
static bool
begins_in_place(const MmaLoop *t, const Op *o)
{
	return val_is_zero(mma_acc(o)) || stays_in_place(t->web, o, IN_mma_acc);
}

/* Is there another stage to fill until the arrival, one iteration later? */
static bool
has_time(const Op *arrive)
{
	return mbarrier_barrier(arrive)->type.shape[0] > 1;
}

static bool
note(MmaLoop *t, Op *o)
{
	switch (o->code) {
	case O_wgmma:
		return mma_a(o)->type.space == S_shared && begins_in_place(t, o) &&
		       stays_under_way(t, o->out[0], o) && goes_on(t, o);
	case O_wgmma_commit:
		t->last = o;
		t->commits++;
		return o->next->code == O_wgmma_wait && IMM(o->next, sinkable);
	case O_wgmma_wait:
		return IMM(o, sinkable);
	case O_mbarrier_arrive:
		VEC_PUSH(t->k->unit->arena, t->arrive, t->n, t->cap, o);
		return IMM(o, sinkable) && t->last && has_time(o);
	case O_mbarrier_wait:
	case O_wgmma_fence:
	case O_load:
	case O_yield:
		return true;
	default:
		return op_is(o, F_PURE) && !o->blk[0];
	}
}

static bool
find_turn(MmaLoop *t)
{
	for (Op *o = t->loop->blk[0]->first; o; o = o->next)
		if (!note(t, o))
			return false;
	return t->n > 0;
}

/* Inserts an `if` with an empty second region; returns the end of the first one. */
static Op *
guard(Block *b, Op *at, Src src, Val *cond)
{
	Op *o = op_new(b, at, O_if, src, 1, &cond, 0, NULL);

	for (int r = 0; r < 2; r++) {
		o->blk[r] = block_new(b->kernel, o);
		op_new(o->blk[r], NULL, O_yield, src, 0, NULL, 0, NULL);
	}
	return o->blk[0]->last;
}

/* Inserts the arrival at a stage of a previous iteration. */
static void
arrive(Op *at, const Op *like, Val *slot)
{
	Op *o = op_clone(at->parent, at, like, NULL, NULL);

	o->in[IN_mbarrier_slot] = slot;
	IMM_SET(o, sinkable, 0);
}

static void
wait_for(Block *b, Op *at, Src src, int64_t pending)
{
	IMM_SET(op_new(b, at, O_wgmma_wait, src, 0, NULL, 0, NULL), pending, pending);
}

/* Does the loop have at most one iteration? It continues a preceding loop, and no more than one step is
 * left. */
static bool
turns_once(const Op *loop)
{
	const Op *front = loop->prev, *end;
	int64_t step, left;

	while (front && front->code != O_for)
		front = front->prev;
	end = front && split_goes_on(front, loop) ? for_hi(front)->def : NULL;
	return end && end->code == O_sub && elt_lhs(end) == for_hi(loop) &&
	       val_is_const(elt_rhs(end), &left) && val_is_const(for_step(loop), &step) && left <= step;
}

Op *
release_late(Kernel *k, Op *loop)
{
	MmaLoop t = { .k = k, .loop = loop, .web = kernel_webs(k) };
	Block *b = loop->blk[0], *outside = loop->parent;
	Op *then = NULL, *behind, *next;
	int first;

	if (!find_turn(&t))
		return loop;
	first = loop->nout;
	for (int i = 0; i < t.n; i++) {
		loop = loop_carry(loop, ir_const(outside, loop, 0));
		loop_carry_next(loop, mbarrier_slot(t.arrive[i]));
	}
	for (Op *o = b->first; o; o = next) {
		next = o->next;
		if (o->code == O_wgmma_wait)
			op_unlink(o);
	}
	if (!turns_once(loop)) {
		next = t.last->next;
		wait_for(b, next, loop->src, t.commits);
		then = guard(b, next, loop->src, ir_bin(b, next, O_lt, for_lo(loop), b->arg[0]));
	}
	next = loop->next;
	wait_for(outside, next, loop->src, 0);
	behind = guard(outside, next, loop->src, ir_bin(outside, next, O_lt, for_lo(loop), for_hi(loop)));
	for (int i = 0; i < t.n; i++) {
		if (then)
			arrive(then, t.arrive[i], b->arg[1 + first + i]);
		arrive(behind, t.arrive[i], loop->out[first + i]);
		op_unlink(t.arrive[i]);
	}
	return loop;
}
