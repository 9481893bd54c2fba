/* sum.c - bounds sums and dots for any summation order. */
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/block_scale.h"
#include "hexc/ir/sparse.h"
#include "lib/error_bound/error_bound_internal.h"
#include <math.h>
#include <string.h>

Val *
bound_fraction(Twin *t, Val *x)
{
	Val *f = bound_f64(t, x), *whole;

	whole = bound_opn(t, O_cast, 1, &f, D_i64);
	whole = ABS(SUB(f, bound_f64(t, whole)));
	return bound_where(t, bound_cmp(t, O_eq, f, f), whole, bound_const(t, f, INFINITY));
}

Val *
bound_reduce(Twin *t, OpCode code, Val *x, int dim)
{
	Type type = bound_type(&x->type);

	type.shape[dim] = 1;
	x = bound_op(t, code, 1, &x, type);
	IMM_SET(x->def, dim, dim);
	return x;
}

Val *
bound_broadcast_to(Twin *t, Val *x, const Val *like)
{
	return bound_op(t, O_broadcast, 1, &x, bound_type(&like->type));
}

/* Bound for any order of adding `terms` values whose magnitudes sum to `size`; 0 if they are integers
 * (fraction 0) whose sum the accumulator's type d represents. Unknown if some orders may pass the largest
 * number: if the sum itself does, only if numbers of the other sign can pass it, too. */
static Val *
order(Twin *t, const Site *s, DType d, Val *size, Val *frac, double terms)
{
	Val *any = ADD(MUL(size, NUM(2 * terms * bound_roundoff(d))), NUM(bound_smallest(d, d == D_f32)));
	Val *most = NUM(bound_integers(d)), *r = ABS(bound_f64(t, s->r));
	Val *rough = bound_where(t, bound_cmp(t, O_eq, frac, NUM(0)), NUM(0), NUM(1));
	Val *end = NUM(num_largest(d)), *past = NUM(3 * num_largest(d));

	end = bound_where(t, bound_cmp(t, O_eq, r, NUM(INFINITY)), past, end);
	any = bound_where(t, bound_cmp(t, O_lt, end, ADD(size, any)), NUM(INFINITY), any);
	/* infinite terms, or NaN: the sum is infinite, or NaN, in any order */
	any = bound_where(t, bound_cmp(t, O_eq, frac, NUM(INFINITY)), NUM(0), any);
	rough = MAX(rough, bound_where(t, bound_cmp(t, O_le, size, most), NUM(0), NUM(1)));
	return bound_if_positive(t, rough, bound_if_positive(t, size, any));
}

/* Returns the distance of the terms v of a sum from integers. The sum may add unrounded products of f32, so
 * the factors must be integers, too. */
static Val *
terms_fraction(Twin *t, const Val *v)
{
	const Op *o = v->type.dtype == D_f32 ? v->def : NULL;
	Val *own = bound_fraction(t, bound_val(t, v));

	if (o && o->code == O_mul && !IMM(o, exact)) {
		own = MAX(own, bound_fraction(t, bound_val(t, elt_lhs(o))));
		own = MAX(own, bound_fraction(t, bound_val(t, elt_rhs(o))));
	} else if (o && (o->code == O_mask || (op_moved(o) && o->code != O_splat))) {
		own = MAX(own, bound_moved(t, o, terms_fraction(t, o->in[0])));
	}
	return own;
}

Val *
bound_of_reduce_sum(Twin *t, const Site *s)
{
	/* half types are accumulated in f32 and rounded once */
	DType acc = dtype_accumulator(s->r->type.dtype);
	int dim = (int)IMM(s->o, dim);
	double terms = (double)s->x[0]->type.shape[dim];
	Val *ex = s->e[0] ? bound_reduce(t, O_reduce_sum, s->e[0], dim) : NULL, *size, *frac;

	if (!bound_is_float(s->r))
		return bound_rounded(t, s, ex);
	size = bound_reduce(t, O_reduce_sum, ABS(bound_f64(t, s->x[0])), dim);
	frac = bound_reduce(t, O_reduce_max, terms_fraction(t, op_source(s->o)), dim);
	if (ex) {
		size = ADD(size, ex);
		frac = ADD(frac, ex);
	}
	return bound_rounded(t, s, bound_add(t, ex, order(t, s, acc, size, frac, terms)));
}

/* Returns an upper bound of the loop's trip count, in r's shape. */
static Val *
turns(Twin *t, const Op *loop, const Val *r)
{
	Val *lo = bound_f64(t, bound_val(t, for_lo(loop))), *hi = bound_f64(t, bound_val(t, for_hi(loop)));
	Val *n = DIV(SUB(hi, lo), bound_f64(t, bound_val(t, for_step(loop))));

	n = ADD(n, bound_const(t, n, 1));
	return bound_op(t, O_splat, 1, &n, bound_type(&r->type));
}

/* Bound of adding reduction `sum` to a loop-carried value. In both executions a term is rounded once per
 * remaining iteration, and when partial sums are combined after the loop: at most once per iteration and
 * per term of the reduction. Integer terms get no exact result, as one iteration does not know the terms
 * of others. */
Val *
bound_late(Twin *t, const Site *s, const Op *sum)
{
	Val *x = bound_val(t, op_source(sum)), *ex = t->err[op_source(sum)->id], *size, *n, *e;
	DType d = s->r->type.dtype;
	int dim = (int)IMM(sum, dim);

	if (!bound_is_float(s->r))
		return NULL;
	x = ABS(bound_f64(t, x));
	size = bound_reduce(t, O_reduce_sum, ex ? ADD(x, ex) : x, dim);
	n = turns(t, s->o->parent->owner, s->r);
	e = MUL(ADD(n, NUM((double)op_source(sum)->type.shape[dim])), NUM(2 * bound_roundoff(d)));
	e = ADD(MUL(e, size), MUL(n, NUM(bound_smallest(d, d == D_f32))));
	return bound_if_positive(t, size, e);
}

static Val *
dot64(Twin *t, Val *a, Val *b, Val *c)
{
	Val *in[3] = { a, b, c };

	return bound_opn(t, O_dot, 3, in, D_f64);
}

/* Operand `side`, values times scales, may be rounded to the types in which it is computed, or not at all.
 * These types have enough digits, so only results below the smallest normal value are rounded, by half the
 * spacing there: a scale that enters the product, and the product. Above the largest value the result is
 * infinite or exact. Returns NULL if it is never rounded. */
static Val *
unrounded(Twin *t, const Site *s, int side)
{
	Val *r, *e = NULL;
	double most, least, half, normal;
	DType x, c, d;
	Scaled f;

	if (dot_is_scaled(s->o) || !scaled_factor(s->o, side, &f) || !f.scale.v)
		return NULL;
	x = f.value.v->type.dtype;
	c = f.scale.v->type.dtype;
	d = f.through;
	most = num_largest(x);
	least = dtype_info[c].codes == C_scale ? num_outside(c) : bound_smallest(c, false);
	least *= bound_smallest(x, false);
	half = bound_smallest(d, false) / 2;
	normal = bound_smallest(d, true);
	r = ABS(bound_f64(t, s->x[side]));
	if (!scaled_holds(d, c)) {
		half *= 1 + most;
		normal *= fmax(1, most);
	}
	if (!scaled_holds(d, c) || least < normal)
		e = bound_where(t, bound_cmp(t, O_le, r, bound_const(t, r, normal)), bound_const(t, r, half),
		                bound_const(t, r, 0));
	if (most * num_largest(c) <= num_largest(d))
		return e;
	return bound_where(t, bound_cmp(t, O_le, r, bound_const(t, r, num_largest(d))),
	                   e ? e : bound_const(t, r, 0), bound_const(t, r, INFINITY));
}

/* Changes x's extents by op `code`. */
static Val *
extents(Twin *t, OpCode code, Val *x, int rank, const int64_t *shape)
{
	Type type = bound_type(&x->type);

	type.rank = rank;
	for (int d = 0; d < rank; d++)
		type.shape[d] = shape[d];
	return bound_op(t, code, 1, &x, type);
}

/* Computes operand `side` of a dot with scales, from values and scales. */
static Val *
scaled_product(Twin *t, const Site *s, int side)
{
	Val *x = bound_f64(t, s->x[side]), *c = ABS(bound_f64(t, bound_val(t, mma_extra(s->o, side))));
	int64_t block = dot_block(s->o, side), *shape = x->type.shape;
	int64_t one[3] = { shape[0], shape[1], 1 }, all[3];

	if (side)
		memcpy(one, (int64_t[3]){ shape[0] / block, 1, shape[1] }, sizeof one);
	else
		one[1] /= block;
	memcpy(all, one, sizeof all);
	all[side ? 1 : 2] = block;
	c = extents(t, O_broadcast, extents(t, O_reshape, c, 3, one), 3, all);
	return MUL(x, extents(t, O_reshape, c, 2, shape));
}

/* Expands the values of the sparse operand of dot o, or their bounds. */
static Val *
expanded(Twin *t, const Op *o, Val *values)
{
	Val *in[2] = { values, bound_val(t, mma_extra(o, 0)) };
	int dim = IMM(o, sparse) ? 0 : 1;
	Type type = values->type;

	type.shape[dim] *= 2;
	values = bound_op(t, O_sparse_expand, 2, in, type);
	IMM_SET(values->def, dim, dim);
	return values;
}

Val *
bound_of_dot(Twin *t, const Site *s)
{
	Site own = *s;

	for (int i = 0; i < 2; i++)
		own.e[i] = bound_add(t, s->e[i], unrounded(t, s, i));
	if (dot_is_sparse(s->o)) {
		int i = (int)IMM(s->o, sparse);

		bound_doubt(t, t->err[mma_extra(s->o, 0)->id]);
		own.x[i] = expanded(t, s->o, s->x[i]);
		own.e[i] = own.e[i] ? expanded(t, s->o, own.e[i]) : NULL;
	}
	for (int i = 0; i < 2 && dot_is_scaled(s->o); i++) {
		bound_doubt(t, t->err[s->o->in[i]->id]);
		bound_doubt(t, t->err[mma_extra(s->o, i)->id]);
		own.x[i] = scaled_product(t, s, i);
		own.e[i] = NULL;
	}
	return bound_product(t, &own);
}

/* |x|, but a number for infinities and NaN: their product with an error of 0 is 0. */
static Val *
large(Twin *t, Val *x)
{
	x = ABS(bound_f64(t, x));
	return MIN(x, bound_const(t, x, num_largest(D_f64)));
}

Val *
bound_product(Twin *t, const Site *s)
{
	Val *a = large(t, s->x[0]), *b = large(t, s->x[1]), *c = large(t, s->x[2]);
	Val *ea = s->e[0], *eb = s->e[1], *e = s->e[2], *size, *frac, *one;
	int k = s->x[0]->type.rank - 1;
	double terms = (double)s->x[0]->type.shape[k] + 4;

	if (ea)
		e = dot64(t, ea, b, e ? e : NUM(0));
	if (eb)
		e = dot64(t, ea ? ADD(a, ea) : a, eb, e ? e : NUM(0));
	if (!bound_is_float(s->r))
		return bound_rounded(t, s, e);
	size = bound_add(t, dot64(t, a, b, c), e);
	frac = bound_broadcast_to(t, bound_reduce(t, O_reduce_max, bound_fraction(t, s->x[0]), k), s->r);
	one = bound_reduce(t, O_reduce_max, bound_fraction(t, s->x[1]), k - 1);
	frac = ADD(frac, bound_broadcast_to(t, one, s->r));
	frac = bound_add(t, ADD(frac, bound_fraction(t, s->x[2])), e);
	return bound_rounded(t, s, bound_add(t, e, order(t, s, s->r->type.dtype, size, frac, terms)));
}
