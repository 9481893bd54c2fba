/* cast_sequence.h - how narrow elements that are laid out in words become elements of 8, 16 or 32 bits: straight
 * programs of machine instructions, made from the order of the bits (hexc/ir/bit_order.h) and the formats
 * of the types.
 *
 * Integers to floats.  The field of an element is put into the mantissa of a float of known exponent: 1024
 * for f16, 128 for bf16, 2^23 for f32.  Wherever in the mantissa it is: at bit p it counts 2^p, and one
 * fma takes the large number off and the factor out.  So no field that is in the mantissa as it is needs
 * a shift, and one logical instruction, (x & mask) ^ magic, does the rest for all lanes of a word;
 * the sign bit of signed ones is turned over by the same magic, and taken off by the fma.  Each step is
 * exact.
 *
 * Floats to floats.  Exponent and mantissa go to those of the result, the sign to its sign, and a product
 * corrects the exponent's bias; subnormals come right by themselves.  Exact.  Where elements are in bytes,
 * four at a time are parted into their upper and lower bytes of 16-bit halves, and those joined (prmt).
 *
 * Codes of up to 4 bits in slots of 4 bits: prmt takes bytes of a table by three bits of each of four codes;
 * so many tables as a result has bytes that are not 0, and twice as many for 16 numbers.  What is taken
 * off each result is taken off the tables' entries.
 *
 * Integers to bytes: the fields by themselves; signed ones are extended through 128 + v, which never carries
 * from a byte to the next. */
#ifndef HEXC_CAST_SEQUENCE_H
#define HEXC_CAST_SEQUENCE_H
#include "hexc/ir/bit_order.h"
#include "hexc/ir/ir.h"

/* A machine instruction each.  x, y: values; m, c constants. */
typedef enum StepOp {
	ST_shift,  /* x >> n, or x << -n */
	ST_funnel, /* (y:x) >> n, the low word */
	ST_mix,    /* (x & m) ^ y;  y may be the constant c */
	ST_pick,   /* bytes of x and y by the selector m, as prmt chooses; y may be the constant c */
	ST_choose, /* (x & m) | (y & ~m) */
	ST_add,    /* x + c */
	ST_look,   /* bytes of the constants m and c by the selectors x, as prmt chooses */
	ST_take,   /* bytes of x and y by the selectors z */
	ST_half,   /* bytes n and n + 1 of x, 8-bit floats, as two f16 */
} StepOp;

/* Values: 0 .. 7 the words of the group, VAL_STEP + i the result of step i. */
enum { VAL_NONE = -1, VAL_STEP = 8, RECIPE_STEPS = 192, RECIPE_OUT = 32 };

typedef struct CastStep {
	uint8_t op; /* StepOp */
	int8_t n;
	int16_t x, y, z; /* y VAL_NONE: c */
	uint32_t m, c;
} CastStep;

/* One word of the result: value * mul + add in arithmetic of the result's type, all lanes; with a second
 * value, value * mul + (second + add).  Integer results are `value` itself, and what is neither scaled nor
 * moved. */
typedef struct RecipeOut {
	int16_t value, second; /* second: VAL_NONE mostly */
	uint32_t mul, add;     /* words of the result's type: the same in all lanes or not */
	bool scaled, moved;    /* mul is not 1; add is not 0 */
	int32_t less[2];       /* of each lane: -add, of integers to floats */
} RecipeOut;

/* A group of 32 elements. */
typedef struct CastSequence {
	DType from, to;
	DType via; /* of the outputs, which the machine then converts to `to`; mostly `to` itself */
	int bit_order;
	double less; /* of table recipes: taken off each result, a number of `to`, and rounded once more */
	int nstep, nout;
	CastStep step[RECIPE_STEPS];
	RecipeOut out[RECIPE_OUT];
} CastSequence;

/* Words of a group: in a bit order `bits`; in natural order elements have slots of 1, 2, 4 or 8 bits. */
int recipe_words(DType from, int bit_order);
/* The cheapest recipe for casting elements of `from` (at most 8 bits) in that order to `to` on a target with
 * these features (T_*); false: there is none, and elements are converted one by one. */
bool recipe_make(CastSequence *r, DType from, int bit_order, DType to, unsigned features);
/* Machine instructions of a whole group: what the casts of its 32 elements take.  The first form counts those
 * behind the steps: arithmetic and conversions of the outputs. */
int recipe_arithmetic(const CastSequence *r);
static inline int
recipe_instructions(const CastSequence *r)
{
	return r->nstep + recipe_arithmetic(r);
}
/* The recipe of such a cast, less a number of its type, by tables; false: there is none that is shorter than
 * the cast and an instruction for each output. */
bool recipe_less(CastSequence *r, const CastSequence *cast, double number);
/* May an integer y, from lo to hi, that is to be taken off the results be taken off their `add` instead, and
 * all bits be the same?  It may where all those differences are numbers of the type. */
bool recipe_takes(const CastSequence *r, int64_t lo, int64_t hi);
/* The cast from which o (x - y, x + y or y + x) takes a whole number, its operand `number`; what is taken off
 * is from *lo to *hi.  NULL: o is nothing like that. */
const Op *recipe_offset(const Op *o, int *number, int64_t *lo, int64_t *hi);
#endif
