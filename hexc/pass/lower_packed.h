/* lower_packed.h - declares what the files lower_packed*.c share: requirements of slices and dots on the
 * blocks of a packed tensor. */
#ifndef HEXC_LOWER_PACKED_H
#define HEXC_LOWER_PACKED_H
#include "hexc/ir/pack.h"

/* Properties common to all slices of a tensor. */
typedef struct Slices {
	int64_t step[2]; /* common divisor of the starts and extents of all slices, in rows and in columns */
	int k;           /* dim along which dots contract, 0 or 1; 1 without a dot */
	int64_t k_least; /* minimum elements along it per instruction */
} Slices;

/* Chooses rows and columns of a block for elements of `bits` bits. Returns false if no block divides the
 * slices. */
bool packed_block(int bits, const Slices *s, int64_t block[2]);
/* The dot that reads a tile through ops that keep its elements distinct: operand index, the tile's dim along
 * k, and bits per element there. Returns false if there is none. */
typedef struct DotUse {
	int operand, k, bits;
} DotUse;
bool packed_dot(Kernel *k, const Val *tile, DotUse *out);
#endif
