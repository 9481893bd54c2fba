/* bit_permute.h - declares bit permutations that are equal for all blocks of bytes.
 *
 * Byte i of 64 adjacent blocks is a plane: one vector, or few, in which a block is a lane. Moving a bit in
 * all blocks is then a shift of a plane and a mask; every target position costs the same. Transpositions
 * of 8 x 8 bytes convert to planes and back.
 *
 * The cost depends on the width and not on the permutation: some logical instructions for 64 pieces. A
 * piece is the set of bits of a byte that come from one byte by the same shift. */
#ifndef HEXC_BIT_PERMUTE_H
#define HEXC_BIT_PERMUTE_H
#include "taskmap/support/support.h"

enum { MOVE_LANES = 64, /* blocks per call */
       MOVE_AREAS = 5 };

/* Rows of bytes, whose addresses each block specifies. */
typedef struct MoveArea {
	size_t rows, row; /* number of rows, bytes per row */
	size_t words; /* 8-byte words per row; the last one may overlap the preceding one */
} MoveArea;

/* Source or destination of a block: areas, whose bits are numbered through in their order. */
typedef struct MoveSide {
	MoveArea area[MOVE_AREAS];
	int n;
} MoveSide;

typedef struct MoveSeg MoveSeg;

typedef struct BitMove {
	MoveSide from, to;
	MoveSeg *seg;
	uint8_t *count; /* segments per plane of `to` */
} BitMove;

/* Where a block has the rows of an area. */
typedef struct MoveRows {
	unsigned char *start;
	size_t stride; /* bytes between rows */
} MoveRows;

typedef struct MoveBlocks {
	size_t n; /* at most MOVE_LANES */
	MoveRows from[MOVE_AREAS][MOVE_LANES], to[MOVE_AREAS][MOVE_LANES]; /* `from` is only read */
} MoveBlocks;

/* Appends an area. */
void moveside_add(MoveSide *s, size_t rows, size_t row);
/* Returns the bytes of all areas. */
size_t moveside_bytes(const MoveSide *s);
/* of[i] is the bit of `from` that bit i of `to` gets (bits of a side are numbered through its rows, from
 * the least significant bit of a byte); -1: 0. Needs some 20 bytes of memory per bit of `to`. */
void bitmove_make(Arena *a, BitMove *m, const MoveSide *from, const MoveSide *to, const int32_t *of);
/* Returns the bytes of scratch memory, 64-byte aligned, for bitmove_run. */
size_t bitmove_scratch(const BitMove *m);
/* Moves blocks. plain: without this processor's vector instructions, for tests. */
void bitmove_run(const BitMove *m, const MoveBlocks *b, void *scratch, bool plain);
#endif
