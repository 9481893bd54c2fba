/* symbolic_bounds.c - computes symbolic bounds of index values in terms of run-time sizes, and uses them to
 * show that views are in bounds.
 *
 * The proof of `start + extent <= size` expresses the upper bound of start and the lower bound of size as
 * linear forms over parameters. Then it shows that their difference is nonnegative. Counters and block ids
 * are replaced by their last value. Divisions are carried out if range analysis shows them exact, and
 * conditions of enclosing ifs serve as bounds. Values that may have wrapped around 64 bits are never
 * expanded. */
#include "hexc/analysis/linear_form.h"
#include <string.h>

/* A linear form of v: exact (dir 0), an upper bound (dir 1) or a lower bound (dir -1) while op `at` runs. If
 * several bounds are available, the bits of `choice` select among them, and *used counts them. */
typedef struct Bounding {
	Asking ask;
	const Op *at;
	unsigned choice;
	int used;
	int depth;
} Bounding;
static Lin lin_of(Bounding *b, const Val *v, int dir);

enum { DEPTH = 24, CHOICES = 64, SAME_DEPTH = 12 };

static bool
choose(Bounding *b)
{
	return b->used < 8 && (b->choice >> b->used++ & 1);
}

/* ---- conditions of enclosing ifs ----------------------------------------------------------------- */

/* Bounds v under `x < y` (strict) or `x <= y`: if v = x + constant, it is at most y + constant - 1. */
static bool
bound_by(Bounding *b, const Val *v, const Val *x, const Val *y, bool strict, Lin *out)
{
	Lin lv, lx, ly, diff, gap;
	int64_t m;

	if (x->type.dtype != D_i64)
		return false;
	lv = lin_of(b, v, 0);
	lx = lin_of(b, x, 0);
	diff = lin_add(lv, lx, -1);
	if (!diff.ok || diff.n || diff.den != 1)
		return false;
	ly = lin_of(b, y, 0);
	gap = lin_add(ly, lx, -1);
	/* y - x is a multiple of m and positive, so at least m */
	m = gap.ok && gap.den == 1 ? lin_mult(&b->ask, &gap) : 1;
	m = m < 1 ? 1 : m;
	*out = lin_add(lin_add(lin_of(b, y, 1), lin_const(strict ? m : 0), -1), diff, 1);
	return out->ok;
}

static bool
bound_by_cond(Bounding *b, const Val *v, const Val *cond, bool taken, Lin *out)
{
	const Op *c = cond->def;

	if (!c || c->nin != 2)
		return false;
	if (c->code != O_lt && c->code != O_le)
		return false;
	if (taken)
		return bound_by(b, v, elt_lhs(c), elt_rhs(c), c->code == O_lt, out) && choose(b);
	return bound_by(b, v, elt_rhs(c), elt_lhs(c), c->code == O_le, out) && choose(b);
}

/* The end of a loop with at least one iteration. If it is a select between an end and the start, *cond is
 * true inside the loop. */
static const Val *
turns_end(const Op *loop, const Val **cond)
{
	const Op *o = for_hi(loop)->def;

	if (!o || o->code != O_select || select_no(o) != for_lo(loop))
		return for_hi(loop);
	if (cond)
		*cond = select_cond(o);
	return select_yes(o);
}

/* Bounds v by an enclosing condition; `choice` selects one of several. */
static bool
bound_by_scope(Bounding *b, const Val *v, Lin *out)
{
	const Block *blk = b->at->parent;

	if (b->depth > 4)
		return false;
	for (const Op *o; blk && (o = blk->owner); blk = o->parent) {
		const Val *cond = NULL;
		Joined all;
		bool found;
		int depth = b->depth;

		if (o->code == O_for)
			turns_end(o, &cond);
		else if (o->code == O_if)
			cond = if_cond(o);
		if (!cond)
			continue;
		b->depth = DEPTH - 8; /* conditions do not bound conditions */
		all = val_joined(cond, blk == o->blk[0] ? O_and : O_none);
		found = false;
		for (int i = 0; i < all.n && !found; i++)
			found = bound_by_cond(b, v, all.part[i], blk == o->blk[0], out);
		b->depth = depth;
		if (found)
			return true;
	}
	return false;
}

/* ---- values -------------------------------------------------------------------------------------- */

/* Bound of a value that is x or y: the weaker one (the larger for dir > 0); an atom if they are not
 * comparable. */
static Lin
lin_worse(Bounding *b, const Val *v, const Val *x, const Val *y, int dir)
{
	Lin lx = lin_of(b, x, dir), ly = lin_of(b, y, dir), d = lin_add(lx, ly, -1);

	if (lin_nonneg(&b->ask, &d))
		return dir > 0 ? lx : ly;
	d = lin_add(ly, lx, -1);
	if (lin_nonneg(&b->ask, &d))
		return dir > 0 ? ly : lx;
	return lin_atom(v);
}

/* Is x known not to be a multiple of c where b->at runs? True in the else region of `x % m == 0`, if m
 * divides c. */
static bool
is_no_multiple(Bounding *b, const Val *x, int64_t c)
{
	const Op *o;

	for (const Block *blk = b->at->parent; (o = blk->owner); blk = o->parent) {
		const Val *y = NULL;
		int64_t m = o->code == O_if && blk == o->blk[1] ? cond_multiple(if_cond(o), &y) : 0;
		Lin gap;

		if (!m || c % m)
			continue;
		gap = lin_add(lin_of(b, x, 0), lin_of(b, y, 0), -1);
		if (gap.ok && gap.n == 0 && gap.den == 1 && gap.c % m == 0)
			return true;
	}
	return false;
}

static Lin
lin_div(Bounding *b, const Val *v, const Val *x, int64_t c, int dir)
{
	Lin l, q;

	if (c < 1 || fact_of(&b->ask, x).lo < 0)
		return lin_atom(v);
	l = lin_of(b, x, dir);
	if (lin_floor(&b->ask, l, c, &q))
		return q;
	if (dir == 0 || !l.ok)
		return lin_atom(v);
	if (dir < 0)
		l = lin_add(l, lin_const(c - 1), -1);
	else if (is_no_multiple(b, x, c))
		l = lin_add(l, lin_const(1), -1);
	return lin_scale(l, 1, c);
}

static Lin
lin_mul(Bounding *b, const Val *v, const Val *x, const Val *y, int dir)
{
	Fact fx = fact_of(&b->ask, x), fy = fact_of(&b->ask, y);

	if (fy.lo == fy.hi)
		return lin_scale(lin_of(b, x, fy.lo < 0 ? -dir : dir), fy.lo, 1);
	if (fx.lo == fx.hi)
		return lin_scale(lin_of(b, y, fx.lo < 0 ? -dir : dir), fx.lo, 1);
	return lin_atom(v);
}

/* A remainder is less than the divisor, and at most the dividend. */
static Lin
lin_mod(Bounding *b, const Val *v, const Val *x, const Val *y, int dir)
{
	if (dir == 0 || fact_of(&b->ask, x).lo < 0 || fact_of(&b->ask, y).lo < 1)
		return lin_atom(v);
	if (dir < 0)
		return lin_const(0);
	return choose(b) ? lin_of(b, x, dir) : lin_add(lin_of(b, y, dir), lin_const(1), -1);
}

static Lin
lin_op(Bounding *b, const Val *v, int dir)
{
	const Op *o = v->def;
	Val *x = o->nin > 0 ? o->in[0] : NULL, *y = o->nin > 1 ? o->in[1] : NULL;
	Fact c = o->nin == 2 ? fact_of(&b->ask, y) : fact_type(D_i64);
	bool shift = c.lo == c.hi && c.lo >= 0 && c.lo < 62;

	switch (o->code) {
	case O_const: return lin_const(IMM(o, value));
	case O_add: return lin_add(lin_of(b, x, dir), lin_of(b, y, dir), 1);
	case O_sub: return lin_add(lin_of(b, x, dir), lin_of(b, y, -dir), -1);
	case O_neg: return lin_scale(lin_of(b, x, -dir), -1, 1);
	case O_mul: return lin_mul(b, v, x, y, dir);
	case O_shl: return shift ? lin_scale(lin_of(b, x, dir), (int64_t)1 << c.lo, 1) : lin_atom(v);
	case O_div: return c.lo == c.hi ? lin_div(b, v, x, c.lo, dir) : lin_atom(v);
	case O_mod: return lin_mod(b, v, x, y, dir);
	case O_shr: return shift ? lin_div(b, v, x, (int64_t)1 << c.lo, dir) : lin_atom(v);
	case O_min:
	case O_max:
		if (dir == 0)
			return lin_atom(v);
		if ((o->code == O_min) == (dir > 0)) /* both sides are bounds */
			return lin_of(b, choose(b) ? x : y, dir);
		return lin_worse(b, v, x, y, dir);
	case O_select: return dir == 0 ? lin_atom(v) : lin_worse(b, v, select_yes(o), select_no(o), dir);
	case O_block_id:
		if (dir <= 0 || !b->ask.k->grid || !b->ask.k->grid->last || b->ask.k->grid->last->nin != 3)
			return dir < 0 ? lin_const(0) : lin_atom(v);
		return lin_add(lin_of(b, b->ask.k->grid->last->in[IMM(o, axis)], 1), lin_const(1), -1);
	default: return lin_atom(v);
	}
}

/* Bounds the counter of a running loop: lo + i * step < hi. `exact`: by lo or hi as it is, not by a
 * bound of it. */
static Lin
lin_counter(Bounding *b, const Val *v, const Op *loop, int dir, bool exact)
{
	Lin lo, hi, gap;
	Fact step = fact_of(&b->ask, for_step(loop));
	const Val *end = turns_end(loop, NULL);
	int64_t m = 1;

	if (dir == 0 || step.lo < 1)
		return lin_atom(v);
	if (dir < 0)
		return lin_of(b, for_lo(loop), exact ? 0 : -1);
	while (end->def && end->def->code == O_min) /* it is below both operands */
		end = end->def->in[choose(b)];
	lo = lin_of(b, for_lo(loop), 0);
	hi = lin_of(b, end, 0);
	gap = lin_add(hi, lo, -1);
	if (gap.ok && gap.den == 1)
		m = gcd64(lin_mult(&b->ask, &gap), step.mult);
	return lin_add(lin_of(b, end, exact ? 0 : 1), lin_const(m < 1 ? 1 : m), -1);
}

static Lin
lin_of(Bounding *b, const Val *v, int dir)
{
	Fact f = fact_of(&b->ask, v);
	Lin out;

	if (b->depth >= DEPTH || !type_is_index(&v->type) || b->ask.steps <= 0)
		return lin_atom(v);
	if (dir > 0 && bound_by_scope(b, v, &out))
		return out;
	if (f.lo == f.hi)
		return lin_const(f.lo);
	if (fact_is_full(f)) /* may have wrapped around */
		return lin_atom(v);
	b->depth++;
	if (v->def)
		out = lin_op(b, v, dir);
	else if (v->block->owner && v->block->owner->code == O_for && v->index == 0)
		out = lin_counter(b, v, v->block->owner, dir, false);
	else
		out = lin_atom(v);
	b->depth--;
	return out.ok ? out : lin_atom(v);
}

Lin
lin_exact(const Op *at, const Val *v)
{
	Bounding b = { .ask = fact_asking(at->parent->kernel), .at = at };

	return lin_of(&b, v, 0);
}

/* Returns a common divisor of size and all starts, which also divides their difference. */
static int64_t
common_mult(Kernel *k, Val *const *start, int n, const Val *size)
{
	int64_t m = val_fact(k, size).mult;

	for (int i = 0; i < n; i++)
		m = gcd64(m, val_fact(k, start[i]).mult);
	return m;
}

/* Returns the loop whose counter v is; or NULL. */
static const Op *
counted_by(const Val *v)
{
	const Op *loop = v->def || v->index ? NULL : v->block->owner;

	return loop && loop->code == O_for ? loop : NULL;
}

/* Returns a lower bound of x by bounds of each of its terms, of loop counters first. */
static Lin
least_by_terms(Bounding *b, const Lin *of)
{
	Lin without = *of, *x = &without, sum;

	for (int i = 0; i < of->n; i++) {
		const Val *v = of->t[i].v;
		Lin end = counted_by(v) ? lin_counter(b, v, counted_by(v), of->t[i].k > 0 ? -1 : 1, true)
		                        : lin_atom(v);

		without = lin_add(lin_add(without, lin_atom(v), -of->t[i].k), end, of->t[i].k);
	}
	sum = lin_const(x->c);
	if (!x->ok || x->den != 1)
		return *x;
	for (int i = 0; i < x->n; i++)
		sum = lin_add(sum, lin_of(b, x->t[i].v, x->t[i].k > 0 ? -1 : 1), x->t[i].k);
	return sum;
}

/* Is size - extent at least the sum of the starts, by a lower bound of the size and upper bounds of
 * these, or, `exact`, by one of the difference, in which what they have in common cancels out? */
static bool
prove_room(Kernel *k, const Op *at, Val *const *start, int n, int64_t extent, const Val *size, bool exact)
{
	Lin gap = lin_add(lin_exact(at, size), lin_const(extent), -1);

	for (int i = 0; i < n; i++)
		gap = lin_add(gap, lin_exact(at, start[i]), -1);
	if (exact && (!gap.ok || gap.den != 1))
		return false;
	for (unsigned choice = 0; choice < CHOICES; choice++) {
		Bounding b = { .ask = fact_asking_at(k, at), .at = at, .choice = choice };
		Lin room;

		if (exact) {
			room = least_by_terms(&b, &gap);
		} else {
			room = lin_add(lin_of(&b, size, -1), lin_const(extent), -1);
			for (int i = 0; i < n; i++)
				room = lin_add(room, lin_of(&b, start[i], 1), -1);
		}
		b.ask.steps = 500; /* the remainder has few atoms */
		if (lin_nonneg(&b.ask, &room))
			return true;
		if (choice + 1 >= 1u << (b.used < 6 ? b.used : 6))
			return false;
	}
	return false;
}

/* For start = x / c and size = y / c, rounded down: returns c, or 0 if they have another form. */
static int64_t
same_divisor(Kernel *k, const Val *start, const Val *size, Val **x, Val **y)
{
	const Op *p = start->def, *q = size->def;
	int64_t c, d;

	if (!p || !q || p->code != O_div || q->code != O_div || !val_is_const(elt_rhs(p), &c) ||
	    !val_is_const(elt_rhs(q), &d) || c != d || c < 1 || val_fact(k, elt_lhs(p)).lo < 0 ||
	    val_fact(k, elt_lhs(q)).lo < 0)
		return 0;
	*x = elt_lhs(p);
	*y = elt_lhs(q);
	return c;
}

bool
prove_inside(Kernel *k, const Op *at, Val *const *start, int n, int64_t extent, const Val *size)
{
	Val *x, *y;
	int64_t c = n == 1 ? same_divisor(k, start[0], size, &x, &y) : 0, more;

	if (c && mul64(c, extent, &more) && prove_inside(k, at, &x, 1, more, y))
		return true;
	if (prove_room(k, at, start, n, extent, size, false) ||
	    prove_room(k, at, start, n, extent, size, true))
		return true;
	if (n == 1 && start[0]->def && start[0]->def->code == O_max)
		return prove_inside(k, at, &start[0]->def->in[0], 1, extent, size) &&
		       prove_inside(k, at, &start[0]->def->in[1], 1, extent, size);
	if (size->def && size->def->code == O_min &&
	    prove_inside(k, at, start, n, extent, elt_lhs(size->def)) &&
	    prove_inside(k, at, start, n, extent, elt_rhs(size->def)))
		return true;
	/* if one element is in bounds, so are all up to the common divisor */
	return extent > 1 && common_mult(k, start, n, size) >= extent &&
	       prove_room(k, at, start, n, 1, size, false);
}

bool
index_equal(const Op *at, const Val *x, const Val *y)
{
	Bounding b = { .ask = fact_asking_at(at->parent->kernel, at), .at = at };
	Lin gap;

	if (val_same(x, y, SAME_DEPTH))
		return true;
	gap = lin_add(lin_of(&b, x, 0), lin_of(&b, y, 0), -1);
	return gap.ok && gap.n == 0 && gap.c == 0;
}
