/* split.c - pass split: loops whose first turns need no masks.
 *
 * needs   what pass infer leaves: masks, choices and views with their layouts and accesses
 * keeps   what the kernel computes; layouts and lowerings, of what is cloned too
 * gives   in place of a loop two, one behind the other
 *
 *     clear = for lo .. mid     without masks
 *     rest  = for at .. hi      as it was; what it carries starts as what clear gives, and `at` is where
 *                               clear ended: the first of lo, lo + step, .. that is not below mid
 *
 * Masks are what pass bounds put in front of reductions and products, choices by comparisons that hold or
 * fail for all elements, ifs, and views that may reach past their tensor.  Each is without effect where some
 * linear forms of the counter are not negative (split_form.c); mid is the end of the first turns in which all
 * are, found once, in front of the loop.  A form that the counter has no part in, as of rows at a tensor's
 * edge, holds in all turns or none.  In the clear loop masks and choices are gone, and of its views the facts
 * know that they are inside.
 *
 * Masks that are without effect in last turns only, as a window's far end, take a third loop in front, of the
 * turns that need them, where they are worth it.
 *
 * A loop that holds loops stays whole: the inner ones are split.  So does one without products in the version
 * for other sizes: it waits for its narrow accesses, with masks or without. */
#include "hexc/ir/access.h"
#include "hexc/ir/sparse.h"
#include "infer/base/instr.h"
#include "infer/base/model.h"
#include "infer/infer.h"
#include "infer/split.h"

/* A mask, choice or if that the clear loop does without. */
typedef struct Idle {
	int at;   /* the how manieth op of the body, those inside others too */
	int way;  /* of a choice or if: 0 it holds, 1 it fails */
} Idle;

typedef struct Plan {
	Turns turns;
	Forms forms;
	Idle *idle;
	int nidle, cap;
	bool early; /* no loop in front: what only last turns do without stays */
	/* instructions of a thread, about: what a turn lacks without masks, what only last turns lack, and
	 * what one with masks has */
	double gain, late, size;
	int products;
} Plan;

/* ---- what an op comes to, instructions of a thread ------------------------------------------------- */

static double
words(const Val *v)
{
	double pair = dtype_info[v->type.dtype].bits == 16 ? 2 : 1;

	return v->type.space == S_reg && v->type.layout ? (double)layout_cosize(v->type.layout, AX_reg) / pair
	                                                : 1;
}

static double
accesses(const Op *o)
{
	const LoweredAccess *a = op_access(o);
	const Val *tile = o->code == O_load ? o->out[0] : o->in[0];
	const Layout *l = a->map ? a->map : tile->type.layout;

	return l ? (double)layout_cosize(l, AX_reg) / a->vec : 1;
}

static double
instances(const Kernel *k, const Op *dot)
{
	const Instr *in = instr_of(dot->lowering);
	double n = (double)type_size(&dot->out[0]->type) * (double)dot_k(dot);

	return in ? n / (in->m * in->n * in->k) / (in->kind == IK_fma ? k->warps * WARP_SIZE : k->warps) : n;
}

static double
steps(const Kernel *k, const Op *o)
{
	if (o->code == O_dot)
		return instances(k, o);
	if (o->code == O_load || o->code == O_store || o->code == O_copy)
		return 2 * accesses(o);
	if (op_is(o, F_FILL) || o->code == O_view || o->code == O_yield)
		return 0;
	if (o->code == O_convert && o->lowering && o->lowering->kind == LW_rename)
		return 0;
	if (o->code == O_transpose || o->code == O_reshape || o->code == O_broadcast || o->nout == 0)
		return 0;
	return op_is(o, F_REDUCE) || o->code == O_mask ? 2 * words(o->in[0]) : words(o->out[0]);
}

/* ---- masks ------------------------------------------------------------------------------------------ */

static void
idle_add(Plan *p, const Forms *f, int at, int way, double gain)
{
	Idle i = { at, way };

	if (p->early && forms_have(f, 1))
		return;
	VEC_PUSH(p->turns.k->unit->arena, p->idle, p->nidle, p->cap, i);
	forms_join(&p->turns, &p->forms, f);
	p->gain += gain;
	p->late += forms_have(f, 1) ? gain : 0;
}

/* A choice or if: rather as it comes out in first turns than in last ones, which take a loop in front. */
static void
find_choice(Plan *p, const Op *o, int at, double gain)
{
	for (int i = 0; i < 4; i++) {
		Forms f = { 0 };

		if (!forms_condition(&p->turns, &f, o->in[0], i % 2 == 0) || (i < 2 && forms_have(&f, 1)))
			continue;
		idle_add(p, &f, at, i % 2, gain);
		return;
	}
}

/* Edges of the global views that o moves elements of. */
static void
find_edges(Plan *p, const Op *o)
{
	const Val *side[2] = { access_source(o), access_target(o) };

	for (int i = 0; i < 2; i++) {
		Forms f = { 0 };
		int n;

		if (!side[i] || side[i]->type.space != S_global || !side[i]->def ||
		    !forms_view(&p->turns, &f, side[i]->def, &n) || n == 0)
			continue;
		/* a comparison and what it chooses, in each turn; where turns are alike, what it chooses */
		p->gain += (forms_have(&f, -1) ? 2 * n : 1) * accesses(o);
		forms_join(&p->turns, &p->forms, &f);
	}
}

static void
find_mask(Plan *p, Op *o, int at)
{
	Forms f = { 0 };

	if (o->code == O_mask && forms_mask(&p->turns, &f, o))
		idle_add(p, &f, at, 0, 2 * words(o->out[0]));
	else if (o->code == O_select)
		find_choice(p, o, at, 2 * words(o->out[0]));
	else if (o->code == O_if)
		find_choice(p, o, at, 2);
	else if (o->code == O_load || o->code == O_store || o->code == O_copy)
		find_edges(p, o);
}

/* ---- which loops ------------------------------------------------------------------------------------- */

/* Numbers of which `behind` can make sums. */
static bool
is_countable(Kernel *k, const Op *loop)
{
	Fact step = val_fact(k, loop->in[2]);

	for (int i = 0; i < 2; i++) {
		Fact f = val_fact(k, loop->in[i]);

		if (f.lo < -COUNTER_MOST || f.hi > COUNTER_MOST)
			return false;
	}
	return step.lo >= 1 && step.hi <= COUNTER_MOST;
}

static bool
is_short(Kernel *k, const Op *loop)
{
	Fact lo = val_fact(k, loop->in[0]), hi = val_fact(k, loop->in[1]), step = val_fact(k, loop->in[2]);

	return ceil_div(hi.hi - lo.lo, step.lo) < SPLIT_TURNS;
}

/* Is the body too much to be there twice?  Without asynchronous copies a loop holds the next turn's tiles in
 * registers: beside many products there are none left for what the second loop needs. */
static bool
is_large(const Plan *p)
{
	bool held = !(p->turns.k->unit->target->features & T_CPASYNC);

	return p->size > SPLIT_SIZE || (held && p->products > SPLIT_PRODUCTS);
}

static SplitKind
judge(Plan *p)
{
	int at = 0;
	OpWalk w;

	if (!is_countable(p->turns.k, p->turns.loop))
		return SPLIT_FAR;
	if (is_short(p->turns.k, p->turns.loop))
		return SPLIT_SHORT;
	for (Op *o = walk_first(&w, p->turns.body); o; o = walk_next(&w)) {
		if (o->code == O_for)
			return SPLIT_NESTED;
		find_mask(p, o, at);
		p->products += o->code == O_dot;
		at += o->code != O_alloc; /* which will be gone from here */
		p->size += steps(p->turns.k, o);
	}
	if (p->forms.n == 0)
		return SPLIT_NO_EDGE;
	if (p->gain * SPLIT_SHARE < p->size)
		return SPLIT_LITTLE;
	if (p->products == 0 && op_is_other_version(p->turns.loop))
		return SPLIT_OTHER;
	return is_large(p) ? SPLIT_LARGE : SPLIT_CLEAR;
}

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
clear(const Plan *p, Op *loop)
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
behind(Op *loop)
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
	rest->in[0] = behind(first);
	for (int i = 0; i < first->nout; i++)
		rest->in[3 + i] = first->out[i];
	return first;
}

/* Tiles of the body are the same memory in each turn, and so in all loops. */
static void
share_tiles(const Turns *t)
{
	OpWalk w;

	for (Op *o = walk_first(&w, t->body); o; o = walk_next(&w))
		if (o->code == O_alloc)
			op_move_before(o, t->loop);
}

static void
split_loop(const Plan *p)
{
	const Turns *t = &p->turns;
	Op *front = NULL, *first;

	share_tiles(t);
	if (forms_have(&p->forms, 1))
		front = take_turns(t->loop, forms_start(t, &p->forms), SPLIT_FRONT);
	first = take_turns(t->loop, forms_end(t, &p->forms), SPLIT_CLEAR);
	if (front)
		op_move_before(front, first); /* behind all numbers */
	clear(p, first);
	IMM_SET(t->loop, split, SPLIT_REST);
}

bool
pass_split(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		Plan p = { .turns = { k, o, o->blk[0] } };
		SplitKind kind;

		if (o->code != O_for || IMM(o, split))
			continue;
		kind = judge(&p);
		if (p.late > 0 && p.late * SPLIT_SHARE < p.size) {
			p = (Plan){ .turns = p.turns, .early = true };
			kind = judge(&p);
		}
		if (kind == SPLIT_CLEAR)
			split_loop(&p);
		else
			IMM_SET(o, split, kind);
		changed = true;
	}
	facts_drop(k);
	return changed;
}
