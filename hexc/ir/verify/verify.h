/* verify.h - declares the IR verifier and its shape rules, one per name in the `shape` column of ops.def. */
#ifndef HEXC_VERIFY_H
#define HEXC_VERIFY_H
#include "hexc/ir/ir.h"

/* Verifies structure, dominance, and types by each op's shape rule. Reports "internal: after PASS: ..." and
 * returns false if the IR is invalid. after == NULL: the IR was read from a file, and the error is one of the
 * source. */
bool kernel_verify(Kernel *k, const char *after);

/* Returns NULL if operand and result types, imm[] and blk[] of o conform to IR.md, else a phrase to follow
 * "op NAME: ". The caller has checked the counts against ops.def; operands are not NULL. */
#define OP_SHAPE(name, rule) const char *shape_##rule(Arena *a, const Op *o);
#include "hexc/ir/ops.def"

/* For the rules: types_differ formats "what: x and y"; same_shape compares all but the element type. */
const char *types_differ(Arena *a, const char *what, const Type *x, const Type *y);
bool same_shape(const Type *x, const Type *y);
/* Checks the types of out = c + x * y; the caller checks the spaces of x and y. */
const char *check_product(Arena *a, const Type *x, const Type *y, const Type *c, const Type *out);
/* Is integer x a value of t's elements? For floats, whose values are elsewhere, it is. */
bool fits_type(const Type *t, int64_t x);
/* Is v a view of a shared tile along indices? */
bool is_scattered(const Val *v);
/* Checks that operands i and i + 1 are mbarriers and a slot. */
const char *check_mbar(const Op *o, int i);
#endif
