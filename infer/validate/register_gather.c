/* register_gather.c - validates gathers from register tiles: each entry that an index may select is in a
 * lane of the same warp, determined by the index and the lane bits that both lanes share, and in the same
 * register for all threads. */
#include "infer/validate/validate.h"

/* Returns the row's first entry for element e of the result. */
static int64_t
row_start(const Type *index, const Type *table, int64_t e)
{
	int64_t c[DIM_MAX] = { 0 }, at = 0;

	type_coord(index, e, c);
	for (int d = 0; d < index->rank; d++)
		at = at * table->shape[d] + (table->shape[d] == 1 ? 0 : c[d]);
	return at * table->shape[table->rank - 1];
}

/* Returns the bits of the lane id that select the entry of a row. */
static int
entry_lanes(const Ownership *h, int64_t n)
{
	int bits = 0;

	for (int b = 1; b < WARP_SIZE; b *= 2)
		if (h->elem[0] != h->elem[b * h->regs] && h->elem[0] / n == h->elem[b * h->regs] / n)
			bits |= b;
	return bits;
}

/* Finds element e for lane 0: the lane, within those bits, and the register. Returns false if there is
 * none. */
static bool
first_place(const Ownership *h, int bits, int64_t e, int *lane, int64_t *reg)
{
	for (*lane = 0; *lane < WARP_SIZE; ++*lane)
		for (*reg = 0; (*lane & ~bits) == 0 && *reg < h->regs; ++*reg)
			if (h->elem[*lane * h->regs + *reg] == e)
				return true;
	return false;
}

/* Validates entry k for register r of all threads. */
static bool
prove_entry(Prove *p, const Op *o, const Ownership *h, const Ownership *out, int64_t r, int64_t k)
{
	const Type *table = &lookup_table(o)->type, *index = &lookup_index(o)->type;
	int bits = entry_lanes(h, table->shape[table->rank - 1]), lane;
	int64_t reg;
	bool found = first_place(h, bits, row_start(index, table, out->elem[r]) + k, &lane, &reg);

	for (int th = 0; th < p->threads; th++) {
		int64_t e = out->elem[th * out->regs + r], want = row_start(index, table, e) + k;
		int from = (th & ~bits) | lane;

		if (found && h->elem[from * h->regs + reg] == want)
			continue;
		prove_error(p, th, r, "table entry %s is not in the lane that the gather reads it from",
		            elem_text(p, table, want));
		return false;
	}
	return true;
}

void
prove_gather(Prove *p, const Op *o)
{
	const Ownership *h = held_of(p, lookup_table(o)), *x = held_of(p, lookup_index(o)),
	                *out = held_of(p, o->out[0]);
	int64_t n = lookup_table(o)->type.shape[lookup_table(o)->type.rank - 1];

	if (!h || !x || !out)
		return;
	for (int64_t i = 0; i < p->threads * out->regs; i++)
		if (x->regs != out->regs || x->elem[i] != out->elem[i]) {
			prove_error(p, (int)(i / out->regs), i % out->regs,
			            "the index is not owned by the thread that owns its result");
			return;
		}
	for (int64_t r = 0; r < out->regs; r++)
		for (int64_t k = 0; k < n; k++)
			if (!prove_entry(p, o, h, out, r, k))
				return;
}
