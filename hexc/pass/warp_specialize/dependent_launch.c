/* dependent_launch.c - pass dependent_launch: inserts griddepcontrol (PDL), so that the kernel may start
 * while the primary kernel runs, and the dependent kernel may start early. Ops before the first tensor access
 * overlap with the primary kernel: mbarrier initialization, tensor-map prefetch. Later passes must not move
 * ops. */
#include "hexc/ir/op.h"
#include "hexc/pass/pass.h"

/* Does o itself read a tensor or, with `writes`, write one? Print output counts as a write. */
static bool
accesses_tensor(const Op *o, bool writes)
{
	bool is = false;

	if (o->code == O_print)
		return writes;
	if (!op_is(o, F_MEM))
		return false;
	for (int i = 0; i < o->nin; i++)
		is |= o->in[i]->type.space == S_global && (writes || i == 0);
	return is;
}

static bool
touches_inside(Op *o, bool writes)
{
	OpWalk w;

	for (int r = 0; r < 2; r++)
		for (const Op *x = o->blk[r] ? walk_first(&w, o->blk[r]) : NULL; x; x = walk_next(&w))
			if (accesses_tensor(x, writes))
				return true;
	return accesses_tensor(o, writes);
}

static void
insert_op_before(Block *b, Op *at, OpCode code)
{
	op_new(b, at, code, at->src, 0, NULL, 0, NULL);
}

/* Inserts the wait before the first access to a tensor; at the end if there is none. The dependent kernel
 * waits for this kernel only, and through it for all earlier ones. */
static void
wait_first(Block *b)
{
	Op *o = b->first;

	while (o != b->last && !touches_inside(o, true))
		o = o->next;
	insert_op_before(b, o, O_grid_dependency_wait);
}

/* Inserts launch_dependents after the last read. At the end of a kernel it would be redundant. */
static void
next_last(Block *b, bool role)
{
	Op *o = b->last;

	while (o && !touches_inside(o, false))
		o = o->prev;
	if (o && o->code == O_if && o->next == b->last)
		for (int r = 0; r < 2; r++)
			next_last(o->blk[r], role);
	else if (!o || role || o->next != b->last)
		insert_op_before(b, o ? o->next : b->first, O_grid_launch_dependents);
}

bool
pass_dependent_launch(Kernel *k)
{
	const Op *roles = kernel_roles(k);

	if (k->unit->no_pdl || !(k->unit->target->features & T_PDL))
		return false;
	if (kernel_has(k, O_grid_barrier)) /* a cooperative launch is not a dependent one */
		return false;
	for (int r = 0; roles && r < 2; r++)
		wait_first(roles->blk[r]);
	if (!roles)
		wait_first(k->body);
	next_last(roles ? roles->blk[0] : k->body, roles != NULL);
	return true;
}
