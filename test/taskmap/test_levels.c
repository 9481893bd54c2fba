/* test_levels.c - tests scan levels, which distribute vectors over threads: their invariants, for many
 * lengths. */
#include "taskmap/scan_levels.h"
#include "taskmap/support/support.h"
#include "test/check.h"

static int64_t
product(const Levels *x)
{
	int64_t all = 1;

	for (int i = 0; i < x->n; i++)
		all *= x->of[i];
	return all;
}

/* Levels divide the padded length, and leave a power of two, at most what a warp has lanes. */
TEST(levels_divide)
{
	for (int64_t n = 1; n < 5000; n++) {
		Levels x;
		int64_t left;

		levels_share(&x, n, 1, 128, 8);
		ck_assert_int_ge(x.padded, n);
		if (n <= 32) {
			ck_assert_int_eq(x.n, 0);
			ck_assert_int_eq(x.padded, n);
			continue;
		}
		left = x.padded / product(&x);
		ck_assert_int_eq(left * product(&x), x.padded);
		ck_assert(is_pow2(left) && left <= 32);
		ck_assert_int_le(x.of[0], 8);
		for (int i = 0; i < x.n; i++)
			ck_assert(x.of[i] >= 2 && x.of[i] <= NEIGHBOURS_MAX);
	}
}

/* Powers of two need no padding, whoever is beside them. */
TEST(powers_are_whole)
{
	for (int64_t n = 64; n <= 65536; n *= 2)
		for (int64_t lines = 1; lines <= 256; lines *= 2) {
			Levels x;

			levels_share(&x, n, lines, 128, 8);
			ck_assert_int_eq(x.padded, n);
		}
}

/* What 128 threads have each of a line, 22.5 and 86 elements, is made 24 and 88: 8 * 3, and 8 * 11 or
 * 4 * 22. */
TEST(lengths_of_models)
{
	Levels x;

	levels_share(&x, 2880, 1, 128, 8);
	ck_assert_int_eq(x.padded, 3072);
	ck_assert_int_eq(x.of[0] * x.of[1], 24);
	levels_share(&x, 11008, 1, 128, 8);
	ck_assert_int_eq(x.padded, 11264);
	ck_assert_int_eq(x.of[0] * x.of[1], 88);
	levels_share(&x, 11008, 1, 128, 4);
	ck_assert_int_eq(x.padded, 11264);
	ck_assert_int_eq(x.of[0] * x.of[1] * x.of[2], 88);
	levels_share(&x, 1000, 1, 128, 8);
	ck_assert_int_eq(x.padded, 1024);
	/* 33 elements of 25 lines: 7 fives are made 8, 1000 elements of all lines; 4 threads of a line would
	 * have 9 each, 32 lines of 36 */
	levels_share(&x, 33, 25, 128, 8);
	ck_assert_int_eq(x.padded, 40);
	ck_assert_int_eq(x.of[0], 5);
}

/* The lowest level is what an access brings, whatever that is, unless an eighth of all is saved by less. */
TEST(first_are_neighbours_of_an_access)
{
	static const int64_t length[] = { 200, 1000, 2880, 4096, 4304, 11008 };

	for (size_t i = 0; i < COUNT_OF(length); i++)
		for (int64_t access = 2; access <= NEIGHBOURS_MAX; access *= 2) {
			Levels x;

			levels_share(&x, length[i], 1, 128, access);
			ck_assert_int_eq(x.of[0], access);
		}
}
