/* fold.h - declares constants and folding rules that the files fold*.c share. */
#ifndef HEXC_FOLD_H
#define HEXC_FOLD_H
#include "hexc/ir/ir.h"

/* A constant, or a tile of equal elements: integers and bool in i, floats in f. */
typedef struct Constant {
	int64_t i;
	double f;
} Constant;

bool const_get(const Val *v, Constant *out);
/* Creates a constant of `like`'s type before op at. */
Val *const_make(Op *at, const Type *like, Constant c);
/* Evaluates o on constant operands, as the device computes it. Returns false if an operand is not constant or
 * the result is left to the device (exp etc.). */
bool const_eval(const Op *o, Constant *out);

/* Returns a value equal to o's only result, created before o if needed; NULL: no rule applies. Operands are
 * never changed. fold_identities.c: integers and bool of any shape, floats; fold_tile.c: shape ops, casts,
 * selects. */
Val *fold_int(Op *o);
Val *fold_float(Op *o);
Val *fold_tile(Op *o);
/* Folds by range analysis: values with one possible result, min and max with a known winner, x % c of a small
 * x. */
Val *fold_fact(Op *o);
#endif
