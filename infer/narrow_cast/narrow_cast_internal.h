/* narrow_cast_internal.h - state and helper functions shared by the files that build cast sequences. */
#ifndef HEXC_NARROW_CAST_INTERNAL_H
#define HEXC_NARROW_CAST_INTERNAL_H
#include "infer/narrow_cast/cast_sequence.h"

enum { PARTS = 32 };

/* Properties of the two types, and the shifted copies of registers that outputs require. */
typedef struct Make {
	CastSequence *r;
	int bits;       /* of a source element */
	int slot_bits;  /* bits from one element to the next in natural order */
	bool sint, flt; /* the source */
	int lane;       /* bits of a result element */
	int lanes;      /* result elements per register */
	int man, bias;  /* of a float result */
	int room;       /* an integer's field may start at bits 0 .. room of the result */
	unsigned features; /* of the target */
	/* shifts required by outputs of several fields: set with bit 32 + s for shift s */
	uint64_t forced[8];
	uint64_t wants[8][32]; /* per output of one field: the set of acceptable shifts */
	int nwant[8];
} Make;

/* Bits of one register that are shifted by the same amount. */
typedef struct BitField {
	int word, shift;
	uint32_t mask; /* bit positions after the shift */
} BitField;

/* Append a step and return its value; an equal step is reused. */
int recipe_step(Make *k, StepOp op, int x, int y, int n, uint32_t m, uint32_t c);
int recipe_take(Make *k, int x, int y, int z);
/* x >> n, or x << -n. */
int recipe_shifted(Make *k, int x, int n);
/* Returns magic ^ the bits of all fields. */
int recipe_mixed(Make *k, const BitField *part, int n, uint32_t magic);
/* Returns x repeated for every element of a register. */
uint32_t recipe_lanes(const Make *k, uint32_t x);
/* Returns the first or second pair of four 16-bit elements, from their lower (VAL_NONE: all 0) and upper
 * bytes. */
int recipe_pair(Make *k, int lo, int hi, int second);
/* Returns the bits of a number in the result's type. */
uint32_t recipe_code(const Make *k, double x);
/* Returns 2^(bits - 1) for signed integers, else 0. */
int recipe_half(const Make *k);
/* Returns the position of bit b of element e of the group: register * 32 + bit. */
int recipe_bit(const Make *k, int e, int b);
/* Adds a bit of an output: bit `to`, from `word`, shifted.  Returns the number of fields; PARTS + 1: too
 * many. */
int recipe_part(BitField *part, int n, int word, int shift, int to);
/* Computes the fields of output j with its elements at bit `bit`.  Returns their number; PARTS + 1: more than
 * PARTS. */
int recipe_parts(const Make *k, int j, int bit, BitField *part);
/* Sets output j to `value`, whose element i is 2^man + field * 2^bit[i], with the sign bit flipped. */
void recipe_finish(Make *k, int j, int value, const int bit[2]);
/* Chooses the bit positions of fields in all outputs of integers to floats, such that few shifted copies of
 * registers are needed (mantissa_fields.c). */
void recipe_field_bits(Make *k, int *bit);
/* Natural order to 16-bit elements (natural_order.c). */
void recipe_natural(Make *k);
/* Output j of integers to bytes; of 8-bit integers to floats whose mantissa has all their bits, and to bf16,
 * which has one bit less (int_to_int8.c). */
void recipe_int_to_byte(Make *k, int j);
void recipe_byte_to_float(Make *k, int j);
void recipe_byte_to_bf16(Make *k, int j);
/* Is every value of `from` a value of `to`? */
bool recipe_exact(DType from, DType to);
/* Generators of whole sequences; false: not applicable to these types and this order.  Floats to floats
 * (narrow_float.c): all fields of a register at once; by bytes; by cvt. */
bool recipe_fields(Make *k);
bool recipe_bytes(Make *k);
bool recipe_cvt(Make *k);
/* From e8m0. */
bool recipe_scale(Make *k);
/* From codes of up to 4 bits, by tables (prmt_lut.c). */
bool recipe_table(Make *k);
#endif
