/* spread.h - the order of narrow elements in words that are made for casts.
 *
 * 32 elements of `bits` bits are a group of `bits` 32-bit words.  In natural order (spread 0) they are a
 * bit stream, least significant bit first.  Spread 16 puts the elements of a pair, 2j and 2j + 1, 16 bits
 * apart, so that one logical instruction isolates both in the places of two f16 or bf16; spread 8 does the
 * same with the four elements of a quad and bytes.
 *
 * A lane of H bits (a half or a byte of a word) has q = H / bits whole elements, one after the other from its
 * bottom.  The r = H - q * bits bits above them are the leftover of the lane: in the order of the words they
 * are a stream, into which the group's last r pairs or quads are cut. */
#ifndef HEXC_SPREAD_H
#define HEXC_SPREAD_H
#include <stdbool.h>

enum { SPREAD_GROUP = 32 }; /* elements of a group, of any width */

/* Is it one of the orders: 0, 8 or 16? */
bool spread_valid(int spread);
/* Where bit `bit` of element `element` (0 .. 31) is: word * 32 + bit of the word, below 32 * bits.
 * bits is 1 .. 8, spread valid. */
int spread_bit(int bits, int spread, int element, int bit);
/* The fewest elements, a power of two, whose bits fill whole words by themselves in this order: what a
 * lane's part of a tile must be a multiple of. */
int spread_unit(int bits, int spread);
#endif
