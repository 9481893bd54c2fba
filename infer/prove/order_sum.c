/* order_sum.c - numbers on a way: sums of what values were where the walk began, with an uncertain
 * rest. */
#include "infer/prove/affine.h"
#include "infer/prove/order.h"

enum { LEAST_DEPTH = 1, MOST_DEPTH = 24 };

/* ---- sums ------------------------------------------------------------------------------------ */

Sum
sum_between(int64_t lo, int64_t hi)
{
	return (Sum){ .lo = lo, .hi = hi };
}

Sum
sum_const(int64_t c)
{
	return sum_between(c, c);
}

static Sum
sum_of(const Val *v)
{
	Sum x = { .n = 1 };

	x.k[0] = 1;
	x.v[0] = v;
	return x;
}

bool
sum_is_const(const Sum *x, int64_t *c)
{
	*c = x->lo;
	return x->n == 0 && x->lo == x->hi;
}

/* *x + times * y, of bounds: INT64_MIN or INT64_MAX, as `none` says, where there is none. */
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
add_range(Sum *x, int64_t lo, int64_t hi, int64_t times)
{
	bound_add(&x->lo, times > 0 ? lo : hi, times, INT64_MIN);
	bound_add(&x->hi, times > 0 ? hi : lo, times, INT64_MAX);
}

static bool
same_value(const Val *x, const Val *y)
{
	Affine a = affine_add(affine_const(0), (Affine){ .ok = true, .n = 1, .k = { 1 }, .v = { x } }, 1);

	a = affine_add(a, (Affine){ .ok = true, .n = 1, .k = { 1 }, .v = { y } }, -1);
	return x == y || (a.ok && a.n == 0);
}

static void
add_term(Order *w, Sum *x, const Val *v, int64_t k)
{
	int i = 0;
	Fact f;

	while (i < x->n && !same_value(x->v[i], v))
		i++;
	if (i == SUM_TERMS || (i < x->n && !add64(x->k[i], k, &k))) {
		f = val_fact(w->k, v);
		add_range(x, f.lo, f.hi, k);
		return;
	}
	if (i == x->n) {
		x->v[x->n++] = v;
		x->k[i] = k;
		return;
	}
	x->k[i] = k;
	if (k == 0) {
		x->n--;
		x->k[i] = x->k[x->n];
		x->v[i] = x->v[x->n];
	}
}

Sum
sum_add(Order *w, Sum x, Sum y, int64_t times)
{
	add_range(&x, y.lo, y.hi, times);
	for (int i = 0; i < y.n && times; i++) {
		int64_t k;

		if (mul64(y.k[i], times, &k))
			add_term(w, &x, y.v[i], k);
		else
			x.lo = INT64_MIN, x.hi = INT64_MAX;
	}
	return x;
}

bool
sum_equal(const Sum *x, const Sum *y)
{
	if (x->n != y->n || x->lo != y->lo || x->hi != y->hi)
		return false;
	for (int i = 0; i < x->n; i++) {
		int j = 0;

		while (j < y->n && (x->v[i] != y->v[j] || x->k[i] != y->k[j]))
			j++;
		if (j == y->n)
			return false;
	}
	return true;
}

void
sum_range(Order *w, const Sum *x, int64_t *lo, int64_t *hi)
{
	Sum all = sum_between(x->lo, x->hi);

	for (int i = 0; i < x->n; i++) {
		Fact f = val_fact(w->k, x->v[i]);

		add_range(&all, f.lo, f.hi, x->k[i]);
	}
	*lo = all.lo;
	*hi = all.hi;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Made in a turn that the walk has left behind, for another one? */
static bool
is_made_again(const State *s, const Val *v)
{
	for (int i = 0; i < s->nturned; i++)
		if (block_inside(v->block, s->turned[i].loop->blk[0]))
			return true;
	return false;
}

bool
order_same(const Order *w, const State *s, const Val *v, int depth)
{
	int64_t c;

	if (val_is_const(v, &c))
		return true;
	if (order_bound(s, v) || depth == 0)
		return false;
	if (!v->def || !op_is(v->def, F_PURE))
		return !is_made_again(s, v);
	for (int i = 0; i < v->def->nin; i++)
		if (!order_same(w, s, v->def->in[i], depth - 1))
			return false;
	return true;
}

static Sum value_at(Order *w, const State *s, const Val *v, int depth);

/* Of any other pure op. */
static Sum
value_of_op(Order *w, const State *s, const Val *v, int depth)
{
	const Op *o = v->def;
	int64_t x, y, is;
	Sum a, b;
	Fact f;

	if (o->nin == 2 && o->nout == 1 && o->in[0]->type.space == S_scalar &&
	    type_is_index(&o->in[0]->type)) {
		a = value_at(w, s, o->in[0], depth - 1);
		b = value_at(w, s, o->in[1], depth - 1);
		if (sum_is_const(&a, &x) && sum_is_const(&b, &y) && i64_eval(o->code, x, y, &is))
			return sum_const(is);
	}
	if (order_same(w, s, v, MOST_DEPTH))
		return sum_of(v);
	f = val_fact(w->k, v);
	return sum_between(f.lo, f.hi);
}

static Sum
value_at(Order *w, const State *s, const Val *v, int depth)
{
	const Op *o = v->def;
	const Sum *bound = order_bound(s, v);
	uint8_t slot = w->follow.slot[v->id];
	Fact f = val_fact(w->k, v);
	int64_t c;
	Sum x;

	if (val_is_const(v, &c))
		return sum_const(c);
	if (bound)
		return *bound;
	if (slot && w->way && w->way->number[slot - 1] != UNKNOWN && order_same(w, s, v, MOST_DEPTH))
		return sum_const(w->way->number[slot - 1]);
	w->vague = w->vague || (slot && w->way && w->way->number[slot - 1] == UNKNOWN);
	if (!o || !op_is(o, F_PURE) || depth < LEAST_DEPTH || v->type.space != S_scalar)
		return order_same(w, s, v, MOST_DEPTH) ? sum_of(v) : sum_between(f.lo, f.hi);
	if (o->code == O_select) {
		x = value_at(w, s, o->in[0], depth - 1);
		if (sum_is_const(&x, &c))
			return value_at(w, s, o->in[c ? 1 : 2], depth - 1);
	}
	if (!type_is_index(&v->type))
		return value_of_op(w, s, v, depth);
	/* also where they may wrap around: distances are the same then */
	if (o->code == O_add || o->code == O_sub)
		return sum_add(w, value_at(w, s, o->in[0], depth - 1), value_at(w, s, o->in[1], depth - 1),
		               o->code == O_add ? 1 : -1);
	if (o->code == O_mul && (val_is_const(o->in[0], &c) || val_is_const(o->in[1], &c)))
		return sum_add(w, sum_const(0),
		               value_at(w, s, o->in[val_is_const(o->in[1], &c) ? 0 : 1], depth - 1), c);
	return value_of_op(w, s, v, depth);
}

Sum
order_value(Order *w, const State *s, const Val *v)
{
	return value_at(w, s, v, MOST_DEPTH);
}
