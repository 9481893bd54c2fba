/* verify.h - is the IR sound?  And its shape rules: one per name in the `shape` column of ops.def. */
#ifndef HEXC_VERIFY_H
#define HEXC_VERIFY_H
#include "hexc/ir/ir.h"

/* Structure, dominance, types by each op's shape rule.  Reports "internal: after PASS: ..." and returns
 * false when the IR is broken.  NULL: it is nobody's of the compiler, but was read: an error of the source. */
bool kernel_verify(Kernel *k, const char *after);

/* NULL when operand and result types, imm[] and blk[] of o are as IR.md says, else what is wrong: a
 * phrase that goes behind "op NAME: ".  Operand and result counts were checked against ops.def
 * before; operands are not NULL. */
#define OP_SHAPE(name, rule) const char *shape_##rule(Arena *a, const Op *o);
#include "hexc/ir/ops.def"

/* For the rules: "what: x and y"; are x and y the same but for the type of elements? */
const char *types_differ(Arena *a, const char *what, const Type *x, const Type *y);
bool same_shape(const Type *x, const Type *y);
/* x times y is added to c and gives `out`; where x and y are is the caller's matter. */
const char *check_product(Arena *a, const Type *x, const Type *y, const Type *c, const Type *out);
/* Operands i and i + 1 are barriers and a slot. */
const char *check_mbar(const Op *o, int i);
#endif
