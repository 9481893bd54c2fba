/* mask_reductions.c - computes the bounds of a reduction's result for pass mask_bounds. Conditions that do
 * not name its dim stay, and conditions on the dim alone are used up. Where conditions name it and other
 * dims, the lines that have an element are in bounds. */
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <string.h>

/* ---- reductions ------------------------------------------------------------------------------ */

/* Returns a bool tile, true where x, a bool tile, is true for any element along d. */
static Val *
any_along(Op *o, Val *x, int d)
{
	Type at = mask_type(D_i32, &x->type), cond;
	Val *in[3] = { x, mask_number(o, 1, at), mask_number(o, 0, at) },
	    *v = mask_op(o, O_select, 3, in, at);

	at.shape[d] = 1;
	v = mask_op(o, O_reduce_max, 1, &v, at);
	IMM_SET(v->def, dim, d);
	cond = mask_type(D_bool, &at);
	return mask_op2(o, O_ne, v, mask_number(o, 0, at), cond);
}

/* Turns c, a condition on d and other dims, into the form of the lines that have an element. Such an element
 * is in the range [from, at) of the n elements along d; an empty range counts as all of them. Returns false
 * if no form describes the lines. */
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
		first = mask_op(o, O_select, 3, in, i64);
		in[1] = ir_bin(o->parent, o, O_sub, hi, ir_const(o->parent, o, 1));
		in[2] = last;
		last = mask_op(o, O_select, 3, in, i64);
	}
	if (c->lo)
		c->lo = ir_bin(o->parent, o, O_sub, c->lo,
		               ir_bin(o->parent, o, O_mul, last, ir_const(o->parent, o, step)));
	if (c->hi)
		c->hi = ir_bin(o->parent, o, O_sub, c->hi,
		               ir_bin(o->parent, o, O_mul, first, ir_const(o->parent, o, step)));
	return true;
}

/* Adds to r the conditions of the lines that have an element by the n conditions c. These must not vary along
 * d or have one form in common, else the result is false. Each added condition names all dims that the n
 * conditions name. */
static bool
lines_forms(Bounds *b, Op *o, const MaskCond *c, int n, int d, const TileBounds *e, const Type *x,
            TileBounds *r)
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

		if (i < n ? cond_varies(&c[i], d) || c[i].dims == 1u << d : !some)
			continue;
		line.dims = dims & ~(1u << d);
		cond_add(b, o, r, &t, line);
	}
	return true;
}

/* Returns a bool tile, true for lines that have an element by the n conditions c. Where the conditions on d
 * alone leave none, only the others count. */
static Val *
lines_tile(Op *o, const MaskCond *c, int n, int d, const Type *x)
{
	Val *own = NULL, *tied = NULL, *in[3];

	for (int i = 0; i < n; i++) {
		Val **to = c[i].dims == 1u << d ? &own : &tied;

		*to = mask_both(o, *to, cond_tile(o, &c[i], x));
	}
	if (!own)
		return any_along(o, tied, d);
	in[0] = any_along(o, own, d);
	in[1] = any_along(o, mask_both(o, own, tied), d);
	in[2] = any_along(o, tied, d);
	return mask_op(o, O_select, 3, in, in[1]->type);
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
