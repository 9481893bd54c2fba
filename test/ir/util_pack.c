/* util_pack.c - reads and writes elements of packed tensors bit by bit, as an oracle for the fast
 * routines. */
#include "test/ir/util_pack.h"

/* Bits from the start of the tensor to the element's bit. */
static int64_t
tensor_bit(const Pack *p, int rank, const int64_t *dim, const int64_t *index, int bit)
{
	const int64_t *rc = index + rank - 2;
	int64_t block = 0;

	for (int d = 0; d < rank - 2; d++)
		block = block * dim[d] + index[d];
	for (int i = 0; i < 2; i++)
		block = block * ceil_div(dim[rank - 2 + i], p->block[i]) + rc[i] / p->block[i];
	return block * pack_block_words(p) * 32 + pack_bit(p, rc[0] % p->block[0], rc[1] % p->block[1], bit);
}

unsigned
pack_get(const Pack *p, int rank, const int64_t *dim, const uint32_t *words, const int64_t *index)
{
	unsigned code = 0;

	for (int i = 0; i < dtype_info[p->dtype].bits; i++) {
		int64_t at = tensor_bit(p, rank, dim, index, i);

		code |= (words[at / 32] >> at % 32 & 1) << i;
	}
	return code;
}

void
pack_put(const Pack *p, int rank, const int64_t *dim, uint32_t *words, const int64_t *index, unsigned code)
{
	for (int i = 0; i < dtype_info[p->dtype].bits; i++) {
		int64_t at = tensor_bit(p, rank, dim, index, i);
		uint32_t one = (uint32_t)1 << at % 32;

		words[at / 32] = code >> i & 1 ? words[at / 32] | one : words[at / 32] & ~one;
	}
}
