/* memory_order_linear.c - pass_validate_barriers: evaluates scalars on a path as linear forms of their
 * values at the start of the walk, plus a range. */
#include "infer/validate/linear_form.h"
#include "hexc/analysis/analysis.h"
#include "infer/validate/memory_order.h"

enum { LEAST_DEPTH = 1, MOST_DEPTH = 200, TWICE_DEPTH = 8, FOUND_MOST = 256 };

/* The value of v in a state, for one query. */
typedef struct OrderFound {
	const OrderState *s;
	const Val *v;
	OrderSum is;
} OrderFound;

/* ---- sums ------------------------------------------------------------------------------------ */

OrderSum
sum_between(int64_t lo, int64_t hi)
{
	return (OrderSum){ .lo = lo, .hi = hi };
}

OrderSum
sum_const(int64_t c)
{
	return sum_between(c, c);
}

static OrderSum
sum_of(const Val *v)
{
	return (OrderSum){ .n = 1, .term = { { .k = 1, .v = v } } };
}

bool
sum_is_const(const OrderSum *x, int64_t *c)
{
	*c = x->lo;
	return x->n == 0 && x->lo == x->hi;
}

/* *x += times * y, for bounds; `none`, INT64_MIN or INT64_MAX, is no bound. */
static void
bound_add(int64_t *x, int64_t y, int64_t times, int64_t none)
{
	bool open = *x == none || y == INT64_MIN || y == INT64_MAX;

	if (times == 0)
		return;
	if (open || !mul64(y, times, &y) || !add64(*x, y, x))
		*x = none;
}

static void
add_range(OrderSum *x, int64_t lo, int64_t hi, int64_t times)
{
	bound_add(&x->lo, times > 0 ? lo : hi, times, INT64_MIN);
	bound_add(&x->hi, times > 0 ? hi : lo, times, INT64_MAX);
}

static bool
same_value(const Val *x, const Val *y)
{
	LinearForm a = affine_add(affine_const(0), (LinearForm){ .ok = true, .n = 1, .k = { 1 },
								 .v = { x } }, 1);

	a = affine_add(a, (LinearForm){ .ok = true, .n = 1, .k = { 1 }, .v = { y } }, -1);
	return x == y || (a.ok && a.n == 0);
}

/* Are the terms equal apart from their factors? */
static bool
same_term(const OrderTerm *x, const OrderTerm *y)
{
	return x->by == y->by && x->plus == y->plus && x->of == y->of && x->turn == y->turn &&
	       same_value(x->v, y->v);
}

/* Computes the range of the term before multiplication by k. */
static void
term_range(Order *w, const OrderTerm *t, int64_t *lo, int64_t *hi)
{
	Fact f = val_fact(w->k, t->v);
	int64_t by = t->by ? t->by : 1;

	*lo = f.lo;
	*hi = f.hi;
	if (t->of) {
		*lo = 0;
		*hi = t->of - 1;
	} else if (t->by) {
		*lo = f.lo > 0 ? f.lo / by : f.lo == INT64_MIN ? f.lo : f.lo / by - 1;
		*hi = f.hi > INT64_MAX - t->plus ? INT64_MAX : f.hi > 0 ? (f.hi + t->plus) / by : 0;
	}
}

static void
add_term(Order *w, OrderSum *x, OrderTerm t)
{
	int64_t lo, hi;
	int i = 0;

	while (i < x->n && !same_term(&x->term[i], &t))
		i++;
	if (i == SUM_TERMS || (i < x->n && !add64(x->term[i].k, t.k, &t.k))) {
		term_range(w, &t, &lo, &hi);
		add_range(x, lo, hi, t.k);
		return;
	}
	if (i == x->n)
		x->n++;
	x->term[i] = t;
	if (t.k == 0)
		x->term[i] = x->term[--x->n];
}

OrderSum
sum_add(Order *w, OrderSum x, OrderSum y, int64_t times)
{
	add_range(&x, y.lo, y.hi, times);
	for (int i = 0; i < y.n && times; i++) {
		OrderTerm t = y.term[i];

		if (mul64(t.k, times, &t.k))
			add_term(w, &x, t);
		else
			x.lo = INT64_MIN, x.hi = INT64_MAX;
	}
	return x;
}

bool
sum_equal(const OrderSum *x, const OrderSum *y)
{
	if (x->n != y->n || x->lo != y->lo || x->hi != y->hi)
		return false;
	for (int i = 0; i < x->n; i++) {
		int j = 0;

		while (j < y->n && (x->term[i].k != y->term[j].k || x->term[i].v != y->term[j].v ||
		                    !same_term(&x->term[i], &y->term[j])))
			j++;
		if (j == y->n)
			return false;
	}
	return true;
}

void
sum_range(Order *w, const OrderSum *x, int64_t *lo, int64_t *hi)
{
	OrderSum all = sum_between(x->lo, x->hi);

	for (int i = 0; i < x->n; i++) {
		int64_t least, most;

		term_range(w, &x->term[i], &least, &most);
		add_range(&all, least, most, x->term[i].k);
	}
	*lo = all.lo;
	*hi = all.hi;
}

/* ---- disjointness ---------------------------------------------------------------------------- */

/* .. because gap is a constant plus multiples of others? */
static bool
misses(const OrderSum *gap, int64_t x, int64_t y)
{
	int64_t g = 0, rest;

	if (gap->n == 0 || gap->lo != gap->hi)
		return false;
	for (int i = 0; i < gap->n; i++)
		g = gcd64(g, gap->term[i].k);
	rest = g > 0 ? (gap->lo % g + g) % g : 0;
	return g > 0 && rest >= x && g - rest >= y;
}

/* Are the two terms remainders of the same value, shifted by different amounts? Their difference then has
 * two possible values. */
static bool
one_ring(const OrderTerm *x, const OrderTerm *y)
{
	return x->of && x->of == y->of && x->by == y->by && x->plus == y->plus && x->k == -y->k &&
	       same_value(x->v, y->v);
}

bool
sum_apart(Order *w, const OrderSum *gap, int64_t x, int64_t y)
{
	int64_t lo, hi;

	if (x < 0 || y < 0)
		return false;
	sum_range(w, gap, &lo, &hi);
	if (lo >= x || hi <= -y || misses(gap, x, y))
		return true;
	for (int i = 0; i < gap->n; i++)
		for (int j = 0; j < i; j++) {
			const OrderTerm *a = &gap->term[i], *b = &gap->term[j];
			int64_t on = one_ring(a, b) ? ((a->turn - b->turn) % a->of + a->of) % a->of : 0;
			OrderSum less = *gap, more;

			if (!on)
				continue;
			less.term[i] = less.term[less.n - 1];
			less.term[j] = less.term[less.n - 2];
			less.n -= 2;
			more = less;
			add_range(&less, on - a->of, on - a->of, a->k);
			add_range(&more, on, on, a->k);
			return sum_apart(w, &less, x, y) && sum_apart(w, &more, x, y);
		}
	return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Was v computed in an iteration that the walk has left? */
static bool
is_made_again(const OrderState *s, const Val *v)
{
	for (int i = 0; i < s->nturned; i++)
		if (block_inside(v->block, s->turned[i].loop->blk[0]))
			return true;
	return false;
}

static bool
is_unchanged(Order *w, const OrderState *s, const Val *v, int depth)
{
	int64_t c;

	if (val_is_const(v, &c) || w->met[v->id] == w->walk)
		return true;
	w->met[v->id] = w->walk; /* the walk ends at the first value that changes */
	if (order_bound(s, v) || depth == 0)
		return false;
	if (!v->def || !op_is(v->def, F_PURE))
		return !is_made_again(s, v);
	for (int i = 0; i < v->def->nin; i++)
		if (!is_unchanged(w, s, v->def->in[i], depth - 1))
			return false;
	return true;
}

bool
order_same(Order *w, const OrderState *s, const Val *v, int depth)
{
	w->walk++;
	return is_unchanged(w, s, v, depth);
}

static OrderSum value_at(Order *w, const OrderState *s, const Val *v, int depth);

/* Expresses the dividend `is` of o as one term and a constant. */
static bool
as_one(Order *w, const Op *o, const OrderSum *is, int depth, OrderTerm *t, int64_t *more)
{
	const OrderState none = { .bounds = NULL };
	OrderSum was, gap;

	if (is->n == 1 && is->term[0].k == 1 && !is->term[0].of && is->lo == is->hi) {
		*t = is->term[0];
		*more = is->lo;
		return true;
	}
	if (depth < MOST_DEPTH - TWICE_DEPTH) /* once more for each nested division */
		return false;
	was = value_at(w, &none, elt_lhs(o), depth - 1);
	gap = sum_add(w, *is, was, -1);
	*t = (OrderTerm){ .k = 1, .v = elt_lhs(o) };
	return sum_is_const(&gap, more);
}

/* At o, is v never negative, and too small to have overflowed? */
static bool
is_count(Order *w, const Op *o, const Val *v)
{
	Fact f = val_fact(w->k, v);
	LinearForm x;

	if (f.lo >= 0 || f.lo == INT64_MIN || f.hi == INT64_MAX)
		return f.lo >= 0 && f.hi < INT64_MAX;
	x = affine_of(w->k, v);
	return known_implies(order_known(w, o), &x);
}

/* Evaluates a division or remainder by a constant. */
static bool
divided(Order *w, const OrderState *s, const Op *o, int depth, OrderSum *is)
{
	int64_t c, more, down;
	OrderSum of;
	OrderTerm t;

	if (!val_is_const(elt_rhs(o), &c) || c <= 0 || !is_count(w, o, elt_lhs(o)))
		return false;
	of = value_at(w, s, elt_lhs(o), depth - 1);
	if (of.n == 0 || !as_one(w, o, &of, depth, &t, &more))
		return false;
	if (o->code == O_mod) {
		t.turn = (more % c + c) % c;
		t.of = c;
		*is = (OrderSum){ .n = 1, .term = { t } };
		return true;
	}
	if (t.by)
		return false;
	down = more / c - (more % c < 0);
	t.plus = more - down * c;
	t.by = c;
	*is = (OrderSum){ .n = 1, .lo = down, .hi = down, .term = { t } };
	return true;
}

/* What is known of v without its operands. */
static OrderSum
value_as_term(Order *w, const OrderState *s, const Val *v)
{
	Fact f;

	if (order_same(w, s, v, MOST_DEPTH))
		return sum_of(v);
	f = val_fact(w->k, v);
	return sum_between(f.lo, f.hi);
}

/* Evaluates any other pure op. */
static OrderSum
value_of_op(Order *w, const OrderState *s, const Val *v, int depth)
{
	const Op *o = v->def;
	int64_t x, y, is;
	OrderSum a, b;

	if (o->nin == 2 && o->nout == 1 && o->in[0]->type.space == S_scalar &&
	    type_is_index(&o->in[0]->type)) {
		a = value_at(w, s, o->in[0], depth - 1);
		b = value_at(w, s, o->in[1], depth - 1);
		if (sum_is_const(&a, &x) && sum_is_const(&b, &y) && i64_eval(o->code, x, y, &is))
			return sum_const(is);
	}
	return value_as_term(w, s, v);
}

/* Evaluates a pure op whose result is a scalar. */
static OrderSum
value_of_pure(Order *w, const OrderState *s, const Val *v, int depth)
{
	const Op *o = v->def;
	int64_t c;
	OrderSum x;

	if (o->code == O_select) {
		x = value_at(w, s, select_cond(o), depth - 1);
		if (sum_is_const(&x, &c))
			return value_at(w, s, c ? select_yes(o) : select_no(o), depth - 1);
	}
	if (!type_is_index(&v->type))
		return value_of_op(w, s, v, depth);
	/* also if they may overflow: the distances are the same then */
	if (o->code == O_add || o->code == O_sub) {
		x = sum_add(w, value_at(w, s, elt_lhs(o), depth - 1), value_at(w, s, elt_rhs(o), depth - 1),
		            o->code == O_add ? 1 : -1);
		return x.lo != x.hi && order_same(w, s, v, MOST_DEPTH) ? sum_of(v) : x; /* too many terms */
	}
	if (o->code == O_mul && (val_is_const(elt_lhs(o), &c) || val_is_const(elt_rhs(o), &c)))
		return sum_add(w, sum_const(0),
		               value_at(w, s, val_is_const(elt_rhs(o), &c) ? elt_lhs(o) : elt_rhs(o),
		                        depth - 1),
		               c);
	if ((o->code == O_div || o->code == O_mod) && divided(w, s, o, depth, &x))
		return x;
	return value_of_op(w, s, v, depth);
}

/* As value_of_pure, once per query, for at most FOUND_MOST values. */
static OrderSum
value_once(Order *w, const OrderState *s, const Val *v, int depth)
{
	OrderSum is;

	for (int i = 0; i < w->nfound; i++)
		if (w->found[i].v == v && w->found[i].s == s)
			return w->found[i].is;
	if (!w->found)
		w->found = NEWN(w->k->unit->arena, OrderFound, FOUND_MOST);
	if (w->nfound == FOUND_MOST)
		return value_as_term(w, s, v);
	is = value_of_pure(w, s, v, depth);
	if (w->nfound < FOUND_MOST)
		w->found[w->nfound++] = (OrderFound){ s, v, is };
	return is;
}

static OrderSum
value_at(Order *w, const OrderState *s, const Val *v, int depth)
{
	const Op *o = v->def;
	const OrderSum *bound = order_bound(s, v);
	uint8_t slot = w->follow.slot[v->id];
	int64_t c;

	if (val_is_const(v, &c))
		return sum_const(c);
	if (bound)
		return *bound;
	if (slot && w->way && w->way->number[slot - 1] != UNKNOWN && order_same(w, s, v, MOST_DEPTH))
		return sum_const(w->way->number[slot - 1]);
	w->vague = w->vague || (slot && w->way && w->way->number[slot - 1] == UNKNOWN);
	if (!o || !op_is(o, F_PURE) || depth < LEAST_DEPTH || v->type.space != S_scalar)
		return value_as_term(w, s, v);
	return value_once(w, s, v, depth);
}

OrderSum
order_value(Order *w, const OrderState *s, const Val *v)
{
	w->nfound = 0;
	return value_at(w, s, v, MOST_DEPTH);
}
