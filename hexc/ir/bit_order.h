/* bit_order.h - the order of narrow elements in words that are made for casts.
 *
 * 32 elements of `bits` bits are a group of `bits` 32-bit words.  In natural order (0) they are a
 * bit stream, least significant bit first.  Order 16 puts the elements of a pair, 2j and 2j + 1, 16 bits
 * apart, so that one logical instruction isolates both in the places of two f16 or bf16; order 8 does the
 * same with the four elements of a quad and bytes; order 4, for elements of less than 4 bits, with eight
 * and the places of selectors of bytes.
 *
 * A lane of H bits (a half, a byte or four bits of a word) has q = H / bits whole elements, one after the
 * other from its bottom.  The r = H - q * bits bits above them are the leftover of the lane: in the order of
 * the words they are a stream, into which the group's last r pairs, quads or eights are cut.
 *
 * Order ORDER_HALF + g, g from 1 to 9, is made for floats whose fields go to places g, g + 1 .. of a float
 * of 16 bits, the sign to place 15.  Elements are in bytes, four in a word.  Bits for the upper byte of a
 * half are in their byte where they are to be there; those for the lower one are one place lower.  The
 * 8 - bits free bits of each byte are a stream in the order of the words, into which the bits of the last
 * 8 - bits quads are cut, from the lowest place on. */
#ifndef HEXC_BIT_ORDER_H
#define HEXC_BIT_ORDER_H
#include <stdbool.h>

enum { BIT_GROUP = 32, /* elements of a group, of any width */
       ORDER_HALF = 32 };

/* Is it an order of elements of 1 to 8 bits: 0, 8, 16, of less than 4 bits 4, or ORDER_HALF + g, g + bits at
 * most 16? */
bool bit_order_valid(int bits, int bit_order);
/* Where bit `bit` of element `element` (0 .. 31) is: word * 32 + bit of the word, below 32 * bits.
 * bits is 1 .. 8, bit_order valid. */
int bit_order_bit(int bits, int bit_order, int element, int bit);
/* The fewest elements, a power of two, whose bits fill whole words by themselves in this order: what a
 * lane's part of a tile must be a multiple of. */
int bit_order_unit(int bits, int bit_order);
#endif
