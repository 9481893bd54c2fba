/* dtype_value.h - element types as numbers: rounding, wrapping, storage in host memory.
 *
 * Values of float types travel as double, of integer types and bool as int64_t.  u64 is the one type whose
 * values do not all fit: it travels as its bit pattern.
 *
 * Storage format of a buffer of dtype d: elements one after the other, little-endian, as on the device;
 * types under 8 bits are packed, least significant bits first, whatever borders of bytes they cross; bool
 * takes a byte and is 0 or 1. */
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

/* The number that a code of a float type of at most 16 bits stands for; exact. */
double num_of_code(DType d, unsigned code);
/* What elements outside of a tensor read as: the number of code 0, which is 0 but for types that have no such
 * code for it: -1 of nf4, 2^-127 of e8m0. */
double num_outside(DType d);
/* The code of x rounded to d; every NaN becomes the one without sign and with all other bits set, as the
 * device writes it (where the type has no NaN that is its largest number). */
unsigned num_code(DType d, double x);
/* The bits of x, a value of float type d: nothing is rounded, infinities stay. */
uint64_t num_bits(DType d, double x);

/* ---- rounding and wrapping ------------------------------------------------------------------- */

/* x rounded as float type d rounds (dtypes.def); subnormals are kept. */
double num_round(DType d, double x);
/* The largest finite number of a float type. */
double num_largest(DType d);
void num_round_n(DType d, double *x, size_t n);
/* x modulo 2^bits, in d's range.  bool: x != 0. */
int64_t num_wrap(DType d, int64_t x);
void num_wrap_n(DType d, int64_t *x, size_t n);
/* Float to integer type d: toward zero, saturating, NaN gives 0.  bool: x != 0. */
int64_t num_from_float(DType d, double x);
/* Integer x of type `from` to float type d, rounded once. */
double num_from_int(DType d, DType from, int64_t x);
/* a * b + c in float type d, rounded once. */
double num_fma(DType d, double a, double b, double c);
/* Range of an integer type (u64: hi is the bit pattern ~0). */
int64_t num_min(DType d);
int64_t num_max(DType d);
bool num_fits(DType d, int64_t x); /* of an integer type or bool; u64 holds any bit pattern */

/* ---- storage --------------------------------------------------------------------------------- */

/* Bytes that hold `count` elements. */
size_t num_bytes(DType d, int64_t count);
/* Element i of a buffer.  The float forms are for float types, the int forms for the others. */
double num_get_f(DType d, const void *buf, int64_t i);
int64_t num_get_i(DType d, const void *buf, int64_t i);
void num_put_f(DType d, void *buf, int64_t i, double x);   /* rounds */
void num_put_i(DType d, void *buf, int64_t i, int64_t x);  /* wraps */
/* Either kind, as a double (integers beyond 2^53 are rounded; saturates on the way back). */
double num_get(DType d, const void *buf, int64_t i);
void num_put(DType d, void *buf, int64_t i, double x);
/* `n` elements from element `at` on, `stride` apart. */
void num_get_fn(DType d, const void *buf, int64_t at, int64_t stride, size_t n, double *out);
void num_get_in(DType d, const void *buf, int64_t at, int64_t stride, size_t n, int64_t *out);
#endif
