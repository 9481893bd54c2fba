/* async_copy.c - pass async_copy: makes copies outside of pipeline loops asynchronous (cp.async), so that
 * they bypass registers.
 *
 *     copy a; copy b              copy a, asynchronous; copy b, asynchronous
 *     ...                   =>    ...
 *     first use                   commit; wait 0; first use
 *
 * Only index arithmetic runs before the group has landed, so group counts of the program or pass pipeline are
 * not disturbed. In a loop that keeps groups in flight a `wait 0` would drain them; copies there are
 * unchanged.
 *
 * requires   no pipeline loops
 * preserves  what the kernel computes
 * leaves     barriers to pass insert_barriers, which knows that a copy has landed at its wait */
#include "hexc/ir/ir.h"
#include "hexc/pass/pass.h"

/* Is b in a loop or branch that waits for groups? */
static bool
keeps_groups(const Block *b)
{
	for (; b && b->owner; b = b->owner->parent)
		for (const Op *o = b->first; o; o = o->next)
			if (o->code == O_async_wait)
				return true;
	return false;
}

/* May o be between a copy and its wait? Only ops that cannot observe the tile. */
static bool
transparent(const Op *o)
{
	return o->code == O_alloc || (o->code == O_copy && !IMM(o, async)) ||
	       (op_is(o, F_PURE) && !op_is(o, F_MEM));
}

/* Do views a and b of one shared tile have no element in common, by their compile-time starts? */
static bool
disjoint(const Val *a, const Val *b)
{
	const Op *p = a->def, *q = b->def;
	int64_t x, y;

	if (p->code != O_view || q->code != O_view || view_source(p) != view_source(q))
		return false;
	for (int d = 0; d < view_source(p)->type.rank; d++)
		if (val_is_const(view_start(p, d), &x) && val_is_const(view_start(q, d), &y) &&
		    (x + view_span(p, d) <= y || y + view_span(q, d) <= x))
			return true;
	return false;
}

/* May copy o write what one of the pending copies, from `first` on, writes? */
static bool
overwrites(const Op *o, const Op *first)
{
	for (const Op *p = first; p != o; p = p->next)
		if (p->code == O_copy && view_root(copy_dest(p)) == view_root(copy_dest(o)) &&
		    !disjoint(copy_dest(p), copy_dest(o)))
			return true;
	return false;
}

static void
settle(Block *b, Op *at, Src src)
{
	op_new(b, at, O_async_commit, src, 0, NULL, 0, NULL);
	op_new(b, at, O_async_wait, src, 0, NULL, 0, NULL);
}

static bool
block_async(Block *b)
{
	bool changed = false, ours = !keeps_groups(b);
	Op *pending = NULL; /* the first copy that has no wait yet */
	Src src = { 0 };

	for (Op *o = b->first; o; o = o->next) {
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				changed |= block_async(o->blk[i]);
		if (pending && (!transparent(o) || (o->code == O_copy && overwrites(o, pending)))) {
			settle(b, o, src);
			pending = NULL;
		}
		if (ours && o->code == O_copy && !IMM(o, async) && copy_source(o)->type.space == S_global) {
			IMM_SET(o, async, 1);
			src = o->src;
			pending = pending ? pending : o;
			changed = true;
		}
	}
	return changed;
}

bool
pass_async_copy(Kernel *k)
{
	return k->unit->target->features & T_CPASYNC && block_async(k->body);
}
