/* convert.c - from one register layout to another, by the cheapest means that can do it.
 *
 * Both layouts are split into the same digits, dim by dim; then each digit says what must happen to it:
 *
 *   register -> register             a renaming, free
 *   register -> lane                 every lane has it: each picks its own, dynamically
 *   lane -> another lane or register another lane of the warp has it: a shuffle, or butterflies (exchange.c)
 *   warp <-> anything else           through shared memory */
#include "infer/convert/convert.h"
#include "infer/base/model.h"
#include "infer/cost/cost.h"
#include "taskmap/exchange.h"

/* By cost: a conversion is as dear as its dearest digit.  Of how many registers the lanes want one each, for
 * a register of the result, is in *sources. */
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

/* Words of a lane, whose elements have slots of so many bits. */
static int64_t
words(const Layout *l, int bits)
{
	return ceil_div(layout_cosize(l, AX_reg) * bits, 32);
}

/* Instructions of a warp for one side of a staging tile, whose registers are laid out as l. */
static int64_t
side_accesses(const LoweredAccess *a, const Layout *l)
{
	return layout_cosize(a->map ? a->map : l, AX_reg) / a->vec;
}

Lowering *
lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res)
{
	Lowering *p = NEW(s->arena, Lowering);
	int bits = dtype_slot_bits(t->dtype);
	double n = (double)s->k->warps * (double)words(to, bits), shuffles = 0, steps = 0, accesses = 0;
	int64_t waves[2] = { 0 };
	int64_t sources;
	Exchange x;
	Res own = { 0 };

	p->kind = classify(from, to, &sources);
	if (p->kind == LW_select) {
		steps = SELECT_STEPS * n;
	} else if (p->kind == LW_shuffle) {
		/* butterflies: for every two words one shuffle and three choices */
		bool trade = exchange_find(from, to, dtype_per_word(t->dtype), &x);

		shuffles = n * (trade ? x.n / 2.0 : (double)max64(sources, EXCHANGE_STEPS));
		steps = trade ? n * x.n * BUTTERFLY_STEPS : shuffles;
	} else if (p->kind == LW_shared) {
		stage_find(s, t, from, to, true, &p->staged, waves);
		accesses = s->k->warps * (double)(side_accesses(&p->staged.write, from) +
		                                  side_accesses(&p->staged.read, to));
		s->narrow = s->narrow || p->staged.write.vec * bits < 32;
	}
	cost_conversion(s, p, shuffles, steps, waves, accesses, &own);
	p->cost = res_cycles(&own);
	res_add(res, &own, 1);
	return p;
}
