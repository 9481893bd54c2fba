/* skinny_dot.h - declares the lowering of skinny dots to reductions (skinny_dot.c), by k slices
 * (skinny_dot_k_slices.c). */
#ifndef HEXC_SKINNY_DOT_H
#define HEXC_SKINNY_DOT_H
#include "hexc/ir/ir.h"

/* Insertion point and source location of new ops. */
typedef struct InsertPoint {
	Block *in;
	Op *at; /* NULL: at the end */
	Src src;
} InsertPoint;

/* ---- skinny_dot.c ----------------------------------------------------------------------------------- */
/* Inserts the op with operands x and y, x only, or none. */
Val *thin_put(InsertPoint p, OpCode code, Val *x, Val *y, Type t);
/* Returns the products of both operands for n indices of k, [.., M, N, n], plus `sum` unless it is NULL. */
Val *thin_add_terms(InsertPoint p, Val *const *factor, Type all, int64_t n, Val *sum);

/* ---- skinny_dot_k_slices.c -------------------------------------------------------------------------- */
/* Returns the terms of the dot, [.., M, N, n], each the sum of those with stride n along k. NULL if they
 * are few enough, or cannot be split. */
Val *thin_terms_in_parts(Kernel *k, InsertPoint p, const Op *dot, Type all);
#endif
