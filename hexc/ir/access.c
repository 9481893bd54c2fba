/* access.c - two loads or stores that meet in memory. */
#include "hexc/ir/access.h"

bool
access_same_update(const Op *a, const Op *b)
{
	return a->code == O_store && b->code == O_store && a->imm[0] && a->imm[0] == b->imm[0];
}

/* Through equal indices the threads of an update meet in one element, so none of it is a thread's own. */
static bool
is_update(const Op *o)
{
	return o->code == O_store && o->imm[0];
}

const Layout *
access_owners(const Op *o)
{
	const Layout *l = o->code == O_load ? o->out[0]->type.layout : o->code == O_store ? o->in[0]->type.layout : NULL;

	return l && !l->nrep && !(o->pick && o->pick->map) && !is_update(o) ? l : NULL;
}

bool
access_same_threads(const Op *a, const Op *b)
{
	const Layout *x = access_owners(a), *y = access_owners(b);

	return a == b || (x && y && layout_equal(x, y));
}
