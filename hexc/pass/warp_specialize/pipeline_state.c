/* pipeline_state.c - adds the pipeline state (stage index and mbarrier phase) to a loop, for pass
 * warp_specialize. The state is carried through all enclosing loops, so that a loop that runs again continues
 * where it ended. */
#include "hexc/pass/warp_specialize/warp_specialize.h"
#include <string.h>

/* Is b in a loop of its role? */
static bool
runs_again(const Block *b)
{
	while (b->owner && b->owner->code != O_roles && b->owner->code != O_for)
		b = b->owner->parent;
	return b->owner && b->owner->code == O_for;
}

/* Returns the initial value for an op in b, carried by the enclosing loops from now on. */
static Val *
enter(Block *b)
{
	Op *o = b->owner;

	if (o->code == O_roles || !runs_again(b))
		return ir_const(b, b->first, 0);
	if (o->code == O_if)
		return enter(o->parent);
	o = loop_carry(o, enter(o->parent));
	return b->arg[b->narg - 1];
}

/* `in` has become `out` at the end of b: forwards it to the enclosing loops and branches. */
static void
thread_pipeline_state(Block *b, Val *in, Val *out)
{
	Op *o = b->owner;

	if (o->code == O_roles || !runs_again(b))
		return;
	if (o->code == O_if) {
		o = b == o->blk[0] ? if_carry(o, out, in) : if_carry(o, in, out);
		thread_pipeline_state(o->parent, in, o->out[o->nout - 1]);
		return;
	}
	loop_carry_next(o, out);
	thread_pipeline_state(o->parent, o->in[o->nin - 1], o->out[o->nout - 1]);
}

static Op *
carry(Op *loop, Val **now)
{
	loop = loop_carry(loop, enter(loop->parent));
	*now = loop->blk[0]->arg[loop->blk[0]->narg - 1];
	return loop;
}

static void
carry_next(Op *loop, Val *next)
{
	loop_carry_next(loop, next);
	thread_pipeline_state(loop->parent, loop->in[loop->nin - 1], loop->out[loop->nout - 1]);
}

Op *
loop_position(Op *loop, int64_t stages, Val **slot, Val **phase)
{
	Block *b = loop->blk[0];
	Op *at = b->first;
	Val *one, *last;

	loop = carry(loop, slot);
	one = ir_const(b, at, 1);
	last = ir_bin(b, at, O_eq, *slot, ir_const(b, at, stages - 1));
	carry_next(loop, ring_choose(b, at, last, ir_const(b, at, 0), ir_bin(b, at, O_add, *slot, one)));
	loop = carry(loop, phase);
	carry_next(loop, ring_choose(b, at, last, ir_bin(b, at, O_sub, one, *phase), *phase));
	return loop;
}
