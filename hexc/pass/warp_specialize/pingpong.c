/* pingpong.c - two teams that compute take turns at what a block does: while one stores its tile the other
 * multiplies.
 *
 *     for tile .. {                        for tile .. (turn, s, p) { if turn % 2 == team {
 *         x = 0                                x = 0
 *         for k .. (s, p) {                    wait order[team], turn / 2 + 1 + team
 *             wait full[s], p        =>        for k .. (s, p) { .. as before .. }
 *             compute(a[s]) .. }               arrive order[1 - team]
 *         store x }                            store x
 *                                          } else { s, p: as many turns on } }
 *
 * What is fetched stands in the ring tile by tile, and each buffer is read by one team.  A barrier tells
 * phases apart by their parity, so nobody may wait for one that is two ahead: a team comes to the ring when
 * the other has waited for all of its tile.  That is what `order` is for, and it keeps the tensor cores with
 * one team. */
#include "hexc/pass/warp_specialize/warp_specialize.h"

/* Is v there for both teams: do producers compute all that it depends on, and not in a branch? */
static bool
is_available_to_consumers(const Roles *r, const Block *tile, const Val *v)
{
	const Op *o = v->def;

	if (!o || o->parent != tile)
		return true;
	if (o->blk[0] || !r->need[v->id])
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!is_available_to_consumers(r, tile, o->in[i]))
			return false;
	return true;
}

const char *
pingpong_unsupported(const Roles *r)
{
	const Block *tile = r->k->body;

	for (int i = 0; i < r->nfeed; i++) {
		const Op *loop = r->feed[i].pipe.loop;

		if (loop->parent != tile)
			return loop->parent->owner->code == O_if
			               ? "a loop that fetches stands in a branch, or behind a `return`"
			               : "a loop that fetches stands inside of another one";
		for (int j = 0; j < 3; j++)
			if (!is_available_to_consumers(r, tile, loop->in[j]))
				return "how often a loop turns is found out in a branch";
	}
	return NULL;
}

/* What is not needed to go through the tiles is for one team only. */
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
	first = op_new(tile, end, O_team, src, 0, NULL, 1, &index);
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

/* How often a loop turns, in front of `at`. */
static Val *
turns_of(const Op *loop, Op *at)
{
	Block *b = at->parent;
	Val *lo = loop->in[0], *hi = loop->in[1], *step = loop->in[2];
	Val *last = ir_bin(b, at, O_sub, ir_bin(b, at, O_add, hi, step), ir_const(b, at, 1));
	Val *n = ir_bin(b, at, O_div, ir_bin(b, at, O_sub, last, lo), step);

	return ir_bin(b, at, O_max, n, ir_const(b, at, 0));
}

/* Which of what the region of a branch gives is v? */
static int
result_of(const Op *yield, const Val *v)
{
	int i = 0;

	while (yield->in[i] != v)
		i++;
	return i;
}

/* A loop's slot and phase go on as if it had turned. */
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

	op_new(b, first, O_mbar_wait, src, 3, (Val *[]){ order, r->team, phase }, 0, NULL);
	o = op_new(b, last->next, O_mbar_arrive, src, 2, (Val *[]){ order, other }, 0, NULL);
	IMM_SET(o, turn, 1);
	for (int i = 0; i < r->nfeed; i++)
		skip(&r->feed[i].pipe);
}
