/* inline_asm.h - instances of instructions. */
#ifndef HEXC_INLINE_ASM_H
#define HEXC_INLINE_ASM_H
#include "ptxgen/base/codegen.h"

typedef enum AsmId {
#define ASM(name, flags, features, text, cons) A_##name,
#include "ptxgen/base/inline_asm.def"
	A_COUNT
} AsmId;

/* One short sequence; its result or NULL. */
LV asm_op(Codegen *g, AsmId id, LV x, LV y, LV z);
enum { AF_MEM = 1, AF_WARP = 2 }; /* flags of rows */
/* Assembly with the types that its constraints say.  `out` receives the outputs.  For what asm_op and
 * asm_instr cannot say: operands that are names. */
void asm_emit(Codegen *g, const char *text, const char *cons, int flags, const LV *in, int nin, LV *out);
/* One instance of an instruction row.  `in`: inputs in order of the template; `exec`: i1, lanes
 * that take part, NULL: all.  cp.async: the last input is the number of bytes to read (i32),
 * constant or not. */
void asm_instr(Codegen *g, const Instr *i, const LV *in, int nin, LV exec, LV *out);
/* A load of elements that are there where `inside` (i1) holds; elsewhere each word becomes *outside, or stays
 * what it was if that is NULL. */
void asm_load(Codegen *g, const Instr *i, const LV *in, LV inside, const uint32_t *outside, LV *out);
/* The row picked for o, of that kind; on a mismatch a bug. */
const Instr *lowering_instr(Codegen *g, const Op *o, InstrKind kind);
/* The row of a kind that moves `bits` per lane. */
const Instr *mem_instr(Codegen *g, InstrKind kind, int bits);
#endif
