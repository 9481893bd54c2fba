/* wgmma_early_release.c - arrivals of those who read by themselves: they say that they have read, not that they have
 * multiplied.
 *
 *     acc' = dot x, y, acc         acc1 = dot x, y, acc   all but the last step of k
 *     mbar_arrive empty, s    =>   mbar_arrive empty, s
 *                                  acc' = dot x, y, acc1  the last step
 *
 * What the last step multiplies is read while the one before it is under way (ptxgen/dot.c), so in front of
 * the arrival there is nothing to wait for but these reads.  A product of one step follows the arrival. */
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "infer/schedule/wgmma_waits.h"

/* The product of warps, undivided, behind which nothing but index arithmetic stands in front of o; NULL:
 * there is none. */
static Op *
product_before(const Op *o)
{
	const Instr *in;
	Op *dot = o->prev;

	while (dot && op_is(dot, F_PURE) && dot->code != O_dot && dot->nout == 1 &&
	       dot->out[0]->type.space == S_scalar)
		dot = dot->prev;
	in = dot && dot->code == O_dot ? instr_of(dot->lowering) : NULL;
	return in && instr_is_whole(in) && !dot->lowering->dot.to ? dot : NULL;
}

/* Steps up to `to` of the dot become a product of their own in front of it, which goes on with the rest. */
static void
divide(Op *dot, int64_t to)
{
	double all = (double)dot_k(dot), cost = dot->lowering->cost;
	Op *first = op_clone(dot->parent, dot, dot, NULL, NULL);

	first->lowering->dot.to = (int)to;
	first->lowering->cost = cost * (double)to / all;
	dot->lowering->dot.from = (int)to;
	dot->lowering->dot.to = (int)dot_k(dot);
	dot->lowering->cost = cost - first->lowering->cost;
	dot->in[2] = first->out[0];
}

void
release_early(Op *arrive)
{
	Op *dot = product_before(arrive);
	int64_t last;

	if (!dot || !IMM(arrive, movable))
		return;
	last = dot_k(dot) - instr_of(dot->lowering)->k;
	if (last > 0)
		divide(dot, last);
	while (dot->next != arrive) /* what it names the slot by */
		op_move_before(dot->next, dot);
	op_move_before(arrive, dot);
}
