/* control_dependence.c - bounds values that depend on rounded conditions and indices, and on the index of
 * an extreme.
 *
 * The bound of an index implies which other elements it may select. Loads at uncertain indices have an
 * unknown bound, per element. A branch or a store address that may differ affects more than the available
 * bounds describe; a cell of memory then records that no bound of the run is valid. */
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

static Val *
infinite_if(Twin *t, Val *e)
{
	return bound_if_positive(t, e, bound_const(t, e, (double)INFINITY));
}

static Val *
shaped(Twin *t, OpCode code, Val *x, const Type *like)
{
	Type type = bound_type(like);

	type.space = S_reg;
	return bound_op(t, code, 1, &x, type);
}

/* ---- the cell --------------------------------------------------------------------------------------- */

void
bound_doubt_param(Twin *t, Param *p)
{
	Type type = { .space = S_global, .dtype = D_f64, .rank = 1, .shape = { BOUND_CELLS } };

	p->kind = P_tensor;
	p->name = "doubt";
	p->read = p->written = true;
	p->val = t->doubt = block_arg(t->to->body, type);
}

void
bound_doubt_size(Twin *t)
{
	Type type = type_index();
	Param *p = &t->to->param[t->to->nparam - 1];
	Val *n[BOUND_CELLS + 1];

	for (int i = 0; i <= BOUND_CELLS; i++) {
		n[i] = bound_op(t, O_const, 0, NULL, type);
		IMM_SET(n[i]->def, value, i);
	}
	p->size[0] = n[BOUND_CELLS];
	p->stride[0] = n[1];
	memcpy(t->cell, n, sizeof t->cell);
}

/* Raises the cell to the largest element of e. */
static void
tell(Twin *t, int which, Val *e)
{
	Type one = { .space = S_global, .dtype = D_f64, .rank = 1, .shape = { 1 } };
	Val *in[2] = { t->doubt, t->cell[which] };

	in[1] = bound_op(t, O_view, 2, in, one);
	for (int d = 0; d < e->type.rank; d++)
		e = bound_reduce(t, O_reduce_max, e, d);
	in[0] = shaped(t, e->type.space == S_reg ? O_reshape : O_splat, e, &one);
	IMM_SET(op_new(t->at, NULL, O_store, t->now->src, 2, in, 0, NULL), update, STORE_MAX);
}

/* ---- which op loses a bound -------------------------------------------------------------------------- */

/* The first op has the largest number, since cells without a record are 0. */
enum { FIRST = 1 << 30 };

/* Returns the number of the current op. */
static double
number_of(Twin *t)
{
	VEC_PUSH(t->a, t->ops->op, t->ops->n, t->ops->cap, t->now);
	return FIRST - (t->ops->n - 1);
}

void
bound_loses(Twin *t, const Site *s, Val *e)
{
	Val *known = bound_const(t, e, (double)INFINITY), *had = NULL;

	for (int i = 0; i < s->o->nin; i++)
		if (s->e[i])
			had = had ? MAX(had, s->e[i]) : s->e[i];
	e = bound_where(t, bound_cmp(t, O_lt, e, known), bound_const(t, e, 0),
	                bound_const(t, e, number_of(t)));
	if (had)
		e = bound_where(t, bound_cmp(t, O_lt, had, known), e, bound_const(t, e, 0));
	tell(t, BOUND_LOST, e);
}

const Op *
bound_lost(const BoundOps *ops, double cell, const char **why)
{
	double i = FIRST - cell;
	const Op *o = i >= 0 && i < ops->n ? ops->op[(int)i] : NULL;

	*why = "its control flow or addresses depend on rounded values";
	if (!o)
		return NULL;
	if (op_is(o, F_ELT))
		*why = "no bound is known for a rounded operand";
	switch ((int)o->code) {
	case O_div: *why = "the divisor may be 0, or be rounded to 0"; break;
	case O_sqrt: *why = "the operand may be negative"; break;
	case O_log:
	case O_rsqrt: *why = "the operand may be 0"; break;
	default: break;
	}
	return o;
}

/* ---- doubt ------------------------------------------------------------------------------------------ */

void
bound_doubt(Twin *t, Val *e)
{
	if (!e)
		return;
	tell(t, BOUND_DOUBT, infinite_if(t, e));
	tell(t, BOUND_LOST, bound_if_positive(t, e, bound_const(t, e, number_of(t))));
}

/* ---- indices ---------------------------------------------------------------------------------------- */

/* Broadcasts the bound e of start i of a view to the view's shape. */
static Val *
along_view(Twin *t, const Op *view, int i, Val *e)
{
	const Type *type = &view->out[0]->type;
	const Type *tile = &view->in[i]->type;
	Type line = *type;

	if (e->type.space != S_reg)
		return type->rank ? shaped(t, O_splat, e, type) : e;
	for (int d = 0; d < type->rank; d++)
		line.shape[d] = view_is_gathered(view, d) ? tile->shape[d - view_gather_dim(view)] : 1;
	return shaped(t, O_broadcast, shaped(t, O_reshape, e, &line), type);
}

void
bound_unsure(Twin *t, const Op *view)
{
	Val *all = NULL;

	bound_doubt(t, t->unsure[view->in[0]->id]);
	for (int i = 1; i < view->nin; i++) {
		Val *e = t->err[view->in[i]->id];

		if (e)
			all = bound_add(t, all, along_view(t, view, i, infinite_if(t, e)));
	}
	t->unsure[view->out[0]->id] = all;
}

/* ---- the place of an extreme ------------------------------------------------------------------------ */

static const Op *
behind_mask(const Val *v)
{
	while (v->def && v->def->code == O_mask)
		v = mask_source(v->def);
	return v->def;
}

/* Returns the reduction that computes the extreme, if o is the lowest index of an element equal to it: the
 * expansion of argmax and argmin. */
static const Op *
extreme_of(const Op *o)
{
	const Op *choice = behind_mask(op_source(o)), *eq, *rows, *top;

	if (!choice || choice->code != O_select || !select_yes(choice)->def ||
	    select_yes(choice)->def->code != O_iota || IMM(select_yes(choice)->def, dim) != IMM(o, dim))
		return NULL;
	eq = select_cond(choice)->def;
	rows = eq && eq->code == O_eq ? elt_rhs(eq)->def : NULL;
	top = rows && rows->code == O_broadcast ? op_source(rows)->def : NULL;
	if (!top || (top->code != O_reduce_max && top->code != O_reduce_min) ||
	    IMM(top, dim) != IMM(o, dim) || behind_mask(op_source(top)) != behind_mask(elt_lhs(eq)))
		return NULL;
	return top;
}

bool
bound_arg(Twin *t, const Site *s, Val **e)
{
	const Op *top = s->e[0] && s->o->code == O_reduce_min ? extreme_of(s->o) : NULL;
	int dim = (int)IMM(s->o, dim);
	Val *x, *ex, *at, *own, *slack, *gap, *zero, *far;
	Val *place;

	ex = top ? t->err[op_source(top)->id] : NULL;
	if (!ex)
		return false;
	x = bound_f64(t, bound_val(t, op_source(top)));
	zero = bound_const(t, x, 0);
	place = bound_op(t, O_iota, 0, NULL, op_source(s->o)->type);
	IMM_SET(place->def, dim, dim);
	far = bound_f64(t, place);
	at = bound_broadcast_to(t, bound_f64(t, s->r), x);
	own = bound_cmp(t, O_eq, far, at);
	far = ABS(SUB(far, at));
	slack = bound_reduce(t, O_reduce_max, bound_where(t, own, ex, zero), dim);
	slack = ADD(ex, bound_broadcast_to(t, slack, x));
	gap = ABS(SUB(x, bound_broadcast_to(t, bound_f64(t, bound_val(t, top->out[0])), x)));
	far = bound_where(t, bound_cmp(t, O_lt, slack, gap), zero, far);
	*e = bound_reduce(t, O_reduce_max, bound_if_positive(t, slack, far), dim);
	return true;
}
