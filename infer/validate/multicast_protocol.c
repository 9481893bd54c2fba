/* multicast_protocol.c - pass_validate_multicast: validates the multicast copies within a cluster, and the
 * arrivals by which blocks release their stages.
 *
 * PTX ISA, "cp.async.bulk.tensor", .multicast::cluster: a copy writes the same shared-memory offset in each
 * block, and completes on the same mbarrier in each. All blocks must therefore issue equal copies in the
 * same iteration, and only after the consumers of all blocks have released the stage.
 *
 * A value that `differs` may vary between the blocks of a cluster. What is loaded from one address of a
 * tensor that is never written does not differ. */
#include "hexc/ir/memory_effects.h"
#include "infer/validate/validate.h"

typedef struct MulticastCheck {
	Kernel *k;
	bool *differs; /* by value id */
	bool changed, ok;
} MulticastCheck;

static void
violation(MulticastCheck *c, const Op *o, const char *what)
{
	prove_violation(c->k, &c->ok, o, what);
}

/* ---- values that differ ---------------------------------------------------------------------- */

static void
set(MulticastCheck *c, const Val *v, bool differs)
{
	c->changed |= differs && !c->differs[v->id];
	c->differs[v->id] |= differs;
}

static bool
any_differs(const MulticastCheck *c, const Op *o, int n)
{
	for (int i = 0; i < n; i++)
		if (c->differs[o->in[i]->id])
			return true;
	return false;
}

static bool
begins(const MulticastCheck *c, const Op *o)
{
	const Param *p = o->code == O_load ? val_param(c->k, view_root(load_source(o))) : NULL;

	if (o->code == O_block_id && (!o->nin || c->k->cluster[IMM(o, axis)] > 1))
		return true;
	return o->code == O_block_in_grid || (p && p->written);
}

/* Propagates from the regions of o to its results, and to a loop's arguments also from its initial values. */
static void
spread_regions(MulticastCheck *c, const Op *o)
{
	int fixed = o->code == O_for ? IN_for_init : o->nin;
	bool way = any_differs(c, o, fixed);

	for (int s = 0; s < 2 && o->blk[s]; s++) {
		const Block *b = o->blk[s];

		for (int i = 0; i < o->nout; i++) {
			bool differs = way || c->differs[b->last->in[i]->id] ||
			               (o->code == O_for && c->differs[for_init(o, i)->id]);

			set(c, o->out[i], differs);
			if (o->code == O_for)
				set(c, b->arg[1 + i], differs);
		}
		if (o->code == O_for)
			set(c, b->arg[0], way);
	}
}

static void
spread(MulticastCheck *c, const Op *o)
{
	Val *to = access_target(o);
	bool differs = begins(c, o) || any_differs(c, o, o->nin);

	if (o->blk[0]) {
		spread_regions(c, o);
		return;
	}
	for (int i = 0; i < o->nout; i++)
		set(c, o->out[i], differs);
	if (to && to->type.space == S_shared)
		set(c, view_root(to), differs);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void
check_way(MulticastCheck *c, const Op *o)
{
	for (const Op *x = o->parent->owner; x; x = x->parent->owner)
		if (any_differs(c, x, x->code == O_for ? IN_for_init : x->nin))
			violation(c, o, "not all blocks of a cluster execute this equally often");
}

/* Validates that an arrival signals all blocks of the cluster, or only its own. */
static void
check_arrival(MulticastCheck *c, const Op *o)
{
	int64_t all = ((int64_t)1 << cluster_blocks(c->k)) - 1, mask = IMM(o, cluster);

	if (mask && (mask != all || IMM(o, expect)))
		violation(c, o, "arrives at only some blocks of the cluster, or expects copies from only "
		                "some");
	if (mask && IMM(op_mbar(o), arrivals) % cluster_blocks(c->k))
		violation(c, o, "a phase does not complete when each block of the cluster has arrived");
}

static void
check_leave(MulticastCheck *c, const Op *copy)
{
	const Op *wait = copy->prev;
	OpWalk w;

	while (wait && wait->code != O_mbarrier_wait)
		wait = wait->prev;
	if (!wait || c->differs[mbarrier_slot(wait)->id] || c->differs[op_slot(copy)->id]) {
		violation(c, copy, "nothing ensures that all blocks have read the data it overwrites");
		return;
	}
	for (const Op *o = walk_first(&w, c->k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier_arrive && op_mbar(o) == op_mbar(wait) && !IMM(o, cluster))
			violation(c, o, "other blocks overwrite the data read here; no arrive signals them");
}

static void
check_copy(MulticastCheck *c, const Op *o)
{
	int blocks = cluster_blocks(c->k), number = op_access(o) ? op_access(o)->tensor_map : 0;
	int64_t elements = type_size(&copy_source(o)->type);

	if (!instr_is_box(instr_of(o->lowering)) || number < 1 || number > c->k->nmap ||
	    c->k->cluster[IMM(o, multicast) - 1] != blocks) {
		violation(c, o, "not a TMA tensor copy, or not all blocks of the cluster are along that "
		                "axis");
		return;
	}
	for (int d = 0; d < c->k->map[number - 1].rank; d++)
		elements /= c->k->map[number - 1].box[d];
	if (elements % blocks)
		violation(c, o, "its TMA boxes cannot be distributed evenly over the blocks");
	if (c->differs[copy_source(o)->id])
		violation(c, o, "blocks of a cluster multicast different tiles");
	check_leave(c, o);
}

/* Validates stores: a block past the end of the grid follows the control flow of another, and must store
 * nothing. */
static void
check_store(MulticastCheck *c, const Op *o)
{
	const Block *b = o->parent;

	while (b->owner && !(b->owner->code == O_if && b == b->owner->blk[0] && if_cond(b->owner)->def &&
	                     if_cond(b->owner)->def->code == O_block_in_grid))
		b = b->owner->parent;
	if (!b->owner)
		violation(c, o, "a block outside the grid would store");
}

static void
check_op(MulticastCheck *c, const Op *o)
{
	const Val *to = access_target(o);

	if (o->code == O_mbarrier_wait || o->code == O_mbarrier_arrive)
		check_way(c, o);
	if (o->code == O_mbarrier_arrive)
		check_arrival(c, o);
	if (o->code == O_copy && IMM(o, multicast))
		check_copy(c, o);
	if (to && to->type.space == S_global)
		check_store(c, o);
}

bool
pass_validate_multicast(Kernel *k)
{
	MulticastCheck c = { .k = k, .ok = true };
	OpWalk w;

	if (cluster_blocks(k) == 1)
		return false;
	c.differs = NEWN(k->unit->arena, bool, k->nval + 1);
	do {
		c.changed = false;
		for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
			spread(&c, o);
	} while (c.changed);
	for (Op *o = walk_first(&w, k->body); o && c.ok; o = walk_next(&w))
		check_op(&c, o);
	return false;
}
