/* mma_sparse.c - expands the compressed operand A of sparse MMAs by its metadata to a dense matrix.
 *
 * In each row two of four units are nonzero; a unit is an element of 16 or 8 bits, two of 4 bits, half of one
 * of 32 bits. Four bits of metadata are the two indices, the lower bits the first. Types of 16 and 32 bits: a
 * lane of each group of four has 16 bits of row g and, above them, 16 of row g + 8; the next lane of the
 * group has the columns that follow. Types of 8 and 4 bits: 32 bits of row g, in the next lane of row g + 8,
 * and so on. When fewer than four lanes of a group are needed, the selector specifies which. */
#include "lib/sim/exec/mma_arith.h"

static u32
words_of(u32 k, u32 bits)
{
	return k * 2 / (bits == 32 ? 16 : bits == 4 ? 64 : 32);
}

u32
mat_meta_lanes(u32 k, PtxType t, u32 selector)
{
	u32 n = words_of(k, type_bits(t));

	return ((1u << n) - 1) * 0x11111111u << selector * n;
}

/* Returns the four metadata bits of a chunk of a row; *lane: the lane that has them. */
static u32
nibble(const u32 *meta, u32 row, u32 chunk, u32 bits, u32 first, u32 *lane)
{
	u32 g = row % 8, high = row / 8;

	if (bits >= 16) {
		*lane = 4 * g + first + chunk / 4;
		return meta[*lane] >> (16 * high + 4 * (chunk % 4)) & 15;
	}
	*lane = 4 * g + first + chunk / 8 * 2 + high;
	return meta[*lane] >> 4 * (chunk % 8) & 15;
}

int
mat_expand(double *out, const double *in, u32 k, PtxType t, const u32 *meta, u32 selector, bool ordered)
{
	u32 bits = type_bits(t), unit = bits == 4 ? 2 : 1, wide = bits == 32 ? 2 : 4 * unit, lane;
	u32 first = selector * words_of(k, bits);
	int bad = -1;

	for (u32 i = 0; i < 16 * k; i++)
		out[i] = 0;
	for (u32 row = 0; row < 16; row++)
		for (u32 c = 0; c < k / wide; c++) {
			u32 m = nibble(meta, row, c, bits, first, &lane), i0 = m & 3, i1 = m >> 2;
			double *o = out + row * k + c * wide;
			const double *x = in + row * (k / 2) + c * (wide / 2);
			bool ok = bits == 32 ? m == 4 || m == 14 : i0 < i1 || (i0 > i1 && !ordered);
			if (!ok && (bad < 0 || (int)lane < bad))
				bad = (int)lane;
			if (bits == 32) {
				o[i0 / 2] = x[0];
				continue;
			}
			for (u32 e = 0; e < unit; e++) {
				o[i0 * unit + e] = x[e];
				o[i1 * unit + e] = x[unit + e];
			}
		}
	return bad;
}
