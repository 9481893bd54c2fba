/* facts_num.c - integers that know when they do not fit. */
#include "hexc/facts.h"

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

bool
add64(int64_t x, int64_t y, int64_t *r)
{
	if (y > 0 ? x > INT64_MAX - y : x < INT64_MIN - y)
		return false;
	*r = x + y;
	return true;
}

bool
mul64(int64_t x, int64_t y, int64_t *r)
{
	if (x == 0 || y == 0) {
		*r = 0;
		return true;
	}
	if (x == INT64_MIN || y == INT64_MIN) {
		if (x != 1 && y != 1)
			return false;
	} else {
		int64_t ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
		if (ax > INT64_MAX / ay)
			return false;
	}
	*r = x * y;
	return true;
}
