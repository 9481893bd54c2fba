/* mask_tiles.h - declares the builders of pass mask_bounds. All create ops before o; types of tiles have
 * the shape of t. */
#ifndef HEXC_MASK_TILES_H
#define HEXC_MASK_TILES_H
#include "hexc/pass/mask_bounds.h"

Type mask_type(DType d, const Type *t); /* a register tile of that element type */
Val *mask_op(Op *o, OpCode code, int nin, Val *const *in, Type t);
Val *mask_op2(Op *o, OpCode code, Val *x, Val *y, Type t);
/* An integer or bool in every element, the index along d, and an i64 scalar, which must be representable. */
Val *mask_number(Op *o, int64_t x, Type t);
Val *mask_index(Op *o, int d, Type t);
Val *mask_splat(Op *o, Val *x, Type t);
/* Sum of coef[d] times the index along d, an i32 tile; NULL: 0. */
Val *mask_form(Op *o, const int64_t *coef, Type t);
/* The largest value of c's linear form, whose smallest is 0. */
int64_t mask_form_end(const MaskCond *c, const Type *t);
/* Joins two conditions, scalars or tiles; NULL: true. */
Val *mask_both(Op *o, Val *x, Val *y);
/* A condition without coefficients in every element of a bool tile. */
Val *mask_uniform(Op *o, const MaskCond *c, Type cond);

/* mask_conditions.c */
/* Do they hold for the same elements, and name the same dims? */
bool cond_same(const Op *o, const MaskCond *a, const MaskCond *b);
/* The dim along which c is a range that names only this dim; -1: it is none. */
int cond_range_dim(const MaskCond *c, const Type *t);
/* x * n; of a difference, the difference of the products, and x for a quotient of a multiple by n. */
Val *mask_times(Op *o, Val *x, int64_t n);
#endif
