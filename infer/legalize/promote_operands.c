/* promote_operands.c - pass legalize: casts the operands of dots to a wider type with the same numbers if
 * the target's tensor cores lack their type, or lack it for tiles this small. Floats of up to 8 bits become
 * f16 or bf16, integers below 8 bits become 8 bits. */
#include "hexc/ir/dtype_value.h"
#include "infer/core/mma_instr.h"
#include "infer/legalize/legalize.h"

/* Returns a wider type with all of d's numbers; D_COUNT if none helps. */
static DType
wider(DType d)
{
	const DTypeInfo *t = &dtype_info[d];

	if (t->bits > 8 || t->kind == K_pred || t->codes == C_table || t->mma == MMA_i8)
		return D_COUNT;
	if (t->kind != K_flt)
		return t->kind == K_sint ? D_i8 : D_u8;
	return num_largest(d) < num_largest(D_f16) ? D_f16 : D_bf16;
}

/* Is there an instruction for operands of these types and the dot's shape? */
static bool
has_mma(const Op *dot, DType a, DType b, const Target *t)
{
	for (const Instr *i = instrs; i->name; i++)
		if (i->kind == IK_mma && instr_on(i, t) && i->acc == dot->out[0]->type.dtype &&
		    ((i->ta == a && i->tb == b && instr_divides(i, false, dot)) ||
		     (i->ta == b && i->tb == a && instr_divides(i, true, dot))))
			return true;
	return false;
}

void
promote_dots(Kernel *k)
{
	const Target *t = k->unit->target;
	const TileCopies *copies = tile_copies(k);
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		DType a, b, to[2];

		if (o->code != O_dot || dot_is_scaled(o))
			continue;
		a = mma_a(o)->type.dtype;
		b = mma_b(o)->type.dtype;
		to[0] = wider(a);
		to[1] = wider(b);
		if (has_mma(o, a, b, t) || to[0] == D_COUNT || to[1] == D_COUNT ||
		    !has_mma(o, to[0], to[1], t) || warpgroups_take(copies, o))
			continue;
		for (int i = 0; i < 2; i++) {
			Type type = o->in[i]->type;

			type.dtype = to[i];
			o->in[i] = op_new(o->parent, o, O_cast, o->src, 1, &o->in[i], 1, &type)->out[0];
		}
	}
}
