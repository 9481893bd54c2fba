/* sync_set.c - accesses to shared memory: which op makes which, and which two need a barrier in between. */
#include "hexc/sync.h"
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------------------- */

static bool
access_equal(const Access *a, const Access *b)
{
	return a->op == b->op && a->write == b->write && a->async == b->async && a->waited == b->waited &&
	       a->landed == b->landed && a->settled == b->settled;
}

bool
set_add(Sync *s, Set *set, const Access *a)
{
	for (int i = 0; i < set->n; i++)
		if (access_equal(&set->a[i], a))
			return false;
	VEC_PUSH(s->k->unit->arena, set->a, set->n, set->cap, *a);
	return true;
}

bool
set_join(Sync *s, Set *set, const Set *more)
{
	bool grew = false;

	for (int i = 0; i < more->n; i++)
		grew |= set_add(s, set, &more->a[i]);
	return grew;
}

Set
set_copy(Sync *s, const Set *from)
{
	Set set = { NULL, 0, 0 };

	set_join(s, &set, from);
	return set;
}

/* Async writes stay in the set until they have surely landed. */
void
set_barrier(Set *set)
{
	int n = 0;

	for (int i = 0; i < set->n; i++) {
		Access a = set->a[i];

		if (!a.async || a.landed)
			continue;
		a.settled = a.waited;
		set->a[n++] = a;
	}
	set->n = n;
}

void
set_wait(Set *set, bool all)
{
	for (int i = 0; i < set->n; i++) {
		set->a[i].waited |= set->a[i].async;
		set->a[i].landed |= set->a[i].async && all;
	}
}

/* ---- accesses --------------------------------------------------------------------------------------------- */

bool
access_of(const Op *o, Access *a)
{
	Val *v = NULL;

	memset(a, 0, sizeof *a);
	a->op = o;
	if (o->code == O_load)
		v = o->in[0];
	else if (o->code == O_store || o->code == O_copy)
		v = o->in[1];
	if (!v || v->type.space != S_shared || !view_root(v)->def)
		return false;
	a->view = v;
	a->alloc = view_root(v)->def;
	a->write = o->code != O_load;
	a->async = o->code == O_copy && o->imm[0] != 0;
	a->lo = a->alloc->imm[0];
	a->hi = a->lo + smem_alloc_bytes(a->alloc);
	return true;
}

Access
scratch_read(const Op *o)
{
	Access a = { .op = o, .lo = o->pick->scratch_off };

	a.hi = a.lo + o->pick->scratch_bytes;
	return a;
}

/* Elements lo .. hi - 1 of dim d of the root: all that an access through v may touch. */
static void
touched(Sync *s, const Val *v, int d, int64_t *lo, int64_t *hi)
{
	const Op *o = v->def;
	int64_t extent;
	int r;
	Fact f;

	/* a view of a view starts in the other's coordinates: the outermost says enough */
	while (o->code == O_view && o->in[0]->def->code == O_view) {
		v = o->in[0];
		o = v->def;
	}
	if (o->code != O_view) {
		*lo = 0;
		*hi = v->type.shape[d];
		return;
	}
	r = view_result_dim(o, d);
	extent = r < 0 ? 1 : v->type.shape[r];
	f = val_fact(s->k, o->in[1 + d]);
	*lo = f.lo;
	*hi = f.hi > INT64_MAX - extent ? INT64_MAX : f.hi + extent;
}

static bool
same_place(Sync *s, const Access *a, const Access *b)
{
	int64_t lo[2], hi[2];

	if (a->alloc != b->alloc || !a->alloc)
		return a->lo >= 0 && b->lo >= 0 && a->lo < b->hi && b->lo < a->hi;
	for (int d = 0; d < a->alloc->out[0]->type.rank; d++) {
		touched(s, a->view, d, &lo[0], &hi[0]);
		touched(s, b->view, d, &lo[1], &hi[1]);
		if (hi[0] <= lo[1] || hi[1] <= lo[0])
			return false;
	}
	return true;
}

static bool
encloses(const Block *outer, const Block *b)
{
	for (; b; b = b->owner ? b->owner->parent : NULL)
		if (b == outer)
			return true;
	return false;
}

/* Does v have one value in all iterations of the loops around op o? */
static bool
invariant(const Val *v, const Op *o)
{
	for (const Block *b = o->parent; b->owner; b = b->owner->parent)
		if (b->owner->code == O_for && encloses(b, v->block))
			return val_is_const(v, NULL);
	return true;
}

/* One store again, to the same place: each thread writes over what it wrote itself. */
static bool
repeats(const Access *a, const Access *b)
{
	if (a->op != b->op || !a->write)
		return false;
	for (const Val *v = a->view; v->def->code == O_view; v = v->def->in[0])
		for (int i = 1; i < v->def->nin; i++)
			if (!invariant(v->def->in[i], a->op))
				return false;
	return true;
}

bool
access_conflict(Sync *s, const Access *then, const Access *now)
{
	if ((!then->write && !now->write) || !same_place(s, then, now) || repeats(then, now))
		return false;
	if (!then->async || then->alloc != now->alloc)
		return true;
	return (s->uncommitted && !then->landed) || (!now->async && then->waited && !then->settled);
}
