/* bits.h - floats as bits, and back. */
#ifndef SIMTEST_BITS_H
#define SIMTEST_BITS_H
#include <stdint.h>
#include <string.h>

static inline float
f32_of(uint64_t v)
{
	uint32_t w = (uint32_t)v;
	float f;

	memcpy(&f, &w, 4);
	return f;
}

static inline double
f64_of(uint64_t v)
{
	double f;

	memcpy(&f, &v, 8);
	return f;
}

static inline uint32_t
bits_of(float f)
{
	uint32_t w;

	memcpy(&w, &f, 4);
	return w;
}

static inline uint64_t
bits64_of(double f)
{
	uint64_t w;

	memcpy(&w, &f, 8);
	return w;
}
#endif
