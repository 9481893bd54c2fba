/* dtype.h - declares element types: dtypes.def as data, with predicates derived from its columns. Their
 * values: dtype_value.h.
 *
 * A new type is one row. Code that compares with a particular type instead of using a column or predicate
 * must then be found and changed. */
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
/* Sets of kinds, for column `types` of ops.def. */
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
/* Execution units of an SM; rates are in infer/core/sm_throughput.def. */
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
/* Returns the type of that name, or D_COUNT. */
DType dtype_find(const char *name, size_t n);

/* ---- as numbers ------------------------------------------------------------------------------ */

bool dtype_is_float(DType d);
bool dtype_is_integer(DType d); /* not bool */
bool dtype_is_sint(DType d);
/* Types of at most 8 bits, which may be packed; narrow floats are computed in wider types. */
bool dtype_is_narrow(DType d);
bool dtype_is_narrow_float(DType d);
/* May programs access its bits? Not for bool or types that are never in memory. */
bool dtype_has_pattern(DType d);
/* The exponent bias; 0 if the type has none. */
int dtype_bias(DType d);
/* Does the type have values outside of int64_t? They are represented as bit patterns then (u64). */
bool dtype_past_i64(DType d);
/* Does `dot` support these operand types? One numeric type, signed and unsigned integers of one size, or the
 * 8-bit floats of tensor cores. */
bool dtype_multiplies(DType a, DType b);
/* The default accumulator type, which print also uses. */
DType dtype_accumulator(DType d);

/* ---- in memory and registers ----------------------------------------------------------------- */

/* Memory accesses: `n` elements, n a power of two, that start at a multiple of n are accessed by dtype_pieces
 * instructions of n * dtype_grain bits each. That is one, but 3, 5 or 7 for types of 3, 5, 6 and 7 bits. */
int dtype_grain(DType d);
int dtype_pieces(DType d);
/* Elements of the widest access, with 16 bytes per instruction. */
int dtype_most(DType d);
/* Bits of an element's slot in a register, a power of two; the bits above the element are undefined. */
int dtype_slot_bits(DType d);
/* Elements per 32-bit register. */
int dtype_per_word(DType d);
/* Register class of an element, or of a word of narrow elements. */
typedef enum DReg { REG_pred, REG_b32, REG_b64, REG_f32, REG_f64 } DReg;
DReg dtype_reg(DType d);
#endif
