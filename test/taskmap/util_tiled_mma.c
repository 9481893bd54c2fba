/* util_tiled_mma.c - distributes an mma instruction over warps and repeats it in time: three TV layouts. */
#include "test/taskmap/util_cute.h"

/* The TV of a tile with `rows` rows, rewritten for a tile with `times` as many: index i + rows*j becomes
 * i + times*rows*j. */
static bool
mma_embed(Layout *l, int64_t rows, int64_t times)
{
	Iter r[ITER_MAX];
	int n = 0;

	if (!modes_plain(l))
		return false;
	for (int i = 0; i < l->n; i++) {
		int64_t s = l->it[i].extent, d = l->it[i].stride;

		if (d > 0 && d < rows && d * (s - 1) >= rows) {
			if (rows % d || s % (rows / d) || n == ITER_MAX)
				return false;
			r[n++] = (Iter){ .extent = rows / d, .stride = d };
			s /= rows / d;
			d = rows;
		}
		if (d % rows && d > rows)
			return false;
		if (n == ITER_MAX || (d >= rows && !mul64(d, times, &d)))
			return false;
		r[n++] = (Iter){ .extent = s, .stride = d };
	}
	layout_init(l, 1);
	for (int i = 0; i < n; i++)
		layout_push(l, 0, r[i].extent, r[i].stride, AX_mem);
	return true;
}

/* One operand: its tile of rows x cols gets rm x rn copies at the places of `grid`, where a step along n
 * counts only when `along_n`, one along m only when `along_m`. */
static bool
mma_operand(Layout *t, Layout *v, int64_t rows, int64_t cols, int64_t rm, int64_t rn,
            const Layout *grid, bool along_m, bool along_n, bool threads)
{
	int64_t row_copies = along_m ? rm : rn, step_n;
	Layout *grow = threads ? t : v;

	/* C has both, its columns go along n; the rows of A are m, the rows of B are n */
	step_n = along_m ? rows * row_copies * cols : rows;
	if (along_m && !along_n)
		step_n = 0;
	if (!mma_embed(t, rows, row_copies) || !mma_embed(v, rows, row_copies))
		return false;
	for (int i = 0; i < grid->n; i++) {
		int64_t s = grid->it[i].extent, d = grid->it[i].stride;

		while (s > 1) {
			int64_t part = s, stride;

			if (d > 0 && d < rm && d * (s - 1) >= rm) {
				if (rm % d || s % (rm / d))
					return false;
				part = rm / d;
			}
			if (d >= rm && d % rm)
				return false;
			stride = d < rm ? (along_m ? d * rows : 0) : d / rm * step_n;
			if ((threads || stride > 0) && !layout_push(grow, 0, part, stride, AX_mem))
				return false;
			s /= part;
			d *= part;
		}
	}
	return cute_coalesce(t, t) && cute_coalesce(v, v);
}

static bool
mma_grow(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid, bool threads)
{
	TiledMma r = *in;
	Layout cols;

	if (rm < 1 || rn < 1)
		return false;
	if (!grid) {
		layout_init(&cols, 1);
		if (!layout_push(&cols, 0, rm * rn, 1, AX_mem))
			return false;
		grid = &cols;
	}
	if (!modes_plain(grid) || layout_size(grid) != rm * rn)
		return false;
	if (!mma_operand(&r.ta, &r.va, in->m, in->k, rm, rn, grid, true, false, threads) ||
	    !mma_operand(&r.tb, &r.vb, in->n, in->k, rm, rn, grid, false, true, threads) ||
	    !mma_operand(&r.tc, &r.vc, in->m, in->n, rm, rn, grid, true, true, threads))
		return false;
	r.m = in->m * rm;
	r.n = in->n * rn;
	*out = r;
	return true;
}

bool
tiled_mma_grid(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid)
{
	return mma_grow(out, in, rm, rn, grid, true);
}

bool
tiled_mma_repeat(TiledMma *out, const TiledMma *in, int64_t rm, int64_t rn, const Layout *grid)
{
	return mma_grow(out, in, rm, rn, grid, false);
}

bool
tiled_mma_layouts(const TiledMma *in, Layout *a, Layout *b, Layout *c)
{
	int64_t sa[2] = { in->m, in->k }, sb[2] = { in->n, in->k }, sc[2] = { in->m, in->n };

	return layout_from_tv(a, &in->ta, &in->va, 2, sa) &&
	       layout_from_tv(b, &in->tb, &in->vb, 2, sb) && layout_from_tv(c, &in->tc, &in->vc, 2, sc);
}
