/* pack.h - describes the memory layout of a tensor declared `packed`, for kernels, hosts and weight files.
 *
 * The last two dims of the tensor, rows and columns, are divided into blocks of block[0] x block[1] elements;
 * partial blocks are padded with code 0. Blocks are in row-major order, and the matrices of the leading dims
 * are contiguous. `layout` gives an element its position within the block. Positions are distributed in order
 * to `streams` streams of equal length, one per lane that reads the block. A stream is a sequence of 32-bit
 * words with its elements in the order of bit_order.h. The streams of a block are interleaved by runs of
 * words (pack_run), so that lanes with accesses of this size read contiguous memory.
 *
 * A pack is a value: its text is stored with the weights, and loaders compare it. */
#ifndef HEXC_PACK_H
#define HEXC_PACK_H
#include "hexc/ir/ir.h"

/* Maximum elements per block. */
enum { PACK_BLOCK_MAX = 1 << 20, PACK_VERSION = 1 };

struct Pack {
	DType dtype;         /* 1 to 8 bits */
	int64_t block[2];    /* rows, columns of a block; 0, 0: not chosen yet */
	int bit_order;       /* bit order of a stream's elements: bit_order.h */
	int64_t streams;     /* if above 1, each stream is a multiple of a word */
	const Layout *layout; /* [rows, columns] -> mem, a bijection to 0 .. rows * columns - 1; NULL: open */
};

/* Returns e.g. "hexc-pack 1 u3 block 32x128 spread 16 streams 32 place (..):(..)": equal packs have equal
 * texts. */
const char *pack_text(Arena *a, const Pack *p);
/* Parses exactly what pack_text wrote. Returns false with *why as the error message (static or in the
 * arena). */
bool pack_parse(Arena *a, const char *s, size_t n, Pack *out, const char **why);
/* As pack_parse, but the text may end after the element type or the block, as for packs of a kernel in
 * compilation. Such packs may only be passed to pack_text. */
bool pack_parse_open(Arena *a, const char *s, size_t n, Pack *out, const char **why);
/* Is the pack complete, with distinct positions for all elements of a block? Returns false with the reason in
 * *why. */
bool pack_check(Arena *a, const Pack *p, const char **why);

/* Returns the position of an element within its block. */
int64_t pack_position(const Pack *p, int64_t row, int64_t column);
/* Returns the offset of bit `bit` of the element, in bits from the start of the block. */
int64_t pack_bit(const Pack *p, int64_t row, int64_t column, int bit);
int64_t pack_block_words(const Pack *p); /* 32-bit words per block */
/* Contiguous words of a stream: 4 if its words are a multiple of 4, else 2 or 1. */
int64_t pack_run(const Pack *p);
/* 32-bit words of a complete tensor of rank >= 2; -1: exceeds the address range. */
int64_t pack_words(const Pack *p, int rank, const int64_t *dim);
#endif
