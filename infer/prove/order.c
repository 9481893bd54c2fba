/* order.c - pass_prove_sync: checker of what orders the accesses of a block's threads to memory.
 *
 * needs   the kernel as it is emitted keeps   everything; a violation is an internal error at the op
 *
 * PTX ISA, "Memory Consistency Model": two accesses of different threads to one byte, one of which
 * writes, are ordered by a barrier that both threads pass in between; asynchronous copies also by
 * the wait for their group in front of that barrier, and what lanes wrote is seen by the
 * asynchronous proxy behind a proxy fence.  From each access on, all ways are followed on which
 * nothing has ordered it yet: into branches, out of loops, whether or not these have had a turn, and
 * around them.  On the way it is known what the scalars are that places are made of, as sums of what
 * they were at the start; slots of rings are numbers, with all that they can be there (ways.c).  An
 * access that may meet the first one is a violation.
 *
 * It asks pass sync nothing: no set of accesses is kept, nor is anything put in to see whether it
 * would help.  Copies with a barrier in memory are those of pass_prove_roles; of a tile that both
 * roles have, what stands in front of an arrival counts as ordered before what stands behind a later
 * await of that role.  Where it is not known how far two accesses are from each other in a ring whose
 * stage is not known, in a tensor that bulk copies store to, or in a tile seen in two shapes of which
 * neither has all or whole stages, nothing is said.  What blocks hand on is in handed.c. */
#include "infer/prove/affine.h"
#include "infer/prove/order.h"
#include <string.h>

enum { STEPS = 1 << 22, BYTES_MOST = 1 << 28, STATES_MOST = 128, TURNS_MOST = 72, TURNS_COUNTED = 3,
       MARK_DEPTH = 40 };

static void walk(Order *w, States *now, const Op *from);

/* ---- states ---------------------------------------------------------------------------------- */

static bool
same_state(const State *a, const State *b)
{
	if (a->age != b->age || a->done != b->done || a->shown != b->shown || a->told != b->told ||
	    a->ordered != b->ordered || a->nbound != b->nbound)
		return false;
	for (int i = 0; i < a->nbound; i++) {
		const Sum *is = order_bound(b, a->bound[i].v);

		if (!is || !sum_equal(&a->bound[i].is, is))
			return false;
	}
	return true;
}

static void
push(Order *w, States *to, const State *s)
{
	for (int i = 0; i < to->n; i++)
		if (same_state(&to->a[i], s))
			return;
	if (to->n == STATES_MOST)
		w->steps = 0;
	else
		VEC_PUSH(w->k->unit->arena, to->a, to->n, to->cap, *s);
}

static void
push_all(Order *w, States *to, const States *from)
{
	for (int i = 0; i < from->n; i++)
		push(w, to, &from->a[i]);
}

/* Values v[0..n) are from now on is[0..n). */
static void
bind(Order *w, State *s, Val *const *v, const Sum *is, int n)
{
	Bound *all = NEWN(w->k->unit->arena, Bound, s->nbound + n);
	int m = 0;

	for (int i = 0; i < s->nbound; i++) {
		bool again = false;

		for (int j = 0; j < n; j++)
			again = again || s->bound[i].v == v[j];
		if (!again)
			all[m++] = s->bound[i];
	}
	for (int j = 0; j < n; j++)
		all[m++] = (Bound){ v[j], is[j] };
	s->bound = all;
	s->nbound = m;
}

/* Of `to`, those that places are made of get what `from` is in state s. */
static void
hand_over(Order *w, State *s, Val *const *to, Val *const *from, int n)
{
	Sum *is = NEWN(w->k->unit->arena, Sum, n + 1);
	Val **v = NEWN(w->k->unit->arena, Val *, n + 1);
	int m = 0;

	for (int i = 0; i < n; i++)
		if (w->wanted[to[i]->id]) {
			v[m] = to[i];
			is[m++] = order_value(w, s, from[i]);
		}
	if (m)
		bind(w, s, v, is, m);
}

/* ---- what orders ----------------------------------------------------------------------------- */

/* A barrier; false: nothing is open any more. */
static bool
pass_barrier(const Order *w, State *s)
{
	const Touch *t = &w->from;

	if (!s->done)
		return true;
	s->ordered = true;
	return w->engines && t->write && t->root && t->root->type.space == S_shared && !s->shown;
}

static void
pass_wait(const Order *w, State *s, const Op *o)
{
	const Touch *t = &w->from;
	bool tensor = t->root && t->root->type.space == S_global;

	if (s->done || t->bulk != (IMM(o, bulk) != 0) || s->age == OPEN || s->age < IMM(o, pending))
		return;
	s->done = !(tensor && t->bulk && IMM(o, reads));
}

/* Is the access one of a tile by which roles hand data to each other? */
static bool
is_handed(const Order *w)
{
	const uint8_t both = 1 << ROLE_PRODUCER | 1 << ROLE_CONSUMER;

	return w->from.root && (w->roles[w->from.root->id] & both) == both;
}

/* What o does to the order; false: the access is ordered before all that follows. */
static bool
pass_op(const Order *w, State *s, const Op *o)
{
	if (lowering_is_staged(o->lowering))
		return pass_barrier(w, s);
	switch (o->code) {
	case O_barrier: return pass_barrier(w, s);
	case O_wait: pass_wait(w, s, o); break;
	case O_mbar_arrive: s->told = s->told || s->done; break;
	case O_mbar_wait: return !s->told || !is_handed(w) || pass_barrier(w, s);
	case O_commit:
		if (!s->done && w->from.bulk == (IMM(o, bulk) != 0))
			s->age += s->age < INT16_MAX;
		break;
	case O_proxy: s->shown = s->shown || (s->done && IMM(o, space) == S_shared); break;
	default: break;
	}
	return true;
}

/* ---- what meets ------------------------------------------------------------------------------ */

bool
order_is_signal(const Op *o)
{
	return o->code == O_store && IMM(o, ordered) != 0;
}

/* A kernel of so many ways that their states take this much memory is not judged to its end. */
static bool
is_full(const Order *w)
{
	const Arena *a = w->k->unit->arena;

	return a->held - w->held > (a->limit && a->limit / 4 < BYTES_MOST ? a->limit / 4 : BYTES_MOST);
}

static bool
is_tensor(const Touch *t)
{
	return t->root && t->root->type.space == S_global;
}

/* Updates of one kind of one memory, which may come in any order. */
static bool
commute(const Touch *a, const Touch *b)
{
	return a->update && b->update && a->root == b->root && IMM(a->op, update) == IMM(b->op, update);
}

static void
violation(Order *w, const Op *o, const char *what)
{
	const char *text = arena_printf(w->k->unit->arena, "%s, line %u", what, w->from.op->src.line);

	prove_violation(w->k, &w->ok, o, text);
}

static void
compare(Order *w, const State *s, const Touch *t)
{
	const Touch *from = &w->from;
	bool lanes = s->done && !t->engine && !t->group && !from->engine;

	if (is_tensor(from) && is_tensor(t) && order_is_signal(from->op) != order_is_signal(t->op) &&
	    !s->ordered)
		violation(w, t->op,
		          "no barrier stands between it and what blocks hand on, or hand memory on by");
	if ((!from->write && !t->write) || commute(from, t) || (s->ordered && !t->engine))
		return;
	if (from->engine && t->engine && !from->write && !t->write)
		return;
	if (!order_meets(w, s, t, lanes))
		return;
	if (s->ordered)
		violation(w, t->op, "no proxy stands between it and what lanes wrote");
	else if (!s->done)
		violation(w, t->op, "no wait and barrier stand between it and the end of a copy");
	else
		violation(w, t->op, "no barrier stands between it and another access of that memory");
}

static void
step(Order *w, States *now, const Op *o)
{
	Touch t[TOUCHES];
	int n = order_touches(w, o, t), kept = 0;

	for (int i = 0; i < now->n && w->ok; i++) {
		State s = now->a[i];

		for (int j = 0; j < n; j++)
			compare(w, &s, &t[j]);
		if (pass_op(w, &s, o))
			now->a[kept++] = s;
	}
	now->n = kept;
}

/* ---- loops and branches ---------------------------------------------------------------------- */

/* Does the loop have turns for the blocks of the grid that a persistent one takes? */
static bool
is_of_blocks(const Op *loop)
{
	return loop->in[0]->def && loop->in[0]->def->code == O_launched;
}

/* x - y + more is never negative? */
static bool
never_less(Order *w, const Val *x, const Val *y, int64_t more)
{
	Known none = { .k = w->k };
	Affine gap;

	if (x->def && x->def->code == O_max && type_is_index(&x->type))
		return never_less(w, x->def->in[0], y, more) || never_less(w, x->def->in[1], y, more);
	gap = affine_add(affine_of(w->k, x), affine_of(w->k, y), -1);
	gap = affine_add(gap, affine_const(more), 1);
	return gap.ok && known_implies(&none, &gap);
}

/* A loop's condition in front of its first turn or another one, in state s: may there be a turn, may
 * there be none? */
static void
ask(Order *w, const State *s, const Op *o, bool first, bool *turn, bool *none)
{
	const Sum *count = order_bound(s, o->blk[0]->arg[0]), *early;
	Sum at = count ? *count : order_value(w, s, o->in[0]), end = order_value(w, s, o->in[1]);
	Sum on = sum_between(0, 1);
	Fact all = val_fact(w->k, o->blk[0]->arg[0]), to = val_fact(w->k, o->in[1]);
	int64_t lo, hi, to_lo, to_hi, is, least = val_fact(w->k, o->in[2]).lo;

	sum_range(w, &at, &lo, &hi);
	sum_range(w, &end, &to_lo, &to_hi);
	*turn = first || !never_less(w, o->in[0], o->in[1], least);
	if (first || count)
		*turn = *turn && lo < to_hi && (all.lo > all.hi || lo <= all.hi);
	*none = to.lo != INT64_MAX;
	if (first || count)
		*none = *none && hi >= to_lo;
	if (first)
		*none = *none && val_fact(w->k, o->in[0]).hi >= to.lo &&
		        !never_less(w, o->in[1], o->in[0], -1);
	if (!loop_ends_early(o))
		return;
	early = order_bound(s, o->blk[0]->arg[1]);
	if (first)
		on = order_value(w, s, o->in[3]);
	else if (early)
		on = *early;
	if (sum_is_const(&on, &is) && is)
		return;
	*none = true;
	*turn = *turn && !sum_is_const(&on, &is);
}

/* The turn of the loop that state s is in ends. */
static void
turn_over(Order *w, State *s, const Op *loop)
{
	Turned *all = NEWN(w->k->unit->arena, Turned, s->nturned + 1);
	int i = 0;

	if (s->nturned)
		memcpy(all, s->turned, sizeof *all * (size_t)s->nturned);
	while (i < s->nturned && all[i].loop != loop)
		i++;
	if (i == s->nturned)
		all[s->nturned++] = (Turned){ loop, 0 };
	s->turned = all;
	all[i].times++;
}

/* Of what is counted, i = 0, or carried: what it is in the next turn.  From some turn on all that is
 * known of it is what it can be. */
static Sum
next_value(Order *w, const State *s, const Op *loop, int i)
{
	const Block *b = loop->blk[0];
	Sum was = order_value(w, s, b->arg[i]), now;
	Fact f = val_fact(w->k, b->arg[i]);
	int times = 0;
	int64_t c;

	for (int j = 0; j < s->nturned; j++)
		times = s->turned[j].loop == loop ? s->turned[j].times : times;
	if (i > 0) {
		now = order_value(w, s, b->last->in[i - 1]);
		if (times < (sum_is_const(&now, &c) ? TURNS_MOST : TURNS_COUNTED) || sum_equal(&was, &now))
			return now;
		return sum_between(f.lo, f.hi);
	}
	if (times > TURNS_COUNTED && was.hi == INT64_MAX)
		return was; /* so far, or further */
	now = sum_add(w, was, order_value(w, s, loop->in[2]), 1);
	if (times >= TURNS_COUNTED)
		now.hi = INT64_MAX;
	return now;
}

/* Another turn than the one that the state is in. */
static void
next_turn(Order *w, State *s, const Op *loop)
{
	const Block *b = loop->blk[0];
	int n = loop->nout + 1, m = 0;
	Sum *is = NEWN(w->k->unit->arena, Sum, n);
	Val **v = NEWN(w->k->unit->arena, Val *, n);

	for (int i = 0; i < n; i++)
		if (w->wanted[b->arg[i]->id]) {
			v[m] = b->arg[i];
			is[m++] = next_value(w, s, loop, i);
		}
	turn_over(w, s, loop);
	if (m)
		bind(w, s, v, is, m);
}

/* In front of the loop's condition in state s: behind the loop, or in front of a turn of it, or
 * both. */
static void
part_ways(Order *w, const State *s, const Op *o, bool first, States *heads, States *behind)
{
	State left = *s;
	bool turn, none;

	ask(w, s, o, first, &turn, &none);
	if (none) {
		hand_over(w, &left, o->out, o->blk[0]->arg + 1, o->nout);
		push(w, behind, &left);
	}
	if (turn)
		push(w, heads, s);
}

/* In front of turns of the loop, in those states: what is behind it. */
static void
walk_turns(Order *w, States *heads, const Op *o, States *behind)
{
	for (int i = 0; i < heads->n && w->ok && w->steps > 0; i++) {
		States one = { NULL, 0, 0 };

		push(w, &one, &heads->a[i]);
		walk(w, &one, o->blk[0]->first);
		for (int j = 0; j < one.n && !(is_of_blocks(o) && is_tensor(&w->from)); j++) {
			next_turn(w, &one.a[j], o);
			part_ways(w, &one.a[j], o, false, heads, behind);
		}
	}
}

/* Where pass split made two loops of one, the second counts on from where the first has ended. */
static void
enter(Order *w, State *s, const Op *o)
{
	const Op *before = o->prev;
	const Sum *at = NULL;
	Sum first;

	while (before && before->code != O_for)
		before = before->prev;
	if (before && IMM(o, split) > SPLIT_FRONT && IMM(o, split) <= SPLIT_REST &&
	    IMM(before, split) < IMM(o, split))
		at = order_bound(s, before->blk[0]->arg[0]);
	first = at ? *at : order_value(w, s, o->in[0]);
	hand_over(w, s, o->blk[0]->arg + 1, o->in + 3, o->nout);
	if (w->wanted[o->blk[0]->arg[0]->id])
		bind(w, s, o->blk[0]->arg, &first, 1);
}

static void
walk_loop(Order *w, States *now, const Op *o)
{
	States behind = { NULL, 0, 0 }, heads = { NULL, 0, 0 };

	for (int i = 0; i < now->n; i++) {
		State s = now->a[i];

		enter(w, &s, o);
		part_ways(w, &s, o, true, &heads, &behind);
	}
	walk_turns(w, &heads, o, &behind);
	*now = behind;
}

static void
walk_if(Order *w, States *now, const Op *o)
{
	States behind = { NULL, 0, 0 };

	for (int r = 0; r < 2; r++) {
		States side = { NULL, 0, 0 };

		for (int i = 0; i < now->n; i++) {
			Sum c = o->code == O_if ? order_value(w, &now->a[i], o->in[0]) : sum_between(0, 1);
			int64_t is;

			if (!sum_is_const(&c, &is) || (is == 0) == (r == 1) || IMM(o, spare))
				push(w, &side, &now->a[i]);
		}
		walk(w, &side, o->blk[r]->first);
		for (int i = 0; i < side.n; i++) {
			hand_over(w, &side.a[i], o->out, o->blk[r]->last->in, o->nout);
			push(w, &behind, &side.a[i]);
		}
	}
	*now = behind;
}

static void
walk_roles(Order *w, States *now, const Op *o)
{
	States behind = { NULL, 0, 0 };

	for (int r = 0; r < 2; r++) {
		States side = { NULL, 0, 0 };

		push_all(w, &side, now);
		walk(w, &side, o->blk[r]->first);
		push_all(w, &behind, &side);
	}
	*now = behind;
}

static bool
matters(Order *w, const Op *o)
{
	Touch t[TOUCHES];

	return o->blk[0] || o->code == O_barrier || o->code == O_wait || o->code == O_commit ||
	       o->code == O_proxy || o->code == O_mbar_arrive || o->code == O_mbar_wait ||
	       order_touches(w, o, t) > 0;
}

/* From op `from` on to the end of its block. */
static void
walk(Order *w, States *now, const Op *from)
{
	const Op *o = from && !matters(w, from) ? w->next[from->id] : from;

	for (; o && now->n && w->ok; o = w->next[o->id]) {
		if (--w->steps <= 0 || is_full(w))
			return;
		if (o->code == O_for)
			walk_loop(w, now, o);
		else if (o->code == O_if)
			walk_if(w, now, o);
		else if (o->code == O_roles)
			walk_roles(w, now, o);
		else
			step(w, now, o);
	}
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* All ways from the access on, out of all that it is in. */
static void
follow(Order *w)
{
	const Op *o = w->from.op, *owner;
	States now = { NULL, 0, 0 };
	State s = { .age = OPEN, .done = !w->from.group };

	if (w->steps <= 0 || is_full(w))
		return;
	w->steps = STEPS;
	push(w, &now, &s);
	order_begin(w);
	for (; now.n && w->ok && w->steps > 0; o = owner) {
		States behind = { NULL, 0, 0 };

		walk(w, &now, w->next[o->id]);
		owner = o->parent->owner;
		if (!owner || owner->code == O_roles)
			break;
		if (owner->code == O_for) {
			States heads = { NULL, 0, 0 };

			if (is_of_blocks(owner) && is_tensor(&w->from))
				break;
			for (int i = 0; i < now.n; i++) {
				next_turn(w, &now.a[i], owner);
				part_ways(w, &now.a[i], owner, false, &heads, &behind);
			}
			walk_turns(w, &heads, owner, &behind);
			now = behind;
		} else {
			for (int i = 0; i < now.n; i++)
				hand_over(w, &now.a[i], owner->out,
				          owner->blk[o->parent == owner->blk[1]]->last->in, owner->nout);
		}
	}
}

/* Which tiles have views in which roles. */
static void
mark_roles(Order *w, const Op *o)
{
	for (int i = 0; i < o->nin; i++)
		if (o->in[i]->type.space == S_shared)
			w->roles[view_root(o->in[i])->id] |= (uint8_t)(1 << op_role(o));
}

/* Where the walk begins: with each set of numbers that slots can have there. */
typedef struct Begins {
	Way *way;
	int n, cap;
} Begins;

typedef struct Numbers {
	Follow f; /* first: what the walk of ways hands back */
	Begins *at; /* [nop+1] */
} Numbers;

static void
keep_numbers(Follow *f, Way *way, const Op *o)
{
	Begins *b = &((Numbers *)(void *)f)->at[o->id];

	for (int i = 0; i < b->n; i++)
		if (!memcmp(b->way[i].number, way->number, sizeof way->number))
			return;
	VEC_PUSH(f->k->unit->arena, b->way, b->n, b->cap, *way);
}

/* The scalars that v is made of, in other turns and branches too. */
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
		want(w, o->in[3 + i], depth - 1);
		want(w, o->blk[0]->arg[1 + i], depth - 1);
	}
	for (int r = 0; (o->code == O_for || o->code == O_if) && i >= 0 && r < 2 && o->blk[r]; r++)
		want(w, o->blk[r]->last->in[i], depth - 1);
	for (int j = 0; v->def && op_is(o, F_PURE) && j < o->nin; j++)
		want(w, o->in[j], depth - 1);
}

/* The scalars that a view of the root starts at. */
static void
want_view(Order *w, Numbers *n, const Op *view, const Val *root)
{
	for (int d = 1; d < view->nin; d++) {
		want(w, view->in[d], MARK_DEPTH);
		if (root->type.space == S_shared)
			ways_ask(&n->f, view->in[d]);
	}
}

static void
prepare(Order *w, Numbers *n)
{
	Kernel *k = w->k;
	Arena *a = k->unit->arena;
	Touch t[TOUCHES];
	OpWalk walk;

	w->prove = (Prove){ .k = k, .arena = a, .ok = true, .nval = k->nval };
	w->prove.held = NEWN(a, const Held *, k->nval + 1);
	w->wanted = NEWN(a, uint8_t, k->nval + 1);
	w->next = NEWN(a, const Op *, k->nop + 1);
	w->owner[0] = NEWN(a, int16_t *, k->nop + 1);
	w->owner[1] = NEWN(a, int16_t *, k->nop + 1);
	w->bytes = NEWN(a, int64_t, k->nval + 1);
	w->roles = NEWN(a, uint8_t, k->nval + 1);
	n->f = (Follow){ .k = k, .ok = true, .op = keep_numbers };
	n->f.slot = NEWN(a, uint8_t, k->nval + 1);
	n->at = NEWN(a, Begins, k->nop + 1);
	for (const Op *o = walk_first(&walk, k->body); o; o = walk_next(&walk)) {
		int touches = order_touches(w, o, t);

		mark_roles(w, o);
		w->engines = w->engines || o->code == O_wgmma ||
		             (o->code == O_copy && IMM(o, async) == COPY_OUT);
		for (int i = 0; i < touches; i++)
			for (int j = -1; t[i].view && j < t[i].ninner; j++)
				want_view(w, n, j < 0 ? t[i].view : t[i].inner[j], t[i].root);
		for (const Op *x = o->prev; x && !w->next[x->id] && matters(w, o); x = x->prev)
			w->next[x->id] = o;
	}
	ways_follow(&n->f);
	w->follow = n->f;
	w->blind = n->f.lost;
}

static void
begin_all(Order *w, const Numbers *n, const Op *o)
{
	Touch t[TOUCHES];
	int touches = order_touches(w, o, t);

	for (int i = 0; i < touches; i++) {
		const Begins *b = &n->at[o->id];

		w->from = t[i];
		if (!t[i].root) /* the last reads are open: a barrier stands behind the writes */
			w->from.write = false;
		for (int j = 0; j == 0 || j < b->n; j++) {
			w->way = j < b->n && !n->f.lost ? &b->way[j] : NULL;
			follow(w);
		}
	}
}

bool
pass_prove_sync(Kernel *k)
{
	Numbers *n = NEW(k->unit->arena, Numbers);
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
	return false;
}
