/* util_dump.h - the IR of a program's kernels after a given pass. */
#ifndef TEST_UTIL_DUMP_H
#define TEST_UTIL_DUMP_H
#include "hexc/ir/ir.h"

enum { DUMP_MOST = 24 };

typedef struct Dump {
	const char *file;   /* "examples/gemm_f16.hexc" */
	const char *arch, *schedule; /* schedule NULL: the best */
	char *ir[DUMP_MOST]; /* a text a kernel */
	int n;
} Dump;

/* Compiles d->file and keeps the IR behind that pass; one that the target cannot have has none. */
void dump_make(Dump *d, const char *pass);
void dump_free(Dump *d);
/* Kernel i of it, read into u. */
Kernel *dump_read(const Dump *d, int i, Unit *u);
#endif
