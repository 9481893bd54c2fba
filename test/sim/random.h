/* random.h - the random numbers of the simulator's tests: the same on every machine. */
#ifndef SIMTEST_RANDOM_H
#define SIMTEST_RANDOM_H
#include <stdint.h>

/* A xorshift of 64 bits; the state is not 0. */
static inline uint64_t
xorshift(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 24 bits of a linear congruential generator. */
static inline uint32_t
congruential(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}
#endif
