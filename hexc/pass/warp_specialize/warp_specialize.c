/* warp_specialize.c - pass warp_specialize: what pipeline loops read is fetched by warps that do nothing else.
 *
 *     pipeline k .. stages S {            a: shared [S, ..], full, empty: S barriers each
 *         copy A[k], a                    roles, those that produce {
 *         compute(a)                 =>       for k .. (s, p) { wait empty[s], 1 - p
 *     }                                                         copy A[k], a[s], full[s]; arrive full[s] } }
 *     store                               those that compute {
 *                                             for k .. (s, p) { wait full[s], p; compute(a[s])
 *                                                               arrive empty[s] }
 *                                             store }
 *
 * Those that compute do all that the body did but these copies.  The others go through the same loops and
 * branches, and compute what these and the copies depend on: index arithmetic, scalars of tensors that the
 * kernel does not write, and tiles of indices, of rows that are gathered.  s and p are carried through all
 * loops around (pipeline_state.c).
 *
 * Such kernels are persistent (persistent.c).  With schedule roles2 two teams compute, each a tile
 * (pingpong.c).
 *
 * needs   pipeline loops as the program has them, schedule roles or roles2
 * keeps   what the kernel computes; pipeline loops, for the loads that pass pipeline makes ahead
 * leaves  a kernel that cannot be parted so as it was, and says why (k->unscheduled) */
#include "hexc/ir/ids.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/warp_specialize/warp_specialize.h"

enum { HELPERS = 4, PRODUCER_REGISTERS = 40, WARPS_MOST = 32, GROUP_WARPS = 4 };

Op *
ring_copy(const Pipe *p, const Op *last, const StageBuffers **ring)
{
	for (Op *o = last ? last->next : p->body->first; o; o = o->next)
		for (int i = 0; i < p->nring && o->code == O_copy; i++)
			if (view_root(o->in[1]) == p->ring[i].alloc->out[0]) {
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

/* Does a loop fetch anything to shared memory that is not of its rings, or that the kernel writes? */
static void
check_copies(Roles *r, const Pipe *p)
{
	const StageBuffers *ring;
	const Op *ours = ring_copy(p, NULL, &ring);
	OpWalk w;

	for (Op *o = walk_first(&w, p->body); o; o = walk_next(&w)) {
		const Param *from = o->code == O_copy ? val_param(r->k, view_root(o->in[0])) : NULL;

		if (!from)
			continue;
		if (o != ours)
			cannot(r, "a loop fetches tiles whose place depends on what it computes, or "
			          "not in each turn");
		else if (from->written)
			cannot(r, "a loop fetches tiles of a tensor that the kernel writes");
		if (o == ours)
			ours = ring_copy(p, ours, &ring);
	}
}

static void
check_warps(Roles *r)
{
	const Kernel *k = r->k;

	if (!(k->unit->target->features & T_TMA))
		cannot(r, "the target has no barriers that copies arrive at");
	else if (kernel_roles(k))
		cannot(r, "the program has roles of its own");
	else if (k->warps % GROUP_WARPS)
		cannot(r, "registers are handed on by four warps together");
	else if (k->schedule == SCHEDULE_TEAMS && k->warps > GROUP_WARPS)
		cannot(r, "two teams of more than a warpgroup have few registers each");
	else if (k->schedule == SCHEDULE_TEAMS && !k->grid)
		cannot(r, "one block is all there is: teams have nothing to share");
	else if (k->warps + HELPERS > WARPS_MOST)
		cannot(r, "a block has no room for warps that fetch");
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
			cannot(r, "a loop has one stage: nothing can be fetched ahead");
		VEC_PUSH(r->k->unit->arena, r->feed, r->nfeed, r->cap, f);
	}
	if (!r->nfeed)
		cannot(r, "no pipeline loop fetches tiles to shared memory");
}

/* ---- those that compute ---------------------------------------------------------------------------- */

/* The first op of the loop's turn that touches what is fetched, and the last that reads it, or what was only
 * loaded and brought into form. */
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

/* What the body made of what was fetched. */
typedef struct Fetched {
	Ids ids;
	bool *of; /* by value that the body makes */
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

/* Does o, or anything inside of it, have an operand that was fetched? */
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
		if (o->code == O_copy || o->code == O_alloc || o->code == O_yield || !uses_copied_tile(p, &f, o))
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
	op_new(p->body, u.first, O_mbar_wait, src, 3, (Val *[]){ f->full, slot, phase }, 0, NULL);
	o = op_new(p->body, u.last == p->body->last ? u.last : u.last->next, O_mbar_arrive, src, 2,
	           (Val *[]){ f->empty, slot }, 0, NULL);
	IMM_SET(o, movable, 1);
	for (int i = 0; i < p->nring; i++)
		p->ring[i].now = ring_stage(p->body, p->body->first, &p->ring[i], slot);
	for (int i = 0; i < p->nring; i++)
		ring_replace(p, &p->ring[i]);
}

/* ---- both ------------------------------------------------------------------------------------------ */

/* What stands in front of the roles, for both: scalars of the launch.  Each role asks for its first tile
 * itself: ptxas spills what lives on where registers change hands. */
static bool
is_common(const Op *o)
{
	if (!op_is(o, F_PURE) || o->code == O_launched || o->blk[0] || o->nout != 1 ||
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

/* Registers of a lane: what a launch has for all, and what is handed on to those that compute. */
static void
share_registers(Kernel *k, Op *roles)
{
	int launch = launch_registers(kernel_warps(k));
	int computing = k->warps * k->teams;
	int rest = (launch * kernel_warps(k) - PRODUCER_REGISTERS * k->helpers) / computing / 8 * 8;
	int most = LANE_REGISTERS / 8 * 8;

	k->launch_registers = launch;
	IMM_SET(roles, producer, PRODUCER_REGISTERS);
	IMM_SET(roles, consumer, rest < most ? rest : most);
}

static Val *
barriers(Kernel *k, Op *at, int64_t slots, Src src, const char *name)
{
	Type t = type_tile(D_u64, S_shared, 1, &slots);
	Op *o = op_new(k->body, at, O_mbar, src, 0, NULL, 1, &t);

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

	k->helpers = HELPERS;
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
	if (!r.why)
		find_feeds(&r);
	if (!r.why)
		produce_plan(&r);
	if (!r.why && k->schedule == SCHEDULE_TEAMS)
		r.why = pingpong_unsupported(&r);
	if (!r.why) {
		if (k->grid)
			persist(k);
		produce_plan(&r); /* with the loop of the grid's blocks */
		part(&r);
	}
	k->unscheduled = r.why;
	return !r.why;
}
