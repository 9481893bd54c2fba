/* store.h - a register tile to memory, access by access. */
#ifndef HEXC_PTXGEN_STORE_H
#define HEXC_PTXGEN_STORE_H
#include "ptxgen/memory/address.h"

typedef struct StorePlan {
	Val *v;
	Access *x;
	const Instr *inst;
	const Layout *map; /* memory side; NULL: a scalar */
	int vec;           /* elements of one access */
	LV exec;           /* lanes that store; NULL: all */
	Access *found;     /* shared memory for what an update finds; NULL: nobody wants it */
	Val *compared;     /* of a compare-and-swap, laid out as v */
	bool bytes;        /* a type under a byte: each element into a byte of its own, in the low bits */
} StorePlan;

void store_tile(Codegen *g, const StorePlan *p);
/* One access of a row of kind red, of 32-bit words (atomic.c). */
void emit_update(Codegen *g, const Instr *i, const LV *word, LV base, LV imm, LV exec);
/* The same of a row without a text: by compare-and-swap, until no other thread was faster.  in: the value, in
 * a register of its bits, and the address.  What was there goes to out, if that is given. */
void emit_tries(Codegen *g, const Instr *i, const LV *in, LV exec, LV *out);
#endif
