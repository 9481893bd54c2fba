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
/* fold_views.c: views of shared tiles; and reshapes that only add or drop extents of 1, where elementwise ops
 * stand between one and the reshape back. find_reshapes_back finds, by Val.id, the type that such a reshape
 * gives to a value or to what elementwise ops compute from it. fold_round_trip moves o before the first. */
Val *fold_view(Op *o);
void find_reshapes_back(Kernel *k, const Type **back);
Val *fold_round_trip(Op *o, const Type *to);
#endif
