/* mask_inside.c - replaces the ops on bounds in pass mask_bounds, fill, inside and those named inside_*, by
 * code that computes from the bounds which elements exist, how many, and tiles filled with a number
 * elsewhere. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>

/* Replaces the result of o by x. */
static void
resolved(Bounds *b, Op *o, Val *x)
{
	if (!x->name)
		x->name = o->out[0]->name;
	replace_after(b, o->out[0], x);
	b->changed = true;
}

static Val *
splat(Op *o, Val *x, Type t)
{
	Type s = type_scalar(t.dtype);

	if (x->type.dtype != t.dtype)
		x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &s)->out[0];
	return op_new(o->parent, o, O_splat, o->src, 1, &x, 1, &t)->out[0];
}

void
edge_inside(Bounds *b, Op *o)
{
	Val *x = inside_tile(o, edge_of(b, op_source(o)), &o->out[0]->type);

	resolved(b, o, x ? x : mask_value(o, 1, o->out[0]->type));
}

/* Returns the conditions of e that may leave out elements before others along d, not those of whole lines. */
static TileBounds
bounds_ahead(const TileBounds *e, int d)
{
	TileBounds r = { .zero = e->zero };

	r.from[d] = e->from[d];
	for (int i = 0; i < e->nmore; i++)
		if (cond_varies(&e->more[i], d) && !(e->more[i].coef[d] && !e->more[i].lo))
			r.more[r.nmore++] = e->more[i];
	return r;
}

void
edge_fill(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, op_source(o));
	bool flt = dtype_is_float(o->out[0]->type.dtype);
	Val *x;

	if (IMM(o, ahead))
		e = bounds_ahead(&e, (int)IMM(o, ahead) - 1);
	drop_unseen(b, o->out[0], &e);
	x = mask_all(b, o, op_source(o), &e, flt ? o->fimm : 0, flt ? 0 : IMM(o, fill));
	if (x == op_source(o)) /* the same elements, without bounds */
		x = op_new(o->parent, o, O_unmask, o->src, 1, &x, 1, &x->type)->out[0];
	resolved(b, o, x);
}

/* Returns the number of true elements of x along d, an i32 tile. */
static Val *
counted(Op *o, Val *x, int d)
{
	Type t = type_tile(D_i32, S_reg, x->type.rank, x->type.shape);
	Val *in[3] = { x, mask_value(o, 1, t), mask_value(o, 0, t) };

	in[0] = op_new(o->parent, o, O_select, o->src, 3, in, 1, &t)->out[0];
	t.shape[d] = 1;
	in[0] = op_new(o->parent, o, O_reduce_sum, o->src, 1, in, 1, &t)->out[0];
	IMM_SET(in[0]->def, dim, d);
	return in[0];
}

/* Returns the bounds that elements with bounds e would have, moved to the front along d. */
static TileBounds
bounds_at_front(Op *o, const TileBounds *e, int d)
{
	const Type *t = &o->out[0]->type;
	TileBounds along = bounds_along(e, d), r = *e;
	Val *count, *in[2];
	MaskCond c = { .dims = 0 };
	Type n = type_tile(D_i32, S_reg, t->rank, t->shape);
	Type cond = type_tile(D_bool, S_reg, t->rank, t->shape);

	r.at[d] = r.from[d] = NULL;
	r.nmore = 0;
	for (int i = 0; i < e->nmore; i++)
		if (!(e->more[i].dims >> d & 1))
			r.more[r.nmore++] = e->more[i];
	bounds_forget_values(&r);
	if (!along.nmore && !along.from[d]) {
		r.at[d] = along.at[d];
		return r;
	}
	if (!along.nmore) {
		count = ir_const(o->parent, o, t->shape[d]);
		count = along.at[d] ? ir_bin(o->parent, o, O_min, count, along.at[d]) : count;
		r.at[d] = ir_bin(o->parent, o, O_sub, count, bound_clamped(o, along.from[d], t->shape[d]));
		return r;
	}
	for (int i = 0; i < along.nmore; i++)
		c.dims |= along.more[i].dims;
	c.dims |= 1u << d;
	in[1] = counted(o, inside_tile(o, &along, t), d);
	in[1] = op_new(o->parent, o, O_broadcast, o->src, 1, in + 1, 1, &n)->out[0];
	in[0] = op_new(o->parent, o, O_iota, o->src, 0, NULL, 1, &n)->out[0];
	IMM_SET(in[0]->def, dim, d);
	cond_set_tile(o, &c, op_new(o->parent, o, O_lt, o->src, 2, in, 1, &cond)->out[0]);
	r.more[r.nmore++] = c;
	return r;
}

void
edge_front(Bounds *b, Op *o)
{
	TileBounds e = bounds_at_front(o, edge_of(b, front_like(o)), (int)IMM(o, dim));
	Val *x = op_source(o);

	x = op_new(o->parent, o, O_unmask, o->src, 1, &x, 1, &x->type)->out[0];
	edge_set(b, x, &e);
	resolved(b, o, x);
}

/* Has the range [from, at) an element? Proved only for from NULL (0), where `at` is often a size minus a
 * start. */
static bool
surely_some(Bounds *b, const Op *o, Val *from, Val *at)
{
	Val *start;

	if (from)
		return false;
	if (val_fact(b->k, at).lo > 0)
		return true;
	if (!at->def || at->def->code != O_sub)
		return false;
	start = elt_rhs(at->def);
	return val_fact(b->k, start).lo >= 0 && prove_inside(b->k, o, &start, 1, 1, elt_lhs(at->def));
}

/* Computes along one dim whether an element exists, or how many do. */
void
edge_inside_along(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_along(edge_of(b, op_source(o)), d);
	Type t = o->out[0]->type;
	int64_t n = op_source(o)->type.shape[d];
	Val *x, *from = e.from[d], *at = e.at[d];
	bool any = o->code == O_inside_any;

	if (e.nmore) {
		x = counted(o, inside_tile(o, &e, &op_source(o)->type), d);
		if (any) {
			Val *in[2] = { mask_value(o, 0, x->type), x };

			x = op_new(o->parent, o, O_lt, o->src, 2, in, 1, &t)->out[0];
		} else if (t.dtype != D_i32) {
			x = op_new(o->parent, o, O_cast, o->src, 1, &x, 1, &t)->out[0];
		}
		resolved(b, o, x);
		return;
	}
	if ((!from && !at) || (any && at && surely_some(b, o, from, at))) {
		resolved(b, o, mask_value(o, any ? 1 : n, t));
		return;
	}
	x = ir_const(o->parent, o, n);
	x = at ? ir_bin(o->parent, o, O_min, x, at) : x;
	from = from ? ir_bin(o->parent, o, O_max, ir_const(o->parent, o, 0), from) : NULL;
	if (any) {
		x = ir_bin(o->parent, o, O_lt, from ? from : ir_const(o->parent, o, 0), x);
	} else {
		x = from ? ir_bin(o->parent, o, O_sub, x, from) : x;
		if (val_fact(b->k, x).lo < 0)
			x = ir_bin(o->parent, o, O_max, x, ir_const(o->parent, o, 0));
	}
	resolved(b, o, splat(o, x, t));
}

/* Replaces the op by its second operand if the in-bounds elements along a dim are one range, the same in all
 * lines, and else by its third. */
void
edge_if_range(Bounds *b, Op *o)
{
	const TileBounds *e = edge_of(b, op_source(o));
	Val *x = if_range_yes(o);

	for (int i = 0; i < e->nmore; i++)
		if (cond_varies(&e->more[i], (int)IMM(o, dim)))
			x = if_range_no(o);
	x = op_new(o->parent, o, O_unmask, o->src, 1, &x, 1, &x->type)->out[0];
	resolved(b, o, x);
}

/* Adds the condition that the index along a dim, or 0, is within the bounds. */
void
edge_limit(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, op_source(o));
	Val *x = op_source(o);
	int64_t open;
	MaskCond c = { .lo = limit_from(o), .hi = limit_below(o) };

	if (IMM(o, dim) >= 0) {
		c.dims = 1u << IMM(o, dim);
		c.coef[IMM(o, dim)] = 1;
	}
	c.lo = val_is_const(c.lo, &open) && open == INT64_MIN ? NULL : c.lo;
	c.hi = val_is_const(c.hi, &open) && open == INT64_MAX ? NULL : c.hi;
	if (c.lo || c.hi)
		cond_add(b, o, &e, &x->type, c);
	x = op_new(o->parent, o, O_unmask, o->src, 1, &x, 1, &x->type)->out[0];
	edge_set(b, x, &e);
	resolved(b, o, x);
}

/* Computes an index along a dim before which no line has an in-bounds element, or from which on none has, as
 * a scalar. */
void
edge_inside_end(Bounds *b, Op *o)
{
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_along(edge_of(b, op_source(o)), d);
	int64_t n = op_source(o)->type.shape[d];
	Val *x = ir_const(o->parent, o, o->code == O_inside_end ? n : 0);

	if (o->code == O_inside_end && e.at[d])
		x = ir_bin(o->parent, o, O_min, x, e.at[d]);
	else if (o->code == O_inside_first && e.from[d])
		x = bound_clamped(o, e.from[d], n);
	resolved(b, o, x);
}
