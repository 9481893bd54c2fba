/* race.c - detects data races on shared and global memory in the interpreter: accesses that no barrier
 * orders, and shared tiles that overwrite each other.
 *
 * Two accesses of a block to one location, one of them a write, need a barrier in between, unless one thread
 * makes both: for the same element of the same op, or of ops with one layout. Global memory is tracked if the
 * kernel writes it, each block by itself. An async write counts from the wait that completes it. After pass
 * allocate_smem a location is a byte of the block's shared memory, so that tiles sharing memory are checked
 * too; before, it is an element.
 *
* Each role has a clock, and a vector clock of what it has learned about the others through mbarrier
 * arrivals it
 * waited for. An operation of one task is ordered before another task if that knows a later time. A copy with
 * an mbarrier is complete for tasks that have waited for its phase. The async proxy sees writes of threads
 * only after a proxy fence and a barrier. */
#include "hexc/interp/interp_internal.h"
#include "hexc/ir/memory_effects.h"
#include <string.h>

typedef struct Shadow {
	const void *owner;      /* the Shared or scratch op that wrote last */
	const Op *wop, *rop;    /* last writer, last reader */
	int64_t wtime, rtime;   /* when, in their task's clock; -1: never */
	int64_t welt, relt;     /* element index in their tiles; -1: read by several threads */
	int64_t group;          /* async write: its commit number; 0: synchronous */
	const Phase *phase;     /* the phase of an mbarrier copy; NULL: others */
	int64_t out;            /* bulk copy to a tensor that reads it: its commit number; 0: none */
	const Op *oop;
	const Task *otask;
	int64_t *reads;         /* by task, if several read: the last time of each; NULL: one task reads */
	uint64_t serial;        /* execution number of wop */
	const Task *wtask, *rtask;
} Shadow;

/* An access by op o, as element elt of its tile. */
typedef struct Touch {
	const Op *o;
	const void *owner;
	int64_t elt, group;
	bool write;
} Touch;

static void
shadow_clear(Shadow *s, int64_t n)
{
	memset(s, 0, (size_t)n * sizeof *s);
	for (int64_t i = 0; i < n; i++)
		s[i].wtime = s[i].rtime = -1;
}

void
race_start(Interp *it)
{
	it->all.in_done.done = it->all.out_done.done = 0;
	for (int i = 0; i < it->nclock; i++)
		it->all.known[i] = 0;
	if (it->memory)
		shadow_clear(it->memory, it->memory_size);
	for (int i = 0; i < it->nshared; i++)
		if (it->shared[i]->shadow)
			shadow_clear(it->shared[i]->shadow, it->shared[i]->n);
	for (int i = 0; i < it->k->nparam && it->global; i++)
		if (it->global[i])
			shadow_clear(it->global[i], it->arg[i].count);
	if (!it->opt.races || it->memory || it->k->smem <= 0)
		return;
	it->memory_size = it->k->smem;
	it->memory = NEWN(&it->arena, Shadow, it->memory_size);
	shadow_clear(it->memory, it->memory_size);
}

/* Offset of an element in its tile, in elements; swizzled and padded if it has a layout. */
static int64_t
element_offset(const Shared *s, int64_t at)
{
	const Layout *l = s->alloc->out[0]->type.layout;
	int64_t index[DIM_MAX];

	if (!l)
		return at;
	row_major_coord(s->rank, s->shape, at, index);
	return layout_at(l, index).at[AX_mem];
}

void
race_alloc(Interp *it, Shared *s)
{
	if (!it->opt.races)
		return;
	s->watched = true;
	if (it->memory && IMM(s->alloc, offset) >= 0) {
		s->place = NEWN(&it->arena, int64_t, s->n);
		for (int64_t i = 0; i < s->n; i++)
			s->place[i] = element_offset(s, i);
		return;
	}
	s->shadow = NEWN(&it->arena, Shadow, s->n);
	shadow_clear(s->shadow, s->n);
}

static bool
missing(Interp *it, const Op *now, const char *verb, const Op *then, const char *then_verb)
{
	return interp_error(it, INTERP_E_FAULT, now,
	                    "%s %s memory that %s of line %u %s with no barrier in between",
	                    op_info[now->code].name, verb, op_info[then->code].name, then->src.line,
	                    then_verb);
}

/* ---- order --------------------------------------------------------------------------------------- */

int
task_count(const Interp *it)
{
	return 2 + it->k->teams;
}

int64_t
task_memory(const Interp *it)
{
	return it->task->role == ROLE_CONSUMER ? it->task->team * it->k->team_smem : 0;
}

/* Is an operation of task t at that time unordered with the current task? */
static bool
open_since(const Interp *it, const Task *t, int64_t time)
{
	if (t == it->task)
		return time >= t->fence;
	return time >= it->task->known[t->number];
}

/* Is the last write of c unordered with an access now? */
static bool
write_open(const Interp *it, const Shadow *c)
{
	const Task *t = c->wtask;
	const Phase *p = c->phase;

	if (c->wtime < 0)
		return false;
	if (p)
		return it->task->known[p->of->clock + p->which] <= p->number;
	if (!c->group)
		return open_since(it, t, c->wtime);
	return c->group > t->in_done.done || open_since(it, t, t->in_done.time[c->group]);
}

/* Is a bulk copy to a tensor still reading it? */
static bool
out_open(const Interp *it, const Shadow *c)
{
	const Waits *w = c->out ? &c->otask->out_done : NULL;

	return w && (c->out > w->done || open_since(it, c->otask, w->time[c->out]));
}

/* Is a read unordered with a write now: the last one, or (others) one of other tasks? */
static bool
read_open(const Interp *it, const Shadow *c, bool others)
{
	if (c->rtime < 0)
		return false;
	if (!others)
		return open_since(it, c->rtask, c->rtime);
	for (int i = 0; c->reads && i < task_count(it); i++) {
		const Task *t = i ? &it->role[i - 1] : &it->all;

		if (t != c->rtask && c->reads[i] >= 0 && open_since(it, t, c->reads[i]))
			return true;
	}
	return false;
}

enum { NO_THREAD = -1 };

/* The thread that accesses element elt of the tile of load or store o, by its layout. NO_THREAD: several
 * threads, or unknown: without a layout, with a task mapping, for updates and gathered rows, which any thread
 * may access. */
static int64_t
holder(const Op *o, int64_t elt)
{
	const Val *tile = o->code == O_load ? o->out[0] : o->code == O_store ? store_value(o) : NULL;
	const Val *mem = o->code == O_load ? load_source(o) : o->code == O_store ? store_dest(o) : NULL;
	int64_t index[DIM_MAX];
	Coord at;

	if (!tile || !tile->type.layout || layout_replicas(tile->type.layout) != 1 || op_access(o)->map ||
	    elt < 0 || elt >= type_size(&tile->type) ||
	    (o->code == O_store && IMM(o, update) != STORE_PLAIN) ||
	    (mem->type.space == S_shared && mem->def && mem->def->code == O_view &&
	     view_gather_dim(mem->def) >= 0))
		return NO_THREAD;
	type_coord(&tile->type, elt, index);
	at = layout_at(tile->type.layout, index);
	return at.at[AX_warp] * WARP_SIZE + at.at[AX_lane];
}

/* Does one thread make both: the same op and element, or by their layouts? */
static bool
same_thread(const Interp *it, const Task *then_task, const Op *then, int64_t then_elt, const Touch *t)
{
	int64_t thread;

	if (!then || then_task != it->task || then_elt != t->elt)
		return false;
	if (then == t->o)
		return true;
	thread = holder(then, then_elt);
	return thread != NO_THREAD && thread == holder(t->o, t->elt);
}

/* Does o update that tensor or tile atomically? Its store of the old value is plain. */
static bool
updates(const Op *o, const void *owner)
{
	const Val *root;

	if (o->code != O_store || IMM(o, update) == STORE_PLAIN)
		return false;
	root = view_root(store_dest(o));
	if (root->type.space == S_global)
		return ((const Param *)owner)->val == root;
	return ((const Shared *)owner)->alloc == root->def;
}

/* Both updates commute: IR.md, "store". */
static bool
commute(const Op *a, const void *owner_a, const Op *b, const void *owner_b)
{
	return a && owner_a == owner_b && updates(a, owner_a) && updates(b, owner_b) &&
	       IMM(a, update) == IMM(b, update);
}

/* Is it an async-proxy access, by wgmma or a bulk copy? */
static bool
by_engine(const Op *o)
{
	return o->code == O_wgmma || (o->code == O_copy && IMM(o, async) == COPY_OUT);
}

/* Is it a write that the async proxy sees only after a proxy fence? PTX ISA, "Async proxy". */
static bool
by_threads(const Op *o)
{
	return o->code == O_store || (o->code == O_copy &&
	                              (IMM(o, async) == COPY_NOW || IMM(o, async) == COPY_GROUP));
}

static bool
may_write(Interp *it, const Shadow *c, const Touch *t)
{
	/* elements that share a byte are written together */
	bool own = c->wop && (c->serial == it->serial ||
	                      (!c->group && !c->phase && same_thread(it, c->wtask, c->wop, c->welt, t)));

	if (write_open(it, c) && !own && !commute(c->wop, c->owner, t->o, t->owner))
		return missing(it, t->o, "writes", c->wop, "writes,");
	if (out_open(it, c))
		return missing(it, t->o, "writes", c->oop, "reads, with no wait or");
	own = same_thread(it, c->rtask, c->rop, c->relt, t);
	if ((read_open(it, c, false) && !own) || read_open(it, c, true))
		return missing(it, t->o, "writes", c->rop, "reads,");
	return true;
}

/* Is the async copy of c still in flight for the task that issued it? */
static bool
not_landed(const Shadow *c)
{
	return c->phase || (c->group && c->group > c->wtask->in_done.done);
}

static bool
unseen(Interp *it, const Shadow *c, const Touch *t)
{
	return interp_error(it, INTERP_E_FAULT, t->o,
	                    "%s reads memory that %s of line %u writes, with no proxy fence before the "
	                    "barrier in between",
	                    op_info[t->o->code].name, op_info[c->wop->code].name, c->wop->src.line);
}

static bool
may_read(Interp *it, const Shadow *c, const Touch *t)
{
	bool own = c->wop && !c->group && !c->phase && !by_engine(t->o) &&
	           same_thread(it, c->wtask, c->wop, c->welt, t);

	if (write_open(it, c) && !own)
		return missing(it, t->o, "reads", c->wop,
		               not_landed(c) ? "writes, with no wait or" : "writes,");
	if (c->owner && c->owner != t->owner)
		return interp_error(it, INTERP_E_FAULT, t->o,
		                    "%s reads shared memory that is reused by another tile, written by %s "
		                    "of line %u",
		                    op_info[t->o->code].name, op_info[c->wop->code].name,
		                    c->wop->src.line);
	if (by_engine(t->o) && c->wop && by_threads(c->wop) && c->wtask == it->task &&
	    (c->group ? c->wtask->in_done.time[c->group] : c->wtime) >= it->task->shown)
		return unseen(it, c, t);
	return true;
}

static void
note_write(Interp *it, Shadow *c, const Touch *t)
{
	c->owner = t->owner;
	c->wop = t->o;
	c->wtask = it->task;
	c->wtime = it->task->now;
	c->welt = t->elt;
	c->group = t->group;
	c->phase = it->phase;
	c->serial = it->serial;
}

static void
note_read(Interp *it, Shadow *c, const Touch *t)
{
	if (t->o->code == O_copy && IMM(t->o, async) == COPY_OUT) {
		c->out = it->task->out.groups + 1;
		c->oop = t->o;
		c->otask = it->task;
		return;
	}
	if (c->rtime >= 0 && c->rtask != it->task && !c->reads) {
		c->reads = NEWN(&it->arena, int64_t, task_count(it));
		for (int i = 0; i < task_count(it); i++)
			c->reads[i] = -1;
		c->reads[c->rtask->number] = c->rtime;
	}
	/* several reads, possibly by different threads: owned by none */
	if (read_open(it, c, false) && !same_thread(it, c->rtask, c->rop, c->relt, t))
		c->relt = -1;
	else
		c->relt = t->elt;
	c->rop = t->o;
	c->rtask = it->task;
	c->rtime = it->task->now;
	if (c->reads)
		c->reads[it->task->number] = c->rtime;
}

static bool
check_race(Interp *it, Shadow *c, const Touch *t)
{
	if (!(t->write ? may_write(it, c, t) : may_read(it, c, t)))
		return false;
	if (t->write)
		note_write(it, c, t);
	else
		note_read(it, c, t);
	return true;
}

/* ---- places -------------------------------------------------------------------------------------- */

bool
race_access(Interp *it, const Op *o, const Shared *s, int64_t at, bool write, bool async, int64_t elt)
{
	Touch t = { o, s, elt, async && !it->phase ? it->task->groups + 1 : 0, write };
	int64_t bit, lo, hi;

	if (s->shadow)
		return check_race(it, &s->shadow[at], &t);
	bit = s->place[at] * dtype_info[s->dtype].bits;
	lo = s->base + IMM(s->alloc, offset) + bit / 8;
	hi = s->base + IMM(s->alloc, offset) + (bit + dtype_info[s->dtype].bits - 1) / 8;
	for (; lo <= hi; lo++) {
		if (lo >= it->memory_size)
			return interp_error(it, INTERP_E_FAULT, o,
			                    "internal: a shared tile reaches byte %lld of %lld",
			                    (long long)lo, (long long)it->memory_size);
		if (!check_race(it, &it->memory[lo], &t))
			return false;
	}
	return true;
}

bool
race_global(Interp *it, const Op *o, const Param *p, int64_t at, bool write, int64_t elt)
{
	int64_t i = p - it->k->param;
	Touch t = { o, p, elt, 0, write };

	if (!it->opt.races || !p->written)
		return true;
	if (!it->global)
		it->global = NEWN(&it->arena, Shadow *, it->k->nparam);
	if (!it->global[i]) {
		it->global[i] = NEWN(&it->arena, Shadow, it->arg[i].count);
		shadow_clear(it->global[i], it->arg[i].count);
	}
	return check_race(it, &it->global[i][at], &t);
}

/* ---- what orders them ---------------------------------------------------------------------------- */

void
race_wait(Interp *it, Waits *w, int64_t group)
{
	if (!it->opt.races)
		return;
	for (; w->done < group; w->done++) {
		if (w->done + 1 >= w->cap) {
			w->time = arena_grow(&it->arena, w->time, (size_t)w->cap, (size_t)w->cap * 2 + 64,
			                     sizeof *w->time);
			w->cap = w->cap * 2 + 64;
		}
		w->time[w->done + 1] = it->task->now;
	}
}

bool
race_ends(Interp *it)
{
	const ReadingList *r = &it->task->out;

	return !r->n || interp_error(it, INTERP_E_FAULT, r->at[0].op,
	                             "%s still reads shared memory at the end of its role; missing wait",
	                             op_info[r->at[0].op->code].name);
}

void
race_barrier(Interp *it)
{
	it->task->fence = ++it->task->now;
	it->task->shown = it->task->proxied;
}

void
race_proxy(Interp *it)
{
	it->task->proxied = ++it->task->now;
}

static void
merge_clock(int64_t *to, const int64_t *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = from[i] > to[i] ? from[i] : to[i];
}

void
race_arrive(Interp *it, Barriers *b, int64_t which)
{
	Task *t = it->task;

	if (!it->opt.races)
		return;
	t->known[t->number] = ++t->now;
	merge_clock(b->open + which * it->nclock, t->known, it->nclock);
}

void
race_complete(Interp *it, Barriers *b, int64_t which)
{
	if (it->opt.races)
		merge_clock(b->done + which * it->nclock, b->open + which * it->nclock, it->nclock);
}

void
race_seen(Interp *it, Barriers *b, int64_t which)
{
	Task *t = it->task;
	int64_t *phases;

	if (!it->opt.races)
		return;
	phases = &t->known[b->clock + which];
	merge_clock(t->known, b->done + which * it->nclock, it->nclock);
	*phases = b->phase[which] > *phases ? b->phase[which] : *phases;
}

void
race_roles(Interp *it)
{
	for (int i = 0; i < task_count(it) && it->opt.races; i++) {
		Task *t = i ? &it->role[i - 1] : &it->all;

		t->number = i;
		if (!t->known)
			t->known = NEWN(&it->arena, int64_t, it->nclock);
		for (int j = 0; j < it->nclock; j++)
			t->known[j] = 0;
		t->known[0] = it->all.now + 1;
		t->in_done.done = t->out_done.done = 0;
	}
}

bool
race_scratch(Interp *it, const Op *o)
{
	const Staging *tile;
	Touch t = { o, o, 0, 0, true };
	int64_t from, end;

	if (!it->opt.races || !lowering_is_staged(o->lowering))
		return true;
	tile = &o->lowering->staged;
	from = task_memory(it) + tile->off;
	end = from + tile->bytes;
	for (int pass = 0; pass < 2; pass++) {
		t.write = pass == 0;
		t.elt = pass ? -1 : 0; /* by several threads */
		if (!t.write)
			race_barrier(it);
		it->serial++;
		for (int64_t b = from; it->memory && b < end && b < it->memory_size; b++)
			if (!check_race(it, &it->memory[b], &t))
				return false;
	}
	return true;
}
