/* op_rules.c - computes the bound of an op's result from its operands and their bounds.
 * Names: x, y operands; ex, ey their bounds; r the result; e its bound. All arithmetic is in f64. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

/* ---- rounding --------------------------------------------------------------------------------- */

/* Returns the magnitude of the op's result in f64, on the interpreter's operands; NULL if that would need
 * another dot. */
static Val *
magnitude(Twin *t, const Site *s)
{
	Val *in[3];

	if (s->o->code == O_reduce_sum)
		return ABS(bound_reduce(t, O_reduce_sum, bound_f64(t, s->x[0]), (int)IMM(s->o, dim)));
	if (!op_is(s->o, F_ELT))
		return NULL;
	for (int i = 0; i < s->o->nin; i++)
		in[i] = bound_f64(t, s->x[i]);
	return ABS(s->o->code == O_cast ? in[0] : bound_opn(t, s->o->code, s->o->nin, in, D_f64));
}

/* The magnitude as a factor of approximation errors: infinite results count as 1e300. */
static Val *
finite(Twin *t, const Site *s)
{
	return MIN(magnitude(t, s), NUM(1e300));
}

/* Bound e for infinite results: 0 if every correct result is infinite, because an operand is, or because
 * the result exceeds the largest value by more than e. Unknown bounds stay unknown. */
static Val *
infinite(Twin *t, const Site *s, Val *e)
{
	DType d = s->r->type.dtype;
	Val *v = magnitude(t, s), *surely = bound_cmp(t, O_le, e, NUM(0)), *past;

	if (v) {
		past = SUB(v, e);
		past = bound_cmp(t, O_lt, NUM(num_largest(d) * (1 + 2 * bound_roundoff(d))), past);
		surely = bound_opn(t, O_or, 2, (Val *[]){ surely, past }, D_bool);
	}
	return bound_where(t, surely, NUM(0), NUM(INFINITY));
}

/* Returns e, or infinity (unknown) if it is NaN. */
static Val *
no_nan(Twin *t, Val *e)
{
	return bound_where(t, bound_cmp(t, O_eq, e, e), e, bound_const(t, e, INFINITY));
}

/* The integer result wraps: if it may pass an end of its type, e is no bound of the difference. */
static Val *
unless_wrapped(Twin *t, const Site *s, Val *e)
{
	double range = ldexp(1, dtype_info[s->r->type.dtype].bits);
	double most = dtype_is_sint(s->r->type.dtype) ? range / 2 : range;
	Val *r = bound_f64(t, s->r), *top = bound_cmp(t, O_lt, ADD(r, e), NUM(most));
	Val *end = bound_cmp(t, O_lt, NUM(most - range - 1), SUB(r, e));

	end = bound_opn(t, O_and, 2, (Val *[]){ top, end }, D_bool);
	e = bound_where(t, end, MUL(e, NUM(1 + ldexp(1, -40))), NUM(INFINITY));
	return e;
}

/* Adds rounding: both executions round their result to r's type. Equal exact results round equally; others
 * each by at most u |result| + half the smallest value. Infinite results are compared unrounded; a finite one
 * and an infinite one have no bound. Integer results wrap instead. */
Val *
bound_rounded(Twin *t, const Site *s, Val *e)
{
	DType d = s->r->type.dtype;
	Val *r, *m;

	if (!e)
		return NULL;
	if (!bound_is_float(s->r))
		return bound_if_positive(t, e, unless_wrapped(t, s, e));
	r = ABS(bound_f64(t, s->r));
	m = ADD(MUL(ADD(r, e), NUM(2 * bound_roundoff(d))), NUM(bound_smallest(d, false)));
	m = no_nan(t, MUL(ADD(e, m), NUM(1 + ldexp(1, -40))));
	if (isinf(num_round(d, INFINITY))) /* half a unit past the largest number is infinite */
		m = bound_where(t, bound_cmp(t, O_le, NUM(num_largest(d)), ADD(r, e)), NUM(INFINITY), m);
	m = bound_where(t, bound_cmp(t, O_eq, r, NUM(INFINITY)), infinite(t, s, e), m);
	return bound_if_positive(t, e, m);
}

/* Adds the bounds that are not NULL; returns NULL if both are. */
Val *
bound_add(Twin *t, Val *a, Val *b)
{
	if (!a || !b)
		return a ? a : b;
	return ADD(a, b);
}

static Val *
max_of(Twin *t, Val *a, Val *b)
{
	if (!a || !b)
		return a ? a : b;
	return MAX(a, b);
}

/*x| ey: the error of x y due to y. For infinite x the result is infinite in both executions, unless y may be
 * 0. */
static Val *
times(Twin *t, Val *x, Val *y, Val *ey)
{
	Val *size = ABS(bound_f64(t, x)), *sure = bound_cmp(t, O_lt, ey, ABS(bound_f64(t, y)));
	Val *none = bound_const(t, size, 0), *all = bound_const(t, size, INFINITY);
	Val *e = MUL(size, ey);

	e = bound_where(t, bound_cmp(t, O_eq, size, all), bound_where(t, sure, none, all), e);
	return bound_if_positive(t, ey, e);
}

/* |x' y' - x y| */
static Val *
product(Twin *t, Val *x, Val *ex, Val *y, Val *ey)
{
	Val *e = NULL;

	if (ey)
		e = times(t, x, y, ey);
	if (ex)
		e = bound_add(t, e, times(t, y, x, ex));
	return ex && ey ? ADD(e, MUL(ex, ey)) : e;
}

/* Does the device round the op's exact result once, like the interpreter? */
static bool
rounds_once(const Site *s)
{
	return s->r->type.dtype == D_f64 || IMM(s->o, exact);
}

/* Is it a constant whose division equals a multiplication: a power of two whose reciprocal the type
 * represents? */
static bool
is_power_of_2(const Val *v)
{
	double c = v->def && v->def->code == O_const ? v->def->fimm : 0;
	int exp;

	return fabs(frexp(c, &exp)) == 0.5 && isfinite(num_round(v->type.dtype, 1 / c));
}

/* (ex + |r| ey) / (|y| - ey); infinite if y may be 0; 0 for infinite x */
static Val *
quotient(Twin *t, const Site *s)
{
	Val *ex = s->e[0] ? s->e[0] : NUM(0), *ey = s->e[1] ? s->e[1] : NUM(0);
	Val *low = SUB(ABS(bound_f64(t, s->x[1])), ey), *x = ABS(bound_f64(t, s->x[0]));
	Val *top = ADD(ex, MUL(ABS(DIV(x, bound_f64(t, s->x[1]))), ey));
	Val *wide = bound_where(t, bound_cmp(t, O_lt, NUM(0), low), DIV(top, low), NUM(INFINITY));

	top = bound_where(t, bound_cmp(t, O_lt, ex, NUM(INFINITY)), NUM(0), wide);
	low = bound_where(t, bound_cmp(t, O_lt, NUM(0), low), top, wide);
	wide = bound_where(t, bound_cmp(t, O_eq, x, NUM(INFINITY)), low, wide);
	return bound_if_positive(t, ADD(ex, ey), wide);
}

/* Returns `yes` where an operand may be below the smallest normal value, else `no`. */
static Val *
where_tiny(Twin *t, const Site *s, int operand, Val *yes, Val *no)
{
	Val *x = ABS(bound_f64(t, s->x[operand])), *low = s->e[operand] ? SUB(x, s->e[operand]) : x;

	return bound_where(t, bound_cmp(t, O_lt, low, NUM(bound_smallest(D_f32, true))), yes, no);
}

/* Adds to bound e of the exact quotient the error of div.full (2 ulp) or of a product with rcp.approx (1
 * ulp, for a subnormal reciprocal 2^-21 of it, and the product's rounding), with one bit of slack.
 * Operands and results below the smallest normal value may be flushed to 0: x / 0 is infinite, or NaN if x
 * is flushed too. */
static Val *
rough_quotient(Twin *t, const Site *s, Val *e)
{
	Val *r = ADD(finite(t, s), e), *y = ABS(bound_f64(t, s->x[1])), *x = ABS(bound_f64(t, s->x[0]));
	Val *m = ADD(MUL(r, NUM(ldexp(1, -20))), NUM(bound_smallest(D_f32, true)));

	m = ADD(m, where_tiny(t, s, 0, r, NUM(0)));
	m = where_tiny(t, s, 1, NUM(INFINITY), ADD(e, m));
	x = bound_if_positive(t, x, where_tiny(t, s, 0, NUM(INFINITY), NUM(0)));
	return bound_where(t, bound_cmp(t, O_eq, ADD(y, e), NUM(0)), x, m);
}

Val *
bound_of_shift(Twin *t, const Site *s)
{
	Val *r;

	if (!s->e[0])
		return NULL;
	r = bound_op1(t, O_shift, s->e[0]); /* the fill value is exact */
	IMM_SET(r->def, dim, IMM(s->o, dim));
	IMM_SET(r->def, by, IMM(s->o, by));
	return r;
}

/* Ops for which only equality of operands is useful: no bound once an operand differs. */
Val *
bound_of_unknown(Twin *t, const Site *s)
{
	Val *e = NULL;

	for (int i = 0; i < s->o->nin; i++)
		e = bound_add(t, e, s->e[i]);
	return e ? bound_if_positive(t, e, NUM(INFINITY)) : NULL;
}

/* ---- functions -------------------------------------------------------------------------------- */

/* Error of one approximation: relative, and relative per unit of |x|. PTX ISA, "Floating Point
 * Instructions": ex2.approx 2^-22, lg2.approx 2^-22 absolute around 1 and relative elsewhere, rsqrt.approx
 * 2^-22.9, tanh.approx 2^-11 (for half types only; f32 uses a polynomial or two roundings of ex2). exp(x)
 * is ex2(x * log2 e): the product's rounding is |x| 2^-24 of the result. One bit of slack on each; half
 * types are computed in f32 and rounded once more. */
static void
approx(OpCode code, DType d, double *rel, double *per_x)
{
	*rel = ldexp(1, -21);
	*per_x = code == O_exp ? ldexp(1, -23) : 0;
	if (code == O_tanh)
		*rel = ldexp(1, dtype_info[d].bits < 32 ? -10 : -20);
}

/* f(x + ex) - f(x - ex) for an increasing f; `cut`: lower ends below 0 become 0 */
static Val *
rising(Twin *t, const Site *s, OpCode code, Val *ex, bool cut)
{
	Val *x = bound_f64(t, s->x[0]), *low = SUB(x, ex);

	if (cut)
		low = MAX(low, NUM(0));
	return SUB(bound_op1(t, code, ADD(x, ex)), bound_op1(t, code, low));
}

/* floor and similar ops are increasing and exact, but nearby arguments may be a step apart. */
Val *
bound_of_step(Twin *t, const Site *s)
{
	Val *ex = s->e[0];

	return ex ? bound_if_positive(t, ex, no_nan(t, rising(t, s, s->o->code, ex, false))) : NULL;
}

/* sqrt.approx: 2^-23, with a bit of slack as above. May be NaN if the argument may be below 0. */
Val *
bound_of_sqrt(Twin *t, const Site *s)
{
	Val *ex = s->e[0], *e = NULL;

	if (ex) {
		e = rising(t, s, O_sqrt, ex, true);
		if (!float_never(s->o->in[0], FLOAT_BELOW_0))
			e = bound_where(t, bound_cmp(t, O_le, ex, bound_f64(t, s->x[0])), e, NUM(INFINITY));
		e = bound_if_positive(t, ex, e);
	}
	if (!rounds_once(s)) {
		Val *r = finite(t, s);

		e = bound_add(t, e, MUL(e ? ADD(r, e) : r, NUM(ldexp(1, -22))));
	}
	return bound_rounded(t, s, e);
}

Val *
bound_of_function(Twin *t, const Site *s)
{
	DType d = s->r->type.dtype;
	OpCode code = s->o->code;
	Val *ex = s->e[0], *e = NUM(0), *m, *x = ABS(bound_f64(t, s->x[0]));
	bool flushes = (code != O_exp && code != O_exp2) || !IMM(s->o, exact);
	double rel, per_x;

	if (ex)
		e = bound_if_positive(t, ex, ABS(rising(t, s, code, ex, code == O_log || code == O_rsqrt)));
	approx(code, d, &rel, &per_x);
	m = ADD(finite(t, s), e);
	if (code == O_log)
		m = MAX(m, NUM(1));
	x = MIN(ex ? ADD(x, ex) : x, NUM(1000)); /* beyond, the result is 0 or infinite */
	m = MUL(m, ADD(NUM(rel), MUL(x, NUM(per_x))));
	m = ADD(m, NUM(bound_smallest(D_f32, flushes)));
	return bound_rounded(t, s, ADD(e, m));
}

/* ---- comparisons, choices, casts -------------------------------------------------------------- */

/* Returns how far the difference of x and y may be off in f64; NULL, which is 0, unless they are integers
 * of 64 bits. */
static Val *
lost_bits(Twin *t, Val *x, Val *y)
{
	if (bound_is_float(x) || dtype_info[x->type.dtype].bits < 64)
		return NULL;
	x = ADD(ABS(bound_f64(t, x)), ABS(bound_f64(t, y)));
	return MUL(x, bound_const(t, x, ldexp(1, -52)));
}

/* Returns how far the operands are apart, or less. */
static Val *
distance_of_operands(Twin *t, const Site *s)
{
	Val *gap = ABS(SUB(bound_f64(t, s->x[0]), bound_f64(t, s->x[1])));
	Val *lost = lost_bits(t, s->x[0], s->x[1]);

	return lost ? SUB(gap, lost) : gap;
}

/* 1 where the comparison may go either way */
Val *
bound_of_compare(Twin *t, const Site *s)
{
	Val *e = bound_add(t, s->e[0], s->e[1]), *gap;

	if (!e)
		return NULL;
	gap = distance_of_operands(t, s);
	/* infinities of one sign, and NaN: exact as long as anything is known of them */
	gap = bound_where(t, bound_cmp(t, O_eq, gap, gap), gap, NUM(INFINITY));
	return bound_where(t, bound_cmp(t, O_le, e, NUM(0)), NUM(0),
	                   bound_where(t, bound_cmp(t, O_lt, e, gap), NUM(0), NUM(1)));
}

/*x - y|: 0 for equal infinities; infinite if the difference is NaN */
static Val *
distance(Twin *t, Val *x, Val *y)
{
	Val *d = ABS(SUB(x, y)), *zero = bound_const(t, x, 0);

	d = bound_where(t, bound_cmp(t, O_eq, d, d), d, bound_const(t, x, INFINITY));
	return bound_where(t, bound_cmp(t, O_eq, x, y), zero, d);
}

Val *
bound_of_select(Twin *t, const Site *s)
{
	Val *zero, *either;

	if (IMM(s->o, known) != KNOWN_NOTHING)
		return bound_known(t, s);
	if (!s->e[0] && !s->e[1] && !s->e[2])
		return NULL;
	zero = NUM(0);
	if (!s->e[0])
		return bound_where(t, s->x[0], s->e[1] ? s->e[1] : zero, s->e[2] ? s->e[2] : zero);
	either = max_of(t, s->e[1], s->e[2]);
	either = bound_add(t, either, distance(t, bound_f64(t, s->x[1]), bound_f64(t, s->x[2])));
	either = bound_add(t, either, lost_bits(t, s->x[1], s->x[2]));
	return bound_where(
		t, bound_cmp(t, O_lt, zero, s->e[0]), either,
		bound_where(t, s->x[0], s->e[1] ? s->e[1] : zero, s->e[2] ? s->e[2] : zero));
}

Val *
bound_of_cast(Twin *t, const Site *s)
{
	const DTypeInfo *from = &dtype_info[s->x[0]->type.dtype], *to = &dtype_info[s->r->type.dtype];
	Val *ex = s->e[0], *x = bound_f64(t, s->x[0]), *high, *low;

	if (!ex)
		return NULL;
	if (to->kind == K_flt)
		return bound_rounded(t, s, ex);
	if (to->kind == K_pred) /* x' and x may have different truth values only if x is that near to 0 */
		return bound_if_positive(t, ex,
		                         bound_where(t, bound_cmp(t, O_lt, ex, ABS(x)), NUM(0), NUM(1)));
	high = ADD(x, ex);
	low = SUB(x, ex);
	if (from->kind == K_flt) { /* toward zero: increases with x, but NaN becomes 0 */
		high = bound_opn(t, O_cast, 1, &high, s->r->type.dtype);
		low = bound_opn(t, O_cast, 1, &low, s->r->type.dtype);
		low = SUB(bound_f64(t, high), bound_f64(t, low));
		return bound_where(t, bound_cmp(t, O_lt, ex, NUM(INFINITY)), low, NUM(ldexp(1, to->bits)));
	}
	if (from->kind != K_pred && to->bits <= from->bits)
		return bound_of_unknown(t, s);
	if (from->kind != K_sint || to->kind != K_uint)
		return ex;
	/* negative numbers become large ones, so the sign must be sure */
	high = bound_cmp(t, O_lt, high, NUM(0));
	low = bound_cmp(t, O_le, NUM(0), low);
	return bound_where(t, bound_opn(t, O_or, 2, (Val *[]){ high, low }, D_bool), ex, NUM(INFINITY));
}

/* ---- the rest --------------------------------------------------------------------------------- */

/* Looks up the entry's bound; unknown if the index may differ. */
Val *
bound_of_lookup(Twin *t, const Site *s)
{
	Val *in[2] = { s->e[0], bound_val(t, lookup_index(s->o)) }, *e = NULL;

	if (in[0])
		e = bound_op(t, s->o->code, 2, in, bound_type(&s->r->type));
	return bound_add(t, e, s->e[1] ? bound_if_positive(t, s->e[1], NUM(INFINITY)) : NULL);
}

Val *
bound_moved(Twin *t, const Op *o, Val *x)
{
	Val *in[2 + DIM_MAX] = { x };

	for (int i = 1; i < o->nin; i++)
		in[i] = bound_val(t, o->in[i]);
	x = bound_op(t, o->code, o->nin, in, bound_type(&o->out[0]->type));
	memcpy(x->def->imm, o->imm, sizeof o->imm);
	if (o->code == O_mask) /* integers fill with an integer */
		IMM_SET(x->def, fill, 0);
	return x;
}

Val *
bound_of_move(Twin *t, const Site *s)
{
	for (int i = 1; i < s->o->nin; i++) /* the limits of a mask, or positions: must be exact */
		bound_doubt(t, t->err[s->o->in[i]->id]);
	return s->e[0] ? bound_moved(t, s->o, s->e[0]) : NULL;
}

/* Concatenates the bounds like the tiles. */
Val *
bound_of_concat(Twin *t, const Site *s)
{
	Val *in[2] = { bound_or_zero(t, concat_first(s->o)), bound_or_zero(t, concat_second(s->o)) }, *e;

	if (!s->e[0] && !s->e[1])
		return NULL;
	e = bound_op(t, O_concat, 2, in, bound_type(&s->r->type));
	IMM_SET(e->def, dim, IMM(s->o, dim));
	return e;
}

Val *
bound_of_extreme(Twin *t, const Site *s)
{
	Val *e;

	if (bound_arg(t, s, &e))
		return e;
	return s->e[0] ? bound_reduce(t, O_reduce_max, s->e[0], (int)IMM(s->o, dim)) : NULL;
}

Val *
bound_of_add(Twin *t, const Site *s)
{
	const Op *left = elt_lhs(s->o)->def, *right = elt_rhs(s->o)->def;
	Val *e = bound_add(t, s->e[0], s->e[1]);

	if (op_is_late(left))
		e = bound_add(t, e, bound_late(t, s, left));
	if (op_is_late(right))
		e = bound_add(t, e, bound_late(t, s, right));
	return bound_rounded(t, s, e);
}

Val *
bound_of_mul(Twin *t, const Site *s)
{
	return bound_rounded(t, s, product(t, s->x[0], s->e[0], s->x[1], s->e[1]));
}

Val *
bound_of_fma(Twin *t, const Site *s)
{
	Val *e = product(t, s->x[0], s->e[0], s->x[1], s->e[1]);

	e = bound_add(t, e, s->e[2]);
	if (op_is_late(fma_addend(s->o)->def))
		e = bound_add(t, e, bound_late(t, s, fma_addend(s->o)->def));
	return bound_rounded(t, s, e);
}

Val *
bound_of_div(Twin *t, const Site *s)
{
	bool once = !bound_is_float(s->r) || rounds_once(s) || is_power_of_2(elt_rhs(s->o));
	Val *e;

	if (once && ((!s->e[0] && !s->e[1]) || !bound_is_float(s->r)))
		return bound_of_unknown(t, s);
	e = quotient(t, s);
	return bound_rounded(t, s, once ? e : rough_quotient(t, s, e));
}

/* The larger of two errors; where the operands are further apart than they may be off, that of the result. */
Val *
bound_of_larger(Twin *t, const Site *s)
{
	Val *x = bound_f64(t, s->x[0]), *gap, *own, *e = max_of(t, s->e[0], s->e[1]);

	if (!e)
		return NULL;
	gap = distance_of_operands(t, s);
	own = bound_where(t, bound_cmp(t, O_eq, x, bound_f64(t, s->r)), s->e[0] ? s->e[0] : NUM(0),
	                  s->e[1] ? s->e[1] : NUM(0));
	return bound_where(t, bound_cmp(t, O_lt, bound_add(t, s->e[0], s->e[1]), gap), own, e);
}

/* Returns e, or 0 where bool operand i decides the result of `and` or `or` alone. */
static Val *
unless_decided(Twin *t, const Site *s, int i, Val *e)
{
	Val *x = bound_f64(t, s->x[i]), *decided;

	decided = bound_cmp(t, O_eq, x, NUM(s->o->code == O_and ? 0 : 1));
	if (s->e[i]) {
		Val *sure = bound_cmp(t, O_le, s->e[i], NUM(0));

		decided = bound_opn(t, O_and, 2, (Val *[]){ decided, sure }, D_bool);
	}
	return bound_where(t, decided, NUM(0), e);
}

Val *
bound_of_logic(Twin *t, const Site *s)
{
	Val *e = max_of(t, s->e[0], s->e[1]);

	if (s->r->type.dtype != D_bool)
		return bound_of_unknown(t, s);
	for (int i = 0; e && i < 2 && (s->o->code == O_and || s->o->code == O_or); i++)
		e = unless_decided(t, s, i, e);
	return e;
}

/* -x and |x|, of integers modulo a power of two */
Val *
bound_of_sign(Twin *t, const Site *s)
{
	return bound_is_float(s->r) ? s->e[0] : bound_rounded(t, s, s->e[0]);
}

Val *
bound_of_same(Twin *t, const Site *s)
{
	(void)t;
	return s->e[0];
}

Val *
bound_of_exact(Twin *t, const Site *s)
{
	(void)t;
	(void)s;
	return NULL;
}

Val *
bound_of_no_value(Twin *t, const Site *s)
{
	(void)t;
	(void)s;
	return NULL;
}
