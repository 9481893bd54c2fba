/* shift.c - emits shifts of elements along a dim, within a warp.
 *
 * A dim consists of R registers of a lane, then L lanes, then registers again: position = r + R (lane + L
 * high). The source register of an element, and the lane distance to it, are the same for all lanes. Where
 * that passes lane 0, the source is in the top lanes of the preceding row. */
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/elementwise.h"
#include "ptxgen/element/element_value.h"
#include "ptxgen/shuffle.h"

typedef struct ShiftPlan {
	int dim;
	DimLine line; /* low is R, lanes L */
	LV digit; /* i32: this thread's lane index along the dim */
} ShiftPlan;

/* Returns the fill value, for arithmetic. */
static LV
fill(Codegen *g, const Op *o)
{
	DType d = o->out[0]->type.dtype;

	return elem_unpack(g, d, word_const(g, d, IMM(o, fill_in), o->fimm), 0);
}

/* Returns the element at low + R L high of this lane's vector; NULL before its start. */
static LV
line_elem(Codegen *g, Op *o, const ShiftPlan *p, int64_t *index, int64_t low, int64_t high)
{
	if (high < 0)
		return NULL;
	index[p->dim] = low + p->line.low * p->line.lanes * high;
	return elem_get(g, op_source(o), tile_reg(g, op_source(o), index));
}

static LV
shifted(Codegen *g, Op *o, int64_t r)
{
	const ShiftPlan *p = tile_of(g, o->out[0])->plan;
	int64_t index[DIM_MAX] = { 0 }, to, high, low, down;
	int over = (int)(p->line.lanes * p->line.stride), up;
	LV same, below, from, inside, none = fill(g, o);

	tile_index(tile_of(g, o->out[0]), r, index);
	to = index[p->dim] % p->line.low - IMM(o, by); /* lane 0's */
	high = index[p->dim] / (p->line.low * p->line.lanes);
	down = to < 0 ? (p->line.low - 1 - to) / p->line.low : 0;
	low = to + down * p->line.low;
	high -= down / p->line.lanes;
	down %= p->line.lanes;
	up = (int)(down * p->line.stride);
	same = line_elem(g, o, p, index, low, high);
	if (down == 0 || !same)
		return same ? same : none;
	below = line_elem(g, o, p, index, low, high - 1);
	inside = LLVMBuildICmp(g->b, LLVMIntSGE, p->digit, const_i32(g, down), "");
	if (below) {
		from = LLVMBuildSelect(g->b, inside, const_i32(g, -up), const_i32(g, over - up), "");
		from = LLVMBuildAdd(g->b, g->lane, from, "");
		same = shuffle_from(g, same, from);
		below = shuffle_from(g, below, from);
	} else { /* the fill value is shifted in before the start of the first row */
		same = shuffle_up(g, same, up);
		below = none;
	}
	return LLVMBuildSelect(g->b, inside, same, below, "");
}

static void
pull_shift(Codegen *g, Op *o, int w)
{
	number_word(g, o, w, shifted);
}

void
emit_shift(Codegen *g, Op *o)
{
	ShiftPlan *p = NEW(g->a, ShiftPlan);
	const Layout *l = o->out[0]->type.layout;

	p->dim = (int)IMM(o, dim);
	BUG_IF(g->a, !layout_line(l, p->dim, &p->line));
	p->digit = axis_digits(g, l, p->dim, AX_lane);
	tile_lazy(g, o, pull_shift, p);
}
