/* async_copies.c - pass_validate_async_copies: validates the waits for groups of asynchronous copies to
 * shared tiles and of bulk copies from them.
 *
 * preserves  everything; reports a violation as an internal error at the op
 *
 * PTX ISA, "cp.async.wait_group" and "cp.async.bulk.wait_group": the copies since the last commit form a
 * group, and a wait for all but the latest N groups completes the earlier ones. The walk follows all paths
 * through the kernel (paths.c), as far as they differ in the copies in flight and the stage indices.
 * Violations are: a read of data that a copy is certainly still writing, a write to data that one is
 * certainly still reading, and a bulk copy in flight at the end of the kernel. Stages with unknown indices
 * are not validated.
 *
 * MMAs and bulk copies may read what lanes wrote to shared memory only after a proxy fence.
 *
 * pass_validate_barriers validates the barriers between a thread's wait and other threads' reads,
 * pass_validate_warp_roles the stages between roles. */
#include "infer/validate/subtile.h"
#include "infer/validate/validate.h"
#include "infer/validate/paths.h"

enum { AGE_MOST = 64 };

static void
violation(PathWalk *f, const Op *o, const char *what)
{
	prove_violation(f->k, &f->ok, o, what);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A proxy fence makes what lanes wrote visible to the async proxy. */
static void
show(Way *w)
{
	int n = 0;

	for (int i = 0; i < w->n; i++)
		if (w->copy[i].kind != HIDES)
			w->copy[n++] = w->copy[i];
	w->n = n;
}

static void
close_group(Way *w, MovingKind kind)
{
	for (int i = 0; i < w->n; i++)
		if (w->copy[i].kind == kind)
			w->copy[i].age += w->copy[i].age < AGE_MOST;
}

static void
wait_for(Way *w, int64_t pending, MovingKind kind)
{
	int n = 0;

	for (int i = 0; i < w->n; i++)
		if (w->copy[i].kind != kind || w->copy[i].age == OPEN || w->copy[i].age < pending)
			w->copy[n++] = w->copy[i];
	w->n = n;
}

/* ---- parts of tiles -------------------------------------------------------------------------- */

static StageRange
part_of(const PathWalk *f, const Way *w, Val *v)
{
	TilePart t = tile_part(v);
	const Type *of = &t.tile->type;
	StageRange p = { .tile = t.tile, .lo = UNKNOWN, .n = t.n, .whole = t.whole };

	if (t.n)
		p.lo = t.first ? ways_number(f, w, t.first, DEPTH) : 0;
	p.all = p.whole && p.lo == 0 && p.n >= (of->rank ? of->shape[0] : 1);
	return p;
}

/* Does p certainly contain an element of m? m covers full stages. */
static bool
part_meets(const StageRange *m, const StageRange *p)
{
	if (m->tile != p->tile)
		return false;
	if (m->all || p->all)
		return true;
	if (p->lo == UNKNOWN)
		return false;
	if (p->whole)
		return p->lo < m->lo + m->n && m->lo < p->lo + p->n;
	return p->lo >= m->lo && p->lo + p->n <= m->lo + m->n;
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* Records a copy; an equal one is kept once, with the younger age. */
static void
record_copy(PathWalk *f, Way *w, Val *v, MovingKind kind)
{
	Moving m = { part_of(f, w, v), kind, OPEN };

	if (v->type.space != S_shared || !m.part.whole || m.part.lo == UNKNOWN)
		return;
	for (int i = 0; i < w->n; i++)
		if (ways_same_copy(&w->copy[i], &m)) {
			w->copy[i].age = OPEN;
			return;
		}
	if (w->n == COPIES)
		f->lost = true;
	else
		w->copy[w->n++] = m;
}

static bool
moves(const Op *o, CopyKind kind)
{
	return o->code == O_copy && IMM(o, async) == kind;
}

/* Does o read shared memory through the async proxy? PTX ISA, "Async proxy". */
static bool
is_engine(const Op *o)
{
	return o->code == O_wgmma || moves(o, COPY_OUT);
}

static void
touches(PathWalk *f, Way *w, const Op *o, Val *v, bool writes)
{
	static const char *const what[] = {
		[BRINGS] = "reads the destination of a copy that is still in flight",
		[TAKES] = "writes the source of a bulk copy that is still in flight",
		[HIDES] = "no proxy fence between it and generic-proxy writes",
	};
	StageRange p = part_of(f, w, v);

	for (int i = 0; i < w->n; i++) {
		MovingKind kind = w->copy[i].kind;
		bool wrong = kind == HIDES ? is_engine(o) : writes == (kind == TAKES);

		if (wrong && part_meets(&w->copy[i].part, &p))
			violation(f, o, what[kind]);
	}
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void
walk_op(PathWalk *f, Way *w, const Op *o)
{
	bool lanes = o->code == O_store || moves(o, COPY_NOW) || moves(o, COPY_GROUP);

	if (o->code == O_async_commit)
		close_group(w, IMM(o, bulk) ? TAKES : BRINGS);
	else if (o->code == O_async_wait)
		wait_for(w, IMM(o, pending), IMM(o, bulk) ? TAKES : BRINGS);
	else if (o->code == O_fence_proxy_async && IMM(o, space) == S_shared)
		show(w);
	if (!op_is(o, F_MEM))
		return;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared)
			touches(f, w, o, o->in[i], i == 1 && (o->code == O_copy || o->code == O_store));
	if (moves(o, COPY_GROUP))
		record_copy(f, w, copy_dest(o), BRINGS);
	if (moves(o, COPY_OUT))
		record_copy(f, w, copy_source(o), TAKES);
	if (lanes && f->engines)
		record_copy(f, w, write_dest(o), HIDES);
}

bool
pass_validate_async_copies(Kernel *k)
{
	PathWalk f = { .k = k, .ok = true, .op = walk_op };
	bool any = false;
	Ways ways;
	OpWalk w;

	f.slot = NEWN(k->unit->arena, uint8_t, k->nval + 1);
	f.asked = NEWN(k->unit->arena, bool, k->nval + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		f.engines = f.engines || is_engine(o);
		any = any || moves(o, COPY_GROUP) || moves(o, COPY_OUT);
	}
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_view && o->out[0]->type.space == S_shared)
			ways_ask(&f, view_start(o, 0));
	if (!any)
		return false;
	ways = ways_follow(&f);
	for (int i = 0; i < ways.n && f.ok && !f.lost; i++)
		for (int j = 0; j < ways.a[i].n; j++)
			if (ways.a[i].copy[j].kind == TAKES)
				violation(&f, k->body->last,
				          "a bulk copy is still in flight at the end of the kernel");
	return false;
}
