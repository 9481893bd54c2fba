/* bit_permute.h - blocks of bytes whose bits change their places, alike in each block.
 *
 * Byte i of 64 blocks side by side is a plane: one vector, or few, in which a block is a lane.  What a bit
 * does in all the blocks is then a shift of a plane and a mask, wherever it goes: there is no place that is
 * dearer than another.  To planes and back are transpositions of 8 x 8 bytes.
 *
 * So it costs by width and not by kind: some logical instructions for 64 pieces of bytes, where a piece are
 * the bits of a byte that come from one byte and move alike. */
#ifndef HEXC_BIT_PERMUTE_H
#define HEXC_BIT_PERMUTE_H
#include "taskmap/support/support.h"

enum { MOVE_LANES = 64 }; /* blocks at once */

/* A block on one side: rows of bytes; where they begin each block says for itself. */
typedef struct MoveSide {
	size_t rows, row; /* bytes of a row */
	size_t words; /* of 8 bytes, that a row takes; the last one may overlap the one before */
} MoveSide;

typedef struct MoveSeg MoveSeg;

typedef struct BitMove {
	MoveSide from, to;
	MoveSeg *seg;
	uint8_t *count; /* segments of each plane of `to` */
} BitMove;

typedef struct MoveBlock {
	const unsigned char *from;
	unsigned char *to;
	size_t from_stride, to_stride; /* bytes between rows */
} MoveBlock;

/* of[i] is the bit of `from` that bit i of `to` takes (bits of a side count through its rows, from the least
 * significant one of a byte); -1: it is 0.  Memory: 17 bytes a bit, at the most. */
void bitmove_make(Arena *a, BitMove *m, size_t from_rows, size_t from_row, size_t to_rows, size_t to_row,
                  const int32_t *of);
/* Bytes of scratch, 64-byte aligned, for bitmove_run. */
size_t bitmove_scratch(const BitMove *m);
/* Move n <= MOVE_LANES blocks.  plain: without the vectors of this processor, for tests. */
void bitmove_run(const BitMove *m, const MoveBlock *block, size_t n, void *scratch, bool plain);
#endif
