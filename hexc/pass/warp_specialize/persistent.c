/* persistent.c - makes a kernel persistent, for pass warp_specialize: the launched blocks distribute the
 * grid, each with the number of launched blocks as stride, so that prefetching continues into the next tile.
 * block_id yields the current one. */
#include "hexc/pass/warp_specialize/warp_specialize.h"

static Val *
mapped(void *map, Val *v)
{
	Val *to = ((Val **)map)[v->id];

	return to ? to : v;
}

/* Is it a scalar derived from the launch's sizes only, equal in all blocks? of_launch[]: by Val.id, whether
 * the result of an op before it is. */
static bool
is_of_launch(const Op *o, const bool *of_launch)
{
	if (!op_is(o, F_PURE) || o->blk[0] || o->code == O_block_id || o->nout != 1 ||
	    o->out[0]->type.space != S_scalar)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->def && !of_launch[o->in[i]->id])
			return false;
	return true;
}

static Op *
launched(Kernel *k, Op *at, int64_t all)
{
	Type t = type_index();
	Op *o = op_new(k->body, at, O_linear_block_id, k->src, 0, NULL, 1, &t);

	IMM_SET(o, all, all);
	return o;
}

/* Rewrites block_id as a function of the block's linear number in a grid of these extents. */
static void
number_blocks(Block *b, Val *number, Val *const *extent)
{
	Val *in[4] = { number, extent[0], extent[1], extent[2] };
	OpWalk w;

	for (Op *o = walk_first(&w, b), *n; o; o = walk_next(&w)) {
		if (o->code != O_block_id)
			continue;
		n = op_new(o->parent, o, O_block_id, o->src, 4, in, 1, &o->out[0]->type);
		IMM_SET(n, axis, IMM(o, axis));
		val_replace(b->kernel, o->out[0], n->out[0]);
		op_unlink(o);
	}
}

void
persist(Kernel *k)
{
	Op *end = k->body->last, *loop, *next, *yield;
	Val *in[3], *extent[3], **map = NEWN(k->unit->arena, Val *, k->nval + 1);
	Type t = type_index();
	bool *of_launch;

	for (const Op *o = k->grid->first; o != k->grid->last; o = o->next)
		map[o->out[0]->id] = op_clone(k->body, end, o, mapped, map)->out[0];
	for (int d = 0; d < 3; d++)
		extent[d] = mapped(map, k->grid->last->in[d]);
	in[0] = launched(k, end, 0)->out[0];
	in[1] = ir_bin(k->body, end, O_mul, extent[0], ir_bin(k->body, end, O_mul, extent[1], extent[2]));
	in[2] = launched(k, end, 1)->out[0];
	loop = op_new(k->body, end, O_for, k->src, 3, in, 0, NULL);
	loop->blk[0] = block_new(k, loop);
	block_arg(loop->blk[0], t);
	yield = op_new(loop->blk[0], NULL, O_yield, k->src, 0, NULL, 0, NULL);
	of_launch = NEWN(k->unit->arena, bool, k->nval + 1);
	for (Op *o = k->body->first; o != loop; o = next) {
		next = o->next;
		if (is_of_launch(o, of_launch))
			of_launch[o->out[0]->id] = true;
		else
			op_move_before(o, yield);
	}
	number_blocks(loop->blk[0], loop->blk[0]->arg[0], extent);
}
