/* multicast_legality.c - checks whether neighbouring blocks along a grid dimension can form a cluster and
 * load common data with TMA multicast; infer/schedule/multicast.c transforms them. */
#include "infer/core/multicast_legality.h"
#include "hexc/ir/memory_effects.h"
#include "infer/core/instr.h"

static bool
meets(Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (o->code == O_mbarrier_wait || o->code == O_mbarrier_arrive)
			return true;
	return false;
}

/* Blocks of a cluster wait for each other: do all of them execute the mbarrier ops inside o equally often? */
static bool
comes_alike(const MulticastQuery *c, const Op *o)
{
	bool waits = false;

	for (int i = 0; i < 2 && o->blk[i]; i++)
		waits = waits || meets(o->blk[i]);
	for (int i = 0; waits && i < (o->code == O_for ? IN_for_init : o->nin); i++)
		if (share_depends(c, o->in[i]))
			return false;
	return true;
}

bool
writes_tensor(const Op *o)
{
	const Val *to = access_target(o);

	return to && to->type.space == S_global;
}

/* Returns the persistent loop over the grid's blocks, or clusters, around o; NULL: none. */
static Op *
grid_loop(const Op *o)
{
	Op *loop = o->parent->owner;

	while (loop && !(loop->code == O_for && for_lo(loop)->def &&
	                 for_lo(loop)->def->code == O_linear_block_id))
		loop = loop->parent->owner;
	return loop;
}

/* Is block_id o computed from the persistent loop's counter? */
static bool
is_numbered(const Op *o)
{
	const Op *loop = grid_loop(o);

	return o->nin && loop && block_linear(o) == loop->blk[0]->arg[0];
}

static const char *
op_refused(const MulticastQuery *c, const Op *o)
{
	if (op_is(o, F_EFFECT))
		return "it contains `print` or `assert`";
	if (o->code == O_block_id && !is_numbered(o))
		return "the kernel is not persistent";
	if (writes_tensor(o) && !grid_loop(o))
		return "it stores outside the loop over its blocks";
	if (o->blk[0] && o->code != O_roles && !comes_alike(c, o))
		return "trip counts depend on the block index";
	return NULL;
}

const char *
share_refused(const MulticastQuery *c, const Op **number)
{
	const Kernel *k = c->k;
	const char *why = NULL;
	OpWalk w;

	*number = NULL;
	if (!(k->unit->target->features & T_MULTICAST))
		return "the target has no TMA multicast";
	if (!kernel_roles(k) || !kernel_is_persistent(k))
		return "the kernel is not a persistent warp-specialized kernel";
	for (int i = 0; i < k->nparam; i++)
		if (k->param[i].kind == P_tensor && k->param[i].read && k->param[i].written)
			return "it reads a tensor that it writes";
	for (const Op *o = walk_first(&w, k->body); o && !why; o = walk_next(&w)) {
		why = op_refused(c, o);
		if (o->code == O_block_id)
			*number = o;
	}
	return why || *number ? why : "all blocks load the same data";
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static int64_t
box_elements(const TensorMap *m)
{
	int64_t n = 1;

	for (int d = 0; d < m->rank; d++)
		n *= m->box[d];
	return n;
}

int
share_cut(const MulticastQuery *c, const TensorMap *m)
{
	enum { PATTERN_ROWS = 8, UNSWIZZLED = 128 };
	int64_t pattern = m->swizzle ? PATTERN_ROWS * m->swizzle : UNSWIZZLED, bytes;
	int d = m->rank - 1;

	while (d > 0 && m->box[d] == 1)
		d--;
	bytes = box_elements(m) / c->blocks * dtype_info[m->dtype].bits / 8;
	return d > 0 && m->box[d] % c->blocks == 0 && bytes % pattern == 0 ? d : 0;
}

Op *
leave_of(const Op *o)
{
	return op_last_before(o, O_mbarrier_wait);
}

bool
share_by_boxes(const MulticastQuery *c, const Op *o, const TensorMap *m)
{
	return type_size(&copy_source(o)->type) / box_elements(m) % c->blocks == 0;
}

bool
share_copy_fits(const MulticastQuery *c, const Op *o, const TensorMap *m)
{
	return !share_depends(c, copy_source(o)) && leave_of(o) &&
	       (share_by_boxes(c, o, m) || share_cut(c, m));
}
