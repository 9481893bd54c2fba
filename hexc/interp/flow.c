/* flow.c - loops and branches of the tile interpreter. */
#include "hexc/interp/impl.h"
#include "hexc/ir/access.h"
#include <string.h>

bool
eval_yield(Interp *it, Op *o)
{
	(void)it;
	(void)o;
	return true; /* read by the op that owns the block */
}

bool
eval_if(Interp *it, Op *o)
{
	bool holds = slot_of(it, o->in[0])->i[0], blank = !holds && if_is_copies(o), ok;
	Block *b = o->blk[holds || blank ? 0 : 1];

	if (blank) { /* these fill with zeros then */
		it->blank = true;
		ok = interp_block(it, b);
		it->blank = false;
		return ok;
	}
	if (!b)
		return true;
	if (!interp_block(it, b))
		return false;
	for (int i = 0; i < o->nout; i++)
		slot_copy(it, o->out[i], b->last->in[i]);
	return true;
}

/* What the body yields becomes its arguments, all at once: an argument may be yielded as another one. */
static void
next_args(Interp *it, Block *b)
{
	for (int i = 1; i < b->narg; i++) {
		Slot *arg = slot_of(it, b->arg[i]), *y = slot_of(it, b->last->in[i - 1]);
		size_t n = arg->view ? sizeof *arg->view : (size_t)arg->n * sizeof *arg->f;

		if (!arg->spare)
			arg->spare = arena_alloc(&it->arena, n);
		memcpy(arg->spare, y->view ? (void *)y->view : (void *)y->f, n);
	}
	for (int i = 1; i < b->narg; i++) {
		Slot *arg = slot_of(it, b->arg[i]);
		void *now = arg->spare;

		arg->spare = arg->view ? (void *)arg->view : (void *)arg->f;
		if (arg->view) {
			arg->view = now;
		} else {
			arg->f = now;
			arg->i = now;
		}
	}
}

bool
eval_for(Interp *it, Op *o)
{
	Block *b = o->blk[0];
	int64_t i = slot_of(it, o->in[0])->i[0], hi = slot_of(it, o->in[1])->i[0];
	int64_t step = slot_of(it, o->in[2])->i[0];
	bool first = true;

	if (step <= 0)
		return interp_error(it, INTERP_E_FAULT, o, "the step of a loop is %lld: it must be positive",
		                    (long long)step);
	while (i < hi) {
		if (first)
			for (int c = 0; c < o->nout; c++)
				slot_copy(it, b->arg[c + 1], o->in[c + 3]);
		first = false;
		slot_of(it, b->arg[0])->i[0] = i;
		if (!interp_block(it, b))
			return false;
		next_args(it, b);
		if (i > INT64_MAX - step)
			break;
		i += step;
	}
	for (int c = 0; c < o->nout; c++)
		slot_copy(it, o->out[c], first ? o->in[c + 3] : b->arg[c + 1]);
	return true;
}
