/* rotate.c - pass rotate: a pipeline loop whose products begin before its barrier.
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
#include "hexc/ir/access.h"
#include "hexc/ir/sparse.h"
#include "infer/base/instr.h"
#include "infer/base/model.h"
#include "infer/infer.h"

typedef struct Rotate {
	Kernel *k;
	Op *loop;
	Block *body;
	Op *wait, *barrier;
	int slot;         /* the carried value that is the buffer read; -1: none yet */
	Op *first, *last; /* products */
	bool ring;        /* some load reads a buffer */
	Op **load;        /* what the first product is made from */
	int nload, cap;
} Rotate;

/* ---- what an operand is made from ----------------------------------------------------------------- */

/* The carried value that v is; -1: it is none. */
static int
carried(const Rotate *r, const Val *v)
{
	return v->def || v->block != r->body ? -1 : v->index - 1;
}

static bool
is_outside(const Rotate *r, const Val *v)
{
	return !block_inside(v->block, r->body);
}

/* How many ops of the loop write the tile; *spare: how many of them are copies that fill buffers. */
static int
count_writes(const Rotate *r, const Val *root, int *spare)
{
	int n = 0;
	OpWalk w;

	*spare = 0;
	for (Op *o = walk_first(&w, r->body); o; o = walk_next(&w)) {
		Val *to = access_target(o);

		if (!to || view_root(to) != root)
			continue;
		n++;
		*spare += o->parent->owner && if_is_copies(o->parent->owner);
	}
	return n;
}

/* A view of shared memory from outside, all of it or the buffer of this turn. */
static bool
view_ok(Rotate *r, Val *v)
{
	const Op *o = v->def;
	bool ring = false;
	int n, spare;

	if (v->type.space != S_shared)
		return false;
	if (is_outside(r, v))
		return count_writes(r, view_root(v), &spare) == 0;
	if (!o || o->code != O_view || !is_outside(r, o->in[0]))
		return false;
	for (int i = 1; i < o->nin; i++) {
		int at = carried(r, o->in[i]);
		int64_t c;

		if (is_outside(r, o->in[i]) || val_is_const(o->in[i], &c))
			continue;
		if (at < 0 || (r->slot >= 0 && at != r->slot))
			return false;
		r->slot = at;
		ring = true;
	}
	n = count_writes(r, view_root(v), &spare);
	r->ring |= ring;
	return ring ? n > 0 && n == spare : n == 0;
}

static int
uses(const Rotate *r, const Val *v)
{
	int n = 0;
	OpWalk w;

	for (Op *o = walk_first(&w, r->k->body); o; o = walk_next(&w))
		for (int i = 0; i < o->nin; i++)
			n += o->in[i] == v;
	return n;
}

/* Can v be made a turn ahead: from shared memory and what the loop does not change? */
static bool
operand_ok(Rotate *r, const Val *v, int depth)
{
	const Op *o = v->def;

	if (is_outside(r, v))
		return true;
	if (!o || o->parent != r->body || depth == 0)
		return false;
	if (o->code == O_load) {
		Op *load = v->def;

		if (v->type.space != S_reg || uses(r, v) != 1 || !view_ok(r, o->in[0]))
			return false;
		VEC_PUSH(r->k->unit->arena, r->load, r->nload, r->cap, load);
		return true;
	}
	if (!op_is(o, F_PURE) || lowering_is_staged(o->lowering))
		return false;
	for (int i = 0; i < o->nin; i++)
		if (!operand_ok(r, o->in[i], depth - 1))
			return false;
	return true;
}

/* ---- which loops ------------------------------------------------------------------------------------ */

static bool
is_mma(const Op *o)
{
	const Instr *in = o->code == O_dot && o->lowering ? instr_of(o->lowering) : NULL;

	return in && in->kind == IK_mma && !dot_is_sparse(o);
}

static int
steps_of(const Op *dot)
{
	return (int)(dot_k(dot) / instr_of(dot->lowering)->k);
}

/* Does o, or an op inside it, read or write shared memory or bring threads together? */
static bool
touches_shared(Op *o)
{
	Val *from = access_source(o), *to = access_target(o);
	OpWalk w;

	if ((from && from->type.space == S_shared) || (to && to->type.space == S_shared) ||
	    op_is(o, F_SYNC) || lowering_is_staged(o->lowering))
		return true;
	for (int b = 0; b < 2 && o->blk[b]; b++)
		for (Op *x = walk_first(&w, o->blk[b]); x; x = walk_next(&w))
			if (touches_shared(x))
				return true;
	return false;
}

/* `wait` and `barrier` at the top, behind nothing but index arithmetic. */
static bool
find_top(Rotate *r)
{
	for (Op *o = r->body->first; o; o = o->next) {
		if (o->code == O_wait && o->next && o->next->code == O_barrier) {
			r->wait = o;
			r->barrier = o->next;
			return true;
		}
		if (!op_is(o, F_PURE))
			return false;
	}
	return false;
}

static bool
find_products(Rotate *r)
{
	for (Op *o = r->barrier->next; o; o = o->next) {
		if (is_mma(o)) {
			r->first = r->first ? r->first : o;
			r->last = o;
		}
	}
	for (Op *o = r->last ? r->last->next : NULL; o; o = o->next)
		if (touches_shared(o))
			return false;
	return r->last != NULL;
}

/* Registers of a lane that hold a tile. */
static int64_t
registers(const Val *v)
{
	return ceil_div(layout_cosize(v->type.layout, AX_reg) * dtype_info[v->type.dtype].bits, 32);
}

/* Fragments of two steps at once, beside the sums. */
static bool
fits(const Rotate *r)
{
	int64_t n = registers(r->last->out[0]);

	for (int i = 0; i < 2; i++) {
		n += ceil_div(2 * registers(r->last->in[i]), steps_of(r->last));
		n += r->first == r->last ? 0 : ceil_div(registers(r->first->in[i]), steps_of(r->first));
	}
	return n <= STEP_REGISTERS;
}

/* ---- the operands, a turn ahead -------------------------------------------------------------------- */

/* What stands for values of the body. */
typedef struct Ahead {
	const Rotate *r;
	Block *block;
	Op *at;
	Val *slot; /* the buffer */
	struct Done {
		Val *from, *to;
	} *done;
	int n, cap;
} Ahead;

static Val *ahead_val(void *user, Val *v);

/* v for another turn, and what it is made from. */
static Val *
ahead_val(void *user, Val *v)
{
	Ahead *a = user;
	struct Done d = { v, NULL };

	if (carried(a->r, v) == a->r->slot)
		return a->slot;
	if (is_outside(a->r, v))
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
ahead_new(Ahead *a, Val *v)
{
	Val *x = ahead_val(a, v);

	return op_new(a->block, a->at, O_ahead, v->def->src, 1, &x, 1, &x->type)->out[0];
}

/* The wait and the barrier once more, in front of `at`. */
static void
meet(const Rotate *r, Block *b, Op *at)
{
	op_clone(b, at, r->wait, NULL, NULL);
	op_clone(b, at, r->barrier, NULL, NULL);
}

/* The load's tile as the body goes on with it: begun in the turn before. */
static void
begin(const Rotate *r, Op *load, Val *ahead)
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
	int all = steps_of(o), k = (int)instr_of(o->lowering)->k;
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
split(const Rotate *r, Op *o, Op *copies, Op **last)
{
	int n = steps_of(o), from = 0;
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

/* The loop in front that has turned likewise and that this one goes on with: what it made ahead is ours;
 * NULL: there is none.  `n`: values that it carries for its loads. */
static Op *
turned_before(const Rotate *r)
{
	Op *o = r->loop->prev;
	bool goes_on = o && o->code == O_for && split_goes_on(o, r->loop) &&
	               o->nout == r->loop->nout + r->nload;

	for (int i = 0; goes_on && i < r->nload; i++) {
		const Type *a = &o->out[r->loop->nout + i]->type, *b = &r->load[i]->out[0]->type;

		goes_on = type_same(a, b) && layout_equal(a->layout, b->layout);
	}
	return goes_on ? o : NULL;
}

static void
turn(Rotate *r)
{
	Op *clear = turned_before(r);
	Ahead before = { .r = r, .block = r->loop->parent, .slot = r->loop->in[3 + r->slot] };
	Ahead next = { .r = r, .block = r->body, .slot = r->body->last->in[r->slot] };
	Op *copies = copies_of(r), *last;
	int carried = r->loop->nout;

	if (!clear)
		meet(r, before.block, r->loop);
	split(r, r->last, copies, &last);
	meet(r, r->body, last);
	next.at = last;
	for (int i = 0; i < r->nload; i++) {
		Op *load = r->load[i];
		Val *first;

		before.at = r->loop;
		first = clear ? clear->out[carried + i] : ahead_new(&before, load->out[0]);
		r->loop = loop_carry(r->loop, first);
		loop_carry_next(r->loop, ahead_new(&next, load->out[0]));
		begin(r, load, r->body->arg[r->body->narg - 1]);
	}
	op_unlink(r->barrier);
	op_unlink(r->wait);
}

static bool
rotate_loop(Kernel *k, Op *loop)
{
	enum { DEPTH = 24 };
	Rotate r = { .k = k, .loop = loop, .body = loop->blk[0], .slot = -1 };

	if (!find_top(&r) || !find_products(&r) || !fits(&r))
		return false;
	for (int i = 0; i < 2; i++) {
		int slot = r.slot, n = r.nload;
		bool ring = r.ring;

		if (!operand_ok(&r, r.first->in[i], DEPTH)) {
			r.slot = slot;
			r.nload = n;
			r.ring = ring;
		}
	}
	if (!r.ring)
		return false;
	turn(&r);
	return true;
}

bool
pass_rotate(Kernel *k)
{
	bool changed = false;
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o;) {
		if (o->code != O_for || !rotate_loop(k, o)) {
			o = walk_next(&w);
			continue;
		}
		changed = true;
		o = walk_first(&w, k->body); /* the loop is another op now, and has no wait at its top */
	}
	return changed;
}
