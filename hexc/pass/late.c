/* late.c - pass late: marks reductions whose parts a loop may carry.
 * needs: valid IR without layouts.  keeps: everything but the marks.
 *
 * Sums start at 0, so that what the parts of different lanes start at is known to all that ask how far off
 * their sum may be; and are of types whose sums are not rounded to a smaller one. */
#include "hexc/ir/late.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"

static bool
starts_at_0(const Late *late)
{
	const Val *x = late->loop->in[3 + late->i];
	Constant c;

	if (!const_get(x, &c))
		return false;
	return dtype_is_float(x->type.dtype) ? !(c.f < 0) && !(c.f > 0) : c.i == 0;
}

static bool
is_late(const uint32_t *uses, const Op *o)
{
	DType d = o->out[0]->type.dtype;
	Late late;

	if (!late_find(uses, o, &late))
		return false;
	return o->code != O_reduce_sum || (dtype_accumulator(d) == d && starts_at_0(&late));
}

bool
pass_late(Kernel *k)
{
	const uint32_t *uses = kernel_uses(k);
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if ((o->code != O_reduce_sum && o->code != O_reduce_max && o->code != O_reduce_min) ||
		    !is_late(uses, o))
			continue;
		IMM_SET(o, late, 1);
		changed = true;
	}
	return changed;
}
