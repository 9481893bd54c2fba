/* prefetch_fragments.c - pass prefetch_fragments: loads the first fragments of a pipeline loop's next
 * iteration before the barrier and the last MMA k step of the current one.
 *
 * requires   loops of pass pipeline, after pass infer: `wait` and `barrier` at their top, and a carried
 * index of the stage that they read
 * preserves  what the kernel computes; every lowering, also that of clones
 * produces   loops that wait and synchronize at their end, before the last k step of their last MMA
 *
 * After pass pipeline an iteration waits for its stage, synchronizes with the other warps, loads the
 * fragments of its first MMAs and only then multiplies. The tensor cores are idle during all of that. This
 * pass produces:
 *
 *     first MMAs, of fragments that the previous iteration loaded
 *     copies of a later iteration
 *     MMAs, except the last k step
 *     wait, barrier                      the next iteration's stage is filled; this one's is no longer read
 *     fragments of the next iteration's first MMAs
 *     the last k step of the MMAs
 *
 * The first wait, barrier and fragments are placed before the loop. Op `ahead` defines the words of a
 * load's tile that the first step needs, and the words that are loaded with them. Op `begun` is the full
 * tile with these words already loaded. The last iteration loads from a stage without data: copies that are
 * not issued have filled it with zeros (the `spare` ifs of pass pipeline). */
#include "hexc/ir/memory_effects.h"
#include "hexc/ir/sparse.h"
#include "infer/core/instr.h"
#include "hexc/pass/pass.h"
#include "infer/core/fragment_prefetch.h"

/* ---- operands, one iteration early ----------------------------------------------------------------- */

/* Maps values of the body to their clones. */
typedef struct FragmentPrefetch {
	const Rotate *r;
	Block *block;
	Op *at;
	Val *slot; /* stage index */
	struct Done {
		Val *from, *to;
	} *done;
	int n, cap;
} FragmentPrefetch;

static Val *ahead_val(void *user, Val *v);

/* Clones v and its operands for another iteration. */
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

/* Inserts `ahead` of v before `at`. */
static Val *
ahead_new(FragmentPrefetch *a, Val *v)
{
	Val *x = ahead_val(a, v);

	return op_new(a->block, a->at, O_fragment_prefetch, v->def->src, 1, &x, 1, &x->type)->out[0];
}

/* Clones the wait and the barrier before `at`. */
static void
emit_wait_barrier(const Rotate *r, Block *b, Op *at)
{
	op_clone(b, at, r->wait, NULL, NULL);
	op_clone(b, at, r->barrier, NULL, NULL);
}

/* Replaces the load's tile in the body by one whose first words were loaded in the previous iteration. */
static void
insert_prefetched(const Rotate *r, Op *load, Val *ahead)
{
	Val *in[2] = { load->out[0], ahead };
	Op *begun = op_new(r->body, load->next, O_prefetched, load->src, 2, in, 1, &load->out[0]->type);

	val_replace(r->k, load->out[0], begun->out[0]);
	begun->in[IN_op_source] = load->out[0];
}

/* ---- the loop ----------------------------------------------------------------------------------------- */

/* Inserts steps [from, to) of dot o before it; `acc` is the accumulator. */
static Op *
part_of(Op *o, int from, int to, Val *acc)
{
	int k = (int)instr_of(o->lowering)->k, all = (int)dot_k(o) / k;
	Op *part = op_clone(o->parent, o, o, NULL, NULL);

	part->in[IN_mma_acc] = acc;
	part->lowering->dot.from = from * k;
	part->lowering->dot.to = to * k;
	part->lowering->cost = o->lowering->cost * (to - from) / all;
	return part;
}

/* Returns the `if` of a later iteration's copies that follows the barrier, before its commit; NULL if there
 * is none. */
static Op *
copies_of(const Rotate *r)
{
	Op *o = r->barrier->next;

	while (o && op_is(o, F_PURE))
		o = o->next;
	return o && if_is_copies(o) && o->next && o->next->code == O_async_commit ? o : NULL;
}

/* Splits MMA o into a first step, the copies, the middle steps, and *last, before which the warps
 * synchronize. */
static void
split_last_k_step(const Rotate *r, Op *o, Op *copies, Op **last)
{
	int n = (int)dot_k(o) / instr_of(o->lowering)->k, from = 0;
	Val *acc = mma_acc(o);

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

/* ---- fragments prefetched by a preceding loop --------------------------------------------------------- */

/* Returns the already transformed preceding loop that this one continues; NULL if there is none. */
static Op *
turned_before(const Rotate *r)
{
	Op *o = r->loop->prev;

	return o && o->code == O_for && split_goes_on(o, r->loop) ? o : NULL;
}

/* Does x in the iteration after the last of loop `before` equal y in the first iteration of this loop? */
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
	if (!a || !b || a->code != O_view || b->code != O_view || view_source(a) != view_source(b) ||
	    IMM(a, dropped) != IMM(b, dropped) || !type_same(&x->type, &y->type))
		return false;
	for (int i = IN_view_start; i < a->nin; i++)
		if (!same_start(r, before, a->in[i], b->in[i]))
			return false;
	return true;
}

/* Returns the fragments of `load`'s tile that loop `before` carries past its end; NULL if there are none. */
static Val *
begun_before(const Rotate *r, const Op *before, const Op *load)
{
	const Type *t = &load->out[0]->type;

	for (int i = 0; before && i < before->nout; i++) {
		const Op *ahead = before->blk[0]->last->in[i]->def, *o;

		if (!ahead || ahead->code != O_fragment_prefetch)
			continue;
		o = op_source(ahead)->def;
		if (o->code == O_load && type_same(t, &o->out[0]->type) &&
		    layout_equal(t->layout, o->out[0]->type.layout) &&
		    same_view(r, before, load_source(o), load_source(load)))
			return before->out[i];
	}
	return NULL;
}

/* Returns the preceding loop if it has prefetched all loads; NULL if they must be prefetched before this
 * loop. */
static Op *
begun_by(const Rotate *r)
{
	Op *before = turned_before(r);

	for (int i = 0; before && i < r->nload; i++)
		if (!begun_before(r, before, r->load[i]))
			return NULL;
	return before;
}

/* the transformed loop */

static void
turn(Rotate *r)
{
	Op *goes_on = begun_by(r);
	FragmentPrefetch before = { .r = r, .block = r->loop->parent, .slot = for_init(r->loop, r->slot) };
	FragmentPrefetch next = { .r = r, .block = r->body, .slot = yield_value(r->body->last, r->slot) };
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

		if (o->code != O_for || !IMM(o, prefetch) || !rotate_find(&r)) {
			o = walk_next(&w);
			continue;
		}
		IMM_SET(o, prefetch, 0);
		turn(&r);
		changed = true;
		w.next = r.loop; /* which is a different op now */
		o = walk_next(&w);
	}
	return changed;
}
