/* stage_release.c - determines which mbarrier releases a stage for refilling, and whether two stage indices
 * are equal, for pass_validate_wgmma.
 *
 * Stage indices are compared by their values in sample iterations of the loops around them. Expressions of
 * the same counters that are equal in none are distinct, and those equal in all are the same, whatever
 * their form. */
#include "infer/validate/async_mma.h"

enum { TURNS = 24, DEPTH = 16 };

typedef struct Sample {
	int64_t turn;
	bool carried; /* it depends on a loop-carried value, which is unknown */
} Sample;

static bool value(Sample *s, const Val *v, int depth, int64_t *out);

/* Returns an arbitrary number for an unknown value: the same for one value in one iteration. */
static int64_t
any_number(const Sample *s, const Val *v)
{
	uint32_t x = (v->id * 2654435761u) ^ ((uint32_t)s->turn * 2246822519u);

	return (x ^ x >> 15) * 3266489917u >> 16;
}

static int64_t
argument(Sample *s, const Val *v, int depth)
{
	const Op *loop = v->block->owner;
	int64_t lo, step;

	if (v != v->block->arg[0] || !loop || loop->code != O_for) {
		s->carried = true;
		return any_number(s, v);
	}
	if (!value(s, for_step(loop), depth - 1, &step))
		return any_number(s, v);
	return (value(s, for_lo(loop), depth - 1, &lo) ? lo : 0) + s->turn * step;
}

static bool
value(Sample *s, const Val *v, int depth, int64_t *out)
{
	const Op *o = v->def;
	int64_t x, y;

	if (val_is_const(v, out))
		return true;
	if (depth == 0)
		return false;
	if (!o) {
		*out = argument(s, v, depth);
		return true;
	}
	if (o->code == O_select && value(s, select_cond(o), depth - 1, &x))
		return value(s, x ? select_yes(o) : select_no(o), depth - 1, out);
	if (o->nin == 2 && op_is(o, F_PURE) && o->in[0]->type.space == S_scalar && o->nout == 1 &&
	    value(s, o->in[0], depth - 1, &x) && value(s, o->in[1], depth - 1, &y) &&
	    i64_eval(o->code, x, y, out))
		return true;
	*out = any_number(s, v);
	return true;
}

/* May o run in that iteration, by the conditions of the ifs around it? */
static bool
is_run(Sample *s, const Op *o)
{
	int64_t x;

	for (const Block *b = o->parent; b->owner; b = b->owner->parent)
		if (b->owner->code == O_if && value(s, if_cond(b->owner), DEPTH, &x) &&
		    !x == (b == b->owner->blk[0]))
			return false;
	return true;
}

bool
slots_meet(const Op *o, const Val *a, const Val *b)
{
	Sample s = { .turn = 0 };
	int met = 0, n = 0;

	for (; s.turn < TURNS; s.turn++) {
		int64_t x, y;

		if ((o && !is_run(&s, o)) || !value(&s, a, DEPTH, &x) || !value(&s, b, DEPTH, &y))
			continue;
		n++;
		met += x == y;
	}
	return a == b || (met && (met == n || (o && !s.carried)));
}

/* Returns the producers' wait before they fill: the nearest preceding one in program order, else, around a
 * loop, their last one. NULL if they do not wait. */
static const Op *
find_producer_wait(Block *producer, const Op *fill)
{
	const Op *wait = NULL;
	bool passed = false;
	OpWalk w;

	for (const Op *o = walk_first(&w, producer); o && !(passed && wait && o->code != O_mbarrier_wait);
	     o = walk_next(&w)) {
		passed = passed || o == fill;
		if (o->code == O_mbarrier_wait && !(passed && wait))
			wait = o;
	}
	return wait;
}

static bool
fills(const Op *o, const Val *tile)
{
	return (o->code == O_copy || o->code == O_store) && view_root(write_dest(o)) == tile;
}

/* Returns the index of dim d of the tile that a view drops; NULL if it does not drop it. */
static const Val *
dropped_index(Val *v, int d)
{
	const Op *o = v->def;

	if (o && o->code == O_view && view_source(o) == view_root(v) && IMM(o, dropped) >> d & 1)
		return view_start(o, d);
	return NULL;
}

bool
is_leave(Block *producer, const Val *barrier, const Val *tile)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, producer); o; o = walk_next(&w)) {
		const Op *wait = fills(o, tile) ? find_producer_wait(producer, o) : NULL;

		if (wait && mbarrier_barrier(wait) == barrier)
			return true;
	}
	return false;
}

const Val *
stage_of(Block *producer, Val *view)
{
	const Val *tile = view_root(view), *stage = NULL;
	OpWalk w;

	for (const Op *o = walk_first(&w, producer); o; o = walk_next(&w)) {
		const Op *wait = fills(o, tile) ? find_producer_wait(producer, o) : NULL;
		const Val *slot = NULL;

		for (int d = 0; wait && !slot && d < tile->type.rank; d++) {
			const Val *i = dropped_index(write_dest(o), d);

			slot = i && slots_meet(NULL, i, mbarrier_slot(wait)) ? dropped_index(view, d) : NULL;
		}
		if (wait && (!slot || (stage && stage != slot)))
			return NULL;
		stage = slot ? slot : stage;
	}
	return stage;
}
