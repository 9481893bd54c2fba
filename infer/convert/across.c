/* across.c - reductions over several warps.
 *
 * Each warp has its part of every result it knows of; a staging tile holds the parts, of the result's
 * shape but for the reduced dim, where the warps stand.  One lane writes a part, and all threads that want
 * a result read its parts and add them up in one order, so that replicas are equal bit for bit.  Where the
 * parts lie, and how many an access takes, is searched as for a conversion from the writers' layout to the
 * readers'. */
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"

/* Who has which part: the result's layout with the operand's warps along the dim, of lanes the first. */
static bool
writers(Layout *w, const Layout *in, const Layout *out, int dim)
{
	bool ok = true;

	layout_init(w, out->ndim);
	for (int d = 0; d < out->ndim && ok; d++) {
		const Layout *l = d == dim ? in : out;

		for (int i = l->first[d]; i < l->first[d + 1] && ok; i++)
			if (d != dim || l->it[i].axis == AX_warp)
				ok = layout_push(w, d, l->it[i].extent, l->it[i].stride, (Axis)l->it[i].axis);
	}
	for (int i = 0; i < in->nrep && ok; i++)
		ok = layout_push_rep(w, in->rep[i].extent, in->rep[i].stride, (Axis)in->rep[i].axis);
	for (int i = in->first[dim]; i < in->first[dim + 1] && ok; i++)
		if (in->it[i].axis == AX_lane)
			ok = layout_push_rep(w, in->it[i].extent, in->it[i].stride, AX_lane);
	return ok;
}

/* Who wants which: everyone all parts of its results, those of one side by side or those of one warp. */
static bool
readers(Layout *r, const Layout *out, int dim, int64_t warps, bool by_result)
{
	int64_t regs = layout_cosize(out, AX_reg);
	bool ok = true;

	layout_init(r, out->ndim);
	for (int d = 0; d < out->ndim && ok; d++) {
		for (int i = out->first[d]; i < out->first[d + 1] && ok; i++) {
			const Iter *it = &out->it[i];
			int64_t times = by_result && it->axis == AX_reg ? warps : 1;

			ok = layout_push(r, d, it->extent, it->stride * times, (Axis)it->axis);
		}
		if (d == dim && ok)
			ok = layout_push(r, d, warps, by_result ? 1 : regs, AX_reg);
	}
	for (int i = 0; i < out->nrep && ok; i++)
		ok = layout_push_rep(r, out->rep[i].extent, out->rep[i].stride, (Axis)out->rep[i].axis);
	return ok;
}

/* Instructions of one side, all warps. */
static double
accesses(const Solve *s, const Layout *l, int vec)
{
	return (double)(layout_cosize(l, AX_reg) / vec * s->k->warps);
}

Pick *
reduction(Solve *s, const Op *o, Res *res)
{
	const Layout *in = operand(s, o, 0), *out = result(s, o, 0);
	int dim = (int)o->imm[0];
	int64_t warps = layout_extent_on(in, dim, AX_warp);
	Type t = o->out[0]->type;
	Layout *w = NEW(s->arena, Layout);
	Pick *best = NEW(s->arena, Pick);
	Res least = { 0 };

	best->inst = "reduce_shuffle";
	if (warps == 1)
		return best;
	t.dtype = reduction_part(t.dtype);
	t.shape[dim] = warps;
	for (int by_result = 1; by_result >= 0; by_result--) {
		Layout *r = NEW(s->arena, Layout);
		Pick *p = NEW(s->arena, Pick);
		Res own = { 0 };
		int64_t waves[2];

		BUG_IF(s->arena, !writers(w, in, out, dim) || !readers(r, out, dim, warps, by_result));
		p->inst = "reduce_shared";
		stage(s, &t, w, r, false, p, waves);
		p->map = w;
		p->map2 = r;
		price_conversion(s, p, 0, 0, waves, accesses(s, w, p->vec) + accesses(s, r, p->vec2), &own);
		if (by_result || res_cycles(&own) < res_cycles(&least)) {
			best = p;
			least = own;
		}
	}
	res_add(res, &least, 1);
	return best;
}
