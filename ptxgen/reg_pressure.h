/* reg_pressure.h - how many registers of a lane PTX needs at once, from the text alone. */
#ifndef HEXC_REG_PRESSURE_H
#define HEXC_REG_PRESSURE_H
#include "hexc/ir/ir.h"

/* Of one entry.  Where a part of it is worse off than others, as roles are that hand registers to each
 * other, of that part. */
typedef struct Pressure {
	int live; /* registers that hold values at the same time, at most, in the order of the text */
	int least; /* the same in an order with fewer, where the first are more than there are */
	int limit; /* that a lane has there */
	int used; /* that ptxas takes for all of it, about; 0: as many as the launch of roles has */
	int64_t work; /* that counting took: statements and values, each time one is met */
} Pressure;

/* Of entry `name` of a module for t as LLVM writes it; all 0: there is no such entry. */
Pressure ptx_pressure(Arena *a, const Target *t, const char *ptx, const char *name);

/* ---- between pressure_*.c and reg_pressure.c ----------------------------------------------------- */

/* A trap is never taken, but nothing changes places with it. */
typedef enum InsKind { INS_OTHER, INS_LABEL, INS_BRA, INS_RET, INS_COPY, INS_LIMIT, INS_TRAP } InsKind;

/* Among those that are not free, all may change places that only read. */
typedef enum InsOrder { ORDER_FREE, ORDER_READS, ORDER_FIXED } InsOrder;

/* A statement.  Its registers are reg[first .. first + nout + nin): first what it writes, and the predicate
 * that guards it last. */
typedef struct PressureIns {
	InsKind kind;
	bool guarded;  /* by a predicate: what it writes may stay as it was */
	bool uniform;  /* makes the same in all lanes of what is the same in all lanes */
	/* a copy of what lives on to what lives on, as the last that its part does with either: they share a
	 * register */
	bool same;
	InsOrder order;
	int first, nout, nin;
	int label; /* of INS_LABEL and INS_BRA, from 0; INS_LIMIT: registers that a lane has from here on */
} PressureIns;

typedef struct Body {
	Arena *a;
	PressureIns *ins;
	int n, cap;
	int *reg; /* numbers of registers */
	int nregs, capregs;
	int nreg; /* registers that are declared */
	/* [nreg] of 32 bits, of which 16 take one; 0: predicates, which have registers of their own */
	const uint8_t *halves;
	int nlabel;
	int limit; /* at the launch */
	int warps; /* of a block */
} Body;

/* False: the module has no such entry. */
bool pressure_read(Body *b, const char *ptx, const char *name);

/* Numbers that grow. */
typedef struct Numbers {
	int *at, n, cap;
} Numbers;

/* Statements [from, to). */
typedef struct PtxBlock {
	int from, to;
	int next[2]; /* -1: none */
	int limit, live;
	bool reached;
	Numbers in, out; /* values that live in front of it and behind it */
	int64_t around;  /* halves of all of these */
	int nsame;       /* the last so many of `out` are copies of others of it (Ins.same) */
} PtxBlock;

typedef struct Lives {
	Body b;
	PtxBlock *part;
	int npart, cap;
	int *at;    /* [nlabel] its part */
	int *ndef;  /* [nreg] */
	int *of;    /* [nreg] what it is a copy of, itself: it is none */
	bool *lane; /* [nreg] differs from lane to lane */
	int *seen;  /* [nreg] the part in which it lives now, from 1 */
	int *behind; /* [nreg] the last part behind which it lives, as they are walked through, from 1 */
	int *wrote, *used; /* [nreg] the last walk that has met it written, read */
	int walks;
	int *number, *numbered; /* [nreg] its number in a piece of code, and in which, from 1 */
	int pieces;
	int64_t work;
} Lives;

/* Of entry `name`, l->b.a is given.  False: the module has none. */
bool lives_find(Lives *l, const char *ptx, const char *name);

/* A statement of a straight piece of code, with the values that it writes and reads. */
typedef struct PressureStep {
	const PressureIns *x;
	int *value; /* nout written, then nin read; each once */
	int nout, nin;
} PressureStep;

/* A straight piece of code, whose values have numbers of its own. */
typedef struct Steps {
	PressureStep *step;
	int n;
	uint8_t *halves; /* [nvalue], as Body.halves */
	bool *live;      /* [nvalue] it lives behind the last */
	int nvalue, cap;
	int64_t work;
} Steps;

/* The statements of part p that are code, so many times one after the other. */
void lives_steps(Lives *l, const PtxBlock *p, int turns, Steps *out);

/* Registers that part p needs at most, in whatever order. */
int64_t lives_bound(const Lives *l, const PtxBlock *p);

/* ---- pressure_heap.c --------------------------------------------------------------------------- */

typedef struct HeapItem {
	int64_t key;
	int what;
} HeapItem;

/* Starts as zeros; the least is at[0]. */
typedef struct Heap {
	HeapItem *at;
	int n, cap;
} Heap;

void heap_push(Arena *a, Heap *h, int64_t key, int what);
void heap_pop(Heap *h);

/* ---- reg_pressure_bottom_up.c, reg_pressure_top_down.c -------------------------------------------------------- */

/* The most that live at once when the steps are done in an order with few, in halves.  s->live is afterwards
 * how it stands in front of the first. */
int64_t pressure_least(Arena *a, Steps *s);
/* The most that live at once when each load is asked for as early as what waits for it is urgent, in halves,
 * of which there is room for so many; where no order goes with that, more. */
int64_t pressure_ahead(Arena *a, Steps *s, int64_t room);
#endif
