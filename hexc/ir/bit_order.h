/* bit_order.h - defines the bit orders of narrow elements within 32-bit words, which make casts cheap.
 *
 * 32 elements of `bits` bits form a group of `bits` 32-bit words. Order 0 (row-major) is a bit stream, least
 * significant bit first. Order 16 places the elements of a pair, 2j and 2j + 1, 16 bits apart: one logical
 * instruction then isolates both at the positions of two f16 or bf16. Order 8 does the same for the four
 * elements of a quad and bytes. Order 4, for elements below 4 bits, does it for eight elements and the
 * positions of byte selectors (prmt).
 *
 * A field of H bits (a half, a byte or four bits of a word) holds q = H / bits full elements from its low
 * end. The r = H - q * bits bits above them are the field's remainder. In the order of the words, the
 * remainders form a stream that holds the group's last r pairs, quads or octets.
 *
 * Order ORDER_HALF + g, g from 1 to 9, suits floats whose fields go to bits g, g + 1 .. of a 16-bit float,
 * and the sign to bit 15. Elements are in bytes, four per word. Bits for the upper byte of a half are at
 * their final position within their byte; those for the lower byte are one position lower. The 8 - bits
 * free bits of each byte form a stream in word order. From its lowest position on it holds the bits of the
 * last 8 - bits quads. */
#ifndef HEXC_BIT_ORDER_H
#define HEXC_BIT_ORDER_H
#include <stdbool.h>

enum { BIT_GROUP = 32, /* elements of a group, for every element width */
       ORDER_HALF = 32 };

/* Is it valid for elements of 1 to 8 bits: 0, 8, 16; 4 (below 4 bits only); or ORDER_HALF + g with g + bits
 * <= 16? */
bool bit_order_valid(int bits, int bit_order);
/* Returns the position of bit `bit` of element `element` (0 .. 31): word * 32 + bit in the word, below 32 *
 * bits. bits is 1 .. 8, bit_order valid. */
int bit_order_bit(int bits, int bit_order, int element, int bit);
/* Returns the smallest power of two of elements that fills complete words in this order: the granularity of a
 * lane's part of a tile. */
int bit_order_unit(int bits, int bit_order);
#endif
