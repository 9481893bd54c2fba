/* wgmma_insert_waits.c - pass wgmma_waits: inserts waits for wgmma groups before the first op that needs
 * their results. */
#include "infer/core/instr.h"
#include "infer/schedule/wgmma_waits.h"

/* State of the walk over a block. */
typedef struct Walk {
	Kernel *k;
	const uint32_t *web; /* [n] */
	/* [n] index of the block's commit that closed the value's group; 0: not tracked here */
	int64_t *group;
	int64_t *reader; /* [n] the same of a loop's register operand: the group of the MMA that reads it */
	uint32_t n; /* number of values when the walk began */
	const Op **since; /* MMAs since the last commit */
	int nsince, cap;
	/* commits so far; the last one that this pass waits for; those waited for */
	int64_t commits, ours, waited;
	bool soon; /* MMAs in flight read registers that the iteration computed */
	bool fenced; /* no access to registers since a fence */
} Walk;

bool
stays_in_place(const uint32_t *web, const Op *o, int i)
{
	const Val *to = handed_to(o, i);

	return to && web[to->id] && web[to->id] == web[o->in[i]->id];
}

bool
same_instances(const Op *a, const Op *b)
{
	return a->lowering && b->lowering && instr_of(a->lowering) == instr_of(b->lowering) &&
	       a->lowering->dot.n == b->lowering->dot.n && a->lowering->dot.swap == b->lowering->dot.swap;
}

/* May MMA o follow the one that defines its operand i without a wait? */
static bool
product_follows(const uint32_t *web, const Op *o, int i)
{
	const Op *def = o->in[i]->def;

	return o->code == O_wgmma && def && def->code == O_wgmma && stays_in_place(web, o, i) &&
	       same_instances(o, def);
}

static bool
is_product_op(const Op *o)
{
	return o->code == O_wgmma || o->code == O_wgmma_fence || o->code == O_wgmma_commit ||
	       o->code == O_wgmma_wait;
}

/* May o run while MMAs are in flight, except those that define its operands? */
static bool
runs_beside(const Walk *w, const Op *o)
{
	bool signal = o->code == O_mbarrier_wait || (o->code == O_mbarrier_arrive && IMM(o, pingpong));
	bool pure = op_is(o, F_PURE) && !o->blk[0];

	return is_product_op(o) || (!w->soon && (signal || o->code == O_load || pure));
}

/* Returns the last group that defines an operand of o, except accumulators that stay in place; 0 if there
 * is none. */
static int64_t
operands_need(const Walk *w, const Op *o)
{
	int64_t last = 0;

	for (int i = 0; i < o->nin; i++) {
		uint32_t id = o->in[i]->id;

		if (id < w->n && w->group[id] > last && !product_follows(w->web, o, i))
			last = w->group[id];
	}
	return last;
}

/* Does MMA o have an accumulator that is copied to its registers at the preceding fence? */
static bool
takes_a_copy(const Walk *w, const Op *o)
{
	return !val_is_zero(mma_acc(o)) && !stays_in_place(w->web, o, IN_mma_acc);
}

/* Returns the last group whose MMAs write the registers that o's accumulator is copied to; 0 if there is
 * none. */
static int64_t
copy_needs(const Walk *w, const Op *o)
{
	int64_t last = 0;

	for (uint32_t id = 0; id < w->n && takes_a_copy(w, o); id++)
		if (w->web[id] == w->web[o->out[0]->id])
			last = max64(last, w->group[id]);
	return last;
}

/* Returns the last group that reads registers which a result of o will have in the next iteration, so that o
 * may be computed in them; 0 if there is none. */
static int64_t
carried_registers_need(const Walk *w, const Op *o)
{
	const Block *b = o->parent;
	int64_t last = 0;

	for (int i = 0; i < b->last->nin && b->owner->code == O_for; i++)
		if (b->last->in[i]->def == o && b->arg[1 + i]->id < w->n)
			last = max64(last, w->reader[b->arg[1 + i]->id]);
	return last;
}

/* Returns the last group that must complete before o; 0 if there is none. At a fence, the registers of the
 * following MMAs are filled. */
static int64_t
needed_by(const Walk *w, const Op *o)
{
	int64_t last = 0;

	if (!runs_beside(w, o))
		return w->ours;
	for (const Op *p = o->next; o->code == O_wgmma_fence && p && p->code != O_wgmma_fence; p = p->next)
		if (p->code == O_wgmma)
			last = max64(last, max64(operands_need(w, p), copy_needs(w, p)));
	return max64(max64(last, carried_registers_need(w, o)), operands_need(w, o));
}

/* Removes the wait for the last group: this walk inserts the waits for its MMAs. */
static void
take_over(Walk *w, Op *wait)
{
	for (int i = 0; i < w->nsince; i++) {
		const Val *factor = product_factor(w->since[i]);

		w->group[w->since[i]->out[0]->id] = w->commits;
		if (factor && !factor->def)
			w->reader[factor->id] = w->commits;
		w->soon = w->soon || (factor && factor->def);
	}
	w->ours = w->commits;
	op_unlink(wait);
}

static void
note(Walk *w, Op *o)
{
	const Op *behind = o->next;

	if (o->code == O_wgmma) {
		VEC_PUSH(w->k->unit->arena, w->since, w->nsince, w->cap, o);
	} else if (o->code == O_wgmma_commit) {
		w->commits++;
		if (behind && behind->code == O_wgmma_wait && IMM(behind, sinkable))
			take_over(w, o->next);
		w->nsince = 0;
	} else if (o->code == O_wgmma_wait && w->commits - IMM(o, pending) > w->waited) {
		w->waited = w->commits - IMM(o, pending);
	}
}

/* Returns the first MMA after a fence; NULL if there is none. */
static const Op *
first_behind(const Op *fence)
{
	const Op *o = fence->next;

	while (o && o->code != O_wgmma && o->code != O_wgmma_fence)
		o = o->next;
	return o && o->code == O_wgmma ? o : NULL;
}

/* Is o a fence after another with only MMAs between, which orders nothing? */
static bool
fences_again(const Walk *w, const Op *o)
{
	const Op *first = o->code == O_wgmma_fence ? first_behind(o) : NULL;

	return o->code == O_wgmma_fence && w->fenced && !(first && takes_a_copy(w, first));
}

/* Is o an MMA that no preceding fence covers? */
static bool
lacks_fence(const Walk *w, const Op *o)
{
	return o->code == O_wgmma &&
	       (!w->fenced || (takes_a_copy(w, o) && first_behind(product_fence(o)) != o));
}

static void
note_registers(Walk *w, const Op *o)
{
	if (o->code == O_wgmma_fence)
		w->fenced = true;
	for (int i = 0; i < o->nout; i++)
		w->fenced = w->fenced && (o->code == O_wgmma || o->out[i]->type.space != S_reg);
	w->fenced = w->fenced && !o->blk[0];
}

/* Inserts before o a wait for all tracked MMAs that it needs. */
static void
wait_in_front(Walk *w, Op *o)
{
	int64_t last = needed_by(w, o);

	if (last <= w->waited)
		return;
	IMM_SET(op_new(o->parent, o, O_wgmma_wait, o->src, 0, NULL, 0, NULL), pending, w->commits - last);
	w->waited = last;
	w->soon = w->soon && last < w->ours;
}

void
place_waits(Kernel *k, Block *b)
{
	Walk w = { .k = k, .n = k->nval + 1, .web = kernel_webs(k) };
	Op *next;

	w.group = NEWN(k->unit->arena, int64_t, w.n);
	w.reader = NEWN(k->unit->arena, int64_t, w.n);
	for (Op *o = b->first; o; o = next) {
		next = o->next;
		if (fences_again(&w, o)) {
			op_unlink(o);
			continue;
		}
		if (lacks_fence(&w, o)) {
			next = op_new(b, o, O_wgmma_fence, o->src, 0, NULL, 0, NULL);
			continue;
		}
		wait_in_front(&w, o);
		note_registers(&w, o);
		note(&w, o);
		next = o->next;
		if (o->code == O_for)
			o = release_late(k, o);
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				place_waits(k, o->blk[i]);
	}
}
