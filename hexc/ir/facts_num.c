/* facts_num.c - integers that know when they do not fit. */
#include "hexc/ir/facts.h"

int64_t
gcd64(int64_t x, int64_t y)
{
	uint64_t a = x < 0 ? -(uint64_t)x : (uint64_t)x, b = y < 0 ? -(uint64_t)y : (uint64_t)y;

	while (b) {
		uint64_t r = a % b;
		a = b;
		b = r;
	}
	return a > INT64_MAX ? INT64_MAX / 2 + 1 : (int64_t)a; /* 2^63: 2^62 divides it too */
}

int64_t
pow2_part(int64_t x)
{
	return (int64_t)((uint64_t)x & -(uint64_t)x);
}

int64_t
floor_div(int64_t x, int64_t c)
{
	return x / c - (x % c < 0);
}
