/* sparse.c - implements queries on structured sparsity and its metadata. */
#include "hexc/ir/sparse.h"

bool
sparse_of(const Type *values, const Type *positions, int dim, Sparse *out)
{
	int64_t n = values->shape[dim], m = positions->shape[dim];
	int unit = m == n ? 1 : 2;

	if (positions->dtype == D_u1) {
		*out = (Sparse){ .group = 2, .kept = 1, .unit = 1, .npos = 1 };
		return m == n;
	}
	*out = (Sparse){ .group = 4 * unit, .kept = 2 * unit, .unit = unit, .npos = 2 };
	return positions->dtype == D_u2 && m * unit == n && n % out->kept == 0;
}

bool
dot_is_sparse(const Op *dot)
{
	return dot->nin == 4;
}

int
dot_side(const Op *dot)
{
	return (int)IMM(dot, sparse);
}

bool
kernel_is_sparse(const Kernel *k)
{
	return kernel_has(k, O_sparse_expand);
}

void
kernel_skip_zeros(Kernel *k, bool skip)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_sparse_expand || (o->code == O_dot && o->nin == 3))
			IMM_SET(o, dense, !skip);
}
