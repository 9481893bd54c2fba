/* split.c - what pass split leaves: a loop without masks in front of the one with them.
 *
 * The two are held against each other op by op.  What the first lacks must be without effect in all its
 * turns, element by element of the tile; what is known of these turns is read off the loop's bounds. */
#include "infer/prove/affine.h"
#include "infer/prove/prove.h"
#include <string.h>

enum { DEPTH = 24 };

typedef struct Pair {
	Prove *p;
	const Op *front; /* the loop in front of clear that it goes on with; NULL: there is none */
	const Op *clear, *rest;
	const Val **to; /* by id of a value of rest's body: the one of clear's */
	Known known;    /* in a turn of clear */
	Affine *must;   /* what the condition asked about takes; of those a constant apart the least */
	int nmust, cap;
} Pair;

static bool
wrong(Pair *x, const char *what)
{
	return prove_error(x->p, -1, 0, "split loop: %s", what);
}

/* ---- what a turn of the clear loop knows ------------------------------------------------------------ */

/* Each of what `end` is the least of is above the counter. */
static void
know_end(Pair *x, const Val *end)
{
	const Op *o = end->def;
	Affine above;

	if (o && o->code == O_min) {
		know_end(x, o->in[0]);
		know_end(x, o->in[1]);
		return;
	}
	above = affine_add(affine_of(x->p->k, end), affine_of(x->p->k, x->rest->blk[0]->arg[0]), -1);
	known_add(&x->known, affine_add(above, affine_const(1), -1));
}

/* Each of what `start` is the most of is the counter at most, where the counter is below the whole loop's
 * end, which may stand in for it. */
static void
know_start(Pair *x, const Val *start)
{
	const Op *o = start->def;

	if (o && o->code == O_min && o->in[1] == x->rest->in[1]) {
		know_start(x, o->in[0]);
		return;
	}
	if (o && o->code == O_max) {
		know_start(x, o->in[0]);
		know_start(x, o->in[1]);
		return;
	}
	known_add(&x->known, affine_add(affine_of(x->p->k, x->rest->blk[0]->arg[0]),
	                                affine_of(x->p->k, start), -1));
}

static void
know_condition(Pair *x, const Val *v)
{
	const Op *o = v->def;
	Affine gap;

	if (!o || (o->code != O_and && o->code != O_le && o->code != O_lt))
		return;
	if (o->code == O_and) {
		know_condition(x, o->in[0]);
		know_condition(x, o->in[1]);
		return;
	}
	if (!type_is_index(&o->in[0]->type))
		return;
	gap = affine_add(affine_of(x->p->k, o->in[1]), affine_of(x->p->k, o->in[0]), -1);
	known_add(&x->known, affine_add(gap, affine_const(o->code == O_lt), -1));
}

/* Of the counter, for which that of the rest stands. */
static void
know_turn(Pair *x)
{
	const Val *lo = x->clear->in[0], *end = x->clear->in[1];
	const Op *o = end->def;
	Affine counter = affine_of(x->p->k, x->rest->blk[0]->arg[0]);

	known_add(&x->known, affine_add(counter, affine_of(x->p->k, lo), -1));
	if (o && o->code == O_select && o->in[2] == lo) { /* else there are no turns */
		know_condition(x, o->in[0]);
		end = o->in[1];
	}
	know_end(x, end);
	if (x->front)
		know_start(x, x->front->in[1]);
}

/* ---- conditions, element by element ------------------------------------------------------------------- */

/* x >= 0 is a must. */
static bool
must(Pair *x, Affine a)
{
	if (!a.ok)
		return false;
	for (int i = 0; i < x->nmust; i++) {
		Affine gap = affine_add(x->must[i], a, -1);

		if (!gap.ok || gap.n)
			continue;
		if (gap.c > 0)
			x->must[i] = a;
		return true;
	}
	VEC_PUSH(x->p->arena, x->must, x->nmust, x->cap, a);
	return true;
}

static bool
must_fit(Pair *x, DType d, Affine a)
{
	int bits = dtype_info[d].bits;
	bool sign = dtype_info[d].kind == K_sint;
	int64_t most;

	if (dtype_is_float(d) || d == D_bool || (bits == 64 && !sign))
		return false;
	most = bits == 64 ? INT64_MAX / 2 : ((int64_t)1 << (bits - sign)) - 1;
	return must(x, affine_add(affine_const(most), a, -1)) &&
	       must(x, affine_add(a, affine_const(sign ? -most - 1 : 0), -1));
}

/* The coordinates in o's operand of what is at c in its result. */
static bool
source_of(const Op *o, const int64_t *c, int64_t *in)
{
	const Type *t = &o->in[0]->type;

	for (int d = 0; d < t->rank; d++) {
		switch (o->code) {
		case O_broadcast: in[d] = t->shape[d] == 1 ? 0 : c[d]; break;
		case O_transpose: in[IMM_AT(o, perm, d)] = c[d]; break;
		case O_convert:
		case O_pin:
		case O_relayout: in[d] = c[d]; break;
		default: return false;
		}
	}
	return true;
}

/* The integer at c of tile or scalar v. */
static Affine
integer_at(Pair *x, const Val *v, const int64_t *c, int depth)
{
	static const Affine none;
	const Op *o = v->def;
	int64_t in[DIM_MAX] = { 0 };
	Affine a, b;

	if (depth == 0 || (v->type.space != S_reg && v->type.space != S_scalar))
		return none;
	if (type_is_index(&v->type) || (!o && v->type.space == S_scalar))
		return affine_of(x->p->k, v);
	if (!o)
		return none;
	switch (o->code) {
	case O_const: return affine_const(IMM(o, value));
	case O_iota: a = affine_const(c[IMM(o, dim)]); break;
	case O_splat: return integer_at(x, o->in[0], c, depth - 1);
	case O_cast:
		if (dtype_is_float(o->in[0]->type.dtype))
			return none;
		a = integer_at(x, o->in[0], c, depth - 1);
		break;
	case O_add:
	case O_sub:
	case O_mul:
		a = integer_at(x, o->in[0], c, depth - 1);
		b = integer_at(x, o->in[1], c, depth - 1);
		if (o->code == O_mul && b.n)
			return none;
		a = o->code == O_mul ? affine_add(affine_const(0), a, b.c)
		                     : affine_add(a, b, o->code == O_add ? 1 : -1);
		break;
	default:
		if (v->type.space == S_scalar)
			return affine_of(x->p->k, v);
		return source_of(o, c, in) ? integer_at(x, o->in[0], in, depth - 1) : none;
	}
	return must_fit(x, v->type.dtype, a) ? a : none;
}

static bool must_be(Pair *x, const Val *v, const int64_t *c, bool want, int depth);

static bool
must_compare(Pair *x, const Op *o, const int64_t *c, bool want, int depth)
{
	Affine a = integer_at(x, o->in[0], c, depth), b = integer_at(x, o->in[1], c, depth);

	if (dtype_is_float(o->in[0]->type.dtype))
		return false;
	if (!want) /* b < a or b <= a */
		return must(x, affine_add(affine_add(a, b, -1), affine_const(o->code == O_le), -1));
	return must(x, affine_add(affine_add(b, a, -1), affine_const(o->code == O_lt), -1));
}

/* Bool v is `want` at c. */
static bool
must_be(Pair *x, const Val *v, const int64_t *c, bool want, int depth)
{
	const Op *o = v->def;
	int64_t in[DIM_MAX] = { 0 };

	if (!o || depth == 0)
		return false;
	switch (o->code) {
	case O_const: return (IMM(o, value) != 0) == want;
	case O_splat: return must_be(x, o->in[0], c, want, depth - 1);
	case O_not: return must_be(x, o->in[0], c, !want, depth - 1);
	case O_and:
	case O_or:
		return (o->code == O_and) == want && must_be(x, o->in[0], c, want, depth - 1) &&
		       must_be(x, o->in[1], c, want, depth - 1);
	case O_lt:
	case O_le: return must_compare(x, o, c, want, depth - 1);
	default: return source_of(o, c, in) && must_be(x, o->in[0], in, want, depth - 1);
	}
}

static bool
musts_hold(Pair *x)
{
	for (int i = 0; i < x->nmust; i++)
		if (!known_implies(&x->known, &x->must[i]))
			return false;
	return true;
}

/* Is bool v, everywhere, `want` in every turn of the clear loop? */
static bool
always(Pair *x, const Val *v, bool want)
{
	int64_t c[DIM_MAX] = { 0 }, n = v->type.space == S_scalar ? 1 : type_size(&v->type);

	x->nmust = 0;
	for (int64_t e = 0; e < n; e++) {
		if (v->type.space == S_reg)
			type_coord(&v->type, e, c);
		if (!must_be(x, v, c, want, DEPTH))
			return false;
	}
	return musts_hold(x);
}

/* Does mask o leave every element as it is? */
static bool
masks_nothing(Pair *x, const Op *o)
{
	const Type *t = &o->out[0]->type;

	x->nmust = 0;
	for (int d = 0, next = 1; d < t->rank; d++)
		if (IMM(o, dims) >> d & 1 &&
		    !must(x, affine_add(affine_of(x->p->k, o->in[next++]), affine_const(t->shape[d]), -1)))
			return false;
	return musts_hold(x);
}

/* ---- body against body ------------------------------------------------------------------------------- */

static const Val *
mapped(const Pair *x, const Val *v)
{
	return x->to[v->id] ? x->to[v->id] : v;
}

static bool
same_layout(const Val *a, const Val *b)
{
	return a->type.layout && b->type.layout ? layout_equal(a->type.layout, b->type.layout)
	                                        : a->type.layout == b->type.layout;
}

/* Does a in the clear loop what b does in the other?  Regions and the condition of an if apart. */
static bool
does_same(const Pair *x, const Op *a, const Op *b)
{
	if (a->code != b->code || a->nin != b->nin || a->nout != b->nout ||
	    memcmp(a->imm, b->imm, sizeof a->imm) != 0 || memcmp(&a->fimm, &b->fimm, sizeof a->fimm) != 0 ||
	    (a->text != b->text && (!a->text || !b->text || strcmp(a->text, b->text) != 0)) ||
	    !prove_same_way(a->lowering, b->lowering))
		return false;
	for (int i = b->code == O_if ? 1 : 0; i < a->nin; i++)
		if (a->in[i] != mapped(x, b->in[i]))
			return false;
	for (int i = 0; i < a->nout; i++)
		if (!type_same(&a->out[i]->type, &b->out[i]->type) || !same_layout(a->out[i], b->out[i]))
			return false;
	return true;
}

static bool same_block(Pair *x, const Op **at, const Block *b);

/* b has nothing to do in the clear loop, or of an if only one region; at is where that one goes on. */
static bool
is_idle(Pair *x, const Op **at, const Op *b)
{
	int way;

	if (b->code == O_mask && masks_nothing(x, b)) {
		x->to[b->out[0]->id] = mapped(x, b->in[0]);
		return true;
	}
	if (b->code != O_select && b->code != O_if)
		return false;
	if (!always(x, b->in[0], true) && !always(x, b->in[0], false))
		return false;
	way = always(x, b->in[0], true) ? 0 : 1;
	if (b->code == O_select) {
		x->to[b->out[0]->id] = mapped(x, b->in[1 + way]);
		return true;
	}
	if (!same_block(x, at, b->blk[way]))
		return false;
	for (int i = 0; i < b->nout; i++)
		x->to[b->out[i]->id] = mapped(x, b->blk[way]->last->in[i]);
	return true;
}

/* The same if, under the same condition or one that is known and so holds. */
static bool
same_if(Pair *x, const Op *a, const Op *b)
{
	int64_t c;

	if (a->in[0] != mapped(x, b->in[0]) &&
	    !(val_is_const(a->in[0], &c) && always(x, b->in[0], c != 0)))
		return wrong(x, "an if goes another way");
	for (int i = 0; i < 2; i++) {
		const Op *first = a->blk[i]->first;

		if (!same_block(x, &first, b->blk[i]))
			return false;
		if (first != a->blk[i]->last)
			return wrong(x, "a region without masks does more");
		for (int j = 0; j < b->nout; j++)
			if (first->in[j] != mapped(x, b->blk[i]->last->in[j]))
				return wrong(x, "a region without masks gives something else");
	}
	return true;
}

static bool
lacks(Pair *x, const Op *o)
{
	return wrong(x, arena_printf(x->p->arena, "without masks, there is no %s of line %u, or another",
	                             op_info[o->code].name, o->src.line));
}

/* What b does up to its end is done from *at on, which moves on; what only says a number may be there
 * besides. */
static bool
same_block(Pair *x, const Op **at, const Block *b)
{
	for (const Op *o = b->first; o != b->last; o = o->next) {
		const Op *a = *at;

		while (a && a->code == O_const && !does_same(x, a, o))
			a = a->next;
		if (!a || !does_same(x, a, o)) {
			if (!is_idle(x, at, o))
				return lacks(x, o);
			continue;
		}
		if (o->code == O_for)
			return wrong(x, "a loop inside");
		for (int i = 0; i < o->nout; i++)
			x->to[o->out[i]->id] = a->out[i];
		if (o->code == O_if && !same_if(x, a, o))
			return false;
		*at = a->next;
	}
	return true;
}

static bool
same_turns(Pair *x)
{
	const Block *a = x->clear->blk[0], *b = x->rest->blk[0];
	const Op *at = a->first;

	if (a->narg != b->narg)
		return wrong(x, "the loops carry not as much");
	for (int i = 0; i < b->narg; i++)
		x->to[b->arg[i]->id] = a->arg[i];
	if (!same_block(x, &at, b))
		return false;
	if (at != a->last)
		return wrong(x, "without masks more is done");
	for (int i = 0; i < at->nin; i++)
		if (at->in[i] != mapped(x, b->last->in[i]))
			return wrong(x, "without masks something else is carried on");
	return true;
}

/* ---- loop behind loop ---------------------------------------------------------------------------------- */

/* q * step = x: the value that is q; NULL: x is no such product. */
static const Val *
factor_of_step(const Affine *x, const Val *step)
{
	const Op *o = x->ok && x->n == 1 && x->c == 0 ? x->v[0]->def : NULL;
	int64_t c;

	if (o && val_is_const(step, &c))
		return x->k[0] == c ? x->v[0] : NULL;
	return o && x->k[0] == 1 && o->code == O_mul && o->in[1] == step ? o->in[0] : NULL;
}

/* Is v where a loop from lo to end by step ends: lo + (end - lo + step - 1) / step * step, or lo? */
static bool
is_behind(Kernel *k, const Op *loop, const Val *v)
{
	const Op *o = v->def;
	const Val *lo = loop->in[0], *step = loop->in[2], *q;
	Affine start = affine_of(k, lo), want, n;
	int64_t c, from, to, at;

	if (val_is_const(lo, &from) && val_is_const(loop->in[1], &to) && val_is_const(step, &c) && c > 0 &&
	    val_is_const(v, &at))
		return at == from + (to > from ? ceil_div(to - from, c) * c : 0);
	if (!o || o->code != O_max || (o->in[0] != lo && o->in[1] != lo))
		return false;
	n = affine_add(affine_of(k, o->in[o->in[0] == lo ? 1 : 0]), start, -1);
	want = affine_add(affine_of(k, loop->in[1]), start, -1);
	if (val_is_const(step, &c) && c == 1)
		return affine_equal(&n, &want);
	q = factor_of_step(&n, step);
	if (!q || !q->def || q->def->code != O_div || q->def->in[1] != step)
		return false;
	want = affine_add(affine_add(want, affine_of(k, step), 1), affine_const(1), -1);
	n = affine_of(k, q->def->in[0]);
	return affine_equal(&n, &want);
}

/* Does the clear loop end before the whole would?  Its end is one of the start, and the least of some. */
static bool
ends_inside(Pair *x, const Val *end)
{
	const Op *o = end->def;
	Affine room;
	Known nothing = { .k = x->p->k };

	if (o && o->code == O_select && o->in[2] == x->clear->in[0])
		return ends_inside(x, o->in[1]);
	if (o && o->code == O_min && (ends_inside(x, o->in[0]) || ends_inside(x, o->in[1])))
		return true;
	room = affine_add(affine_of(x->p->k, x->rest->in[1]), affine_of(x->p->k, end), -1);
	return known_implies(&nothing, &room);
}

/* Loop b goes on where a ends, with what it leaves. */
static bool
goes_on(Pair *x, const Op *a, const Op *b)
{
	if (!b || b->code != O_for)
		return wrong(x, "nobody does the rest");
	if (b->in[2] != a->in[2] || b->nout != a->nout || !is_behind(x->p->k, a, b->in[0]))
		return wrong(x, "the rest does not go on where the loop without masks ends");
	for (int i = 0; i < a->nout; i++)
		if (b->in[3 + i] != a->out[i])
			return wrong(x, "the rest does not go on with what was carried");
	return true;
}

/* The turns of `clear`, which may be those in front, too, are the rest's but for masks, and end before those
 * do. */
static bool
is_part(Prove *p, const Op *front, const Op *clear, const Op *rest)
{
	Pair x = { .p = p, .front = front, .clear = clear, .rest = rest, .known = { .k = p->k } };

	if (!ends_inside(&x, clear->in[1]))
		return wrong(&x, "the loop without masks may go on beyond the end");
	x.to = NEWN(p->arena, const Val *, p->k->nval + 1);
	know_turn(&x);
	return same_turns(&x);
}

/* Loops in a row that stand for one: perhaps one in front, the one without masks, the rest. */
static void
prove_row(Prove *p, const Op *first)
{
	Pair x = { .p = p };
	const Op *front = IMM(first, split) == SPLIT_FRONT ? first : NULL;
	const Op *clear = front ? front->next : first;

	p->op = first;
	if (front && !goes_on(&x, front, clear))
		return;
	p->op = clear;
	if (IMM(clear, split) != SPLIT_CLEAR || !goes_on(&x, clear, clear->next) ||
	    IMM(clear->next, split) != SPLIT_REST) {
		wrong(&x, "nobody does the rest");
		return;
	}
	if (is_part(p, front, clear, clear->next) && front)
		is_part(p, NULL, front, clear->next);
}

/* Does o have its place in a row: behind what is its part in front? */
static bool
is_placed(const Op *o, const Op *before)
{
	SplitKind kind = (SplitKind)IMM(o, split), in_front = SPLIT_NONE;

	if (before && before->next == o)
		in_front = (SplitKind)IMM(before, split);
	return kind == SPLIT_REST ? in_front == SPLIT_CLEAR : kind == SPLIT_CLEAR || in_front != SPLIT_FRONT;
}

bool
pass_prove_split(Kernel *k)
{
	Prove p = { .k = k, .arena = k->unit->arena, .ok = true };
	const Op *before = NULL;
	OpWalk w;

	facts_keep(k);
	for (Op *o = walk_first(&w, k->body); o && p.ok; o = walk_next(&w)) {
		bool first;

		if (o->code != O_for)
			continue;
		p.op = o;
		first = !before || before->next != o || IMM(before, split) != SPLIT_FRONT;
		if (!is_placed(o, before))
			prove_error(&p, -1, 0, "split loop: the rest of no loop");
		else if (IMM(o, split) == SPLIT_FRONT || (IMM(o, split) == SPLIT_CLEAR && first))
			prove_row(&p, o);
		before = o;
	}
	facts_drop(k);
	return false;
}
