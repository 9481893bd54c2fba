/* dtype.h - element types: dtypes.def as data, and what follows from its columns.  As numbers: dtype_value.h.
 * A new type is a row; what asks "is it type x?" instead of a column or a predicate has to be found
 * and changed then. */
#ifndef HEXC_DTYPE_H
#define HEXC_DTYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType {
#define DTYPE(name, ...) D_##name,
#include "hexc/ir/dtypes.def"
	D_COUNT
} DType;

typedef enum DKind { K_pred, K_sint, K_uint, K_flt } DKind;
/* Some of them: column `types` of ops.def. */
enum {
	KINDS_int = 1 << K_sint | 1 << K_uint,
	KINDS_flt = 1 << K_flt,
	KINDS_num = KINDS_int | KINDS_flt,
	KINDS_bits = KINDS_int | 1 << K_pred,
	KINDS_any = KINDS_num | 1 << K_pred,
};
typedef enum DRound { R_even, R_sat, R_away } DRound;
typedef enum DCodes { C_none, C_ieee, C_nan, C_scale, C_table } DCodes;
typedef enum DUse { U_any, U_store, U_temp } DUse;
/* Units of an SM, whose rates infer/core/sm_throughput.def gives. */
typedef enum DAlu { ALU_i32, ALU_f16, ALU_f32, ALU_f64 } DAlu;
typedef enum DMma { MMA_none, MMA_i4, MMA_f4, MMA_i8, MMA_f8, MMA_f16, MMA_tf32, MMA_f64 } DMma;

typedef struct DTypeInfo {
	const char *name;
	uint8_t bits;
	uint8_t kind; /* DKind */
	uint8_t exp, man;
	uint8_t round; /* DRound */
	uint8_t codes; /* DCodes */
	uint8_t use;   /* DUse */
	uint8_t acc;   /* DType */
	uint8_t alu;   /* DAlu */
	uint8_t mma;   /* DMma */
	unsigned cvt;  /* T_* */
	const char *print;
} DTypeInfo;
extern const DTypeInfo dtype_info[D_COUNT];
/* The type of that name, or D_COUNT. */
DType dtype_find(const char *name, size_t n);

/* ---- as numbers ------------------------------------------------------------------------------ */

bool dtype_is_float(DType d);
bool dtype_is_integer(DType d); /* not bool */
bool dtype_is_sint(DType d);
/* Numbers of at most 8 bits, which may be packed; floats of them, whose arithmetic is that of wider types. */
bool dtype_is_narrow(DType d);
bool dtype_is_narrow_float(DType d);
/* Numbers whose bits programs may see: not bool, not what memory never holds. */
bool dtype_has_pattern(DType d);
/* By how much an exponent's code is larger than the exponent; 0 where there is none. */
int dtype_bias(DType d);
/* Has it numbers past those of int64_t?  It travels as bit patterns then (u64). */
bool dtype_past_i64(DType d);
/* Does `dot` multiply elements of these types?  One type of numbers, or signed and unsigned integers of one
 * size, or
 * the 8-bit floats that tensor cores take. */
bool dtype_multiplies(DType a, DType b);
/* What sums of it are added up in, and prints show it as. */
DType dtype_accumulator(DType d);

/* ---- in memory and registers ----------------------------------------------------------------- */

/* Elements in memory: n of them, a power of two, that start at a multiple of n are moved by dtype_pieces
 * instructions of n * dtype_grain bits each: one, but 3, 5 or 7 for types of 3, 5, 6 and 7 bits. */
int dtype_grain(DType d);
int dtype_pieces(DType d);
/* Elements of the widest access, whose pieces have 16 bytes. */
int dtype_most(DType d);
/* Elements in registers: each has a slot of so many bits, a power of two; what the bits above the element's
 * own are is left open. */
int dtype_slot_bits(DType d);
/* Elements of one word of a lane. */
int dtype_per_word(DType d);
/* The register that holds an element, or such a word. */
typedef enum DReg { REG_pred, REG_b32, REG_b64, REG_f32, REG_f64 } DReg;
DReg dtype_reg(DType d);
#endif
