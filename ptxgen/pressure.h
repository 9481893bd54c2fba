/* pressure.h - how many registers of a lane PTX needs at once, from the text alone. */
#ifndef HEXC_PTXGEN_PRESSURE_H
#define HEXC_PTXGEN_PRESSURE_H
#include "hexc/ir/ir.h"

/* Of one entry.  Where a part of it is worse off than others, as roles are that hand registers to each
 * other, of that part. */
typedef struct Pressure {
	int live; /* registers that hold values at the same time, at most, in the order of the text */
	int least; /* the same in an order with fewer, where the first are more than there are */
	int limit; /* that a lane has there */
} Pressure;

/* Of entry `name` of a module as LLVM writes it; all 0: there is no such entry. */
Pressure ptx_pressure(Arena *a, const char *ptx, const char *name);

/* ---- between pressure_read.c, pressure_order.c and pressure.c --------------------------------------- */

typedef enum InsKind { INS_OTHER, INS_LABEL, INS_BRA, INS_RET, INS_COPY, INS_LIMIT } InsKind;

/* Among those that are not free, all may change places that only read. */
typedef enum InsOrder { ORDER_FREE, ORDER_READS, ORDER_FIXED } InsOrder;

/* A statement.  Its registers are reg[first .. first + nout + nin): first what it writes, and the predicate
 * that guards it last. */
typedef struct Ins {
	InsKind kind;
	bool guarded;  /* by a predicate: what it writes may stay as it was */
	bool uniform;  /* makes the same in all lanes of what is the same in all lanes */
	InsOrder order;
	int first, nout, nin;
	int label; /* of INS_LABEL and INS_BRA, from 0; INS_LIMIT: registers that a lane has from here on */
} Ins;

typedef struct Body {
	Arena *a;
	Ins *ins;
	int n, cap;
	int *reg; /* numbers of registers */
	int nregs, capregs;
	int nreg; /* registers that are declared */
	/* [nreg] of 32 bits, of which 16 take one; 0: predicates, which have registers of their own */
	const uint8_t *halves;
	int nlabel;
	int limit; /* at the launch */
} Body;

/* False: the module has no such entry. */
bool pressure_read(Body *b, const char *ptx, const char *name);

/* A straight piece of code: statements of which each has values that it writes and reads. */
typedef struct Step {
	const Ins *x;
	int *value; /* nout written, then nin read; each once */
	int nout, nin;
} Step;

/* The most that live at once when the steps are done in an order with few.  `live` [nreg]: what lives behind
 * the last, which is how it stands afterwards in front of the first; now: its halves. */
int64_t pressure_least(Arena *a, const uint8_t *halves, int nreg, const Step *step, int n, bool *live);
#endif
