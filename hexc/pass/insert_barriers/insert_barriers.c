/* insert_barriers.c - pass insert_barriers: inserts the barriers that memory hazards within a block require
 * (as Triton's Membar).
 *
 * requires   shared memory allocated (pass allocate_smem); otherwise tiles are assumed not to overlap
 * preserves  all ops; adds barriers, and waits for async copies without one
 * produces   IR in which two accesses of a block to one byte of shared or global memory, one of them a write,
 *            have a barrier in between, unless one thread makes both or they belong to two blocks of the
 *            grid; a second run adds nothing
 *
 * The state at a program point is the set of accesses since the last barrier. An access that conflicts with
 * one of them gets a barrier before it. Loops are walked until the set at their top is stable. If an op
 * inside a loop or if conflicts with an access before it, the barrier goes before the loop or if.
 *
 * Async copies: pass pipeline, or the program, orders copies to a tile and its reads by groups and waits. A
 * read is only taken to need a barrier if there was a wait without a barrier after it, and a copy to the same
 * elements if all copies have landed without a barrier after that. Other tiles in the same memory must not be
 * accessed before a `wait 0` and a barrier. If a program never commits its async copies, commit and wait are
 * inserted before the first access.
 *
 * Copies with an mbarrier are ordered by it. A `proxy` (proxy fence) before the barrier makes generic writes
 * visible to wgmma and the async proxy. Warp roles run concurrently, and share only memory that their
 * mbarriers order.
 *
 * block_handoff.c handles memory passed between blocks. pass_validate_barriers
 * (infer/validate/memory_order.c) checks the result with independent code.
 *
 * An op with scratch memory writes all of it, contains a barrier, and reads it. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/insert_barriers/insert_barriers.h"

bool
set_conflict(BarrierInsertion *s, const AccessSet *set, const HazardAccess *now, Hit *hit)
{
	arena_work(s->k->unit->arena, (size_t)set->n);
	for (int i = 0; i < set->n && !hit->found; i++) {
		hit->found = access_conflict(s, &set->a[i], now);
		hit->then = set->a[i];
		hit->now = *now;
	}
	return hit->found;
}

/* Inserts `code` before `at`, with immediate `value` if it has one. */
static void
insert(BarrierInsertion *s, Op *at, OpCode code, int64_t value)
{
	Op *o;

	s->changed = true;
	o = op_new(at->parent, at, code, at->src, 0, NULL, 0, NULL);
	if (code == O_async_wait)
		IMM_SET(o, bulk, value);
	else if (code == O_fence_proxy_async)
		IMM_SET(o, space, value);
	flow_forget(s, at->parent);
}

/* Do all accesses of op in the set have a proxy fence after them? A fence in a later loop may be too late for
 * its first iteration. */
static bool
is_shown(const AccessSet *set, const Op *op)
{
	for (int i = 0; i < set->n; i++)
		if (set->a[i].op == op && !set->a[i].proxied)
			return false;
	return true;
}

/* Inserts a barrier before `at`, and a wait if copies may be in flight. */
static void
insert_sync(BarrierInsertion *s, AccessSet *set, Op *at, const Hit *hit)
{
	const HazardAccess *then = &hit->then;

	if (then->async && !then->landed && (s->uncommitted || then->root != hit->now.root)) {
		if (s->uncommitted && !then->bulk)
			insert(s, at, O_async_commit, 0);
		insert(s, at, O_async_wait, then->bulk);
		set_wait(set, true, then->bulk);
	}
	if (hit->now.engine && !is_shown(set, then->op)) {
		insert(s, at, O_fence_proxy_async, S_shared);
		set_proxy(set);
	}
	insert(s, at, O_barrier, 0);
	set_barrier(s, set);
}

/* Applies an op without accesses and regions to the set. */
static void
transfer(BarrierInsertion *s, const Op *o, AccessSet *set)
{
	HazardAccess a;

	if (smem_has_scratch(o)) {
		set_barrier(s, set);
		a = scratch_read(o);
		set_add(s, set, &a);
	} else if (op_is_barrier(o)) {
		set_barrier(s, set);
	} else if (o->code == O_async_wait) {
		set_wait(set, IMM(o, pending) == 0, IMM(o, bulk) != 0);
	} else if (o->code == O_fence_proxy_async && IMM(o, space) == S_shared) {
		set_proxy(set);
	}
}

/* ---- looking ahead --------------------------------------------------------------------------- */

static void flow_block(BarrierInsertion *s, const Block *b, AccessSet *set, Hit *hit);

/* Does the loop run at least once? A loop with a condition per iteration may end before the first. */
static bool
has_nonzero_trip_count(BarrierInsertion *s, const Op *loop)
{
	Val *lo = for_lo(loop);
	int64_t on;

	if (loop_ends_early(loop) && !(val_is_const(for_init(loop, 0), &on) && on))
		return false;
	return prove_inside(s->k, loop, &lo, 1, 1, for_hi(loop));
}

/* May the trip count exceed 1? */
static bool
runs_again(BarrierInsertion *s, const Op *loop)
{
	Fact step = val_fact(s->k, for_step(loop));
	Val *hi = for_hi(loop);

	return step.lo != step.hi || !prove_inside(s->k, loop, &hi, 1, -step.lo, for_lo(loop));
}

void
flow_region(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit)
{
	AccessSet before = set_copy(s, set), end, next;

	if (o->code == O_for) {
		do {
			end = set_copy(s, set);
			flow_block(s, o->blk[0], &end, hit);
			next = set_copy(s, &end);
			set_wrap(&next, o);
		} while (set_join(s, set, &next) && runs_again(s, o));
		*set = end;
		if (!has_nonzero_trip_count(s, o))
			set_join(s, set, &before);
		return;
	}
	flow_block(s, o->blk[0], set, hit);
	flow_block(s, o->blk[1], &before, hit);
	set_join(s, set, &before);
}

static void
flow_block(BarrierInsertion *s, const Block *b, AccessSet *set, Hit *hit)
{
	HazardAccess a[2];

	for (const Op *o = b->first; o && (set->n || !hit->through); o = o->next) {
		int n = access_of(s, o, a);

		for (int i = 0; i < n; i++)
			set_conflict(s, set, &a[i], hit);
		for (int i = 0; i < n && !hit->through; i++)
			set_add(s, set, &a[i]);
		if (o->blk[0]) {
			flow_known(s, o, set, hit);
		} else if (hit->through && smem_has_scratch(o)) {
			set_barrier(s, set);
		} else {
			transfer(s, o, set);
		}
	}
}

/* ---- putting barriers in --------------------------------------------------------------------- */

static void sync_block(BarrierInsertion *s, Block *b, AccessSet *set);

/* Inserts barriers in the regions of o, given the preceding accesses. */
static void
sync_inside(BarrierInsertion *s, Op *o, const AccessSet *before)
{
	for (int r = 0; r < 2 && o->blk[r]; r++) {
		AccessSet top = set_copy(s, before), end;

		do {
			end = set_copy(s, &top);
			sync_block(s, o->blk[r], &end);
			set_wrap(&end, o);
		} while (o->code == O_for && set_join(s, &top, &end) && runs_again(s, o));
	}
}

/* Does the conflict involve a preceding asynchronous access whose wait is inside o? A barrier before o does
 * not resolve it. */
static bool
is_waited_inside(BarrierInsertion *s, const Op *o, const AccessSet *set, const Hit *hit)
{
	AccessSet trial = set_copy(s, set);
	Hit again = { .found = false };

	if (!hit->then.async)
		return false;
	if (hit->now.engine)
		set_proxy(&trial);
	set_barrier(s, &trial);
	flow_known(s, o, &trial, &again);
	return again.found && again.then.op == hit->then.op && again.now.op == hit->now.op;
}

/* Handles the inside as if nothing preceded it; then conflicts with preceding accesses. */
static void
sync_region(BarrierInsertion *s, Op *o, AccessSet *set)
{
	AccessSet nothing = { .n = 0 }, probe;
	Hit hit = { .found = false };

	if (!flow_is_settled(s, o)) {
		sync_inside(s, o, &nothing);
		flow_settle(s, o);
	}
	for (int tries = 0;; tries++) {
		hit.found = false;
		if (flow_is_plain(s, o)) { /* the set is as long as the program: avoid copying it */
			flow_look(s, o, set, &hit);
			if (!hit.found) {
				flow_pass(s, o, set);
				return;
			}
		} else {
			probe = set_copy(s, set);
			flow_known(s, o, &probe, &hit);
			if (!hit.found)
				break;
		}
		BUG_IF(s->k->unit->arena, tries > set->n);
		if (is_waited_inside(s, o, set, &hit))
			sync_inside(s, o, set);
		else
			insert_sync(s, set, o, &hit);
	}
	*set = probe;
}

static void
sync_block(BarrierInsertion *s, Block *b, AccessSet *set)
{
	HazardAccess a[2];
	Hit hit = { .found = false };

	for (Op *o = b->first; o; o = o->next) {
		int n = access_of(s, o, a);

		for (int i = 0; i < n; i++)
			for (hit.found = false; set_conflict(s, set, &a[i], &hit); hit.found = false)
				insert_sync(s, set, o, &hit);
		for (int i = 0; i < n; i++)
			set_add(s, set, &a[i]);
		if (o->blk[0]) {
			sync_region(s, o, set);
		} else {
			transfer(s, o, set);
		}
	}
}

/* ---- kernels ------------------------------------------------------------------------------------- */

bool
pass_insert_barriers(Kernel *k)
{
	BarrierInsertion s = { .k = k };
	AccessSet set = { .n = 0 };
	bool async = false, commit = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		async |= o->code == O_copy && IMM(o, async) == COPY_GROUP;
		commit |= o->code == O_async_commit && !IMM(o, bulk);
		s.engines |= o->code == O_wgmma || (o->code == O_copy && IMM(o, async) == COPY_OUT);
	}
	s.uncommitted = async && !commit;
	s.changed = sync_signals(k);
	facts_keep(k);
	sync_block(&s, k->body, &set);
	facts_drop(k);
	return s.changed;
}
