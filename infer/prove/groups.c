/* groups.c - pass_prove_groups: checker of what is waited for by groups: copies to shared tiles, and bulk
 * copies from them.
 *
 * keeps   everything; a violation is an internal error at the op
 *
 * PTX ISA, "cp.async.wait_group" and "cp.async.bulk.wait_group": copies since the last commit are a group,
 * and behind a wait for all but the latest N groups those before have been done.  All ways through the kernel
 * are followed, with loops of any number of turns, as far as they differ in the copies under way and in the
 * slots of rings: these are numbers, which begin as constants and wrap around, so there are few states.  A
 * read of what a copy is certainly still bringing, a write to what one is certainly still reading, and a bulk
 * copy under way where the kernel ends are violations.  Of a slot that is no such number nothing is said.
 *
 * Barriers between a thread's wait and the others' reads are pass_prove_sync's. */
#include "hexc/ir/number.h"
#include "infer/prove/prove.h"
#include <string.h>

enum { OPEN = -1, AGE_MOST = 64, COPIES = 32, NUMBERS = 32, WAYS_MOST = 1024, DEPTH = 16 };
#define UNKNOWN INT64_MIN

/* The part of a shared tile from index lo of its first dim on, n of them. */
typedef struct Part {
	const Val *tile;
	int64_t lo, n; /* lo UNKNOWN: somewhere */
	bool whole; /* all elements of these; else some, at least one */
	bool all; /* .. of the whole tile */
} Part;

/* A copy under way. */
typedef struct Moving {
	Part part;
	bool out; /* it reads the part: a bulk copy to a tensor */
	int age; /* groups of its kind that were closed since its own; OPEN: its own is not */
} Moving;

/* What may be where an op runs. */
typedef struct Way {
	Moving copy[COPIES];
	int n;
	int64_t number[NUMBERS]; /* of Groups.slot */
	bool ended; /* it comes from the end of a turn; not compared */
} Way;

typedef struct Ways {
	Way *a;
	int n, cap;
} Ways;

typedef struct Groups {
	Kernel *k;
	bool ok;
	bool lost; /* too many ways, or copies: the kernel is not followed any further */
	uint8_t *slot; /* [nval+1] 1 + which number of a way it is, what slots are made from; 0: none */
	uint8_t nslot;
} Groups;

static void
violation(Groups *g, const Op *o, const char *what)
{
	if (g->ok)
		diag_class_error(g->k->unit->diag, DC_INTERNAL, o->src, "internal: %s: %s",
		                 op_info[o->code].name, what);
	g->ok = false;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static int64_t
number(const Groups *g, const Way *w, const Val *v, int depth)
{
	const Op *o = v->def;
	int64_t x, y, is;

	if (val_is_const(v, &is))
		return is;
	if (g->slot[v->id])
		return w->number[g->slot[v->id] - 1];
	if (!o || depth == 0 || v->type.space != S_scalar)
		return UNKNOWN;
	if (o->code == O_select) {
		x = number(g, w, o->in[0], depth - 1);
		return x == UNKNOWN ? UNKNOWN : number(g, w, o->in[x ? 1 : 2], depth - 1);
	}
	if (o->nin != 2 || o->nout != 1 || !op_is(o, F_PURE) || o->in[0]->type.space != S_scalar)
		return UNKNOWN;
	x = number(g, w, o->in[0], depth - 1);
	y = number(g, w, o->in[1], depth - 1);
	return x != UNKNOWN && y != UNKNOWN && i64_eval(o->code, x, y, &is) ? is : UNKNOWN;
}

static void
remember(const Groups *g, Way *w, const Val *v, int64_t x)
{
	if (g->slot[v->id])
		w->number[g->slot[v->id] - 1] = x;
}

/* What slot v is made from in other turns or branches is a number of the ways. */
static void
ask_for(Groups *g, const Val *v)
{
	const Op *o = v->def ? v->def : v->block->owner;
	int64_t is;

	if (!o || val_is_const(v, &is) || g->slot[v->id] || v->type.space != S_scalar)
		return;
	if (o->code != O_for && o->code != O_if) {
		for (int i = 0; v->def && op_is(o, F_PURE) && i < o->nin; i++)
			ask_for(g, o->in[i]);
		return;
	}
	if (g->nslot == NUMBERS || (!v->def && (o->code != O_for || v->index == 0)))
		return;
	g->slot[v->id] = ++g->nslot;
	int i = v->def ? v->index : v->index - 1;

	for (int r = 0; r < 2; r++)
		if (o->blk[r])
			ask_for(g, o->blk[r]->last->in[i]);
	if (o->code == O_for) {
		ask_for(g, o->in[3 + i]);
		ask_for(g, o->blk[0]->arg[1 + i]);
	}
}

/* ---- ways ------------------------------------------------------------------------------------------ */

static bool
same_copy(const Moving *a, const Moving *b)
{
	return a->part.tile == b->part.tile && a->part.lo == b->part.lo && a->part.n == b->part.n &&
	       a->out == b->out;
}

static bool
same_way(const Way *a, const Way *b)
{
	if (a->n != b->n || memcmp(a->number, b->number, sizeof a->number) != 0)
		return false;
	for (int i = 0; i < a->n; i++) {
		bool found = false;

		for (int j = 0; j < b->n && !found; j++)
			found = same_copy(&a->copy[i], &b->copy[j]) && a->copy[i].age == b->copy[j].age;
		if (!found)
			return false;
	}
	return true;
}

static void
ways_add(Groups *g, Ways *to, const Way *w)
{
	for (int i = 0; i < to->n; i++)
		if (same_way(&to->a[i], w)) {
			to->a[i].ended |= w->ended;
			return;
		}
	if (to->n == WAYS_MOST)
		g->lost = true;
	else
		VEC_PUSH(g->k->unit->arena, to->a, to->n, to->cap, *w);
}

/* The same again is kept as the younger. */
static void
start(Groups *g, Way *w, Part part, bool out)
{
	Moving m = { part, out, OPEN };

	for (int i = 0; i < w->n; i++)
		if (same_copy(&w->copy[i], &m)) {
			w->copy[i].age = OPEN;
			return;
		}
	if (w->n == COPIES)
		g->lost = true;
	else
		w->copy[w->n++] = m;
}

static void
close_group(Way *w, bool out)
{
	for (int i = 0; i < w->n; i++)
		if (w->copy[i].out == out)
			w->copy[i].age += w->copy[i].age < AGE_MOST;
}

static void
wait_for(Way *w, int64_t pending, bool out)
{
	int n = 0;

	for (int i = 0; i < w->n; i++)
		if (w->copy[i].out != out || w->copy[i].age == OPEN || w->copy[i].age < pending)
			w->copy[n++] = w->copy[i];
	w->n = n;
}

/* ---- parts of tiles ------------------------------------------------------------------------------ */

/* The first dim as `of` has it, a tile or a shape of it with the same first dim. */
static Part
part_of_view(const Groups *g, const Way *w, const Op *view, const Val *of, Part p)
{
	const Type *t = &of->type, *is = &view->out[0]->type;
	bool slot = IMM(view, dropped) & 1;
	int64_t zero;

	p.lo = number(g, w, view->in[1], DEPTH);
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
part_of(const Groups *g, const Way *w, Val *v)
{
	Val *tile = view_root(v), *of = tile;
	Part p = { .tile = tile, .lo = UNKNOWN, .whole = true };
	const Op *step[DEPTH];
	int n = 0;

	for (Val *at = v; at != tile && n < DEPTH; at = at->def->in[0])
		step[n++] = at->def;
	for (; n > 0 && step[n - 1]->code == O_reshape; n--)
		of = step[n - 1]->out[0];
	if (n == 0) { /* all of it, in whatever shape */
		p.lo = 0;
		p.n = tile->type.rank ? tile->type.shape[0] : 1;
		p.all = true;
	} else if (step[n - 1]->code == O_view && of->type.rank && of->type.shape[0] == tile->type.shape[0]) {
		p = part_of_view(g, w, step[n - 1], of, p);
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

static bool
moves(const Op *o, CopyKind kind)
{
	return o->code == O_copy && IMM(o, async) == kind;
}

static void
touches(Groups *g, Way *w, const Op *o, Val *v, bool writes)
{
	Part p = part_of(g, w, v);

	const char *what = writes ? "it writes what a bulk copy still reads"
	                          : "it reads what a copy still brings";

	for (int i = 0; i < w->n; i++)
		if (w->copy[i].out == writes && part_meets(&w->copy[i].part, &p))
			violation(g, o, what);
}

static void
walk_op(Groups *g, Way *w, const Op *o)
{
	bool brings = moves(o, COPY_GROUP), takes = moves(o, COPY_OUT);

	if (o->code == O_commit)
		close_group(w, IMM(o, bulk));
	else if (o->code == O_wait)
		wait_for(w, IMM(o, pending), IMM(o, bulk));
	if (!op_is(o, F_MEM))
		return;
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared)
			touches(g, w, o, o->in[i], i == 1 && (o->code == O_copy || o->code == O_store));
	if (brings || takes) {
		Part p = part_of(g, w, o->in[brings]);

		if (p.whole && p.lo != UNKNOWN && p.tile->type.space == S_shared)
			start(g, w, p, takes);
	}
}

static void walk_block(Groups *g, Ways *ways, const Block *b);

/* The values that a block's yield hands on, all of them at once. */
static void
hand_on(const Groups *g, Way *w, const Block *b, Val *const *to, int n)
{
	Way was = *w;

	for (int i = 0; i < n; i++)
		if (g->slot[to[i]->id])
			remember(g, w, to[i], number(g, &was, b->last->in[i], DEPTH));
}

static void
forget(const Groups *g, Way *w, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		remember(g, w, v[i], UNKNOWN);
}

static void
walk_loop(Groups *g, Ways *ways, const Op *o)
{
	const Block *b = o->blk[0];
	Ways head = { 0 }, behind = { 0 };
	int64_t lo, hi;
	bool runs = val_is_const(o->in[0], &lo) && val_is_const(o->in[1], &hi) && lo < hi;

	for (int i = 0; i < ways->n; i++) {
		Way w = ways->a[i];

		for (int j = 0; j < o->nout; j++)
			remember(g, &w, b->arg[1 + j], number(g, &ways->a[i], o->in[3 + j], DEPTH));
		w.ended = !runs;
		ways_add(g, &head, &w);
	}
	for (int i = 0; i < head.n && g->ok && !g->lost; i++) {
		Ways turn = { 0 };

		ways_add(g, &turn, &head.a[i]);
		walk_block(g, &turn, b);
		for (int j = 0; j < turn.n; j++) {
			hand_on(g, &turn.a[j], b, b->arg + 1, o->nout);
			turn.a[j].ended = true;
			ways_add(g, &head, &turn.a[j]);
		}
	}
	for (int i = 0; i < head.n; i++) {
		Way w = head.a[i];

		if (!w.ended)
			continue;
		for (int j = 0; j < o->nout; j++)
			remember(g, &w, o->out[j], number(g, &w, b->arg[1 + j], DEPTH));
		forget(g, &w, b->arg + 1, o->nout);
		ways_add(g, &behind, &w);
	}
	*ways = behind;
}

static void
walk_if(Groups *g, Ways *ways, const Op *o)
{
	Ways behind = { 0 };

	for (int r = 0; r < 2; r++) {
		Ways side = { 0 };

		for (int i = 0; i < ways->n; i++) {
			int64_t is = number(g, &ways->a[i], o->in[0], DEPTH);

			if (is == UNKNOWN || (is == 0) == (r == 1))
				ways_add(g, &side, &ways->a[i]);
		}
		walk_block(g, &side, o->blk[r]);
		for (int i = 0; i < side.n; i++) {
			hand_on(g, &side.a[i], o->blk[r], o->out, o->nout);
			ways_add(g, &behind, &side.a[i]);
		}
	}
	*ways = behind;
}

/* Each role counts its own groups. */
static void
walk_roles(Groups *g, Ways *ways, const Op *o)
{
	Ways behind = { 0 };

	for (int r = 0; r < 2; r++) {
		Ways role = { 0 };

		for (int i = 0; i < ways->n; i++)
			ways_add(g, &role, &ways->a[i]);
		walk_block(g, &role, o->blk[r]);
		for (int i = 0; i < role.n; i++)
			ways_add(g, &behind, &role.a[i]);
	}
	*ways = behind;
}

static void
walk_block(Groups *g, Ways *ways, const Block *b)
{
	for (const Op *o = b->first; o && g->ok && !g->lost; o = o->next)
		if (o->code == O_for)
			walk_loop(g, ways, o);
		else if (o->code == O_if)
			walk_if(g, ways, o);
		else if (o->code == O_roles)
			walk_roles(g, ways, o);
		else if (op_is(o, F_MEM | F_SYNC))
			for (int i = 0; i < ways->n; i++)
				walk_op(g, &ways->a[i], o);
}

bool
pass_prove_groups(Kernel *k)
{
	Groups g = { .k = k, .ok = true };
	Way none = { .n = 0 };
	Ways ways = { 0 };
	bool any = false;
	OpWalk w;

	g.slot = NEWN(k->unit->arena, uint8_t, k->nval + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		any = any || moves(o, COPY_GROUP) || moves(o, COPY_OUT);
		if (o->code == O_view && o->out[0]->type.space == S_shared)
			ask_for(&g, o->in[1]);
	}
	if (!any)
		return false;
	for (int i = 0; i < NUMBERS; i++)
		none.number[i] = UNKNOWN;
	ways_add(&g, &ways, &none);
	walk_block(&g, &ways, k->body);
	for (int i = 0; i < ways.n && g.ok && !g.lost; i++)
		for (int j = 0; j < ways.a[i].n; j++)
			if (ways.a[i].copy[j].out)
				violation(&g, k->body->last,
				          "a bulk copy is under way where the kernel ends");
	return false;
}
