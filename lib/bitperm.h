/* bitperm.h - blocks of 2^m bits, rearranged by a permutation of their address bits.
 *
 * Where a bit goes is said by m numbers: bit i of its address becomes bit to[i].  All packs of 1, 2, 4
 * and 8 bit elements whose extents are powers of two are of this kind.  The address bits above 5 count
 * words of 64 bits, and moving words is free when they are loaded and stored; what is left are exchanges
 * of an address bit inside of words with one of the words' numbers (both as in a bit-matrix transpose),
 * and of two inside of words (delta swaps): some logical instructions each, for a whole vector of words. */
#ifndef HEXC_BITPERM_H
#define HEXC_BITPERM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BITPERM_MIN = 6, BITPERM_MAX = 23 };

typedef struct BitPerm {
	int m;
	int nx, ns;
	uint8_t x[6]; /* exchanges: bit x[i] inside with bit m - 6 - nx + i of the words' numbers */
	uint8_t swap[5][2]; /* then bits swap[i][0] < swap[i][1] inside */
	uint8_t load[BITPERM_MAX],
		store[BITPERM_MAX]; /* bit i of a word's number in the source becomes bit load[i] of
	                                                * the buffer's; bit i of that store[i] of the
	                                                * result's */
} BitPerm;

/* to[0..m) is a permutation, m in BITPERM_MIN .. BITPERM_MAX; else false. */
bool bitperm_make(BitPerm *p, int m, const uint8_t *to);
/* Where word w of the source goes in the buffer, and word w of the buffer in the result. */
uint32_t bitperm_load(const BitPerm *p, uint32_t w);
uint32_t bitperm_store(const BitPerm *p, uint32_t w);
/* Between the two: 2^(m - 6) words in place, 64-byte aligned.  plain: without vectors, for tests. */
void bitperm_run(const BitPerm *p, uint64_t *buffer, bool plain);
#endif
