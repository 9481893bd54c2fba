/* cross_warp_reduce.c - lowers reductions whose dim is distributed over several warps, through a staging tile
 * in shared memory.
 *
 * Each warp has a partial sum of every result that it contributes to.  The staging tile has the shape of
 * the result, with the warps in place of the reduced dim.  One lane writes a partial sum.  All threads
 * that own a result read its partial sums and add them in the same order, so that replicas are bitwise
 * equal.  Address layout and access widths are searched as for a conversion from the writers' layout to
 * the readers'. */
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"

/* Computes the writers' layout: the result's layout with the operand's warps along the dim; the first lane
 * writes. */
static bool
writers(Layout *w, const Layout *in, const Layout *out, int dim)
{
	bool ok = true;

	layout_init(w, out->ndim);
	for (int d = 0; d < out->ndim && ok; d++)
		ok = d == dim || layout_push_dim(w, d, out, d);
	ok = ok && layout_push_reps(w, in);
	for (Digit g = dim_digits(in, dim); g.it && ok; digit_next(&g))
		if (g.it->axis == AX_warp)
			ok = layout_push(w, dim, g.it->extent, g.it->stride, AX_warp);
		else if (g.it->axis == AX_lane)
			ok = layout_push_rep(w, g.it->extent, g.it->stride, AX_lane);
	return ok;
}

/* Computes the readers' layout: each owner of a result reads all its partial sums, with those of one result
 * or those of one warp adjacent. */
static bool
readers(Layout *r, const Layout *out, int dim, int64_t warps, bool by_result)
{
	bool ok = true;

	layout_init(r, out->ndim);
	for (int d = 0; d < out->ndim && ok; d++)
		ok = layout_push_dim(r, d, out, d);
	if (by_result)
		layout_scale(r, AX_reg, warps);
	return ok && layout_push_reps(r, out) &&
	       (by_result ? layout_push(r, dim, warps, 1, AX_reg) : mapping_repeat(r, dim, warps));
}

/* Returns the instructions of one side, over all warps. */
static double
accesses(const Solve *s, const Layout *l, int vec)
{
	return (double)(layout_cosize(l, AX_reg) / vec * s->k->warps);
}

Lowering *
lowering_reduce(Solve *s, const Op *o, Res *res)
{
	const Layout *in = operand_layout(s, o, 0), *out = result_layout(s, o, 0);
	int dim = (int)IMM(o, dim);
	int64_t warps = layout_extent_on(in, dim, AX_warp);
	Type t = o->out[0]->type;
	Layout *w = NEW(s->arena, Layout);
	Lowering *best = NEW(s->arena, Lowering);
	Res least = { 0 };

	best->kind = LW_reduce_shuffle;
	if (warps == 1)
		return best;
	t.dtype = dtype_accumulator(t.dtype);
	t.shape[dim] = warps;
	for (int by_result = 1; by_result >= 0; by_result--) {
		Layout *r = NEW(s->arena, Layout);
		Lowering *p = NEW(s->arena, Lowering);
		Res own = { 0 };
		int64_t waves[2];

		BUG_IF(s->arena, !writers(w, in, out, dim) || !readers(r, out, dim, warps, by_result));
		p->kind = LW_reduce_shared;
		stage_find(s, &t, w, r, false, &p->staged, waves);
		p->staged.write.map = w;
		p->staged.read.map = r;
		cost_conversion(s, p, 0, 0, waves,
		                accesses(s, w, p->staged.write.vec) + accesses(s, r, p->staged.read.vec),
		                &own);
		if (by_result || res_cycles(&own) < res_cycles(&least)) {
			best = p;
			least = own;
		}
	}
	if (!IMM(o, deferrable)) /* after the loop it runs once */
		res_add(res, &least, 1);
	return best;
}
