/* address_predicate.c - emits the bounds checks of views: the predicates for elements that are inside their
 * tensor. */
#include "ptxgen/memory/address.h"
#include "hexc/analysis/analysis.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/layout_arith.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/element/element_value.h"

LV
access_start(Access *x, int rd)
{
	const struct Start *s = &x->start[rd];
	LV c = const_i64(x->g, s->add);

	return s->var ? LLVMBuildAdd(x->g->b, s->var, c, "") : c;
}

bool
access_before(const struct Start *s)
{
	return s->add < 0 || (s->var && s->lo < 0);
}

/* Returns the number of elements of a view with step `step` for `elems` of its tensor, rounded up: i32, 0
 * or more. */
static LV
stepped(Codegen *g, LV elems, int64_t step)
{
	if (step == 1)
		return elems;
	elems = LLVMBuildAdd(g->b, elems, const_i32(g, step - 1), "");
	return LLVMBuildUDiv(g->b, elems, const_i32(g, step), "");
}

/* The start of dim d is an induction variable: compares the variable itself with a bound computed before
 * the loop. */
static void
edge_moving(Access *x, int d, int rd, LV size)
{
	Codegen *g = x->g;
	const struct Start *s = &x->start[rd];
	Val *counter = g->loop ? g->loop->op->blk[0]->arg[0] : NULL;
	LLVMBasicBlockRef block;
	int64_t step;
	LV rest, lane;

	if (!s->var || s->big || !s->turn.ok || !linear_even(&s->turn))
		return;
	if (!val_is_const(for_step(g->loop->op), &step) || s->turn.by != step ||
	    !access_small(val_fact(g->k, counter)))
		return;
	block = moving_front(g);
	rest = LLVMBuildSub(g->b, s->turn.first, g->loop->lo, "");
	rest = LLVMBuildAdd(g->b, rest, const_i64(g, s->add), "");
	lane = LLVMBuildZExt(g->pre, x->lane[d], g->i64, "");
	if (x->step[rd] != 1)
		lane = LLVMBuildMul(g->b, lane, const_i64(g, x->step[rd]), "");
	rest = LLVMBuildAdd(g->b, rest, lane, "");
	x->limit[d].size = LLVMBuildSub(g->b, size, rest, "");
	x->limit[d].from = access_before(s) ? LLVMBuildNeg(g->b, rest, "") : NULL;
	moving_back(g, block);
	x->limit[d].var = scalar_get(g, counter);
}

/* Do 32 bits suffice for all comparisons along a dim where both ends may be exceeded? One unsigned
 * comparison then checks both. */
static bool
fits_word(Access *x, int rd, Val *end, int64_t span)
{
	const int64_t most = (int64_t)1 << 30;
	const struct Start *s = &x->start[rd];
	int64_t lo = s->var ? s->lo : 0, hi = s->var ? s->hi : 0;

	return access_before(s) && lo > -most && hi < most && s->add > -most && s->add < most &&
	       span < most && val_fact(x->g->k, end).hi < most;
}

/* Returns the tensor index of this thread's coordinate 0, i32. Loop-invariant terms are added before the
 * loop. */
static LV
index_at(Access *x, int d, int rd)
{
	Codegen *g = x->g;
	const struct Start *s = &x->start[rd];
	LLVMBasicBlockRef block = s->rest ? moving_front(g) : NULL;
	LV at = LLVMBuildMul(g->b, x->lane[d], const_i32(g, x->step[rd]), ""), start;

	if (block) {
		start = LLVMBuildAdd(g->b, s->steady ? s->steady : const_i64(g, 0), const_i64(g, s->add), "");
		at = LLVMBuildAdd(g->b, at, LLVMBuildTrunc(g->b, start, g->i32, ""), "");
		moving_back(g, block);
	}
	start = block ? s->rest : access_start(x, rd);
	return LLVMBuildAdd(g->b, at, LLVMBuildTrunc(g->b, start, g->i32, ""), "");
}

/* Checks the indices along a kept dim, of which those from `first` (NULL: 0) to end - 1 are in bounds. */
static void
edge_kept(Access *x, int d, int rd, Val *first, Val *end, int64_t extent)
{
	Codegen *g = x->g;
	const Fact any = { 1, INT64_MIN, INT64_MAX };
	bool from_0 = !first && !x->start[rd].var && x->start[rd].add == 0;
	Fact most = val_fact(g->k, end);
	int64_t step = x->step[rd], last = ceil_div(most.hi, step);
	LV start, size;

	if (from_0 && most.lo == most.hi && most.hi > 0) {
		x->within[d] = x->within[d] ? min64(x->within[d], last) : last;
		return;
	}
	start = access_start(x, rd);
	size = scalar_get(g, end);
	if (!first && fits_word(x, rd, end, extent * step)) {
		x->at[d] = index_at(x, d, rd);
		x->size[d] = LLVMBuildTrunc(g->b, size, g->i32, "");
		return;
	}
	if (!first && (!g->loop || !block_inside(end->block, g->loop->op->blk[0])))
		edge_moving(x, d, rd, size);
	x->rem[d] = clamped(g, LLVMBuildSub(g->b, size, start, ""), from_0 ? most : any,
	                    extent * step);
	x->rem[d] = LLVMBuildSub(g->b, stepped(g, x->rem[d], step), x->lane[d], "");
	if (first || access_before(&x->start[rd])) {
		size = first ? scalar_get(g, first) : const_i64(g, 0);
		x->low[d] = clamped(g, LLVMBuildSub(g->b, size, start, ""), any, extent * step);
		x->low[d] = LLVMBuildSub(g->b, stepped(g, x->low[d], step), x->lane[d], "");
	}
}

/* Checks the index of a dropped dim. */
static void
edge_dropped(Access *x, int rd, Val *first, Val *end)
{
	Codegen *g = x->g;
	LV start = access_start(x, rd), low;
	LV in = LLVMBuildICmp(g->b, LLVMIntSLT, start, scalar_get(g, end), "");

	if (first || access_before(&x->start[rd])) {
		low = first ? scalar_get(g, first) : const_i64(g, 0);
		in = LLVMBuildAnd(g->b, in, LLVMBuildICmp(g->b, LLVMIntSGE, start, low, ""), "");
	}
	x->inside = x->inside ? LLVMBuildAnd(g->b, x->inside, in, "") : in;
}

void
access_edges(Access *x, const Op *view, bool outermost, int *dim)
{
	const Val *in = view_source(view);
	const Param *p = val_param(x->g->k, x->root);
	int kept = 0, of[DIM_MAX];

	if (in->def && in->def->code == O_view)
		access_edges(x, in->def, false, of);
	else
		for (int d = 0; d < in->type.rank; d++)
			of[d] = d;
	for (int d = 0; d < in->type.rank; d++) {
		bool dropped = IMM(view, dropped) >> d & 1;
		int rd = of[d], vd = kept;

		for (int i = dropped ? 0 : view_gathers(view, d) ? x->gathers : 1; i > 0; i--)
			dim[kept++] = rd;
		if ((!dropped && !outermost) || view_operand_in_bounds(x->g->k, view, d))
			continue;
		BUG_IF(x->g->a, !p || !p->size[rd]);
		if (dropped)
			edge_dropped(x, rd, view_first(view, d), view_end(x->g->k, view, d));
		else
			edge_kept(x, vd, rd, view_first(view, d), view_end(x->g->k, view, d),
			          view_within(view, vd));
	}
}

void
access_within(Access *x, const Op *view)
{
	for (int d = 0; d < x->rank; d++)
		if (view_within(view, d) < view->out[0]->type.shape[d])
			x->within[d] = view_within(view, d);
}

void
access_pin_edges(Access *x)
{
	if (!x->g->loop)
		return;
	for (int d = 0; d < x->rank; d++)
		if (x->at[d])
			x->at[d] = asm_op(x->g, A_pin32, x->at[d], NULL, NULL);
		else if (x->rem[d] && !x->limit[d].var)
			x->rem[d] = asm_op(x->g, A_pin32, x->rem[d], NULL, NULL);
}

LV
access_index(Access *x, int rd, const int64_t *index)
{
	Codegen *g = x->g;
	Val *v = x->index[rd];
	int64_t c[DIM_MAX] = { 0 };
	LV e;

	for (int i = 0; i < v->type.rank; i++) /* extent 1 is broadcast */
		c[i] = v->type.shape[i] == 1 ? 0 : index[x->gather + i];
	e = elem_get(g, v, tile_reg(g, v, c));
	return v->type.dtype == D_i64 ? e : LLVMBuildSExt(g->b, e, g->i64, "");
}

/* Builds a memo key for the indices at `index`, of a kind below 0; returns its length. */
static int
index_key(const Access *x, const int64_t *index, int64_t kind, int64_t *key)
{
	key[0] = kind;
	for (int i = 0; i < x->gathers; i++)
		key[1 + i] = index[x->gather + i];
	return 1 + x->gathers;
}

LV
global_index(Access *x, const int64_t *index)
{
	Codegen *g = x->g;
	int64_t key[DIM_MAX + 1];
	int n = x->gather < 0 ? 0 : index_key(x, index, -2, key);
	LV sum = NULL;

	if (n == 0 || (sum = memo_find(x, n, key)))
		return sum;
	for (int rd = 0; rd < x->root_rank; rd++) {
		LV s = x->stride[rd] ? x->stride[rd] : const_i64(g, x->cstride[rd]), part;

		if (!x->index[rd])
			continue;
		part = LLVMBuildMul(g->b, access_index(x, rd, index), s, "");
		sum = sum ? LLVMBuildAdd(g->b, sum, part, "") : part;
	}
	memo_add(x, n, key, sum);
	return sum;
}

/* Returns the extent of dim rd of the tensor or tile, i64. */
static LV
root_size(const Access *x, int rd)
{
	const Param *p = val_param(x->g->k, x->root);

	return p ? scalar_get(x->g, p->size[rd]) : const_i64(x->g, x->whole->shape[rd]);
}

/* Returns an i1: the indices at `index` are in bounds of the tensor or tile. */
static LV
indices_inside(Access *x, const int64_t *index)
{
	Codegen *g = x->g;
	int64_t key[DIM_MAX + 1];
	int n = index_key(x, index, -3, key);
	LV all = memo_find(x, n, key);

	if (all)
		return all;
	for (int rd = 0; rd < x->root_rank; rd++) {
		LV in;

		if (!x->index[rd])
			continue;
		in = LLVMBuildICmp(g->b, LLVMIntULT, access_index(x, rd, index), root_size(x, rd), "");
		all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
	}
	memo_add(x, n, key, all);
	return all;
}

/* Is cond start < size of a dim with a bounds check, which implies it? */
static bool
is_edge(const Access *x, const Op *view, const Op *cond)
{
	const Param *p = val_param(x->g->k, view_source(view));

	if (!p || !cond || cond->code != O_lt)
		return false;
	for (int d = 0; d < p->val->type.rank; d++) {
		int at = view_result_dim(view, d);

		if (at >= 0 && (x->rem[at] || x->at[at]) && elt_lhs(cond) == view_start(view, d) &&
		    elt_rhs(cond) == view_end(x->g->k, view, d))
			return true;
	}
	return false;
}

void
access_guard(Access *x, const Op *view, Val *cond)
{
	LV holds;
	int64_t always;

	if (val_is_const(cond, &always) && always)
		return;
	holds = scalar_get(x->g, cond);
	if (view && view->code == O_view && is_edge(x, view, cond->def))
		return;
	x->inside = x->inside ? LLVMBuildAnd(x->g->b, x->inside, holds, "") : holds;
}

/* Returns an i1: coordinate c of dim d is in bounds, compared with the induction variable. */
static LV
inside_moving(Codegen *g, const struct Limit *m, int64_t c)
{
	LV size = LLVMBuildSub(g->b, m->size, const_i64(g, c), ""), from;
	LV in = LLVMBuildICmp(g->b, LLVMIntSLT, m->var, size, "");

	if (!m->from)
		return in;
	from = LLVMBuildSub(g->b, m->from, const_i64(g, c), "");
	return LLVMBuildAnd(g->b, in, LLVMBuildICmp(g->b, LLVMIntSGE, m->var, from, ""), "");
}

/* Returns an i1: coordinate c of dim d is in bounds of a tensor of any size. The induction variable is
 * compared in 64 bits, with a register pair for each c; beyond PAIRS of them, c is compared with x->rem in
 * 32 bits. */
static LV
inside_edge(Access *x, int d, int64_t c)
{
	enum { PAIRS = 2 };
	Codegen *g = x->g;
	LV at = const_i32(g, c), in;

	if (x->at[d]) {
		at = LLVMBuildAdd(g->b, x->at[d], const_i32(g, c * x->step[x->dim[d]]), "");
		return LLVMBuildICmp(g->b, LLVMIntULT, at, x->size[d], "");
	}
	if (x->limit[d].var && x->pairs++ < PAIRS)
		return inside_moving(g, &x->limit[d], c * x->step[x->dim[d]]);
	in = LLVMBuildICmp(g->b, LLVMIntSLT, at, x->rem[d], "");
	if (x->low[d])
		in = LLVMBuildAnd(g->b, in, LLVMBuildICmp(g->b, LLVMIntSGE, at, x->low[d], ""), "");
	return in;
}

/* Returns the largest number that divides the view's end and the position of every thread along dim d:
 * elements between two of its multiples are in bounds if the first is. */
static int64_t
within_step(const Access *x, int d)
{
	int64_t step = x->within[d];

	if (!x->l || access_gathers(x, d))
		return 1;
	for (Digit g = dim_digits(x->l, d); g.it; digit_next(&g))
		if (g.it->axis != AX_reg && g.it->extent > 1)
			step = gcd64(step, g.weight);
	return step;
}

/* Returns an i1: coordinate c of dim d is in bounds; a constant if it is in all threads. */
static LV
inside_dim(Access *x, int d, int64_t c)
{
	Codegen *g = x->g;
	LV edge = x->rem[d] || x->at[d] ? inside_edge(x, d, c) : NULL, in;

	if (!x->within[d] || (x->l && !access_gathers(x, d) && lane_index_most(x->l, d) < x->within[d] - c))
		return edge ? edge : LLVMConstInt(g->i1, 1, 0);
	c -= c % within_step(x, d);
	in = LLVMBuildICmp(g->b, LLVMIntSLT, x->lane[d], const_i32(g, x->within[d] - c), "");
	return edge ? LLVMBuildAnd(g->b, edge, in, "") : in;
}

/* Do all accesses of a thread have the same coordinate along dim d, apart from elements within one access? */
static bool
is_even(const Access *x, int d)
{
	if (!x->l || access_gathers(x, d))
		return false;
	for (Digit g = dim_digits(x->l, d); g.it; digit_next(&g))
		if (g.it->axis == AX_reg && g.it->extent > 1)
			return false;
	return true;
}

void
access_join_edges(Access *x)
{
	Codegen *g = x->g;
	LV all = x->inside, in;
	int to = 0;

	while (to < x->rank && (!x->at[to] || is_even(x, to)))
		to++;
	if (to == x->rank)
		return;
	for (int d = 0; d < x->rank; d++) {
		if (!is_even(x, d) || !(x->rem[d] || x->at[d] || x->within[d]))
			continue;
		in = inside_dim(x, d, 0);
		all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
		x->rem[d] = x->low[d] = x->at[d] = NULL;
		x->within[d] = 0;
	}
	x->inside = NULL;
	if (all) /* past the range of 31 bits */
		x->at[to] = LLVMBuildSelect(g->b, all, x->at[to], const_i32(g, INT32_MIN), "");
}

LV
access_inside(Access *x, const int64_t *index)
{
	Codegen *g = x->g;
	LV all = x->inside;

	if (x->gather >= 0) {
		LV in = indices_inside(x, index);
		all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
	}

	for (int d = 0; d < x->rank; d++) {
		int64_t key[2] = { d, index[d] };
		LV in;

		if (!x->rem[d] && !x->at[d] && !x->within[d])
			continue;
		in = memo_find(x, 2, key);
		if (!in) {
			in = inside_dim(x, d, index[d]);
			memo_add(x, 2, key, in);
		}
		if (LLVMIsAConstantInt(in) && LLVMConstIntGetZExtValue(in))
			continue;
		all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
	}
	return all;
}
