/* inline_asm.h - declares the emission of instruction instances as inline assembly. */
#ifndef HEXC_INLINE_ASM_H
#define HEXC_INLINE_ASM_H
#include "ptxgen/base/codegen.h"

typedef enum AsmId {
#define ASM(name, flags, features, text, cons) A_##name,
#include "ptxgen/base/inline_asm.def"
	A_COUNT
} AsmId;

/* Emits one short sequence; returns its result, or NULL. */
LV asm_op(Codegen *g, AsmId id, LV x, LV y, LV z);
enum { AF_MEM = 1, AF_WARP = 2 }; /* flags of rows */
/* Emits assembly with operand types from its constraints; stores the outputs in `out`. Needed for operands
 * that are names, which asm_op and asm_instr do not support. */
void asm_emit(Codegen *g, const char *text, const char *cons, int flags, const LV *in, int nin, LV *out);
/* Emits one instance of an instruction row. `in`: inputs in the template's order; `exec`: i1, lanes that
 * execute it, NULL: all. For cp.async the last input is the number of bytes to read (i32), constant or
 * not. */
void asm_instr(Codegen *g, const Instr *i, const LV *in, int nin, LV exec, LV *out);
/* Emits a load of elements where `inside` (i1) is true; elsewhere each word becomes *outside, or is
 * unchanged if that is NULL. */
void asm_load(Codegen *g, const Instr *i, const LV *in, LV inside, const uint32_t *outside, LV *out);
/* Returns the row chosen for o, which must have that kind. */
const Instr *lowering_instr(Codegen *g, const Op *o, InstrKind kind);
/* Returns the row of a kind that moves `bits` bits per lane. */
const Instr *mem_instr(Codegen *g, InstrKind kind, int bits);
#endif
