/* fold.h - inside fold*.c. */
#ifndef HEXC_FOLD_H
#define HEXC_FOLD_H
#include "hexc/ir/ir.h"

/* A constant, or a tile of equal elements: integers and bool in i, floats in f. */
typedef struct Constant {
	int64_t i;
	double f;
} Constant;

bool const_get(const Val *v, Constant *out);
/* `like`'s type; its value in front of op at. */
Val *const_make(Op *at, const Type *like, Constant c);
/* o's value when all operands are constants, as the device computes it; false: not known here (exp
 * and the like are left to the device). */
bool const_eval(const Op *o, Constant *out);

/* A value that o's only result equals, made in front of o if need be; NULL: none.  Operands are
 * never changed.  fold_identities.c: integers and bool of any shape, floats;  fold_tile.c: shape ops, casts,
 * choices. */
Val *fold_int(Op *o);
Val *fold_float(Op *o);
Val *fold_tile(Op *o);
/* From val_fact: values with one possible result, min and max with a known winner, x % c of a small
 * x. */
Val *fold_fact(Op *o);
#endif
