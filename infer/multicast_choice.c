/* multicast_choice.c - tries clusters of blocks whose copies use TMA multicast, and keeps them for
 * solutions that become faster: those limited by L2 whose neighbouring blocks read the same data. */
#include "infer/core/cost_constants.h"
#include "infer/core/multicast_legality.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search.h"

/* Does a copy load a tile with fewer than CLUSTER_ROWS rows along the grid dimension?  Such tiles occur where
 * the tensor has no more rows, so there is no neighbouring block. */
static bool
is_last_of(const MulticastQuery *share, const Op *copy)
{
	const Op *view = copy_source(copy)->def;

	for (int d = 0; view && view->code == O_view && d < view->out[0]->type.rank; d++)
		if (share_depends(share, view_start(view, view_operand_dim(view, d))) &&
		    view->out[0]->type.shape[d] < CLUSTER_ROWS)
			return true;
	return false;
}

/* Is o in a loop with waits, other than the persistent loop over the grid's blocks? */
static bool
is_in_turns(const Op *o)
{
	const Op *loop = o->parent->owner;

	while (loop && loop->code != O_for)
		loop = loop->parent->owner;
	return loop && for_lo(loop)->def && for_lo(loop)->def->code != O_linear_block_id;
}

/* Does the loop body contain masks or non-TMA global accesses?  Splitting loops into iterations with and
 * without masks gains more there, and it excludes clusters. */
static bool
has_edges(const Solve *s)
{
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		bool edge = o->code == O_mask ||
		            (o->code == O_load && load_source(o)->type.space == S_global) ||
		            (o->code == O_copy && !instr_is_box(instr_of(s->sol->lowering[o->id])));

		if (edge && is_in_turns(o))
			return true;
	}
	return false;
}

/* Returns the copies that a cluster can multicast, by op id; NULL: none, or no clusters are possible. */
static const bool *
shared_copies(const Solve *s, const MulticastQuery *share)
{
	bool *shared = NEWN(s->arena, bool, s->k->nop + 1), any = false;
	const Op *number;

	if (share_refused(share, &number) || (!s->k->cluster_asked[0] && has_edges(s)))
		return NULL;
	for (int i = 0; i < s->norder; i++) {
		const Op *o = s->order[i];
		TensorMap m;

		if (o->code != O_copy || IMM(o, async) != COPY_BARRIER ||
		    !instr_is_box(instr_of(s->sol->lowering[o->id])))
			continue;
		if (is_last_of(share, o) && !s->k->cluster_asked[0])
			return NULL;
		box_map(s, o, s->sol->form[view_root(copy_side(o, S_shared))->id], &m);
		shared[o->id] = share_copy_fits(share, o, &m);
		any = any || shared[o->id];
	}
	return any ? shared : NULL;
}

/* Returns s->sol in clusters of `blocks` blocks along a grid dimension; NULL: impossible. */
static LayoutSolution *
in_clusters(Solve *s, int axis, int blocks)
{
	MulticastQuery share = { s->k, s->dims, axis, blocks };
	const bool *shared = shared_copies(s, &share);
	LayoutSolution *sol = shared ? cost_shared(s, shared, blocks) : NULL;

	for (int d = 0; d < 3 && sol; d++)
		sol->cluster[d] = d == axis ? blocks : 1;
	return sol;
}

LayoutSolution *
clustered(Solve *s)
{
	const int *asked = s->k->cluster_asked;
	LayoutSolution *best = NULL;

	for (int axis = 0; axis < 3; axis++) {
		int blocks = asked[axis] ? asked[axis] : axis < 2 ? PAIR : 1;
		LayoutSolution *sol = blocks > 1 ? in_clusters(s, axis, blocks) : NULL;

		if (sol && (!best || sol->cycles < best->cycles))
			best = sol;
	}
	return best && (asked[0] || best->cycles < CLUSTER_GAIN * s->sol->cycles) ? best : NULL;
}
