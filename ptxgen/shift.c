/* shift.c - elements moved up along a dim, within a warp.
 *
 * Along the dim lie R registers of a lane, then L lanes, then registers again: place = r + R (lane + L high).
 * From which register an element comes, and from how many lanes below, is the same for all lanes; where that
 * passes lane 0 it is the top lanes of one row further down. */
#include "ptxgen/base/lane.h"
#include "ptxgen/base/word.h"
#include "ptxgen/element/elt.h"
#include "ptxgen/element/number.h"
#include "ptxgen/shuffle.h"

typedef struct ShiftPlan {
	int dim;
	int64_t low, lanes, stride; /* R, L; lane numbers are this far apart */
	LV digit; /* i32: this thread's lane along the dim */
} ShiftPlan;

static void
read_layout(ShiftPlan *p, const Layout *l)
{
	int i = l->first[p->dim], end = l->first[p->dim + 1];

	p->low = p->lanes = 1;
	p->stride = 1;
	for (; i < end && (l->it[i].axis == AX_reg || l->it[i].extent == 1); i++)
		p->low *= l->it[i].extent;
	for (; i < end && (l->it[i].axis == AX_lane || l->it[i].extent == 1); i++) {
		if (l->it[i].extent > 1 && p->lanes == 1)
			p->stride = l->it[i].stride;
		p->lanes *= l->it[i].extent;
	}
}

/* What comes in, as a number to compute with. */
static LV
fill(Gen *g, const Op *o)
{
	DType d = o->out[0]->type.dtype;

	return elem_unpack(g, d, word_const(g, d, o->imm[2], o->fimm), 0);
}

/* The element at low + R L high of this lane's line, NULL: before its start. */
static LV
line_elem(Gen *g, Op *o, const ShiftPlan *p, int64_t *coord, int64_t low, int64_t high)
{
	if (high < 0)
		return NULL;
	coord[p->dim] = low + p->low * p->lanes * high;
	return elem_get(g, o->in[0], tile_reg(g, o->in[0], coord));
}

static LV
shifted(Gen *g, Op *o, int64_t r)
{
	const ShiftPlan *p = tile_of(g, o->out[0])->plan;
	int64_t coord[DIM_MAX] = { 0 }, to, high, low, down;
	LV same, below, from, inside, none = fill(g, o);

	tile_coord(tile_of(g, o->out[0]), r, coord);
	to = coord[p->dim] % p->low - o->imm[1]; /* lane 0's */
	high = coord[p->dim] / (p->low * p->lanes);
	down = to < 0 ? (p->low - 1 - to) / p->low : 0;
	low = to + down * p->low;
	high -= down / p->lanes;
	down %= p->lanes;
	same = line_elem(g, o, p, coord, low, high);
	if (down == 0)
		return same ? same : none;
	below = line_elem(g, o, p, coord, low, high - 1);
	inside = LLVMBuildICmp(g->b, LLVMIntSGE, p->digit, const_i32(g, down), "");
	from = LLVMBuildSelect(g->b, inside, const_i32(g, -down * p->stride),
	                       const_i32(g, (p->lanes - down) * p->stride), "");
	from = LLVMBuildAdd(g->b, g->lane, from, "");
	same = same ? shuffle_from(g, same, from) : none;
	below = below ? shuffle_from(g, below, from) : none;
	return LLVMBuildSelect(g->b, inside, same, below, "");
}

static void
pull_shift(Gen *g, Op *o, int w)
{
	number_word(g, o, w, shifted);
}

void
emit_shift(Gen *g, Op *o)
{
	ShiftPlan *p = NEW(g->a, ShiftPlan);
	const Layout *l = o->out[0]->type.layout;

	p->dim = (int)o->imm[0];
	read_layout(p, l);
	p->digit = axis_digits(g, l, p->dim, AX_lane);
	tile_lazy(g, o, pull_shift, p);
}
