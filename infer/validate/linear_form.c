/* linear_form.c - computes linear forms of scalars, and their implications, for the validators. */
#include "infer/validate/linear_form.h"
#include "hexc/analysis/analysis.h"

enum { DEPTH = 32, EXPANDED_MAX = 256, DIVISOR_MAX = 1 << 20 };

LinearForm
affine_const(int64_t c)
{
	return (LinearForm){ .ok = true, .c = c };
}

static LinearForm
affine_val(const Val *v)
{
	LinearForm x = { .ok = true, .n = 1 };

	x.k[0] = 1;
	x.v[0] = v;
	return x;
}

static bool
same_scalar(const Val *x, const Val *y, int depth)
{
	const Op *a = x->def, *b = y->def;
	int64_t c, d;

	if (x == y)
		return true;
	if (val_is_const(x, &c) && val_is_const(y, &d))
		return c == d && x->type.dtype == y->type.dtype;
	if (depth == 0 || !a || !b || a->code != b->code || !type_same(&x->type, &y->type))
		return false;
	if (a->code == O_block_id && (IMM(a, axis) != IMM(b, axis) || a->nin != b->nin))
		return false;
	if (a->code == O_linear_block_id)
		return IMM(a, all) == IMM(b, all);
	if ((!op_is(a, F_ELT) && a->code != O_block_id) || x->type.space != S_scalar)
		return false;
	for (int i = 0; i < a->nin; i++)
		if (!same_scalar(a->in[i], b->in[i], depth - 1))
			return false;
	return true;
}

static void
add_term(LinearForm *x, int64_t k, const Val *v)
{
	int i = 0;

	while (i < x->n && !same_scalar(x->v[i], v, DEPTH))
		i++;
	if (i == x->n) {
		x->ok = x->ok && x->n < AFFINE_TERMS;
		if (!x->ok)
			return;
		x->v[x->n] = v;
		x->k[x->n++] = 0;
	}
	x->ok = x->ok && add64(x->k[i], k, &x->k[i]);
	if (x->k[i] == 0) {
		x->n--;
		x->k[i] = x->k[x->n];
		x->v[i] = x->v[x->n];
	}
}

LinearForm
affine_add(LinearForm x, LinearForm y, int64_t times)
{
	int64_t c;

	x.ok = x.ok && y.ok && mul64(y.c, times, &c) && add64(x.c, c, &x.c);
	for (int i = 0; i < y.n && x.ok; i++) {
		x.ok = mul64(y.k[i], times, &c);
		if (x.ok && c)
			add_term(&x, c, y.v[i]);
	}
	return x;
}

/* May v be any 64-bit value? Its computation may then have overflowed. */
static bool
may_have_wrapped(Kernel *k, const Val *v)
{
	Fact f = val_fact(k, v);

	return f.lo == INT64_MIN || f.hi == INT64_MAX;
}

/* *left: the values that may still be expanded, as values can be reached in exponentially many ways. */
static LinearForm
affine_at(Kernel *k, const Val *v, int depth, int *left)
{
	const Op *o = v->def;
	int64_t c, sign;

	if (val_is_const(v, &c))
		return affine_const(c);
	if (!o || depth == 0 || --*left < 0 || !type_is_index(&v->type) || may_have_wrapped(k, v))
		return affine_val(v);
	sign = o->code == O_sub ? -1 : 1;
	switch (o->code) {
	case O_cast: /* from a narrower type: the value is unchanged */
		return affine_val(dtype_is_float(op_source(o)->type.dtype) ? v : op_source(o));
	case O_add:
	case O_sub:
		return affine_add(affine_at(k, elt_lhs(o), depth - 1, left),
		                  affine_at(k, elt_rhs(o), depth - 1, left), sign);
	case O_mul:
		if (val_is_const(elt_rhs(o), &c))
			return affine_add(affine_const(0), affine_at(k, elt_lhs(o), depth - 1, left), c);
		return affine_val(v);
	default: return affine_val(v);
	}
}

LinearForm
affine_of(Kernel *k, const Val *v)
{
	int left = EXPANDED_MAX;

	return affine_at(k, v, DEPTH, &left);
}

bool
affine_equal(const LinearForm *x, const LinearForm *y)
{
	LinearForm gap = affine_add(*x, *y, -1);

	return gap.ok && gap.n == 0 && gap.c == 0;
}

/* ---- division -------------------------------------------------------------------------------- */

/* v = (a - r) / d exactly, with `least` <= r <= `most`. */
typedef struct Quotient {
	const Val *a;
	int64_t d, least, most;
} Quotient;

/* Is v a quotient by a constant? Division truncates: the remainder has the dividend's sign. */
static bool
is_quotient(Kernel *k, const Val *v, Quotient *q)
{
	const Op *o = v->def;
	int64_t most;
	Fact f;

	if (!o || o->code != O_div || !type_is_index(&v->type) || !val_is_const(elt_rhs(o), &q->d))
		return false;
	if (q->d <= 1 || q->d > DIVISOR_MAX)
		return false;
	q->a = elt_lhs(o);
	f = val_fact(k, q->a);
	most = f.mult % q->d == 0 ? 0 : q->d - 1;
	q->least = f.lo >= 0 ? 0 : max64(f.lo, -most);
	q->most = f.hi <= 0 ? 0 : min64(f.hi, most);
	return true;
}

/* Returns a factor that turns all divisions in x into linear forms; 1 if there are none. */
static int64_t
common_divisor(Kernel *k, const LinearForm *x)
{
	int64_t all = 1;
	Quotient q;

	for (int i = 0; i < x->n; i++)
		if (is_quotient(k, x->v[i], &q) && all / gcd64(all, q.d) * q.d <= DIVISOR_MAX)
			all = all / gcd64(all, q.d) * q.d;
	return all;
}

/* Returns x times that factor, as a linear form of the dividends: its lower or its upper bound. */
static LinearForm
undivided(Kernel *k, const LinearForm *x, int64_t by, bool least)
{
	LinearForm out = affine_add(affine_const(0), affine_const(x->c), by);
	int64_t times;
	Quotient q;

	for (int i = 0; i < x->n && out.ok; i++) {
		if (!is_quotient(k, x->v[i], &q) || by % q.d) {
			LinearForm one = affine_val(x->v[i]);

			out.ok = mul64(x->k[i], by, &times);
			out = affine_add(out, one, times);
			continue;
		}
		out.ok = mul64(x->k[i], by / q.d, &times);
		out = affine_add(out, affine_of(k, q.a), times);
		out = affine_add(out, affine_const((times > 0) == least ? q.most : q.least), -times);
	}
	return out;
}

/* ---- implications ---------------------------------------------------------------------------- */

void
known_add(Known *h, LinearForm x)
{
	int64_t by = x.ok ? common_divisor(h->k, &x) : 1;
	LinearForm whole;

	VEC_PUSH(h->k->unit->arena, h->sum, h->n, h->cap, x);
	if (by == 1)
		return;
	whole = undivided(h->k, &x, by, false);
	if (whole.ok)
		VEC_PUSH(h->k->unit->arena, h->sum, h->n, h->cap, whole);
}

/* Adds that x is not c. */
static void
known_other(Known *h, const Val *x, int64_t c)
{
	const Op *o = x->def;
	Fact f = val_fact(h->k, x);

	if (f.lo == c)
		known_add(h, affine_add(affine_add(affine_of(h->k, x), affine_const(c), -1),
		                        affine_const(1), -1));
	/* then its dividend is not 0 either */
	if (o && o->code == O_mod && c == 0 && val_fact(h->k, elt_lhs(o)).lo >= 0)
		known_add(h, affine_add(affine_of(h->k, elt_lhs(o)), affine_const(1), -1));
}

void
known_condition(Known *h, const Val *v, bool is)
{
	const Op *o = v->def;
	int64_t c;
	LinearForm gap;
	bool less;

	if (!o)
		return;
	if (o->code == (is ? O_ne : O_eq) && type_is_index(&elt_lhs(o)->type) && val_is_const(elt_rhs(o), &c))
		known_other(h, elt_lhs(o), c);
	if (o->code == (is ? O_and : O_or)) {
		known_condition(h, elt_lhs(o), is);
		known_condition(h, elt_rhs(o), is);
		return;
	}
	if ((o->code != O_le && o->code != O_lt) || !type_is_index(&elt_lhs(o)->type))
		return;
	less = (o->code == O_lt) == is; /* one is strictly less than the other */
	gap = affine_add(affine_of(h->k, o->in[is]), affine_of(h->k, o->in[!is]), -1);
	known_add(h, affine_add(gap, affine_const(less), -1));
}

void
known_around(Known *h, const Op *at)
{
	for (const Block *b = at->parent; b->owner; b = b->owner->parent) {
		const Op *o = b->owner;

		if (o->code == O_if && !IMM(o, zero_fill))
			known_condition(h, if_cond(o), b == o->blk[0]);
		if (o->code == O_for) {
			LinearForm counter = affine_of(h->k, b->arg[0]), end = affine_of(h->k, for_hi(o));

			known_add(h, affine_add(counter, affine_of(h->k, for_lo(o)), -1));
			known_add(h, affine_add(affine_add(end, counter, -1), affine_const(1), -1));
		}
	}
}

/* Is x >= 0 for all values in the ranges of its terms? */
static bool
is_never_negative(Kernel *k, const LinearForm *x)
{
	int64_t least = x->c, p;

	for (int i = 0; i < x->n && x->ok; i++) {
		Fact f = val_fact(k, x->v[i]);

		if (!mul64(x->k[i], x->k[i] > 0 ? f.lo : f.hi, &p) || !add64(least, p, &least))
			return false;
	}
	return x->ok && least >= 0;
}

static bool
implies_sum(const Known *h, const LinearForm *x)
{
	if (is_never_negative(h->k, x))
		return true;
	for (int i = 0; i < h->n; i++) {
		LinearForm left = affine_add(*x, h->sum[i], -1);

		if (is_never_negative(h->k, &left))
			return true;
		for (int j = 0; j < i; j++) {
			LinearForm less = affine_add(left, h->sum[j], -1);

			if (is_never_negative(h->k, &less))
				return true;
		}
	}
	return false;
}

/* Divides x by the largest common factor of its terms: c + g y >= 0 is floor(c / g) + y >= 0. */
static LinearForm
reduced(LinearForm x)
{
	int64_t g = 0;

	for (int i = 0; i < x.n; i++)
		g = gcd64(g, x.k[i] < 0 ? -x.k[i] : x.k[i]);
	if (!x.ok || g < 2)
		return x;
	for (int i = 0; i < x.n; i++)
		x.k[i] /= g;
	x.c = floor_div(x.c, g);
	return x;
}

bool
known_implies(const Known *h, const LinearForm *x)
{
	int64_t by = x->ok ? common_divisor(h->k, x) : 1;
	LinearForm whole;

	if (implies_sum(h, x))
		return true;
	if (by == 1)
		return false;
	whole = affine_add(undivided(h->k, x, by, true), affine_const(by - 1), 1); /* x is an integer */
	whole = reduced(whole);
	return whole.ok && implies_sum(h, &whole);
}
