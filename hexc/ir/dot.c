/* dot.c - implements queries on the shape of a dot. */
#include "hexc/ir/sparse.h"

int64_t
dot_k(const Op *dot)
{
	bool first = dot_is_sparse(dot) && dot_side(dot) == 0;
	int b = dot_batch(dot);

	return first ? mma_b(dot)->type.shape[b] : mma_a(dot)->type.shape[b + 1];
}

int
dot_batch(const Op *dot)
{
	return dot->out[0]->type.rank - 2;
}
