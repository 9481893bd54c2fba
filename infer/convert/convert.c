/* convert.c - lowers the conversion of a tile from one register layout to another, by the cheapest possible
 * method.
 *
 * Both layouts are split into common modes, dim by dim; each mode then determines what it needs:
 *
 *   register -> register             a renaming, free
 *   register -> lane                 every lane has the element: each selects its own, dynamically
 *   lane -> another lane or register another lane of the warp has it: shuffle, or butterflies (butterfly.c)
 *   warp <-> anything else           through shared memory */
#include "infer/convert/convert.h"
#include "infer/core/cost_constants.h"
#include "infer/cost/cost.h"
#include "taskmap/butterfly.h"

/* Classifies a conversion by its most expensive mode.  *sources: registers that lanes select from, per result
 * register. */
static LoweringKind
classify(const Layout *from, const Layout *to, int64_t *sources)
{
	Layout a = *from, b = *to;
	LoweringKind worst = LW_rename;

	*sources = 1;
	for (int d = 0; d < a.ndim; d++)
		if (!layout_refine(&a, &b, d, false))
			return LW_shared;
	for (int i = 0; i < a.n; i++) {
		const Iter *x = &a.it[i], *y = &b.it[i];
		LoweringKind c = LW_rename;

		if (x->axis == y->axis && (x->axis == AX_reg || x->stride == y->stride))
			continue;
		if (x->axis == AX_reg && y->axis == AX_lane)
			*sources *= x->extent;
		if (x->axis == AX_warp || y->axis == AX_warp)
			c = LW_shared;
		else
			c = x->axis == AX_reg ? LW_select : LW_shuffle;
		if (c > worst)
			worst = c;
	}
	return worst;
}

/* Returns the registers per thread for element slots of `bits` bits. */
static int64_t
words(const Layout *l, int bits)
{
	return ceil_div(layout_cosize(l, AX_reg) * bits, 32);
}

/* Returns the instructions per warp of one side of a staging tile, for register layout l. */
static int64_t
side_accesses(const LoweredAccess *a, const Layout *l)
{
	return layout_cosize(a->map ? a->map : l, AX_reg) / a->vec;
}

/* Lowers a conversion through shared memory. */
static void
stage(Solve *s, const Type *t, const Layout *from, const Layout *to, Lowering *p, Res *res)
{
	int64_t waves[2] = { 0 };
	double accesses;

	p->kind = LW_shared;
	stage_find(s, t, from, to, true, &p->staged, waves);
	accesses = s->k->warps * (double)(side_accesses(&p->staged.write, from) +
	                                  side_accesses(&p->staged.read, to));
	cost_conversion(s, p, 0, 0, waves, accesses, res);
}

/* Lowers a conversion between lanes of a warp, each of which may need one of `sources` registers of another.
 * A butterfly takes one shuffle and three selects for two registers; other exchanges may be cheaper through
 * shared memory. */
static void
exchange(Solve *s, const Type *t, const Layout *from, const Layout *to, int64_t sources, Lowering *p,
         Res *res)
{
	double n = (double)s->k->warps * (double)words(to, dtype_slot_bits(t->dtype));
	Exchange x;

	if (exchange_find(from, to, dtype_per_word(t->dtype), &x)) {
		cost_conversion(s, p, n * x.n / 2.0, n * x.n * BUTTERFLY_STEPS, NULL, 0, res);
	} else {
		double shuffles = n * (double)max64(sources, EXCHANGE_STEPS);
		Lowering staged = { 0 };
		Res other = { 0 };

		cost_conversion(s, p, shuffles, shuffles, NULL, 0, res);
		stage(s, t, from, to, &staged, &other);
		if (res_cycles(&other) < res_cycles(res)) {
			*p = staged;
			*res = other;
		}
	}
}

Lowering *
lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res)
{
	Lowering *p = NEW(s->arena, Lowering);
	int bits = dtype_slot_bits(t->dtype);
	int64_t sources;
	Res own = { 0 };

	p->kind = classify(from, to, &sources);
	if (p->kind == LW_select)
		cost_conversion(s, p, 0, SELECT_STEPS * s->k->warps * (double)words(to, bits), NULL, 0, &own);
	else if (p->kind == LW_shuffle)
		exchange(s, t, from, to, sources, p, &own);
	else if (p->kind == LW_shared)
		stage(s, t, from, to, p, &own);
	if (lowering_is_staged(p))
		s->narrow = s->narrow || p->staged.write.vec * bits < 32;
	p->cost = res_cycles(&own);
	res_add(res, &own, 1);
	return p;
}
