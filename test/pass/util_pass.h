/* util_pass.h - programs run by the tests of passes. */
#ifndef TEST_UTIL_PASS_H
#define TEST_UTIL_PASS_H
#include "test/interp/util_interp.h"

enum { PASS_SIZES = 4 };

typedef struct Program {
	const char *name, *src;
	const char *sizes[PASS_SIZES]; /* launches; the first two run every loop more than once */
} Program;

extern const Program pass_program[]; /* ends with name == NULL */
int pass_program_count(void);
/* The kernel, with that many stages where the program has a choice. */
Kernel *pass_source(Unit *u, const Program *p, int stages);
/* Run a pass and verify the IR. */
void pass_apply(Kernel *k, const char *name, bool (*run)(Kernel *));
/* The n-th op of that code in order of text, or NULL. */
Op *pass_find(Kernel *k, OpCode code, int n);
#endif
