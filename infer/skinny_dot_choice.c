/* skinny_dot_choice.c - finds skinny dots (8 rows or columns at most) and marks them, so that the search
 * also tries lowerings that only pay for them. */
#include "hexc/ir/sparse.h"
#include "infer/core/mma_instr.h"
#include "infer/infer.h"

enum { THIN_MOST = 8 };

/* Does o have at least the rows and columns of an instance of `in`, or of its transpose? */
static bool
is_enough_for(const Instr *in, const Op *o, const Target *t)
{
	const int64_t *mn = &o->out[0]->type.shape[dot_batch(o)];

	return (instr_fits(in, false, o, t) && mn[0] >= in->m && mn[1] >= in->n) ||
	       (instr_fits(in, true, o, t) && mn[0] >= in->n && mn[1] >= in->m);
}

/* Is o a skinny dot?  It has fewer than 8 rows or columns; or exactly 8, elements of 16 bits or more, and no
 * instruction of its types that fits its rows and columns.  Narrower elements are multiplied as f16
 * (infer/legalize/promote_operands.c). */
static bool
is_thin(const Op *o, const Target *t)
{
	const int64_t *mn = &o->out[0]->type.shape[dot_batch(o)];
	int64_t few = min64(mn[0], mn[1]);

	if (dot_is_sparse(o) || o->out[0]->type.pinned || o->out[0]->type.rank + 1 > DIM_MAX)
		return false;
	for (const Instr *i = instrs; few == THIN_MOST && i->name; i++)
		if (is_enough_for(i, o, t))
			return false;
	return few < THIN_MOST || (few == THIN_MOST && dtype_info[mma_a(o)->type.dtype].bits >= 16);
}

bool
kernel_is_thin(const Kernel *k, bool *all)
{
	int some = 0, others = 0;
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot)
			*(is_thin(o, k->unit->target) ? &some : &others) += 1;
	*all = some && !others;
	return some > 0;
}

void
kernel_make_thin(Kernel *k, SkinnyDotKind way)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_dot && is_thin(o, k->unit->target))
			IMM_SET(o, skinny, way);
}
