/* constants.c - emits const, splat, iota and mask. */
#include "ptxgen/base/layout_arith.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/element_value.h"

void
emit_const(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	LV x = word_const(g, t->dtype, IMM(o, value), o->fimm);

	for (int w = 0; w < t->nword; w++)
		t->word[w] = x;
}

void
emit_splat(Codegen *g, Op *o)
{
	Tile *t = tile_new(g, o->out[0]);
	LV x = word_splat(g, t->dtype, scalar_get(g, op_source(o)));

	for (int w = 0; w < t->nword; w++)
		t->word[w] = x;
}

/* ---- iota ------------------------------------------------------------------------------------ */

static LV
iota_element(Codegen *g, Op *o, int64_t r)
{
	const Tile *t = tile_of(g, o->out[0]);
	int64_t c[DIM_MAX];
	LV x;

	tile_index(t, r, c);
	x = LLVMBuildAdd(g->b, t->plan, const_i32(g, c[IMM(o, dim)]), "");
	return dtype_info[t->dtype].bits == 64 ? LLVMBuildZExt(g->b, x, g->i64, "") : x;
}

static void
pull_iota(Codegen *g, Op *o, int w)
{
	number_word(g, o, w, iota_element);
}

void
emit_iota(Codegen *g, Op *o)
{
	Tile *t = tile_lazy(g, o, pull_iota, NULL);

	t->plan = lane_index(g, t->l, (int)IMM(o, dim));
	t->remat = true;
}

/* ---- mask ------------------------------------------------------------------------------------ */

typedef struct MaskPlan {
	int n, dim[DIM_MAX];
	LV lane[DIM_MAX], bound[DIM_MAX]; /* i32 */
	int64_t most[DIM_MAX]; /* maximum of lane[] */
	/* the bound and all lanes' positions are multiples: elements within a step are masked alike */
	int64_t step[DIM_MAX];
	LV fill; /* a word of it */
} MaskPlan;

/* Returns the position of register r along the i-th masked dim, without the lane's part, rounded down to a
 * step. */
static int64_t
mask_at(const Tile *t, const MaskPlan *p, int i, int64_t r)
{
	int64_t c[DIM_MAX];

	tile_index(t, r, c);
	return c[p->dim[i]] / p->step[i] * p->step[i];
}

/* Returns an i1: register r is within the i-th bound; NULL if it is in all threads. Constant bounds are
 * compared as accesses do. */
static LV
inside_bound(Codegen *g, const Tile *t, const MaskPlan *p, int i, int64_t r)
{
	LV bound = LLVMIsAConstantInt(p->bound[i]), at = const_i32(g, mask_at(t, p, i, r));
	int64_t rest = bound ? LLVMConstIntGetSExtValue(bound) - mask_at(t, p, i, r) : 0;

	if (!bound) {
		at = LLVMBuildAdd(g->b, p->lane[i], at, "");
		return LLVMBuildICmp(g->b, LLVMIntSLT, at, p->bound[i], "");
	}
	return p->most[i] < rest ? NULL
	                         : LLVMBuildICmp(g->b, LLVMIntSLT, p->lane[i], const_i32(g, rest), "");
}

/* Returns an i1: the register's element is within all bounds; NULL if it is in all threads. */
static LV
mask_inside(Codegen *g, const Tile *t, const MaskPlan *p, int64_t r)
{
	LV all = NULL;

	for (int i = 0; i < p->n; i++) {
		LV in = inside_bound(g, t, p, i, r);

		if (!in)
			continue;
		all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
	}
	return all;
}

static bool
mask_same(const Tile *t, const MaskPlan *p, int64_t r, int64_t s)
{
	for (int i = 0; i < p->n; i++)
		if (mask_at(t, p, i, r) != mask_at(t, p, i, s))
			return false;
	return true;
}

/* Returns word x where register r is within bounds, else the fill value. */
static LV
masked_word(Codegen *g, const Tile *t, const MaskPlan *p, int64_t r, LV x)
{
	LV inside = mask_inside(g, t, p, r);

	return inside ? LLVMBuildSelect(g->b, inside, x, p->fill, "") : x;
}

static void
pull_mask(Codegen *g, Op *o, int w)
{
	Tile *t = tile_of(g, o->out[0]);
	const MaskPlan *p = t->plan;
	int64_t r = (int64_t)w * t->epw;
	LV x = word_get(g, mask_source(o), w), one[WORD_ELEMS];
	int pos[WORD_ELEMS], n = 0;
	bool same = true;

	for (; n < t->epw && r + n < t->nreg; n++)
		same = same && mask_same(t, p, r, r + n);
	if (same || t->epw == 1) {
		t->word[w] = masked_word(g, t, p, r, x);
		return;
	}
	for (int i = 0; i < n; i++) {
		one[i] = masked_word(g, t, p, r + i, x);
		pos[i] = i;
	}
	t->word[w] = bits_gather(g, t->dtype, one, pos, n);
}

/* Returns the largest power of two that divides the bound and the position of every lane along dim d. */
static int64_t
mask_step(Codegen *g, const Op *o, int d, const Val *bound)
{
	int64_t mult = val_fact_at(g->k, o, bound).mult, step = mult ? pow2_part(mult) : 1;

	for (Digit x = dim_digits(o->out[0]->type.layout, d); x.it; digit_next(&x))
		if (x.it->axis != AX_reg && x.it->extent > 1)
			step = min64(step, pow2_part(x.weight));
	return step;
}

void
emit_mask(Codegen *g, Op *o)
{
	MaskPlan *p = NEW(g->a, MaskPlan);
	const Type *type = &o->out[0]->type;

	for (int d = 0; d < type->rank; d++) {
		if (!(IMM(o, dims) >> d & 1))
			continue;
		p->dim[p->n] = d;
		p->lane[p->n] = lane_index(g, type->layout, d);
		p->most[p->n] = lane_index_most(type->layout, d);
		p->bound[p->n] = clamped(g, scalar_get(g, mask_bound(o, p->n)),
		                         val_fact_at(g->k, o, mask_bound(o, p->n)), type->shape[d]);
		p->step[p->n] = mask_step(g, o, d, mask_bound(o, p->n));
		p->n++;
	}
	p->fill = word_const(g, type->dtype, IMM(o, fill), o->fimm);
	tile_lazy(g, o, pull_mask, p);
}
