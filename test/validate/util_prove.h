/* util_prove.h - checks that the validator accepts a kernel, and rejects it after a change. */
#ifndef TEST_UTIL_PROVE_H
#define TEST_UTIL_PROVE_H
#include "hexc/ir/ir.h"

/* One change: what it is called, and what the checker says of it: the check that is meant. */
typedef struct Corruption {
	const char *name;
	void (*corrupt)(Kernel *);
	const char *says;
} Corruption;

/* `checker` is pass_validate or pass_validate_loop_split.  Fails the test unless it finds nothing wrong. */
void prove_clean(Kernel *k, bool (*checker)(Kernel *));
/* Of a clean kernel: fails the test unless what the checker says first of the change is this.  The number of
 * violations. */
int prove_rejects(Kernel *k, bool (*checker)(Kernel *), const Corruption *c);
/* The nth op of a kind in a block, with those inside of others; fails the test: there are fewer. */
Op *prove_op(Block *b, OpCode code, int nth);
#endif
