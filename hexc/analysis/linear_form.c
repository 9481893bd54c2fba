/* linear_form.c - implements exact arithmetic on linear forms, and their bounds and divisors by range
 * analysis. */
#include "hexc/analysis/linear_form.h"

/* ok == false */
static Lin
lin_none(void)
{
	Lin x = { .ok = false, .den = 1 };

	return x;
}

Lin
lin_const(int64_t c)
{
	Lin x = { .ok = true, .den = 1, .c = c };

	return x;
}

Lin
lin_atom(const Val *v)
{
	Lin x = lin_const(0);

	x.n = 1;
	x.t[0].k = 1;
	x.t[0].v = v;
	return x;
}

/* Cancels common factors of numerator and denominator. */
static Lin
lin_reduce(Lin x)
{
	int64_t g = gcd64(x.den, x.c);

	for (int i = 0; i < x.n; i++)
		g = gcd64(g, x.t[i].k);
	if (g > 1) {
		x.den /= g;
		x.c /= g;
		for (int i = 0; i < x.n; i++)
			x.t[i].k /= g;
	}
	return x;
}

Lin
lin_scale(Lin x, int64_t scale, int64_t over)
{
	if (!x.ok || over < 1 || scale == INT64_MIN)
		return lin_none();
	if (scale == 0)
		return lin_const(0);
	if (!mul64(x.c, scale, &x.c) || !mul64(x.den, over, &x.den))
		return lin_none();
	for (int i = 0; i < x.n; i++)
		if (!mul64(x.t[i].k, scale, &x.t[i].k))
			return lin_none();
	return lin_reduce(x);
}

static bool
add_term(Lin *x, int64_t k, const Val *v)
{
	for (int i = 0; i < x->n; i++) {
		if (x->t[i].v != v && !val_same(x->t[i].v, v, 8))
			continue;
		if (!add64(x->t[i].k, k, &x->t[i].k))
			return false;
		if (x->t[i].k == 0)
			x->t[i] = x->t[--x->n];
		return true;
	}
	if (x->n == LIN_TERMS)
		return false;
	x->t[x->n].k = k;
	x->t[x->n++].v = v;
	return true;
}

Lin
lin_add(Lin x, Lin y, int64_t scale)
{
	int64_t g, fx, fy;

	y = lin_scale(y, scale, 1);
	if (!x.ok || !y.ok)
		return lin_none();
	g = gcd64(x.den, y.den);
	fx = y.den / g; /* scale to the common denominator */
	fy = x.den / g;
	if (!mul64(x.den, fx, &x.den) || !mul64(x.c, fx, &x.c) || !mul64(y.c, fy, &y.c) ||
	    !add64(x.c, y.c, &x.c))
		return lin_none();
	for (int i = 0; i < x.n; i++)
		if (!mul64(x.t[i].k, fx, &x.t[i].k))
			return lin_none();
	for (int i = 0; i < y.n; i++)
		if (!mul64(y.t[i].k, fy, &y.t[i].k) || !add_term(&x, y.t[i].k, y.t[i].v))
			return lin_none();
	return lin_reduce(x);
}

/* Returns a divisor of the sum of the terms without c. */
static int64_t
terms_mult(Asking *a, const Lin *x)
{
	int64_t g = 0, m;

	for (int i = 0; i < x->n; i++) {
		Fact f = fact_of(a, x->t[i].v);
		if (!mul64(f.mult, x->t[i].k, &m))
			m = x->t[i].k;
		g = gcd64(g, m);
	}
	return g;
}

int64_t
lin_mult(Asking *a, const Lin *x)
{
	return gcd64(terms_mult(a, x), x->c);
}

bool
lin_floor(Asking *a, Lin x, int64_t c, Lin *out)
{
	int64_t r;

	if (!x.ok || x.den != 1 || c < 1 || terms_mult(a, &x) % c != 0)
		return false;
	r = floor_div(x.c, c);
	x.c = 0;
	*out = lin_add(lin_scale(x, 1, c), lin_const(r), 1);
	return out->ok;
}

bool
lin_least(Asking *a, const Lin *x, int64_t *out)
{
	int64_t p;

	*out = x->c;
	for (int i = 0; i < x->n; i++) {
		Fact f = fact_of(a, x->t[i].v);
		if (!mul64(x->t[i].k, x->t[i].k > 0 ? f.lo : f.hi, &p) || !add64(*out, p, out))
			return false;
	}
	return x->ok;
}

bool
lin_nonneg(Asking *a, const Lin *x)
{
	int64_t least;

	return lin_least(a, x, &least) && least >= 0;
}
