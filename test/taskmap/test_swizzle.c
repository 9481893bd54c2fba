/* test_swizzle.c - tests swizzles: involution and known values. */
#include "test/check.h"
#include "test/taskmap/tm_test.h"

static Swizzle
rnd_swizzle(void)
{
	Swizzle s = { (int8_t)rnd_in(0, 3), (int8_t)rnd_in(0, 4), 0 };

	s.shift = (int8_t)(rnd_in(s.bits, 4) * (rnd_bool() ? 1 : -1));
	return s;
}

/* The definition, bit by bit. */
static int64_t
brute_swizzle(Swizzle s, int64_t x)
{
	int64_t r = x;

	for (int i = 0; i < s.bits; i++) {
		int from = s.base + i + (s.shift > 0 ? s.shift : 0);
		int to = s.base + i - (s.shift < 0 ? s.shift : 0);

		r ^= (x >> from & 1) << to;
	}
	return r;
}

TEST(involution)
{
	tm_seed = 41;
	for (int k = 0; k < TRIALS; k++) {
		Swizzle s = rnd_swizzle();
		int64_t x = rnd_in(0, 1 << 20), y = rnd_in(0, 1 << 20);

		TM_INT(swizzle_apply(s, x), ==, brute_swizzle(s, x));
		TM_INT(swizzle_apply(s, swizzle_apply(s, x)), ==, x);
		TM_INT(swizzle_apply(s, x ^ y), ==, swizzle_apply(s, x) ^ swizzle_apply(s, y));
	}
}

TEST(known)
{
	static const int64_t a[] = { 64, 128, 136, 448, 511, 512 };
	static const int64_t b[] = { 72, 144, 152, 504, 455, 512 };
	static const int64_t c[] = { 0, 5, 10, 15, 4, 1, 14, 11, 8, 13, 2, 7, 12, 9, 6, 3 };
	static const int64_t d[] = { 0, 72, 144, 216, 288, 360, 432, 504 };
	Layout l = lay("Sw<3,3,3> o (8,64):(64,1)");

	for (size_t i = 0; i < COUNT_OF(a); i++)
		TM_INT(swizzle_apply((Swizzle){ 3, 3, 3 }, a[i]), ==, b[i]);
	for (int64_t i = 0; i < 4; i++) /* 64 to 72, 128 to 144, 192 to 216 */
		TM_INT(swizzle_apply((Swizzle){ 2, 3, 3 }, 64 * i), ==, 72 * i);
	for (size_t i = 0; i < COUNT_OF(c); i++)
		TM_INT(swizzle_apply((Swizzle){ 2, 0, -2 }, (int64_t)i), ==, c[i]);
	for (int64_t i = 0; i < 8; i++)
		TM_INT(layout_at(&l, (int64_t[]){ i, 0 }).at[AX_mem], ==, d[i]);
	/* masks: the source bits are 0x1c0, the bits changed 0x38 */
	for (int64_t x = 0; x < 4096; x++) {
		TM_INT((swizzle_apply((Swizzle){ 3, 3, 3 }, x) ^ x) & ~0x38, ==, 0);
		TM_INT(swizzle_apply((Swizzle){ 3, 3, 3 }, x) == x, ==, (x & 0x1c0) == 0);
	}
}

TEST_PROGRAM(TM_FIXTURE);
