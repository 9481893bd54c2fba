/* multicast.c - pass multicast: blocks side by side along a dim of the grid fetch together what they all read.
 *
 * needs   roles whose blocks share out the grid, and what pass infer leaves; no waits that pass wgmma_waits places
 * sets    k->cluster as it is asked for; which copies go to all blocks (IMM multicast), and where arrivals go
 * leaves  a kernel that cannot have it as it was, with an error of the program
 *
 * What a copy fetches from a place that does not depend on that dim all blocks of a cluster need, in the same
 * turns: each fetches its part of it, to all.  So a stage may be filled when the consumers of all have
 * read it:
 *
 *     mbar_wait empty, s                        the same, of C times as many arrivals
 *     copy B[n, k], b[s], full, s           =>  .. multicast: boxes in C parts, each with its barrier
 *     mbar_arrive empty, s                      .. at the barriers of all C blocks
 *
 * Numbers of blocks become those of clusters.  Where the last cluster of a row has blocks that the grid has
 * not, these go the way of its last one, so that nobody waits for them for ever, and store nothing. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"
#include "infer/core/grid_dependence.h"
#include "infer/core/instr.h"
#include "infer/core/multicast_legality.h"
#include <string.h>

typedef struct Multicast {
	Kernel *k;
	MulticastQuery share;
	const Op *number; /* a block_id: whose grid all have */
} Multicast;

/* ---- copies ---------------------------------------------------------------------------------------- */

/* The tensor map of a copy of boxes; NULL: it is none. */
static TensorMap *
copy_map(const Multicast *c, const Op *o)
{
	bool boxes = o->code == O_copy && IMM(o, async) == COPY_BARRIER &&
	             instr_is_box(instr_of(o->lowering));

	return boxes ? &c->k->map[op_access(o)->tensor_map - 1] : NULL;
}

/* Can all blocks of a cluster get what o fetches from one of them? */
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

/* Copies, and who must have read what they fill.  False: none is the same in all blocks. */
static bool
share_copies(const Multicast *c)
{
	bool *asks = NEWN(c->k->unit->arena, bool, c->k->nval + 1), any = false;
	OpWalk w;

	for (Op *o = walk_first(&w, c->k->body); o; o = walk_next(&w))
		if (is_shared(c, o)) {
			share_copy(c, o);
			asks[leave_of(o)->in[0]->id] = any = true;
		}
	for (Op *o = walk_first(&w, c->k->body); o; o = walk_next(&w))
		if (o->code == O_mbar && asks[o->out[0]->id])
			IMM_SET(o, arrivals, IMM(o, arrivals) * c->share.blocks);
		else if (o->code == O_mbar_arrive && asks[o->in[0]->id])
			IMM_SET(o, cluster, (1 << c->share.blocks) - 1);
	return any;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

/* How many clusters the grid has, in front of the roles. */
static Val *
count_clusters(const Multicast *c, Op *roles)
{
	Block *b = roles->parent;
	Val *all = NULL;

	for (int d = 0; d < 3; d++) {
		Val *n = c->number->in[1 + d];

		if (d == c->share.axis) {
			n = ir_bin(b, roles, O_add, n, ir_const(b, roles, c->share.blocks - 1));
			n = ir_bin(b, roles, O_div, n, ir_const(b, roles, c->share.blocks));
		}
		all = all ? ir_bin(b, roles, O_mul, all, n) : n;
	}
	return all;
}

/* o, if the grid has the block. */
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

/* Blocks that the grid has not store nothing. */
static void
guard_stores(const Multicast *c, Op *loop)
{
	Block *b = loop->blk[0];
	Val *in[4] = { b->arg[0], c->number->in[1], c->number->in[2], c->number->in[3] };
	Type t = type_scalar(D_bool);
	Op *has = NULL, **store = NULL;
	int n = 0, cap = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w))
		if (writes_tensor(o))
			VEC_PUSH(c->k->unit->arena, store, n, cap, o);
	if (n)
		has = op_new(b, b->first, O_has_block, loop->src, 4, in, 1, &t);
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
			if (o->code == O_for && o->in[0]->def && o->in[0]->def->code == O_launched) {
				o->in[1] = all;
				guard_stores(c, o);
			}
}

/* Rows of blocks that are counted together, as rows of clusters. */
static void
count_rows(const Multicast *c)
{
	GridOrder *o = &c->k->order;

	if (o->group && o->fast == c->share.axis)
		o->group = o->group > c->share.blocks ? o->group / c->share.blocks : 1;
}

/* The dim along which a cluster has several blocks; -1: several dims. */
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
	why = axis < 0 ? "its blocks are along several dims of the grid" : share_refused(&c.share, &c.number);
	if (!why && !share_copies(&c))
		why = "its blocks along that dim of the grid fetch nothing that is the same";
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
