/* paths.c - follows all paths through a kernel, with any number of loop iterations and both sides of
 * branches, for the validators.
 *
 * Paths with equal state are merged, so a loop ends when its iterations add no new state. A number is known
 * if it starts as a constant and wraps around. */
#include "infer/validate/paths.h"
#include "hexc/ir/dtype_value.h"
#include "infer/validate/validate.h"
#include <string.h>

enum { WAYS_MOST = 1024, MADE_MOST = 1 << 14 };

static void walk_block(PathWalk *f, Ways *ways, const Block *b);

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t
ways_number(const PathWalk *f, const Way *w, const Val *v, int depth)
{
	const Op *o = v->def;
	int64_t x, y, is;

	if (val_is_const(v, &is))
		return is;
	if (f->slot[v->id])
		return w->number[f->slot[v->id] - 1];
	if (!o || depth == 0 || v->type.space != S_scalar)
		return UNKNOWN;
	if (o->code == O_select) {
		x = ways_number(f, w, select_cond(o), depth - 1);
		return x == UNKNOWN ? UNKNOWN
		                    : ways_number(f, w, x ? select_yes(o) : select_no(o), depth - 1);
	}
	if (o->nin != 2 || o->nout != 1 || !op_is(o, F_PURE) || o->in[0]->type.space != S_scalar)
		return UNKNOWN;
	x = ways_number(f, w, o->in[0], depth - 1);
	y = ways_number(f, w, o->in[1], depth - 1);
	return x != UNKNOWN && y != UNKNOWN && i64_eval(o->code, x, y, &is) ? is : UNKNOWN;
}

static void
remember(const PathWalk *f, Way *w, const Val *v, int64_t x)
{
	if (f->slot[v->id])
		w->number[f->slot[v->id] - 1] = x;
}

void
ways_ask(PathWalk *f, const Val *v)
{
	const Op *o = v->def ? v->def : v->block->owner;
	int64_t is;

	if (!o || val_is_const(v, &is) || f->asked[v->id] || v->type.space != S_scalar)
		return;
	f->asked[v->id] = true;
	if (o->code != O_for && o->code != O_if) {
		for (int i = 0; v->def && op_is(o, F_PURE) && i < o->nin; i++)
			ways_ask(f, o->in[i]);
		return;
	}
	if (f->nslot == NUMBERS || (!v->def && (o->code != O_for || v->index == 0)))
		return;
	f->home[f->nslot] = v->block;
	f->slot[v->id] = ++f->nslot;
	int i = v->def ? v->index : v->index - 1;

	for (int r = 0; r < 2; r++)
		if (o->blk[r])
			ways_ask(f, o->blk[r]->last->in[i]);
	if (o->code == O_for) {
		ways_ask(f, for_init(o, i));
		ways_ask(f, o->blk[0]->arg[1 + i]);
	}
}

/* ---- paths ----------------------------------------------------------------------------------- */

bool
ways_same_copy(const Moving *a, const Moving *b)
{
	return a->part.tile == b->part.tile && a->part.lo == b->part.lo && a->part.n == b->part.n &&
	       a->kind == b->kind;
}

static bool
same_way(const Way *a, const Way *b)
{
	if (a->n != b->n || memcmp(a->number, b->number, sizeof a->number) != 0)
		return false;
	for (int i = 0; i < a->n; i++) {
		bool found = false;

		for (int j = 0; j < b->n && !found; j++)
			found = ways_same_copy(&a->copy[i], &b->copy[j]) && a->copy[i].age == b->copy[j].age;
		if (!found)
			return false;
	}
	return true;
}

static void
ways_add(PathWalk *f, Ways *to, const Way *w)
{
	for (int i = 0; i < to->n; i++)
		if (same_way(&to->a[i], w)) {
			to->a[i].ended |= w->ended;
			return;
		}
	if (to->n == WAYS_MOST || ++f->made == MADE_MOST)
		f->lost = true;
	else
		VEC_PUSH(f->k->unit->arena, to->a, to->n, to->cap, *w);
}

static void
ways_join(PathWalk *f, Ways *to, const Ways *from)
{
	for (int i = 0; i < from->n; i++)
		ways_add(f, to, &from->a[i]);
}

/* ---- loops, branches, roles ------------------------------------------------------------------ */

/* Copies a block's yielded values to `to`, simultaneously. */
static void
forward_yield(const PathWalk *f, Way *w, const Block *b, Val *const *to, int n)
{
	Way was = *w;

	for (int i = 0; i < n; i++)
		if (f->slot[to[i]->id])
			remember(f, w, to[i], ways_number(f, &was, b->last->in[i], DEPTH));
}

static void
forget(const PathWalk *f, Way *w, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		remember(f, w, v[i], UNKNOWN);
}

/* Is number i not carried by the loop? */
static bool
is_inner(const PathWalk *f, int i, const Op *loop)
{
	for (int j = 0; j < loop->nout; j++)
		if (f->slot[loop->blk[0]->arg[1 + j]->id] == i + 1)
			return false;
	return true;
}

/* Drops numbers defined inside an iteration at its end, so that iterations that differ in nothing else are
 * merged. */
static void
end_turn(const PathWalk *f, Way *w, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; i < f->nslot; i++)
		if (f->home[i] == b ? is_inner(f, i, loop) : block_inside(f->home[i], b))
			w->number[i] = UNKNOWN;
}

static void
walk_loop(PathWalk *f, Ways *ways, const Op *o)
{
	const Block *b = o->blk[0];
	Ways head = { 0 }, behind = { 0 };
	int64_t lo, hi;
	bool runs = val_is_const(for_lo(o), &lo) && val_is_const(for_hi(o), &hi) && lo < hi;

	for (int i = 0; i < ways->n; i++) {
		Way w = ways->a[i];

		for (int j = 0; j < o->nout; j++)
			remember(f, &w, b->arg[1 + j], ways_number(f, &ways->a[i], for_init(o, j), DEPTH));
		w.ended = !runs;
		ways_add(f, &head, &w);
	}
	for (int i = 0; i < head.n && f->ok && !f->lost; i++) {
		Ways turn = { 0 };

		ways_add(f, &turn, &head.a[i]);
		walk_block(f, &turn, b);
		for (int j = 0; j < turn.n; j++) {
			forward_yield(f, &turn.a[j], b, b->arg + 1, o->nout);
			end_turn(f, &turn.a[j], o);
			turn.a[j].ended = true;
			ways_add(f, &head, &turn.a[j]);
		}
	}
	for (int i = 0; i < head.n; i++) {
		Way w = head.a[i];

		if (!w.ended)
			continue;
		for (int j = 0; j < o->nout; j++)
			remember(f, &w, o->out[j], ways_number(f, &w, b->arg[1 + j], DEPTH));
		forget(f, &w, b->arg + 1, o->nout);
		ways_add(f, &behind, &w);
	}
	*ways = behind;
}

static void
walk_if(PathWalk *f, Ways *ways, const Op *o)
{
	Ways behind = { 0 };

	for (int r = 0; r < 2; r++) {
		Ways side = { 0 };

		for (int i = 0; i < ways->n; i++) {
			int64_t is = ways_number(f, &ways->a[i], if_cond(o), DEPTH);

			if (is == UNKNOWN || (is == 0) == (r == 1))
				ways_add(f, &side, &ways->a[i]);
		}
		walk_block(f, &side, o->blk[r]);
		for (int i = 0; i < side.n; i++) {
			forward_yield(f, &side.a[i], o->blk[r], o->out, o->nout);
			ways_add(f, &behind, &side.a[i]);
		}
	}
	*ways = behind;
}

/* Follows each role with separate groups and iterations. */
static void
walk_roles(PathWalk *f, Ways *ways, const Op *o)
{
	Ways behind = { 0 };

	for (int r = 0; r < 2; r++) {
		Ways role = { 0 };

		ways_join(f, &role, ways);
		walk_block(f, &role, o->blk[r]);
		ways_join(f, &behind, &role);
	}
	*ways = behind;
}

static void
walk_block(PathWalk *f, Ways *ways, const Block *b)
{
	for (const Op *o = b->first; o && f->ok && !f->lost; o = o->next)
		if (o->code == O_for)
			walk_loop(f, ways, o);
		else if (o->code == O_if)
			walk_if(f, ways, o);
		else if (o->code == O_roles)
			walk_roles(f, ways, o);
		else if (op_is(o, F_MEM | F_SYNC))
			for (int i = 0; i < ways->n; i++)
				f->op(f, &ways->a[i], o);
}

Ways
ways_follow(PathWalk *f)
{
	Way none = { .n = 0 };
	Ways ways = { 0 };

	for (int i = 0; i < NUMBERS; i++)
		none.number[i] = UNKNOWN;
	ways_add(f, &ways, &none);
	walk_block(f, &ways, f->k->body);
	return ways;
}
