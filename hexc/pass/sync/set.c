/* set.c - accesses to memory: which op makes which, and which two need a barrier in between. */
#include "hexc/ir/access.h"
#include "hexc/pass/sync/sync.h"
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------ */

static bool
access_equal(const Access *a, const Access *b)
{
	return a->op == b->op && a->root == b->root && a->wrap == b->wrap && a->write == b->write &&
	       a->async == b->async && a->waited == b->waited && a->landed == b->landed &&
	       a->settled == b->settled && a->proxied == b->proxied && a->kept == b->kept;
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

/* Async accesses stay in the set until they have surely ended, writes until the copy engine sees them. */
void
set_barrier(const Sync *s, Set *set)
{
	int n = 0;

	for (int i = 0; i < set->n; i++) {
		Access a = set->a[i];

		a.async &= !a.landed; /* then it is as a thread's own */
		if (!a.async && (!s->engines || !a.write || a.proxied || !a.root || !a.root->def))
			continue;
		a.kept = !a.async;
		a.settled = a.waited;
		set->a[n++] = a;
	}
	set->n = n;
}

/* What a wait for some of the bulk groups leaves open the next one may be for: its barrier counts anew. */
void
set_wait(Set *set, bool all, bool bulk)
{
	for (int i = 0; i < set->n; i++) {
		Access *a = &set->a[i];

		a->settled &= !(a->async && a->bulk && bulk);
		a->waited |= a->async && a->bulk == bulk;
		a->landed |= a->async && a->bulk == bulk && all;
	}
}

void
set_proxy(Set *set)
{
	for (int i = 0; i < set->n; i++)
		set->a[i].proxied |= set->a[i].write && (!set->a[i].async || set->a[i].landed);
}

void
set_wrap(Set *set, const Op *loop)
{
	for (int i = 0; i < set->n; i++) {
		Access *a = &set->a[i];

		if (!a->wrap || !block_inside(loop->parent, a->wrap->blk[0]))
			a->wrap = loop;
	}
}

/* ---- accesses -------------------------------------------------------------------------------- */

static int
access_add(const Kernel *k, const Op *o, Val *v, bool write, Access *a)
{
	const Val *root = view_root(v);
	const Param *p = val_param(k, root);

	if ((!p && !root->def) || (p && !p->written))
		return 0;
	memset(a, 0, sizeof *a);
	a->op = o;
	a->view = v->def && view_is_longer(v->def) ? v->def->in[0] : v;
	a->root = root;
	a->lo = -1;
	a->write = write;
	if (p)
		return 1;
	a->async = o->code == O_copy && IMM(o, async) != 0;
	a->bulk = o->code == O_copy && IMM(o, async) == COPY_OUT;
	a->engine = a->bulk || o->code == O_wgmma;
	a->lo = IMM(root->def, offset);
	a->hi = a->lo + smem_alloc_bytes(root->def);
	return 1;
}

/* The whole of an op's scratch. */
static Access
scratch(const Op *o, bool write)
{
	Access a = { .op = o, .lo = o->lowering->staged.off, .write = write };

	a.hi = a.lo + o->lowering->staged.bytes;
	return a;
}

Access
scratch_read(const Op *o)
{
	return scratch(o, false);
}

static int
products(const Kernel *k, const Op *o, Access *a)
{
	int n = 0;

	for (int i = 0; i < 2; i++)
		if (o->in[i]->type.space == S_shared)
			n += access_add(k, o, o->in[i], false, a + n);
	return n;
}

int
access_of(const Kernel *k, const Op *o, Access *a)
{
	Val *from = access_source(o), *to = access_target(o), *found = access_found(o);
	int n;

	if (smem_has_scratch(o)) {
		a[0] = scratch(o, true);
		return 1;
	}
	if (o->code == O_copy && IMM(o, async) == COPY_BARRIER)
		return 0; /* the order of these is the barrier's business */
	if (o->code == O_wgmma)
		return products(k, o, a);
	n = from ? access_add(k, o, from, false, a) : 0;
	n += to ? access_add(k, o, to, true, a + n) : 0;
	return found ? n + access_add(k, o, found, true, a + n) : n;
}

/* Elements lo .. hi - 1 of dim d of the root: all that an access through v may touch. */
static void
touched(Sync *s, const Val *v, int d, int64_t *lo, int64_t *hi)
{
	int64_t extent;
	Fact f;
	int r;

	if (val_is_alias(view_base(v))) { /* in other coordinates */
		*lo = 0;
		*hi = INT64_MAX;
		return;
	}
	/* a view of a view starts in the other's coordinates: the outermost says enough */
	while (v->def && v->def->code == O_view && v->def->in[0]->def && v->def->in[0]->def->code == O_view)
		v = v->def->in[0];
	if (!v->def || v->def->code != O_view || view_gathers(v->def, d)) {
		const Type *t = v->def && v->def->code == O_view ? &v->def->in[0]->type : &v->type;

		*lo = 0;
		*hi = t->shape[d] < 0 ? INT64_MAX : t->shape[d];
		return;
	}
	r = view_result_dim(v->def, d);
	extent = r < 0 ? 1 : (v->type.shape[r] - 1) * view_step(v->def, d) + 1;
	f = val_fact(s->k, v->def->in[1 + d]);
	*lo = f.lo;
	*hi = f.hi > INT64_MAX - extent ? INT64_MAX : f.hi + extent;
}

static bool
same_place(Sync *s, const Access *a, const Access *b)
{
	int64_t lo[2], hi[2];

	if (a->root != b->root || !a->root)
		return a->lo >= 0 && b->lo >= 0 && a->lo < b->hi && b->lo < a->hi;
	if (access_takes_words(a->op) || access_takes_words(b->op))
		return true;
	for (int d = 0; d < a->root->type.rank; d++) {
		touched(s, a->view, d, &lo[0], &hi[0]);
		touched(s, b->view, d, &lo[1], &hi[1]);
		if (hi[0] <= lo[1] || hi[1] <= lo[0])
			return false;
	}
	return true;
}

/* The loop of a persistent kernel has a turn for each block of the grid that it takes: what two blocks do
 * to a tensor has no order, whoever runs them. */
static bool
of_two_blocks(const Access *then)
{
	bool global = then->wrap && then->root && then->root->type.space == S_global;
	const Op *first = global ? then->wrap->in[0]->def : NULL;

	return first && first->code == O_launched;
}

static bool
of_tensor(const Access *a)
{
	return a->root && a->root->type.space == S_global;
}

/* An update that orders what the block did with tensors before and after it; not where it leaves what it
 * found. */
static bool
is_order(const Access *a)
{
	return a->op->code == O_store && IMM(a->op, ordered) && of_tensor(a);
}

static bool
is_ordered(const Access *then, const Access *now)
{
	return is_order(then) != is_order(now) && of_tensor(then) && of_tensor(now);
}

/* Of what an atomic store updates, not of where it leaves what it found: that is written plainly. */
static bool
is_update(const Access *a)
{
	return a->root && access_is_update(a->op) && view_root(access_target(a->op)) == a->root;
}

bool
access_conflict(Sync *s, const Access *then, const Access *now)
{
	if (is_ordered(then, now) && !of_two_blocks(then))
		return true;
	if ((!then->write && !now->write) || !same_place(s, then, now) || of_two_blocks(then))
		return false;
	if (is_update(then) && is_update(now) && access_same_update(then->op, now->op))
		return false;
	if (then->kept) /* only the copy engine may not have seen it */
		return now->engine;
	if (now->engine && !then->async)
		return then->write; /* no thread's own elements */
	if (then->view && now->view && access_apart(s, then, now))
		return false;
	if (!then->async || then->root != now->root)
		return true;
	return (s->uncommitted && !then->landed) || (!now->async && then->waited && !then->settled);
}
