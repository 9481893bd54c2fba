/* mask_moves.c - implements the rules of pass mask_bounds for ops that move elements, and what all
 * rules share. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include <string.h>

bool
bound_same(const Op *o, const Val *x, const Val *y)
{
	return x == y || (x && y && index_equal(o, x, y));
}

void
bounds_forget_values(TileBounds *e)
{
	e->zero = e->finite = 0;
	for (int i = 0; i < e->nmore; i++)
		e->more[i].zero = e->more[i].finite = false;
}

TileBounds
bounds_along(const TileBounds *e, int d)
{
	TileBounds r = { .zero = 0 };

	r.at[d] = e->at[d];
	r.from[d] = e->from[d];
	for (int i = 0; i < e->nmore; i++)
		if (e->more[i].dims >> d & 1)
			r.more[r.nmore++] = e->more[i];
	return r;
}

Val *
mask_value(Op *o, int64_t x, Type t)
{
	Val *v = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &t)->out[0];

	if (dtype_is_float(t.dtype))
		v->def->fimm = (double)x;
	else
		IMM_SET(v->def, value, x);
	return v;
}

static TileBounds
bounds_transposed(Op *o, const TileBounds *f)
{
	const Type *t = &o->out[0]->type;
	TileBounds e = { .nmore = f->nmore };

	for (int d = 0; d < t->rank; d++) {
		int from = (int)IMM_AT(o, perm, d);

		e.at[d] = f->at[from];
		e.from[d] = f->from[from];
		e.zero |= (f->zero >> from & 1) << d;
		e.finite |= (f->finite >> from & 1) << d;
		for (int i = 0; i < f->nmore; i++) {
			e.more[i].dims |= (f->more[i].dims >> from & 1) << d;
			e.more[i].coef[d] = f->more[i].coef[from];
		}
	}
	for (int i = 0; i < f->nmore; i++) {
		MaskCond *c = &e.more[i];

		c->lo = f->more[i].lo;
		c->hi = f->more[i].hi;
		c->zero = f->more[i].zero;
		c->finite = f->more[i].finite;
		c->tile = f->more[i].tile;
		for (int d = 0; d < t->rank; d++)
			for (int axis = 0; c->tile && axis < c->tile->type.rank; axis++)
				if (IMM_AT(o, perm, d) == f->more[i].axis[axis])
					c->axis[axis] = (int8_t)d;
	}
	return e;
}

/* Returns the bounds of a broadcast. A condition on a dim that is broadcast holds for all of its elements or
 * for none, and no longer names it. */
static TileBounds
bounds_broadcast(Bounds *b, Op *o, const TileBounds *f)
{
	const Type *t = &o->out[0]->type, *x = &op_source(o)->type;
	TileBounds e = { .zero = f->zero, .finite = f->finite };

	for (int d = 0; d < t->rank; d++) {
		MaskCond c = cond_of_range(f, d);

		if (x->shape[d] == t->shape[d]) {
			e.at[d] = f->at[d];
			e.from[d] = f->from[d];
			continue;
		}
		e.zero &= ~(1u << d);
		c.dims = 0;
		c.coef[d] = 0;
		cond_add(b, o, &e, t, c);
	}
	for (int i = 0; i < f->nmore; i++)
		cond_add(b, o, &e, t, cond_placed(o, &f->more[i], x, t, 0));
	return e;
}

/* Returns the bounds of a reshape that only drops dims of extent 1 and adds such. */
static TileBounds
bounds_of_kept(Bounds *b, Op *o, const TileBounds *e)
{
	const Type *x = &op_source(o)->type, *t = &o->out[0]->type;
	TileBounds r = { .zero = 0 };
	int at[DIM_MAX], n = 0;

	for (int d = 0; d < x->rank; d++) {
		while (!(IMM(o, dropped) >> d & 1) && IMM(o, added) >> n & 1)
			n++;
		at[d] = IMM(o, dropped) >> d & 1 ? -1 : n++;
	}
	for (int i = 0; i < x->rank + e->nmore; i++) {
		MaskCond c = i < x->rank ? cond_of_range(e, i) : e->more[i - x->rank], to = c;

		if (!c.tile && !c.lo && !c.hi)
			continue;
		for (int j = c.tile ? c.tile->type.rank - 1 : -1; j >= 0; j--)
			if (at[c.axis[j]] < 0)
				cond_slice_tile(o, &to, j, 0, 0);
		to.dims = 0;
		memset(to.coef, 0, sizeof to.coef);
		for (int d = 0; d < x->rank; d++)
			if (at[d] >= 0) {
				to.dims |= (c.dims >> d & 1) << at[d];
				to.coef[at[d]] = c.coef[d];
			}
		for (int j = 0; to.tile && j < to.tile->type.rank; j++)
			to.axis[j] = (int8_t)max64(at[to.axis[j]], 0);
		cond_add(b, o, &r, t, to);
	}
	return r;
}

void
edge_shape(Bounds *b, Op *o)
{
	const TileBounds *f = edge_of(b, op_source(o));
	TileBounds e;

	if (o->out[0]->type.space != S_reg)
		return;
	if (o->code == O_transpose)
		e = bounds_transposed(o, f);
	else if (o->code == O_broadcast)
		e = bounds_broadcast(b, o, f);
	else if (IMM(o, dropped) || IMM(o, added))
		e = bounds_of_kept(b, o, f);
	else
		e = bounds_reshaped(b, o, f, &op_source(o)->type, &o->out[0]->type);
	edge_set(b, o->out[0], &e);
}

/* Gives the result the operand's conditions. Missing elements count as the value shifted in. Only those
 * before existing elements can move onto them, so only those are masked. */
void
edge_shift(Bounds *b, Op *o)
{
	const Val *x = op_source(o);
	TileBounds e = *edge_of(b, x);
	bool flt = dtype_is_float(x->type.dtype);
	int d = (int)IMM(o, dim);
	double f = flt ? o->fimm : 0;
	int64_t i = flt ? 0 : IMM(o, fill_in);

	for (int n = 0; n < e.nmore; n++)
		if (cond_varies(&e.more[n], d) && !(e.more[n].coef[d] && !e.more[n].lo))
			o->in[IN_op_source] = cond_mask(b, o, op_source(o), &e.more[n], f, i);
	if (e.from[d])
		o->in[IN_op_source] = mask_new(b, o, op_source(o), d, e.from[d], NULL, f, i);
	bounds_forget_values(&e);
	edge_set(b, o->out[0], &e);
}

void
edge_slice(Bounds *b, Op *o)
{
	TileBounds e = bounds_sliced(o, edge_of(b, op_source(o)), (int)IMM(o, dim), IMM(o, from),
	                             &o->out[0]->type);

	(void)b;
	edge_set(b, o->out[0], &e);
}

void
edge_concat(Bounds *b, Op *o)
{
	const TileBounds *x = edge_of(b, concat_first(o)), *y = edge_of(b, concat_second(o));
	int d = (int)IMM(o, dim);
	TileBounds e = bounds_joined(b, o, x, y, d, &concat_first(o)->type, &o->out[0]->type);

	edge_set(b, o->out[0], &e);
}

void
edge_whole(Bounds *b, Op *o)
{
	(void)b;
	(void)o;
}

void
edge_no_tile(Bounds *b, Op *o)
{
	(void)b;
	(void)o;
}
