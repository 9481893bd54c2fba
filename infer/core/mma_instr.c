/* mma_instr.c - determines which mma.sync instructions can compute a dot. */
#include "infer/core/mma_instr.h"
#include "infer/core/sm_throughput.h"

/* ---- matching --------------------------------------------------------------------------------------- */

/* Do the dot's scales have the type and block length of the row? */
static bool
scales_fit(const Instr *in, const Op *dot)
{
	for (int i = 0; i < 2; i++)
		if (mma_extra(dot, i)->type.dtype != in->scale || dot_block(dot, i) != in->k / in->scales)
			return false;
	return true;
}

InstrKind
dot_kind(const Op *dot)
{
	return dot_is_scaled(dot) ? IK_mma_scaled : dot_is_sparse(dot) ? IK_mma_sp : IK_mma;
}

bool
instr_fits(const Instr *in, bool swap, const Op *dot, const Target *t)
{
	bool sparse = dot_is_sparse(dot);

	if (in->kind != dot_kind(dot) || (in->kind == IK_mma_scaled && !scales_fit(in, dot)) ||
	    (sparse && (swap != (dot_side(dot) == 1) || !instr_takes(in, dot))))
		return false;
	return instr_on(in, t) && in->acc == dot->out[0]->type.dtype &&
	       (swap ? in->tb : in->ta) == mma_a(dot)->type.dtype &&
	       (swap ? in->ta : in->tb) == mma_b(dot)->type.dtype;
}

bool
instr_takes(const Instr *in, const Op *dot)
{
	const Type *p = &mma_extra(dot, 0)->type;
	int64_t places = dot_k(dot) / p->shape[1 - dot_side(dot)];

	switch (dtype_info[in->ta].bits) {
	case 32: return p->dtype == D_u1;
	case 4: return p->dtype == D_u2 && places == 4;
	default: return p->dtype == D_u2 && places == 2;
	}
}

bool
instr_divides(const Instr *i, bool swap, const Op *dot)
{
	const int64_t *mn = &dot->out[0]->type.shape[dot_batch(dot)];

	return mn[0] % (swap ? i->n : i->m) == 0 && dot_k(dot) % i->k == 0 &&
	       mn[1] % (swap ? i->m : i->n) == 0;
}

static int64_t
macs_per_instr(const Instr *in)
{
	return (int64_t)in->m * in->n * in->k;
}

bool
instr_dominated(const Instr *in, bool swap, const Op *dot, const Target *t)
{
	const Rates *r = rates_of(t);

	for (const Instr *x = instrs; x->name; x++)
		for (int way = 0; way < 2; way++) {
			if (!instr_fits(x, way, dot, t) || !instr_divides(x, way, dot) ||
			    x->m * x->n < in->m * in->n || x->k < in->k ||
			    mma_clocks(r, x) * (double)macs_per_instr(in) >
			            mma_clocks(r, in) * (double)macs_per_instr(x))
				continue;
			if (macs_per_instr(x) > macs_per_instr(in) ||
			    (x != in && way < swap && macs_per_instr(x) == macs_per_instr(in)))
				return true;
		}
	return false;
}
