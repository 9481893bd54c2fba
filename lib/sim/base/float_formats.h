/* float_formats.h - rounding and decoding of the PTX floating-point formats. */
#ifndef SIM_NUM_H
#define SIM_NUM_H
#include <string.h>
#include "lib/sim/base/sim_base.h"

/* Floats as bits, and back. */
static inline float
f32_of(u32 bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}
static inline u32
bits_of(float f)
{
	u32 b;

	memcpy(&b, &f, 4);
	return b;
}
static inline double
f64_of(u64 bits)
{
	double f;

	memcpy(&f, &bits, 8);
	return f;
}
static inline u64
bits64_of(double f)
{
	u64 b;

	memcpy(&b, &f, 8);
	return b;
}

/* float_formats.c */
float f16_value(u32 h);
float bf16_value(u32 h);
u32 f16_round(double v, int rnd);               /* correctly rounded */
u32 bf16_round(double v, int rnd);
u32 f16_from_f32(float v);                      /* to nearest even, fast */
float f32_round(double v, int rnd);
u32 tf32_round(u32 bits, int rnd);
u32 fp8_round(double v, bool e5m2, bool relu);  /* to nearest even, satfinite */
double fp8_value(u32 b, bool e5m2);
double odd_add(double a, double b);             /* exact sum rounded to odd: for a second rounding */
double odd_fma(double a, double b, double c);   /* the same; a * b must be exact in double */
double odd_div(double a, double b);
double odd_sqrt(double a);
/* float64_rounding.c */
double dir64(int op, double a, double b, double c, int rnd);    /* f64 in any rounding */
#endif
