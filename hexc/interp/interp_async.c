/* interp_async.c - implements the interpreter's copies, including async ones that land late, commits, waits
 * and barriers; checks that memory read asynchronously is not overwritten. */
#include "hexc/interp/interp_internal.h"
#include <string.h>

static void
slot_room(Interp *it, InterpValue *s, int64_t n)
{
	if (s->n >= n)
		return;
	s->n = n;
	s->f = NEWN(&it->arena, double, n);
	s->i = (void *)s->f;
}

/* ---- copies to shared memory ------------------------------------------------------------------- */

/* Allocates an async copy, reusing the storage of those that have landed. */
static Pending *
pending_new(Interp *it, const Type *type)
{
	Task *t = it->task;
	Pending *p;

	if (t->npending == t->pending_cap) {
		t->pending = arena_grow(&it->arena, t->pending, (size_t)t->pending_cap,
		                        (size_t)t->pending_cap * 2 + 4, sizeof *t->pending);
		t->pending_cap = t->pending_cap * 2 + 4;
	}
	p = &t->pending[t->npending++];
	slot_room(it, &p->val, type_size(type));
	p->type = *type;
	p->group = -1;
	p->barriers = NULL;
	p->expected = false;
	return p;
}

/* The current phase of its mbarrier: an arrival that expects it cannot be earlier. */
static const Phase *
phase_new(Interp *it, const Pending *p)
{
	Phase *x = NEW(&it->arena, Phase);

	*x = (Phase){ p->barriers, p->which, p->barriers->phase[p->which] };
	return x;
}

static bool
copy_in(Interp *it, Op *o)
{
	const Type *from = &copy_source(o)->type;
	const View *dst = slot_of(it, copy_dest(o))->view;
	Pending *p = pending_new(it, from);
	bool ok;

	p->op = o;
	p->dst = *dst;
	if (o->nin == 4 && !(p->barriers = interp_barrier(it, o, &p->which)))
		return false;
	if (it->task->blank)
		memset(p->val.f, 0, sizeof *p->val.f * (size_t)type_size(from));
	else if (!interp_read(it, o, slot_of(it, copy_source(o))->view, from, &p->val))
		return false;
	if (IMM(o, async) && it->opt.late && !it->opt.races)
		return true;
	it->task->npending--;
	it->phase = p->barriers && it->opt.races ? phase_new(it, p) : NULL;
	ok = interp_write(it, o, dst, &copy_dest(o)->type, &p->val, IMM(o, async) != 0);
	it->phase = NULL;
	return ok;
}

/* Lands the copies of t that `lands` selects. */
static bool
land(Interp *it, Task *t, bool (*lands)(const Pending *, const Pending *), const Pending *like)
{
	int keep = 0;

	for (int i = 0; i < t->npending; i++) {
		Pending *p = &t->pending[i], tmp;

		if (!lands(p, like)) {
			tmp = t->pending[keep];
			t->pending[keep++] = *p;
			t->pending[i] = tmp; /* swap, to retain the storage */
			continue;
		}
		if (!interp_write(it, p->op, &p->dst, &p->type, &p->val, false))
			return false;
	}
	t->npending = keep;
	return true;
}

/* Is it committed in a group up to that of `like`? */
static bool
lands_by_group(const Pending *p, const Pending *like)
{
	return !p->barriers && p->group >= 0 && p->group <= like->group;
}

static bool
lands_by_phase(const Pending *p, const Pending *like)
{
	return p->barriers == like->barriers && p->which == like->which && p->expected;
}

bool
interp_land_phase(Interp *it, Barriers *b, int64_t which)
{
	const Pending like = { .barriers = b, .which = which };
	const Kernel *k = it->k;

	if (!land(it, &it->all, lands_by_phase, &like))
		return false;
	for (int i = 0; it->role && i < 1 + k->teams; i++)
		if (!land(it, &it->role[i], lands_by_phase, &like))
			return false;
	return true;
}

/* ---- what is read meanwhile -------------------------------------------------------------------- */

void
interp_reading(Interp *it, ReadingList *r, const Op *o, const View *v, const Type *t, const InterpValue *x)
{
	AsyncRead *p;

	if (!it->opt.late && !it->opt.races)
		return;
	if (r->n == r->cap) {
		r->at = arena_grow(&it->arena, r->at, (size_t)r->cap, (size_t)r->cap * 2 + 4, sizeof *r->at);
		r->cap = r->cap * 2 + 4;
	}
	p = &r->at[r->n++];
	slot_room(it, &p->val, type_size(t));
	memcpy(p->val.f, x->f, (size_t)type_size(t) * sizeof *x->f);
	p->op = o;
	p->src = *v;
	p->type = *t;
	p->group = -1;
}

static void
close_group(ReadingList *r)
{
	r->groups++;
	for (int i = 0; i < r->n; i++)
		if (r->at[i].group < 0)
			r->at[i].group = r->groups;
}

static bool
as_it_was(Interp *it, const AsyncRead *p)
{
	int64_t n = type_size(&p->type);
	InterpValue *now = interp_scratch(it, 0, n);

	if (it->opt.races && p->op->code == O_copy) /* race.c has checked each write */
		return true;
	if (!interp_read(it, p->op, &p->src, &p->type, now))
		return false;
	if (memcmp(now->f, p->val.f, (size_t)n * sizeof *now->f) == 0)
		return true;
	return interp_error(it, INTERP_E_FAULT, p->op,
	                    "%s read shared memory that was overwritten before the wait for it",
	                    op_info[p->op->code].name);
}

bool
interp_read_done(Interp *it, ReadingList *r, int64_t pending)
{
	int keep = 0;

	for (int i = 0; i < r->n; i++) {
		AsyncRead tmp = r->at[keep];

		if (pending >= 0 && (r->at[i].group < 0 || r->at[i].group > r->groups - pending)) {
			r->at[keep++] = r->at[i];
			r->at[i] = tmp;
		} else if (!as_it_was(it, &r->at[i])) {
			return false;
		}
	}
	r->n = keep;
	return true;
}

/* ---- ops --------------------------------------------------------------------------------------- */

static bool
copy_out(Interp *it, Op *o)
{
	const Type *t = &copy_source(o)->type;
	const View *src = slot_of(it, copy_source(o))->view;
	InterpValue *x = interp_scratch(it, 0, type_size(t));

	if (!interp_read(it, o, src, t, x))
		return false;
	interp_reading(it, &it->task->out, o, src, t, x);
	return interp_write(it, o, slot_of(it, copy_dest(o))->view, &copy_dest(o)->type, x, false);
}

bool
eval_copy(Interp *it, Op *o)
{
	return IMM(o, async) == COPY_OUT ? copy_out(it, o) : copy_in(it, o);
}

bool
eval_async_commit(Interp *it, Op *o)
{
	Task *t = it->task;

	if (IMM(o, bulk)) {
		close_group(&t->out);
		return true;
	}
	t->groups++;
	for (int i = 0; i < t->npending; i++)
		if (t->pending[i].group < 0)
			t->pending[i].group = t->groups;
	return true;
}

bool
eval_async_wait(Interp *it, Op *o)
{
	Task *t = it->task;
	const Pending like = { .group = t->groups - IMM(o, pending) };

	if (IMM(o, bulk)) {
		race_wait(it, &t->out_done, t->out.groups - IMM(o, pending));
		return interp_read_done(it, &t->out, IMM(o, pending));
	}
	race_wait(it, &t->in_done, like.group);
	return land(it, t, lands_by_group, &like);
}

bool
eval_wgmma_commit(Interp *it, Op *o)
{
	(void)o;
	close_group(&it->task->product);
	return true;
}

bool
eval_wgmma_wait(Interp *it, Op *o)
{
	return interp_read_done(it, &it->task->product, IMM(o, pending));
}

bool
eval_barrier(Interp *it, Op *o)
{
	(void)o;
	race_barrier(it);
	return true;
}
