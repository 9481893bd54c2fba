/* sparse.h - structured sparsity: groups of neighbours of which half are kept, and where in the group each
 * kept one stands. */
#ifndef HEXC_SPARSE_H
#define HEXC_SPARSE_H
#include "hexc/ir/dot.h"

/* A group of `group` neighbours along the dim is made of `kept` values, `unit` of them side by side for each
 * of `npos` positions: 2 of 4 (unit 1), 4 of 8 in pairs (unit 2), 1 of 2. */
typedef struct Sparse {
	int group, kept, unit, npos;
} Sparse;

/* What tiles of values and positions mean along `dim`; false: their types and extents there mean nothing.
 * The tile that they make has twice the values' extent. */
bool sparse_of(const Type *values, const Type *positions, int dim, Sparse *out);
/* A dot of half an operand (IR.md): op->in[side] holds the values, op->in[3] the positions. */
bool dot_is_sparse(const Op *dot);
int dot_side(const Op *dot);
/* Are there sparse tiles? */
bool kernel_is_sparse(const Kernel *k);
/* Products of them are to skip their zeros where they can, as they do of themselves, or to go over them. */
void kernel_skip_zeros(Kernel *k, bool skip);
#endif
