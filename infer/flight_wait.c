/* flight_wait.c - waits for products, where something needs what they make. */
#include "infer/base/instr.h"
#include "infer/flight.h"

/* A block as it is walked. */
typedef struct Walk {
	Kernel *k;
	int64_t *group; /* [n] which commit of the block closed the group that makes it; 0: none of ours */
	uint32_t n; /* values when the walk began */
	const Op **since; /* products since the last commit */
	int nsince, cap;
	int64_t commits, ours, waited; /* so far; the last that we wait for; those waited for */
	bool soon; /* products under way read registers */
	bool fenced; /* nothing touched registers since a fence */
} Walk;

bool
product_follows(const Op *o, int i)
{
	const Op *def = o->in[i]->def;

	return o->code == O_wgmma && i == 2 && def && def->code == O_wgmma && o->lowering && def->lowering &&
	       instr_of(o->lowering) == instr_of(def->lowering) &&
	       o->lowering->dot.n == def->lowering->dot.n &&
	       o->lowering->dot.swap == def->lowering->dot.swap;
}

static bool
is_product_op(const Op *o)
{
	return o->code == O_wgmma || o->code == O_wg_fence || o->code == O_wg_commit || o->code == O_wg_wait;
}

/* May o run while products are under way, but for those that make its operands? */
static bool
runs_beside(const Walk *w, const Op *o)
{
	return is_product_op(o) || (!w->soon && (o->code == O_mbar_wait || o->code == O_load ||
	                                         (op_is(o, F_PURE) && !o->blk[0])));
}

/* The last group that must be done in front of o; 0: none. */
static int64_t
needed_by(const Walk *w, const Op *o)
{
	int64_t last = 0;

	if (!runs_beside(w, o))
		return w->ours;
	for (int i = 0; i < o->nin; i++) {
		uint32_t id = o->in[i]->id;

		if (id < w->n && w->group[id] > last && !product_follows(o, i))
			last = w->group[id];
	}
	return last;
}

/* The products of the last group are waited for by us. */
static void
take_over(Walk *w, Op *wait)
{
	for (int i = 0; i < w->nsince; i++) {
		w->group[w->since[i]->out[0]->id] = w->commits;
		w->soon = w->soon || w->since[i]->in[0]->type.space == S_reg;
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
	} else if (o->code == O_wg_commit) {
		w->commits++;
		if (behind && behind->code == O_wg_wait && IMM(behind, movable))
			take_over(w, o->next);
		w->nsince = 0;
	} else if (o->code == O_wg_wait && w->commits - IMM(o, pending) > w->waited) {
		w->waited = w->commits - IMM(o, pending);
	}
}

/* A fence right behind another, but for products, orders nothing. */
static bool
fences_again(Walk *w, const Op *o)
{
	bool again = o->code == O_wg_fence && w->fenced;

	if (o->code == O_wg_fence)
		w->fenced = true;
	for (int i = 0; i < o->nout; i++)
		w->fenced = w->fenced && (o->code == O_wgmma || o->out[i]->type.space != S_reg);
	w->fenced = w->fenced && !o->blk[0];
	return again;
}

void
place_waits(Kernel *k, Block *b)
{
	Walk w = { .k = k, .n = k->nval + 1 };
	Op *next;

	w.group = NEWN(k->unit->arena, int64_t, w.n);
	for (Op *o = b->first; o; o = next) {
		int64_t last = needed_by(&w, o);

		next = o->next;
		if (fences_again(&w, o)) {
			op_unlink(o);
			continue;
		}

		if (last > w.waited) {
			IMM_SET(op_new(b, o, O_wg_wait, o->src, 0, NULL, 0, NULL), pending, w.commits - last);
			w.waited = last;
			w.soon = w.soon && last < w.ours;
		}
		note(&w, o);
		next = o->next;
		if (o->code == O_for)
			o = release_late(k, o);
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				place_waits(k, o->blk[i]);
	}
}
