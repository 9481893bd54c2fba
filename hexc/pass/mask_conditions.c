/* mask_conditions.c - computes the conditions of pass mask_bounds: their bool tiles, and what becomes of them
 * where tiles are reshaped, sliced, joined and reduced.
 *
 * A condition is a linear form of the indices between two scalars as long as possible. Such forms survive
 * slices, transposes and every reshape that splits a dim, or joins dims in whole rows. Where a reshape joins
 * rows that end earlier, where pieces with different ends are joined, and where a reduction leaves lines that
 * no form describes, the condition becomes a bool tile computed from the indices. Code that nothing uses is
 * removed by pass dce. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

/* ---- tiles of indices and conditions -------------------------------------------------------------- */

static Type
tile_as(DType d, const Type *t)
{
	return type_tile(d, S_reg, t->rank, t->shape);
}

static Val *
put(Op *o, OpCode code, int nin, Val *const *in, Type t)
{
	return op_new(o->parent, o, code, o->src, nin, in, 1, &t)->out[0];
}

static Val *
put2(Op *o, OpCode code, Val *x, Val *y, Type t)
{
	Val *in[2] = { x, y };

	return put(o, code, 2, in, t);
}

static Val *
number(Op *o, int64_t x, Type t)
{
	Val *v = put(o, O_const, 0, NULL, t);

	IMM_SET(v->def, value, x);
	return v;
}

static Val *
index_tile(Op *o, int d, Type t)
{
	Val *v = put(o, O_iota, 0, NULL, t);

	IMM_SET(v->def, dim, d);
	return v;
}

/* An i64 scalar in every element; it must be representable. */
static Val *
splat_index(Op *o, Val *x, Type t)
{
	Type s = type_scalar(t.dtype);

	x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &s)->out[0];
	return put(o, O_splat, 1, &x, t);
}

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
	c->tile = type_same(&tile->type, &t) ? tile : put(o, O_reshape, 1, &tile, t);
	c->lo = c->hi = NULL;
	memset(c->coef, 0, sizeof c->coef);
}

void
cond_slice_tile(Op *o, MaskCond *c, int i, int64_t from, int64_t n)
{
	Type t = c->tile->type;

	if (t.shape[i] > 1 && n != t.shape[i]) {
		t.shape[i] = n ? n : 1;
		c->tile = put(o, O_slice, 1, &c->tile, t);
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
	c->tile = put(o, O_reshape, 1, &c->tile, t);
}

/* The condition's tile with its dims in the order of the value's, whose other dims get extent 1. */
static Val *
tile_of(Op *o, const MaskCond *c, const Type *t)
{
	Type full = tile_as(D_bool, t), x = c->tile->type;
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
		v = put(o, O_transpose, 1, &v, x);
		for (int i = 0; i < n; i++)
			IMM_SET_AT(v->def, perm, i, order[i]);
	}
	for (int d = 0; d < t->rank; d++)
		full.shape[d] = 1;
	for (int i = 0; i < n; i++)
		full.shape[c->axis[i]] = c->tile->type.shape[i];
	if (!type_same(&v->type, &full))
		v = put(o, O_reshape, 1, &v, full);
	x = tile_as(D_bool, t);
	return type_same(&v->type, &x) ? v : put(o, O_broadcast, 1, &v, x);
}

/* The largest value of the linear form, whose smallest is 0. */
static int64_t
form_end(const MaskCond *c, const Type *t)
{
	int64_t n = 0;

	for (int d = 0; d < t->rank; d++)
		n += c->coef[d] * (t->shape[d] - 1);
	return n;
}

/* Sum of coef[d] times the index along d; NULL: 0. */
static Val *
form_tile(Op *o, const int64_t *coef, Type t)
{
	Val *sum = NULL;

	for (int d = 0; d < t.rank; d++) {
		Val *x;

		if (!coef[d] || t.shape[d] == 1)
			continue;
		x = index_tile(o, d, t);
		if (coef[d] != 1)
			x = put2(o, O_mul, x, number(o, coef[d], t), t);
		sum = sum ? put2(o, O_add, sum, x, t) : x;
	}
	return sum;
}

/* Joins two conditions on scalars or tiles; NULL: true. */
static Val *
both(Op *o, Val *x, Val *y)
{
	return x && y ? put2(o, O_and, x, y, x->type) : x ? x : y;
}

static Val *
uniform_tile(Op *o, const MaskCond *c, Type cond)
{
	Val *zero = ir_const(o->parent, o, 0), *x = NULL, *y = NULL;

	if (c->lo)
		x = ir_bin(o->parent, o, O_le, c->lo, zero);
	if (c->hi)
		y = ir_bin(o->parent, o, O_lt, zero, c->hi);
	x = both(o, x, y);
	return x ? put(o, O_splat, 1, &x, cond) : number(o, 1, cond);
}

Val *
cond_tile(Op *o, const MaskCond *c, const Type *t)
{
	Type at = tile_as(D_i32, t), cond = tile_as(D_bool, t);
	Val *sum, *x = NULL, *y = NULL;

	if (c->tile)
		return tile_of(o, c, t);
	sum = form_tile(o, c->coef, at);
	if (!sum)
		return uniform_tile(o, c, cond);
	if (c->lo)
		x = put2(o, O_le, splat_index(o, bound_clamped(o, c->lo, form_end(c, t) + 1), at), sum, cond);
	if (c->hi)
		y = put2(o, O_lt, sum, splat_index(o, bound_clamped(o, c->hi, form_end(c, t) + 1), at), cond);
	x = both(o, x, y);
	return x ? x : number(o, 1, cond);
}

MaskCond
cond_of_range(const TileBounds *e, int d)
{
	MaskCond c = { .dims = 1u << d, .lo = e->from[d], .hi = e->at[d], .zero = e->zero >> d & 1, .finite = e->finite >> d & 1 };

	c.coef[d] = 1;
	return c;
}

/* The range along dim d as a bool tile. */
static Val *
range_tile(Op *o, const TileBounds *e, int d, const Type *t)
{
	Type at = tile_as(D_i32, t), cond = tile_as(D_bool, t);
	Val *i = index_tile(o, d, at), *n = ir_const(o->parent, o, t->shape[d]), *less, *first;

	if (e->at[d])
		n = ir_bin(o->parent, o, O_min, n, e->at[d]);
	if (val_fact(o->parent->kernel, n).lo < INT32_MIN)
		n = ir_bin(o->parent, o, O_max, n, ir_const(o->parent, o, 0));
	less = put2(o, O_lt, i, splat_index(o, n, at), cond);
	if (!e->from[d])
		return less;
	first = splat_index(o, bound_clamped(o, e->from[d], t->shape[d]), at);
	return put2(o, O_and, put2(o, O_le, first, i, cond), less, cond);
}

Val *
inside_tile(Op *o, const TileBounds *e, const Type *t)
{
	Val *all = NULL;

	for (int d = 0; d < t->rank; d++)
		if (e->at[d] || e->from[d])
			all = both(o, all, range_tile(o, e, d, t));
	for (int i = 0; i < e->nmore; i++)
		all = both(o, all, cond_tile(o, &e->more[i], t));
	return all;
}

Val *
cond_mask(Bounds *b, Op *o, Val *x, const MaskCond *c, double f, int64_t i)
{
	Type t = type_free(x->type);
	Val *in[3] = { cond_tile(o, c, &t), x, put(o, O_const, 0, NULL, t) };

	if (dtype_is_float(t.dtype))
		in[2]->def->fimm = f;
	else
		IMM_SET(in[2]->def, value, i);
	b->changed = true;
	in[0] = put(o, O_select, 3, in, t);
	in[0]->name = x->name;
	return in[0];
}

Val *
mask_all(Bounds *b, Op *o, Val *x, const TileBounds *e, double f, int64_t i)
{
	bool zero = !(fabs(f) > 0) && i == 0; /* which some elements out of bounds are */

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

static bool
cond_same(const Op *o, const MaskCond *a, const MaskCond *b)
{
	return a->dims == b->dims && cond_equal(o, a, b);
}

static bool
is_multiple(const Op *o, Val *x, int64_t n)
{
	return !x || val_fact(o->parent->kernel, x).mult % n == 0;
}

/* x / n rounded up; of a difference of multiples, the difference of the quotients, which is how a program counts
 * groups of n itself. */
static Val *
shares(Op *o, Val *x, int64_t n)
{
	if (!x || n == 1)
		return x;
	if (x->def && x->def->code == O_sub && is_multiple(o, elt_lhs(x->def), n) &&
	    is_multiple(o, elt_rhs(x->def), n))
		return ir_bin(o->parent, o, O_sub, shares(o, elt_lhs(x->def), n), shares(o, elt_rhs(x->def), n));
	if (is_multiple(o, x, n))
		return ir_bin(o->parent, o, O_div, x, ir_const(o->parent, o, n));
	x = ir_bin(o->parent, o, O_add, x, ir_const(o->parent, o, n - 1));
	return ir_bin(o->parent, o, O_div, x, ir_const(o->parent, o, n));
}

/* x * n; of a difference, the difference of the products, and x for a quotient of a multiple by n. */
static Val *
times(Op *o, Val *x, int64_t n)
{
	const Op *def = x ? x->def : NULL;
	int64_t by;

	if (!x || n == 1)
		return x;
	if (def && def->code == O_div && val_is_const(elt_rhs(def), &by) && by == n && is_multiple(o, elt_lhs(def), n))
		return elt_lhs(def);
	if (def && def->code == O_sub)
		return ir_bin(o->parent, o, O_sub, times(o, elt_lhs(def), n), times(o, elt_rhs(def), n));
	return ir_bin(o->parent, o, O_mul, x, ir_const(o->parent, o, n));
}

/* Simplifies the form: without dims of extent 1, without inner dims that the ends do not cut, and without a
 * common factor. Division rounds towards 0, which makes an end below 1 another end below 1. */
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
	c->lo = shares(o, c->lo, g);
	c->hi = shares(o, c->hi, g);
}

/* The dim along which c is a range that names only this dim; -1: it is none. */
static int
range_dim(const MaskCond *c, const Type *t)
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
	const Op *div = mul && elt_lhs(mul)->def && elt_lhs(mul)->def->code == O_div ? elt_lhs(mul)->def : NULL;
	const Op *add = div && elt_lhs(div)->def && elt_lhs(div)->def->code == O_add ? elt_lhs(div)->def : NULL;
	int64_t n, by, more;

	return add && val_is_const(elt_rhs(mul), &n) && val_is_const(elt_rhs(div), &by) &&
	       val_is_const(elt_rhs(add), &more) && n == by && more == n - 1 && index_equal(o, elt_lhs(add), x);
}

bool
bound_at_most(const Op *o, const Val *x, const Val *y)
{
	const Op *a = x->def, *b = y->def;

	if (index_equal(o, x, y) || is_rounded_up(o, x, y))
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

/* Is x above 0? A size minus the start of a slice is, where a loop or the grid says so. */
static bool
surely_positive(Bounds *b, const Op *o, Val *x)
{
	const Op *def = x->def;
	Val *size, *start;
	int64_t n, by;

	if (val_fact(b->k, x).lo > 0)
		return true;
	if (!def || def->code != O_sub)
		return false;
	size = elt_lhs(def);
	start = elt_rhs(def);
	while (size->def && start->def && size->def->code == start->def->code && size->def->code == O_mul &&
	       val_is_const(elt_rhs(size->def), &n) && val_is_const(elt_rhs(start->def), &by) && n == by && n > 0) {
		size = elt_lhs(size->def);
		start = elt_lhs(start->def);
	}
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
	d = range_dim(&c, t);
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
	if (e->nmore == MASK_CONDS) { /* the last one takes in the rest */
		MaskCond *last = &e->more[MASK_CONDS - 1];

		cond_set_tile(o, last,
		              put2(o, O_and, cond_tile(o, last, t), cond_tile(o, &c, t), tile_as(D_bool, t)));
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

/* ---- reshapes -------------------------------------------------------------------------------------- */

/* Dims [x0, x1) of a type become dims [y0, y1) of a reshaped one, which have as many elements. */
typedef struct Group {
	int x0, x1, y0, y1;
} Group;

/* Splits a reshape into its groups, as small as possible. */
static int
groups(const Type *x, const Type *y, Group *g)
{
	int n = 0, i = 0, j = 0;

	while (i < x->rank || j < y->rank) {
		int64_t p = 1, q = 1;

		g[n] = (Group){ .x0 = i, .y0 = j };
		if (i < x->rank)
			p = x->shape[i++];
		if (j < y->rank)
			q = y->shape[j++];
		while (p != q)
			if (p < q)
				p *= x->shape[i++];
			else
				q *= y->shape[j++];
		while (i < x->rank && x->shape[i] == 1)
			i++;
		while (j < y->rank && y->shape[j] == 1)
			j++;
		g[n].x1 = i;
		g[n++].y1 = j;
	}
	return n;
}

static int64_t
stride_in(const Type *t, int d, int end)
{
	int64_t n = 1;

	while (++d < end)
		n *= t->shape[d];
	return n;
}

/* The dims that a condition on `dims` of x names after the reshape. */
static unsigned
dims_reshaped(unsigned dims, const Type *x, const Type *t, const Group *g, int n)
{
	unsigned r = 0;

	for (int i = 0; i < n; i++) {
		bool named = false;

		for (int d = g[i].x0; d < g[i].x1; d++)
			named = named || (dims >> d & 1 && x->shape[d] > 1);
		for (int d = g[i].y0; named && d < g[i].y1; d++)
			r |= (unsigned)(t->shape[d] > 1) << d;
	}
	return r;
}

/* Sets the coefficients of t's dims in a group; returns false if the form is not linear in them. `only`: the
 * condition involves no other group; its ends may be scaled by *by. */
static bool
group_form(const MaskCond *c, const Type *x, const Type *t, const Group *g, bool only, int64_t *coef, int64_t *by)
{
	int64_t f = 0;
	int first = -1;
	bool linear = true, leading = true;

	for (int d = g->x0; d < g->x1; d++) {
		if (x->shape[d] == 1)
			continue;
		first = first < 0 ? d : first;
		f = c->coef[d] / stride_in(x, d, g->x1); /* of the last one: its coefficient */
	}
	for (int d = g->x0; d < g->x1; d++) {
		if (x->shape[d] == 1)
			continue;
		linear = linear && c->coef[d] == f * stride_in(x, d, g->x1);
		leading = leading && (d == first ? c->coef[d] == 1 : !c->coef[d]);
	}
	if (!linear && !(leading && only))
		return false;
	*by = linear ? 1 : stride_in(x, first, g->x1);
	for (int d = g->y0; d < g->y1; d++)
		coef[d] = (linear ? f : 1) * stride_in(t, d, g->y1);
	return true;
}

/* The condition as a bool tile of t, from the indices of x that an element had. */
static Val *
tile_reshaped(Op *o, const MaskCond *c, const Type *x, const Type *t, const Group *g, int n)
{
	Type at = tile_as(D_i32, t), cond = tile_as(D_bool, t);
	MaskCond whole = *c;
	Val *sum = NULL, *lo = NULL, *hi = NULL, *v;

	if (c->tile) {
		v = cond_tile(o, c, x);
		return put(o, O_reshape, 1, &v, cond);
	}
	for (int i = 0; i < n; i++)
		for (int d = g[i].x0; d < g[i].x1; d++) {
			int64_t coef[DIM_MAX] = { 0 }, stride = stride_in(x, d, g[i].x1);

			if (!c->coef[d] || x->shape[d] == 1)
				continue;
			for (int e = g[i].y0; e < g[i].y1; e++)
				coef[e] = stride_in(t, e, g[i].y1);
			v = form_tile(o, coef, at);
			if (stride > 1)
				v = put2(o, O_div, v, number(o, stride, at), at);
			if (d > g[i].x0)
				v = put2(o, O_mod, v, number(o, x->shape[d], at), at);
			if (c->coef[d] != 1)
				v = put2(o, O_mul, v, number(o, c->coef[d], at), at);
			sum = sum ? put2(o, O_add, sum, v, at) : v;
		}
	if (!sum)
		return uniform_tile(o, &whole, cond);
	if (c->lo)
		lo = put2(o, O_le, splat_index(o, bound_clamped(o, c->lo, form_end(c, x) + 1), at), sum, cond);
	if (c->hi)
		hi = put2(o, O_lt, sum, splat_index(o, bound_clamped(o, c->hi, form_end(c, x) + 1), at), cond);
	return both(o, lo, hi);
}

static MaskCond
cond_reshaped(Op *o, const MaskCond *c, const Type *x, const Type *t, const Group *g, int n)
{
	MaskCond r = { .dims = dims_reshaped(c->dims, x, t, g, n), .lo = c->lo, .hi = c->hi, .zero = c->zero,
		       .finite = c->finite };
	int involved = 0;
	bool linear = !c->tile;

	for (int i = 0; i < n; i++) {
		bool in = false;

		for (int d = g[i].x0; d < g[i].x1; d++)
			in = in || (c->coef[d] && x->shape[d] > 1);
		involved += in;
	}
	for (int i = 0; i < n && linear; i++) {
		int64_t by;
		bool in = false;

		for (int d = g[i].x0; d < g[i].x1; d++)
			in = in || (c->coef[d] && x->shape[d] > 1);
		if (!in)
			continue;
		linear = group_form(c, x, t, &g[i], involved == 1, r.coef, &by);
		if (!linear || by == 1)
			continue;
		r.lo = times(o, r.lo, by);
		r.hi = times(o, r.hi, by);
	}
	if (linear)
		return r;
	for (int i = 0, kept = 0; c->tile && i < c->tile->type.rank; i++) { /* all its dims stay? */
		for (int d = 0; d < t->rank; d++)
			if (reshape_source(x, t, d) == c->axis[i]) {
				r.axis[i] = (int8_t)d;
				kept++;
			}
		if (kept == c->tile->type.rank) {
			r.tile = c->tile;
			return r;
		}
	}
	cond_set_tile(o, &r, tile_reshaped(o, c, x, t, g, n));
	return r;
}

TileBounds
bounds_reshaped(Bounds *b, Op *o, const TileBounds *e, const Type *x, const Type *t)
{
	TileBounds r = { .zero = 0 };
	bool kept[DIM_MAX] = { false };
	Group g[2 * DIM_MAX];
	int n = groups(x, t, g);

	for (int d = 0; d < t->rank; d++) {
		int from = reshape_source(x, t, d);

		if (from < 0)
			continue;
		kept[from] = true;
		r.at[d] = e->at[from];
		r.from[d] = e->from[from];
		r.zero |= (e->zero >> from & 1) << d;
		r.finite |= (e->finite >> from & 1) << d;
	}
	for (int d = 0; d < x->rank; d++) {
		MaskCond c = cond_of_range(e, d);

		if (!kept[d] && (c.lo || c.hi))
			cond_add(b, o, &r, t, cond_reshaped(o, &c, x, t, g, n));
	}
	for (int i = 0; i < e->nmore; i++)
		cond_add(b, o, &r, t, cond_reshaped(o, &e->more[i], x, t, g, n));
	return r;
}

/* ---- parts ----------------------------------------------------------------------------------------- */

TileBounds
bounds_sliced(Op *o, const TileBounds *e, int d, int64_t from, const Type *t)
{
	TileBounds r = *e;

	if (r.at[d] && from)
		r.at[d] = ir_bin(o->parent, o, O_sub, r.at[d], ir_const(o->parent, o, from));
	if (r.from[d] && from)
		r.from[d] = ir_bin(o->parent, o, O_sub, r.from[d], ir_const(o->parent, o, from));
	for (int i = 0; i < r.nmore; i++) {
		MaskCond *c = &r.more[i];
		Val *by = ir_const(o->parent, o, c->coef[d] * from);

		for (int axis = 0; c->tile && axis < c->tile->type.rank; axis++)
			if (c->axis[axis] == d)
				cond_slice_tile(o, c, axis, from, t->shape[d]);
		c->lo = c->lo ? ir_bin(o->parent, o, O_sub, c->lo, by) : NULL;
		c->hi = c->hi ? ir_bin(o->parent, o, O_sub, c->hi, by) : NULL;
	}
	return r;
}

/* All conditions of e as a list. */
static int
conds_of(const TileBounds *e, int rank, MaskCond *c)
{
	int n = 0;

	for (int d = 0; d < rank; d++)
		if (e->at[d] || e->from[d])
			c[n++] = cond_of_range(e, d);
	for (int i = 0; i < e->nmore; i++)
		c[n++] = e->more[i];
	return n;
}

/* The condition, of a piece that starts at `at` along d, as a bool tile of the whole, and true elsewhere. */
static Val *
piece_tile(Op *o, const MaskCond *c, int d, int64_t at, int64_t extent, const Type *x, const Type *t)
{
	Type i32 = tile_as(D_i32, t), cond = tile_as(D_bool, t), was = tile_as(D_bool, x);
	Val *i = index_tile(o, d, i32), *outside = NULL, *v;
	MaskCond moved = *c;

	if (c->tile) { /* the piece between others that are in bounds */
		Val *part = cond_tile(o, c, x);

		for (int side = 0; side < 2; side++) {
			Type fill = was;

			fill.shape[d] = side ? t->shape[d] - at - extent : at;
			if (!fill.shape[d])
				continue;
			was.shape[d] += fill.shape[d];
			part = put2(o, O_concat, side ? part : number(o, 1, fill), side ? number(o, 1, fill) : part,
			            was);
			IMM_SET(part->def, dim, d);
		}
		return part;
	}
	if (c->coef[d] && at) {
		Val *by = ir_const(o->parent, o, c->coef[d] * at);

		moved.lo = c->lo ? ir_bin(o->parent, o, O_add, c->lo, by) : NULL;
		moved.hi = c->hi ? ir_bin(o->parent, o, O_add, c->hi, by) : NULL;
	}
	v = cond_tile(o, &moved, t);
	if (at)
		outside = put2(o, O_lt, i, number(o, at, i32), cond);
	if (at + extent < t->shape[d]) {
		Val *behind = put2(o, O_le, number(o, at + extent, i32), i, cond);

		outside = outside ? put2(o, O_or, outside, behind, cond) : behind;
	}
	return outside ? put2(o, O_or, outside, v, cond) : v;
}

/* True where the index is within the part of type x at `at`, in type t. */
static Val *
part_tile(Op *o, const int64_t *at, const Type *x, const Type *t)
{
	Type i32 = tile_as(D_i32, t), cond = tile_as(D_bool, t);
	Val *all = NULL;

	for (int d = 0; d < t->rank; d++) {
		if (x->shape[d] == t->shape[d])
			continue;
		if (at[d] > 0)
			all = both(o, all, put2(o, O_le, number(o, at[d], i32), index_tile(o, d, i32), cond));
		if (at[d] + x->shape[d] < t->shape[d])
			all = both(o, all,
			           put2(o, O_lt, index_tile(o, d, i32), number(o, at[d] + x->shape[d], i32), cond));
	}
	return all ? all : number(o, 1, cond);
}

/* The bounds of the part as a bool tile of the whole. */
static Val *
part_inside(Op *o, const TileBounds *f, const int64_t *at, const Type *x, const Type *t)
{
	TileBounds moved = *f;

	for (int i = 0; i < moved.nmore; i++) {
		MaskCond *c = &moved.more[i];
		Type was = tile_as(D_bool, x);
		Val *part = c->tile ? cond_tile(o, c, x) : NULL;

		for (int d = 0; d < t->rank; d++) {
			Val *by = ir_const(o->parent, o, c->coef[d] * at[d]);

			c->lo = c->lo ? ir_bin(o->parent, o, O_add, c->lo, by) : NULL;
			c->hi = c->hi ? ir_bin(o->parent, o, O_add, c->hi, by) : NULL;
			for (int side = 0; side < 2 && part; side++) {
				Type fill = was;

				fill.shape[d] = side ? t->shape[d] - at[d] - x->shape[d] : at[d];
				if (!fill.shape[d])
					continue;
				was.shape[d] += fill.shape[d];
				part = side ? put2(o, O_concat, part, number(o, 1, fill), was)
				            : put2(o, O_concat, number(o, 1, fill), part, was);
				IMM_SET(part->def, dim, d);
			}
		}
		if (part)
			cond_set_tile(o, c, part);
	}
	for (int d = 0; d < t->rank; d++) {
		Val *by = ir_const(o->parent, o, at[d]);

		moved.at[d] = f->at[d] ? ir_bin(o->parent, o, O_add, f->at[d], by) : NULL;
		moved.from[d] = f->from[d] ? ir_bin(o->parent, o, O_add, f->from[d], by) : NULL;
	}
	return inside_tile(o, &moved, t);
}

TileBounds
bounds_replaced(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, const int64_t *at, const Type *x,
                const Type *t)
{
	TileBounds r = { .zero = 0 };
	MaskCond c = { .dims = 0 }, all[DIM_MAX + MASK_CONDS];
	Type cond = tile_as(D_bool, t);
	Val *in[3], *old = inside_tile(o, e, t), *now = part_inside(o, f, at, x, t);
	int n = conds_of(e, t->rank, all);

	if (!old && !now)
		return r;
	for (int i = 0; i < n; i++)
		c.dims |= all[i].dims;
	n = conds_of(f, t->rank, all);
	for (int i = 0; i < n; i++)
		c.dims |= all[i].dims;
	for (int d = 0; d < t->rank; d++)
		c.dims |= (unsigned)(x->shape[d] != t->shape[d]) << d;
	in[0] = part_tile(o, at, x, t);
	in[1] = now ? now : number(o, 1, cond);
	in[2] = old ? old : number(o, 1, cond);
	cond_set_tile(o, &c, put(o, O_select, 3, in, cond));
	cond_add(b, o, &r, t, c);
	return r;
}

/* Is the only condition of the second piece its end, and the first one complete? */
static bool
runs_on(const MaskCond *p, int np, const MaskCond *q, int nq, int d, const Type *t)
{
	return np == 0 && nq == 1 && !q[0].lo && range_dim(&q[0], t) == d && p;
}

TileBounds
bounds_joined(Bounds *b, Op *o, const TileBounds *e, const TileBounds *f, int d, const Type *x, const Type *t)
{
	MaskCond p[DIM_MAX + MASK_CONDS], q[DIM_MAX + MASK_CONDS];
	int np = conds_of(e, t->rank, p), nq = conds_of(f, t->rank, q);
	int64_t second = t->shape[d] - x->shape[d];
	TileBounds r = { .zero = 0 };
	unsigned dims = 1u << d;
	Type y = *t;
	Val *all = NULL;
	bool zero = true;

	y.shape[d] = second;
	for (int i = 0; i < np; i++)
		dims |= p[i].dims;
	for (int i = 0; i < nq; i++)
		dims |= q[i].dims;
	if (runs_on(p, np, q, nq, d, t)) {
		MaskCond c = q[0];

		/* the first piece is complete even if the second starts behind the end */
		c.hi = ir_bin(o->parent, o, O_max, c.hi, ir_const(o->parent, o, 0));
		c.hi = ir_bin(o->parent, o, O_add, c.hi, ir_const(o->parent, o, x->shape[d]));
		cond_add(b, o, &r, t, c);
		return r;
	}
	for (int i = 0; i < np; i++) {
		int j = 0;

		while (j < nq && !(cond_same(o, &p[i], &q[j]) && !cond_varies(&p[i], d)))
			j++;
		if (j < nq) { /* both pieces have it */
			MaskCond c = p[i];

			c.dims = dims;
			c.zero = p[i].zero && q[j].zero;
			c.finite = p[i].finite && q[j].finite;
			cond_add(b, o, &r, t, c);
			q[j] = q[--nq];
			continue;
		}
		all = both(o, all, piece_tile(o, &p[i], d, 0, x->shape[d], x, t));
		zero = zero && p[i].zero;
	}
	for (int j = 0; j < nq; j++) {
		all = both(o, all, piece_tile(o, &q[j], d, x->shape[d], second, &y, t));
		zero = zero && q[j].zero;
	}
	if (all) {
		MaskCond c = { .dims = dims, .zero = zero };

		cond_set_tile(o, &c, all);
		cond_add(b, o, &r, t, c);
	}
	return r;
}

/* ---- reductions ------------------------------------------------------------------------------------ */

/* Does any element along d satisfy the condition, a bool tile? NULL is true. */
static Val *
any_along(Op *o, Val *x, int d)
{
	Type at = tile_as(D_i32, &x->type), cond;
	Val *in[3] = { x, number(o, 1, at), number(o, 0, at) }, *v = put(o, O_select, 3, in, at);

	at.shape[d] = 1;
	v = put(o, O_reduce_max, 1, &v, at);
	IMM_SET(v->def, dim, d);
	cond = tile_as(D_bool, &at);
	return put2(o, O_ne, v, number(o, 0, at), cond);
}

/* The single form of the lines that have an element: c, tied to other dims, where the range along d is
 * [from, at) of n elements, if it has any, else all. Returns false if no form describes them. */
static bool
lines_form(Op *o, MaskCond *c, int d, Val *from, Val *at, int64_t n)
{
	Val *first = ir_const(o->parent, o, 0), *last = ir_const(o->parent, o, n - 1);
	int64_t step = c->coef[d];

	if (c->tile)
		return false;
	c->dims &= ~(1u << d);
	c->coef[d] = 0;
	if (!step || n == 1)
		return true;
	if (c->lo && c->hi) /* narrower than a step, or empty? */
		return false;
	if (from || at) {
		Val *some, *lo = from ? bound_clamped(o, from, n) : first;
		Val *hi = at ? bound_clamped(o, at, n) : ir_const(o->parent, o, n), *in[3];
		Type i64 = type_scalar(D_i64);

		some = ir_bin(o->parent, o, O_lt, lo, hi);
		in[0] = some;
		in[1] = lo;
		in[2] = first;
		first = put(o, O_select, 3, in, i64);
		in[1] = ir_bin(o->parent, o, O_sub, hi, ir_const(o->parent, o, 1));
		in[2] = last;
		last = put(o, O_select, 3, in, i64);
	}
	if (c->lo)
		c->lo = ir_bin(o->parent, o, O_sub, c->lo,
		               ir_bin(o->parent, o, O_mul, last, ir_const(o->parent, o, step)));
	if (c->hi)
		c->hi = ir_bin(o->parent, o, O_sub, c->hi,
		               ir_bin(o->parent, o, O_mul, first, ir_const(o->parent, o, step)));
	return true;
}

/* The lines that have an element, for conditions that do not vary along d, and others of one form. All get the
 * names of all. Returns false if there are several forms. */
static bool
lines_forms(Bounds *b, Op *o, const MaskCond *c, int n, int d, const TileBounds *e, const Type *x, TileBounds *r)
{
	MaskCond one = { .dims = 0 };
	unsigned dims = 0;
	bool some = false;
	Type t = *x;

	t.shape[d] = 1;
	for (int i = 0; i < n; i++) {
		dims |= c[i].dims;
		if (!cond_varies(&c[i], d))
			continue;
		if (c[i].tile || c[i].dims == 1u << d ||
		    (some && memcmp(one.coef, c[i].coef, sizeof one.coef) != 0))
			return false;
		if (!some)
			one = c[i];
		one.lo = bound_tighter(o, O_max, one.lo, c[i].lo);
		one.hi = bound_tighter(o, O_min, one.hi, c[i].hi);
		some = true;
	}
	if (some && !lines_form(o, &one, d, e->from[d], e->at[d], x->shape[d]))
		return false;
	for (int i = 0; i <= n; i++) {
		MaskCond line = i < n ? c[i] : one;

		if (i < n ? cond_varies(&c[i], d) : !some)
			continue;
		line.dims = dims & ~(1u << d);
		cond_add(b, o, r, &t, line);
	}
	return true;
}

/* The lines that have an element, as a bool tile. Where the conditions on d alone leave nothing, the others
 * decide. */
static Val *
lines_tile(Op *o, const MaskCond *c, int n, int d, const Type *x)
{
	Val *own = NULL, *tied = NULL, *in[3];

	for (int i = 0; i < n; i++) {
		Val **to = c[i].dims == 1u << d ? &own : &tied;

		*to = both(o, *to, cond_tile(o, &c[i], x));
	}
	if (!own)
		return any_along(o, tied, d);
	in[0] = any_along(o, own, d);
	in[1] = any_along(o, both(o, own, tied), d);
	in[2] = any_along(o, tied, d);
	return put(o, O_select, 3, in, in[1]->type);
}

TileBounds
bounds_reduced(Bounds *b, Op *o, const TileBounds *e, int d, const Type *x)
{
	TileBounds r = *e;
	MaskCond along[1 + MASK_CONDS], c;
	Type t = *x;
	int n = 0, tied = 0;
	unsigned dims = 0;

	r.at[d] = r.from[d] = NULL;
	r.nmore = 0;
	t.shape[d] = 1;
	for (int i = 0; i < e->nmore; i++) {
		if (!(e->more[i].dims >> d & 1)) {
			MaskCond kept = e->more[i];

			for (int axis = 0; kept.tile && axis < kept.tile->type.rank; axis++)
				if (kept.axis[axis] == d) /* the same in each element */
					cond_slice_tile(o, &kept, axis, 0, 0);
			cond_add(b, o, &r, &t, kept);
			continue;
		}
		along[n++] = e->more[i];
		tied += e->more[i].dims != 1u << d;
		dims |= e->more[i].dims;
	}
	if (!tied)
		return r;
	if (lines_forms(b, o, along, n, d, e, x, &r))
		return r;
	if (e->at[d] || e->from[d])
		along[n++] = cond_of_range(e, d);
	c = (MaskCond){ .dims = dims & ~(1u << d) };
	cond_set_tile(o, &c, lines_tile(o, along, n, d, x));
	cond_add(b, o, &r, &t, c);
	return r;
}
