/* store.h - declares the store of a register tile to memory, access by access. */
#ifndef HEXC_PTXGEN_STORE_H
#define HEXC_PTXGEN_STORE_H
#include "ptxgen/memory/address.h"

typedef struct StorePlan {
	Val *v;
	Access *x;
	const Instr *inst;
	const Layout *map; /* memory side; NULL: a scalar */
	int vec;           /* elements per access */
	LV exec;           /* lanes that store; NULL: all */
	Access *found;     /* shared memory for an update's old value; NULL: unused */
	Val *compared;     /* of a compare-and-swap, laid out as v */
	bool bytes;        /* a type below 8 bits: each element in a separate byte, in the low bits */
} StorePlan;

void store_tile(Codegen *g, const StorePlan *p);
/* Emits one access of a row of kind red, of 32-bit words (atomic.c). */
void emit_update(Codegen *g, const Instr *i, const LV *word, LV base, LV imm, LV exec);
/* The same for a row without a text: a compare-and-swap loop, until no other thread was faster. in: the
 * value, in a register of its bits, and the address. Stores the old value in out unless that is NULL. */
void emit_tries(Codegen *g, const Instr *i, const LV *in, LV exec, LV *out);
#endif
