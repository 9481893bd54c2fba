/* inline_asm_table.h - the texts of inline assembly, and what inline_asm.c asks of them; for tests. */
#ifndef HEXC_INLINE_ASM_TABLE_H
#define HEXC_INLINE_ASM_TABLE_H
#include "ptxgen/base/inline_asm.h"

typedef struct AsmInfo {
	const char *name;
	int flags;
	unsigned features;
	const char *text, *cons;
} AsmInfo;
extern const AsmInfo asm_info[A_COUNT];

/* The predicated form of a row's text and constraints (the predicate is the last operand). */
void instr_predicated(Arena *a, const Instr *i, const char **text, const char **cons);
/* Operands of a constraint string: outputs and inputs.  False: a letter we do not use. */
bool cons_count(const char *cons, int *nout, int *nin);
/* Largest $i in a text, -1 without. */
int text_operands(const char *text);
#endif
