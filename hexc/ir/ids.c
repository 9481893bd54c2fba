/* ids.c - the ids of a part of a kernel. */
#include "hexc/ir/ids.h"

/* Makes the n ids from *lowest on hold `id` too. */
static void
widen(uint32_t *lowest, uint32_t *n, uint32_t id)
{
	uint32_t end = *n && *lowest + *n > id + 1 ? *lowest + *n : id + 1;

	*lowest = *n && *lowest < id ? *lowest : id;
	*n = end - *lowest;
}

void
ids_add(Ids *ids, const Block *b)
{
	for (int i = 0; i < b->narg; i++)
		widen(&ids->val, &ids->nval, b->arg[i]->id);
	for (const Op *o = b->first; o; o = o->next) {
		widen(&ids->op, &ids->nop, o->id);
		for (int i = 0; i < o->nout; i++)
			widen(&ids->val, &ids->nval, o->out[i]->id);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				ids_add(ids, o->blk[r]);
	}
}

Ids
ids_of(const Block *b)
{
	Ids ids = { 0, 0, 0, 0 };

	ids_add(&ids, b);
	return ids;
}

int64_t
ids_val(const Ids *ids, const Val *v)
{
	return v->id - ids->val < ids->nval ? (int64_t)(v->id - ids->val) : -1;
}
