/* block_handoff.c - marks the atomic updates that hand memory from one block of the grid to another, for pass
 * insert_barriers; marked updates get release/acquire fences.
 *
 * A signal is an update of one element of a tensor. If a kernel uses the old value of signals of a tensor, it
 * can determine which block came first. Then accesses of a block before its signal happen before another
 * block's accesses after a signal that observes it. All signals of the tensor are marked `ordered` if the
 * order of two accesses to one tensor matters: one before a signal, and one after an observing signal, in any
 * loop iterations. These are:
 *   - a plain read, and a plain write or an update
 *   - a plain write and an update; or two plain writes, neither to an address derived from an old value
 *   - an update, and one whose old value is used or of another kind, in one iteration of all loops, or if the
 *     second executes depending on an old value, or at an address derived from one; but not two signals of
 *     the same element
 * No fences are needed for addresses allocated by atomic counters, for counts that are never read, and for a
 * grid of one block. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/insert_barriers/insert_barriers.h"
#include <string.h>

/* An access to a tensor that the kernel writes. */
typedef struct Act {
	const Op *op;
	Val *view;
	const Val *root;
	bool reads, writes, update; /* a plain read; a write of any kind; an update */
	bool front, behind;         /* before / after a signal of the current tensor */
	bool first, last;           /* .. in textual order, within one iteration of all loops */
} Act;

typedef struct Acts {
	Act *a;
	int n, cap;
} Acts;

/* Values derived from old values of signals of a tensor, by value id: scalars, tiles, shared memory. */
typedef struct HandoffOps {
	const Kernel *k;
	uint8_t *of;
	bool grew;
} HandoffOps;

static bool
is_signal_of(const Op *o, const Val *tensor)
{
	return access_is_signal(o) && view_root(store_dest(o)) == tensor;
}

static void
add(Kernel *k, Acts *all, const Op *o, Val *v, bool writes)
{
	Act a = { .op = o, .view = v, .root = view_root(v), .reads = !writes, .writes = writes };
	const Param *p = val_param(k, a.root);

	if (!p || !p->written)
		return;
	a.update = writes && access_is_update(o);
	VEC_PUSH(k->unit->arena, all->a, all->n, all->cap, a);
}

/* ---- what may come before what ------------------------------------------------------------------- */

/* Is b in a loop whose iterations belong to one block of the grid? */
static bool
in_turns(const Block *b)
{
	for (; b->owner; b = b->owner->parent)
		if (b->owner->code == O_roles ||
		    (b->owner->code == O_for &&
		     !(for_lo(b->owner)->def && for_lo(b->owner)->def->code == O_linear_block_id)))
			return true;
	return false;
}

/* Returns the op of block b that is or contains o; NULL: none. */
static const Op *
op_in(const Op *o, const Block *b)
{
	while (o && o->parent != b)
		o = o->parent->owner;
	return o;
}

/* May a run before b? `turns`: also across iterations of a loop. */
static bool
comes_before(const Op *a, const Op *b, bool turns)
{
	const Block *both = a->parent;
	const Op *x, *y;

	while (!op_in(b, both))
		both = both->owner->parent;
	if (turns && in_turns(both))
		return true;
	x = op_in(a, both);
	y = op_in(b, both);
	if (x == y)
		return turns && x->code == O_roles;
	while (x && x != y)
		x = x->next;
	return x != NULL;
}

/* ---- what comes of what was found ---------------------------------------------------------------- */

static void
found(HandoffOps *f, const Val *v)
{
	f->grew = f->grew || !f->of[v->id];
	f->of[v->id] = true;
}

static bool
any_found(const HandoffOps *f, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if (f->of[v[i]->id])
			return true;
	return false;
}

/* Does a loop's trip count, or a branch, depend on an old value? */
static bool
decides(const HandoffOps *f, const Op *o)
{
	return any_found(f, o->in, o->code == O_for ? IN_for_init : o->code == O_if) ||
	       (loop_ends_early(o) && f->of[o->blk[0]->arg[1]->id]);
}

static void
spread(HandoffOps *f, const Op *o)
{
	Val *from = access_source(o), *to = access_target(o);
	bool is = any_found(f, o->in, o->nin) || (from && f->of[view_root(from)->id]);

	if (to && is && view_root(to)->type.space == S_shared)
		found(f, view_root(to));
	if (o->code != O_for && o->code != O_if) {
		for (int i = 0; i < o->nout && is; i++)
			found(f, o->out[i]);
		return;
	}
	for (int i = 0; i < o->nout; i++) {
		is = decides(f, o) || (o->code == O_for && f->of[for_init(o, i)->id]);
		for (int r = 0; r < 2 && o->blk[r]; r++)
			is = is || f->of[o->blk[r]->last->in[i]->id];
		if (is)
			found(f, o->out[i]);
		if (is && o->code == O_for)
			found(f, o->blk[0]->arg[1 + i]);
	}
}

static HandoffOps
find_found(Kernel *k, const Val *tensor)
{
	HandoffOps f = { .k = k, .of = NEWN(k->unit->arena, uint8_t, k->nval + 1) };
	OpWalk w;

	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (is_signal_of(o, tensor) && access_found(o))
			found(&f, view_root(access_found(o)));
	do {
		f.grew = false;
		for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
			spread(&f, o);
	} while (f.grew);
	return f;
}

/* Does the address of the access depend on an old value? */
static bool
at_found(const HandoffOps *f, const Act *a)
{
	for (const Val *v = a->view; v->def && v->def->code == O_view; v = view_source(v->def))
		if (any_found(f, v->def->in + IN_view_start, v->def->nin - IN_view_start))
			return true;
	return false;
}

/* Does the access execute depending on an old value: by address, in a branch or loop, or after a loop, that
 * depends on one? */
static bool
where_found(const HandoffOps *f, const Act *a)
{
	OpWalk w;

	if (at_found(f, a))
		return true;
	for (const Block *b = a->op->parent; b->owner; b = b->owner->parent)
		if (decides(f, b->owner))
			return true;
	for (const Op *o = walk_first(&w, f->k->body); o; o = walk_next(&w))
		if (o->code == O_for && decides(f, o) && comes_before(o, a->op, true))
			return true;
	return false;
}

/* ---- memory that blocks hand over ------------------------------------------------------------------- */

/* Do both signals always access the same element: constant indices only? */
static bool
same_element(const Act *a, const Act *b)
{
	const Op *x = a->view->def, *y = b->view->def;
	int64_t c, d;

	if (!access_is_signal(a->op) || !access_is_signal(b->op) || !x || !y || x->code != O_view ||
	    y->code != O_view || view_source(x) != view_source(y) || view_source(x) != a->root)
		return false;
	for (int i = 1; i < x->nin; i++)
		if (!val_is_const(x->in[i], &c) || !val_is_const(y->in[i], &d) || c != d)
			return false;
	return true;
}

/* Does the order of access a, before a signal, and b, after one, matter? */
static bool
matters(const HandoffOps *f, const Val *tensor, const Act *a, const Act *b)
{
	bool alone = !access_found(a->op) && !access_found(b->op);

	if (a->root != b->root || (!a->writes && !b->writes))
		return false;
	if (a->reads || b->reads)
		return true;
	if (!a->update && !b->update)
		return a->op != b->op && !at_found(f, a) && !at_found(f, b);
	if (!a->update || !b->update)
		return true;
	if (a->root == tensor && same_element(a, b))
		return false;
	return (!alone || !access_same_update(a->op, b->op)) && ((a->first && b->last) || where_found(f, b));
}

static bool
hands_on(Kernel *k, const Val *tensor, Acts *all)
{
	HandoffOps f;
	OpWalk w;

	for (int i = 0; i < all->n; i++)
		all->a[i].front = all->a[i].behind = all->a[i].first = all->a[i].last = false;
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		for (int i = 0; i < all->n && is_signal_of(o, tensor); i++) {
			Act *a = &all->a[i];

			a->front = a->front || comes_before(a->op, o, true);
			a->first = a->first || comes_before(a->op, o, false);
			a->behind = a->behind || (access_found(o) && comes_before(o, a->op, true));
			a->last = a->last || (access_found(o) && comes_before(o, a->op, false));
		}
	f = find_found(k, tensor);
	for (int i = 0; i < all->n; i++)
		for (int j = 0; j < all->n && all->a[i].front; j++)
			if (all->a[j].behind && matters(&f, tensor, &all->a[i], &all->a[j]))
				return true;
	return false;
}

static bool
is_one_block(const Kernel *k)
{
	int64_t n;

	for (int d = 0; d < 3; d++)
		if (!k->grid->last || !val_is_const(k->grid->last->in[d], &n) || n != 1)
			return false;
	return true;
}

bool
sync_signals(Kernel *k)
{
	Acts all = { NULL, 0, 0 };
	bool changed = false;
	OpWalk w, v;

	if (is_one_block(k))
		return false;
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		if (access_source(o))
			add(k, &all, o, access_source(o), false);
		if (access_target(o))
			add(k, &all, o, access_target(o), true);
	}
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		const Val *tensor = access_is_signal(o) && access_found(o) ? view_root(store_dest(o)) : NULL;

		if (!tensor || IMM(o, ordered) || !hands_on(k, tensor, &all))
			continue;
		for (Op *p = walk_first(&v, k->body); p; p = walk_next(&v))
			if (is_signal_of(p, tensor)) {
				changed = changed || !IMM(p, ordered);
				IMM_SET(p, ordered, 1);
			}
	}
	return changed;
}
