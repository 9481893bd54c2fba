/* induction.c - strength-reduces values that are linear in the counter of a loop, or in quotients of it.
 * They are incremented by a constant in each iteration, and by more when a quotient changes (divmod_iv.c).
 *
 * An address that is recomputed from the counter in each iteration takes a shift or a multiplication, and
 * its terms occupy registers; an induction variable takes one add and one register. */
#include "ptxgen/base/induction.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/divmod_iv.h"
#include "ptxgen/base/packed_word.h"

bool
moving_pays(const Codegen *g)
{
	return g->loop && IMM(g->loop->op, split) != SPLIT_REMAINDER;
}

LLVMBasicBlockRef
moving_front(Codegen *g)
{
	LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);

	LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->loop->before));
	return block;
}

void
moving_back(Codegen *g, LLVMBasicBlockRef block)
{
	LV end = LLVMGetBasicBlockTerminator(block);

	if (end)
		LLVMPositionBuilderBefore(g->b, end);
	else
		LLVMPositionBuilderAtEnd(g->b, block);
}

/* Applies a builder function to values of the first iteration, before the loop. */
static LV
in_front(Codegen *g, LV (*build)(LLVMBuilderRef, LV, LV, const char *), LV x, LV y)
{
	LLVMBasicBlockRef block = moving_front(g);
	LV v = build(g->b, x, y, "");

	moving_back(g, block);
	return v;
}

static InductionVar
linear_scale(Codegen *g, InductionVar x, int64_t by)
{
	x.ok = x.ok && mul64(x.by, by, &x.by);
	if (!x.ok)
		return x;
	x.first = in_front(g, LLVMBuildMul, x.first, const_i64(g, by));
	for (int i = 0; i < WHEELS_MAX; i++)
		if (x.carry[i])
			x.carry[i] = in_front(g, LLVMBuildMul, x.carry[i], const_i64(g, by));
	return x;
}

InductionVar
linear_add(Codegen *g, InductionVar x, InductionVar y)
{
	x.ok = x.ok && y.ok && add64(x.by, y.by, &x.by);
	if (!x.ok)
		return x;
	x.first = in_front(g, LLVMBuildAdd, x.first, y.first);
	for (int i = 0; i < WHEELS_MAX; i++)
		if (x.carry[i] && y.carry[i])
			x.carry[i] = in_front(g, LLVMBuildAdd, x.carry[i], y.carry[i]);
		else if (y.carry[i])
			x.carry[i] = y.carry[i];
	return x;
}

bool
linear_even(const InductionVar *x)
{
	for (int i = 0; i < WHEELS_MAX; i++)
		if (x->carry[i])
			return false;
	return true;
}

/* Returns x / over, where x is v: linear if the increment is a multiple of `over`. */
static InductionVar
linear_divide(Codegen *g, const Val *v, InductionVar x, int64_t over)
{
	x.ok = x.ok && over > 0 && x.by % over == 0 && val_fact(g->k, v).lo >= 0;
	x.ok = x.ok && linear_even(&x);
	if (!x.ok)
		return x;
	x.by /= over;
	x.first = in_front(g, LLVMBuildUDiv, x.first, const_i64(g, over));
	return x;
}

/* Returns the induction variable of a loop-invariant value. */
static InductionVar
linear_steady(Codegen *g, Val *v)
{
	LLVMBasicBlockRef block = moving_front(g);
	InductionVar x = { .ok = true, .first = scalar_get(g, v) };

	moving_back(g, block);
	return x;
}

static InductionVar
linear_op(Codegen *g, const Op *o)
{
	int64_t c;
	bool right = o->nin == 2 && val_is_const(o->in[1], &c);

	switch (o->code) {
	case O_add:
		return linear_add(g, linear_of(g, elt_lhs(o)), linear_of(g, elt_rhs(o)));
	case O_sub:
		return linear_add(g, linear_of(g, elt_lhs(o)), linear_scale(g, linear_of(g, elt_rhs(o)), -1));
	case O_mul:
		if (right || val_is_const(elt_lhs(o), &c))
			return linear_scale(g, linear_of(g, right ? elt_lhs(o) : elt_rhs(o)), c);
		break;
	case O_div:
		if (right)
			return linear_divide(g, elt_lhs(o), linear_of(g, elt_lhs(o)), c);
		break;
	default:
		break;
	}
	return (InductionVar){ .ok = false };
}

/* As linear_of, for the result of an op of the loop. Computed once; again when digits were added, which may
 * represent it. */
static InductionVar
linear_once(Codegen *g, Val *v)
{
	Loop *l = g->loop;
	struct KnownLinear **known;
	InductionVar x;

	if (!l->linear) {
		l->ids = ids_of(l->op->blk[0]);
		l->linear = NEWN(g->a, struct KnownLinear *, l->ids.nval);
	}
	known = &l->linear[ids_val(&l->ids, v)];
	if (*known && (*known)->nwheel == l->nwheel)
		return (*known)->var;
	x = wheels_linear(g, v);
	if (!x.ok)
		x = linear_op(g, v->def);
	if (!*known)
		*known = NEW(g->a, struct KnownLinear);
	**known = (struct KnownLinear){ x, l->nwheel };
	return x;
}

InductionVar
linear_of(Codegen *g, Val *v)
{
	InductionVar x = { .ok = false };
	int64_t c;

	if (!g->loop || v->type.space != S_scalar || v->type.dtype != D_i64)
		return x;
	if (val_is_const(v, &c))
		return (InductionVar){ .ok = true, .first = const_i64(g, c) };
	if (!block_inside(v->block, g->loop->op->blk[0]))
		return linear_steady(g, v);
	if (v->def)
		return linear_once(g, v);
	x.first = g->loop->lo;
	x.ok = v == g->loop->op->blk[0]->arg[0] && val_is_const(for_step(g->loop->op), &x.by);
	return x;
}

static LV
plus(Codegen *g, LV sum, LV x, bool less)
{
	sum = sum ? sum : const_i64(g, 0);
	return (less ? LLVMBuildSub : LLVMBuildAdd)(g->b, sum, x, "");
}

/* The same for a value that is subtracted if `less`; *left: the sums that may still be split into terms. */
static void
add_terms(Codegen *g, Val *v, bool less, int *left, LV *steady, LV *rest)
{
	LLVMBasicBlockRef block;

	if (!block_inside(v->block, g->loop->op->blk[0])) {
		block = moving_front(g);
		*steady = plus(g, *steady, scalar_get(g, v), less);
		moving_back(g, block);
	} else if (v->def && (v->def->code == O_add || v->def->code == O_sub) && --*left >= 0) {
		add_terms(g, elt_lhs(v->def), less, left, steady, rest);
		add_terms(g, elt_rhs(v->def), less != (v->def->code == O_sub), left, steady, rest);
	} else {
		*rest = plus(g, *rest, scalar_get(g, v), less);
	}
}

void
linear_terms(Codegen *g, Val *v, LV *steady, LV *rest)
{
	enum { SUMS = 64 };
	int left = SUMS;

	add_terms(g, v, false, &left, steady, rest);
}

LV
moving_phi(Codegen *g, LV first)
{
	LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);
	LV now;

	LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(g->loop->head));
	now = LLVMBuildPhi(g->b, LLVMTypeOf(first), "");
	moving_back(g, block);
	LLVMAddIncoming(now, &first, &g->loop->before, 1);
	return now;
}

LV
moving(Codegen *g, LV first, const IvIncrement *turn)
{
	struct Moving m = { .now = moving_phi(g, first), .turn = *turn };

	VEC_PUSH(g->a, g->loop->moved, g->loop->nmoved, g->loop->moved_cap, m);
	return m.now;
}

void
moving_next(Codegen *g)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);

	wheels_next(g);
	for (int i = 0; i < g->loop->nmoved; i++) {
		const struct Moving *m = &g->loop->moved[i];
		LV next = LLVMBuildAdd(g->b, m->now, wheels_turn(g, &m->turn), "");

		LLVMAddIncoming(m->now, &next, &from, 1);
	}
}
