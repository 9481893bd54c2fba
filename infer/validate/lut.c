/* lut.c - validates lookups: a thread has the full table for each of its indices, in the order of its
 * entries, in the same registers as all threads. */
#include "infer/validate/validate.h"

/* Returns the table's first entry for element e of the indices. */
static int64_t
table_start(const Type *index, const Type *table, int64_t e)
{
	int64_t c[DIM_MAX] = { 0 }, at = 0;

	type_coord(index, e, c);
	for (int d = 0; d + 1 < table->rank; d++)
		at = at * table->shape[d] + (table->shape[d] == 1 ? 0 : c[d]);
	return at * table->shape[table->rank - 1];
}

void
prove_lookup(Prove *p, const Op *o)
{
	const Type *table = &lookup_table(o)->type, *index = &lookup_index(o)->type;
	const Ownership *h = held_of(p, lookup_table(o)), *x = held_of(p, lookup_index(o)),
	                *r = held_of(p, o->out[0]);
	int64_t n = table->shape[table->rank - 1];

	for (int64_t i = 0; h && x && r && i < p->threads * r->regs; i++) {
		int th = (int)(i / r->regs);
		int64_t reg = i % r->regs, want, first;

		if (x->regs != r->regs || x->elem[i] != r->elem[i]) {
			prove_error(p, th, reg, "the index is not owned by the thread that owns its result");
			return;
		}
		if (r->elem[i] < 0)
			continue;
		want = table_start(index, table, r->elem[i]);
		first = reg_of(h, table_start(index, table, r->elem[reg])); /* in thread 0 */
		for (int64_t k = 0; k < n; k++) {
			if (first >= 0 && first % n == 0 && first + k < h->regs &&
			    h->elem[th * h->regs + first + k] == want + k)
				continue;
			prove_error(p, th, reg, "table entry %s is not held by the thread",
			            elem_text(p, table, want + k));
			return;
		}
	}
}
