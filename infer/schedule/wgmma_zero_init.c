/* wgmma_zero_init.c - pass wgmma_waits: turns the zero initialization of a loop's accumulator into a
 * predicate (scale-d = 0 in the first iteration), so that the zeros are written only if the loop has no
 * iterations.
 *
 *     r = for k from lo to hi, acc = 0 { acc' = wgmma a, b, acc };  wg_wait 0
 *
 *     r = for k from lo to hi, acc = 0 { acc' = wgmma a, b, acc, lo < k };  wg_wait 0
 *     s = if lo < hi { r } else { 0 }
 *
 * The `if` follows the wait: before the loop, zeros would make ptxas wait for each MMA. */
#include "infer/core/wgmma.h"
#include "infer/schedule/wgmma_waits.h"

static void
add_predicate(Op *product, const Op *loop)
{
	Val *later = ir_bin(product->parent, product, O_lt, for_lo(loop), loop->blk[0]->arg[0]);

	product->in = arena_grow(product->parent->kernel->unit->arena, product->in, (size_t)product->nin,
	                         (size_t)product->nin + 1, sizeof(Val *));
	product->in[product->nin++] = later;
}

static bool
uses(const Op *o, const Val *v)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i] == v)
			return true;
	return false;
}

static bool
waits_for_all(const Op *o)
{
	return o->code == O_wgmma_wait && IMM(o, pending) == 0;
}

/* Does an iteration wait for the MMA, and for those after it in the iteration? */
static bool
ends_done(const Op *product)
{
	bool done = false;

	for (const Op *o = product; o; o = o->next)
		done = waits_for_all(o) || (done && o->code != O_wgmma);
	return done;
}

/* Returns the op after which the loop's MMAs are complete, before any use of v: the loop, if its iterations
 * end so, or a wait after it. NULL if there is no such wait. */
static Op *
done_behind(Op *loop, const Op *product, const Val *v)
{
	if (ends_done(product))
		return loop;
	for (Op *o = loop->next; o && !o->blk[0] && !uses(o, v); o = o->next)
		if (waits_for_all(o))
			return o;
	return NULL;
}

/* Replaces value i of the loop by zeros, for its users, if the loop has no iterations. */
static void
zeros_without_turn(Op *loop, int i, Op *at)
{
	Block *b = loop->parent;
	Kernel *k = b->kernel;
	Val *ran = ir_bin(b, at, O_lt, for_lo(loop), for_hi(loop)), *sum = loop->out[i], *zero;
	Op *o = op_new(b, at, O_if, loop->src, 1, &ran, 1, &sum->type);

	o->out[0]->name = sum->name;
	val_replace(k, sum, o->out[0]);
	for (int r = 0; r < 2; r++)
		o->blk[r] = block_new(k, o);
	zero = op_clone(o->blk[1], NULL, for_init(loop, i)->def, NULL, NULL)->out[0];
	op_new(o->blk[0], NULL, O_yield, loop->src, 1, &sum, 0, NULL);
	op_new(o->blk[1], NULL, O_yield, loop->src, 1, &zero, 0, NULL);
}

static void
starts_at_zero(Op *loop, int i)
{
	Op *product = wgmma_only(loop, i), *done;

	if (!product || product->nin != 3 || !val_is_zero(for_init(loop, i)))
		return;
	done = done_behind(loop, product, loop->out[i]);
	if (!done)
		return;
	add_predicate(product, loop);
	zeros_without_turn(loop, i, done->next);
}

void
begin_without_zeros(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; o->code == O_for && i < o->nout; i++)
			starts_at_zero(o, i);
}
