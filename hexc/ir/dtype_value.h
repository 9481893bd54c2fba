/* dtype_value.h - declares arithmetic on values of element types: rounding, wrapping, and storage in host
 * memory.
 *
 * Values of float types are represented as double, those of integer types and bool as int64_t. u64 is the
 * only type whose values do not all fit: it is represented as its bit pattern.
 *
 * Storage format of a buffer of dtype d: contiguous little-endian elements, as on the device. Types under 8
 * bits are packed, least significant bits first, across byte boundaries; bool takes a byte and is 0 or 1. */
#ifndef HEXC_DTYPE_VALUE_H
#define HEXC_DTYPE_VALUE_H
#include "hexc/ir/ir.h"
#include <string.h>

static inline uint64_t
double_bits(double x)
{
	uint64_t u;

	memcpy(&u, &x, sizeof u);
	return u;
}
static inline double
bits_double(uint64_t u)
{
	double x;

	memcpy(&x, &u, sizeof x);
	return x;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* Returns the exact value of a code of a float type of at most 16 bits. */
double num_of_code(DType d, unsigned code);
/* The value of out-of-bounds elements: that of code 0. It is 0, but for types without a code 0 for zero: -1
 * for nf4, 2^-127 for e8m0. */
double num_outside(DType d);
/* Returns the code of x rounded to d. Every NaN becomes the canonical NaN of the device: no sign, all other
 * bits set. Types without NaN get their largest value. */
unsigned num_code(DType d, double x);
/* Returns the bits of x, a value of float type d, unrounded; infinities are preserved. */
uint64_t num_bits(DType d, double x);

/* ---- rounding and wrapping ------------------------------------------------------------------- */

/* Rounds x to float type d (dtypes.def); subnormals are preserved. */
double num_round(DType d, double x);
/* The largest finite number of a float type. */
double num_largest(DType d);
void num_round_n(DType d, double *x, size_t n);
/* x modulo 2^bits, in d's range.  bool: x != 0. */
int64_t num_wrap(DType d, int64_t x);
void num_wrap_n(DType d, int64_t *x, size_t n);
/* Converts a float to integer type d: toward zero, saturating, NaN gives 0. bool: x != 0. */
int64_t num_from_float(DType d, double x);
/* Converts integer x of type `from` to float type d, rounded once. */
double num_from_int(DType d, DType from, int64_t x);
/* a * b + c in float type d, rounded once. */
double num_fma(DType d, double a, double b, double c);
/* Range of an integer type (u64: hi is the bit pattern ~0). */
int64_t num_min(DType d);
int64_t num_max(DType d);
bool num_fits(DType d, int64_t x); /* for integer types and bool; true for every u64 bit pattern */

/* ---- storage --------------------------------------------------------------------------------- */

/* Bytes of `count` elements. */
size_t num_bytes(DType d, int64_t count);
/* Element i of a buffer. The _f functions are for float types, the _i functions for the others. */
double num_get_f(DType d, const void *buf, int64_t i);
int64_t num_get_i(DType d, const void *buf, int64_t i);
void num_put_f(DType d, void *buf, int64_t i, double x);   /* rounds */
void num_put_i(DType d, void *buf, int64_t i, int64_t x);  /* wraps */
/* Any type, as a double (integers past 2^53 are rounded; writes saturate). */
double num_get(DType d, const void *buf, int64_t i);
void num_put(DType d, void *buf, int64_t i, double x);
/* Reads `n` elements with stride `stride` (elements), starting at element `at`. */
void num_get_fn(DType d, const void *buf, int64_t at, int64_t stride, size_t n, double *out);
void num_get_in(DType d, const void *buf, int64_t at, int64_t stride, size_t n, int64_t *out);
#endif
