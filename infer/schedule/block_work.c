/* block_work.c - finds the grid dimension along which blocks have more and more work, for pass rasterize: of
 * causal attention, later queries see more keys.
 *
 * For each scalar, in program order: along which dimensions it may increase with the block's index, and along
 * which it may decrease. Both may be true of an op without a rule, along the dimensions that it depends on.
 * Loops with a run-time step, which deal iterations out to the grid's blocks, do not count. */
#include "hexc/analysis/value_range.h"
#include "infer/schedule/block_work.h"

/* Bit d: dimension d. */
typedef struct Trend {
	uint8_t up, down;
} Trend;

typedef struct Trends {
	Kernel *k;
	const uint8_t *dims;
	Trend *of; /* by value id */
} Trends;

static Trend
join(Trend x, Trend y)
{
	return (Trend){ (uint8_t)(x.up | y.up), (uint8_t)(x.down | y.down) };
}

static Trend
negated(Trend x)
{
	return (Trend){ x.down, x.up };
}

/* Returns the trend of x times, or divided by, y, which is the same in all blocks. */
static Trend
scaled(const Trends *t, const Val *x, const Val *y, Trend unknown)
{
	Fact f = val_fact(t->k, y);

	if (t->dims[y->id])
		return unknown;
	return f.lo >= 0 ? t->of[x->id] : f.hi <= 0 ? negated(t->of[x->id]) : unknown;
}

static Trend
trend_of(const Trends *t, const Op *o)
{
	Trend unknown = { t->dims[o->out[0]->id], t->dims[o->out[0]->id] };

	switch (o->code) {
	case O_block_id:
		return (Trend){ (uint8_t)(1 << IMM(o, axis)), 0 };
	case O_add:
	case O_min:
	case O_max:
		return join(t->of[elt_lhs(o)->id], t->of[elt_rhs(o)->id]);
	case O_sub:
		return join(t->of[elt_lhs(o)->id], negated(t->of[elt_rhs(o)->id]));
	case O_neg:
		return negated(t->of[o->in[0]->id]);
	case O_mul:
		if (!t->dims[elt_lhs(o)->id])
			return scaled(t, elt_rhs(o), elt_lhs(o), unknown);
		return scaled(t, elt_lhs(o), elt_rhs(o), unknown);
	case O_div:
	case O_shr:
	case O_shl:
		return scaled(t, elt_lhs(o), elt_rhs(o), unknown);
	case O_cast:
		return t->of[op_source(o)->id];
	case O_select:
		return t->dims[select_cond(o)->id]
		               ? unknown
		               : join(t->of[select_yes(o)->id], t->of[select_no(o)->id]);
	default:
		return unknown;
	}
}

int
block_work_dim(Kernel *k, const uint8_t *dims, bool *grows)
{
	Trends t = { k, dims, NEWN(k->unit->arena, Trend, (size_t)k->nval + 1) };
	Trend trips = { 0, 0 };
	uint8_t only;
	OpWalk w;

	for (uint32_t v = 1; v <= k->nval; v++) /* of loops' counters, carried values, .. */
		t.of[v] = (Trend){ dims[v], dims[v] };
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (o->nout == 1 && !o->blk[0] && o->out[0]->type.space == S_scalar)
			t.of[o->out[0]->id] = trend_of(&t, o);
		if (loop_ends_early(o) || o->code == O_grid_barrier)
			return -1; /* it may wait for a block that starts earlier in the hardware's order */
		if (o->code == O_for && for_step(o)->def && for_step(o)->def->code == O_const)
			trips = join(trips, join(t.of[for_hi(o)->id], negated(t.of[for_lo(o)->id])));
	}
	only = (uint8_t)(trips.up ^ trips.down);
	*grows = (only & trips.up) != 0;
	for (int d = 0; d < 3; d++)
		if (only == 1 << d)
			return d;
	return -1;
}
