/* warp_roles.c - bounds wgmma in warp roles: treats operands in shared memory as if loaded to registers. */
#include "lib/error_bound/error_bound_internal.h"

/* Loads MMA operand i, transposed if the op does so, or its bounds, if v is in shared memory. */
static Val *
factor(Twin *t, const Op *o, int i, Val *v)
{
	Type type = v->type, turned;

	if (type.space != S_shared)
		return v;
	type.space = S_reg;
	v = bound_op(t, O_load, 1, &v, type);
	if (!(IMM(o, transposed) >> i & 1))
		return v;
	turned = type;
	turned.shape[0] = type.shape[1];
	turned.shape[1] = type.shape[0];
	v = bound_op(t, O_transpose, 1, &v, turned);
	IMM_SET_AT(v->def, perm, 0, 1);
	return v;
}

/* The accumulator, or 0 if the op's scale-d condition is false. */
static Val *
counted(Twin *t, const Op *o, Val *acc)
{
	Type type = acc->type;
	Val *cond;

	if (o->nin != 4)
		return acc;
	type.dtype = D_bool;
	cond = bound_val(t, wgmma_keeps_acc(o));
	cond = bound_op(t, O_splat, 1, &cond, type);
	return bound_where(t, cond, bound_f64(t, acc), bound_const(t, acc, 0));
}

Val *
bound_of_wgmma(Twin *t, const Site *s)
{
	const Op *o = s->o;
	Site dot = *s;

	if (o->nin == 4)
		bound_doubt(t, t->err[wgmma_keeps_acc(o)->id]);
	for (int i = 0; i < 2; i++) {
		if (o->in[i]->type.space == S_shared)
			bound_doubt(t, t->unsure[o->in[i]->id]);
		dot.x[i] = factor(t, o, i, s->x[i]);
		dot.e[i] = s->e[i] ? factor(t, o, i, s->e[i]) : NULL;
	}
	dot.x[2] = counted(t, o, s->x[2]);
	dot.e[2] = s->e[2] ? counted(t, o, s->e[2]) : NULL;
	return bound_product(t, &dot);
}
