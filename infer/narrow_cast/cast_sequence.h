/* cast_sequence.h - cast sequences: straight-line machine code that converts narrow elements in 32-bit
 * registers to elements of 8, 16 or 32 bits, generated from the bit order (hexc/ir/bit_order.h) and the
 * formats of the types.
 *
 * Integers to floats.  The field of an element is placed in the mantissa of a float of known exponent: 1024
 * for f16, 128 for bf16, 2^23 for f32.  Its position is free: at bit p the field has weight 2^p, and one fma
 * removes the large constant and the factor.  So a field that already lies within the mantissa needs no
 * shift, and one logical instruction, (x & mask) ^ magic, serves all elements of a register.  For signed
 * types the same magic flips the sign bit, which the fma corrects.  Each step is exact.
 *
 * Floats to floats.  Exponent and mantissa are moved to the fields of the result, the sign to its sign, and a
 * multiplication corrects the exponent bias; subnormals need no special case.  Exact.  Elements of whole
 * bytes are split, four at a time, into the upper and lower bytes of 16-bit halves, which prmt combines.
 *
 * Codes of up to 4 bits in slots of 4 bits: prmt selects bytes of a table by three bits of each of four
 * codes.  This takes one table for each byte of the result that is not always 0, and twice as many for 16
 * values.  A number subtracted from every result is subtracted from the table entries.
 *
 * Integers to bytes: the fields themselves; signed ones are extended through 128 + v, which never carries
 * from one byte to the next. */
#ifndef HEXC_CAST_SEQUENCE_H
#define HEXC_CAST_SEQUENCE_H
#include "hexc/ir/bit_order.h"
#include "hexc/ir/ir.h"

/* One machine instruction each.  x, y: values; m, c: constants. */
typedef enum StepOp {
	ST_shift,  /* x >> n, or x << -n */
	ST_funnel, /* (y:x) >> n, the low word */
	ST_mix,    /* (x & m) ^ y;  y may be the constant c */
	ST_pick,   /* bytes of x and y, selected by m as by prmt; y may be the constant c */
	ST_choose, /* (x & m) | (y & ~m) */
	ST_add,    /* x + c */
	ST_look,   /* bytes of the constants m and c, selected by x as by prmt */
	ST_take,   /* bytes of x and y, selected by z as by prmt */
	ST_half,   /* bytes n and n + 1 of x, 8-bit floats, as two f16 */
} StepOp;

/* Values: 0 .. 7 are the 32-bit registers of the group, VAL_STEP + i the result of step i. */
enum { VAL_NONE = -1, VAL_STEP = 8, RECIPE_STEPS = 192, RECIPE_OUT = 32 };

typedef struct CastStep {
	uint8_t op; /* StepOp */
	int8_t n;
	int16_t x, y, z; /* y VAL_NONE: the constant c */
	uint32_t m, c;
} CastStep;

/* One 32-bit register of the result: value * mul + add in arithmetic of the result's type, for each element
 * in it.  With a second value: value * mul + (second + add).  Integer results, and those neither scaled nor
 * moved, are `value` itself. */
typedef struct RecipeOut {
	int16_t value, second; /* second: VAL_NONE mostly */
	uint32_t mul, add;     /* constants for one register, not necessarily equal for its elements */
	bool scaled, moved;    /* mul is not 1; add is not 0 */
	int32_t less[2];       /* per element: -add, for integers to floats */
} RecipeOut;

/* The cast of a group of 32 elements. */
typedef struct CastSequence {
	DType from, to;
	DType via; /* type of the outputs, which an instruction converts to `to`; mostly `to` itself */
	int bit_order;
	/* table sequences: subtracted from each result, a value of `to`, and rounded once more */
	double less;
	int nstep, nout;
	CastStep step[RECIPE_STEPS];
	RecipeOut out[RECIPE_OUT];
} CastSequence;

/* Returns the 32-bit registers of a group: `bits` in a bit order; in natural order elements have slots of 1,
 * 2, 4 or 8 bits. */
int recipe_words(DType from, int bit_order);
/* Computes the cheapest sequence for casting elements of `from` (at most 8 bits) in that bit order to
 * `to`, on a target with these features (T_*).  Returns false if there is none; elements are then
 * converted singly. */
bool recipe_make(CastSequence *r, DType from, int bit_order, DType to, unsigned features);
/* Return machine instructions for a whole group of 32 elements; recipe_arithmetic() counts only those after
 * the steps: arithmetic and conversions of the outputs. */
int recipe_arithmetic(const CastSequence *r);
static inline int
recipe_instructions(const CastSequence *r)
{
	return r->nstep + recipe_arithmetic(r);
}
/* Computes a table sequence for a cast minus a number of its type.  Returns false unless it is shorter than
 * the cast and one instruction per output. */
bool recipe_less(CastSequence *r, const CastSequence *cast, double number);
/* Can an integer y from lo to hi be subtracted from `add` instead of from the results, with the same bits?
 * It can if all the differences are values of the type. */
bool recipe_takes(const CastSequence *r, int64_t lo, int64_t hi);
/* If o (x - y, x + y or y + x) subtracts an integer from a cast, returns the cast; `number`: index of the
 * integer operand, which subtracts *lo to *hi.  Else returns NULL. */
const Op *recipe_offset(const Op *o, int *number, int64_t *lo, int64_t *hi);
#endif
