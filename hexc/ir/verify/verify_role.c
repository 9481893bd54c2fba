/* verify_role.c - implements the shape rules of ops.def for warp roles, mbarriers and asynchronous MMAs. */
#include "hexc/ir/verify/verify.h"

enum { CLUSTER_MOST = 16 }; /* blocks of a cluster, on any target */

/* May o precede the roles? Only if it does not synchronize. */
static bool
may_precede(const Op *o)
{
	return o->code == O_alloc || o->code == O_mbarrier || op_is(o, F_PURE);
}

const char *
shape_roles(Arena *a, const Op *o)
{
	const Kernel *k = o->parent->kernel;

	if (o->parent != k->body || o->next != k->body->last)
		return "not the last op of the body";
	for (const Op *p = o->prev; p; p = p->prev)
		if (!may_precede(p))
			return arena_printf(a, "%s with side effects before `roles`",
			                    op_info[p->code].name);
	if (k->producer_warps < 1)
		return "the kernel has no producer warps";
	for (int r = 0; r < 2; r++)
		if (o->blk[r]->narg || o->blk[r]->last->nin)
			return "a region has arguments or yields values";
	for (int i = 0; i < 2; i++)
		if (o->imm[i] && (o->imm[i] < REGISTERS_LEAST || o->imm[i] > REGISTERS_MOST || o->imm[i] % 8))
			return "registers must be a multiple of 8 from 24 to 256, or 0";
	if ((IMM(o, producer) == 0) != (IMM(o, consumer) == 0))
		return "registers are set for only one role";
	return NULL;
}

const char *
shape_consumer_group_id(Arena *a, const Op *o)
{
	(void)a;
	if (!type_is_index(&o->out[0]->type))
		return "the result is not an i64 scalar";
	return op_role(o) == ROLE_CONSUMER ? NULL : "not in the region of the consumer groups";
}

const char *
shape_mbarrier(Arena *a, const Op *o)
{
	const Type *t = &o->out[0]->type;

	if (t->space != S_shared || t->dtype != D_u64 || t->rank != 1)
		return "the result is not shared u64[n], one mbarrier per element";
	if (IMM(o, offset) < -1 || IMM(o, arrivals) < 1 || IMM(o, arrivals) > ARRIVALS_MOST)
		return arena_printf(a, "a negative offset, or an arrival count that is not 1 to %d",
		                    ARRIVALS_MOST);
	if (IMM(o, offset) != -1 && IMM(o, offset) % MBAR_BYTES)
		return "the offset is not aligned";
	return o->parent == o->parent->kernel->body ? NULL : "not at the top level of the body";
}

const char *
check_mbar(const Op *o, int i)
{
	if (!o->in[i]->def || o->in[i]->def->code != O_mbarrier)
		return "not an mbarrier";
	if (op_role(o) == ROLE_ALL)
		return "not in a role; mbarriers synchronize roles";
	return type_is_index(&o->in[i + 1]->type) ? NULL : "the slot is not an i64 scalar";
}

const char *
shape_mbarrier_wait(Arena *a, const Op *o)
{
	(void)a;
	if (!type_is_index(&mbarrier_parity(o)->type))
		return "the phase is not an i64 scalar";
	return check_mbar(o, 0);
}

const char *
shape_mbarrier_arrive(Arena *a, const Op *o)
{
	(void)a;
	if (IMM(o, cluster) >> min64(cluster_blocks(o->parent->kernel), CLUSTER_MOST))
		return "invalid cluster blocks";
	if (IMM(o, arrive_count) < 0)
		return "the number of arrivals is negative";
	return check_mbar(o, 0);
}

/* Type of operand i as multiplied, with transposes applied. */
static Type
factor(const Op *o, int i)
{
	Type t = o->in[i]->type;

	if (IMM(o, transposed) >> i & 1) {
		t.shape[0] = o->in[i]->type.shape[1];
		t.shape[1] = o->in[i]->type.shape[0];
	}
	return t;
}

static bool
is_factor(const Val *v)
{
	return v->type.rank == 2 && (v->type.space == S_shared || v->type.space == S_reg);
}

const char *
shape_wgmma(Arena *a, const Op *o)
{
	const Type *c;
	Type x, y;

	if (o->nin != 3 && o->nin != 4)
		return "expected two operands, an accumulator, and optionally a condition";
	if (!is_factor(mma_a(o)) || !is_factor(mma_b(o)) ||
	    (mma_a(o)->type.space == S_reg && mma_b(o)->type.space == S_reg))
		return types_differ(a, "operands must be matrices in shared memory, or one of them in "
		                       "registers",
		                    &mma_a(o)->type, &mma_b(o)->type);
	for (int i = 0; i < 2; i++)
		if (o->in[i]->type.space == S_reg && IMM(o, transposed) >> i & 1)
			return "a register operand cannot be transposed here; use the op transpose";
	for (int i = 0; i < 2; i++)
		if (is_scattered(o->in[i]) || (o->in[i]->def && view_is_longer(o->in[i]->def)))
			return "an operand is an indexed view, or one that is longer than its operand";
	if (o->nin == 4 && !type_is_cond(&wgmma_keeps_acc(o)->type))
		return "the condition is not a bool scalar";
	x = factor(o, 0);
	y = factor(o, 1);
	c = &mma_acc(o)->type;
	return check_product(a, &x, &y, c, &o->out[0]->type);
}

const char *
shape_fence_proxy_async(Arena *a, const Op *o)
{
	(void)a;
	if (IMM(o, space) != S_shared && IMM(o, space) != S_global)
		return "neither shared nor global memory";
	return NULL;
}
