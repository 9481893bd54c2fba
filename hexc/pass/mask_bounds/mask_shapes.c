/* mask_shapes.c - computes the bounds of reshaped, sliced and joined tiles for pass mask_bounds. A linear
 * form remains one in slices and in reshapes that split a dim, or join dims whose rows are complete. If a
 * reshape joins rows that end earlier, or pieces with different ends are joined, the condition becomes a bool
 * tile that is computed from the indices. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <string.h>

/* ---- reshapes -------------------------------------------------------------------------------- */

/* Dims [x0, x1) of a type become dims [y0, y1) of a reshaped one, which have as many elements. */
typedef struct DimGroup {
	int x0, x1, y0, y1;
} DimGroup;

/* Splits a reshape into groups, as small as possible. Returns their number. */
static int
groups(const Type *x, const Type *y, DimGroup *g)
{
	int n = 0, i = 0, j = 0;

	while (i < x->rank || j < y->rank) {
		int64_t p = 1, q = 1;

		g[n] = (DimGroup){ .x0 = i, .y0 = j };
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

/* Returns the distance, in elements, of neighbours along dim d of a group that ends before dim `end`. */
static int64_t
stride_in(const Type *t, int d, int end)
{
	int64_t n = 1;

	while (++d < end)
		n *= t->shape[d];
	return n;
}

/* Returns the dims of t that a condition on `dims` of x names after the reshape. */
static unsigned
dims_reshaped(unsigned dims, const Type *x, const Type *t, const DimGroup *g, int n)
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

/* Sets the coefficients of t's dims in a group, and *by to the factor of the condition's ends. Returns false
 * if the form is not linear in t's dims. `only`: the condition involves no other group, so that its ends may
 * be scaled. */
static bool
group_form(const MaskCond *c, const Type *x, const Type *t, const DimGroup *g, bool only, int64_t *coef,
           int64_t *by)
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

/* Returns the condition as a bool tile of t's shape, computed from the indices that its elements have in
 * x. */
static Val *
tile_reshaped(Op *o, const MaskCond *c, const Type *x, const Type *t, const DimGroup *g, int n)
{
	Type at = mask_type(D_i32, t), cond = mask_type(D_bool, t);
	MaskCond whole = *c;
	Val *sum = NULL, *v;

	if (c->tile) {
		v = cond_tile(o, c, x);
		return mask_op(o, O_reshape, 1, &v, cond);
	}
	for (int i = 0; i < n; i++)
		for (int d = g[i].x0; d < g[i].x1; d++) {
			int64_t coef[DIM_MAX] = { 0 }, stride = stride_in(x, d, g[i].x1);

			if (!c->coef[d] || x->shape[d] == 1)
				continue;
			for (int e = g[i].y0; e < g[i].y1; e++)
				coef[e] = stride_in(t, e, g[i].y1);
			v = mask_form(o, coef, at);
			if (stride > 1)
				v = mask_op2(o, O_div, v, mask_number(o, stride, at), at);
			if (d > g[i].x0)
				v = mask_op2(o, O_mod, v, mask_number(o, x->shape[d], at), at);
			if (c->coef[d] != 1)
				v = mask_op2(o, O_mul, v, mask_number(o, c->coef[d], at), at);
			sum = sum ? mask_op2(o, O_add, sum, v, at) : v;
		}
	if (!sum)
		return mask_uniform(o, &whole, cond);
	return mask_between(o, c, sum, mask_form_end(c, x));
}

/* Returns condition c of a tile of type x in terms of its reshape to t, which has n groups. */
static MaskCond
cond_reshaped(Op *o, const MaskCond *c, const Type *x, const Type *t, const DimGroup *g, int n)
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
		r.lo = mask_times(o, r.lo, by);
		r.hi = mask_times(o, r.hi, by);
	}
	if (linear)
		return r;
	for (int i = 0, kept = 0; c->tile && i < c->tile->type.rank; i++) { /* do all its dims stay? */
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
	DimGroup g[2 * DIM_MAX];
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

/* ---- parts ----------------------------------------------------------------------------------- */

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

/* Sets c to the list of all conditions of e. Returns their number. */
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

/* Returns the condition of a piece of type x, at [at, at + extent) along d, as a bool tile of the whole, of
 * type t. It is true outside of the piece. */
static Val *
piece_tile(Op *o, const MaskCond *c, int d, int64_t at, int64_t extent, const Type *x, const Type *t)
{
	Type i32 = mask_type(D_i32, t), cond = mask_type(D_bool, t), was = mask_type(D_bool, x);
	Val *i = mask_index(o, d, i32), *outside = NULL, *v;
	MaskCond moved = *c;

	if (c->tile) { /* the piece is put between others that are true */
		Val *part = cond_tile(o, c, x);

		for (int side = 0; side < 2; side++) {
			Type fill = was;

			fill.shape[d] = side ? t->shape[d] - at - extent : at;
			if (!fill.shape[d])
				continue;
			was.shape[d] += fill.shape[d];
			part = mask_op2(o, O_concat, side ? part : mask_number(o, 1, fill),
			                side ? mask_number(o, 1, fill) : part, was);
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
		outside = mask_op2(o, O_lt, i, mask_number(o, at, i32), cond);
	if (at + extent < t->shape[d]) {
		Val *after = mask_op2(o, O_le, mask_number(o, at + extent, i32), i, cond);

		outside = outside ? mask_op2(o, O_or, outside, after, cond) : after;
	}
	return outside ? mask_op2(o, O_or, outside, v, cond) : v;
}

/* Returns a bool tile of t's shape, true within the part of type x at `at`. */
static Val *
part_tile(Op *o, const int64_t *at, const Type *x, const Type *t)
{
	Type i32 = mask_type(D_i32, t), cond = mask_type(D_bool, t);
	Val *all = NULL;

	for (int d = 0; d < t->rank; d++) {
		if (x->shape[d] == t->shape[d])
			continue;
		if (at[d] > 0)
			all = mask_both(o, all,
			                mask_op2(o, O_le, mask_number(o, at[d], i32), mask_index(o, d, i32),
			                         cond));
		if (at[d] + x->shape[d] < t->shape[d])
			all = mask_both(o, all,
			                mask_op2(o, O_lt, mask_index(o, d, i32),
			                         mask_number(o, at[d] + x->shape[d], i32), cond));
	}
	return all ? all : mask_number(o, 1, cond);
}

/* Returns the bounds f of the part of type x at `at` as a bool tile of the whole, of type t. Returns NULL if
 * all its elements are in bounds. */
static Val *
part_inside(Op *o, const TileBounds *f, const int64_t *at, const Type *x, const Type *t)
{
	TileBounds moved = *f;

	for (int i = 0; i < moved.nmore; i++) {
		MaskCond *c = &moved.more[i];
		Type was = mask_type(D_bool, x);
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
				part = side ? mask_op2(o, O_concat, part, mask_number(o, 1, fill), was)
				            : mask_op2(o, O_concat, mask_number(o, 1, fill), part, was);
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
	Type cond = mask_type(D_bool, t);
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
	in[1] = now ? now : mask_number(o, 1, cond);
	in[2] = old ? old : mask_number(o, 1, cond);
	cond_set_tile(o, &c, mask_op(o, O_select, 3, in, cond));
	cond_add(b, o, &r, t, c);
	return r;
}

/* Has the second piece only an end along d as its condition, and the first piece none? */
static bool
runs_on(const MaskCond *p, int np, const MaskCond *q, int nq, int d, const Type *t)
{
	return np == 0 && nq == 1 && !q[0].lo && cond_range_dim(&q[0], t) == d && p;
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

		/* the first piece is complete even if the second starts past the end */
		c.hi = ir_bin(o->parent, o, O_max, c.hi, ir_const(o->parent, o, 0));
		c.hi = ir_bin(o->parent, o, O_add, c.hi, ir_const(o->parent, o, x->shape[d]));
		cond_add(b, o, &r, t, c);
		return r;
	}
	for (int i = 0; i < np; i++) {
		int j = 0;

		while (j < nq && !(cond_same(o, &p[i], &q[j]) && !cond_varies(&p[i], d)))
			j++;
		if (j < nq) { /* both pieces have the condition */
			MaskCond c = p[i];

			c.dims = dims;
			c.zero = p[i].zero && q[j].zero;
			c.finite = p[i].finite && q[j].finite;
			cond_add(b, o, &r, t, c);
			q[j] = q[--nq];
			continue;
		}
		all = mask_both(o, all, piece_tile(o, &p[i], d, 0, x->shape[d], x, t));
		zero = zero && p[i].zero;
	}
	for (int j = 0; j < nq; j++) {
		all = mask_both(o, all, piece_tile(o, &q[j], d, x->shape[d], second, &y, t));
		zero = zero && q[j].zero;
	}
	if (all) {
		MaskCond c = { .dims = dims, .zero = zero };

		cond_set_tile(o, &c, all);
		cond_add(b, o, &r, t, c);
	}
	return r;
}
