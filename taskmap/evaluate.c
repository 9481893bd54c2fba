/* evaluate.c - evaluates layouts: from element indices to coordinates and back. */
#include "taskmap/layout.h"
#include <string.h>

int64_t
swizzle_apply(Swizzle s, int64_t x)
{
	uint64_t u = (uint64_t)x, mask;

	if (s.bits <= 0)
		return x;
	mask = ((uint64_t)1 << s.bits) - 1;
	if (s.shift >= 0)
		u ^= (u >> (s.base + s.shift) & mask) << s.base;
	else
		u ^= (u >> s.base & mask) << (s.base - s.shift);
	return (int64_t)u;
}

/* Adds the digits of coordinate c of one dim.  The last digit takes what is left. */
static inline void
eval_dim(Coord *p, const Iter *it, const Iter *end, int64_t c)
{
	for (; it < end; it++) {
		int64_t q = it + 1 < end ? fast_div(c, it->extent) : 0;

		p->at[it->axis] += (c - q * it->extent) * it->stride;
		c = q;
	}
}

Coord
layout_at(const Layout *l, const int64_t *index)
{
	Coord p;

	memcpy(p.at, l->offset, sizeof p.at);
	for (int d = 0; d < l->ndim; d++)
		eval_dim(&p, &l->it[l->first[d]], &l->it[l->first[d + 1]], index[d]);
	p.at[AX_mem] = swizzle_apply(l->swizzle, p.at[AX_mem]);
	return p;
}

Coord
layout_at_index(const Layout *l, int64_t index)
{
	Coord p;

	memcpy(p.at, l->offset, sizeof p.at);
	eval_dim(&p, l->it, l->it + l->n, index);
	p.at[AX_mem] = swizzle_apply(l->swizzle, p.at[AX_mem]);
	return p;
}

void
layout_index(const Layout *l, const Coord *p, int64_t *index)
{
	int64_t mem = swizzle_apply(l->swizzle, p->at[AX_mem]) - l->offset[AX_mem];

	for (int d = 0; d < l->ndim; d++) {
		int64_t c = 0, weight = 1;

		for (int i = l->first[d]; i < l->first[d + 1]; i++) {
			const Iter *it = &l->it[i];
			int64_t at = it->axis == AX_mem ? mem : p->at[it->axis] - l->offset[it->axis];

			if (it->stride > 0 && at > 0) {
				int64_t q = fast_div(at, it->stride);
				c += weight * (q - fast_div(q, it->extent) * it->extent);
			}
			weight *= it->extent;
		}
		index[d] = c;
	}
}

Coord
layout_dim_at(const Layout *l, int dim, int64_t c)
{
	Coord p = { { 0 } };

	eval_dim(&p, &l->it[l->first[dim]], &l->it[l->first[dim + 1]], c);
	return p;
}

/* ---- element numbers ------------------------------------------------------------------------------- */

void
row_major_coord(int ndim, const int64_t *shape, int64_t i, int64_t *index)
{
	for (int d = ndim - 1; d >= 0; d--) {
		index[d] = i % shape[d];
		i /= shape[d];
	}
}

int64_t
row_major_index(int ndim, const int64_t *shape, const int64_t *index)
{
	int64_t i = 0;

	for (int d = 0; d < ndim; d++)
		i = i * shape[d] + index[d];
	return i;
}
