/* async_mma.c - pass_validate_wgmma: validates accesses to stages and registers that asynchronous MMAs in
 * flight use.
 *
 * requires   roles, after pass wgmma_waits
 * preserves  everything; reports a violation as an internal error at the op
 *
 * PTX ISA, "wgmma.wait_group", "wgmma.fence": until a wait covers the group of an MMA, it reads its
 * operands in shared memory and writes its registers; a fence orders earlier register accesses of the warps
 * before it. Along all paths, the walk tracks the stages being read, the values being computed, and the
 * number of younger groups. An arrival at a barrier that the producers wait for before they fill a tile
 * signals that the stage is no longer read. A value being computed may only be accumulated in place: by one
 * MMA after which the value is not used, or at the end of an iteration as the accumulator that the
 * iteration started with. A register operand that the loop carries must not be recomputed while an MMA in
 * flight reads it, since both values have the same registers. */
#include "infer/validate/linear_form.h"
#include "infer/validate/async_mma.h"
#include "infer/validate/validate.h"
#include <string.h>

enum { OPEN = -1, READS = 64, TURNS = 8, AGE_MOST = 64 };

/* An operand that an MMA in flight reads, or its result. */
typedef struct MmaOperandRead {
	const Val *tile; /* alloc, or a register tile */
	const Val *slot; /* stage index; NULL: no longer known */
	int set; /* of a register tile: its register set, for k slices that alternate or a single one */
	int part; /* the first of the tile's registers that the set contains */
	bool before; /* of a previous iteration: its registers are recomputed with the tile */
	bool made;
	int age; /* groups closed since its own; OPEN: its own is still open */
} MmaOperandRead;

typedef struct AsyncMmaState {
	MmaOperandRead read[READS];
	int n;
	bool fenced; /* the warps' register accesses are ordered before the next MMA */
	bool fresh; /* no MMA follows the last fence */
	bool seen; /* data of cp.async is visible to the async proxy: PTX ISA, "Async proxy" */
} AsyncMmaState;

typedef struct AsyncMmaCheck {
	Kernel *k;
	bool ok;
	uint8_t *operand; /* [nval+1] registers of MMAs */
	const Op *producer; /* the op that owns region 0 */
} AsyncMmaCheck;

static void
violation(AsyncMmaCheck *f, const Op *o, const char *what)
{
	prove_violation(f->k, &f->ok, o, what);
}

/* Records a read; an equal one is kept once, with the younger age. */
static void
record_operand_read(AsyncMmaCheck *f, AsyncMmaState *s, const Op *o, MmaOperandRead r)
{
	for (int i = 0; i < s->n; i++)
		if (s->read[i].tile == r.tile && s->read[i].slot == r.slot && s->read[i].set == r.set &&
		    s->read[i].part == r.part && s->read[i].before == r.before && s->read[i].made == r.made) {
			s->read[i].age = r.age < s->read[i].age ? r.age : s->read[i].age;
			return;
		}
	if (s->n == READS)
		violation(f, o, "more asynchronous MMAs are in flight than the validator can track");
	else
		s->read[s->n++] = r;
}

/* ---- values being computed ------------------------------------------------------------------- */

static const MmaOperandRead *
under_way(const AsyncMmaState *s, const Val *v)
{
	for (int i = 0; i < s->n; i++)
		if (s->read[i].made && s->read[i].tile == v)
			return &s->read[i];
	return NULL;
}

/* If `v` is being computed in state `from`, records in s that `to` is too. */
static void
hand_on(AsyncMmaCheck *f, const AsyncMmaState *from, const Val *v, AsyncMmaState *s, const Val *to,
	const Op *o)
{
	const MmaOperandRead *r = under_way(from, v);

	if (r)
		record_operand_read(f, s, o, (MmaOperandRead){ .tile = to, .made = true, .age = r->age });
}

static void
moved(AsyncMmaCheck *f, const Op *o)
{
	violation(f, o, "the result of an asynchronous MMA in flight changes its registers");
}

/* At the end of an iteration, validates that a value being computed is in the registers of the iteration's
 * initial value, or that this one is no longer used. */
static void
turn_ends(AsyncMmaCheck *f, const AsyncMmaState *end, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; i < loop->nout; i++) {
		const Val *v = b->last->in[i], *arg = b->arg[1 + i], *h = value_home(v);
		bool begins = h->def && block_inside(h->block, b) && !read_behind(arg, h->def);

		if (under_way(end, v) && h != arg && !begins)
			moved(f, b->last);
	}
}

/* Validates that both branches compute the value in the same registers. */
static void
branch_ends(AsyncMmaCheck *f, const AsyncMmaState *side, const Op *o, int r)
{
	for (int i = 0; i < o->nout; i++) {
		const Val *v = o->blk[r]->last->in[i], *h = value_home(v);
		const Val *other = value_home(o->blk[!r]->last->in[i]);

		if (under_way(side, v) && h != other &&
		    (!h->def || !block_inside(h->block, o->blk[r]) || read_behind(other, h->def)))
			moved(f, o);
	}
}

/* Validates the operands of o that are being computed. */
static void
takes(AsyncMmaCheck *f, const AsyncMmaState *s, const Op *o)
{
	for (int i = 0; i < o->nin && o->code != O_yield; i++) {
		const Val *v = o->in[i];
		bool enters = o->code == O_for && i >= IN_for_init;

		if (!under_way(s, v))
			continue;
		if (!enters && !(o->code == O_wgmma && i == IN_mma_acc))
			violation(f, o, "reads the result of an asynchronous MMA that is still in flight");
		else if (read_behind(v, o))
			moved(f, o);
	}
}

/* ---- MMAs and waits -------------------------------------------------------------------------- */

/* Is v in registers that an MMA reads? A loop's value has the registers of the previous iteration, a k
 * slice those of another slice in its set. */
static bool
is_made_again(const AsyncMmaState *s, const Val *v, int set, int part)
{
	for (int i = 0; i < s->n; i++)
		if (s->read[i].tile == v && s->read[i].set == set && s->read[i].age != OPEN &&
		    (s->read[i].before || s->read[i].part != part))
			return true;
	return false;
}

/* Validates an MMA that zeroes its accumulator: always, or in the first iteration of a loop that starts
 * with zeros. */
static void
starts_anew(AsyncMmaCheck *f, const Op *o)
{
	const Val *sum = mma_acc(o);
	const Op *loop = sum->def ? NULL : sum->block->owner, *later = wgmma_keeps_acc(o)->def;
	bool carried = loop && loop->code == O_for && sum->index > 0;
	const Op *first = carried ? for_init(loop, sum->index - 1)->def : NULL;
	int64_t adds;

	if (val_is_const(wgmma_keeps_acc(o), &adds) && !adds)
		return;
	if (!first || first->code != O_const || IMM(first, value) || first->fimm < 0 || first->fimm > 0)
		violation(f, o, "the accumulator that it discards is not known to be zero");
	else if (!later || later->code != O_lt || elt_lhs(later) != for_lo(loop) ||
	         elt_rhs(later) != sum->block->arg[0])
		violation(f, o, "discards its accumulator in an iteration other than the first");
}

/* Do producer lanes load the tile by cp.async that arrives at the tile's barrier? */
static bool
is_brought(AsyncMmaCheck *f, Val *v)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, f->producer->blk[0]); o; o = walk_next(&w))
		if (o->code == O_copy && op_mbar(o) && view_root(copy_dest(o)) == view_root(v) &&
		    o->lowering && instr_of(o->lowering)->kind == IK_cp_async)
			return true;
	return false;
}

/* IR.md, "copy", "mbar_arrive": is `arrive` at the copy's barrier and stage, and does it expect the copy? */
static bool
tells_of(AsyncMmaCheck *f, const Op *arrive, const Op *copy)
{
	LinearForm a, b;

	if (arrive->code != O_mbarrier_arrive || !IMM(arrive, expect) ||
	    mbarrier_barrier(arrive) != copy_mbarrier(copy))
		return false;
	a = affine_of(f->k, mbarrier_slot(arrive));
	b = affine_of(f->k, copy_slot(copy));
	return affine_equal(&a, &b);
}

/* Do producer lanes store the tile and arrive without a proxy fence in between? */
static bool
is_hidden(AsyncMmaCheck *f, Val *v)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, f->producer->blk[0]); o; o = walk_next(&w)) {
		const Op *x = o->next;

		if (o->code != O_copy || !op_mbar(o) || view_root(copy_dest(o)) != view_root(v) ||
		    !op_access(o)->map)
			continue;
		if (instr_of(o->lowering) && instr_of(o->lowering)->kind == IK_cp_async)
			continue;
		while (x && !tells_of(f, x, o) &&
		       !(x->code == O_fence_proxy_async && IMM(x, space) == S_shared))
			x = x->next;
		if (!x || x->code != O_fence_proxy_async)
			return true;
	}
	return false;
}

static int
set_of(const Lowering *p)
{
	return p->dot.sets ? p->dot.from / (p->dot.to - p->dot.from) % p->dot.sets : p->dot.from;
}

static void
issue(AsyncMmaCheck *f, AsyncMmaState *s, const Op *o)
{
	for (int i = 0; i < 2; i++) {
		Val *v = o->in[i];
		bool shared = v->type.space == S_shared;
		const Lowering *p = shared ? NULL : o->lowering;
		int set = p ? set_of(p) : 0, part = p ? p->dot.from : 0;

		if (!shared && is_made_again(s, v, set, part))
			violation(f, o, "an asynchronous MMA in flight reads the registers of its operand");
		record_operand_read(f, s, o,
		                    (MmaOperandRead){ .tile = shared ? view_root(o->in[i]) : v,
		                                      .slot = shared ? stage_of(f->producer->blk[0],
		                                                                v)
		                                                     : NULL,
		                                      .set = set,
		                                      .part = part,
		                                      .age = OPEN });
	}
	if (o->nin == 4)
		starts_anew(f, o);
	record_operand_read(f, s, o, (MmaOperandRead){ .tile = o->out[0], .made = true, .age = OPEN });
	for (int i = 0; i < 2 && !s->seen; i++)
		if (is_brought(f, o->in[i]))
			violation(f, o, "no proxy fence after the wait for cp.async copies");
	for (int i = 0; i < 2; i++)
		if (is_hidden(f, o->in[i]))
			violation(f, o, "no proxy fence between stores of producer warps and their "
			                "mbarrier arrive");
	if (o->lowering && o->lowering->dot.sets && !s->fresh) /* each slice is computed at its fence */
		violation(f, o, "no wgmma_fence between it and the register writes of its operand");
	if (!s->fenced)
		violation(f, o, "no wgmma_fence between it and the accesses to its registers");
	if (!s->fresh && read_behind(mma_acc(o), o))
		violation(f, o, "its accumulator has another use and is copied after MMAs that follow its "
		                "fence");
	s->fresh = false;
}

static void
wait_for(AsyncMmaState *s, int64_t pending)
{
	int n = 0;

	for (int i = 0; i < s->n; i++)
		if (s->read[i].age == OPEN || s->read[i].age < pending)
			s->read[n++] = s->read[i];
	s->n = n;
}

static void
release(AsyncMmaCheck *f, const AsyncMmaState *s, const Op *o)
{
	for (int i = 0; i < s->n; i++) {
		const MmaOperandRead *r = &s->read[i];

		if (!r->made && is_leave(f->producer->blk[0], mbarrier_barrier(o), r->tile) &&
		    (!r->slot || slots_meet(o, r->slot, mbarrier_slot(o))))
			violation(f, o, "releases a stage that an asynchronous MMA in flight reads");
	}
}

/* Validates that o does not write memory or registers that an MMA in flight reads. */
static void
written(AsyncMmaCheck *f, const AsyncMmaState *s, const Op *o)
{
	const Val *to = o->code == O_store ? view_root(store_dest(o)) : NULL;

	for (int i = 0; i < s->n; i++)
		if (s->read[i].tile == to)
			violation(f, o, "writes a tile that an asynchronous MMA in flight reads");
}

/* Validates that o does not recompute a loop-carried operand that an MMA in flight reads. */
static void
renewed(AsyncMmaCheck *f, const AsyncMmaState *s, const Op *o)
{
	const Block *b = o->parent;

	for (int i = 0; b->owner->code == O_for && i < b->last->nin; i++)
		for (int j = 0; j < s->n && b->last->in[i]->def == o; j++)
			if (!s->read[j].made && s->read[j].tile == b->arg[1 + i])
				violation(f, o,
				          "computes the operand of the next iteration's MMA, in registers "
				          "that an asynchronous MMA in flight reads");
}

static void walk_block(AsyncMmaCheck *f, AsyncMmaState *s, const Block *b);

static void
join_states(AsyncMmaCheck *f, AsyncMmaState *to, const AsyncMmaState *from, const Op *o)
{
	for (int i = 0; i < from->n; i++)
		record_operand_read(f, to, o, from->read[i]);
	to->fenced = to->fenced && from->fenced;
	to->fresh = to->fresh && from->fresh;
	to->seen = to->seen && from->seen;
}

/* Translates the state at the end of an iteration to the next one's values: a stage index becomes the
 * carried value that it is yielded to. */
static void
next_turn(AsyncMmaState *s, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; i < s->n; i++) {
		const Val *slot = s->read[i].slot, *now = NULL;

		for (int j = 0; j < b->last->nin; j++)
			if (b->last->in[j] == slot)
				now = b->arg[j + 1];
		s->read[i].slot = now;
		s->read[i].before |= !s->read[i].made && s->read[i].tile->type.space == S_reg &&
		                     block_inside(s->read[i].tile->block, b);
	}
}

/* .. to values after the loop. */
static void
behind_loop(AsyncMmaState *s, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; i < s->n; i++)
		for (int j = 0; j < loop->nout; j++)
			if (s->read[i].slot == b->arg[j + 1])
				s->read[i].slot = loop->out[j];
}

static void
walk_loop(AsyncMmaCheck *f, AsyncMmaState *s, const Op *o)
{
	AsyncMmaState top = *s, end;

	for (int i = 0; i < o->nin - IN_for_init; i++) {
		top.fenced = top.fenced && !f->operand[o->blk[0]->arg[1 + i]->id];
		hand_on(f, s, for_init(o, i), &top, o->blk[0]->arg[1 + i], o);
	}
	for (int turn = 0; turn < TURNS && f->ok; turn++) {
		end = top;
		walk_block(f, &end, o->blk[0]);
		turn_ends(f, &end, o);
		for (int i = 0; i < o->nout; i++)
			hand_on(f, &end, o->blk[0]->last->in[i], &top, o->blk[0]->arg[1 + i], o);
		next_turn(&end, o);
		join_states(f, &top, &end, o);
	}
	behind_loop(&top, o);
	for (int i = 0; i < o->nout; i++)
		hand_on(f, &top, o->blk[0]->arg[1 + i], &top, o->out[i], o);
	*s = top;
}

static void
walk_if(AsyncMmaCheck *f, AsyncMmaState *s, const Op *o)
{
	AsyncMmaState side[2] = { *s, *s };

	for (int r = 0; r < 2; r++) {
		walk_block(f, &side[r], o->blk[r]);
		branch_ends(f, &side[r], o, r);
		for (int i = 0; i < o->nout; i++)
			hand_on(f, &side[r], o->blk[r]->last->in[i], &side[r], o->out[i], o);
	}
	*s = side[0];
	join_states(f, s, &side[1], o);
}

static void
walk_op(AsyncMmaCheck *f, AsyncMmaState *s, const Op *o)
{
	takes(f, s, o);
	renewed(f, s, o);
	if (o->code == O_wgmma)
		issue(f, s, o);
	else if (o->code == O_wgmma_fence)
		s->fenced = s->fresh = true;
	else if (o->code == O_mbarrier_wait)
		s->seen = false;
	else if (o->code == O_fence_proxy_async && IMM(o, space) == S_shared)
		s->seen = true;
	else if (o->code == O_wgmma_commit)
		for (int i = 0; i < s->n; i++)
			s->read[i].age += s->read[i].age < AGE_MOST;
	else if (o->code == O_wgmma_wait)
		wait_for(s, IMM(o, pending));
	else if (o->code == O_mbarrier_arrive)
		release(f, s, o);
	else
		written(f, s, o);
}

static void
walk_block(AsyncMmaCheck *f, AsyncMmaState *s, const Block *b)
{
	for (const Op *o = b->first; o && f->ok; o = o->next) {
		walk_op(f, s, o);
		if (o->code == O_for)
			walk_loop(f, s, o);
		else if (o->code == O_if)
			walk_if(f, s, o);
		for (int i = 0; i < o->nout && o->code != O_wgmma; i++)
			s->fenced = s->fenced && !f->operand[o->out[i]->id];
	}
}

bool
pass_validate_wgmma(Kernel *k)
{
	AsyncMmaCheck f = { .k = k, .ok = true, .producer = kernel_roles(k) };
	AsyncMmaState s = { .n = 0, .seen = true };
	OpWalk w;

	if (!f.producer)
		return false;
	f.operand = NEWN(k->unit->arena, uint8_t, k->nval + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < 3 && o->code == O_wgmma; i++)
			f.operand[o->in[i]->id] = o->in[i]->type.space == S_reg;
	walk_block(&f, &s, f.producer->blk[1]);
	if (s.n && f.ok)
		violation(&f, f.producer->blk[1]->last, "asynchronous MMAs are still in flight at the end "
		                                        "of the role");
	return false;
}
