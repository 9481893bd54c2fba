/* hazard_disjoint.c - shows for pass insert_barriers that two accesses are disjoint: different parts of a
 * tile, or each element accessed by one thread only. */
#include "hexc/ir/memory_effects.h"
#include "hexc/analysis/value_range.h"
#include "hexc/pass/insert_barriers/insert_barriers.h"

enum { SAME_DEPTH = 12 };

/* ---- where a part of a tile starts ----------------------------------------------------------- */

/* Returns c with v = *base + c; *base is NULL if v is a constant. */
static int64_t
peel(const Val *v, const Val **base)
{
	int64_t sum = 0, c, next;

	for (;;) {
		const Op *o = v->def;
		bool sub = o && o->code == O_sub;

		*base = v;
		if (val_is_const(v, &c)) {
			*base = NULL;
			return i64_eval(O_add, sum, c, &next) ? next : sum;
		}
		if (!o || (o->code != O_add && !sub))
			return sum;
		if (val_is_const(elt_rhs(o), &c))
			v = elt_lhs(o);
		else if (!sub && val_is_const(elt_lhs(o), &c))
			v = elt_rhs(o);
		else
			return sum;
		i64_eval(sub ? O_sub : O_add, sum, c, &sum);
	}
}

/* Lower bound of v's increment per iteration. Returns 0 if v is invariant or the increment is unknown. */
static int64_t
min_iteration_distance(BarrierInsertion *s, const Val *v, const Op *loop)
{
	const Op *o = v->def;
	int64_t step, c;

	if (!o)
		return v->block->owner == loop && v->index == 0 ? val_fact(s->k, for_step(loop)).lo : 0;
	if (o->code == O_mul && (val_is_const(elt_rhs(o), &c) || val_is_const(elt_lhs(o), &c))) {
		step = min_iteration_distance(s,
		                              val_is_const(elt_rhs(o), &c) ? elt_lhs(o) : elt_rhs(o), loop);
		return c > 0 && step > 0 && step <= INT64_MAX / c ? step * c : 0;
	}
	if (o->code == O_add && !block_inside(elt_lhs(o)->block, loop->blk[0]))
		return min_iteration_distance(s, elt_rhs(o), loop);
	if (o->code == O_add && !block_inside(elt_rhs(o)->block, loop->blk[0]))
		return min_iteration_distance(s, elt_lhs(o), loop);
	return 0;
}

static bool
has_barrier(const Block *b)
{
	const Op *o = b->first;

	while (o && !op_is_barrier(o))
		o = o->next;
	return o != NULL;
}

/* Returns the carried value that holds x in the next iteration, if the loop body has a barrier that separates
 * iterations; else NULL. */
static const Val *
handed_on(const Val *x, const Op *loop)
{
	const Block *b = loop->blk[0];

	for (int i = 0; has_barrier(b) && i < b->last->nin; i++)
		if (b->last->in[i] == x)
			return b->arg[1 + i];
	return NULL;
}

/* The body of the innermost loop around o, across ifs; NULL: no loop. */
static const Block *
turn_of(const Op *o)
{
	const Block *b = o->parent;

	while (b->owner && b->owner->code == O_if)
		b = b->owner->parent;
	return b->owner && b->owner->code == O_for ? b : NULL;
}

static bool
same_number(const Val *x, const Val *y)
{
	int64_t c, d;

	return x == y || (val_is_const(x, &c) && val_is_const(y, &d) && c == d);
}

/* Does the initial value `first` equal x? Either the same number, or the result of a preceding loop whose
 * iterations a barrier separates: x is the value of its last iteration, or of before it if the trip count is
 * 0. Looks for x first: most often it is not there, and bodies are long. */
static bool
is_handed(const Val *x, const Val *first)
{
	const Val *v = first, *last = NULL;

	while (!same_number(x, v) && x != last) {
		const Op *loop = v->def;

		if (!loop || loop->code != O_for)
			return false;
		arena_work(loop->parent->kernel->unit->arena, 1);
		last = loop->blk[0]->last->in[v->index];
		v = for_init(loop, v->index);
	}
	for (; first != v; first = for_init(first->def, first->index))
		if (!has_barrier(first->def->blk[0]))
			return false;
	return true;
}

/* x is defined before a loop around `o`. Returns the carried value that equals x in the first iteration, if a
 * barrier separates iterations; else NULL. */
static const Val *
entered(const Val *x, const Op *o)
{
	const Block *b = turn_of(o);

	if (!b || block_inside(x->block, b) || !has_barrier(b))
		return NULL;
	for (int i = 0; i < b->last->nin; i++)
		if (is_handed(x, for_init(b->owner, i)))
			return b->arg[1 + i];
	return NULL;
}

/* Is y, computed from x, always different from x: y = c - x with odd c, or the next or previous index of a
 * circular buffer? */
static bool
never_equal(const Val *x, const Val *y)
{
	const Op *o = y->def, *eq;
	const Val *base;
	int64_t c, d;

	if (!o)
		return false;
	if (o->code == O_sub && elt_rhs(o) == x && val_is_const(elt_lhs(o), &c))
		return c % 2 != 0;
	if (o->code != O_select || !val_is_const(select_yes(o), &d) ||
	    peel(select_no(o), &base) == 0 || base != x)
		return false;
	eq = select_cond(o)->def;
	return eq && eq->code == O_eq && elt_lhs(eq) == x && val_is_const(elt_rhs(eq), &c) && c != d;
}

/* For a loop split by split_loops: is y in the remainder's body the same expression as x in the main loop's
 * body? */
static bool
same_of_rest(const Val *x, const Val *y, const Block *clear, const Block *rest, int depth)
{
	const Op *a = x->def, *b = y->def;

	if (x == clear->arg[0] || y == rest->arg[0])
		return x == clear->arg[0] && y == rest->arg[0];
	if (!block_inside(x->block, clear))
		return val_same(x, y, depth);
	if (!a || !b || a->code != b->code || !op_is(a, F_ELT) || a->nin != b->nin || depth == 0 ||
	    !type_same(&x->type, &y->type))
		return false;
	for (int i = 0; i < a->nin; i++)
		if (!same_of_rest(a->in[i], b->in[i], clear, rest, depth - 1))
			return false;
	return true;
}

/* `then` is in a split loop and `now` in the loop that continues it. Returns the latter if x and y are the
 * same expression in both; else NULL. */
static const Op *
counted_on(const HazardAccess *then, const HazardAccess *now, const Val *x, const Val *y)
{
	const Block *clear = turn_of(then->op), *rest = turn_of(now->op);

	if (!x || !y || !clear || !rest || clear->owner->next != rest->owner ||
	    !split_goes_on(clear->owner, rest->owner) || !same_of_rest(x, y, clear, rest, SAME_DEPTH))
		return NULL;
	return rest->owner;
}

typedef enum Overlap { APART, SAME, UNKNOWN } Overlap;

/* Compares `extent` elements from x on with an access from y on, at least one iteration later; both advance
 * by `step` per iteration. */
static Overlap
further(int64_t step, int64_t extent, int64_t x, int64_t y)
{
	if (x > INT32_MAX || x < INT32_MIN || y > INT32_MAX || y < INT32_MIN)
		return UNKNOWN;
	return step > 0 && step >= extent + x - y ? APART : UNKNOWN;
}

/* Compares dim d of the views of two accesses. */
static Overlap
compare(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now, int d)
{
	const Op *a = then->view->def, *b = now->view->def, *loop = then->wrap;
	int ra = view_result_dim(a, d), rb = view_result_dim(b, d);
	int64_t sa = view_step(a, d), ea = ra < 0 ? 1 : (then->view->type.shape[ra] - 1) * sa + 1;
	int64_t sb = view_step(b, d), eb = rb < 0 ? 1 : (now->view->type.shape[rb] - 1) * sb + 1;
	const Val *base[2], *old = view_start(a, d);
	int64_t x = peel(view_start(a, d), &base[0]), y = peel(view_start(b, d), &base[1]);
	const Op *more;

	if (then->root->type.space == S_shared && (view_gathers(a, d) || view_gathers(b, d)))
		return UNKNOWN;
	if (loop && block_inside(old->block, loop->blk[0])) /* else it is loop-invariant */
		old = handed_on(old, loop);
	if (!loop && (!old || !old->def || !block_inside(old->block, now->op->parent))) {
		const Val *at = entered(view_start(a, d), now->op);

		old = at ? at : old;
	}
	if (old && ea == 1 && eb == 1 &&
	    (never_equal(old, view_start(b, d)) || never_equal(view_start(b, d), old)))
		return APART;
	more = counted_on(then, now, base[0], base[1]);
	if (more)
		return further(min_iteration_distance(s, base[1], more), ea, x, y);
	if ((base[0] == NULL) != (base[1] == NULL) ||
	    (base[0] && !val_same(base[0], base[1], SAME_DEPTH)))
		return UNKNOWN;
	if (loop && base[0] && block_inside(base[0]->block, loop->blk[0]))
		return further(min_iteration_distance(s, base[0], loop), ea, x, y);
	if (x <= y ? y - x >= ea : x - y >= eb)
		return APART;
	if (sa == sb && (x - y) % sa != 0) /* the strided accesses interleave */
		return APART;
	return x == y && ea == eb && sa == sb ? SAME : UNKNOWN;
}

/* ---- element by element ------------------------------------------------------------------------ */

enum { ELEMENTS_MAX = 1 << 16, ELEMENT_WORK = 8 };

/* Start of an access along dim d of the tile: returns the constant part, *base is the rest. */
static int64_t
access_offset(const HazardAccess *x, int d, const Val **base)
{
	const Op *o = x->view->def;

	*base = NULL;
	return o->code == O_alloc ? 0 : peel(view_start(o, d), base);
}

/* The view dim of the tile's dim d; -1: a single element of it. */
static int
dim_in(const HazardAccess *x, int d)
{
	return x->view->def->code == O_alloc ? d : view_result_dim(x->view->def, d);
}

/* Returns the thread that owns the tile element at offset c[] from the view's start; -1: not in the view. */
static int64_t
thread_of(const HazardAccess *x, const Layout *l, const int64_t *c, int rank)
{
	int64_t at[DIM_MAX] = { 0 };
	Coord p;

	for (int d = 0; d < rank; d++) {
		int r = dim_in(x, d);

		if (c[d] < 0 || c[d] >= (r < 0 ? 1 : x->view->type.shape[r]))
			return -1;
		if (r >= 0)
			at[r] = c[d];
	}
	p = layout_at(l, at);
	return p.at[AX_warp] * WARP_SIZE + p.at[AX_lane];
}

/* Do layouts x and y assign every element of both accesses to the same single thread? The view of `now`
 * starts `shift` elements before the other's. */
static bool
same_threads(BarrierInsertion *s, const HazardAccess *then, const Layout *x, const HazardAccess *now,
	     const Layout *y,
             const int64_t *shift)
{
	int64_t n = type_size(&then->view->type);
	int rank = then->root->type.rank;
	bool alike = layout_identical(x, y) && type_same(&then->view->type, &now->view->type);

	for (int d = 0; d < rank; d++)
		alike &= shift[d] == 0 && dim_in(then, d) == dim_in(now, d);
	if (alike)
		return true;
	for (int64_t i = 0; i < n; i++) {
		int64_t c[DIM_MAX] = { 0 }, left = i, mine, other;

		for (int d = rank - 1; d >= 0; d--) {
			int r = dim_in(then, d);
			int64_t extent = r < 0 ? 1 : then->view->type.shape[r];

			c[d] = left % extent;
			left /= extent;
		}
		mine = thread_of(then, x, c, rank);
		for (int d = 0; d < rank; d++)
			c[d] += shift[d];
		other = thread_of(now, y, c, rank);
		arena_work(s->k->unit->arena, ELEMENT_WORK);
		if (other >= 0 && other != mine)
			return false;
	}
	return true;
}

/* Memoized result of same_threads() for a pair, which is queried once for each loop around it. */
struct Threads {
	const Op *then, *now;
	const Val *then_view, *now_view;
	bool same;
	Threads *next; /* in its bucket */
};

static bool
known_threads(BarrierInsertion *s, const HazardAccess *then, const Layout *x, const HazardAccess *now,
	      const Layout *y,
              const int64_t *shift)
{
	enum { BUCKETS = 4096 };
	Arena *a = s->k->unit->arena;
	Threads **at, *t;

	if (!s->threads)
		s->threads = NEWN(a, Threads *, BUCKETS);
	at = &s->threads[((uintptr_t)then->op / sizeof(Op) * 61 + (uintptr_t)now->op / sizeof(Op)) % BUCKETS];
	for (t = *at; t; t = t->next)
		if (t->then == then->op && t->now == now->op && t->then_view == then->view &&
		    t->now_view == now->view)
			return t->same;
	t = NEW(a, Threads);
	*t = (Threads){ then->op,  now->op, then->view, now->view, false, *at };
	t->same = same_threads(s, then, x, now, y, shift);
	*at = t;
	return t->same;
}

/* Is every common element of both accesses owned by one thread, the same for both? */
static bool
own_elements(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now)
{
	const Layout *x = access_owners(then->op), *y = access_owners(now->op);
	int64_t shift[DIM_MAX] = { 0 }, n = type_size(&then->view->type);
	int rank = then->root->type.rank;

	if (!x || !y || n > ELEMENTS_MAX || dtype_info[then->view->type.dtype].bits < 8)
		return false;
	for (int d = 0; d < rank; d++) {
		const Val *base[2];

		shift[d] = access_offset(then, d, &base[0]) - access_offset(now, d, &base[1]);
		if (base[0] != base[1] && !(base[0] && base[1] && val_same(base[0], base[1], SAME_DEPTH)))
			return false;
		if (then->wrap && base[0] && block_inside(base[0]->block, then->wrap->blk[0]))
			return false;
	}
	return known_threads(s, then, x, now, y, shift);
}

bool
access_apart(BarrierInsertion *s, const HazardAccess *then, const HazardAccess *now)
{
	const Op *a = then->view->def, *b = now->view->def;
	bool same = true;

	if (!a || !b || then->async || access_takes_words(then->op) || access_takes_words(now->op))
		return false;
	if (then->root == now->root && then->root->type.space == S_shared &&
	    (a->code == O_alloc || (a->code == O_view && view_source(a) == then->root)) &&
	    (b->code == O_alloc || (b->code == O_view && view_source(b) == then->root)) &&
	    own_elements(s, then, now))
		return true;
	if (a == b && a->code == O_alloc)
		return access_same_threads(then->op, now->op);
	if (a->code != O_view || b->code != O_view || view_source(a) != then->root ||
	    view_source(b) != then->root)
		return false;
	for (int d = 0; d < then->root->type.rank; d++) {
		Overlap m = compare(s, then, now, d);

		if (m == APART)
			return true;
		same &= m == SAME;
	}
	return same && IMM(a, dropped) == IMM(b, dropped) && access_same_threads(then->op, now->op);
}
