/* mantissa_fields.c - chooses the mantissa position of each integer's field such that few shifted copies
 * of registers are needed. */
#include "infer/narrow_cast/narrow_cast_internal.h"
#include <string.h>

/* Returns the minimum number of shifted copies of a register: the forced ones, and the fewest that serve
 * every output which accepts several.  The accepted shifts of an output are an interval, so choosing its
 * upper end is optimal.  *chosen: the set. */
static int
copies(const Make *k, int word, uint64_t forced, uint64_t *chosen)
{
	const uint64_t none = (uint64_t)1 << 32;
	uint64_t have = forced | none;
	int n = 0;

	for (int top = 0; top < 64; top++)
		for (int i = 0; i < k->nwant[word]; i++) {
			uint64_t want = k->wants[word][i];

			if (want & have || want >> top != 1)
				continue;
			have |= (uint64_t)1 << top;
		}
	for (uint64_t x = have & ~none; x; x &= x - 1)
		n++;
	*chosen = have;
	return n;
}

static void
note_wants(Make *k, int j)
{
	BitField part[PARTS + 1];
	uint64_t want = 0;

	for (int p = 0; p <= k->room; p++) {
		recipe_parts(k, j, p, part);
		want |= (uint64_t)1 << (part[0].shift + 32);
	}
	k->wants[part[0].word][k->nwant[part[0].word]++] = want;
}

/* Returns the bit position of output j, of several fields, that needs the fewest further copies, and forces
 * these. */
static int
choose_bit(Make *k, int j)
{
	BitField part[PARTS + 1];
	int best = 0, least = 1 << 30;
	uint64_t unused;

	for (int p = 0; p <= k->room; p++) {
		uint64_t now[8];
		int cost, n = recipe_parts(k, j, p, part);

		memcpy(now, k->forced, sizeof now);
		for (int i = 0; i < n; i++)
			now[part[i].word] |= (uint64_t)1 << (part[i].shift + 32);
		cost = n;
		for (int w = 0; w < 8; w++)
			cost += copies(k, w, now[w], &unused);
		if (cost < least) {
			least = cost;
			best = p;
		}
	}
	for (int i = 0, n = recipe_parts(k, j, best, part); i < n; i++)
		k->forced[part[i].word] |= (uint64_t)1 << (part[i].shift + 32);
	return best;
}

/* Returns the bit position of output j, of one field, for an existing copy. */
static int
shared_bit(const Make *k, int j)
{
	BitField part[PARTS + 1];

	for (int p = 0; p <= k->room; p++) {
		uint64_t have;

		recipe_parts(k, j, p, part);
		copies(k, part[0].word, k->forced[part[0].word], &have);
		if (have >> (part[0].shift + 32) & 1)
			return p;
	}
	return 0;
}

void
recipe_field_bits(Make *k, int *bit)
{
	BitField part[PARTS + 1];

	for (int j = 0; j < k->r->nout; j++)
		if (recipe_parts(k, j, 0, part) == 1)
			note_wants(k, j);
	for (int j = 0; j < k->r->nout; j++)
		if (recipe_parts(k, j, 0, part) > 1)
			bit[j] = choose_bit(k, j);
	for (int j = 0; j < k->r->nout; j++)
		if (recipe_parts(k, j, 0, part) == 1)
			bit[j] = shared_bit(k, j);
}
