/* sparse.h - declares structured sparsity (half of each group is nonzero) and its metadata, for dots and
 * sparse_expand. */
#ifndef HEXC_SPARSE_H
#define HEXC_SPARSE_H
#include "hexc/ir/dot.h"

/* A group of `group` contiguous elements has `kept` retained values, `unit` contiguous ones for each of
 * `npos` positions: 2:4 (unit 1), 4:8 in pairs (unit 2), 1:2. */
typedef struct Sparse {
	int group, kept, unit, npos;
} Sparse;

/* Derives the sparsity of `values` and `positions` along `dim`. Returns false if types and extents do not
 * match. The expanded tile has twice the values' extent. */
bool sparse_of(const Type *values, const Type *positions, int dim, Sparse *out);
/* A sparse dot (IR.md): op->in[side] holds the values, mma_extra(op, 0) the positions. */
bool dot_is_sparse(const Op *dot);
int dot_side(const Op *dot);
/* Does the kernel contain sparse tiles? */
bool kernel_is_sparse(const Kernel *k);
/* skip: dots of sparse tiles may skip their zeros, and dots may use block scales (both the default). Else
 * neither. */
void kernel_skip_zeros(Kernel *k, bool skip);
#endif
