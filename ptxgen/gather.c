/* gather.c - emits gathers from register tiles by index, within a warp.
 *
 * Modes of the index select a lane, a word in it, and a slot in that. All words that may contain the
 * element are shuffled from that lane, and one is selected; an out-of-bounds index gives 0. Full warps
 * execute the op: conditions are warp-uniform (hexc/IR.md), and words are computed before predicated code. */
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/element_value.h"
#include "ptxgen/shuffle.h"

typedef struct GatherPlan {
	int dim;   /* of the table: its last dim */
	int64_t n; /* elements along it */
	int lanes; /* bits of the lane id that are modes of it */
	LV rest;   /* i32: the other bits of this lane */
} GatherPlan;

/* Returns what the index's modes on an axis add to the coordinate there. */
static LV
digits_on(Codegen *g, const Layout *l, int dim, Axis axis, LV index)
{
	int64_t n = layout_extent(l, dim);
	LV sum = NULL;

	for (Digit x = dim_digits(l, dim); x.it; digit_next(&x)) {
		LV v = index;

		if (x.it->axis != axis || x.it->extent == 1)
			continue;
		if (x.weight > 1)
			v = LLVMBuildUDiv(g->b, v, const_i32(g, x.weight), "");
		if (x.weight * x.it->extent < n)
			v = LLVMBuildURem(g->b, v, const_i32(g, x.it->extent), "");
		if (x.it->stride > 1)
			v = LLVMBuildMul(g->b, v, const_i32(g, x.it->stride), "");
		sum = sum ? LLVMBuildAdd(g->b, sum, v, "") : v;
	}
	return sum ? sum : const_i32(g, 0);
}

/* Returns, of the table's words [at, at + 2^bits), the one selected by the low bits of `which`; NULL if
 * none of them belongs to the table. */
static LV
chosen_word(Codegen *g, LV *word, int nword, int at, int bits, LV which)
{
	LV lo, hi, up;

	if (at >= nword)
		return NULL;
	if (bits == 0)
		return word[at];
	lo = chosen_word(g, word, nword, at, bits - 1, which);
	hi = chosen_word(g, word, nword, at + (1 << (bits - 1)), bits - 1, which);
	if (!lo || !hi)
		return lo ? lo : hi;
	up = LLVMBuildAnd(g->b, which, const_i32(g, (int64_t)1 << (bits - 1)), "");
	up = LLVMBuildICmp(g->b, LLVMIntNE, up, const_i32(g, 0), "");
	return LLVMBuildSelect(g->b, up, hi, lo, "");
}

/* Returns the words of the table, from lane `lane`, that may contain an element whose row starts at
 * register `base`; *first is the first of them. */
static LV *
row_words(Codegen *g, Op *o, const GatherPlan *p, int64_t base, LV lane, int *first, int *n)
{
	const Layout *l = lookup_table(o)->type.layout;
	int epw = tile_of(g, lookup_table(o))->epw;
	int64_t most = 0;
	LV *word;

	for (int64_t k = 0; k < p->n; k++)
		most = max64(most, layout_dim_at(l, p->dim, k).at[AX_reg]);
	*first = (int)base / epw;
	*n = (int)(base + most) / epw - *first + 1;
	word = lv_array(g, *n);
	for (int64_t k = 0; k < p->n; k++) {
		int w = (int)(base + layout_dim_at(l, p->dim, k).at[AX_reg]) / epw;

		if (word[w - *first])
			continue;
		word[w - *first] = word_get(g, lookup_table(o), w);
		if (p->lanes)
			word[w - *first] = shuffle_from(g, word[w - *first], lane);
	}
	return word;
}

/* Returns element r of the result; sub-word types are at the bottom of a word. */
static LV
gathered(Codegen *g, Op *o, int64_t r)
{
	const Tile *t = tile_of(g, o->out[0]);
	const GatherPlan *p = t->plan;
	const Layout *l = lookup_table(o)->type.layout;
	const Type *table = &lookup_table(o)->type;
	int64_t c[DIM_MAX] = { 0 }, base;
	int first, n;
	LV index = elem_get(g, lookup_index(o), r), inside, lane, reg, x, *word;
	LV end = LLVMConstInt(LLVMTypeOf(index), (uint64_t)p->n, 0);

	inside = LLVMBuildICmp(g->b, LLVMIntULT, index, end, "");
	if (LLVMTypeOf(index) != g->i32)
		index = LLVMBuildTrunc(g->b, index, g->i32, "");
	tile_index(t, r, c);
	for (int d = 0; d < p->dim; d++)
		c[d] = table->shape[d] == 1 ? 0 : c[d];
	c[p->dim] = 0;
	base = tile_reg(g, lookup_table(o), c);
	lane = LLVMBuildOr(g->b, p->rest, digits_on(g, l, p->dim, AX_lane, index), "");
	reg = digits_on(g, l, p->dim, AX_reg, index);
	if (base % t->epw)
		reg = LLVMBuildAdd(g->b, reg, const_i32(g, base % t->epw), "");
	word = row_words(g, o, p, base, lane, &first, &n);
	x = chosen_word(g, word, n, 0, log2_floor(n) + !is_pow2(n),
	                LLVMBuildUDiv(g->b, reg, const_i32(g, t->epw), ""));
	if (t->epw > 1) {
		LV at = LLVMBuildURem(g->b, reg, const_i32(g, t->epw), "");

		at = LLVMBuildMul(g->b, at, const_i32(g, 32 / t->epw), "");
		x = LLVMBuildLShr(g->b, x, at, "");
	}
	return LLVMBuildSelect(g->b, inside, x, LLVMConstNull(LLVMTypeOf(x)), "");
}

static void
pull_gather(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	int pos[WORD_ELEMS] = { 0 }, n = 0;
	LV e[WORD_ELEMS];

	for (; n < t->epw && w * t->epw + n < t->nreg; n++)
		e[n] = gathered(g, o, (int64_t)w * t->epw + n);
	t->word[w] = bits_gather(g, t->dtype, e, pos, n);
}

void
emit_gather(Codegen *g, Op *o)
{
	GatherPlan *p = NEW(g->a, GatherPlan);
	const Type *table = &lookup_table(o)->type;

	p->dim = table->rank - 1;
	p->n = table->shape[p->dim];
	for (Digit x = dim_digits(table->layout, p->dim); x.it; digit_next(&x))
		if (x.it->axis == AX_lane)
			p->lanes |= (int)((x.it->extent - 1) * x.it->stride);
	p->rest = LLVMBuildAnd(g->pre, g->lane, const_i32(g, WARP_SIZE - 1 - p->lanes), "");
	tile_lazy(g, o, pull_gather, p);
}
