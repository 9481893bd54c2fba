/* eval.c - from coordinates to places and back. */
#include "taskmap/modes.h"
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

/* Add the digits of coordinate c of one dim.  The last digit takes what is left. */
static inline void
eval_dim(Place *p, const Iter *it, const Iter *end, int64_t c)
{
	for (; it < end; it++) {
		int64_t q = it + 1 < end ? fast_div(c, it->extent) : 0;

		p->at[it->axis] += (c - q * it->extent) * it->stride;
		c = q;
	}
}

Place
layout_at(const Layout *l, const int64_t *coord)
{
	Place p;

	memcpy(p.at, l->offset, sizeof p.at);
	for (int d = 0; d < l->ndim; d++)
		eval_dim(&p, &l->it[l->first[d]], &l->it[l->first[d + 1]], coord[d]);
	p.at[AX_mem] = swizzle_apply(l->swizzle, p.at[AX_mem]);
	return p;
}

Place
layout_at_index(const Layout *l, int64_t index)
{
	Place p;

	memcpy(p.at, l->offset, sizeof p.at);
	eval_dim(&p, l->it, l->it + l->n, index);
	p.at[AX_mem] = swizzle_apply(l->swizzle, p.at[AX_mem]);
	return p;
}

void
layout_coord(const Layout *l, const Place *p, int64_t *coord)
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
		coord[d] = c;
	}
}

/* ---- when a swizzle may be applied to the base alone --------------------------------------------- */

/* What adding x to any base that is a multiple of 2^align must leave alone: bits of the base from
 * `lo` up to `hi`.  It does when x has none of these bits, and nothing below carries into them: below
 * 2^align the base is 0, so x alone cannot carry; from there up any x bit can. */
static bool
eval_field_kept(uint64_t x, int align, int lo, int hi)
{
	uint64_t field = (((uint64_t)1 << hi) - 1) & ~(((uint64_t)1 << lo) - 1);

	if (x & field)
		return false;
	return lo <= align || ((x & (((uint64_t)1 << lo) - 1)) >> align) == 0;
}

static bool
eval_commutes_at(Swizzle s, int align, int64_t x)
{
	int src = s.base + (s.shift > 0 ? s.shift : 0);
	int dst = s.base - (s.shift < 0 ? s.shift : 0);
	int fixed = align > src ? align - src : 0; /* source bits that are 0 in every base */

	if (!eval_field_kept((uint64_t)x, align, src, src + s.bits))
		return false;
	return fixed >= s.bits || eval_field_kept((uint64_t)x, align, dst + fixed, dst + s.bits);
}

bool
swizzle_commutes(Swizzle s, const Layout *offsets, int64_t align)
{
	const Iter *it[ITER_MAX];
	int64_t digit[ITER_MAX];
	int64_t x = offsets->offset[AX_mem];
	int64_t period; /* only bits below it are read or changed */
	int n = 0, low = 0, i;

	if (s.bits <= 0)
		return true;
	period = (int64_t)1 << (s.base + s.bits + (s.shift < 0 ? -s.shift : s.shift));
	while (low < 60 && align > 0 && !(align >> low & 1))
		low++;
	for (i = 0; i < offsets->n; i++) {
		if (offsets->it[i].axis == AX_mem && offsets->it[i].extent > 1 &&
		    offsets->it[i].stride % period != 0) {
			it[n] = &offsets->it[i];
			digit[n++] = 0;
		}
	}
	do {
		if (!eval_commutes_at(s, low, x))
			return false;
		for (i = 0; i < n; i++) {
			x += it[i]->stride;
			if (++digit[i] < it[i]->extent)
				break;
			x -= it[i]->extent * it[i]->stride;
			digit[i] = 0;
		}
	} while (i < n);
	return true;
}

bool
layout_first_replica(const Layout *l, int64_t lane, int64_t warp)
{
	for (int i = 0; i < l->nrep; i++) {
		const Iter *r = &l->rep[i];
		int64_t at = r->axis == AX_lane ? lane : r->axis == AX_warp ? warp
		                                                            : 0;
		if (at / r->stride % r->extent)
			return false;
	}
	return true;
}
