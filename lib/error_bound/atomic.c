/* atomic.c - bounds the results of atomic updates, any number of which hit an element, in any order. */
#include "hexc/ir/dtype_value.h"
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>

static bool
adds_floats(const Op *o)
{
	return o->code == O_store && IMM(o, update) == STORE_ADD && bound_is_float(store_value(o));
}

bool
bound_sums_shared(const Op *o)
{
	return adds_floats(o) && store_dest(o)->type.space == S_shared;
}

bool
bound_has_sums(const Kernel *k, const Val *tensor)
{
	OpWalk w;

	for (Op *o = walk_first(&w, k->body); o; o = walk_next(&w))
		if (adds_floats(o) && view_root(store_dest(o)) == tensor)
			return true;
	return false;
}

static void
put(Twin *t, const Op *o, Val *x, Val *to, StoreKind kind)
{
	Val *in[2] = { x, to };

	IMM_SET(op_new(t->at, NULL, O_store, o->src, 2, in, 0, NULL), update, kind);
}

/* A store to an element that is added to restarts its sum. */
static void
start_sum(Twin *t, const Op *o, const BoundSums *s)
{
	Val *x = bound_val(t, store_value(o));

	for (int i = 0; i < BOUND_SUMS; i++)
		put(t, o, i == BOUND_START ? bound_f64(t, x) : bound_const(t, x, 0), s->at[i], STORE_PLAIN);
}

static void
add_to_sum(Twin *t, const Op *o, const BoundSums *s)
{
	Val *x = bound_val(t, store_value(o));

	put(t, o, ABS(bound_f64(t, x)), s->at[BOUND_SIZE], STORE_ADD);
	put(t, o, bound_const(t, x, 1), s->at[BOUND_COUNT], STORE_ADD);
	put(t, o, bound_fraction(t, x), s->at[BOUND_FRACTION], STORE_MAX);
}

/* Bit operations: nothing is known of what inexact values leave, nor of what they leave in inexact memory. */
static void
put_bits(Twin *t, const Op *o, Val *e)
{
	Val *x = bound_val(t, store_value(o)), *mem = t->err[store_dest(o)->id];

	mem = bound_op(t, O_load, 1, &mem, bound_type(&x->type));
	e = bound_add(t, mem, e);
	e = bound_if_positive(t, e, bound_const(t, x, (double)INFINITY));
	put(t, o, e, t->err[store_dest(o)->id], STORE_MAX);
}

/* Bounds what an update leaves. Maxima and minima are off by the largest error of the values combined
 * there, sums by all errors together; sums of floats are rounded once per update. */
bool
bound_update(Twin *t, const Op *o)
{
	const BoundSums *s = t->sums[store_dest(o)->id];
	Val *e = t->err[store_value(o)->id];

	if (IMM(o, update) == STORE_PLAIN) {
		if (s)
			start_sum(t, o, s);
		return true;
	}
	if (bound_sums_shared(o)) { /* the number of updates is not counted */
		put(t, o, bound_const(t, bound_val(t, store_value(o)), (double)INFINITY),
		    t->err[store_dest(o)->id], STORE_MAX);
		return false;
	}
	if (s && IMM(o, update) != STORE_ADD)
		t->failed = true; /* mixed with additions, the result is undefined */
	else if (s)
		add_to_sum(t, o, s);
	if (IMM(o, update) >= STORE_AND)
		put_bits(t, o, e);
	else if (e)
		put(t, o, e, t->err[store_dest(o)->id],
		    IMM(o, update) == STORE_ADD ? STORE_ADD : STORE_MAX);
	return false;
}

/* Each term takes part in at most n - 1 additions, so every order's result is within ((1 + u)^(n-1) - 1)
 * times the sum of magnitudes of the exact sum, and two results are within twice that. The initial value
 * is a term if it is not 0. Two terms have one possible sum; sums of integers that the type represents are
 * exact. */
double
bound_of_sum(DType d, double e, const double sum[BOUND_SUMS])
{
	double start = sum[BOUND_START], size = fabs(start) + sum[BOUND_SIZE] + e, g;
	double n = sum[BOUND_COUNT] + (start < 0 || start > 0 || isnan(start));
	bool whole = sum[BOUND_FRACTION] <= 0 && (isinf(start) || floor(start) >= start);

	if (sum[BOUND_COUNT] <= 0)
		return e;
	if (e <= 0 && whole && size <= bound_integers(d))
		return 0;
	g = e <= 0 && n <= 2 ? 0 : expm1((n - 1) * log1p(bound_roundoff(d)));
	if (!((1 + g) * size <= num_largest(d)))
		return (double)INFINITY; /* some orders overflow */
	e += 2 * g * size;
	/* atomic f32 additions flush subnormal numbers to 0: terms, and the sum */
	e += d == D_f32 ? 3 * sum[BOUND_COUNT] * bound_smallest(d, true) : 0;
	return e * (1 + ldexp(1, -40));
}
