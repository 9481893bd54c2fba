/* wgmma_k_slices.c - pass wgmma_waits: splits wgmma with a register operand that a loop recomputes into k
 * slices, so that computing a slice overlaps the MMAs of the preceding ones.
 *
 *     wg_fence; acc' = wgmma x, b, acc; wg_commit
 *
 *     wg_wait s - 1; wg_fence; acc0 = wgmma x, b, acc part 0; wg_commit
 *     wg_wait s - 1; wg_fence; acc1 = wgmma x, b, acc0 part 1; wg_commit ..
 *
 * The slices alternate between s register sets: the previous contents of a slice's set were multiplied s
 * groups ago. An MMA that is not split waits for the one before it. */
#include "infer/core/instr.h"
#include "infer/cost/cost.h"
#include "infer/core/wgmma.h"
#include "infer/schedule/wgmma_waits.h"

static const Op *
loop_around(const Block *b)
{
	while (b && b->owner && b->owner->code != O_for)
		b = b->owner->parent;
	return b ? b->owner : NULL;
}

/* Is v recomputed in every iteration, with o in a loop too? */
static bool
is_made_anew(const Op *o, const Val *v)
{
	return loop_around(o->parent) && loop_around(v->block);
}

/* Does the iteration wait for the MMA itself? */
static bool
is_awaited(const Op *o)
{
	for (const Op *x = o->next; x; x = x->next)
		if (x->code == O_wgmma_wait && IMM(x, pending) == 0)
			return true;
	return false;
}

static void
wait_before(Op *at, int pending)
{
	IMM_SET(op_new(at->parent, at, O_wgmma_wait, at->src, 0, NULL, 0, NULL), pending, pending);
}

static void
set_part(Op *o, int64_t step, int i, double cost)
{
	o->lowering->dot.from = (int)(i * step);
	o->lowering->dot.to = (int)((i + 1) * step);
	o->lowering->cost = cost;
}

static int64_t
words(const Val *v)
{
	return layout_words(v->type.layout, dtype_slot_bits(v->type.dtype));
}

/* Removes the waits that let an unsplit MMA stay in flight, of more groups than there are sets: the slices
 * wait for more. */
static void
drop_waits(Block *b)
{
	for (Op *x = b->first, *next; x; x = next) {
		next = x->next;
		if (x->code == O_wgmma_wait && IMM(x, pending) > 0)
			op_unlink(x);
	}
}

/* Splits o into n slices, o being the last. The surrounding fence becomes the first slice's, the commit the
 * last one's. */
static void
part(Op *o, int n)
{
	int sets = wgmma_sets(n, words(product_factor(o)), words(o->out[0])), pending = sets - 1;
	bool waits = sets < n || !is_awaited(o);
	double cost = o->lowering->cost / n;
	int64_t from, step = product_part(o, &from) / n;
	Op *fence = o->prev, *commit = o->next;

	o->lowering->dot.sets = sets;
	drop_waits(o->parent);
	if (waits)
		wait_before(fence, pending);
	for (int i = 0; i < n - 1; i++) {
		Op *before = op_clone(o->parent, o, o, NULL, NULL);

		set_part(before, step, i, cost);
		if (waits) {
			op_clone(o->parent, o, commit, NULL, NULL);
			wait_before(o, pending);
		}
		op_clone(o->parent, o, fence, NULL, NULL);
		o->in[IN_mma_acc] = before->out[0];
		o->nin = 3;
	}
	set_part(o, step, n - 1, cost);
}

void
part_products(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		const Val *factor = product_factor(o);
		int n;

		if (!factor || !is_made_anew(o, factor))
			continue;
		n = wgmma_parts(o, instr_of(o->lowering)->k);
		if (n > 1)
			part(o, n);
		else if (!is_awaited(o) && product_fence(o))
			wait_before(product_fence(o), 0);
	}
}
