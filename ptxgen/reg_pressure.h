/* reg_pressure.h - declares the estimation of the register pressure of PTX text, in registers/thread. */
#ifndef HEXC_REG_PRESSURE_H
#define HEXC_REG_PRESSURE_H
#include "hexc/ir/ir.h"

/* For one entry, or for its most constrained part if registers are reallocated between roles (setmaxnreg). */
typedef struct Pressure {
	int live; /* maximum of values live at the same time, in text order */
	int least; /* the same in a better order, if the former exceeds the limit */
	int limit; /* registers/thread available there */
	int used; /* estimate of what ptxas uses for the entry; 0: the count at the launch of roles */
	int64_t work; /* cost of the estimation: statements and values, once per visit */
} Pressure;

/* Estimates entry `name` of a module for t as LLVM prints it; all 0 if there is no such entry. */
Pressure ptx_pressure(Arena *a, const Target *t, const char *ptx, const char *name);

/* ---- between reg_pressure_*.c and reg_pressure.c --------------------------------------------------- */

/* A trap is never taken, but nothing is reordered with it. */
typedef enum InsKind { INS_OTHER, INS_LABEL, INS_BRA, INS_RET, INS_COPY, INS_LIMIT, INS_TRAP } InsKind;

/* Of those that are not free, those that only read may be reordered among each other. */
typedef enum InsOrder { ORDER_FREE, ORDER_READS, ORDER_FIXED } InsOrder;

/* A statement. Its registers are reg[first .. first + nout + nin): first those written; the predicate that
 * guards it is the last. */
typedef struct PressureIns {
	InsKind kind;
	bool guarded;  /* by a predicate: its outputs may stay unchanged */
	bool uniform;  /* its result is warp-uniform if its operands are */
	/* a copy from a value that stays live to another, the last use of either in its block: they share a
	 * register */
	bool same;
	InsOrder order;
	int first, nout, nin;
	int label; /* INS_LABEL and INS_BRA: label, from 0; INS_LIMIT: registers/thread from here on */
} PressureIns;

typedef struct Body {
	Arena *a;
	PressureIns *ins;
	int n, cap;
	int *reg; /* register indices */
	int nregs, capregs;
	int nreg; /* declared registers */
	/* [nreg] size in halves: 32 bits are 2, 16 bits 1; 0: predicates, which have separate registers */
	const uint8_t *halves;
	int nlabel;
	int limit; /* at the launch */
	int warps; /* per block */
} Body;

/* Returns false if the module has no such entry. */
bool pressure_read(Body *b, const char *ptx, const char *name);

/* A growing array of numbers. */
typedef struct Numbers {
	int *at, n, cap;
} Numbers;

/* Statements [from, to). */
typedef struct PtxBlock {
	int from, to;
	int next[2]; /* -1: none */
	int limit, live;
	bool reached;
	Numbers in, out; /* values live at its start and its end */
	int64_t around;  /* halves of all of these */
	int nsame;       /* the last nsame of `out` are copies of others of it (PressureIns.same) */
} PtxBlock;

typedef struct Lives {
	Body b;
	PtxBlock *part;
	int npart, cap;
	int *at;    /* [nlabel] its block */
	int *ndef;  /* [nreg] */
	int *of;    /* [nreg] the register that it is a copy of; itself: none */
	bool *lane; /* [nreg] is not warp-uniform */
	int *seen;  /* [nreg] the block in which it is live now, from 1 */
	int *behind; /* [nreg] the last visited block at whose end it is live, from 1 */
	int *wrote, *used; /* [nreg] the last walk that found it written, read */
	int walks;
	int *number, *numbered; /* [nreg] its index in a section, and that section, from 1 */
	int pieces;
	int64_t work;
} Lives;

/* Analyzes entry `name`; l->b.a must be set. Returns false if the module has no such entry. */
bool lives_find(Lives *l, const char *ptx, const char *name);

/* A statement of straight-line code, with the values that it writes and reads. */
typedef struct PressureStep {
	const PressureIns *x;
	int *value; /* nout written, then nin read; distinct */
	int nout, nin;
} PressureStep;

/* Straight-line code, with its own value indices. */
typedef struct Steps {
	PressureStep *step;
	int n;
	uint8_t *halves; /* [nvalue], as Body.halves */
	bool *live;      /* [nvalue] it is live at the end */
	int nvalue, cap;
	int64_t work;
} Steps;

/* Returns the statements of block p that are code, repeated `turns` times. */
void lives_steps(Lives *l, const PtxBlock *p, int turns, Steps *out);

/* Returns an upper bound of the registers of block p, in any order. */
int64_t lives_bound(const Lives *l, const PtxBlock *p);

/* ---- pressure_heap.c --------------------------------------------------------------------------- */

typedef struct HeapItem {
	int64_t key;
	int what;
} HeapItem;

/* Initialized to zeros; the minimum is at[0]. */
typedef struct Heap {
	HeapItem *at;
	int n, cap;
} Heap;

void heap_push(Arena *a, Heap *h, int64_t key, int what);
void heap_pop(Heap *h);

/* ---- reg_pressure_bottom_up.c, reg_pressure_top_down.c ---------------------------------------------- */

/* Returns the register pressure, in halves, of the steps in an order that minimizes it. Afterwards s->live
 * is the liveness before the first step. */
int64_t pressure_least(Arena *a, Steps *s);
/* Returns the register pressure, in halves, if each load is issued as early as its users are urgent, within
 * `room` halves; more if no order fits. */
int64_t pressure_ahead(Arena *a, Steps *s, int64_t room);
#endif
