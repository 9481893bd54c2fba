/* reshape_layout.c - finds a layout that is valid for two shapes of the same elements.
 *
 * Row-major indices do not change, so a layout of one shape is also one of the other if none of its iters
 * straddles a boundary (a product of trailing extents) of either.  Boundaries that divide each other, as
 * powers of two do, split the elements into modes that can be distributed over any threads.  Other
 * boundaries, such as 4 and 6, leave a range of positions between them.  That range must be a sequence of
 * registers, which can be split at both. */
#include "infer/memory/memory.h"
#include "infer/rules/layout_rules.h"

enum { CUT_MAX = 2 * DIM_MAX };

/* Collects the products of trailing extents of both shapes, ascending, each once; the last is the full
 * size. */
static int
boundaries(const Type *x, const Type *y, int64_t *at)
{
	const Type *t[2] = { x, y };
	int n = 0;

	for (int k = 0; k < 2; k++) {
		int64_t size = 1;

		for (int d = t[k]->rank - 1; d >= 0; d--) {
			int i = n;

			size *= t[k]->shape[d];
			for (int j = 0; j < n; j++)
				if (at[j] == size)
					i = -1;
			if (i < 0 || size == 1)
				continue;
			for (n++; i > 0 && at[i - 1] > size; i--)
				at[i] = at[i - 1];
			at[i] = size;
		}
	}
	return n;
}

/* Does the cut divide every boundary or is it divided by it? */
static bool
fits_all(int64_t cut, const int64_t *at, int n)
{
	for (int i = 0; i < n; i++)
		if (at[i] % cut && cut % at[i])
			return false;
	return true;
}

/* Computes the extents between common cuts, fastest first; returns their number, -1: too many.  *rigid has a
 * bit for those that a boundary splits further. */
static int
digits_of(const int64_t *at, int n, int64_t *extent, unsigned *rigid)
{
	int64_t low = 1;
	int ndigit = 0;

	*rigid = 0;
	while (n && low < at[n - 1]) {
		int64_t next = at[n - 1];

		for (int i = 0; i < n; i++) /* the nearest cut: a boundary, or the gcd or lcm of two */
			for (int j = 0; j <= i; j++) {
				int64_t g = gcd64(at[i], at[j]), meet[2] = { g, at[i] / g * at[j] };

				for (int k = 0; k < 2; k++)
					if (meet[k] > low && meet[k] < next && meet[k] % low == 0 &&
					    at[n - 1] % meet[k] == 0 && fits_all(meet[k], at, n))
						next = meet[k];
			}
		for (int i = 0; i < n; i++)
			if (at[i] > low && at[i] < next)
				*rigid |= 1u << ndigit;
		if (ndigit == DIM_MAX)
			return -1;
		extent[ndigit++] = next / low;
		low = next;
	}
	return ndigit;
}

bool
reshape_layout(const Solve *s, const Type *x, const Type *y, Layout *out)
{
	int64_t at[CUT_MAX], fast[DIM_MAX], shape[DIM_MAX], free[DIM_MAX], vec = 1, size = 1, regs;
	int n = boundaries(x, y, at), order[DIM_MAX], k = 0, dims;
	unsigned rigid;
	Layout l;

	dims = digits_of(at, n, fast, &rigid);
	if (dims < 1)
		return false;
	for (int i = 0; i < dims; i++) {
		shape[dims - 1 - i] = fast[i];
		free[dims - 1 - i] = rigid >> i & 1 ? 1 : fast[i];
	}
	for (int single = 0; single < 2; single++) /* last dims first, dims of extent 1 last */
		for (int d = dims - 1; d >= 0; d--) {
			size *= single ? 1 : free[d];
			if ((free[d] == 1) == single)
				order[k++] = d;
		}
	while (vec * dtype_info[x->dtype].bits < 128 && free[order[0]] % (2 * vec) == 0 &&
	       2 * vec * WARP_SIZE * s->k->warps <= size)
		vec *= 2;
	if (!coalesced_layout(&l, dims, free, order, vec, s->k->warps, false))
		return false;
	regs = layout_cosize(&l, AX_reg);
	for (int d = dims - 1; d >= 0; d--)
		if (free[d] != shape[d]) {
			if (!layout_push(&l, d, shape[d], regs, AX_reg))
				return false;
			regs *= shape[d];
		}
	return layout_reshape(out, &l, x->rank, x->shape);
}
