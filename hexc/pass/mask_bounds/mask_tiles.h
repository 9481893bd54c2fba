/* mask_tiles.h - declares the builders of pass mask_bounds. All insert ops before o. The tiles
 * have the shape of t. */
#ifndef HEXC_MASK_TILES_H
#define HEXC_MASK_TILES_H
#include "hexc/pass/mask_bounds/mask_bounds.h"

Type mask_type(DType d, const Type *t); /* a register tile of that element type */
Val *mask_op(Op *o, OpCode code, int nin, Val *const *in, Type t);
Val *mask_op2(Op *o, OpCode code, Val *x, Val *y, Type t);
/* Return a tile of type t with an integer or bool in each element; with the index along d; with an i64
 * scalar, which must be representable in t. */
Val *mask_number(Op *o, int64_t x, Type t);
Val *mask_index(Op *o, int d, Type t);
Val *mask_splat(Op *o, Val *x, Type t);
/* Returns the sum of coef[d] times the index along d, a tile of type t. Returns NULL if it is 0. */
Val *mask_form(Op *o, const int64_t *coef, Type t);
/* Returns the largest value of c's linear form in a tile of type t; the smallest is 0. */
int64_t mask_form_end(const MaskCond *c, const Type *t);
/* Returns a bool tile, true where c's ends admit `sum`, the values of its form, which are at most
 * `most`. NULL: they admit all. */
Val *mask_between(Op *o, const MaskCond *c, Val *sum, int64_t most);
/* Returns x && y for bool scalars or tiles, either of which may be NULL: true. */
Val *mask_both(Op *o, Val *x, Val *y);
/* Returns a bool tile of type cond with a condition without coefficients in each element. */
Val *mask_uniform(Op *o, const MaskCond *c, Type cond);

/* mask_conditions.c */
/* Do a and b hold for the same elements, and name the same dims? */
bool cond_same(const Op *o, const MaskCond *a, const MaskCond *b);
/* Returns the dim along which c is a range that names only this dim. Returns -1 if there is none. */
int cond_range_dim(const MaskCond *c, const Type *t);
/* Returns x * n: of a difference, the difference of the multiples; of y / n, where y is a multiple of n,
 * y. */
Val *mask_times(Op *o, Val *x, int64_t n);
#endif
