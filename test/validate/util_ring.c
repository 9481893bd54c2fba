/* util_ring.c - plants faults: removes one stage of a circular buffer filled by asynchronous copies. */
#include "test/check.h"
#include "test/validate/util_ring.h"

/* Is o a view of one stage of a ring? */
static bool
is_stage(const Op *o)
{
	const Val *ring = o->code == O_view ? o->in[0] : NULL;

	return ring && ring->def && ring->def->code == O_alloc && ring->type.shape[0] > 1 &&
	       IMM(o, dropped) == 1;
}

static bool
is_filled(Kernel *k, const Val *ring)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_copy && IMM(o, async) && IMM(o, async) != COPY_OUT && o->in[1]->def &&
		    is_stage(o->in[1]->def) && o->in[1]->def->in[0] == ring)
			return true;
	return false;
}

const Op *
ring_next(Kernel *k, const Op *o)
{
	for (o = o ? o->next : k->body->first; o; o = o->next)
		if (o->code == O_alloc && is_filled(k, o->out[0]))
			return o;
	return NULL;
}

void
ring_narrow(Kernel *k, const Op *ring, Ring *r)
{
	const Val *tile = ring->out[0];
	OpWalk w;

	r->n = 0;
	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_stage(o) && o->in[0] == tile) {
			ck_assert_int_lt(r->n, RING_VIEWS);
			r->view[r->n] = o;
			r->slot[r->n++] = o->in[1];
			o->in[1] = ir_bin(o->parent, o, O_mod, o->in[1],
			                  ir_const(o->parent, o, tile->type.shape[0] - 1));
		}
}

void
ring_restore(Ring *r)
{
	while (r->n--)
		r->view[r->n]->in[1] = r->slot[r->n];
}
