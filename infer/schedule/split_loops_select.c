/* split_loops_select.c - pass split_loops: determines the masks of a loop that a split makes redundant, and
 * whether a second loop is profitable. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "infer/core/cost_constants.h"
#include "infer/schedule/split_loops.h"

/* ---- cost of an op, instructions per thread -------------------------------------------------------- */

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
	const Val *tile = o->code == O_load    ? o->out[0]
	                  : o->code == O_store ? store_value(o)
	                                       : copy_source(o);
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
	if (o->code == O_convert_layout && o->lowering && o->lowering->kind == LW_rename)
		return 0;
	if (o->code == O_transpose || o->code == O_reshape || o->code == O_broadcast || o->nout == 0)
		return 0;
	return op_is(o, F_REDUCE) || o->code == O_mask ? 2 * words(o->in[0]) : words(o->out[0]);
}

/* ---- masks ------------------------------------------------------------------------------------------ */

/* Adds forms under which `gain` instructions are saved. Returns false if they hold only in last iterations
 * and a prologue loop is not wanted. */
static bool
add_condition(SplitPlan *p, const Forms *f, double gain)
{
	if (p->early && forms_have(f, 1))
		return false;
	forms_join(&p->turns, &p->forms, f);
	p->gain += gain;
	p->late += forms_have(f, 1) ? gain : 0;
	return true;
}

/* Returns the instructions of mask or select o in an iteration where the forms need not hold: those of
 * the condition and of the choice, as far as these differ from iteration to iteration. */
static double
cost_of(const SplitPlan *p, const Op *o, const Forms *f)
{
	double n = words(o->out[0]);

	if (forms_have(f, -1) || forms_have(f, 1))
		return 2 * n;
	return p->varies[o->out[0]->id] ? n : 0; /* else it is computed before the loop */
}

static void
take_idle(SplitPlan *p, const Forms *f, int at, int way, double gain)
{
	Idle i = { at, way };

	if (add_condition(p, f, gain))
		VEC_PUSH(p->turns.k->unit->arena, p->idle, p->nidle, p->cap, i);
}

/* Records a select or if. An outcome that holds in first iterations is preferred to one in last iterations,
 * which needs a prologue loop. */
static void
find_choice(SplitPlan *p, const Op *o, int at)
{
	for (int i = 0; i < 4; i++) {
		Forms f = { 0 };

		if (!forms_condition(&p->turns, &f, choice_cond(o), i % 2 == 0) ||
		    (i < 2 && forms_have(&f, 1)))
			continue;
		take_idle(p, &f, at, i % 2, o->code == O_if ? 2 : cost_of(p, o, &f));
		return;
	}
}

/* Adds the out-of-bounds checks of the global views that o accesses. */
static void
find_edges(SplitPlan *p, const Op *o)
{
	const Val *side[2] = { access_source(o), access_target(o) };

	for (int i = 0; i < 2; i++) {
		Forms f = { 0 };
		ViewDims v;
		double gain;

		if (!side[i] || side[i]->type.space != S_global || !side[i]->def)
			continue;
		v = forms_view(&p->turns, &f, side[i]->def);
		/* a comparison and the predicate logic per iteration; the predicate logic only, if
		 * iterations are alike; the comparison of each row only, if other dims need a predicate */
		gain = (!v.all ? v.rows : !forms_have(&f, -1) ? 1 : 2 * v.n) * accesses(o);
		if (v.rows && view_is_bounded(side[i]->def))
			gain += SPLIT_BOUND;
		if (gain > 0 && v.n)
			add_condition(p, &f, gain);
	}
}

static void
find_mask(SplitPlan *p, Op *o, int at)
{
	Forms f = { 0 };

	if (o->code == O_mask && forms_mask(&p->turns, &f, o))
		take_idle(p, &f, at, 0, cost_of(p, o, &f));
	else if (o->code == O_select || o->code == O_if)
		find_choice(p, o, at);
	else if ((o->code == O_load || o->code == O_store || o->code == O_copy) &&
	         !instr_is_box(instr_of(o->lowering))) /* the TMA unit clips at the tensor's bounds */
		find_edges(p, o);
}

/* ---- loops to split ---------------------------------------------------------------------------------- */

/* Are the bounds small enough for the sums of loop_end_value()? */
static bool
is_countable(Kernel *k, const Op *loop)
{
	Fact step = val_fact(k, for_step(loop));

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
	Fact lo = val_fact(k, for_lo(loop)), hi = val_fact(k, for_hi(loop));
	Fact step = val_fact(k, for_step(loop));

	return ceil_div(hi.hi - lo.lo, step.lo) < SPLIT_TURNS;
}

/* Is the body too large to be duplicated? With many MMAs the second loop's additional values are spilled. */
static bool
is_large(const SplitPlan *p)
{
	return p->size > SPLIT_SIZE || p->products > SPLIT_PRODUCTS;
}

/* Do blocks of a cluster synchronize in the loop? Each block may split at a different iteration. */
static bool
has_meeting(const SplitIterations *t)
{
	OpWalk w;

	for (Op *o = walk_first(&w, t->body); o && cluster_blocks(t->k) > 1; o = walk_next(&w))
		if (o->code == O_mbarrier_wait || o->code == O_mbarrier_arrive)
			return true;
	return false;
}

/* Notes whether the results of o may differ from iteration to iteration. */
static void
note_varying(SplitPlan *p, const Op *o)
{
	bool varies = !op_is(o, F_PURE) || op_is(o, F_MEM);

	for (int i = 0; i < o->nin && !varies; i++)
		varies = p->varies[o->in[i]->id];
	for (int i = 0; i < o->nout; i++)
		p->varies[o->out[i]->id] = varies;
}

static SplitKind
judge(SplitPlan *p)
{
	int at = 0;
	OpWalk w;

	if (!is_countable(p->turns.k, p->turns.loop))
		return SPLIT_OVERFLOW;
	if (is_short(p->turns.k, p->turns.loop))
		return SPLIT_SHORT_TRIP;
	if (has_meeting(&p->turns))
		return SPLIT_CLUSTER_BARRIER;
	for (Op *o = walk_first(&w, p->turns.body); o; o = walk_next(&w)) {
		if (o->code == O_for)
			return SPLIT_NESTED_LOOP;
		note_varying(p, o);
		find_mask(p, o, at);
		p->products += o->code == O_dot;
		at += o->code != O_alloc; /* which will be moved out */
		p->size += steps(p->turns.k, o);
	}
	if (p->forms.n == 0)
		return SPLIT_NO_CONDITION;
	if (p->gain * SPLIT_SHARE < p->size)
		return SPLIT_CHEAP_MASKS;
	if (p->products == 0 && op_is_other_version(p->turns.loop))
		return SPLIT_FALLBACK; /* narrow accesses limit it, with or without masks */
	return is_large(p) ? SPLIT_CODE_SIZE : SPLIT_MAIN;
}

SplitKind
split_plan(SplitPlan *p, Kernel *k, Op *loop)
{
	SplitKind kind;

	*p = (SplitPlan){ .turns = { k, loop, loop->blk[0] } };
	p->varies = NEWN(k->unit->arena, bool, k->nval + 1);
	for (int i = 0; i < loop->blk[0]->narg; i++)
		p->varies[loop->blk[0]->arg[i]->id] = true;
	kind = judge(p);
	if (p->late > 0 && p->late * SPLIT_SHARE < p->size) {
		*p = (SplitPlan){ .turns = p->turns, .varies = p->varies, .early = true };
		kind = judge(p);
	}
	return kind;
}
