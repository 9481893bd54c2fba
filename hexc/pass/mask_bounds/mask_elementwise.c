/* mask_elementwise.c - implements the rules of pass mask_bounds for elementwise ops, lookups and masks:
 * computes the bounds of their results, and which out-of-bounds elements are zero or finite. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/pass/mask_bounds/mask_tiles.h"
#include <math.h>
#include <string.h>

Outside
outside_of(const Op *o, const TileBounds *own, const MaskCond *c, const Type *t)
{
	Outside r = OUT_UNKNOWN;

	for (int d = 0; d < t->rank; d++) {
		MaskCond range = cond_of_range(own, d);

		if ((own->at[d] || own->from[d]) && cond_equal(o, &range, c) && (range.zero || range.finite))
			r = range.zero ? OUT_ZERO : OUT_FINITE;
	}
	for (int i = 0; i < own->nmore; i++)
		if (cond_equal(o, &own->more[i], c) && (own->more[i].zero || own->more[i].finite))
			r = own->more[i].zero ? OUT_ZERO : OUT_FINITE;
	return r;
}

/* Gives the result the bounds of the indices, and of a gathered table those that do not name its last dim. A
 * missing index may select any value. */
void
edge_lookup(Bounds *b, Op *o)
{
	TileBounds e = *edge_of(b, lookup_index(o)), table = *edge_of(b, lookup_table(o)), along;
	const Type *x = &lookup_table(o)->type, *t = &o->out[0]->type;
	int last = x->rank - 1;

	bounds_forget_values(&e);
	if (o->code == O_gather && bounds_known(&table)) {
		along = bounds_along(&table, last);
		o->in[IN_lookup_table] = mask_all(b, o, lookup_table(o), &along, 0, 0);
		for (int d = 0; d < last; d++) {
			MaskCond c = cond_of_range(&table, d);

			c.zero = c.finite = false;
			if (c.lo || c.hi)
				cond_add(b, o, &e, t, cond_placed(o, &c, x, t, 0));
		}
		for (int i = 0; i < table.nmore; i++) {
			MaskCond c = table.more[i];

			c.zero = c.finite = false;
			if (!(c.dims >> last & 1))
				cond_add(b, o, &e, t, cond_placed(o, &c, x, t, 0));
		}
	}
	if (o->code == O_lookup && bounds_known(&table))
		o->in[IN_lookup_table] = mask_all(b, o, lookup_table(o), &table, 0, 0);
	edge_set(b, o->out[0], &e);
}

/* Returns the operands' bounds, joined: along each dim the smallest end and the largest first element, and
 * all other conditions. */
static TileBounds
edges_of_operands(Bounds *b, Op *o)
{
	TileBounds e = { .zero = 0 };

	for (int i = 0; i < o->nin; i++)
		for (int d = 0; d < o->out[0]->type.rank; d++) {
			const TileBounds *own = edge_of(b, o->in[i]);

			e.at[d] = bound_tighter(o, O_min, e.at[d], own->at[d]);
			e.from[d] = bound_tighter(o, O_max, e.from[d], own->from[d]);
		}
	for (int i = 0; i < o->nin; i++) {
		const TileBounds *own = edge_of(b, o->in[i]);

		for (int j = 0; j < own->nmore; j++) {
			MaskCond c = own->more[j];

			c.zero = c.finite = false;
			cond_add(b, o, &e, &o->out[0]->type, c);
		}
	}
	return e;
}

void
edge_elt(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	edge_set(b, o->out[0], &e);
}

/* Returns what is known of the result's elements that do not satisfy c. `zeros`: the op maps zeros to zero.
 * Zero times a finite number is zero; finite numbers are known to stay finite only in ops of a single
 * operand. */
static Outside
outside_after(Bounds *b, Op *o, const MaskCond *c, bool zeros)
{
	int nzero = 0, nfinite = 0;

	for (int i = 0; i < o->nin; i++) {
		Outside x = outside_of(o, edge_of(b, o->in[i]), c, &o->out[0]->type);

		nzero += x == OUT_ZERO;
		nfinite += x == OUT_FINITE;
	}
	if (zeros && (nzero == o->nin || (o->code == O_mul && nzero && nzero + nfinite == o->nin)))
		return OUT_ZERO;
	return o->nin == 1 && nzero + nfinite == 1 ? OUT_FINITE : OUT_UNKNOWN;
}

/* Sets what is known of the elements of o's result that do not satisfy each condition of e. */
static void
outside_all(Bounds *b, Op *o, TileBounds *e, bool zeros)
{
	e->zero = ~0u;
	e->finite = 0;
	for (int d = 0; d < o->out[0]->type.rank; d++) {
		MaskCond c = cond_of_range(e, d);
		Outside x = e->at[d] || e->from[d] ? outside_after(b, o, &c, zeros) : OUT_ZERO;

		if (x != OUT_ZERO)
			e->zero &= ~(1u << d);
		e->finite |= (unsigned)(x == OUT_FINITE) << d;
	}
	for (int i = 0; i < e->nmore; i++) {
		Outside x = outside_after(b, o, &e->more[i], zeros);

		e->more[i].zero = x == OUT_ZERO;
		e->more[i].finite = x == OUT_FINITE;
	}
}

/* Returns the dims that conditions of e name; bit d: dim d. */
static unsigned
dims_named(const TileBounds *e, int rank)
{
	unsigned dims = 0;

	for (int d = 0; d < rank; d++)
		dims |= (unsigned)(e->at[d] || e->from[d]) << d;
	for (int i = 0; i < e->nmore; i++)
		dims |= e->more[i].dims;
	return dims;
}

bool
bounds_same(const Op *o, const TileBounds *x, const TileBounds *y, int rank, TileBounds *e)
{
	*e = *x;
	e->zero &= y->zero;
	e->finite &= y->finite;
	if (x->nmore != y->nmore)
		return false;
	for (int d = 0; d < rank; d++) {
		MaskCond a = cond_of_range(x, d), b = cond_of_range(y, d);

		if (!cond_equal(o, &a, &b))
			return false;
	}
	for (int i = 0; i < x->nmore; i++) {
		if (!cond_same(o, &x->more[i], &y->more[i]))
			return false;
		e->more[i].zero = x->more[i].zero && y->more[i].zero;
		e->more[i].finite = x->more[i].finite && y->more[i].finite;
	}
	return true;
}

/* After an assignment to a part of a tile, the part's elements exist as in the assigned value, the others as
 * before. `part`: 1 + 2 * the dims that the part cuts; 0: no such assignment. */
void
edge_select(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type;
	const TileBounds *x = edge_of(b, select_yes(o)), *y = edge_of(b, select_no(o));
	Type cond = type_tile(D_bool, S_reg, t->rank, t->shape);
	MaskCond c = { .dims = (unsigned)(IMM(o, part) >> 1) };
	TileBounds e;
	Val *in[3] = { select_cond(o) };

	if (!IMM(o, part)) {
		edge_elt(b, o);
		return;
	}
	if (bounds_same(o, x, y, t->rank, &e)) {
		edge_set(b, o->out[0], &e);
		return;
	}
	e = (TileBounds){ .zero = 0 };
	for (int i = 0; i < 2; i++) {
		in[1 + i] = inside_tile(o, i ? y : x, t);
		in[1 + i] = in[1 + i] ? in[1 + i] : mask_value(o, 1, cond);
		c.dims |= dims_named(i ? y : x, t->rank);
	}
	in[0] = op_new(o->parent, o, O_select, o->src, 3, in, 1, &cond)->out[0];
	cond_set_tile(o, &c, in[0]);
	cond_add(b, o, &e, t, c);
	edge_set(b, o->out[0], &e);
}

/* Ops that map zero to zero, if the types have a zero: the bits of zero, cast to nf4, are not 0. */
void
edge_zero(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	outside_all(b, o, &e,
	            !(fabs(num_outside(o->out[0]->type.dtype)) > 0) &&
	                    !(fabs(num_outside(o->in[0]->type.dtype)) > 0 && o->code == O_bitcast));
	if (o->code == O_bitcast)
		e.finite = 0;
	edge_set(b, o->out[0], &e);
}

/* Ops that map zeros to zero, if all operands are zero outside of the same condition. */
void
edge_zeros(Bounds *b, Op *o)
{
	TileBounds e = edges_of_operands(b, o);

	outside_all(b, o, &e, true);
	edge_set(b, o->out[0], &e);
}

/* Returns the index along d of the element before which mask_new set x to zero. Returns NULL if it did
 * not. */
static Val *
cleared_front(const Val *x, int d)
{
	const Op *o = x->def, *less = o && o->code == O_select ? select_cond(o)->def : NULL;
	const Op *first = less && less->code == O_le ? elt_lhs(less)->def : NULL;
	const Op *at = less && less->code == O_le ? elt_rhs(less)->def : NULL;

	if (!first || first->code != O_splat || !at || at->code != O_iota || IMM(at, dim) != d)
		return NULL;
	first = op_source(first)->def; /* a cast of min(max(from, 0), extent) */
	for (int i = 0; first && i < 2; i++)
		first = first->in[0]->def;
	return first && first->code == O_max ? elt_lhs(first) : NULL;
}

void
edge_mask(Bounds *b, Op *o)
{
	const Type *t = &o->out[0]->type;
	TileBounds e = *edge_of(b, mask_source(o));
	bool zero = dtype_is_float(t->dtype) ? o->fimm == 0 : IMM(o, fill) == 0;
	int in = 1;

	for (int d = 0; d < t->rank; d++) {
		if (!(IMM(o, dims) >> d & 1))
			continue;
		e.at[d] = zero ? o->in[in] : NULL;
		if (!zero)
			e.from[d] = NULL; /* elements before it were masked earlier */
		else if (!e.from[d])
			e.from[d] = cleared_front(mask_source(o), d);
		e.zero = zero ? e.zero | 1u << d : e.zero;
		in++;
	}
	if (!zero)
		bounds_forget_values(&e); /* the fill value is also out of bounds along the other dims */
	edge_set(b, o->out[0], &e);
}
