/* redundant_masks.c - validates loop splitting: proves masks of the remainder redundant in the iterations
 * of the main loop.
 *
 * What is known in an iteration is derived from the loop's bounds; a mask or select is proved element by
 * element of its tile. */
#include "hexc/analysis/value_range.h"
#include "infer/validate/loop_split.h"

enum { DEPTH = 24 };

/* ---- what is known in an iteration of the main loop ------------------------------------------ */

/* Adds that `end`, and each operand if it is a minimum, is above the counter. */
static void
know_end(Pair *x, const Val *end)
{
	const Op *o = end->def;
	LinearForm above;

	if (o && o->code == O_min) {
		know_end(x, elt_lhs(o));
		know_end(x, elt_rhs(o));
	}
	above = affine_add(affine_of(x->p->k, end), affine_of(x->p->k, x->rest->blk[0]->arg[0]), -1);
	known_add(&x->known, affine_add(above, affine_const(1), -1));
}

/* Adds that `start`, and each operand if it is a maximum, is at most the counter. A minimum with the
 * original loop's end, which the counter is below, is ignored. */
static void
know_start(Pair *x, const Val *start)
{
	const Op *o = start->def;

	if (o && o->code == O_min && elt_rhs(o) == for_hi(x->rest)) {
		know_start(x, elt_lhs(o));
		return;
	}
	if (o && o->code == O_max) {
		know_start(x, elt_lhs(o));
		know_start(x, elt_rhs(o));
	}
	known_add(&x->known, affine_add(affine_of(x->p->k, x->rest->blk[0]->arg[0]),
	                                affine_of(x->p->k, start), -1));
}

void
split_know_turn(Pair *x)
{
	const Val *lo = for_lo(x->clear), *end = for_hi(x->clear);
	const Op *o = end->def;
	LinearForm counter = affine_of(x->p->k, x->rest->blk[0]->arg[0]);

	known_add(&x->known, affine_add(counter, affine_of(x->p->k, lo), -1));
	if (o && o->code == O_select && select_no(o) == lo) { /* else there are no iterations */
		known_condition(&x->known, select_cond(o), true);
		end = select_yes(o);
	}
	know_end(x, end);
	if (x->front) { /* lo is the end of the preceding loop */
		known_add(&x->known, affine_add(counter, affine_of(x->p->k, for_lo(x->front)), -1));
		know_start(x, for_hi(x->front));
	}
}

/* ---- conditions, element by element ---------------------------------------------------------- */

/* Requires x >= 0. */
static bool
must(Pair *x, LinearForm a)
{
	if (!a.ok)
		return false;
	for (int i = 0; i < x->nmust; i++) {
		LinearForm gap = affine_add(x->must[i], a, -1);

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
must_fit(Pair *x, DType d, LinearForm a)
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

/* Returns the row-major index of the element at c. */
static int64_t
number_of(const Type *t, const int64_t *c)
{
	int64_t n = 0;

	for (int d = 0; d < t->rank; d++)
		n = n * t->shape[d] + c[d];
	return n;
}

/* Computes the coordinates in o's operand of the element at c of its result. */
static bool
source_of(const Op *o, const int64_t *c, int64_t *in)
{
	const Type *t = &o->in[0]->type;

	if (o->code == O_reshape) {
		type_coord(t, number_of(&o->out[0]->type, c), in);
		return true;
	}
	for (int d = 0; d < t->rank; d++) {
		switch (o->code) {
		case O_broadcast: in[d] = t->shape[d] == 1 ? 0 : c[d]; break;
		case O_transpose: in[IMM_AT(o, perm, d)] = c[d]; break;
		case O_slice: in[d] = c[d] + (d == IMM(o, dim) ? IMM(o, from) : 0); break;
		case O_convert_layout:
		case O_pin:
		case O_relabel_layout: in[d] = c[d]; break;
		default: return false;
		}
	}
	return true;
}

/* Returns the linear form of element c of tile or scalar v. */
static LinearForm
integer_at(Pair *x, const Val *v, const int64_t *c, int depth)
{
	static const LinearForm none;
	const Op *o = v->def;
	int64_t in[DIM_MAX] = { 0 };
	LinearForm a, b;

	if (depth == 0 || (v->type.space != S_reg && v->type.space != S_scalar))
		return none;
	if (type_is_index(&v->type) || (!o && v->type.space == S_scalar))
		return affine_of(x->p->k, v);
	if (!o)
		return none;
	switch (o->code) {
	case O_const: return affine_const(IMM(o, value));
	case O_iota: a = affine_const(c[IMM(o, dim)]); break;
	case O_splat: return integer_at(x, op_source(o), c, depth - 1);
	case O_cast:
		if (dtype_is_float(op_source(o)->type.dtype))
			return none;
		a = integer_at(x, op_source(o), c, depth - 1);
		break;
	case O_add:
	case O_sub:
	case O_mul:
		a = integer_at(x, elt_lhs(o), c, depth - 1);
		b = integer_at(x, elt_rhs(o), c, depth - 1);
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

/* Requires that scalar v is at least n: the smaller of two numbers is if both are, the larger one of a
 * number and a constant if the number is. */
static bool
must_reach(Pair *x, const Val *v, LinearForm n, int depth)
{
	const Op *o = v->def;
	int64_t c;

	if (o && o->code == O_min && depth > 0)
		return must_reach(x, elt_lhs(o), n, depth - 1) && must_reach(x, elt_rhs(o), n, depth - 1);
	if (o && o->code == O_max && depth > 0 && val_is_const(elt_rhs(o), &c))
		return must_reach(x, elt_lhs(o), n, depth - 1);
	return must(x, affine_add(affine_of(x->p->k, v), n, -1));
}

/* Returns the i64 scalar that all elements of the integers v are, if v's type holds it; or NULL. */
static const Val *
index_everywhere(Pair *x, const Val *v)
{
	int bits = dtype_info[v->type.dtype].bits;
	bool sign = dtype_info[v->type.dtype].kind == K_sint;
	int64_t most = bits < 63 ? ((int64_t)1 << (bits - sign)) - 1 : INT64_MAX;
	const Val *i;
	Fact f;

	while (v->def && v->def->code == O_splat)
		v = op_source(v->def);
	i = v->def && v->def->code == O_cast ? op_source(v->def) : NULL;
	if (!i || !type_is_index(&i->type) || dtype_is_float(v->type.dtype))
		return NULL;
	f = val_fact(x->p->k, i);
	return f.lo >= (sign ? -most - 1 : 0) && f.hi <= most ? i : NULL;
}

static bool must_be(Pair *x, const Val *v, const int64_t *c, bool want, int depth);

static bool
must_compare(Pair *x, const Op *o, const int64_t *c, bool want, int depth)
{
	LinearForm a = integer_at(x, elt_lhs(o), c, depth), b;
	const Val *end = want ? index_everywhere(x, elt_rhs(o)) : NULL;

	if (dtype_is_float(elt_lhs(o)->type.dtype))
		return false;
	if (end)
		return must_reach(x, end, affine_add(a, affine_const(o->code == O_lt), 1), depth);
	b = integer_at(x, elt_rhs(o), c, depth);
	if (!want) /* b < a or b <= a */
		return must(x, affine_add(affine_add(a, b, -1), affine_const(o->code == O_le), -1));
	return must(x, affine_add(affine_add(b, a, -1), affine_const(o->code == O_lt), -1));
}

/* Requires that bool v is `want` at c. */
static bool
must_be(Pair *x, const Val *v, const int64_t *c, bool want, int depth)
{
	const Op *o = v->def;
	int64_t in[DIM_MAX] = { 0 };

	if (!o || depth == 0)
		return false;
	switch (o->code) {
	case O_const: return (IMM(o, value) != 0) == want;
	case O_splat: return must_be(x, op_source(o), c, want, depth - 1);
	case O_not: return must_be(x, o->in[0], c, !want, depth - 1);
	case O_and:
	case O_or:
		return (o->code == O_and) == want && must_be(x, elt_lhs(o), c, want, depth - 1) &&
		       must_be(x, elt_rhs(o), c, want, depth - 1);
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

bool
split_always(Pair *x, const Val *v, bool want)
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

bool
split_masks_nothing(Pair *x, const Op *o)
{
	const Type *t = &o->out[0]->type;

	x->nmust = 0;
	for (int d = 0, next = 0; d < t->rank; d++)
		if (IMM(o, dims) >> d & 1 &&
		    !must_reach(x, mask_bound(o, next++), affine_const(t->shape[d]), DEPTH))
			return false;
	return musts_hold(x);
}
