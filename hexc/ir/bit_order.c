/* bit_order.c - computes the position of each bit of narrow elements in a bit order (bit_order.h). */
#include "hexc/ir/bit_order.h"

enum { HALF_MOST = 9, BYTE = 8, QUAD = 4 };

bool
bit_order_valid(int bits, int bit_order)
{
	int g = bit_order - ORDER_HALF;

	if (g > 0 && g <= HALF_MOST)
		return g + bits <= 2 * BYTE;
	return bit_order == 0 || bit_order == 8 || bit_order == 16 || (bit_order == 4 && bits < 4);
}

/* Position within its byte of a bit of an element, for order ORDER_HALF + g. */
static int
byte_bit(int bits, int g, int bit)
{
	if (bit == bits - 1)
		return BYTE - 1;
	return g + bit >= BYTE ? g + bit - BYTE : g + bit - 1;
}

/* The set of byte positions that elements of `bits` bits use. */
static unsigned
byte_bits(int bits, int g)
{
	unsigned used = 0;

	for (int b = 0; b < bits; b++)
		used |= 1u << byte_bit(bits, g, b);
	return used;
}

/* Position of the n-th member of the set. */
static int
nth_bit(unsigned set, int n)
{
	int at = 0;

	for (; at < BYTE - 1; at++)
		if (set >> at & 1 && n-- == 0)
			break;
	return at;
}

/* Number of members of the set below `at`. */
static int
bits_below(unsigned set, int at)
{
	int n = 0;

	for (int i = 0; i < at; i++)
		n += (int)(set >> i & 1);
	return n;
}

static int
half_bit(int bits, int g, int element, int bit)
{
	int quad = element / QUAD, base = element % QUAD * BYTE, at = byte_bit(bits, g, bit);
	int left = BYTE - bits, s;
	unsigned used = byte_bits(bits, g);

	if (quad < bits)
		return quad * 32 + base + at;
	s = (quad - bits) * bits + bits_below(used, at);
	return s / left * 32 + base + nth_bit(~used, s % left);
}

int
bit_order_bit(int bits, int bit_order, int element, int bit)
{
	int lanes, tuple, base, whole, left, s;

	if (bit_order == 0)
		return element * bits + bit;
	if (bit_order > ORDER_HALF)
		return half_bit(bits, bit_order - ORDER_HALF, element, bit);
	lanes = 32 / bit_order;
	tuple = element / lanes;
	base = bit_order * (element % lanes);
	whole = bit_order / bits;
	left = bit_order - whole * bits;
	if (tuple < bits * whole)
		return tuple / whole * 32 + base + tuple % whole * bits + bit;
	s = (tuple - bits * whole) * bits + bit;
	return s / left * 32 + base + whole * bits + s % left;
}

int
bit_order_unit(int bits, int bit_order)
{
	int n = BIT_GROUP;

	if (bit_order > ORDER_HALF)
		return bits == BYTE ? QUAD : n;
	if (bit_order && bit_order % bits == 0)
		return 32 / bits;
	while (bit_order == 0 && n / 2 * bits % 32 == 0)
		n /= 2;
	return n;
}
