/* pack.h - how a tensor declared `packed` is laid out in memory.
 *
 * The last two dims of the tensor, its rows and columns, are cut into blocks of block[0] x block[1] elements;
 * what sticks out at the ends is filled up with code 0.  Blocks follow one another row by row of blocks, and
 * the matrices of the leading dims follow one another.  In a block an element has a position by `layout`.
 * The positions are shared out to `streams` streams of equal length, in order: one for each lane that reads
 * the block.  A stream is a row of 32-bit words whose bits hold its elements in the order of bit_order.h, and
 * the streams of a block take turns with 16 bytes each, so that lanes that read theirs by 16 bytes read
 * memory in one piece.
 *
 * A pack is a value: its text stands next to the weights, and who loads them compares it. */
#ifndef HEXC_PACK_H
#define HEXC_PACK_H
#include "hexc/ir/ir.h"

/* Largest elements of a block. */
enum { PACK_BLOCK_MAX = 1 << 20, PACK_VERSION = 1 };

struct Pack {
	DType dtype;         /* 1 to 8 bits */
	int64_t block[2];    /* rows, columns of a block; 0, 0: not chosen yet */
	int bit_order;       /* the order of a stream's elements: bit_order.h */
	int64_t streams;     /* above 1: each is a multiple of 16 bytes */
	const Layout *layout; /* [rows, columns] -> mem, a bijection to 0 .. rows * columns - 1;
	                      * NULL: not known yet, and row by row until then */
};

/* "hexc-pack 1 u3 block 32x128 spread 16 streams 32 place (..):(..)": equal packs have equal texts. */
const char *pack_text(Arena *a, const Pack *p);
/* Reads exactly what pack_text wrote; false: *why says what is wrong, in words (static or in the arena). */
bool pack_parse(Arena *a, const char *s, size_t n, Pack *out, const char **why);
/* The same, but the text may end behind the element type or behind the block: what is known of a pack while
 * a kernel is compiled.  Of such packs only pack_text wants to know. */
bool pack_parse_open(Arena *a, const char *s, size_t n, Pack *out, const char **why);
/* Does the pack say where each element of a block is, no two in one position?  False: *why. */
bool pack_check(Arena *a, const Pack *p, const char **why);

/* The position of an element of a block. */
int64_t pack_position(const Pack *p, int64_t row, int64_t column);
/* Where bit `bit` of it is, in bits from the start of the block. */
int64_t pack_bit(const Pack *p, int64_t row, int64_t column, int bit);
int64_t pack_block_words(const Pack *p); /* 32-bit words of a block */
/* Words of a whole tensor of rank >= 2; -1: more than a machine addresses. */
int64_t pack_words(const Pack *p, int rank, const int64_t *dim);
#endif
