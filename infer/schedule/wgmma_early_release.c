/* wgmma_early_release.c - pass wgmma_waits: moves the mbarrier arrive of consumers that use ld/ldmatrix
 * before their last MMA k step: the stage is free once its fragments are in registers.
 *
 *     acc' = dot x, y, acc         acc1 = dot x, y, acc   all but the last step of k
 *     mbar_arrive empty, s    =>   mbar_arrive empty, s
 *                                  acc' = dot x, y, acc1  the last step
 *
 * The operands of the last step are read while the step before it is in flight (ptxgen/dot.c). The arrival
 * therefore only waits for these reads. An MMA of one step follows the arrival. */
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "infer/schedule/wgmma_waits.h"

/* Returns the undivided warp-level MMA that is separated from o by scalar index arithmetic only; NULL if
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

/* Splits off the k steps up to `to` as a separate dot before `dot`, which computes the rest. */
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
	dot->in[IN_mma_acc] = first->out[0];
}

void
release_early(Op *arrive)
{
	Op *dot = product_before(arrive);
	int64_t last;

	if (!dot || !IMM(arrive, sinkable))
		return;
	last = dot_k(dot) - instr_of(dot->lowering)->k;
	if (last > 0)
		divide(dot, last);
	while (dot->next != arrive) /* the ops that compute its stage index */
		op_move_before(dot->next, dot);
	op_move_before(arrive, dot);
}
