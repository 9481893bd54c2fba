/* position_compare.c - emits comparisons of positions in a tile with a scalar, as in masks of attention:
 * iota(1, M, N) - iota(0, M, N) <= s.
 *
 * A position is the thread's part plus a constant of the register. Both would be added for each register, and
 * as the sums are the same in all iterations of a loop, LLVM would keep all of them in registers. The scalar
 * is clamped to the range of the positions and one more on either side, which changes no comparison; then the
 * thread's part is subtracted from it once, and each register compares the difference with its constant. */
#include "ptxgen/element/position_compare.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/element/element_value.h"

enum { DEPTH = 4, POSITION_MOST = 1 << 28 }; /* ops in a chain; the largest position: nothing overflows */

typedef struct PositionCompare {
	Val *tile;  /* of positions */
	bool right; /* it is the right operand */
	LV rest;    /* i32: the scalar minus the thread's part */
} PositionCompare;

typedef struct PositionRange {
	int64_t lo, hi;
	bool iota; /* not only constants */
} PositionRange;

/* Computes the range of v's elements. Returns false if they are not sums and differences of positions. */
static bool
position_range(const Val *v, int depth, PositionRange *r)
{
	const Op *o = v->def;
	PositionRange x, y;

	if (!o || depth == 0)
		return false;
	if (o->code == O_iota || o->code == O_const) {
		r->iota = o->code == O_iota;
		r->lo = r->iota ? 0 : IMM(o, value);
		r->hi = r->iota ? v->type.shape[IMM(o, dim)] - 1 : IMM(o, value);
	} else if ((o->code == O_add || o->code == O_sub) && position_range(elt_lhs(o), depth - 1, &x) &&
	           position_range(elt_rhs(o), depth - 1, &y)) {
		bool add = o->code == O_add;

		*r = (PositionRange){ x.lo + (add ? y.lo : -y.hi), x.hi + (add ? y.hi : -y.lo),
			              x.iota || y.iota };
	} else {
		return false;
	}
	return r->lo >= -POSITION_MOST && r->hi <= POSITION_MOST;
}

/* Returns the thread's part, i32. */
static LV
thread_part(Codegen *g, const Val *v)
{
	const Op *o = v->def;

	if (o->code == O_const)
		return const_i32(g, 0);
	if (o->code == O_iota)
		return lane_index(g, v->type.layout, (int)IMM(o, dim));
	return (o->code == O_add ? LLVMBuildAdd : LLVMBuildSub)(g->b, thread_part(g, elt_lhs(o)),
	                                                        thread_part(g, elt_rhs(o)), "");
}

static int64_t
register_part(Codegen *g, const Val *v, int64_t r)
{
	const Op *o = v->def;
	int64_t c[DIM_MAX], y;

	if (o->code == O_const)
		return IMM(o, value);
	if (o->code == O_iota) {
		tile_index(tile_of(g, v), r, c);
		return c[IMM(o, dim)];
	}
	y = register_part(g, elt_rhs(o), r);
	return register_part(g, elt_lhs(o), r) + (o->code == O_add ? y : -y);
}

static LV
clamp(Codegen *g, LV x, int64_t lo, int64_t hi)
{
	LV least = const_i32(g, lo), most = const_i32(g, hi);

	x = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, x, least, ""), least, x, "");
	return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, x, most, ""), most, x, "");
}

void *
position_plan(Codegen *g, Op *o)
{
	bool compares = o->code == O_lt || o->code == O_le || o->code == O_eq || o->code == O_ne;

	for (int i = 0; compares && i < 2; i++) {
		const Op *splat = o->in[1 - i]->def;
		const Type *t = &o->in[i]->type;
		PositionCompare *p;
		PositionRange r;

		if (t->space != S_reg || t->dtype != D_i32 || !splat || splat->code != O_splat ||
		    !position_range(o->in[i], DEPTH, &r) || !r.iota)
			continue;
		p = NEW(g->a, PositionCompare);
		*p = (PositionCompare){ .tile = o->in[i], .right = i == 1 };
		p->rest = clamp(g, scalar_get(g, op_source(splat)), r.lo - 1, r.hi + 1);
		p->rest = LLVMBuildSub(g->b, p->rest, thread_part(g, o->in[i]), "");
		return p;
	}
	return NULL;
}

static LV
position_element(Codegen *g, Op *o, int64_t r)
{
	const PositionCompare *p = tile_of(g, o->out[0])->plan;
	LV c = const_i32(g, register_part(g, p->tile, r)), e[2] = { c, p->rest };

	if (p->right) {
		e[0] = p->rest;
		e[1] = c;
	}
	return elt_number(g, o, D_i32, e);
}

void
position_pull(Codegen *g, Op *o, int w)
{
	number_word(g, o, w, position_element);
}
