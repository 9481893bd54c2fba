/* warp_specialize.c - pass warp_specialize: moves the copies of pipeline loops to dedicated producer warps
 * (warp specialization).
 *
 *     pipeline k .. stages S {            a: shared [S, ..], full, empty: S mbarriers each
 *         copy A[k], a                    roles, producers {
 *         compute(a)                 =>       for k .. (s, p) { wait empty[s], 1 - p
 *     }                                                         copy A[k], a[s], full[s]; arrive full[s] } }
 *     store                               consumers {
 *                                             for k .. (s, p) { wait full[s], p; compute(a[s])
 *                                                               arrive empty[s] }
 *                                             store }
 *
 * Consumers execute all of the body but these copies. Producers execute the same loops and branches, and
 * compute what these and the copies depend on: index arithmetic, scalars of tensors that the kernel does not
 * write, and index tiles of gathered rows. s and p are carried through all enclosing loops
 * (pipeline_state.c).
 *
 * The result is a persistent kernel (persistent.c). With schedule roles2 two consumer groups compute, one
 * tile each (pingpong.c).
 *
 * requires   pipeline loops as in the program, schedule roles or roles2
 * preserves  what the kernel computes; pipeline loops, for loads that pass pipeline prefetches; an
 *            unsupported kernel, with the reason in k->unscheduled */
#include "hexc/ir/ids.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/warp_specialize/warp_specialize.h"

enum { HELPERS = 4, PRODUCER_REGISTERS = 40, WARPS_MOST = 32, GROUP_WARPS = 4 };

Op *
ring_copy(const Pipe *p, const Op *last, const StageBuffers **ring)
{
	for (Op *o = last ? last->next : p->body->first; o; o = o->next)
		for (int i = 0; i < p->nring && o->code == O_copy; i++)
			if (view_root(copy_dest(o)) == p->ring[i].alloc->out[0]) {
				*ring = &p->ring[i];
				return o;
			}
	return NULL;
}

/* ---- can it be done? ------------------------------------------------------------------------------- */

static void
cannot(Roles *r, const char *why)
{
	if (!r->why)
		r->why = why;
}

/* Rejects loops with copies to shared memory other than to stage buffers, or from a tensor that the kernel
 * writes. */
static void
check_copies(Roles *r, const Pipe *p)
{
	const StageBuffers *ring;
	const Op *ours = ring_copy(p, NULL, &ring);
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		const Param *from = o->code == O_copy ? val_param(r->k, view_root(copy_source(o))) : NULL;

		if (!from)
			continue;
		if (o != ours)
			cannot(r, "a copy's address depends on the loop's computation, or the copy is "
				  "conditional");
		else if (from->written)
			cannot(r, "a copied tensor is also written by the kernel");
		if (o == ours)
			ours = ring_copy(p, ours, &ring);
	}
}

static void
check_warps(Roles *r)
{
	const Kernel *k = r->k;

	if (!(k->unit->target->features & T_TMA))
		cannot(r, "the target has no mbarrier transaction counts (sm_90 or later)");
	else if (kernel_roles(k))
		cannot(r, "the program already has explicit roles");
	else if (k->warps % GROUP_WARPS)
		cannot(r, "setmaxnreg needs whole warpgroups: WARPS must be a multiple of 4");
	else if (k->schedule == SCHEDULE_TEAMS && k->warps > GROUP_WARPS)
		cannot(r, "pingpong consumers of more than one warpgroup get too few registers");
	else if (k->schedule == SCHEDULE_TEAMS && !k->grid)
		cannot(r, "pingpong needs more than one output tile");
	else if (k->warps + HELPERS > WARPS_MOST)
		cannot(r, "no threads left for producer warps");
}

static void
find_feeds(Roles *r)
{
	OpWalk w;

	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w)) {
		Feed f = { 0 };

		if (o->code != O_for || IMM(o, loop) != FOR_PIPELINE)
			continue;
		pipe_open(&f.pipe, r->k, o);
		check_copies(r, &f.pipe);
		if (f.pipe.nring == 0)
			continue;
		if (f.pipe.stages < 2)
			cannot(r, "a pipeline loop has one stage: nothing can be prefetched");
		VEC_PUSH(r->k->unit->arena, r->feed, r->nfeed, r->cap, f);
	}
	if (!r->nfeed)
		cannot(r, "no pipeline loop copies to shared memory");
}

/* ---- those that compute ---------------------------------------------------------------------------- */

/* The first op of the iteration that uses copied tiles, and the last that reads them or values only loaded
 * and rearranged from them. */
typedef struct UseRange {
	Op *first, *last;
} UseRange;

static bool
is_fetched(const Pipe *p, Val *v)
{
	for (int i = 0; i < p->nring; i++)
		if (v->type.space == S_shared && view_root(v) == p->ring[i].alloc->out[0])
			return true;
	return false;
}

/* Values of the body derived from copied tiles. */
typedef struct Fetched {
	Ids ids;
	bool *of; /* by value that the body defines */
} Fetched;

static bool
reads_fetched(const Pipe *p, const Fetched *f, const Op *o)
{
	for (int i = 0; i < o->nin; i++) {
		int64_t v = ids_val(&f->ids, o->in[i]);

		if ((v >= 0 && f->of[v]) || is_fetched(p, o->in[i]))
			return true;
	}
	return false;
}

/* Does o, or any op inside it, have a copied operand? */
static bool
uses_copied_tile(const Pipe *p, const Fetched *f, const Op *o)
{
	OpWalk w;

	if (reads_fetched(p, f, o))
		return true;
	for (int s = 0; s < 2; s++)
		for (Op *x = o->blk[s] ? walk_first(&w, o->blk[s]) : NULL; x; x = walk_next(&w))
			if (reads_fetched(p, f, x))
				return true;
	return false;
}

static bool
passes_on(const Op *o)
{
	return !o->blk[0] && o->code != O_dot && (op_is(o, F_PURE) || o->code == O_load);
}

static UseRange
find_use(const Pipe *p)
{
	Fetched f = { .ids = ids_of(p->body) };
	UseRange u = { 0 };

	f.of = NEWN(p->k->unit->arena, bool, f.ids.nval);
	for (Op *o = p->body->first; o; o = o->next) {
		if (o->code == O_copy || o->code == O_alloc || o->code == O_yield ||
		    !uses_copied_tile(p, &f, o))
			continue;
		u.first = u.first ? u.first : o;
		u.last = o;
		for (int i = 0; i < o->nout && passes_on(o); i++)
			f.of[ids_val(&f.ids, o->out[i])] = true;
	}
	return u;
}

static void
compute(Feed *f)
{
	Pipe *p = &f->pipe;
	Src src = p->body->owner->src;
	UseRange u = find_use(p);
	Val *slot, *phase;
	Op *o;

	p->loop = loop_position(p->body->owner, p->stages, &slot, &phase);
	p->slot = slot;
	if (!u.first)
		u.first = u.last = p->body->last;
	op_new(p->body, u.first, O_mbarrier_wait, src, 3, (Val *[]){ f->full, slot, phase }, 0, NULL);
	o = op_new(p->body, u.last == p->body->last ? u.last : u.last->next, O_mbarrier_arrive, src, 2,
	           (Val *[]){ f->empty, slot }, 0, NULL);
	IMM_SET(o, sinkable, 1);
	for (int i = 0; i < p->nring; i++)
		p->ring[i].now = ring_stage(p->body, p->body->first, &p->ring[i], slot);
	for (int i = 0; i < p->nring; i++)
		ring_replace(p, &p->ring[i]);
}

/* ---- both ------------------------------------------------------------------------------------------ */

/* May o precede the roles, for both: a scalar of the launch? Each role computes its first tile itself: ptxas
 * spills values live across setmaxnreg. */
static bool
is_common(const Op *o)
{
	if (!op_is(o, F_PURE) || o->code == O_linear_block_id || o->blk[0] || o->nout != 1 ||
	    o->out[0]->type.space != S_scalar)
		return false;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->def && o->in[i]->def->parent != o->parent)
			return false;
	return true;
}

static Op *
roles_new(Kernel *k)
{
	Op *end = k->body->last, *o = op_new(k->body, end, O_roles, end->src, 0, NULL, 0, NULL), *next;
	Op *yield;

	for (int i = 0; i < 2; i++)
		o->blk[i] = block_new(k, o);
	yield = op_new(o->blk[1], NULL, O_yield, end->src, 0, NULL, 0, NULL);
	for (Op *x = k->body->first; x != o; x = next) {
		next = x->next;
		if (!is_common(x))
			op_move_before(x, yield);
	}
	return o;
}

/* Sets the registers per thread: at launch for all warps, then for producers and for consumers. */
static void
share_registers(Kernel *k, Op *roles)
{
	int launch = launch_registers(kernel_warps(k));
	int computing = k->warps * k->teams;
	int rest = (launch * kernel_warps(k) - PRODUCER_REGISTERS * k->producer_warps) / computing / 8 * 8;
	int most = LANE_REGISTERS / 8 * 8;

	k->launch_registers = launch;
	IMM_SET(roles, producer, PRODUCER_REGISTERS);
	IMM_SET(roles, consumer, rest < most ? rest : most);
}

static Val *
barriers(Kernel *k, Op *at, int64_t slots, Src src, const char *name)
{
	Type t = type_tile(D_u64, S_shared, 1, &slots);
	Op *o = op_new(k->body, at, O_mbarrier, src, 0, NULL, 1, &t);

	IMM_SET(o, offset, -1);
	IMM_SET(o, arrivals, 1);
	o->out[0]->name = name;
	return o->out[0];
}

static void
part(Roles *r)
{
	Kernel *k = r->k;
	bool teams = k->schedule == SCHEDULE_TEAMS;
	Op *o = roles_new(k);

	k->producer_warps = HELPERS;
	k->teams = teams ? TEAMS : 1;
	k->open_warps = false;
	share_registers(k, o);
	for (int i = 0; i < r->nfeed; i++) {
		Feed *f = &r->feed[i];

		for (int j = 0; j < f->pipe.nring; j++)
			ring_alloc(&f->pipe, &f->pipe.ring[j], k->body, o);
		f->full = barriers(k, o, f->pipe.stages, f->pipe.loop->src, "full");
		f->empty = barriers(k, o, f->pipe.stages, f->pipe.loop->src, "empty");
	}
	produce_body(r, o->blk[1], o->blk[0]);
	op_new(o->blk[0], NULL, O_yield, o->src, 0, NULL, 0, NULL);
	for (int i = 0; i < r->nfeed; i++)
		produce_copies(r, &r->feed[i]);
	if (teams)
		turns_take(r);
	for (int i = 0; i < r->nfeed; i++)
		compute(&r->feed[i]);
	if (teams)
		emit_pingpong_order(r, barriers(k, o, TEAMS, o->src, "order"));
}

bool
pass_warp_specialize(Kernel *k)
{
	Roles r = { .k = k };

	if (!schedule_has_roles(k->schedule))
		return false;
	check_warps(&r);
	if (!r.why && kernel_has(k, O_grid_barrier))
		r.why = "a grid barrier is for all warps of a block";
	if (!r.why)
		find_feeds(&r);
	if (!r.why)
		produce_plan(&r);
	if (!r.why && k->schedule == SCHEDULE_TEAMS)
		r.why = pingpong_unsupported(&r);
	if (!r.why) {
		if (k->grid)
			persist(k);
		produce_plan(&r); /* again, now with the loop over tiles */
		part(&r);
	}
	k->unscheduled = r.why;
	return !r.why;
}
