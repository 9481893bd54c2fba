/* inline_asm_table.h - the texts of inline assembly, and checks on them (inline_asm.c), for tests. */
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

/* Returns the predicated form of a row's text and constraints; the predicate is the last operand. */
void instr_predicated(Arena *a, const Instr *i, const char **text, const char **cons);
/* Counts the outputs and inputs of a constraint string. Returns false if it has an unsupported letter. */
bool cons_count(const char *cons, int *nout, int *nin);
/* Returns the largest $i in a text; -1 if there is none. */
int text_operands(const char *text);
#endif
