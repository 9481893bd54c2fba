/* mask_bounds.h - declares the bounds of tiles that the files of pass mask_bounds share. */
#ifndef HEXC_MASK_BOUNDS_H
#define HEXC_MASK_BOUNDS_H
#include "hexc/ir/ir.h"

/* The in-bounds region of a tile; elements outside of it are out of bounds. */
typedef struct TileBounds {
	Val *at[DIM_MAX];   /* upper bound along the dim; NULL: none */
	Val *from[DIM_MAX]; /* first in-bounds element, if there is an upper bound too; NULL: 0 */
	unsigned zero;      /* bit d: out-of-bounds elements along d are zero */
} TileBounds;

typedef struct Instead {
	uint32_t id;
	Val *old;
} Instead;

typedef struct Bounds {
	Kernel *k;
	TileBounds **edge;     /* by value id */
	Val **instead;   /* by value id: the masked tile that replaces it; NULL: itself */
	uint32_t n;      /* entries of both; values created later have none unless set */
	uint32_t *copies, *stores; /* by id of an alloc's result: number of writers */
	Instead *undo;
	int nundo, undo_cap;
	bool changed;
} Bounds;

/* mask_bounds.c */
const TileBounds *edge_of(const Bounds *b, const Val *v);     /* never NULL */
void edge_set(Bounds *b, const Val *v, const TileBounds *e);
/* Bounds of what op o reads from memory value v. */
TileBounds edges_of_memory(Bounds *b, Op *o, Val *v);
/* Returns x with f or i outside of [from, bound) along d, computed before o; from NULL: 0. */
Val *mask_new(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound, double f, int64_t i);
/* Returns x with out-of-bounds zeros along d; it replaces x in o and all following ops. */
Val *mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound);
/* Rules, column `edge` of ops.def: bounds of the results of o, and masks for its operands. */
#define OP_EDGE(name, rule) void edge_##rule(Bounds *b, Op *o);
#include "hexc/ir/ops.def"
#endif
