/* hazard_set.c - computes the memory accesses of ops, which pairs of them require a barrier, and how regions
 * transform sets of accesses, for pass insert_barriers. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/analysis.h"
#include "hexc/pass/insert_barriers/insert_barriers.h"
#include <string.h>

/* ---- sets ------------------------------------------------------------------------------------ */

static bool
access_equal(const HazardAccess *a, const HazardAccess *b)
{
	return a->op == b->op && a->root == b->root && a->wrap == b->wrap && a->write == b->write &&
	       a->async == b->async && a->waited == b->waited && a->landed == b->landed &&
	       a->settled == b->settled && a->proxied == b->proxied && a->kept == b->kept;
}

static uint32_t
access_hash(const HazardAccess *a)
{
	uint64_t h = (uintptr_t)a->op / 16 * 31 + (uintptr_t)a->wrap / 16;

	h = h * 2 + a->write;
	h = h * 64 + (unsigned)(a->async << 5 | a->waited << 4 | a->landed << 3 | a->settled << 2 |
	                        a->proxied << 1 | a->kept);
	return (uint32_t)(h * 0x9e3779b97f4a7c15U >> 32);
}

/* Returns the slot of an access, or the free one where it belongs. */
static int
set_slot(const AccessSet *set, const HazardAccess *a)
{
	int i = (int)(access_hash(a) & (uint32_t)(set->nslot - 1));

	while (set->slot[i] && !access_equal(&set->a[set->slot[i] - 1], a))
		i = (i + 1) & (set->nslot - 1);
	return i;
}

/* Builds the hash table, at most a quarter full; equal accesses map to the first. */
static void
set_hash(BarrierInsertion *s, AccessSet *set)
{
	set->nslot = 64;
	while (set->nslot < 4 * set->n)
		set->nslot *= 2;
	set->slot = NEWN(s->k->unit->arena, int, set->nslot);
	for (int i = 0; i < set->n; i++) {
		int *slot = &set->slot[set_slot(set, &set->a[i])];

		*slot = *slot ? *slot : i + 1;
	}
}

/* Returns the index of an access in the set; -1: absent. */
static int
set_find(BarrierInsertion *s, AccessSet *set, const HazardAccess *a)
{
	enum { FEW = 16 };

	if (set->n > FEW) {
		if (set->nslot < 2 * set->n)
			set_hash(s, set);
		return set->slot[set_slot(set, a)] - 1;
	}
	for (int i = 0; i < set->n; i++)
		if (access_equal(&set->a[i], a))
			return i;
	return -1;
}

bool
set_add(BarrierInsertion *s, AccessSet *set, const HazardAccess *a)
{
	if (set_find(s, set, a) >= 0)
		return false;
	VEC_PUSH(s->k->unit->arena, set->a, set->n, set->cap, *a);
	if (set->nslot)
		set->slot[set_slot(set, a)] = set->n;
	return true;
}

bool
set_join(BarrierInsertion *s, AccessSet *set, const AccessSet *more)
{
	bool grew = false;

	arena_work(s->k->unit->arena, (size_t)more->n);
	for (int i = 0; i < more->n; i++)
		grew |= set_add(s, set, &more->a[i]);
	return grew;
}

AccessSet
set_copy(BarrierInsertion *s, const AccessSet *from)
{
	AccessSet set = { .n = from->n, .cap = from->n };

	if (from->n)
		set.a = arena_grow(s->k->unit->arena, from->a, (size_t)from->n, (size_t)from->n,
		                   sizeof *set.a);
	return set;
}

/* A barrier removes all accesses but asynchronous ones not known to be complete, and writes without a proxy
 * fence. */
void
set_barrier(const BarrierInsertion *s, AccessSet *set)
{
	int n = 0;

	for (int i = 0; i < set->n; i++) {
		HazardAccess a = set->a[i];

		a.async &= !a.landed; /* then it is as a synchronous access */
		if (!a.async && (!s->engines || !a.write || a.proxied || !a.root || !a.root->def))
			continue;
		a.kept = !a.async;
		a.settled = a.waited;
		set->a[n++] = a;
	}
	set->n = n;
	set->nslot = 0;
}

/* A wait for bulk groups may be for the groups that an earlier wait left pending: these need a new
 * barrier. */
void
set_wait(AccessSet *set, bool all, bool bulk)
{
	for (int i = 0; i < set->n; i++) {
		HazardAccess *a = &set->a[i];

		a->settled &= !(a->async && a->bulk && bulk);
		a->waited |= a->async && a->bulk == bulk;
		a->landed |= a->async && a->bulk == bulk && all;
	}
	set->nslot = 0;
}

void
set_proxy(AccessSet *set)
{
	for (int i = 0; i < set->n; i++)
		set->a[i].proxied |= set->a[i].write && (!set->a[i].async || set->a[i].landed);
	set->nslot = 0;
}

void
set_wrap(AccessSet *set, const Op *loop)
{
	for (int i = 0; i < set->n; i++) {
		HazardAccess *a = &set->a[i];

		if (!a->wrap || !block_inside(loop->parent, a->wrap->blk[0]))
			a->wrap = loop;
	}
	set->nslot = 0;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Computes the elements lo .. hi - 1 along dim d of the root that an access through v may touch. */
static void
touched(BarrierInsertion *s, const Val *v, int d, int64_t *lo, int64_t *hi)
{
	int64_t extent;
	Fact f;
	int r;

	if (val_is_alias(view_base(v))) { /* in other coordinates */
		*lo = 0;
		*hi = INT64_MAX;
		return;
	}
	/* a view of a view starts in the coordinates of the other: the outermost suffices */
	while (v->def && v->def->code == O_view && view_source(v->def)->def &&
	       view_source(v->def)->def->code == O_view)
		v = view_source(v->def);
	if (!v->def || v->def->code != O_view || view_gathers(v->def, d)) {
		const Type *t = v->def && v->def->code == O_view ? &view_source(v->def)->type : &v->type;

		*lo = 0;
		*hi = t->shape[d] < 0 ? INT64_MAX : t->shape[d];
		return;
	}
	r = view_result_dim(v->def, d);
	extent = r < 0 ? 1 : (v->type.shape[r] - 1) * view_step(v->def, d) + 1;
	f = val_fact(s->k, view_start(v->def, d));
	*lo = f.lo;
	*hi = f.hi > INT64_MAX - extent ? INT64_MAX : f.hi + extent;
}

static const HazardBox *
box_of(BarrierInsertion *s, const Val *view, int rank)
{
	Arena *a = s->k->unit->arena;
	const HazardBox **at;
	HazardBox *box;

	if (!s->box)
		s->box = NEWN(a, const HazardBox *, s->k->nval + 1);
	at = &s->box[view->id];
	if (*at)
		return *at;
	box = NEWN(a, HazardBox, rank);
	for (int d = 0; d < rank; d++)
		touched(s, view, d, &box[d].lo, &box[d].hi);
	return *at = box;
}

static bool
is_order(const Op *o, bool tensor)
{
	return o->code == O_store && tensor && IMM(o, ordered);
}

static bool
is_update(const Op *o, const Val *root)
{
	return access_is_update(o) && view_root(access_target(o)) == root;
}

static int
access_add(BarrierInsertion *s, const Op *o, Val *v, bool write, HazardAccess *a)
{
	const Kernel *k = s->k;
	const Val *root = view_root(v);
	const Param *p = val_param(k, root);

	if ((!p && !root->def) || (p && !p->written))
		return 0;
	memset(a, 0, sizeof *a);
	a->op = o;
	a->view = v->def && view_is_longer(v->def) ? view_source(v->def) : v;
	a->root = root;
	a->box = box_of(s, a->view, root->type.rank);
	a->lo = -1;
	a->write = write;
	a->tensor = root->type.space == S_global;
	a->order = is_order(o, a->tensor);
	a->update = is_update(o, root);
	if (p)
		return 1;
	a->async = o->code == O_copy && IMM(o, async) != 0;
	a->bulk = o->code == O_copy && IMM(o, async) == COPY_OUT;
	a->engine = a->bulk || o->code == O_wgmma;
	a->lo = IMM(root->def, offset);
	a->hi = a->lo + smem_alloc_bytes(root->def);
	return 1;
}

/* An access to all of an op's scratch. */
static HazardAccess
scratch(const Op *o, bool write)
{
	HazardAccess a = { .op = o, .lo = o->lowering->staged.off, .write = write };

	a.hi = a.lo + o->lowering->staged.bytes;
	return a;
}

HazardAccess
scratch_read(const Op *o)
{
	return scratch(o, false);
}

static int
products(BarrierInsertion *s, const Op *o, HazardAccess *a)
{
	int n = 0;

	for (int i = 0; i < 2; i++)
		if (o->in[i]->type.space == S_shared)
			n += access_add(s, o, o->in[i], false, a + n);
	return n;
}

int
access_of(BarrierInsertion *s, const Op *o, HazardAccess *a)
{
	Val *from = access_source(o), *to = access_target(o), *found = access_found(o);
	int n;

	if (smem_has_scratch(o)) {
		a[0] = scratch(o, true);
		return 1;
	}
	if (o->code == O_copy && IMM(o, async) == COPY_BARRIER)
		return 0; /* mbarriers order these */
	if (o->code == O_wgmma)
		return products(s, o, a);
	n = from ? access_add(s, o, from, false, a) : 0;
	n += to ? access_add(s, o, to, true, a + n) : 0;
	return found ? n + access_add(s, o, found, true, a + n) : n;
}

static bool
same_place(const HazardAccess *a, const HazardAccess *b)
{
	if (a->root != b->root || !a->root)
		return a->lo >= 0 && b->lo >= 0 && a->lo < b->hi && b->lo < a->hi;
	for (int d = 0; d < a->root->type.rank; d++)
		if (a->box[d].hi <= b->box[d].lo || b->box[d].hi <= a->box[d].lo)
			return access_takes_words(a->op) || access_takes_words(b->op);
	return true;
}

/* Iterations of a persistent kernel's loop are different blocks of the grid: their accesses to tensors are
 * unordered in any case. */
static bool
of_two_blocks(const HazardAccess *then)
{
	bool global = then->wrap && then->root && then->root->type.space == S_global;
	const Op *first = global ? for_lo(then->wrap)->def : NULL;

	return first && first->code == O_linear_block_id;
}

static bool
is_ordered(const HazardAccess *then, const HazardAccess *now)
{
	return then->order != now->order && then->tensor && now->tensor;
}

bool
access_conflict(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now)
{
	if (is_ordered(then, now) && !of_two_blocks(then))
		return true;
	if ((!then->write && !now->write) || !same_place(then, now) || of_two_blocks(then))
		return false;
	if (then->update && now->update && access_same_update(then->op, now->op))
		return false;
	if (then->kept) /* only the async proxy may not have seen it */
		return now->engine;
	if (now->engine && !then->async)
		return then->write; /* per-thread ownership does not apply */
	if (then->view && now->view && access_apart(s, then, now))
		return false;
	if (!then->async || then->root != now->root)
		return true;
	if (now->async) { /* in a role, mbarriers order the stages of a ring */
		bool ring = then->wrap && op_role(now->op) != ROLE_ALL;

		return then->landed ? !ring : s->uncommitted;
	}
	return (s->uncommitted && !then->landed) || (then->waited && !then->settled);
}

/* ---- regions ---------------------------------------------------------------------------------- */

/* An op transforms each access of a set independently, and adds its own. So the set after a loop or if is the
 * union of the images of each preceding access and of its own accesses; a conflict arises from one of these.
 * Both are memoized. Otherwise nested loops would be walked again for each iteration of the enclosing loops,
 * doubling the work per level. */

enum { BUCKETS = 1024 };

typedef struct Image {
	AccessSet out;
	bool hit;
} Image;

struct Flow {
	const Op *op;
	bool has_own, settled;
	enum { UNSEEN, PLAIN, NOT_PLAIN } kind;
	Image own;    /* accesses of its own ops, starting from an empty set */
	AccessSet in;       /* preceding accesses seen so far */
	Image *image; /* of each */
	int nimage, cap;
	Flow *next; /* in its bucket */
};

static Flow *
flow_of(BarrierInsertion *s, const Op *o)
{
	Arena *a = s->k->unit->arena;
	Flow **at, *f;

	if (!s->flow)
		s->flow = NEWN(a, Flow *, BUCKETS);
	at = &s->flow[(uintptr_t)o / sizeof(Op) % BUCKETS];
	for (f = *at; f && f->op != o; f = f->next)
		;
	if (f)
		return f;
	f = NEW(a, Flow);
	f->op = o;
	f->next = *at;
	return *at = f;
}

/* The image of access a, or (NULL) the accesses of o's own ops. */
static Image
walk(BarrierInsertion *s, const Op *o, const HazardAccess *a)
{
	HazardAccess copy = a ? *a : (HazardAccess){ .op = NULL };
	AccessSet set = { .a = a ? &copy : NULL, .n = a != NULL, .cap = a != NULL };
	Hit hit = { .through = a != NULL };

	flow_region(s, o, &set, &hit);
	return (Image){ set_copy(s, &set), hit.found };
}

static Image
image_of(BarrierInsertion *s, Flow *f, const HazardAccess *a)
{
	int at = set_find(s, &f->in, a);
	Image made;

	if (at >= 0)
		return f->image[at];
	made = walk(s, f->op, a);
	set_add(s, &f->in, a);
	VEC_PUSH(s->k->unit->arena, f->image, f->nimage, f->cap, made);
	return made;
}

static const Image *
own_of(BarrierInsertion *s, Flow *f)
{
	if (!f->has_own) {
		f->own = walk(s, f->op, NULL);
		f->has_own = true;
	}
	return &f->own;
}

bool
flow_is_plain(BarrierInsertion *s, const Op *o)
{
	Flow *f = flow_of(s, o);

	if (f->kind == UNSEEN)
		f->kind = o->code == O_if ? PLAIN : NOT_PLAIN;
	else
		return f->kind == PLAIN;
	for (int r = 0; r < 2 && o->blk[r]; r++)
		for (const Op *i = o->blk[r]->first; i && f->kind == PLAIN; i = i->next)
			if (op_is_barrier(i) || i->code == O_async_wait ||
			    i->code == O_fence_proxy_async ||
			    smem_has_scratch(i) || (i->blk[0] && !flow_is_plain(s, i)))
				f->kind = NOT_PLAIN;
	return f->kind == PLAIN;
}

/* Finds the first conflict of the set with the ops of a plain if. */
static void
hit_inside(BarrierInsertion *s, const Op *o, const AccessSet *set, Hit *hit)
{
	HazardAccess a[2];

	for (int r = 0; r < 2 && o->blk[r]; r++)
		for (const Op *i = o->blk[r]->first; i && !hit->found; i = i->next) {
			int n = access_of(s, i, a);

			for (int j = 0; j < n; j++)
				set_conflict(s, set, &a[j], hit);
			if (i->blk[0])
				hit_inside(s, i, set, hit);
		}
}

void
flow_look(BarrierInsertion *s, const Op *o, const AccessSet *set, Hit *hit)
{
	hit_inside(s, o, set, hit);
}

void
flow_pass(BarrierInsertion *s, const Op *o, AccessSet *set)
{
	set_join(s, set, &own_of(s, flow_of(s, o))->out);
}

void
flow_known(BarrierInsertion *s, const Op *o, AccessSet *set, Hit *hit)
{
	Flow *f = flow_of(s, o);
	const Image *own = hit->through ? NULL : own_of(s, f);
	AccessSet out = { .cap = set->n + (own ? own->out.n : 0) };
	bool found = own && own->hit;

	if (!found && flow_is_plain(s, o)) {
		hit_inside(s, o, set, hit);
		if (own)
			set_join(s, set, &own->out);
		return;
	}
	out.a = out.cap ? NEWN(s->k->unit->arena, HazardAccess, out.cap) : NULL;
	for (int i = 0; i < set->n; i++) {
		Image m = image_of(s, f, &set->a[i]);

		found |= m.hit;
		set_join(s, &out, &m.out);
	}
	if (own)
		set_join(s, &out, &own->out);
	if (found && !hit->found) { /* find the first one */
		AccessSet probe = set_copy(s, set);

		flow_region(s, o, &probe, hit);
	}
	*set = out;
}

void
flow_forget(BarrierInsertion *s, const Block *b)
{
	for (const Op *o = b->owner; o; o = o->parent->owner)
		*flow_of(s, o) = (Flow){ .op = o, .next = flow_of(s, o)->next };
}

bool
flow_is_settled(BarrierInsertion *s, const Op *o)
{
	return flow_of(s, o)->settled;
}

void
flow_settle(BarrierInsertion *s, const Op *o)
{
	flow_of(s, o)->settled = true;
}
