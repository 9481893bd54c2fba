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

enum { CLASS_RENAME,
       CLASS_SELECT,
       CLASS_SHUFFLE,
       CLASS_SHARED };
static const char *const class_name[] = { "rename", "select", "shuffle", "shared" };

static int
classify(const Layout *from, const Layout *to)
{
	Layout a = *from, b = *to;
	int worst = CLASS_RENAME;

	for (int d = 0; d < a.ndim; d++)
		if (!layout_refine(&a, &b, d, false))
			return CLASS_SHARED;
	for (int i = 0; i < a.n; i++) {
		const Iter *x = &a.it[i], *y = &b.it[i];
		int c = CLASS_RENAME;

		if (x->axis == y->axis && (x->axis == AX_reg || x->stride == y->stride))
			continue;
		if (x->axis == AX_warp || y->axis == AX_warp)
			c = CLASS_SHARED;
		else
			c = x->axis == AX_reg ? CLASS_SELECT : CLASS_SHUFFLE;
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

Lowering *
lowering_convert(Solve *s, const Type *t, const Layout *from, const Layout *to, Res *res)
{
	Lowering *p = NEW(s->arena, Lowering);
	int bits = dtype_slot_bits(t->dtype), c = classify(from, to);
	double n = (double)s->k->warps * (double)words(to, bits), shuffles = 0, steps = 0, accesses = 0;
	int64_t waves[2] = { 0 };
	Exchange x;
	Res own = { 0 };

	p->inst = class_name[c];
	if (c == CLASS_SELECT) {
		steps = SELECT_STEPS * n;
	} else if (c == CLASS_SHUFFLE) {
		/* butterflies: for every two words one shuffle and three choices */
		bool trade = exchange_find(from, to, dtype_per_word(t->dtype), &x);

		shuffles = trade ? n * x.n / 2 : EXCHANGE_STEPS * n;
		steps = trade ? n * x.n * BUTTERFLY_STEPS : EXCHANGE_STEPS * n;
	} else if (c == CLASS_SHARED) {
		lowering_staged(s, t, from, to, true, p, waves);
		accesses = (double)(layout_cosize(p->map ? p->map : from, AX_reg) / p->vec +
		                    layout_cosize(p->map2 ? p->map2 : to, AX_reg) / p->vec2);
		accesses *= s->k->warps;
	}
	cost_conversion(s, p, shuffles, steps, waves, accesses, &own);
	p->cost = res_cycles(&own);
	res_add(res, &own, 1);
	return p;
}
