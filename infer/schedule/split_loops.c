/* split_loops.c - pass split_loops: loops whose first turns need no masks.
 *
 * needs   what pass infer leaves: masks, choices and views with their layouts and accesses
 * keeps   what the kernel computes; layouts and lowerings, of what is cloned too
 * gives   in place of a loop two, one behind the other
 *
 *     clear = for lo .. mid     without masks
 *     rest  = for at .. hi      as it was; what it carries starts as what clear gives, and `at` is where
 *                               clear ended: the first of lo, lo + step, .. that is not below mid
 *
 * Masks are what pass mask_bounds put in front of reductions and products, choices by comparisons that hold or
 * fail for all elements, ifs, and views that may reach past their tensor.  Each is without effect where some
 * linear forms of the counter are not negative (split_loops_conditions.c); mid is the end of the first turns in which all
 * are, found once, in front of the loop (split_loops_bounds.c).  A form that the counter has no part in, as of rows at
 * a tensor's edge, holds in all turns or none.  In the clear loop masks and choices are gone, and of its
 * views the facts know that they are inside.
 *
 * Masks that are without effect in last turns only, as a window's far end, take a third loop in front, of the
 * turns that need them, where they are worth it.
 *
 * Which loops are split, and what of them is idle in the clear loop, is in split_loops_select.c. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/allocate_smem.h"
#include "hexc/pass/pass.h"
#include "infer/schedule/split_loops.h"

/* ---- the clear loop ----------------------------------------------------------------------------------- */

static void
value_becomes(Kernel *k, Op *o, Val *v)
{
	val_replace(k, o->out[0], v);
	op_unlink(o);
}

/* The region that is always taken, in place of the if. */
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

/* What is idle in the clear loop goes; an if of nothing but copies stays one, always taken, as what it fills
 * is still of no use before the next turn. */
static void
clear_op(Kernel *k, Op *o, int way)
{
	Type t = type_cond();
	Op *c;

	if (o->code == O_mask) {
		value_becomes(k, o, o->in[0]);
	} else if (o->code == O_select) {
		value_becomes(k, o, o->in[1 + way]);
	} else if (way == 0 && if_is_copies(o)) {
		c = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &t);
		IMM_SET(c, value, 1);
		o->in[0] = c->out[0];
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

/* Where a loop from lo to hi ends, when it has turns, else lo. */
static Val *
loop_end_value(Op *loop)
{
	Block *b = loop->parent;
	Val *lo = loop->in[0], *step = loop->in[2], *n;

	n = ir_bin(b, loop, O_sub, loop->in[1], lo);
	n = ir_bin(b, loop, O_add, n, ir_bin(b, loop, O_sub, step, ir_const(b, loop, 1)));
	n = ir_bin(b, loop, O_mul, ir_bin(b, loop, O_div, n, step), step);
	return ir_bin(b, loop, O_max, lo, ir_bin(b, loop, O_add, lo, n));
}

/* The turns below `end` become a loop of their own, in front of `rest`. */
static Op *
take_turns(Op *rest, Val *end, SplitKind kind)
{
	Op *first = op_clone(rest->parent, rest, rest, NULL, NULL);

	first->in[1] = end;
	IMM_SET(first, split, kind);
	rest->in[0] = loop_end_value(first);
	for (int i = 0; i < first->nout; i++)
		rest->in[3 + i] = first->out[i];
	return first;
}

/* Tiles of the body are the same memory in each turn, and so in all loops.  False, and all is as it was: they
 * would live through these, and do not fit. */
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
		op_move_before(front, first); /* behind all numbers */
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
