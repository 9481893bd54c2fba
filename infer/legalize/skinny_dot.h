/* skinny_dot.h - products of few rows or columns as sums (skinny_dot.c), of some of k after the others (skinny_dot_k_slices.c). */
#ifndef HEXC_SKINNY_DOT_H
#define HEXC_SKINNY_DOT_H
#include "hexc/ir/ir.h"

/* Where ops are put, and for what the program says. */
typedef struct InsertPoint {
	Block *in;
	Op *at; /* NULL: at the end */
	Src src;
} InsertPoint;

/* ---- skinny_dot.c --------------------------------------------------------------------------------------- */
/* The op of x and y, or of x, or of nothing. */
Val *thin_put(InsertPoint p, OpCode code, Val *x, Val *y, Type t);
/* `sum`, or nothing, and the products of what both factors have for n indices of k, [.., M, N, n]. */
Val *thin_add_terms(InsertPoint p, Val *const *factor, Type all, int64_t n, Val *sum);

/* ---- skinny_dot_k_slices.c --------------------------------------------------------------------------------- */
/* The terms of the dot, [.., M, N, n], of which each is the sum of those that are n apart along k; NULL: they
 * are few enough, or cannot be parted. */
Val *thin_terms_in_parts(Kernel *k, InsertPoint p, const Op *dot, Type all);
#endif
