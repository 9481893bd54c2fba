/* memory_order.c - pass_validate_barriers: validates that barriers, waits and proxy fences order the
 * conflicting memory accesses of a block's threads.
 *
 * requires   the kernel as it is emitted
 * preserves  everything; reports a violation as an internal error at the op
 *
 * PTX ISA, "Memory Consistency Model": two accesses of different threads to one byte, at least one of them
 * a write, are ordered by a barrier between them that both threads pass. Asynchronous copies also need a
 * wait for their group before that barrier, and what lanes wrote is visible to the async proxy after a
 * proxy fence. From each access, all paths are followed until something orders it: into branches, out of
 * loops, whether or not these have had an iteration, and around them. On the path, the scalars that
 * addresses in its tile or tensor depend on are tracked as linear forms of their values at the start. Stage
 * indices are numbers, with all their possible values there (paths.c). An access that may overlap the first
 * one is a violation.
 *
 * It is independent of pass insert_barriers: it keeps no set of accesses, and does not test whether
 * inserting a barrier would help. Copies with an mbarrier are left to pass_validate_warp_roles. What is not
 * validated is reported by warning `unjudged`: stages with unknown indices and unknown distance; tiles that
 * bulk copies store to a tensor at an unknown distance; a tile accessed under two shapes, neither of which
 * covers all of it or full stages; for a tile of both roles, overlaps after an arrival and a later await of
 * one role; kernels with too many paths.
 *
 * This file starts the walks. memory_order_paths.c follows the paths, memory_order_iteration.c loops on
 * them. memory_order_state.c has the state of a path, memory_order_linear.c its numbers.
 * memory_order_overlap.c compares addresses and threads; block_handoff.c validates what blocks hand to each
 * other. */
#include "infer/validate/linear_form.h"
#include "hexc/analysis/analysis.h"
#include "infer/validate/memory_order.h"
#include <string.h>

enum { STEPS = 1 << 22, MARK_DEPTH = 40 };

/* ---- kernels --------------------------------------------------------------------------------- */

/* Follows all paths from the access on, out of all regions around it. */
static void
follow(Order *w)
{
	const Op *o = w->from.op, *owner;
	States now = order_no_states(w);
	OrderState s = { .age = OPEN, .done = !w->from.group };

	if (w->steps <= 0 || order_is_full(w)) {
		order_unjudged(w, GAP_ways);
		return;
	}
	w->steps = STEPS;
	order_push(w, &now, &s);
	order_begin(w);
	for (; now.n && w->ok && w->steps > 0; o = owner) {
		States behind = order_no_states(w);

		order_walk(w, &now, w->next[o->id]);
		owner = o->parent->owner;
		if (!owner || owner->code == O_roles)
			break;
		if (owner->code == O_for) {
			States heads = order_no_states(w);

			if (order_is_of_blocks(owner) && order_is_tensor(&w->from))
				break;
			for (int i = 0; i < now.n; i++) {
				order_next_turn(w, &now.a[i], owner);
				order_part_ways(w, &now.a[i], owner, false, &heads, &behind);
			}
			order_walk_turns(w, &heads, owner, &behind);
			order_drop(w, &heads);
			order_drop(w, &now);
			now = behind;
		} else {
			for (int i = 0; i < now.n; i++)
				order_hand_over(w, &now.a[i], owner->out, o->parent->last->in, owner->nout);
		}
	}
}

/* Records the roles that have views of a tile. */
static void
mark_roles(Order *w, const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared)
			w->roles[view_root(o->in[i])->id] |= (uint8_t)(1 << op_role(o));
}

/* The starts of the walk: one for each set of possible stage indices. */
typedef struct Begins {
	Way *way;
	int n, cap;
} Begins;

typedef struct Starts {
	PathWalk f; /* first: the path walk passes a pointer to it */
	Begins *at; /* [nop+1] */
	uint8_t **wanted; /* [nval+1] by root: Order.wanted of walks from it; of id 0: none are wanted */
} Starts;

static void
keep_way(Kernel *k, Begins *to, const Way *way)
{
	for (int i = 0; i < to->n; i++)
		if (!memcmp(to->way[i].number, way->number, sizeof way->number))
			return;
	VEC_PUSH(k->unit->arena, to->way, to->n, to->cap, *way);
}

static void
keep_numbers(PathWalk *f, Way *way, const Op *o)
{
	keep_way(f->k, &((Starts *)(void *)f)->at[o->id], way);
}

/* Marks the scalars that v depends on, also in other iterations and branches. */
static void
want(Order *w, const Val *v, int depth)
{
	const Op *o = v->def ? v->def : v->block->owner;
	int i = v->def ? v->index : v->index - 1;

	if (w->wanted[v->id] || v->type.space != S_scalar || depth == 0)
		return;
	w->wanted[v->id] = true;
	if (!o)
		return;
	if (o->code == O_for && i >= 0) {
		want(w, for_init(o, i), depth - 1);
		want(w, o->blk[0]->arg[1 + i], depth - 1);
	}
	for (int r = 0; (o->code == O_for || o->code == O_if) && i >= 0 && r < 2 && o->blk[r]; r++)
		want(w, o->blk[r]->last->in[i], depth - 1);
	for (int j = 0; v->def && op_is(o, F_PURE) && j < o->nin; j++)
		want(w, o->in[j], depth - 1);
}

/* Marks, for walks from accesses to the root, the scalars that a view of it starts at. */
static void
want_view(Order *w, Starts *n, const Op *view, const Val *root)
{
	if (!n->wanted[root->id])
		n->wanted[root->id] = NEWN(w->k->unit->arena, uint8_t, w->k->nval + 1);
	w->wanted = n->wanted[root->id];
	for (int d = IN_view_start; d < view->nin; d++) {
		want(w, view->in[d], MARK_DEPTH);
		if (root->type.space == S_shared)
			ways_ask(&n->f, view->in[d]);
	}
}

static void
prepare(Order *w, Starts *n)
{
	Kernel *k = w->k;
	Arena *a = k->unit->arena;
	OrderTouch t[TOUCHES];
	OpWalk walk;

	w->prove = (Prove){ .k = k, .arena = a, .ok = true, .nval = k->nval };
	w->prove.held = NEWN(a, const Ownership *, k->nval + 1);
	w->next = NEWN(a, const Op *, k->nop + 1);
	w->known = arena_alloc(a, sizeof *w->known * (k->nop + 1));
	w->owner[0] = NEWN(a, int16_t *, k->nop + 1);
	w->owner[1] = NEWN(a, int16_t *, k->nop + 1);
	w->bytes = NEWN(a, int64_t, k->nval + 1);
	w->met = NEWN(a, uint32_t, k->nval + 1);
	w->roles = NEWN(a, uint8_t, k->nval + 1);
	n->f = (PathWalk){ .k = k, .ok = true, .op = keep_numbers };
	n->f.slot = NEWN(a, uint8_t, k->nval + 1);
	n->f.asked = NEWN(a, bool, k->nval + 1);
	n->at = NEWN(a, Begins, k->nop + 1);
	n->wanted = NEWN(a, uint8_t *, k->nval + 1);
	n->wanted[0] = NEWN(a, uint8_t, k->nval + 1);
	for (const Op *o = walk_first(&walk, k->body); o; o = walk_next(&walk)) {
		int touches = order_touches(w, o, t);

		mark_roles(w, o);
		w->engines = w->engines || o->code == O_wgmma ||
		             (o->code == O_copy && IMM(o, async) == COPY_OUT);
		for (int i = 0; i < touches; i++)
			for (int j = -1; t[i].view && j < t[i].ninner; j++)
				want_view(w, n, j < 0 ? t[i].view : t[i].inner[j], t[i].root);
		for (const Op *x = o->prev; x && !w->next[x->id] && order_matters(w, o); x = x->prev)
			w->next[x->id] = o;
	}
	ways_follow(&n->f);
	w->follow = n->f;
	w->blind = n->f.lost;
}

/* Returns the starts at o that differ in the wanted scalars. Others are unknown: their values, which a walk
 * does not track, would multiply the walks. */
static Begins
starts_at(const Order *w, const Starts *n, const Op *o)
{
	const Begins *all = &n->at[o->id];
	bool kept[NUMBERS] = { false };
	Begins few = { .n = 0 };

	for (uint32_t v = 1; v <= w->k->nval && all->n; v++)
		if (n->f.slot[v] && w->wanted[v])
			kept[n->f.slot[v] - 1] = true;
	for (int i = 0; i < all->n && !n->f.lost; i++) {
		Way way = all->way[i];

		for (int j = 0; j < NUMBERS; j++)
			way.number[j] = kept[j] ? way.number[j] : UNKNOWN;
		keep_way(w->k, &few, &way);
	}
	return few;
}

static void
begin_all(Order *w, const Starts *n, const Op *o)
{
	OrderTouch t[TOUCHES];
	int touches = order_touches(w, o, t);

	for (int i = 0; i < touches; i++) {
		const Val *root = t[i].root;
		Begins b;

		w->wanted = root && n->wanted[root->id] ? n->wanted[root->id] : n->wanted[0];
		b = starts_at(w, n, o);
		w->from = t[i];
		if (!t[i].root) /* the last reads are unordered: a barrier follows the writes */
			w->from.write = false;
		for (int j = 0; j == 0 || j < b.n; j++) {
			w->way = j < b.n ? &b.way[j] : NULL;
			follow(w);
		}
	}
}

static void
say_unjudged(const Order *w)
{
	static const char *const why[] = {
		[GAP_ring] = "the pipeline stages that it and other accesses use are not known",
		[GAP_bulk] = "its distance from other bulk copies of that tensor is not known",
		[GAP_shapes] = "its tile is viewed under two shapes, neither of which covers it",
		[GAP_roles] = "it is passed to another role and back",
		[GAP_ways] = "the kernel has too many paths after it",
	};

	if (w->ok && w->gap)
		diag_warn(w->k->unit->diag, DW_unjudged, w->gap_at->src,
		          "could not check whether all conflicting accesses are ordered: %s", why[w->gap]);
}

bool
pass_validate_barriers(Kernel *k)
{
	Starts *n = NEW(k->unit->arena, Starts);
	Order w = { .k = k, .ok = true, .steps = STEPS, .held = k->unit->arena->held };
	OpWalk walk;

	facts_keep(k);
	prepare(&w, n);
	for (const Op *o = walk_first(&walk, k->body); o && w.ok; o = walk_next(&walk)) {
		w.steps = STEPS;
		begin_all(&w, n, o);
	}
	if (w.ok)
		order_signals(&w);
	facts_drop(k);
	say_unjudged(&w);
	return false;
}
