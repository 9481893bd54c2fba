/* lower_packed.h - inside packed*.c: what readers of a packed tensor want of its blocks. */
#ifndef HEXC_LOWER_PACKED_H
#define HEXC_LOWER_PACKED_H
#include "hexc/ir/pack.h"

/* What the slices of a tensor have in common. */
typedef struct Slices {
	int64_t step[2]; /* divides the starts and extents of all slices, in rows and in columns */
	int k;           /* the dim, 0 or 1, along which dots contract; 1 without a dot */
	int64_t k_least; /* elements along it that one instruction takes, at least */
} Slices;

/* Rows and columns of a block for elements of so many bits; false: no block divides the slices. */
bool packed_block(int bits, const Slices *s, int64_t block[2]);
/* The dot that a tile ends up in, through ops that keep its elements apart: its operand number, the
 * tile's dim along k and the bits of an element there.  False: none. */
typedef struct DotUse {
	int operand, k, bits;
} DotUse;
bool packed_dot(Kernel *k, const Val *tile, DotUse *out);
#endif
