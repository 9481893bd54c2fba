/* value_equal.c - decides whether two values are equal because the same ops compute them from the same
 * values. */
#include "hexc/ir/ir.h"
#include <string.h>

enum { BUDGET = 400 };

bool
val_same(const Val *x, const Val *y, int depth)
{
	const Op *p = x->def, *q = y->def;

	if (x == y)
		return true;
	if (depth == 0 || !p || !q || p->code != q->code || !type_same(&x->type, &y->type) ||
	    x->type.space != S_scalar || dtype_info[x->type.dtype].kind == K_flt)
		return false;
	if (!op_is(p, F_ELT) && p->code != O_const && p->code != O_block_id)
		return false;
	if (memcmp(p->imm, q->imm, sizeof p->imm) != 0 || p->nin != q->nin)
		return false;
	for (int i = 0; i < p->nin; i++)
		if (dtype_info[p->in[i]->type.dtype].kind == K_flt ||
		    !val_same(p->in[i], q->in[i], depth - 1))
			return false;
	return true;
}

/* As val_same_way, within *left steps. */
static bool
same_value(const Val *a, const Val *b, int *left)
{
	const Op *x = a->def, *y = b->def;

	if (a == b)
		return true;
	if (!x || !y || (*left)-- <= 0 || x->code != y->code || x->nin != y->nin || a->index != b->index ||
	    x->fimm != y->fimm || !type_same(&a->type, &b->type) ||
	    (!op_is(x, F_PURE | F_ELT) && x->code != O_load))
		return false;
	for (int i = 0; i < DIM_MAX; i++)
		if (x->imm[i] != y->imm[i])
			return false;
	for (int i = 0; i < x->nin; i++)
		if (!same_value(x->in[i], y->in[i], left))
			return false;
	return true;
}

bool
val_same_way(const Val *a, const Val *b)
{
	int left = BUDGET;

	return same_value(a, b, &left);
}
