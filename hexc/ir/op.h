/* op.h - declares op codes, flags and immediates from the rows of ops.def. */
#ifndef HEXC_OP_H
#define HEXC_OP_H
#include "taskmap/support/support.h"

typedef enum OpCode {
	O_none,
#define OP_NAME(name) O_##name,
#include "hexc/ir/ops.def"
	O_COUNT
} OpCode;

/* The elementwise ops. A switch over them has no default: the compiler reports missing cases. */
typedef enum EltOp {
#define ELT_NAME(name) E_##name = O_##name,
#include "hexc/ir/ops.def"
} EltOp;

enum {
	F_PURE = 1,
	F_ELT = 2,
	F_COMM = 4,
	F_MEM = 8,
	F_SYNC = 16,
	F_TERM = 32,
	F_BIT_ORDER = 64,
	F_EFFECT = 128,
	F_COMPARE = 256,
	F_FILL = 512,
	F_MOVE = 1024,
	F_REDUCE = 2048,
	F_BOUNDS = 4096,
};
enum { V = -1 }; /* "any number" in ops.def */

typedef struct OpInfo {
	const char *name;
	int8_t nin, nout; /* V: any number */
	uint16_t flags;
	uint8_t types; /* KINDS_* */
} OpInfo;
extern const OpInfo op_info[O_COUNT];
OpCode op_find(const char *name, size_t n); /* O_none: unknown name */

/* Slots of operands in Op.in[]: IN_for_lo, IN_store_value. */
enum OpIn {
#define OP_IN(op, name, slot, ...) IN_##op##_##name = slot,
#define OP_INS(op, name, slot, ...) IN_##op##_##name = slot,
#include "hexc/ir/ops.def"
	IN_NONE
};

/* Names of immediates. */
typedef enum Imm {
#define OP_IMM(name, slot, last, ...) IMM_##name,
#include "hexc/ir/ops.def"
	IMM_COUNT
} Imm;
extern const char *const imm_name[IMM_COUNT];
Imm imm_find(OpCode code, const char *name, size_t n); /* IMM_COUNT: the op has no immediate of that name */
int imm_slot(Imm name); /* its first index in Op.imm[] */
bool imm_is_list(Imm name);
int imm_last(Imm name); /* its greatest value, of those from 0; -1: its range depends on the op */
/* For float element types this immediate is in Op.fimm. */
bool imm_may_be_float(Imm name);
#endif
