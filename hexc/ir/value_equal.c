/* value_equal.c - decides whether two values are equal because the same ops compute them from the same
 * values, and lists what a condition joins. */
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

/* seen[]: the joins met so far, which may be operands of several others. */
static void
add_joined(Joined *j, const Val *v, OpCode join, const Val *seen[JOINED_MAX], int *nseen)
{
	if (v->def && v->def->code == join) {
		for (int i = 0; i < *nseen; i++)
			if (seen[i] == v)
				return;
		if (*nseen == JOINED_MAX)
			return;
		seen[(*nseen)++] = v;
		add_joined(j, elt_lhs(v->def), join, seen, nseen);
		add_joined(j, elt_rhs(v->def), join, seen, nseen);
		return;
	}
	for (int i = 0; i < j->n; i++)
		if (j->part[i] == v)
			return;
	if (j->n < JOINED_MAX)
		j->part[j->n++] = v;
}

Joined
val_joined(const Val *v, OpCode join)
{
	const Val *seen[JOINED_MAX];
	Joined j = { .n = 0 };
	int nseen = 0;

	add_joined(&j, v, join, seen, &nseen);
	return j;
}
