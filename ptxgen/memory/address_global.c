/* address_global.c - emits addresses in global memory.
 *
 * An address is a sum over the dims: start (uniform; constant, or varies with blocks and loops), lane part
 * (the thread's modes) and register part (constant per instance). Terms are added in the order in which
 * they vary, so that LLVM keeps loop-invariant sums outside loops: tensor, thread, block, then loops. The
 * register part times a constant stride goes to the instruction's immediate. */
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/address.h"

static LV
add64v(Codegen *g, LV x, LV y)
{
	return x ? LLVMBuildAdd(g->b, x, y, "") : y;
}

/* Converts elements to bytes if a byte has one or more full elements. */
static LV
scaled(Access *x, LV elems)
{
	int bits = dtype_info[x->dtype].bits;

	return bits < 8 ? elems : access_bytes(x, x->g->b, elems);
}

/* Hides a loop-dependent offset from LLVM's loop strength reduction, which would create a 64-bit induction
 * variable for every instance's address, instead of one add to invariant bases. */
static LV
opaque(Access *x, LV v, int depth)
{
	return depth > 0 && !LLVMIsConstant(v) ? asm_op(x->g, A_opaque64, v, NULL, NULL) : v;
}

/* Returns v * stride of root dim rd, in elements. */
static LV
times_stride(Access *x, LV v, int rd)
{
	Codegen *g = x->g;
	LV s = x->stride[rd] ? x->stride[rd] : const_i64(g, x->cstride[rd]);

	return LLVMBuildMul(g->b, v, s, "");
}

/* Adds to an offset's increment, in elements, the increment of dim rd. */
static void
turn_add(Access *x, IvIncrement *turn, int rd)
{
	const InductionVar *l = &x->start[rd].turn;

	if (l->by)
		turn->by = add64v(x->g, turn->by, times_stride(x, const_i64(x->g, l->by), rd));
	for (int i = 0; i < WHEELS_MAX; i++)
		if (l->carry[i])
			turn->carry[i] = add64v(x->g, turn->carry[i], times_stride(x, l->carry[i], rd));
}

/* Is the loop-dependent part an induction variable? *turn: its increment in elements. */
static bool
is_induction_offset(Access *x, IvIncrement *turn)
{
	bool any = false;

	for (int rd = 0; rd < x->root_rank; rd++) {
		const struct Start *s = &x->start[rd];

		if (s->var && !s->turn.ok)
			return false;
		any = any || (s->var && (s->turn.by || !linear_even(&s->turn)));
	}
	*turn = (IvIncrement){ .by = NULL };
	for (int rd = 0; rd < x->root_rank && any; rd++)
		if (x->start[rd].var)
			turn_add(x, turn, rd);
	return any;
}

/* Converts the increment to bytes, if a byte has full elements. */
static void
turn_scale(Access *x, IvIncrement *turn)
{
	if (turn->by)
		turn->by = scaled(x, turn->by);
	for (int i = 0; i < WHEELS_MAX; i++)
		if (turn->carry[i])
			turn->carry[i] = scaled(x, turn->carry[i]);
}

/* Adds to the tensor's address (or NULL) what all instances share, with these starts; without constants. */
static LV
base_sum(Access *x, LV sum, LV *var)
{
	Codegen *g = x->g;

	for (int d = 0; d < x->rank; d++) {
		LV lane = LLVMBuildZExt(g->pre, x->lane[d], g->i64, "");

		if (x->step[x->dim[d]] != 1)
			lane = LLVMBuildMul(g->b, lane, const_i64(g, x->step[x->dim[d]]), "");
		if (!LLVMIsConstant(lane) || LLVMConstIntGetZExtValue(lane) != 0)
			sum = add64v(g, sum, scaled(x, times_stride(x, lane, x->dim[d])));
	}
	for (int depth = 0, left = x->root_rank; left > 0; depth++) {
		for (int rd = 0; rd < x->root_rank; rd++) {
			const struct Start *s = &x->start[rd];

			if (s->depth != depth)
				continue;
			left--;
			if (var[rd])
				sum = add64v(g, sum,
				             opaque(x, scaled(x, times_stride(x, var[rd], rd)), depth));
			if (x->stride[rd] && s->add)
				sum = add64v(g, sum,
				             scaled(x, times_stride(x, const_i64(g, s->add), rd)));
		}
	}
	return sum;
}

/* Emits the part of the address that all instances share: an induction variable if possible. */
static void
global_base(Access *x)
{
	Codegen *g = x->g;
	bool packed = dtype_info[x->dtype].bits < 8;
	LLVMBasicBlockRef block = NULL;
	LV sum, var[DIM_MAX];
	IvIncrement turn;

	for (int rd = 0; rd < x->root_rank; rd++) {
		var[rd] = x->start[rd].var;
		if (!x->stride[rd])
			x->fixed += x->start[rd].add * x->cstride[rd];
	}
	if (moving_pays(g))
		block = moving_front(g);
	if (block && is_induction_offset(x, &turn)) {
		for (int rd = 0; rd < x->root_rank; rd++)
			var[rd] = var[rd] ? x->start[rd].turn.first : NULL;
		sum = base_sum(x, packed ? NULL : x->base, var);
		turn_scale(x, &turn);
		sum = moving(g, sum, &turn);
		moving_back(g, block);
	} else {
		if (block)
			moving_back(g, block);
		sum = base_sum(x, packed ? NULL : x->base, var);
	}
	if (packed)
		x->elems = sum ? sum : const_i64(g, 0);
	else
		x->base = sum;
}

void
global_new(Access *x)
{
	Codegen *g = x->g;
	const Param *p = val_param(g->k, x->root);

	BUG_IF(g->a, !p || p->kind != P_tensor);
	for (int rd = 0; rd < x->root_rank; rd++)
		if (!val_is_const(p->stride[rd], &x->cstride[rd]))
			x->stride[rd] = scalar_get(g, p->stride[rd]);
	x->base = g->arg[x->root->index];
	global_base(x);
}

/* Returns the sum of step * stride over the dims of run-time stride, in elements; NULL if there are none. */
static LV
runtime_step(Access *x, const int64_t *step)
{
	int64_t key[DIM_MAX + 1];
	int n = 0;
	LV sum;

	key[n++] = -1; /* distinguishes it from the keys of access_inside */
	for (int d = 0; d < x->rank; d++)
		key[n++] = x->stride[x->dim[d]] ? step[d] : 0;
	sum = memo_find(x, n, key);
	if (sum)
		return sum;
	for (int d = 0; d < x->rank; d++) {
		int rd = x->dim[d];

		if (x->stride[rd] && step[d])
			sum = add64v(x->g, sum, times_stride(x, const_i64(x->g, step[d] * x->step[rd]), rd));
	}
	if (sum)
		memo_add(x, n, key, sum);
	return sum;
}

/* Is v at the same position as index in all dims of run-time stride? */
static bool
same_visit(const Access *x, const struct Visit *v, const int64_t *index)
{
	for (int d = 0; d < x->rank; d++)
		if (x->stride[x->dim[d]] && !access_gathers(x, d) && v->index[d] != index[d])
			return false;
	return v->at;
}

/* Returns x + by, hidden from LLVM above the lowest optimization level: it would compare each of many sums
 * with all others (straight line strength reduction: 170 ms of 190 for the stores of 128 rows). */
static LV
sum_aside(Codegen *g, LV x, LV by)
{
	if (g->s->level == LLVMCodeGenLevelNone)
		return LLVMBuildAdd(g->b, x, by, "");
	return asm_op(g, A_add64, x, by, NULL);
}

/* Returns the address of index relative to that of v. */
static LV
go_on(Access *x, const struct Visit *v, const int64_t *index)
{
	bool packed = dtype_info[x->dtype].bits < 8;
	LV from = v->at ? v->at : packed ? x->elems : x->base, by;
	int64_t step[DIM_MAX];

	for (int d = 0; d < x->rank; d++)
		step[d] = access_gathers(x, d) ? 0 : index[d] - v->index[d];
	by = runtime_step(x, step);
	return by ? sum_aside(x->g, from, packed ? by : scaled(x, by)) : from;
}

/* Returns the address of a recent instance, or one relative to the last: consecutive instances are one step
 * apart, so one register holds the step, where products of stride and coordinate would take one each. */
static LV
runtime_part(Access *x, const int64_t *index)
{
	struct Visit *v = x->visit, now;
	int i = 0;

	while (i < ACCESS_VISITS - 1 && !same_visit(x, &v[i], index))
		i++;
	now.at = same_visit(x, &v[i], index) ? v[i].at : go_on(x, v, index);
	for (int d = 0; d < x->rank; d++)
		now.index[d] = index[d];
	for (; i > 0; i--)
		v[i] = v[i - 1];
	v[0] = now;
	return now.at;
}

void
global_at(Access *x, const int64_t *index, LV *base, int64_t *imm, LV *shift)
{
	Codegen *g = x->g;
	int bits = dtype_info[x->dtype].bits;
	int64_t fixed = x->fixed;
	LV e = runtime_part(x, index), gathered = global_index(x, index);

	if (gathered)
		e = LLVMBuildAdd(g->b, e, bits < 8 ? gathered : scaled(x, gathered), "");
	for (int d = 0; d < x->rank; d++)
		if (!x->stride[x->dim[d]] && !access_gathers(x, d))
			fixed += index[d] * x->step[x->dim[d]] * x->cstride[x->dim[d]];
	if (bits >= 8) {
		*base = e;
		*imm = fixed * (bits / 8);
		return;
	}
	if (fixed * bits % 8) {
		e = LLVMBuildAdd(g->b, e, const_i64(g, fixed), "");
		fixed = 0;
	}
	*imm = fixed * bits / 8;
	*base = LLVMBuildAdd(g->b, x->base, access_bytes(x, g->b, e), "");
	if (shift)
		*shift = access_bit(x, g->b, LLVMBuildTrunc(g->b, e, g->i32, ""));
}
