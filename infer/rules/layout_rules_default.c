/* layout_rules_default.c - gives layouts to values that no reader and no access constrains: backwards
 * through reductions, forwards through broadcasts, an arbitrary one for the rest. */
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

/* Computes an arbitrary layout: dims from the last, lanes first, then registers, then warps. */
static bool
anyhow(Solve *s, const Type *t, Layout *l)
{
	int order[DIM_MAX];

	for (int d = 0; d < t->rank; d++)
		order[d] = t->rank - 1 - d;
	return coalesced_layout(l, t->rank, t->shape, order, 1, s->k->warps, true);
}

/* Ops whose results may be unconstrained. */
static bool
takes_any(OpCode c)
{
	return c == O_const || c == O_splat || c == O_iota || c == O_for || c == O_if || c == O_shift ||
	       c == O_slice || c == O_concat || c == O_gather || c == O_reduce_sum ||
	       c == O_reduce_max || c == O_reduce_min || c == O_broadcast || c == O_relabel_layout;
}

bool
rule_backward(Solve *s, Op *o)
{
	int d = op_is(o, F_REDUCE) ? (int)IMM(o, dim) : -1;
	Layout l;

	return d >= 0 && is_reg(op_source(o)) && !known_layout(s, op_source(o)) &&
	       known_layout(s, o->out[0]) &&
	       layout_broadcast(&l, known_layout(s, o->out[0]), d, op_source(o)->type.shape[d]) &&
	       set_layout(s, op_source(o), &l, o);
}

bool
rule_default(Solve *s, Op *o)
{
	Val *in = o->nin ? o->in[0] : NULL;
	Layout l;

	if (o->code == O_broadcast && !known_layout(s, o->out[0]) && is_reg(in) && known_layout(s, in)) {
		l = *known_layout(s, in);
		for (int d = 0; d < in->type.rank; d++)
			if (in->type.shape[d] == 1 && o->out[0]->type.shape[d] > 1 &&
			    !layout_broadcast(&l, &l, d, o->out[0]->type.shape[d]))
				return false;
		return set_layout(s, o->out[0], &l, o);
	}
	if (o->code == O_relabel_layout && !known_layout(s, in) != !known_layout(s, o->out[0]))
		return known_layout(s, in) ? set_layout(s, o->out[0], known_layout(s, in), o)
		                           : set_layout(s, in, known_layout(s, o->out[0]), o);
	if (takes_any(o->code))
		for (int i = 0; i < o->nout; i++)
			if (is_reg(o->out[i]) && !known_layout(s, o->out[i]) &&
			    anyhow(s, &o->out[i]->type, &l)) {
				set_layout(s, o->out[i], &l, o);
				if (o->code == O_for)
					rule_for(s, o);
				return true;
			}
	return false;
}
