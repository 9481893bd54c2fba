/* split_loops.c - pass split_loops: splits off the iterations of a loop that need no masks into an unmasked
 * main loop.
 *
 * requires   the result of pass infer: masks, selects and views with their layouts and accesses
 * preserves  what the kernel computes; layouts and lowerings, also those of clones
 * produces   two consecutive loops instead of one:
 *
 *     main      = for lo .. mid     without masks
 *     remainder = for at .. hi      unchanged; its carried values start as the main loop's results, and
 *                                   `at` is where that ended: the first of lo, lo + step, .. not below mid
 *
 * The masks are: those that pass mask_bounds inserted before reductions and dots, selects by comparisons
 * that are uniformly true or false, ifs, and views that may reach past the end of their tensor. Each is
 * redundant where some linear forms of the counter are nonnegative (split_loops_conditions.c). `mid` ends
 * the first iterations in which all forms are; it is computed once, before the loop (split_loops_bounds.c).
 * A form without the counter, for example for rows at a tensor's boundary, holds in all iterations or in
 * none. In the main loop masks and selects are removed, and its views are known to be in bounds.
 *
 * Masks that are redundant in the last iterations only, as at the far end of a window, take a third loop: a
 * prologue of the iterations that need them, if that is profitable.
 *
 * split_loops_select.c selects the loops to split, and the masks that are redundant in the main loop. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/allocate_smem.h"
#include "hexc/pass/pass.h"
#include "infer/schedule/split_loops.h"

/* ---- the main loop ------------------------------------------------------------------------------------ */

static void
value_becomes(Kernel *k, Op *o, Val *v)
{
	val_replace(k, o->out[0], v);
	op_unlink(o);
}

/* Replaces the `if` by its region `way`, which is always taken. */
static void
inline_region(Kernel *k, Op *o, int way)
{
	Block *b = o->blk[way];

	for (int i = 0; i < o->nout; i++)
		val_replace(k, o->out[i], b->last->in[i]);
	while (b->first != b->last)
		op_move_before(b->first, o);
	op_unlink(o);
}

/* Removes what is redundant in the main loop. An `if` that contains only copies is kept, always taken,
 * since the stage that it fills is not used before the next iteration. */
static void
clear_op(Kernel *k, Op *o, int way)
{
	Type t = type_cond();
	Op *c;

	if (o->code == O_mask) {
		value_becomes(k, o, mask_source(o));
	} else if (o->code == O_select) {
		value_becomes(k, o, way ? select_no(o) : select_yes(o));
	} else if (way == 0 && if_is_copies(o)) {
		c = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &t);
		IMM_SET(c, value, 1);
		o->in[IN_if_cond] = c->out[0];
	} else {
		inline_region(k, o, way);
	}
}

static void
clear(const SplitPlan *p, Op *loop)
{
	Op **op = NEWN(p->turns.k->unit->arena, Op *, p->nidle);
	int at = 0, n = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, loop->blk[0]); o && n < p->nidle; o = walk_next(&w))
		if (p->idle[n].at == at++)
			op[n++] = o;
	while (n--)
		clear_op(p->turns.k, op[n], p->idle[n].way);
}

/* Returns the counter at which a loop from lo to hi ends; lo if it has no iterations. */
static Val *
loop_end_value(Op *loop)
{
	Block *b = loop->parent;
	Val *lo = for_lo(loop), *step = for_step(loop), *n;

	n = ir_bin(b, loop, O_sub, for_hi(loop), lo);
	n = ir_bin(b, loop, O_add, n, ir_bin(b, loop, O_sub, step, ir_const(b, loop, 1)));
	n = ir_bin(b, loop, O_mul, ir_bin(b, loop, O_div, n, step), step);
	return ir_bin(b, loop, O_max, lo, ir_bin(b, loop, O_add, lo, n));
}

/* Moves the iterations below `end` to a separate loop before `rest`. */
static Op *
take_turns(Op *rest, Val *end, SplitKind kind)
{
	Op *first = op_clone(rest->parent, rest, rest, NULL, NULL);

	first->in[IN_for_hi] = end;
	IMM_SET(first, split, kind);
	rest->in[IN_for_lo] = loop_end_value(first);
	for (int i = 0; i < first->nout; i++)
		rest->in[IN_for_init + i] = first->out[i];
	return first;
}

/* Moves the body's allocs out, since all loops use the same memory for them. Returns false and changes
 * nothing if they would not fit, being live across all loops. */
static bool
share_tiles(const SplitIterations *t)
{
	const Target *g = t->k->unit->target;
	Op **tile = NULL, **next = NULL;
	int n = 0, cap = 0, m = 0, capm = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, t->body); o; o = walk_next(&w))
		if (o->code == O_alloc) {
			VEC_PUSH(t->k->unit->arena, next, m, capm, o->next);
			VEC_PUSH(t->k->unit->arena, tile, n, cap, o);
		}
	for (int i = 0; i < n; i++)
		op_move_before(tile[i], t->loop);
	if (n == 0 || !g || smem_least(t->k, NULL) <= g->smem)
		return true;
	while (n-- > 0)
		op_move_before(tile[n], next[n]);
	return false;
}

static SplitKind
split_loop(const SplitPlan *p)
{
	const SplitIterations *t = &p->turns;
	Op *front = NULL, *first;

	if (!share_tiles(t))
		return SPLIT_SMEM;
	if (forms_have(&p->forms, 1))
		front = take_turns(t->loop, forms_start(t, &p->forms), SPLIT_PROLOGUE);
	first = take_turns(t->loop, forms_end(t, &p->forms), SPLIT_MAIN);
	if (front)
		op_move_before(front, first); /* after all bounds are computed */
	clear(p, first);
	return SPLIT_REMAINDER;
}

bool
pass_split_loops(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		SplitKind kind;
		SplitPlan p;

		if (o->code != O_for || IMM(o, split))
			continue;
		kind = split_plan(&p, k, o);
		if (kind == SPLIT_MAIN)
			kind = split_loop(&p);
		IMM_SET(o, split, kind);
		changed = true;
	}
	facts_drop(k);
	return changed;
}
