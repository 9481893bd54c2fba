/* unpack.c - validates unpack: each thread has the bits of its elements, in the words and at the positions
 * that the result requires. The arrangement of a block is implemented independently from its description in
 * hexc/ir/pack.h and hexc/ir/bit_order.h. */
#include "hexc/ir/pack.h"
#include "hexc/ir/bit_order.h"
#include "infer/validate/validate.h"
#include <string.h>

/* Bit orders for 16-bit halves: a byte's bits, from the lowest: those of the half's upper byte, then unused
 * ones, then those of its lower byte, the sign on top. */
static int64_t
bit_for_half(int bits, int first, int64_t e, int bit)
{
	int gap = first > 8 ? first - 8 : 0, low = first < 8 ? 8 - first : 0, high, at, nth;
	int taken[8], ntaken = 0, left[8], nleft = 0;
	int64_t quad = e / 4, word;

	if (low > bits - 1)
		low = bits - 1;
	high = bits - 1 - low;
	for (int i = 0; i < 8; i++) {
		bool upper = i >= gap && i < gap + high;
		bool lower = i >= first - 1 && i < first - 1 + low;

		if (upper || lower || i == 7)
			taken[ntaken++] = i;
		else
			left[nleft++] = i;
	}
	/* the magnitude's lower bits are above its upper ones */
	nth = bit == bits - 1 ? bit : bit < low ? high + bit
	                                        : bit - low;
	if (quad < bits)
		return quad * 32 + e % 4 * 8 + taken[nth];
	nth += (int)(quad - bits) * bits;
	word = nth / nleft;
	at = left[nth % nleft];
	return word * 32 + e % 4 * 8 + at;
}

/* Returns the position of a bit of element e of a stream, in bits from the stream's start. By bit_order.h,
 * groups of H bits are filled with whole elements from below, and the leftovers of all words go on top. */
int64_t
bit_in_stream(int bits, int bit_order, int64_t e, int bit)
{
	int64_t group = e / 32 * 32 * bits, tuples, row, lane, whole, rest, left;

	if (!bit_order)
		return e * bits + bit;
	e %= 32;
	if (bit_order > ORDER_HALF)
		return group + bit_for_half(bits, bit_order - ORDER_HALF, e, bit);
	lane = e % (32 / bit_order);
	row = e / (32 / bit_order);
	whole = bit_order / bits;
	tuples = (int64_t)bits * whole;
	if (row < tuples)
		return group + row / whole * 32 + lane * bit_order + row % whole * bits + bit;
	left = bit_order % bits;
	rest = (row - tuples) * bits + bit;
	return group + rest / left * 32 + lane * bit_order + whole * bits + rest % left;
}

/* Returns the word of the block that is word w of a stream. Streams take turns by the widest vectors of
 * words that all streams consist of. */
static int64_t
word_in_block(const Pack *p, int64_t stream, int64_t w)
{
	int64_t bits = p->block[0] * p->block[1] / p->streams * dtype_info[p->dtype].bits, vector = 128;

	while (bits % vector)
		vector /= 2;
	vector /= 32;
	return w % vector + vector * (stream + p->streams * (w / vector));
}

static bool
element(Prove *p, const Type *t, const Type *wt, const Pack *k, int thread, int64_t reg,
	const Ownership *words, int64_t e)
{
	int64_t c[DIM_MAX] = { 0 }, at[2], each = k->block[0] * k->block[1] / k->streams, position;
	int bits = dtype_info[k->dtype].bits, rank = t->rank;

	type_coord(t, e, c);
	for (int i = 0; i < 2; i++) {
		at[i] = c[rank - 2 + i] % k->block[i];
		c[rank - 2 + i] /= k->block[i];
	}
	position = mem_offset(k->layout, at);
	for (int b = 0; b < bits; b++) {
		int64_t bit = bit_in_stream(bits, k->bit_order, position % each, b);
		int64_t mine = bit_in_stream(bits, k->bit_order, reg, b), have;

		c[rank] = word_in_block(k, position / each, bit / 32);
		have = mine / 32 < words->regs ? words->elem[thread * words->regs + mine / 32] : -1;
		if (have != index_elem(wt, c) || bit % 32 != mine % 32)
			return prove_error(p, thread, reg,
			                   "bit %d of element %s is bit %lld of word %s; the thread "
			                   "has bit %lld of word %s here",
			                   b, elem_text(p, t, e), (long long)(bit % 32),
			                   elem_text(p, wt, index_elem(wt, c)), (long long)(mine % 32),
			                   elem_text(p, wt, have));
	}
	return true;
}

/* Validates that words and elements of a tile have equal contents in each thread: element r of a lane's
 * streams is its register r. */
static void
blocks(Prove *p, const Op *o, const Val *w, const Val *e)
{
	const Pack *k = val_param(p->k, pack_tensor(o))->pack;
	const Ownership *words = held_of(p, w), *elems = held_of(p, e);
	const char *why;

	if (!words || !elems)
		return;
	if (!k->layout || !pack_check(p->arena, k, &why) ||
	    (e->type.bit_order && k->bit_order != e->type.bit_order)) {
		prove_error(p, -1, 0, "the tensor has no pack, or its order differs from the tile's");
		return;
	}
	for (int t = 0; t < p->threads; t++)
		for (int64_t r = 0; r < elems->regs; r++)
			if (!element(p, &e->type, &w->type, k, t, r, words, elems->elem[t * elems->regs + r]))
				return;
}

void
prove_unpack(Prove *p, const Op *o)
{
	blocks(p, o, pack_source(o), o->out[0]);
}

void
prove_pack(Prove *p, const Op *o)
{
	blocks(p, o, o->out[0], pack_source(o));
}
