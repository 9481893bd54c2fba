/* accumulator_registers.c - determines from the program text alone which values share the registers of a
 * wgmma accumulator. */
#include "infer/validate/async_mma.h"

static bool
reads_in(Block *b, const Val *v)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, b); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			if (o->in[i] == v)
				return true;
	return false;
}

bool
read_behind(const Val *v, const Op *o)
{
	if (o->code == O_for && reads_in(o->blk[0], v))
		return true;
	for (;; o = o->parent->owner) {
		for (const Op *x = o->next; x; x = x->next) {
			for (int i = 0; i < x->nin; i++)
				if (x->in[i] == v)
					return true;
			for (int r = 0; r < 2; r++)
				if (x->blk[r] && reads_in(x->blk[r], v))
					return true;
		}
		if (o->parent == v->block)
			return false;
		if (o->parent->owner->code == O_for && reads_in(o->parent, v))
			return true;
	}
}

static int
number_of(Val *const *v, int n, const Val *x)
{
	int i = 0;

	while (i < n && v[i] != x)
		i++;
	return i;
}

const Val *
value_home(const Val *v)
{
	for (const Val *from;; v = from) {
		const Op *o = v->def;

		if (o && o->code == O_wgmma)
			from = mma_acc(o);
		else if (o && o->code == O_for)
			from = for_init(o, number_of(o->out, o->nout, v));
		else
			return v;
		if ((from->def && from->def->code != O_wgmma && from->def->code != O_for &&
		     from->def->code != O_if) ||
		    read_behind(from, o))
			return v;
	}
}
