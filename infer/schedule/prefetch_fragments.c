/* prefetch_fragments.c - pass prefetch_fragments: a pipeline loop whose products begin before its barrier.
 *
 * needs   what pass infer leaves, of loops that pass pipeline made: `wait`, `barrier` at their top, the
 *         buffer that they read a carried number
 * keeps   what the kernel computes; every lowering, of what is cloned too
 * gives   loops that wait and meet at their end, in front of the last step of their last product
 *
 * As pass pipeline leaves it, a turn waits for its buffer, meets the other warps, loads the fragments of its
 * first products and only then multiplies: the tensor cores are idle for as long as all that takes.  Here
 *
 *     first products, of fragments that the turn before has loaded
 *     copies of a later turn
 *     products, but for the last step
 *     wait, barrier                      the next turn's buffer is there, and this one's is read no more
 *     fragments of the next turn's first products
 *     the last step of the products
 *
 * with the first wait, barrier and fragments in front of the loop.  Op `ahead` makes those words of a load's
 * tile that the first step needs, and what comes with them, and op `begun` is the tile, of which these words
 * are there already.  The last turn loads from a buffer that holds nothing: copies that are not made have
 * filled it with zeros (the `spare` ifs of pass pipeline). */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "hexc/pass/pass.h"
#include "infer/core/fragment_prefetch.h"

/* ---- the operands, a turn ahead -------------------------------------------------------------------- */

/* What stands for values of the body. */
typedef struct FragmentPrefetch {
	const Rotate *r;
	Block *block;
	Op *at;
	Val *slot; /* the buffer */
	struct Done {
		Val *from, *to;
	} *done;
	int n, cap;
} FragmentPrefetch;

static Val *ahead_val(void *user, Val *v);

/* v for another turn, and what it is made from. */
static Val *
ahead_val(void *user, Val *v)
{
	FragmentPrefetch *a = user;
	struct Done d = { v, NULL };

	if (rotate_carried(a->r, v) == a->r->slot)
		return a->slot;
	if (rotate_outside(a->r, v))
		return v;
	for (int i = 0; i < a->n; i++)
		if (a->done[i].from == v)
			return a->done[i].to;
	d.to = op_clone(a->block, a->at, v->def, ahead_val, a)->out[0];
	VEC_PUSH(a->r->k->unit->arena, a->done, a->n, a->cap, d);
	return d.to;
}

/* v as `ahead` makes it, in front of `at`. */
static Val *
ahead_new(FragmentPrefetch *a, Val *v)
{
	Val *x = ahead_val(a, v);

	return op_new(a->block, a->at, O_ahead, v->def->src, 1, &x, 1, &x->type)->out[0];
}

/* The wait and the barrier once more, in front of `at`. */
static void
emit_wait_barrier(const Rotate *r, Block *b, Op *at)
{
	op_clone(b, at, r->wait, NULL, NULL);
	op_clone(b, at, r->barrier, NULL, NULL);
}

/* The load's tile as the body goes on with it: begun in the turn before. */
static void
insert_prefetched(const Rotate *r, Op *load, Val *ahead)
{
	Val *in[2] = { load->out[0], ahead };
	Op *begun = op_new(r->body, load->next, O_begun, load->src, 2, in, 1, &load->out[0]->type);

	val_replace(r->k, load->out[0], begun->out[0]);
	begun->in[0] = load->out[0];
}

/* ---- the loop ----------------------------------------------------------------------------------------- */

/* Steps from .. to - 1 of dot o, in front of it; `acc`: what they add to. */
static Op *
part_of(Op *o, int from, int to, Val *acc)
{
	int k = (int)instr_of(o->lowering)->k, all = (int)dot_k(o) / k;
	Op *part = op_clone(o->parent, o, o, NULL, NULL);

	part->in[2] = acc;
	part->lowering->dot.from = from * k;
	part->lowering->dot.to = to * k;
	part->lowering->cost = o->lowering->cost * (to - from) / all;
	return part;
}

/* The copies of a later turn, with their commit: the first spare if behind the barrier; NULL: none. */
static Op *
copies_of(const Rotate *r)
{
	Op *o = r->barrier->next;

	while (o && op_is(o, F_PURE))
		o = o->next;
	return o && if_is_copies(o) && o->next && o->next->code == O_commit ? o : NULL;
}

/* Product o in parts: a step, the copies, the other steps, and *last, the one in front of which all meet. */
static void
split_last_k_step(const Rotate *r, Op *o, Op *copies, Op **last)
{
	int n = (int)dot_k(o) / instr_of(o->lowering)->k, from = 0;
	Val *acc = o->in[2];

	if (copies && o == r->first && n > 1) {
		Op *commit = copies->next, *one = part_of(o, 0, 1, acc);

		acc = one->out[0];
		from = 1;
		op_move_before(copies, o);
		op_move_before(commit, o);
	}
	if (n - 1 > from)
		acc = part_of(o, from, n - 1, acc)->out[0];
	*last = n > 1 ? part_of(o, n - 1, n, acc) : o;
	if (n > 1) {
		val_replace(r->k, o->out[0], (*last)->out[0]);
		op_unlink(o);
	}
}

/* ---- what a loop in front has made ahead -------------------------------------------------------------- */

/* The loop in front that this one goes on with, which has turned; NULL: there is none. */
static Op *
turned_before(const Rotate *r)
{
	Op *o = r->loop->prev;

	return o && o->code == O_for && split_goes_on(o, r->loop) ? o : NULL;
}

/* Does x say of the turn behind the last of loop `before` what y says of the first of this one? */
static bool
same_start(const Rotate *r, const Op *before, const Val *x, const Val *y)
{
	int at = rotate_carried(r, y);
	int64_t c, d;

	if (val_is_const(x, &c) && val_is_const(y, &d))
		return c == d;
	return at < 0 ? x == y : x == before->blk[0]->last->in[at];
}

static bool
same_view(const Rotate *r, const Op *before, const Val *x, const Val *y)
{
	const Op *a = x->def, *b = y->def;

	if (x == y)
		return true;
	if (!a || !b || a->code != O_view || b->code != O_view || a->in[0] != b->in[0] ||
	    IMM(a, dropped) != IMM(b, dropped) || !type_same(&x->type, &y->type))
		return false;
	for (int i = 1; i < a->nin; i++)
		if (!same_start(r, before, a->in[i], b->in[i]))
			return false;
	return true;
}

/* What loop `before` carries on as the tile of `load`; NULL: nothing. */
static Val *
begun_before(const Rotate *r, const Op *before, const Op *load)
{
	const Type *t = &load->out[0]->type;

	for (int i = 0; before && i < before->nout; i++) {
		const Op *ahead = before->blk[0]->last->in[i]->def, *o;

		if (!ahead || ahead->code != O_ahead)
			continue;
		o = ahead->in[0]->def;
		if (o->code == O_load && type_same(t, &o->out[0]->type) &&
		    layout_equal(t->layout, o->out[0]->type.layout) &&
		    same_view(r, before, o->in[0], load->in[0]))
			return before->out[i];
	}
	return NULL;
}

/* The loop in front that has begun all loads; NULL: there is none, and they begin in front of this one. */
static Op *
begun_by(const Rotate *r)
{
	Op *before = turned_before(r);

	for (int i = 0; before && i < r->nload; i++)
		if (!begun_before(r, before, r->load[i]))
			return NULL;
	return before;
}

/* ---- the loop, turned -----------------------------------------------------------------------------------
 * */

static void
turn(Rotate *r)
{
	Op *goes_on = begun_by(r);
	FragmentPrefetch before = { .r = r, .block = r->loop->parent, .slot = r->loop->in[3 + r->slot] };
	FragmentPrefetch next = { .r = r, .block = r->body, .slot = r->body->last->in[r->slot] };
	Op *copies = copies_of(r), *last;

	if (!goes_on)
		emit_wait_barrier(r, before.block, r->loop);
	split_last_k_step(r, r->last, copies, &last);
	emit_wait_barrier(r, r->body, last);
	next.at = last;
	for (int i = 0; i < r->nload; i++) {
		Op *load = r->load[i];
		Val *first;

		before.at = r->loop;
		first = goes_on ? begun_before(r, goes_on, load) : ahead_new(&before, load->out[0]);
		r->loop = loop_carry(r->loop, first);
		loop_carry_next(r->loop, ahead_new(&next, load->out[0]));
		insert_prefetched(r, load, r->body->arg[r->body->narg - 1]);
	}
	op_unlink(r->barrier);
	op_unlink(r->wait);
}

bool
pass_prefetch_fragments(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o;) {
		Rotate r = { .k = k, .loop = o };

		if (o->code != O_for || !IMM(o, rotate) || !rotate_find(&r)) {
			o = walk_next(&w);
			continue;
		}
		IMM_SET(o, rotate, 0);
		turn(&r);
		changed = true;
		w.next = r.loop; /* which is another op now */
		o = walk_next(&w);
	}
	return changed;
}
