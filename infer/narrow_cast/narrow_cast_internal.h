/* narrow_cast_internal.h - between the files that make recipes. */
#ifndef HEXC_NARROW_CAST_INTERNAL_H
#define HEXC_NARROW_CAST_INTERNAL_H
#include "infer/narrow_cast/cast_sequence.h"

enum { PARTS = 32 };

/* What is known of the two types, and the shifted copies of words that outputs ask for. */
typedef struct Make {
	CastSequence *r;
	int bits;       /* of a source element */
	int slot_bits;  /* bits from one element to the next in natural order */
	bool sint, flt; /* the source */
	int lane;       /* bits of a result */
	int lanes;      /* results in a word */
	int man, bias;  /* of a float result */
	int room;       /* an integer's field may be at bits 0 .. room of the result */
	unsigned features; /* of the target */
	uint64_t forced[8];    /* a set of shifts, bit 32 + s each, that outputs of several parts need */
	uint64_t wants[8][32]; /* of each output of one part, any of which will do */
	int nwant[8];
} Make;

/* Bits of one word that go the same way. */
typedef struct BitField {
	int word, shift;
	uint32_t mask; /* where they arrive */
} BitField;

/* A step's value; equal steps are one. */
int recipe_step(Make *k, StepOp op, int x, int y, int n, uint32_t m, uint32_t c);
int recipe_take(Make *k, int x, int y, int z);
/* x >> n, or x << -n. */
int recipe_shifted(Make *k, int x, int n);
/* magic ^ the parts' bits. */
int recipe_mixed(Make *k, const BitField *part, int n, uint32_t magic);
/* x in every lane of a word. */
uint32_t recipe_lanes(const Make *k, uint32_t x);
/* The first or second two of four 16-bit elements, of their lower (VAL_NONE: all 0) and upper bytes. */
int recipe_pair(Make *k, int lo, int hi, int second);
/* The bits of a number of the result's type. */
uint32_t recipe_code(const Make *k, double x);
/* 2^(bits - 1) of signed integers, 0 of others. */
int recipe_half(const Make *k);
/* Where bit b of element e of the group is: word * 32 + bit. */
int recipe_bit(const Make *k, int e, int b);
/* One more bit of an output: bit `to`, from that word, shifted.  How many parts there are then; PARTS + 1:
 * too many. */
int recipe_part(BitField *part, int n, int word, int shift, int to);
/* The parts of output j, its fields at bit `bit`: at most PARTS; more are PARTS + 1. */
int recipe_parts(const Make *k, int j, int bit, BitField *part);
/* Output j is `value`: of each lane i 2^man + field * 2^bit[i], the sign bit turned over. */
void recipe_finish(Make *k, int j, int value, const int bit[2]);
/* The bits where fields go in all outputs of integers to floats, such that few shifted copies of words are
 * needed (recipe/field.c). */
void recipe_field_bits(Make *k, int *bit);
/* Words in natural order to lanes of 16 bits (recipe/natural.c). */
void recipe_natural(Make *k);
/* Output j of integers to bytes; of 8-bit integers to floats that have room for all their bits in the
 * mantissa, and to bf16, which has one less (recipe/byte.c). */
void recipe_int_to_byte(Make *k, int j);
void recipe_byte_to_float(Make *k, int j);
void recipe_byte_to_bf16(Make *k, int j);
/* Is every number of the one type one of the other? */
bool recipe_exact(DType from, DType to);
/* Ways to make a whole recipe; false: they are none for these types and this order.
 * Of floats to floats (recipe/float.c): all fields of a word's lanes at once; by bytes; by cvt. */
bool recipe_fields(Make *k);
bool recipe_bytes(Make *k);
bool recipe_cvt(Make *k);
/* Of e8m0. */
bool recipe_scale(Make *k);
/* Of codes of up to 4 bits by tables (recipe/table.c). */
bool recipe_table(Make *k);
#endif
