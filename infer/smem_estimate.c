/* smem_estimate.c - computes the shared-memory bytes that pass allocate_smem will need for a solution, before
 * the solution is in the IR.
 *
 * Tiles have the layouts of the solution, ops have its lowerings, and each convert is assumed where
 * solution_apply() would insert it. */
#include "hexc/pass/allocate_smem.h"
#include "infer/core/smem_atom.h"
#include "infer/search.h"

typedef struct Scratch {
	Arena *a;
	SmemScratch *x;
	const Lowering **how;
	int n, cap, capx;
} Scratch;

/* Appends a staging buffer.  Operands that share a conversion need it once, at the first of them. */
static void
append_scratch(Scratch *t, Op *o, bool before, const Lowering *how)
{
	int n = t->n;

	if (!lowering_is_staged(how))
		return;
	for (int i = 0; i < t->n; i++)
		if (t->how[i] == how)
			return;
	VEC_PUSH(t->a, t->how, n, t->cap, how);
	VEC_PUSH(t->a, t->x, t->n, t->capx, ((SmemScratch){ o, before, how->staged.bytes }));
}

static void
add_op(const Solve *s, Scratch *t, Op *o)
{
	const LayoutSolution *sol = s->sol;

	append_scratch(t, o, false, sol->lowering[o->id]);
	for (int j = 0; j < o->nin; j++)
		if (sol->conv[o->id][j] && is_reg(o->in[j]))
			append_scratch(t, convert_place(o, o->in[j], sol->conv[o->id][j]), true,
				       sol->conv[o->id][j]);
	for (int j = 0; j < o->nout; j++)
		if (sol->made[o->id][j])
			append_scratch(t, result_place(o), true, sol->mconv[o->id][j]);
}

/* Collects the input of pass allocate_smem for a solution. */
static SmemPlan
plan_of(Solve *s)
{
	Scratch t = { .a = s->arena };
	int64_t *align = NEWN(s->arena, int64_t, s->k->nop + 1);

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		add_op(s, &t, o);
		if (o->code == O_alloc && s->sol->form[o->out[0]->id])
			align[o->id] = form_align(s->sol->form[o->out[0]->id]);
	}
	return (SmemPlan){ s->sol->val, align, t.x, t.n };
}

int64_t
solution_smem(Solve *s)
{
	SmemPlan p = plan_of(s);

	return smem_least(s->k, &p);
}

void
solution_too_large(Solve *s, LayoutSolution *sol)
{
	SmemPlan p;

	s->sol = sol;
	p = plan_of(s);
	smem_too_much(s->k, &p);
}
