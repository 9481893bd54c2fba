/* multicast.c - pass multicast: lets adjacent blocks along a grid dim load the tiles that they all read
 * once per cluster, by TMA multicast.
 *
 * requires   warp roles in a persistent kernel, after pass infer; no waits inserted by pass wgmma_waits yet
 * produces   k->cluster as requested; copies to all blocks (IMM multicast); the target barriers of arrivals
 * fails      with a program error, and leaves a kernel that cannot use multicast unchanged
 *
 * If the source of a copy does not depend on that dim, all blocks of a cluster need the same data in the
 * same iterations. Each block loads its part and multicasts it to all. A stage may therefore be refilled
 * only after the consumers of all blocks have read it:
 *
 *     mbar_wait empty, s                        the same, with C times as many arrivals
 *     copy B[n, k], b[s], full, s           =>  .. multicast: boxes in C parts, each with its barrier
 *     mbar_arrive empty, s                      .. at the barriers of all C blocks
 *
 * Block indices become cluster indices. If the last cluster of a row has blocks past the end of the grid,
 * these execute the same iterations as the row's last block, so that no barrier waits forever, but store
 * nothing. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"
#include "infer/core/grid_dependence.h"
#include "infer/core/instr.h"
#include "infer/core/multicast_legality.h"
#include <string.h>

typedef struct Multicast {
	Kernel *k;
	MulticastQuery share;
	const Op *number; /* a block_id op that has the grid's extents as operands */
} Multicast;

/* ---- copies ---------------------------------------------------------------------------------------- */

/* Returns the tensor map of a TMA box copy; NULL if o is none. */
static TensorMap *
copy_map(const Multicast *c, const Op *o)
{
	bool boxes = o->code == O_copy && IMM(o, async) == COPY_BARRIER &&
	             instr_is_box(instr_of(o->lowering));

	return boxes ? &c->k->map[op_access(o)->tensor_map - 1] : NULL;
}

/* Can one block of a cluster load what o copies for all of them? */
static bool
is_shared(const Multicast *c, const Op *o)
{
	const TensorMap *m = copy_map(c, o);

	return m && share_copy_fits(&c->share, o, m);
}

static void
share_copy(const Multicast *c, Op *o)
{
	TensorMap *m = copy_map(c, o);

	if (!share_by_boxes(&c->share, o, m))
		m->box[share_cut(&c->share, m)] /= c->share.blocks;
	IMM_SET(o, multicast, 1 + c->share.axis);
}

/* Makes the shareable copies multicast and marks the barriers by which consumers release their
 * destinations. Returns false if no copy is the same in all blocks. */
static bool
share_copies(const Multicast *c)
{
	bool *asks = NEWN(c->k->unit->arena, bool, c->k->nval + 1), any = false;
	OpWalk w;

	for (Op *o = walk_first(&w, c->k->body); o; o = walk_next(&w))
		if (is_shared(c, o)) {
			share_copy(c, o);
			asks[mbarrier_barrier(leave_of(o))->id] = any = true;
		}
	for (Op *o = walk_first(&w, c->k->body); o; o = walk_next(&w))
		if (o->code == O_mbarrier && asks[o->out[0]->id])
			IMM_SET(o, arrivals, IMM(o, arrivals) * c->share.blocks);
		else if (o->code == O_mbarrier_arrive && asks[mbarrier_barrier(o)->id])
			IMM_SET(o, cluster, (1 << c->share.blocks) - 1);
	return any;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

/* Inserts the number of clusters in the grid before the roles. */
static Val *
count_clusters(const Multicast *c, Op *roles)
{
	Block *b = roles->parent;
	Val *all = NULL;

	for (int d = 0; d < 3; d++) {
		Val *n = block_extent(c->number, d);

		if (d == c->share.axis) {
			n = ir_bin(b, roles, O_add, n, ir_const(b, roles, c->share.blocks - 1));
			n = ir_bin(b, roles, O_div, n, ir_const(b, roles, c->share.blocks));
		}
		all = all ? ir_bin(b, roles, O_mul, all, n) : n;
	}
	return all;
}

/* Makes o conditional on `has`: the grid contains the block. */
static void
only_if(Op *o, Val *has)
{
	Op *guard = op_new(o->parent, o, O_if, o->src, 1, &has, 0, NULL);

	for (int i = 0; i < 2; i++) {
		guard->blk[i] = block_new(o->parent->kernel, guard);
		op_new(guard->blk[i], NULL, O_yield, o->src, 0, NULL, 0, NULL);
	}
	op_move_before(o, guard->blk[0]->last);
}

/* Guards stores, so that blocks past the end of the grid store nothing. */
static void
guard_stores(const Multicast *c, Op *loop)
{
	Block *b = loop->blk[0];
	Val *in[4] = { b->arg[0], block_extent(c->number, 0), block_extent(c->number, 1),
		       block_extent(c->number, 2) };
	Type t = type_scalar(D_bool);
	Op *has = NULL, **store = NULL;
	int n = 0, cap = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (writes_tensor(o))
			VEC_PUSH(c->k->unit->arena, store, n, cap, o);
	if (n)
		has = op_new(b, b->first, O_block_in_grid, loop->src, 4, in, 1, &t);
	for (int i = 0; i < n; i++)
		only_if(store[i], has->out[0]);
}

static void
walk_clusters(const Multicast *c, Op *roles)
{
	Val *all = count_clusters(c, roles);
	OpWalk w;

	for (int i = 0; i < 2; i++)
		for (Op *o = walk_first(&w, roles->blk[i]); o; o = walk_next(&w))
			if (o->code == O_for && for_lo(o)->def && for_lo(o)->def->code == O_linear_block_id) {
				o->in[IN_for_hi] = all;
				guard_stores(c, o);
			}
}

/* Scales the raster groups from rows of blocks to rows of clusters. */
static void
count_rows(const Multicast *c)
{
	GridOrder *o = &c->k->order;

	if (o->group && o->fast == c->share.axis)
		o->group = o->group > c->share.blocks ? o->group / c->share.blocks : 1;
}

/* Returns the only dim along which a cluster has several blocks; -1 if there are several. */
static int
several_along(const int *cluster)
{
	int axis = -1;

	for (int d = 0; d < 3; d++)
		if (cluster[d] > 1)
			axis = axis < 0 ? d : 3;
	return axis == 3 ? -1 : axis;
}

bool
pass_multicast(Kernel *k)
{
	const int *asked = k->cluster_asked;
	int axis = several_along(asked), blocks = asked[0] * asked[1] * asked[2];
	Multicast c = { .k = k, .share = { k, NULL, axis, blocks } };
	const char *why;

	if (blocks <= 1)
		return false;
	c.share.dims = grid_dims(k);
	why = axis < 0 ? "its blocks are along several grid dimensions" : share_refused(&c.share, &c.number);
	if (!why && !share_copies(&c))
		why = "adjacent blocks along that grid dimension share no operand";
	if (why) {
		diag_class_error(k->unit->diag, DC_SOURCE, k->src,
		                 "kernel %s cannot have clusters of %dx%dx%d: %s", k->name, asked[0],
		                 asked[1], asked[2], why);
		return false;
	}
	walk_clusters(&c, kernel_roles(k)->blk[0]->owner);
	count_rows(&c);
	memcpy(k->cluster, asked, sizeof k->cluster);
	return true;
}
