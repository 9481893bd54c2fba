/* memory_effects.c - implements queries on the memory that ops access and the threads that own its
 * elements. */
#include "hexc/ir/memory_effects.h"

Val *
access_source(const Op *o)
{
	return o->code == O_load ? load_source(o) : o->code == O_copy ? copy_source(o) : NULL;
}

Val *
access_target(const Op *o)
{
	return o->code == O_store ? store_dest(o) : o->code == O_copy ? copy_dest(o) : NULL;
}

Val *
access_found(const Op *o)
{
	return o->code == O_store && o->nin > 2 ? store_old(o) : NULL;
}

bool
if_is_copies(const Op *o)
{
	if (o->code != O_if || !IMM(o, zero_fill))
		return false;
	for (const Op *x = o->blk[0]->first; x; x = x->next) {
		bool scalar = op_is(x, F_PURE) && x->nout == 1 && x->out[0]->type.space != S_reg;

		if (x->code != O_copy && x->code != O_yield && x->code != O_view && !scalar)
			return false;
	}
	return true;
}

bool
split_goes_on(const Op *a, const Op *b)
{
	SplitKind x = (SplitKind)IMM(a, split), y = (SplitKind)IMM(b, split);

	return (x == SPLIT_PROLOGUE && y == SPLIT_MAIN) || (x == SPLIT_MAIN && y == SPLIT_REMAINDER);
}

bool
access_same_update(const Op *a, const Op *b)
{
	return a->code == O_store && b->code == O_store && IMM(a, update) && IMM(a, update) == IMM(b, update);
}

bool
op_is_barrier(const Op *o)
{
	return o->code == O_barrier || o->code == O_grid_barrier;
}

/* With equal indices, threads of an update access one element: no element is owned by one thread. */
bool
access_is_update(const Op *o)
{
	return o->code == O_store && IMM(o, update);
}

bool
access_is_signal(const Op *o)
{
	return access_is_update(o) && view_root(store_dest(o))->type.space == S_global &&
	       (store_value(o)->type.space == S_scalar || type_size(&store_value(o)->type) == 1);
}

bool
access_takes_words(const Op *o)
{
	return access_is_update(o) && dtype_info[store_value(o)->type.dtype].bits < 16;
}

/* Indexes shared memory by index tiles, whose elements any thread may have written. */
static bool
is_gathered(const Op *o)
{
	const Val *mem = access_source(o) ? access_source(o) : access_target(o);

	return mem && mem->type.space == S_shared && mem->def && view_gather_dim(mem->def) >= 0;
}

const Layout *
access_owners(const Op *o)
{
	const Layout *l = o->code == O_load    ? o->out[0]->type.layout
	                  : o->code == O_store ? store_value(o)->type.layout
	                                       : NULL;

	return l && !l->nrep && !op_access(o)->map && !access_is_update(o) && !is_gathered(o) ? l : NULL;
}

bool
access_same_threads(const Op *a, const Op *b)
{
	const Layout *x = access_owners(a), *y = access_owners(b);

	return a == b || (x && y && layout_equal(x, y));
}
