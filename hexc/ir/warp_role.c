/* warp_role.c - answers which warps execute an op (all warps of the block, producers, or one consumer group),
 * and which copies an mbarrier arrival expects. */
#include "hexc/ir/ir.h"

const char *const schedule_name[SCHEDULES] = { "groups", "roles", "roles2" };

const Op *
kernel_roles(const Kernel *k)
{
	for (const Op *o = k->made_roles ? k->body->last : NULL; o; o = o->prev)
		if (o->code == O_roles)
			return o;
	return NULL;
}

int
kernel_warps(const Kernel *k)
{
	return k->warps * k->teams + k->producer_warps;
}

int
cluster_blocks(const Kernel *k)
{
	return k->cluster[0] * k->cluster[1] * k->cluster[2];
}

bool
kernel_waits_for_grids(const Kernel *k)
{
	return kernel_has(k, O_grid_dependency_wait);
}

bool
kernel_is_persistent(const Kernel *k)
{
	return kernel_has(k, O_linear_block_id);
}

int
launch_registers(int warps)
{
	enum { SM_REGISTERS = 65536, MOST = LANE_REGISTERS / 8 * 8 };
	int n = SM_REGISTERS / (warps * WARP_SIZE) / 8 * 8;

	return n < MOST ? n : MOST;
}

Role
op_role(const Op *o)
{
	for (const Block *b = o->parent; b && b->owner; b = b->owner->parent)
		if (b->owner->code == O_roles)
			return b == b->owner->blk[0] ? ROLE_PRODUCER : ROLE_CONSUMER;
	return ROLE_ALL;
}

int
op_warps(const Op *o)
{
	const Kernel *k = o->parent->kernel;

	switch (op_role(o)) {
	case ROLE_PRODUCER: return k->producer_warps;
	case ROLE_CONSUMER: return k->warps;
	case ROLE_ALL: break;
	}
	return kernel_warps(k);
}

bool
op_is_index(const Op *o)
{
	bool made = op_is(o, F_ELT) || op_is(o, F_FILL) || o->code == O_convert_layout ||
	            (o->code == O_load && load_source(o)->type.space == S_global);

	return made && o->out[0]->type.space == S_reg &&
	       (KINDS_bits >> dtype_info[o->out[0]->type.dtype].kind & 1);
}

Op *
op_mbar(const Op *o)
{
	int at = o->code == O_copy ? 2 : 0;

	return o->nin > at ? o->in[at]->def : NULL;
}

const Val *
op_slot(const Op *o)
{
	return o->code == O_copy ? copy_slot(o) : mbarrier_slot(o);
}

Op *
op_last_before(const Op *o, OpCode code)
{
	Op *x = o->prev;

	while (x && x->code != code)
		x = x->prev;
	return x;
}

Op *
product_fence(const Op *o)
{
	return op_last_before(o, O_wgmma_fence);
}

int64_t
product_k(const Op *o)
{
	return mma_a(o)->type.shape[IMM(o, transposed) & 1 ? 0 : 1];
}

int64_t
product_part(const Op *o, int64_t *from)
{
	const Lowering *p = o->lowering;
	bool part = p && p->kind == LW_dot && p->dot.to;

	*from = part ? p->dot.from : 0;
	return part ? p->dot.to - p->dot.from : product_k(o);
}

Val *
product_factor(const Op *o)
{
	for (int i = 0; i < 2 && o->code == O_wgmma; i++)
		if (o->in[i]->type.space == S_reg)
			return o->in[i];
	return NULL;
}

/* ---- what arrivals expect ---------------------------------------------------------------------- */

/* Do both (wait, arrive or copy) use the same mbarrier and slot? */
static bool
same_barrier(const Op *a, const Op *b)
{
	enum { DEPTH = 12 };

	return op_mbar(a) && op_mbar(a) == op_mbar(b) && val_same(op_slot(a), op_slot(b), DEPTH);
}

const Op *
arrival_copy(const Op *arrive, const Op *last)
{
	for (const Op *p = last->prev; p; p = p->prev) {
		if (p->code == O_mbarrier_arrive && IMM(p, expect) && same_barrier(p, arrive))
			return NULL;
		if (p->code == O_copy && same_barrier(p, arrive))
			return p;
	}
	return NULL;
}

const Op *
copy_arrival(const Op *copy)
{
	for (const Op *p = copy->next; p; p = p->next)
		if (p->code == O_mbarrier_arrive && IMM(p, expect) && same_barrier(p, copy))
			return p;
	return NULL;
}
