/* mask_bounds.h - what the files of pass mask_bounds share. */
#ifndef HEXC_MASK_BOUNDS_H
#define HEXC_MASK_BOUNDS_H
#include "hexc/ir/ir.h"

/* What is outside of a tile. */
typedef struct TileBounds {
	Val *at[DIM_MAX];   /* bound along the dim; NULL: none */
	Val *from[DIM_MAX]; /* the first element that exists, where there is a bound too; NULL: 0 */
	unsigned zero;      /* bit d: elements outside along d are zero */
} TileBounds;

typedef struct Instead {
	uint32_t id;
	Val *old;
} Instead;

typedef struct Bounds {
	Kernel *k;
	TileBounds **edge;     /* by value id */
	Val **instead;   /* by value id: the masked tile that takes its place; NULL: itself */
	uint32_t n;      /* entries of both; values made later have none unless set */
	uint32_t *copies, *stores; /* by id of an alloc's result: how many write it */
	Instead *undo;
	int nundo, undo_cap;
	bool changed;
} Bounds;

/* mask_bounds.c */
const TileBounds *edge_of(const Bounds *b, const Val *v);     /* never NULL */
void edge_set(Bounds *b, const Val *v, const TileBounds *e);
/* The edges of what is read from memory value v by op o. */
TileBounds edges_of_memory(Bounds *b, Op *o, Val *v);
/* x with f or i outside of from (NULL: 0) and bound along d, in front of o. */
Val *mask_new(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound, double f, int64_t i);
/* x with zeros outside along d, for o and all that follows it. */
Val *mask_zero(Bounds *b, Op *o, Val *x, int d, Val *from, Val *bound);
/* The rules: column `edge` of ops.def.  Edges of the results of o, masks for its operands. */
#define OP_EDGE(name, rule) void edge_##rule(Bounds *b, Op *o);
#include "hexc/ir/ops.def"
#endif
