/* pingpong.c - emits the pingpong schedule for pass warp_specialize: two consumer groups alternate over the
 * tiles; one stores its tile while the other runs its MMAs.
 *
 *     for tile .. {                        for tile .. (turn, s, p) { if turn % 2 == team {
 *         x = 0                                x = 0
 *         for k .. (s, p) {                    wait order[team], turn / 2 + 1 + team
 *             wait full[s], p        =>        for k .. (s, p) { .. as before .. }
 *             compute(a[s]) .. }               arrive order[1 - team]
 *         store x }                            store x
 *                                          } else { advance s, p by the trip count } }
 *
 * Stages are filled tile by tile, and each stage is read by one group. An mbarrier distinguishes phases by
 * parity only, so no thread may wait for a phase two ahead: a group enters the mainloop after the other has
 * waited for all of its tile. `order` ensures that, and keeps the tensor cores with one group. */
#include "hexc/pass/warp_specialize/warp_specialize.h"

/* Returns by Val.id what is not available to both groups: producers compute it, or something on which it
 * depends, inside a branch or not at all. */
static bool *
own_values(const Roles *r, const Block *tile)
{
	bool *own = NEWN(r->k->unit->arena, bool, r->k->nval + 1);

	for (const Op *o = tile->first; o; o = o->next)
		for (int i = 0; i < o->nout; i++) {
			bool is_own = o->blk[0] || !r->need[o->out[i]->id];

			for (int j = 0; j < o->nin; j++)
				is_own = is_own || own[o->in[j]->id];
			own[o->out[i]->id] = is_own;
		}
	return own;
}

const char *
pingpong_unsupported(const Roles *r)
{
	const Block *tile = r->k->body;
	const bool *own = own_values(r, tile);

	for (int i = 0; i < r->nfeed; i++) {
		const Op *loop = r->feed[i].pipe.loop;

		if (loop->parent != tile)
			return loop->parent->owner->code == O_if
			               ? "a pipeline loop is inside a branch or after a `return`"
			               : "nested pipeline loops";
		for (int j = 0; j < IN_for_init; j++)
			if (own[loop->in[j]->id])
				return "a trip count is computed inside a branch";
	}
	return NULL;
}

/* Moves ops that are not needed to iterate over the tiles into the group's branch. */
static void
move_own(const Roles *r, const Block *tile, const Op *first, Op *yield)
{
	Op *next;

	for (Op *o = tile->first; o != first; o = next) {
		next = o->next;
		if (o->blk[0] || o->nout != 1 || !r->need[o->out[0]->id])
			op_move_before(o, yield);
	}
}

void
turns_take(Roles *r)
{
	Op *loop = r->feed[0].pipe.loop->parent->owner, *end, *first, *branch;
	Block *tile = loop->blk[0];
	Type index = type_index();
	Src src = loop->src;
	Val *which;

	loop = loop_carry(loop, ir_const(loop->parent, loop, 0));
	r->turn = tile->arg[tile->narg - 1];
	end = tile->last;
	first = op_new(tile, end, O_consumer_group_id, src, 0, NULL, 1, &index);
	r->team = first->out[0];
	which = ir_bin(tile, end, O_mod, r->turn, ir_const(tile, end, TEAMS));
	which = ir_bin(tile, end, O_eq, which, r->team);
	branch = op_new(tile, end, O_if, src, 1, &which, 0, NULL);
	for (int i = 0; i < 2; i++) {
		branch->blk[i] = block_new(r->k, branch);
		op_new(branch->blk[i], NULL, O_yield, src, 0, NULL, 0, NULL);
	}
	move_own(r, tile, first, branch->blk[0]->last);
	loop_carry_next(loop, ir_bin(tile, end, O_add, r->turn, ir_const(tile, end, 1)));
}

/* ---- the other team's tiles ------------------------------------------------------------------------ */

/* Computes the trip count of a loop before `at`. */
static Val *
turns_of(const Op *loop, Op *at)
{
	Block *b = at->parent;
	Val *lo = for_lo(loop), *hi = for_hi(loop), *step = for_step(loop);
	Val *last = ir_bin(b, at, O_sub, ir_bin(b, at, O_add, hi, step), ir_const(b, at, 1));
	Val *n = ir_bin(b, at, O_div, ir_bin(b, at, O_sub, last, lo), step);

	return ir_bin(b, at, O_max, n, ir_const(b, at, 0));
}

/* Index of v among the values that the branch yields. */
static int
result_of(const Op *yield, const Val *v)
{
	int i = 0;

	while (yield->in[i] != v)
		i++;
	return i;
}

/* Advances the loop's stage index and phase as if it had run. */
static void
skip(const Pipe *p)
{
	const Op *loop = p->loop, *branch = loop->parent->owner;
	Block *b = branch->blk[1];
	Op *at = b->last;
	int slot = result_of(branch->blk[0]->last, loop->out[loop->nout - 2]);
	int phase = result_of(branch->blk[0]->last, loop->out[loop->nout - 1]);
	Val *stages = ir_const(b, at, p->stages), *two = ir_const(b, at, 2);
	Val *sum = ir_bin(b, at, O_add, at->in[slot], turns_of(loop, at));
	Val *rounds = ir_bin(b, at, O_div, sum, stages);

	at->in[slot] = ir_bin(b, at, O_mod, sum, stages);
	at->in[phase] = ir_bin(b, at, O_mod, ir_bin(b, at, O_add, at->in[phase], rounds), two);
}

/* ---- one after the other --------------------------------------------------------------------------- */

void
emit_pingpong_order(Roles *r, Val *order)
{
	Op *first = r->feed[0].pipe.loop, *last = r->feed[r->nfeed - 1].pipe.loop, *o;
	Block *b = first->parent;
	Src src = first->src;
	Val *one = ir_const(b, first, 1);
	Val *round = ir_bin(b, first, O_div, r->turn, ir_const(b, first, TEAMS));
	Val *phase = ir_bin(b, first, O_add, ir_bin(b, first, O_add, round, one), r->team);
	Val *other = ir_bin(b, first, O_sub, one, r->team);

	op_new(b, first, O_mbarrier_wait, src, 3, (Val *[]){ order, r->team, phase }, 0, NULL);
	o = op_new(b, last->next, O_mbarrier_arrive, src, 2, (Val *[]){ order, other }, 0, NULL);
	IMM_SET(o, pingpong, 1);
	for (int i = 0; i < r->nfeed; i++)
		skip(&r->feed[i].pipe);
}
