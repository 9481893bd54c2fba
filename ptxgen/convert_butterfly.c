/* convert_butterfly.c - emits layout conversions by butterflies (taskmap/butterfly.h): of two words whose
 * indices differ in one bit, each lane keeps one and exchanges the other with the lane whose id differs in
 * one bit. */
#include "taskmap/butterfly.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/shuffle.h"

typedef struct ExchangePlan {
	Exchange x;
	int nword;
	LV *word;  /* [stage][nword] after `stage` butterflies, created on demand */
	LV *upper; /* [stage] i1: this lane has the bit */
} ExchangePlan;

static LV
staged(Codegen *g, Op *o, ExchangePlan *p, int stage, int w)
{
	LV *at = &p->word[stage * p->nword], lo, hi, give, got, up;
	int bit, a, b;

	if (stage == 0)
		return word_get(g, op_source(o), w);
	if (at[w])
		return at[w];
	bit = (int)p->x.reg[stage - 1] / tile_of(g, op_source(o))->epw;
	a = w & ~bit;
	b = w | bit;
	lo = staged(g, o, p, stage - 1, a);
	hi = staged(g, o, p, stage - 1, b);
	up = p->upper[stage - 1];
	give = LLVMBuildSelect(g->b, up, lo, hi, "");
	got = shuffle_xor(g, give, p->x.lane[stage - 1]);
	at[a] = LLVMBuildSelect(g->b, up, got, lo, "");
	at[b] = LLVMBuildSelect(g->b, up, hi, got, "");
	return at[w];
}

static void
pull_exchange(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	ExchangePlan *p = t->plan;
	int64_t index[DIM_MAX] = { 0 };
	Coord at;

	tile_index(t, (int64_t)w * t->epw, index);
	at = layout_at(&p->x.mid, index);
	t->word[w] = staged(g, o, p, p->x.n, (int)at.at[AX_reg] / t->epw);
}

static uint32_t
lanes_with(int bit)
{
	uint32_t mask = 0;

	for (int l = 0; l < WARP_SIZE; l++)
		mask |= l & bit ? (uint32_t)1 << l : 0;
	return mask;
}

bool
convert_exchange(Codegen *g, Op *o)
{
	const Type *in = &op_source(o)->type, *out = &o->out[0]->type;
	ExchangePlan *p = NEW(g->a, ExchangePlan);

	if (!exchange_find(in->layout, out->layout, dtype_per_word(out->dtype), &p->x))
		return false;
	p->nword = tile_of(g, op_source(o))->nword;
	p->word = lv_array(g, (p->x.n + 1) * p->nword);
	p->upper = lv_array(g, p->x.n);
	for (int i = 0; i < p->x.n; i++)
		p->upper[i] = lane_mask(g, lanes_with(p->x.lane[i]));
	tile_lazy(g, o, pull_exchange, p)->depth += p->x.n; /* pulls words at once if the chain is long */
	return true;
}
