/* asm_rows.h - the texts of inline assembly, and what asm.c asks of them; for tests. */
#ifndef HEXC_PTXGEN_ASM_ROWS_H
#define HEXC_PTXGEN_ASM_ROWS_H
#include "ptxgen/base/asm.h"

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
