/* numbers.h - encodes integers in the formats of matrix instructions. */
#ifndef SIMTEST_NUMBERS_H
#define SIMTEST_NUMBERS_H
#include <stdint.h>
#include <stdlib.h>
#include "test/sim/random.h"
#include "test/sim/simtest.h"

typedef enum Num { F16, BF16, TF32, S8, U8, S4, U4, E4M3, E5M2, F32, S32, B1 } Num;
static const struct { const char *name; int bits, lo, hi; } nums[] = {
	{ "f16", 16, -30, 30 }, { "bf16", 16, -30, 30 }, { "tf32", 32, -30, 30 }, { "s8", 8, -128, 127 },
	{ "u8", 8, 0, 255 }, { "s4", 4, -8, 7 }, { "u4", 4, 0, 15 }, { "e4m3", 8, -16, 16 },
	{ "e5m2", 8, -8, 8 }, { "f32", 32, 0, 0 }, { "s32", 32, 0, 0 },
	{ "b1", 1, 0, 1 },
};

static uint32_t state = 7;
static inline int
rnd(int n)
{
	return (int)(congruential(&state) % (uint32_t)n);
}

/* A small whole number as bits of a format with `e` exponent bits, `m` mantissa bits. */
static inline uint32_t
float_bits(int v, int e, int m)
{
	int x = 0, a = abs(v), bias = (1 << (e - 1)) - 1;

	if (!v)
		return 0;
	while (a >> (x + 1))
		x++;
	ck_assert(x <= m || !(a & ((1 << (x - m)) - 1)));
	return (uint32_t)(v < 0) << (e + m) | (uint32_t)(x + bias) << m |
	       ((uint32_t)(x <= m ? a << (m - x) : a >> (x - m)) & ((1u << m) - 1));
}

static inline uint32_t
encode(int v, Num n)
{
	switch (n) {
	case F16: return float_bits(v, 5, 10);
	case BF16: return float_bits(v, 8, 7);
	case TF32: case F32: return float_bits(v, 8, 23);
	case E4M3: return float_bits(v, 4, 3);
	case E5M2: return float_bits(v, 5, 2);
	default: return (uint32_t)v & (nums[n].bits == 32 ? ~0u : (1u << nums[n].bits) - 1);
	}
}

static inline int
value(Num n)
{
	int v = nums[n].lo + rnd(nums[n].hi - nums[n].lo + 1);

	if (n == E4M3 && abs(v) > 8)
		v &= ~1;
	if (n == E5M2 && abs(v) > 4)
		v &= ~1;
	return v;
}

static inline void
put(uint32_t *words, int index, int bits, uint32_t v)
{
	words[index * bits / 32] |= v << index * bits % 32;
}
#endif
