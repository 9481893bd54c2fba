/* waits.c - pass_prove_waits: checker of what is waited for: by groups of copies to shared tiles and of
 * bulk copies from them, and by rings of barriers between roles.
 *
 * keeps   everything; a violation is an internal error at the op
 *
 * PTX ISA, "cp.async.wait_group" and "cp.async.bulk.wait_group": copies since the last commit are a group,
 * and behind a wait for all but the latest N groups those before have been done.  All ways through the kernel
 * are followed (ways.c), as far as they differ in the copies under way and in the slots of rings.  A read of
 * what a copy is certainly still bringing, a write to what one is certainly still reading, and a bulk copy
 * under way where the kernel ends are violations.  Of a slot that is no number nothing is said.
 *
 * Of a ring of barriers a role that the compiler made holds the stages that it waited for until it arrives at
 * the other barrier of the ring.  A number of them that grows from turn to turn, or falls, is of a wait or
 * arrival too much or too few.  And a copy that a barrier tells of fills the stage that has the number of the
 * barrier.  Programs that write their roles may count otherwise.
 *
 * What lanes wrote to shared memory is read by products and bulk copies behind a proxy alone.
 *
 * Barriers between a thread's wait and the others' reads are pass_prove_sync's. */
#include "infer/prove/flight.h"
#include "infer/prove/prove.h"
#include "infer/prove/ways.h"

enum { AGE_MOST = 64 };

static void
violation(Follow *f, const Op *o, const char *what)
{
	prove_violation(f->k, &f->ok, o, what);
}

/* ---- groups -------------------------------------------------------------------------------------- */

/* What lanes wrote is seen by all. */
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

/* ---- parts of tiles ------------------------------------------------------------------------------ */

/* The first dim as `of` has it, a tile or a shape of it with the same first dim. */
static Part
part_of_view(const Follow *f, const Way *w, const Op *view, const Val *of, Part p)
{
	const Type *t = &of->type, *is = &view->out[0]->type;
	bool slot = IMM(view, dropped) & 1;
	int64_t zero;

	p.lo = ways_number(f, w, view->in[1], DEPTH);
	p.n = slot ? 1 : is->shape[0];
	for (int d = 1, at = !slot; d < t->rank; d++) {
		bool gone = IMM(view, dropped) >> d & 1;

		p.whole = p.whole && val_is_const(view->in[1 + d], &zero) && zero == 0 &&
		          (gone ? 1 : is->shape[at]) >= t->shape[d];
		at += !gone;
	}
	p.all = p.whole && p.lo == 0 && p.n >= t->shape[0];
	return p;
}

static Part
part_of(const Follow *f, const Way *w, Val *v)
{
	Val *tile = view_root(v), *of = tile;
	Part p = { .tile = tile, .lo = UNKNOWN, .whole = true };
	const Op *step[DEPTH]; /* from v to the tile */
	int n = 0;

	for (Val *at = v; at != tile; at = at->def->in[0]) {
		if (n == DEPTH) {
			p.whole = false;
			return p;
		}
		step[n++] = at->def;
	}
	for (; n > 0 && step[n - 1]->code == O_reshape; n--)
		of = step[n - 1]->out[0];
	if (n == 0) { /* all of it, in whatever shape */
		p.lo = 0;
		p.n = tile->type.rank ? tile->type.shape[0] : 1;
		p.all = true;
	} else if (step[n - 1]->code == O_view && of->type.rank && of->type.shape[0] == tile->type.shape[0]) {
		p = part_of_view(f, w, step[n - 1], of, p);
		for (int i = 0; i < n - 1; i++)
			p.whole = p.whole && step[i]->code == O_reshape;
		p.all = p.all && p.whole;
	} else
		p.whole = false;
	return p;
}

/* Is an element of p certainly one of m's?  m is whole. */
static bool
part_meets(const Part *m, const Part *p)
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

/* ---- ops ------------------------------------------------------------------------------------------- */

/* The same again is kept as the younger. */
static void
start(Follow *f, Way *w, Val *v, MovingKind kind)
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

/* Does o read shared memory as the asynchronous proxy does?  PTX ISA, "Async proxy". */
static bool
is_engine(const Op *o)
{
	return o->code == O_wgmma || moves(o, COPY_OUT);
}

static void
touches(Follow *f, Way *w, const Op *o, Val *v, bool writes)
{
	static const char *const what[] = {
		[BRINGS] = "it reads what a copy still brings",
		[TAKES] = "it writes what a bulk copy still reads",
		[HIDES] = "no proxy stands between it and what lanes wrote",
	};
	Part p = part_of(f, w, v);

	for (int i = 0; i < w->n; i++) {
		MovingKind kind = w->copy[i].kind;
		bool wrong = kind == HIDES ? is_engine(o) : writes == (kind == TAKES);

		if (wrong && part_meets(&w->copy[i].part, &p))
			violation(f, o, what[kind]);
	}
}

/* ---- rings of barriers ----------------------------------------------------------------------------- */

static void
ring_new(Follow *f, const Val *wait, const Val *done, int role)
{
	for (int i = 0; i < f->nring; i++)
		if (f->ring[i].role == role && (f->ring[i].wait == wait || f->ring[i].done == done)) {
			if (f->ring[i].wait != wait || f->ring[i].done != done)
				f->ring[i].stages = 0; /* not one by one: nothing is counted */
			return;
		}
	if (f->nring < RINGS)
		f->ring[f->nring++] = (BarrierRing){ wait, done, role, (int)wait->type.shape[0] };
}

/* Producers wait for leave at one barrier and tell of their copies at another; consumers the other way
 * around.  A barrier at which one role both waits and arrives lets its teams take turns. */
static void
find_rings(Follow *f, const Op *roles)
{
	Block *producer = roles->blk[0];
	OpWalk w, x;

	for (const Op *o = walk_first(&w, producer); o; o = walk_next(&w)) {
		if (!moves(o, COPY_BARRIER))
			continue;
		for (const Op *p = walk_first(&x, producer); p; p = walk_next(&x))
			if (p->code == O_mbar_wait && is_leave(producer, p->in[0], view_root(o->in[1]))) {
				ring_new(f, p->in[0], o->in[2], 0);
				ring_new(f, o->in[2], p->in[0], 1);
			}
	}
	for (int r = 0; r < 2; r++)
		for (const Op *o = walk_first(&w, roles->blk[r]); o; o = walk_next(&w)) {
			if (o->code != O_mbar_wait)
				continue;
			for (const Op *p = walk_first(&x, roles->blk[r]); p; p = walk_next(&x))
				if (p->code == O_mbar_arrive && p->in[0] == o->in[0])
					ring_new(f, o->in[0], o->in[0], r);
		}
}

static void
hold(Follow *f, Way *w, const Op *o)
{
	for (int i = 0; i < f->nring; i++) {
		const BarrierRing *r = &f->ring[i];
		bool waits = o->code == O_mbar_wait;

		if (r->role != f->role || !r->stages || o->in[0] != (waits ? r->wait : r->done))
			continue;
		w->held[i] += waits ? 1 : -1;
		if (w->held[i] > r->stages)
			violation(f, o, "the role waits for more stages than it lets go");
		if (w->held[i] < -r->stages)
			violation(f, o, "the role lets go more stages than it waits for");
	}
}

/* The stage that a copy fills has the number of its barrier. */
static void
fills(Follow *f, const Op *o)
{
	const Op *view = o->in[1]->def;
	const Val *tile = view_root(o->in[1]);

	if (view && view->code == O_view && view->in[0] == tile && IMM(view, dropped) & 1 &&
	    tile->type.shape[0] == o->in[2]->type.shape[0] && !slots_meet(NULL, view->in[1], o->in[3]))
		violation(f, o, "it fills another stage than its barrier tells of");
}

static void
walk_op(Follow *f, Way *w, const Op *o)
{
	bool lanes = o->code == O_store || moves(o, COPY_NOW) || moves(o, COPY_GROUP);

	if (o->code == O_commit)
		close_group(w, IMM(o, bulk) ? TAKES : BRINGS);
	else if (o->code == O_wait)
		wait_for(w, IMM(o, pending), IMM(o, bulk) ? TAKES : BRINGS);
	else if (o->code == O_proxy && IMM(o, space) == S_shared)
		show(w);
	else if (o->code == O_mbar_wait || o->code == O_mbar_arrive)
		hold(f, w, o);
	if (!op_is(o, F_MEM))
		return;
	if (moves(o, COPY_BARRIER) && f->planned)
		fills(f, o);
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared)
			touches(f, w, o, o->in[i], i == 1 && (o->code == O_copy || o->code == O_store));
	if (moves(o, COPY_GROUP))
		start(f, w, o->in[1], BRINGS);
	if (moves(o, COPY_OUT))
		start(f, w, o->in[0], TAKES);
	if (lanes && f->engines)
		start(f, w, o->in[1], HIDES);
}

/* Is there a wait for what o tells of? */
static void
told(Follow *f, const Op *o)
{
	OpWalk w;

	for (const Op *p = walk_first(&w, f->k->body); p; p = walk_next(&w))
		if (p->code == O_mbar_wait && p->in[0] == o->in[0])
			return;
	violation(f, o, "nobody waits for what it tells of");
}

static bool
has_barriers(const Op *loop)
{
	OpWalk w;

	for (const Op *o = walk_first(&w, loop->blk[0]); o; o = walk_next(&w))
		if (o->code == O_mbar_wait || o->code == O_mbar_arrive)
			return true;
	return false;
}

bool
pass_prove_waits(Kernel *k)
{
	Follow f = { .k = k, .ok = true, .role = -1, .op = walk_op };
	bool any = false;
	Ways ways;
	OpWalk w;

	f.planned = schedule_has_roles(k->schedule) && !k->unscheduled;
	f.slot = NEWN(k->unit->arena, uint8_t, k->nval + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		f.engines = f.engines || is_engine(o);
		any = any || o->code == O_roles || moves(o, COPY_GROUP) || moves(o, COPY_OUT);
		if (o->code == O_roles && f.planned)
			find_rings(&f, o);
		if (o->code == O_mbar_arrive && f.planned)
			told(&f, o);
		if (o->code == O_for && has_barriers(o))
			ways_ask_loop(&f, o);
	}
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (o->code == O_view && o->out[0]->type.space == S_shared)
			ways_ask(&f, o->in[1]);
	if (!any)
		return false;
	ways = ways_follow(&f);
	for (int i = 0; i < ways.n && f.ok && !f.lost; i++)
		for (int j = 0; j < ways.a[i].n; j++)
			if (ways.a[i].copy[j].kind == TAKES)
				violation(&f, k->body->last,
				          "a bulk copy is under way where the kernel ends");
	return false;
}
