/* late.c - pass late: marks reductions whose parts a loop may carry.
 * needs: valid IR without layouts.  keeps: everything but the marks.
 *
 * Sums start at 0, so that what the parts of different lanes start at is known to all that ask how far off
 * their sum may be; and are of types whose sums are not rounded to a smaller one. */
#include "hexc/pass/late.h"
#include "hexc/pass/fold.h"
#include "hexc/pass/pass.h"

/* The op behind o, in its block, that reads its result. */
static Op *
reader(const Op *o)
{
	for (Op *x = o->next; x; x = x->next)
		for (int i = 0; i < x->nin; i++)
			if (x->in[i] == o->out[0])
				return x;
	return NULL;
}

/* Which of the values that the block yields v is; -1: none. */
static int
yielded(const Block *b, const Val *v)
{
	for (int i = 0; i < b->last->nin; i++)
		if (b->last->in[i] == v)
			return i;
	return -1;
}

/* Does join give what carried value x, by a factor or as it is, and the reduction r are together? */
static bool
joins(const Op *join, OpCode reduction, const Val *x, const Val *r, Val **factor)
{
	OpCode two = reduction == O_reduce_sum ? O_add : reduction == O_reduce_max ? O_max : O_min;
	int at = join->in[0] == x ? 0 : 1;

	*factor = NULL;
	if (join->code == two)
		return join->in[at] == x && join->in[1 - at] == r;
	if (join->code != O_fma || reduction != O_reduce_sum || join->in[at] != x || join->in[2] != r)
		return false;
	*factor = join->in[1 - at];
	return true;
}

bool
late_find(const uint32_t *uses, const Op *reduce, Late *out)
{
	Block *b = reduce->parent;
	Val *r = reduce->out[0], *x;

	if (!op_is(reduce, F_REDUCE) || !b->owner || b->owner->code != O_for || uses[r->id] != 1)
		return false;
	out->loop = b->owner;
	out->join = reader(reduce);
	if (!out->join || out->join->nout != 1 || uses[out->join->out[0]->id] != 1)
		return false;
	out->i = yielded(b, out->join->out[0]);
	if (out->i < 0)
		return false;
	x = b->arg[1 + out->i];
	return uses[x->id] == 1 && joins(out->join, reduce->code, x, r, &out->factor);
}

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
		if (!op_is(o, F_REDUCE) || !is_late(uses, o))
			continue;
		IMM_SET(o, late, 1);
		changed = true;
	}
	return changed;
}
