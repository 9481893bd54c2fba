/* promote.c - products of types that the target's tensor cores lack, or lack for tiles this small, go
 * through a wider type that has the same numbers: 8-bit floats through f16, integers of 1 to 4 bits through 8. */
#include "infer/solve.h"

/* A wider type with all of d's numbers; D_COUNT: none that helps. */
static DType
wider(DType d)
{
	switch (d) {
	case D_e4m3:
	case D_e5m2: return D_f16;
	case D_i1:
	case D_i2:
	case D_i4: return D_i8;
	case D_u1:
	case D_u2:
	case D_u4: return D_u8;
	default: return D_COUNT;
	}
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
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		DType a, b, to[2];

		if (o->code != O_dot)
			continue;
		a = o->in[0]->type.dtype;
		b = o->in[1]->type.dtype;
		to[0] = wider(a);
		to[1] = wider(b);
		if (has_mma(o, a, b, t) || to[0] == D_COUNT || to[1] == D_COUNT ||
		    !has_mma(o, to[0], to[1], t))
			continue;
		for (int i = 0; i < 2; i++) {
			Type type = o->in[i]->type;

			type.dtype = to[i];
			o->in[i] = op_new(o->parent, o, O_cast, o->src, 1, &o->in[i], 1, &type)->out[0];
		}
	}
}
