/* test_bit_order.c - tests the orders of narrow elements in words against words filled bit by bit in the
 * order of the design. */
#include "hexc/ir/bit_order.h"
#include "test/check.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 32 * 8 };

/* Elements whose bits go to places g .. g + bits - 2 and 15 of a half. */
static void
picture_half(int bits, int g, int *who)
{
	int order[8], n = 0, in_byte[8];

	memset(in_byte, -1, sizeof in_byte);
	for (int place = 0; place < 16; place++) {
		int bit = place == 15 ? bits - 1 : place - g;

		if (bit >= 0 && (bit < bits - 1 || place == 15))
			in_byte[place >= 8 ? place - 8 : place - 1] = bit;
	}
	for (int i = 0; i < 8; i++)
		if (in_byte[i] >= 0)
			order[n++] = in_byte[i];
	ck_assert_int_eq(n, bits);
	for (int lane = 0; lane < 4; lane++) {
		int done = 0;

		for (int word = 0; word < bits; word++)
			for (int i = 0; i < 8; i++) {
				int *slot = &who[word * 32 + lane * 8 + i];

				if (in_byte[i] >= 0) {
					*slot = (word * 4 + lane) * 8 + in_byte[i];
					continue;
				}
				*slot = ((bits + done / bits) * 4 + lane) * 8 + order[done % bits];
				done++;
			}
	}
}

/* who[place] = element * 8 + bit.  Written from the places' side: each lane of H bits is filled from its
 * bottom, whole elements first, and what is then free in a lane is filled in the order of the words. */
static void
picture(int bits, int bit_order, int *who)
{
	int lanes = bit_order ? 32 / bit_order : 0, next[8] = { 0 };

	memset(who, -1, sizeof *who * SLOTS);
	if (bit_order > ORDER_HALF) {
		picture_half(bits, bit_order - ORDER_HALF, who);
		return;
	}
	for (int at = 0; at < 32 * bits && bit_order == 0; at++)
		who[at] = at / bits * 8 + at % bits;
	for (int word = 0; word < bits; word++)
		for (int lane = 0; lane < lanes; lane++)
			for (int i = 0; i + bits <= bit_order; i += bits, next[lane]++)
				for (int b = 0; b < bits; b++)
					who[word * 32 + lane * bit_order + i + b] =
						(next[lane] * lanes + lane) * 8 + b;
	for (int lane = 0; lane < lanes; lane++) {
		int done = 0;

		for (int word = 0; word < bits; word++)
			for (int i = 0; i < bit_order; i++) {
				int *slot = &who[word * 32 + lane * bit_order + i];

				if (*slot >= 0)
					continue;
				*slot = ((next[lane] + done / bits) * lanes + lane) * 8 + done % bits;
				done++;
			}
	}
}

static const int orders[] = { 0, 4, 8, 16, 33, 34, 35, 36, 37, 38, 39, 40, 41 };
enum { ORDERS = sizeof orders / sizeof *orders };

TEST_EACH(all_places, 8 * ORDERS)
{
	int bits = _i / ORDERS + 1, bit_order = orders[_i % ORDERS], who[SLOTS];

	if (!bit_order_valid(bits, bit_order))
		return;
	picture(bits, bit_order, who);
	for (int e = 0; e < BIT_GROUP; e++)
		for (int b = 0; b < bits; b++) {
			int at = bit_order_bit(bits, bit_order, e, b);

			ck_assert_int_ge(at, 0);
			ck_assert_int_lt(at, 32 * bits);
			ck_assert_msg(who[at] == e * 8 + b, "u%d order %d: bit %d of element %d at %d",
			              bits, bit_order, b, e, at);
			who[at] = -2; /* no two in one place */
		}
	for (int at = 0; at < 32 * bits; at++)
		ck_assert_int_eq(who[at], -2);
}

/* The first unit's elements fill the first words, and no smaller power of two of them do. */
TEST_EACH(units, 8 * ORDERS)
{
	int bits = _i / ORDERS + 1, bit_order = orders[_i % ORDERS], least = 0;

	if (!bit_order_valid(bits, bit_order))
		return;
	for (int n = 32; n >= 1; n /= 2) {
		int most = 0;

		for (int e = 0; e < n; e++)
			for (int b = 0; b < bits; b++) {
				int at = bit_order_bit(bits, bit_order, e, b);

				most = at > most ? at : most;
			}
		if (n * bits % 32 == 0 && most < n * bits)
			least = n;
	}
	ck_assert_int_eq(bit_order_unit(bits, bit_order), least);
}

TEST(known)
{
	/* u4 for 16-bit types: a word has 0 2 4 6 below and 1 3 5 7 above, as dequantization likes them */
	static const int nibble[] = { 0, 16, 4, 20, 8, 24, 12, 28 };

	for (int e = 0; e < 8; e++)
		ck_assert_int_eq(bit_order_bit(4, 16, e, 0), nibble[e]);
	/* u3: pair 15 is in the top bits of the three words' halves */
	for (int b = 0; b < 3; b++) {
		ck_assert_int_eq(bit_order_bit(3, 16, 30, b), 32 * b + 15);
		ck_assert_int_eq(bit_order_bit(3, 16, 31, b), 32 * b + 31);
	}
	/* e2m3 to f16: the sign above, the upper four bits below, the last one at place 7 of a half */
	for (int b = 0; b < 4; b++)
		ck_assert_int_eq(bit_order_bit(6, ORDER_HALF + 7, 5, 1 + b), 32 + 8 + b);
	ck_assert_int_eq(bit_order_bit(6, ORDER_HALF + 7, 5, 0), 32 + 8 + 6);
	ck_assert_int_eq(bit_order_bit(6, ORDER_HALF + 7, 5, 5), 32 + 8 + 7);
	ck_assert(bit_order_valid(4, 0) && bit_order_valid(4, 8) && bit_order_valid(4, 16) &&
	          bit_order_valid(7, 41));
	ck_assert(bit_order_valid(3, 4));
	ck_assert(!bit_order_valid(4, 4) && !bit_order_valid(4, -8) && !bit_order_valid(4, 32));
	ck_assert(!bit_order_valid(8, 41) && !bit_order_valid(3, 42));
}
