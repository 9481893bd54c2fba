/* dce.c - pass dce: removes dead code.
 *
 * requires   valid IR
 * preserves  types, order, source locations
 *
 * Live are stores to tensors, synchronization, print and assert, and what they depend on transitively. That
 * includes loops, whose carried values are removed if only they themselves use them, and shared tiles, which
 * are live if something loads from them. */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/ir.h"
#include "hexc/pass/pass.h"

/* A store or copy to a shared tile, or an update whose old value goes there. */
typedef struct StoredValue {
	Op *op;
	struct StoredValue *next; /* next of the same tile */
} StoredValue;

typedef struct Dce {
	Kernel *k;
	bool *val;       /* by id: live */
	bool *op;        /* by id: live */
	Val **work;      /* live values to process */
	size_t nwork, cwork;
	StoredValue **fill;     /* by id of the tile */
	bool changed;
} Dce;

static void
mark(Dce *d, Val *v)
{
	if (!v || d->val[v->id])
		return;
	d->val[v->id] = true;
	VEC_PUSH(d->k->unit->arena, d->work, d->nwork, d->cwork, v);
}

/* Marks the op, the ops around it, and their control operands. */
static void
mark_op(Dce *d, Op *o)
{
	for (; o && !d->op[o->id]; o = o->parent->owner) {
		int n = o->code == O_yield ? 0 : o->nin;
		n = o->code == O_for ? IN_for_init : n;
		d->op[o->id] = true;
		for (int i = 0; i < n; i++)
			mark(d, o->in[i]);
		if (loop_ends_early(o))
			mark(d, o->blk[0]->arg[1]);
	}
}

/* Marks carried value i of a loop, or result i of an if. */
static void
mark_carried(Dce *d, Op *o, int i)
{
	mark_op(d, o);
	for (int r = 0; r < 2; r++)
		if (o->blk[r])
			mark(d, o->blk[r]->last->in[i]);
	if (o->code == O_for)
		mark(d, for_init(o, i));
}

static void
mark_def(Dce *d, Val *v)
{
	if (!v->def) {
		if (v->block->owner && v->block->owner->code == O_for && v->index > 0)
			mark_carried(d, v->block->owner, v->index - 1);
		return;
	}
	if (v->def->blk[0]) {
		mark_carried(d, v->def, v->index);
		return;
	}
	mark_op(d, v->def);
	if (v->def->code == O_alloc)
		for (const StoredValue *f = d->fill[v->id]; f; f = f->next)
			mark_op(d, f->op);
}

static void
fills(Dce *d, Op *o, const Val *tile)
{
	StoredValue *f = NEW(d->k->unit->arena, StoredValue);

	*f = (StoredValue){ o, d->fill[tile->id] };
	d->fill[tile->id] = f;
}

/* Marks ops that are live by themselves. */
static void
roots(Dce *d, Block *b)
{
	OpWalk w;

	for (Op *o = walk_first(&w, b); o; o = walk_next(&w)) {
		Val *target = access_target(o);

		if (target && view_root(target)->def) {
			fills(d, o, view_root(target));
			if (access_found(o))
				fills(d, o, view_root(access_found(o)));
		} else if (target || op_is(o, F_SYNC | F_EFFECT)) {
			mark_op(d, o);
		}
	}
	mark_op(d, b->last);
	for (int i = 0; i < b->last->nin; i++)
		mark(d, b->last->in[i]);
}

/* ---- sweep --------------------------------------------------------------------------------------- */

static bool
slot_live(const Dce *d, const Op *o, int i)
{
	return d->val[o->out[i]->id] || (o->code == O_for && d->val[o->blk[0]->arg[1 + i]->id]);
}

/* Removes value i from an array of n. */
static void
drop(Val **v, int *n, int i, int step)
{
	for (int j = i; j + 1 < *n; j++) {
		v[j] = v[j + 1];
		v[j]->index -= step;
	}
	(*n)--;
}

static void
sweep_carried(Dce *d, Op *o)
{
	for (int i = o->nout - 1; i >= 0; i--) {
		if (slot_live(d, o, i))
			continue;
		drop(o->out, &o->nout, i, 1);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				drop(o->blk[r]->last->in, &o->blk[r]->last->nin, i, 0);
		if (o->code == O_for) {
			drop(o->in, &o->nin, 3 + i, 0);
			drop(o->blk[0]->arg, &o->blk[0]->narg, 1 + i, 1);
		}
		d->changed = true;
	}
}

static void
sweep(Dce *d, Block *b)
{
	Op *next;

	for (Op *o = b->first; o; o = next) {
		next = o->next;
		if (o->code == O_yield)
			continue;
		if (!d->op[o->id]) {
			op_unlink(o);
			d->changed = true;
			continue;
		}
		if (o->blk[0])
			sweep_carried(d, o);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				sweep(d, o->blk[r]);
	}
}

bool
pass_dce(Kernel *k)
{
	Arena *a = k->unit->arena;
	Dce d = { .k = k };

	d.val = NEWN(a, bool, (size_t)k->nval + 1);
	d.op = NEWN(a, bool, (size_t)k->nop + 1);
	d.fill = NEWN(a, StoredValue *, (size_t)k->nval + 1);
	for (int i = 0; i < k->nassume; i++)
		mark(&d, k->assume[i].cond);
	for (int i = 0; i < k->nparam; i++) {
		for (int j = 0; j < DIM_MAX; j++) {
			mark(&d, k->param[i].size[j]);
			mark(&d, k->param[i].stride[j]);
		}
	}
	if (k->grid)
		roots(&d, k->grid);
	roots(&d, k->body);
	while (d.nwork)
		mark_def(&d, d.work[--d.nwork]);
	if (k->grid)
		sweep(&d, k->grid);
	sweep(&d, k->body);
	return d.changed;
}
