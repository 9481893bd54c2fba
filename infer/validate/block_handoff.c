/* block_handoff.c - validates that data handed from one block of the grid to another is published by atomic
 * updates with fences.
 *
 * LANGUAGE.md, "Atomic updates": if a block observes another block's update of an element, what that block
 * did before its update is visible after the observing block's own update. PTX ISA, "Memory Consistency
 * Model": atomics are relaxed and order nothing else without a fence (`ordered`). This file builds a graph
 * of the possible successors of ops. It finds the accesses that may precede an update of a tensor, and
 * those that may follow an update whose old value is used. The condition and address of a following access
 * are traced back to their definitions. */
#include "infer/validate/memory_order.h"
#include <string.h>

enum { NEXT_MOST = 4 };

/* The possible direct successors of each op. */
typedef struct HandoffGraph {
	Kernel *k;
	const Op **op, **at; /* all ops in program order, and by id */
	int n;
	int (*next)[NEXT_MOST]; /* [nop+1] by op id, ids of successors; 0: none */
	int *again;             /* [nop+1] .. from the end of an iteration or role to the start of another */
	uint8_t *front, *behind, *late; /* [nop+1] */
	uint8_t *first, *last;  /* .. before and after, without `again` */
} HandoffGraph;

static void
edge(HandoffGraph *g, const Op *from, const Op *to)
{
	for (int i = 0; from && to && i < NEXT_MOST; i++)
		if (!g->next[from->id][i]) {
			g->next[from->id][i] = (int)to->id;
			return;
		}
}

/* Adds edges from the end of a region to the op after its owner, and back to its start. Roles run
 * concurrently. */
static void
edges_of_yield(HandoffGraph *g, const Op *o)
{
	const Op *owner = o->parent->owner;

	if (!owner)
		return;
	edge(g, o, owner->next);
	if (owner->code == O_roles)
		g->again[o->id] = (int)owner->blk[o->parent == owner->blk[0]]->first->id;
	else if (owner->code == O_for &&
	         !(for_lo(owner)->def && for_lo(owner)->def->code == O_linear_block_id))
		g->again[o->id] = (int)owner->blk[0]->first->id;
}

static HandoffGraph
make_graph(Kernel *k)
{
	Arena *a = k->unit->arena;
	HandoffGraph g = { .k = k, .op = NEWN(a, const Op *, k->nop + 1), .at = NEWN(a, const Op *,
		k->nop + 1) };
	OpWalk w;

	g.next = arena_alloc(a, sizeof *g.next * (k->nop + 1));
	g.again = NEWN(a, int, k->nop + 1);
	g.first = NEWN(a, uint8_t, k->nop + 1);
	g.last = NEWN(a, uint8_t, k->nop + 1);
	g.front = NEWN(a, uint8_t, k->nop + 1);
	g.behind = NEWN(a, uint8_t, k->nop + 1);
	g.late = NEWN(a, uint8_t, k->nop + 1);
	for (const Op *o = walk_first(&w, k->body); o; o = walk_next(&w)) {
		g.op[g.n++] = g.at[o->id] = o;
		if (o->code == O_yield) {
			edges_of_yield(&g, o);
			continue;
		}
		if (o->code != O_if && o->code != O_roles)
			edge(&g, o, o->next);
		for (int r = 0; r < 2 && o->blk[r]; r++)
			edge(&g, o, o->blk[r]->first);
	}
	return g;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Is o an update of one element of that tensor? */
static bool
updates_one(const Op *o, const Val *tensor)
{
	if (o->code != O_store || IMM(o, update) == STORE_PLAIN)
		return false;
	if (store_value(o)->type.space != S_scalar && type_size(&store_value(o)->type) != 1)
		return false;
	return view_root(store_dest(o))->type.space == S_global && view_root(store_dest(o)) == tensor;
}

static bool
is_asked(const Op *o)
{
	return o->nin > 2;
}

/* Returns successor i of o; 0 if there is none. */
static int
follows(const HandoffGraph *g, const Op *o, int i, bool again)
{
	return i < NEXT_MOST ? g->next[o->id][i] : again ? g->again[o->id] : 0;
}

/* Propagates marks to successors. */
static void
forwards(const HandoffGraph *g, uint8_t *mark, bool again)
{
	for (bool grew = true; grew;) {
		grew = false;
		for (int i = 0; i < g->n; i++)
			for (int j = 0; j <= NEXT_MOST && mark[g->op[i]->id]; j++) {
				int to = follows(g, g->op[i], j, again);

				grew = grew || (to && !mark[to]);
				mark[to] = true;
			}
	}
}

/* Marks the ops reachable from an update of the tensor whose old value is used. */
static void
mark_behind(const HandoffGraph *g, const Val *tensor, uint8_t *mark, bool again)
{
	memset(mark, 0, g->k->nop + 1);
	for (int i = 0; i < g->n; i++)
		for (int j = 0; j <= NEXT_MOST && updates_one(g->op[i], tensor) && is_asked(g->op[i]); j++)
			mark[follows(g, g->op[i], j, again)] = true;
	forwards(g, mark, again);
}

/* Marks the ops from which an update of the tensor is reachable. */
static void
mark_front(const HandoffGraph *g, const Val *tensor, uint8_t *mark, bool again)
{
	memset(mark, 0, g->k->nop + 1);
	for (bool grew = true; grew;) {
		grew = false;
		for (int i = g->n - 1; i >= 0; i--)
			for (int j = 0; j <= NEXT_MOST && !mark[g->op[i]->id]; j++) {
				int to = follows(g, g->op[i], j, again);

				if (to && (mark[to] || updates_one(g->at[to], tensor)))
					mark[g->op[i]->id] = grew = true;
			}
	}
}

/* ---- origins of values ----------------------------------------------------------------------- */

/* A search from a value back to old values of the tensor's updates. */
typedef struct Search {
	const HandoffGraph *g;
	const Val *tensor;
	uint8_t *seen; /* [nval+1] */
} Search;

static bool is_from(Search *s, const Val *v);

static bool
any_from(Search *s, Val *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if (is_from(s, v[i]))
			return true;
	return false;
}

/* A shared tile's contents originate in what was stored to it. */
static bool
memory_from(Search *s, const Val *tile)
{
	if (s->seen[tile->id])
		return false;
	s->seen[tile->id] = true;
	for (int i = 0; i < s->g->n; i++) {
		const Op *o = s->g->op[i];

		if (o->code != O_store && o->code != O_copy)
			continue;
		if (o->nin > 2 && o->code == O_store && view_root(store_old(o)) == tile &&
		    updates_one(o, s->tensor))
			return true;
		if (view_root(write_dest(o)) == tile && any_from(s, o->in, o->nin))
			return true;
	}
	return false;
}

/* Does the trip count of a loop, or the condition of a branch, depend on it? */
static bool
decider_from(Search *s, const Op *o)
{
	if (o->code == O_for && loop_ends_early(o) &&
	    (is_from(s, for_init(o, 0)) || is_from(s, yield_value(o->blk[0]->last, 0))))
		return true;
	return any_from(s, o->in, o->code == O_for ? IN_for_init : o->code == O_if ? 1 : 0);
}

static bool
is_from(Search *s, const Val *v)
{
	const Op *o = v->def ? v->def : v->block->owner;
	int i = v->def ? v->index : v->index - 1;

	if (v->type.space == S_shared && (!v->def || v->def->code == O_alloc))
		return memory_from(s, v);
	if (s->seen[v->id] || !o)
		return false;
	s->seen[v->id] = true;
	if (o->code == O_for || o->code == O_if) {
		if (decider_from(s, o))
			return true;
		if (i < 0)
			return false;
		if (o->code == O_for && is_from(s, for_init(o, i)))
			return true;
		for (int r = 0; r < 2 && o->blk[r]; r++)
			if (is_from(s, o->blk[r]->last->in[i]))
				return true;
		return false;
	}
	return any_from(s, o->in, o->nin);
}

static Search
new_search(const HandoffGraph *g, const Val *tensor)
{
	return (Search){ g, tensor, NEWN(g->k->unit->arena, uint8_t, g->k->nval + 1) };
}

static bool
is_decided(const HandoffGraph *g, const Val *tensor, const Op *o)
{
	Search s = new_search(g, tensor);

	return decider_from(&s, o);
}

static bool
place_from(const HandoffGraph *g, const Val *tensor, const Val *view)
{
	Search s = new_search(g, tensor);

	for (const Val *v = view; v->def && v->def->code == O_view; v = view_source(v->def))
		if (any_from(&s, v->def->in + IN_view_start, v->def->nin - IN_view_start))
			return true;
	return false;
}

/* Marks the ops after loops that depend on old values of the updates. */
static void
mark_late(HandoffGraph *g, const Val *tensor)
{
	memset(g->late, 0, g->k->nop + 1);
	for (int i = 0; i < g->n; i++)
		if (g->op[i]->code == O_for && g->op[i]->next && is_decided(g, tensor, g->op[i]))
			g->late[g->op[i]->next->id] = true;
	forwards(g, g->late, true);
}

static bool
is_told(const HandoffGraph *g, const Val *tensor, const Op *o, const Val *view)
{
	if (g->late[o->id] || place_from(g, tensor, view))
		return true;
	for (const Block *b = o->parent; b->owner; b = b->owner->parent)
		if (is_decided(g, tensor, b->owner))
			return true;
	return false;
}

/* ---- accesses to handed-over data ------------------------------------------------------------ */

/* How an op accesses a tensor that the kernel writes. */
typedef enum Deed { READS, WRITES, UPDATES } Deed;

typedef struct HandoffAccess {
	const Op *op;
	Val *view;
	Deed deed;
} HandoffAccess;

static int
accesses(Kernel *k, const Op *o, HandoffAccess *a)
{
	int n = 0;

	if (o->code == O_load || o->code == O_copy)
		a[n++] = (HandoffAccess){ o, o->code == O_load ? load_source(o) : copy_source(o), READS };
	if (o->code == O_copy || o->code == O_store)
		a[n++] = (HandoffAccess){ o, write_dest(o),
			                  o->code == O_store && IMM(o, update) != STORE_PLAIN
			                          ? UPDATES
			                          : WRITES };
	for (int i = n - 1; i >= 0; i--) {
		const Param *p = val_param(k, view_root(a[i].view));

		if (!p || !p->written)
			a[i] = a[--n];
	}
	return n;
}

/* Are both updates of one element, with the same constant indices? */
static bool
one_element(const HandoffAccess *a, const HandoffAccess *b, const Val *tensor)
{
	const Op *x = a->view->def, *y = b->view->def;
	int64_t c, d;

	if (!updates_one(a->op, tensor) || !updates_one(b->op, tensor) || !x || !y ||
	    view_source(x) != tensor || view_source(y) != tensor)
		return false;
	for (int i = IN_view_start; i < x->nin; i++)
		if (!val_is_const(x->in[i], &c) || !val_is_const(y->in[i], &d) || c != d)
			return false;
	return true;
}

/* a precedes an update of the tensor, b follows one: could another block observe them in the other order? */
static bool
is_seen(const HandoffGraph *g, const Val *tensor, const HandoffAccess *a, const HandoffAccess *b)
{
	bool other;

	if (view_root(a->view) != view_root(b->view) || (a->deed == READS && b->deed == READS))
		return false;
	if (a->deed == READS || b->deed == READS || a->deed != b->deed)
		return true;
	if (a->deed == WRITES) /* locations derived from counters are private to a block */
		return a->op != b->op && !place_from(g, tensor, a->view) && !place_from(g, tensor, b->view);
	other = is_asked(a->op) || is_asked(b->op) || IMM(a->op, update) != IMM(b->op, update);
	if (!other || one_element(a, b, tensor))
		return false;
	return (g->first[a->op->id] && g->last[b->op->id]) || is_told(g, tensor, b->op, b->view);
}

static bool
is_handed(HandoffGraph *g, const Val *tensor)
{
	HandoffAccess a[2], b[2];

	mark_front(g, tensor, g->front, true);
	mark_front(g, tensor, g->first, false);
	mark_behind(g, tensor, g->behind, true);
	mark_behind(g, tensor, g->last, false);
	mark_late(g, tensor);
	for (int i = 0; i < g->n; i++) {
		int n = g->front[g->op[i]->id] ? accesses(g->k, g->op[i], a) : 0;

		for (int j = 0; j < g->n && n; j++) {
			int m = g->behind[g->op[j]->id] ? accesses(g->k, g->op[j], b) : 0;

			for (int x = 0; x < n * m; x++)
				if (is_seen(g, tensor, &a[x / m], &b[x % m]))
					return true;
		}
	}
	return false;
}

void
order_signals(Order *w)
{
	HandoffGraph g = { .k = w->k };
	int64_t blocks = 1, n;

	for (int d = 0; d < 3 && blocks == 1; d++)
		blocks = val_is_const(w->k->grid->last->in[d], &n) ? n : 0;
	if (blocks == 1)
		return; /* there is only one block */
	for (int p = 0; p < w->k->nparam && w->ok; p++) {
		const Val *tensor = w->k->param[p].val;
		bool asked = false, loose = false;
		const Op *at = NULL;
		OpWalk walk;

		for (const Op *o = walk_first(&walk, w->k->body); o; o = walk_next(&walk))
			if (updates_one(o, tensor)) {
				asked = asked || is_asked(o);
				at = !loose && !order_is_signal(o) ? o : at;
				loose = loose || !order_is_signal(o);
			}
		if (!asked || !loose)
			continue;
		if (!g.n)
			g = make_graph(w->k);
		if (is_handed(&g, tensor))
			prove_violation(w->k, &w->ok, at, "blocks pass memory to each other through it, "
			                                  "and it has no fence");
	}
}
