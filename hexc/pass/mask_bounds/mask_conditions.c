/* mask_conditions.c - computes bool tiles from the conditions of pass mask_bounds, and joins conditions.
 *
 * A condition is a linear form of the indices with two ends where ops permit (mask_shapes.c). Otherwise it is
 * a bool tile over the dims along which it varies. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <math.h>
#include <string.h>

Val *
bound_clamped(Op *o, Val *x, int64_t extent)
{
	x = ir_bin(o->parent, o, O_max, x, ir_const(o->parent, o, 0));
	return ir_bin(o->parent, o, O_min, x, ir_const(o->parent, o, extent));
}

bool
cond_varies(const MaskCond *c, int d)
{
	for (int i = 0; c->tile && i < c->tile->type.rank; i++)
		if (c->axis[i] == d)
			return true;
	return !c->tile && c->coef[d] != 0;
}

void
cond_set_tile(Op *o, MaskCond *c, Val *tile)
{
	Type t = type_tile(D_bool, S_reg, 0, NULL);

	for (int d = 0; d < tile->type.rank; d++)
		if (tile->type.shape[d] > 1) {
			c->axis[t.rank] = (int8_t)d;
			t.shape[t.rank++] = tile->type.shape[d];
		}
	if (!t.rank) { /* tiles have a dim */
		c->axis[0] = 0;
		t.shape[t.rank++] = 1;
	}
	c->tile = type_same(&tile->type, &t) ? tile : mask_op(o, O_reshape, 1, &tile, t);
	c->lo = c->hi = NULL;
	memset(c->coef, 0, sizeof c->coef);
}

void
cond_slice_tile(Op *o, MaskCond *c, int i, int64_t from, int64_t n)
{
	Type t = c->tile->type;

	if (t.shape[i] > 1 && n != t.shape[i]) {
		t.shape[i] = n ? n : 1;
		c->tile = mask_op(o, O_slice, 1, &c->tile, t);
		IMM_SET(c->tile->def, dim, i);
		IMM_SET(c->tile->def, from, from);
	}
	if (n || t.rank == 1)
		return;
	for (int d = i + 1; d < t.rank; d++) {
		t.shape[d - 1] = t.shape[d];
		c->axis[d - 1] = c->axis[d];
	}
	t.rank--;
	c->tile = mask_op(o, O_reshape, 1, &c->tile, t);
}

/* Returns the condition's bool tile in t's shape: its dims are put in order, and broadcast along the
 * others. */
static Val *
tile_of(Op *o, const MaskCond *c, const Type *t)
{
	Type full = mask_type(D_bool, t), x = c->tile->type;
	int order[DIM_MAX], n = x.rank;
	bool sorted = true;
	Val *v = c->tile;

	for (int i = 0; i < n; i++) {
		int at = i;

		while (at > 0 && c->axis[order[at - 1]] > c->axis[i]) {
			order[at] = order[at - 1];
			at--;
			sorted = false;
		}
		order[at] = i;
	}
	if (!sorted) {
		for (int i = 0; i < n; i++)
			x.shape[i] = c->tile->type.shape[order[i]];
		v = mask_op(o, O_transpose, 1, &v, x);
		for (int i = 0; i < n; i++)
			IMM_SET_AT(v->def, perm, i, order[i]);
	}
	for (int d = 0; d < t->rank; d++)
		full.shape[d] = 1;
	for (int i = 0; i < n; i++)
		full.shape[c->axis[i]] = c->tile->type.shape[i];
	if (!type_same(&v->type, &full))
		v = mask_op(o, O_reshape, 1, &v, full);
	x = mask_type(D_bool, t);
	return type_same(&v->type, &x) ? v : mask_op(o, O_broadcast, 1, &v, x);
}

Val *
cond_tile(Op *o, const MaskCond *c, const Type *t)
{
	Type at = mask_type(D_i32, t), cond = mask_type(D_bool, t);
	Val *sum, *x;

	if (c->tile)
		return tile_of(o, c, t);
	sum = mask_form(o, c->coef, at);
	if (!sum)
		return mask_uniform(o, c, cond);
	x = mask_between(o, c, sum, mask_form_end(c, t));
	return x ? x : mask_number(o, 1, cond);
}

MaskCond
cond_of_range(const TileBounds *e, int d)
{
	MaskCond c = { .dims = 1u << d, .lo = e->from[d], .hi = e->at[d],
		       .zero = e->zero >> d & 1, .finite = e->finite >> d & 1 };

	c.coef[d] = 1;
	return c;
}

/* Returns a bool tile of t's shape, true within the range of e along dim d. */
static Val *
range_tile(Op *o, const TileBounds *e, int d, const Type *t)
{
	Type at = mask_type(D_i32, t), cond = mask_type(D_bool, t);
	Val *i = mask_index(o, d, at), *n = ir_const(o->parent, o, t->shape[d]), *less, *first;

	if (e->at[d])
		n = ir_bin(o->parent, o, O_min, n, e->at[d]);
	if (val_fact(o->parent->kernel, n).lo < INT32_MIN)
		n = ir_bin(o->parent, o, O_max, n, ir_const(o->parent, o, 0));
	less = mask_op2(o, O_lt, i, mask_splat(o, n, at), cond);
	if (!e->from[d])
		return less;
	first = mask_splat(o, bound_clamped(o, e->from[d], t->shape[d]), at);
	return mask_op2(o, O_and, mask_op2(o, O_le, first, i, cond), less, cond);
}

Val *
inside_tile(Op *o, const TileBounds *e, const Type *t)
{
	Val *all = NULL;

	for (int d = 0; d < t->rank; d++)
		if (e->at[d] || e->from[d])
			all = mask_both(o, all, range_tile(o, e, d, t));
	for (int i = 0; i < e->nmore; i++)
		all = mask_both(o, all, cond_tile(o, &e->more[i], t));
	return all;
}

Val *
cond_mask(Bounds *b, Op *o, Val *x, const MaskCond *c, double f, int64_t i)
{
	Type t = type_free(x->type);
	Val *in[3] = { cond_tile(o, c, &t), x, mask_op(o, O_const, 0, NULL, t) };

	if (dtype_is_float(t.dtype))
		in[2]->def->fimm = f;
	else
		IMM_SET(in[2]->def, value, i);
	b->changed = true;
	in[0] = mask_op(o, O_select, 3, in, t);
	in[0]->name = x->name;
	return in[0];
}

Val *
mask_all(Bounds *b, Op *o, Val *x, const TileBounds *e, double f, int64_t i)
{
	/* which some out-of-bounds elements are already */
	bool zero = !(fabs(f) > 0) && !isnan(f) && !signbit(f) && i == 0;
	TileBounds left = *e;
	MaskCond c = { .dims = 0 };
	Val *inside;

	left.nmore = 0;
	for (int n = 0; n < e->nmore; n++)
		if (!(zero && e->more[n].zero))
			left.more[left.nmore++] = e->more[n];
	for (int d = 0; d < x->type.rank; d++)
		if (zero && e->zero >> d & 1)
			left.at[d] = left.from[d] = NULL;
	inside = inside_tile(o, &left, &x->type);
	if (!inside)
		return x;
	cond_set_tile(o, &c, inside);
	return cond_mask(b, o, x, &c, f, i);
}

/* ---- a set of conditions --------------------------------------------------------------------------- */

static bool
same_end(const Op *o, const Val *x, const Val *y)
{
	return x == y || (x && y && index_equal(o, x, y));
}

bool
cond_equal(const Op *o, const MaskCond *a, const MaskCond *b)
{
	return a->tile == b->tile && (!a->tile || !memcmp(a->axis, b->axis, (size_t)a->tile->type.rank)) &&
	       !memcmp(a->coef, b->coef, sizeof a->coef) && same_end(o, a->lo, b->lo) &&
	       same_end(o, a->hi, b->hi);
}

bool
cond_same(const Op *o, const MaskCond *a, const MaskCond *b)
{
	return a->dims == b->dims && cond_equal(o, a, b);
}

/* Is x, which may be NULL, a multiple of n? */
static bool
is_multiple(const Op *o, Val *x, int64_t n)
{
	return !x || val_fact(o->parent->kernel, x).mult % n == 0;
}

/* Is x the sum of a multiple of n, *rest, and a number, *plus? */
static bool
is_multiple_and(const Op *o, Val *x, int64_t n, Val **rest, int64_t *plus)
{
	*rest = x;
	*plus = 0;
	if (x->def && x->def->code == O_add)
		for (int i = 0; i < 2; i++)
			if (val_is_const(x->def->in[i], plus)) {
				*rest = x->def->in[1 - i];
				break;
			}
	return is_multiple(o, *rest, n);
}

/* For a difference of multiples it is the difference of the quotients, the form in which programs count
 * groups of n; numbers added to them are divided on their own. */
Val *
mask_shares(Op *o, Val *x, int64_t n)
{
	Val *lhs, *rhs;
	int64_t p, q;

	if (!x || n == 1)
		return x;
	if (x->def && x->def->code == O_sub && is_multiple_and(o, elt_lhs(x->def), n, &lhs, &p) &&
	    is_multiple_and(o, elt_rhs(x->def), n, &rhs, &q)) {
		int64_t more = p - q >= 0 ? (p - q + n - 1) / n : -((q - p) / n);

		x = ir_bin(o->parent, o, O_sub, mask_shares(o, lhs, n), mask_shares(o, rhs, n));
		return more ? ir_bin(o->parent, o, O_add, x, ir_const(o->parent, o, more)) : x;
	}
	if (is_multiple(o, x, n))
		return ir_bin(o->parent, o, O_div, x, ir_const(o->parent, o, n));
	x = ir_bin(o->parent, o, O_add, x, ir_const(o->parent, o, n - 1));
	return ir_bin(o->parent, o, O_div, x, ir_const(o->parent, o, n));
}

/* Returns x * n: of a difference, the difference of the multiples; of y / n, where y is a multiple of n,
 * y. */
Val *
mask_times(Op *o, Val *x, int64_t n)
{
	const Op *def = x ? x->def : NULL;
	int64_t by;

	if (!x || n == 1)
		return x;
	if (def && def->code == O_div && val_is_const(elt_rhs(def), &by) && by == n &&
	    is_multiple(o, elt_lhs(def), n))
		return elt_lhs(def);
	if (def && def->code == O_sub)
		return ir_bin(o->parent, o, O_sub, mask_times(o, elt_lhs(def), n),
		              mask_times(o, elt_rhs(def), n));
	return ir_bin(o->parent, o, O_mul, x, ir_const(o->parent, o, n));
}

/* Simplifies the form: removes dims of extent 1, inner dims that the ends do not cut, and a common divisor.
 * Division rounds towards 0, so it maps an end below 1 to an end below 1, which is equivalent. */
static void
cond_simplify(Op *o, MaskCond *c, const Type *t)
{
	int64_t g = 0;

	for (int d = 0; d < t->rank; d++)
		if (t->shape[d] == 1)
			c->coef[d] = 0;
	for (;;) { /* the dim with the smallest coefficient, and the next one */
		int d = -1;
		int64_t next = 0;

		for (int i = 0; i < t->rank; i++)
			if (c->coef[i] && (d < 0 || c->coef[i] < c->coef[d]))
				d = i;
		for (int i = 0; i < t->rank; i++)
			if (i != d && c->coef[i] && (!next || c->coef[i] < next))
				next = c->coef[i];
		if (d < 0 || !next || c->coef[d] * t->shape[d] != next || !is_multiple(o, c->lo, next) ||
		    !is_multiple(o, c->hi, next))
			break;
		c->coef[d] = 0;
	}
	for (int d = 0; d < t->rank; d++)
		g = gcd64(g, c->coef[d]);
	if (g <= 1)
		return;
	for (int d = 0; d < t->rank; d++)
		c->coef[d] /= g;
	c->lo = mask_shares(o, c->lo, g);
	c->hi = mask_shares(o, c->hi, g);
}

/* Returns the dim along which c is a range that names only this dim. Returns -1 if there is none. */
int
cond_range_dim(const MaskCond *c, const Type *t)
{
	for (int d = 0; d < t->rank; d++)
		if (!c->tile && c->dims == 1u << d && c->coef[d] == 1) {
			for (int i = 0; i < t->rank; i++)
				if (i != d && c->coef[i])
					return -1;
			return d;
		}
	return -1;
}

/* Is y = (x + n - 1) / n * n, which is x rounded up to whole rows of n? */
static bool
is_rounded_up(const Op *o, const Val *x, const Val *y)
{
	const Op *mul = y->def && y->def->code == O_mul ? y->def : NULL;
	const Op *div = mul && elt_lhs(mul)->def && elt_lhs(mul)->def->code == O_div ? elt_lhs(mul)->def
	                                                                             : NULL;
	const Op *add = div && elt_lhs(div)->def && elt_lhs(div)->def->code == O_add ? elt_lhs(div)->def
	                                                                             : NULL;
	int64_t n, by, more;

	return add && val_is_const(elt_rhs(mul), &n) && val_is_const(elt_rhs(div), &by) &&
	       val_is_const(elt_rhs(add), &more) && n == by && more == n - 1 &&
	       index_equal(o, elt_lhs(add), x);
}

bool
bound_at_most(const Op *o, const Val *x, const Val *y)
{
	const Op *a = x->def, *b = y->def;

	if (index_equal(o, x, y) || is_rounded_up(o, x, y))
		return true;
	for (int i = 0; i < 2; i++) /* min(x, y) <= y, x <= max(x, y) */
		if ((a && a->code == O_min && index_equal(o, a->in[i], y)) ||
		    (b && b->code == O_max && index_equal(o, x, b->in[i])))
			return true;
	return a && b && a->code == O_sub && b->code == O_sub && index_equal(o, elt_rhs(a), elt_rhs(b)) &&
	       bound_at_most(o, elt_lhs(a), elt_lhs(b));
}

Val *
bound_tighter(Op *o, OpCode code, Val *x, Val *y)
{
	if (!x || !y)
		return x ? x : y;
	if (bound_at_most(o, x, y))
		return code == O_min ? x : y;
	if (bound_at_most(o, y, x))
		return code == O_min ? y : x;
	return ir_bin(o->parent, o, code, x, y);
}

/* Reduces the question whether *start is below *size to one of their factors: of products by one number; of
 * quotients, if the size is a multiple or rounded up. Returns false if it cannot. */
static bool
strip_factor(const Op *o, Val **size, Val **start)
{
	const Op *a = (*size)->def, *b = (*start)->def, *add;
	int64_t n, by, more;

	if (!a || !b || a->code != b->code || (a->code != O_mul && a->code != O_div) ||
	    !val_is_const(elt_rhs(a), &n) || !val_is_const(elt_rhs(b), &by) || n != by || n <= 0)
		return false;
	add = elt_lhs(a)->def;
	if (a->code == O_mul || is_multiple(o, elt_lhs(a), n))
		*size = elt_lhs(a);
	else if (add && add->code == O_add && val_is_const(elt_rhs(add), &more) && more == n - 1)
		*size = elt_lhs(add);
	else
		return false;
	*start = elt_lhs(b);
	return true;
}

/* Is x above 0? A size minus the start of a slice is, where a loop or the grid says so. */
static bool
surely_positive(Bounds *b, const Op *o, Val *x)
{
	const Op *def = x->def;
	Val *size, *start;

	if (val_fact(b->k, x).lo > 0)
		return true;
	if (!def || def->code != O_sub)
		return false;
	size = elt_lhs(def);
	start = elt_rhs(def);
	while (strip_factor(o, &size, &start))
		;
	return prove_inside(b->k, o, &start, 1, 1, size);
}

void
cond_add(Bounds *b, Op *o, TileBounds *e, const Type *t, MaskCond c)
{
	bool uniform = !c.tile;
	int d;

	for (int i = 0; i < t->rank; i++)
		uniform = uniform && (!c.coef[i] || t->shape[i] == 1);
	if (uniform && c.hi && surely_positive(b, o, c.hi))
		c.hi = NULL;
	if (uniform && c.lo && val_fact(b->k, c.lo).hi <= 0)
		c.lo = NULL;
	if (!c.tile && !c.lo && !c.hi)
		return;
	if (!c.tile)
		cond_simplify(o, &c, t);
	d = cond_range_dim(&c, t);
	if (d >= 0) {
		bool had = e->at[d] || e->from[d];

		if (!had || !c.zero)
			e->zero = (e->zero & ~(1u << d)) | (unsigned)c.zero << d;
		if (!had || !c.finite)
			e->finite = (e->finite & ~(1u << d)) | (unsigned)c.finite << d;
		e->at[d] = bound_tighter(o, O_min, e->at[d], c.hi);
		e->from[d] = bound_tighter(o, O_max, e->from[d], c.lo);
		return;
	}
	for (int i = 0; i < e->nmore; i++)
		if (cond_same(o, &e->more[i], &c)) {
			e->more[i].zero |= c.zero;
			e->more[i].finite |= c.finite;
			return;
		}
	if (e->nmore == MASK_CONDS) { /* the last condition, a bool tile, joins the rest */
		MaskCond *last = &e->more[MASK_CONDS - 1];

		cond_set_tile(o, last,
		              mask_op2(o, O_and, cond_tile(o, last, t), cond_tile(o, &c, t),
		                       mask_type(D_bool, t)));
		last->dims |= c.dims;
		last->zero = last->finite = false;
		return;
	}
	e->more[e->nmore++] = c;
}

MaskCond
cond_placed(Op *o, const MaskCond *c, const Type *x, const Type *t, int g)
{
	MaskCond r = { .lo = c->lo, .hi = c->hi, .tile = c->tile, .zero = c->zero, .finite = c->finite };

	(void)o;
	for (int d = 0; d < x->rank; d++) {
		if (x->shape[d] != t->shape[g + d])
			continue;
		r.dims |= (c->dims >> d & 1) << (g + d);
		r.coef[g + d] = c->coef[d];
	}
	for (int i = 0; c->tile && i < c->tile->type.rank; i++)
		r.axis[i] = (int8_t)(c->axis[i] + g);
	return r;
}
