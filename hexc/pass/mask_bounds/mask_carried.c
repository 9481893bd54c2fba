/* mask_carried.c - computes the bounds of values that loops carry and branches choose.
 *
 * A carried tile has the bounds that each iteration gives it. The loop therefore carries the ends of its
 * conditions as further scalars, and a bool tile where a condition is not a linear form. Which forms a loop
 * needs is known only after its body, so pass mask_bounds starts again from a copy of the kernel until they
 * stay the same. Pass dce removes carried ends that are not used. After a loop, an end that is the same in
 * all iterations is used without being carried. */
#include "hexc/pass/mask_bounds/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

/* ---- forms ------------------------------------------------------------------------------------------ */

/* Returns the index of the form of condition c. Conditions beyond the first MASK_CONDS - 1 forms share
 * the last one, a bool tile. Returns f->n for a form that f lacks. */
static int
form_index(const MaskForms *f, const MaskCond *c)
{
	int i = 0;

	for (; i < f->n && i < MASK_CONDS - 1; i++) {
		const MaskForm *m = &f->form[i];

		if (m->dims == c->dims && m->tile == (c->tile != NULL) &&
		    (c->tile || !memcmp(m->coef, c->coef, sizeof m->coef)))
			return i;
	}
	return i;
}

/* Adds the form of condition c. */
static void
forms_add(MaskForms *f, const MaskCond *c)
{
	int i = form_index(f, c);
	MaskForm *m = &f->form[i];

	if (i == f->n) {
		*m = (MaskForm){ .dims = c->dims, .tile = c->tile || i == MASK_CONDS - 1 };
		memcpy(m->coef, c->coef, sizeof m->coef);
		f->n++;
	}
	m->dims |= c->dims;
	m->lo |= !m->tile && c->lo;
	m->hi |= !m->tile && c->hi;
}

/* Adds the forms of the conditions of e to f. */
static void
forms_of(MaskForms *f, const TileBounds *e, int rank)
{
	for (int d = 0; d < rank; d++) {
		f->ends |= (unsigned)(e->at[d] != NULL) << d;
		f->fronts |= (unsigned)(e->from[d] != NULL) << d;
	}
	for (int i = 0; i < e->nmore; i++)
		forms_add(f, &e->more[i]);
}

/* Returns the number of ends and tiles. Sets of forms only grow, so two of the same loop are equal if their
 * sizes are. */
static int
forms_size(const MaskForms *f)
{
	int n = 0;

	for (int d = 0; d < DIM_MAX; d++)
		n += (int)((f->ends >> d & 1) + (f->fronts >> d & 1));
	for (int i = 0; i < f->n; i++) {
		const MaskForm *m = &f->form[i];

		n += 1 + m->lo + m->hi + m->tile + __builtin_popcount(m->dims);
	}
	return n;
}

/* ---- the parts of bounds ----------------------------------------------------------------------------- */

/* One part of a tile's bounds: the upper end or the front of a range or linear form, or a bool tile. */
typedef struct BoundPart {
	int dim, form; /* of a range: its dim; else: the index of the form; the other one is -1 */
	bool front, tile;
} BoundPart;

enum { PARTS_MAX = 2 * DIM_MAX + 2 * MASK_CONDS };

static int
parts_of(const MaskForms *f, int rank, BoundPart *p)
{
	int n = 0;

	for (int d = 0; d < rank; d++) {
		if (f->ends >> d & 1)
			p[n++] = (BoundPart){ .dim = d, .form = -1 };
		if (f->fronts >> d & 1)
			p[n++] = (BoundPart){ .dim = d, .form = -1, .front = true };
	}
	for (int i = 0; i < f->n; i++) {
		if (f->form[i].tile) {
			p[n++] = (BoundPart){ .dim = -1, .form = i, .tile = true };
			continue;
		}
		if (f->form[i].hi)
			p[n++] = (BoundPart){ .dim = -1, .form = i };
		if (f->form[i].lo)
			p[n++] = (BoundPart){ .dim = -1, .form = i, .front = true };
	}
	return n;
}

/* Returns the end that leaves no element of a value of type t out. */
static int64_t
part_extent(const MaskForms *f, const BoundPart *p, const Type *t)
{
	int64_t end = 1;

	if (p->dim >= 0)
		return t->shape[p->dim];
	for (int d = 0; d < t->rank; d++)
		end += f->form[p->form].coef[d] * (t->shape[d] - 1);
	return end;
}

/* Returns the value of the part in e, computed before o. If e has no such condition, it is a value that
 * leaves no element out. */
static Val *
part_value(Op *o, const MaskForms *f, const BoundPart *p, const TileBounds *e, const Type *t)
{
	Type cond = type_tile(D_bool, S_reg, t->rank, t->shape);
	Val *v = NULL;

	if (p->dim >= 0) {
		v = p->front ? e->from[p->dim] : e->at[p->dim];
		return v ? v : ir_const(o->parent, o, p->front ? 0 : t->shape[p->dim]);
	}
	for (int i = 0; i < e->nmore; i++) {
		const MaskCond *c = &e->more[i];

		if (form_index(f, c) != p->form)
			continue;
		if (p->tile) {
			Val *in[2] = { v, cond_tile(o, c, t) };

			v = v ? op_new(o->parent, o, O_and, o->src, 2, in, 1, &cond)->out[0] : in[1];
		} else {
			v = p->front ? bound_tighter(o, O_max, v, c->lo) : bound_tighter(o, O_min, v, c->hi);
		}
	}
	if (v)
		return v;
	if (!p->tile)
		return ir_const(o->parent, o, p->front ? 0 : part_extent(f, p, t));
	v = op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &cond)->out[0];
	IMM_SET(v->def, value, 1);
	return v;
}

/* Sets the part of e, of a tile of type t, to v. */
static void
part_set(Bounds *b, Op *o, const MaskForms *f, const BoundPart *p, TileBounds *e, const Type *t, Val *v)
{
	MaskCond c = { .dims = 0 };

	if (p->dim >= 0) {
		*(p->front ? &e->from[p->dim] : &e->at[p->dim]) = v;
		return;
	}
	c.dims = f->form[p->form].dims;
	memcpy(c.coef, f->form[p->form].coef, sizeof c.coef);
	if (p->tile)
		cond_set_tile(o, &c, v);
	else if (p->front)
		c.lo = v;
	else
		c.hi = v;
	/* the end and the front of a form belong to one condition */
	for (int i = 0; i < e->nmore && !p->tile; i++)
		if (!e->more[i].tile && e->more[i].dims == c.dims &&
		    !memcmp(e->more[i].coef, c.coef, sizeof c.coef)) {
			*(p->front ? &e->more[i].lo : &e->more[i].hi) = v;
			return;
		}
	if (e->nmore < MASK_CONDS)
		e->more[e->nmore++] = c;
	(void)b;
	(void)t;
}

/* ---- branches ----------------------------------------------------------------------------------------- */

/* Returns the upper end v along dim d of a value of type t, or its extent if no element is past v when `at`
 * runs. */
static Val *
end_or_extent(Bounds *b, Op *at, Val *v, const Type *t, int d)
{
	bool all = val_fact_at(b->k, at, v).lo >= t->shape[d];

	if (!all && v->def && v->def->code == O_sub) {
		Val *start = elt_rhs(v->def);

		all = val_fact_at(b->k, at, start).lo >= 0 &&
		      prove_inside(b->k, at, &start, 1, t->shape[d], elt_lhs(v->def));
	}
	return all ? ir_const(at->parent, at, t->shape[d]) : v;
}

/* Returns the scalar, in terms of values from before o, that both blocks of o compute: v[0] and v[1].
 * NULL: there is none. */
static Val *
same_outside(Op *o, Val *const v[2])
{
	Val *yes = val_outside(o->parent, o, v[0], o->blk[0]);
	Val *no = yes ? val_outside(o->parent, o, v[1], o->blk[1]) : NULL;

	return no && index_equal(o, yes, no) ? yes : NULL;
}

/* What bounds e say of elements that part p leaves out: they are zero, or finite. */
static void
known_of_part(const TileBounds *e, const MaskForms *f, const BoundPart *p, bool *zero, bool *finite)
{
	*zero = *finite = true;
	if (p->dim >= 0) {
		if (e->at[p->dim] || e->from[p->dim]) {
			*zero = e->zero >> p->dim & 1;
			*finite = e->finite >> p->dim & 1;
		}
		return;
	}
	for (int i = 0; i < e->nmore; i++)
		if (form_index(f, &e->more[i]) == p->form) {
			*zero = *zero && e->more[i].zero;
			*finite = *finite && e->more[i].finite;
		}
}

/* Sets what is known of elements that part p of e leaves out. */
static void
set_known(TileBounds *e, const MaskForms *f, const BoundPart *p, bool zero, bool finite)
{
	if (p->dim >= 0) {
		e->zero |= (unsigned)zero << p->dim;
		e->finite |= (unsigned)finite << p->dim;
		return;
	}
	for (int i = 0; i < e->nmore; i++)
		if (e->more[i].dims == f->form[p->form].dims) {
			e->more[i].zero = zero;
			e->more[i].finite = finite;
		}
}

Op *
bounds_chosen(Bounds *b, Op *o, const TileBounds own[2], const Type *t, TileBounds *e)
{
	Op *after = o->next;
	MaskForms f = { .ends = 0 };
	BoundPart part[PARTS_MAX];
	int parts;

	*e = (TileBounds){ .zero = 0 };
	for (int r = 0; r < 2; r++)
		forms_of(&f, &own[r], t->rank);
	parts = parts_of(&f, t->rank, part);
	for (int p = 0; p < parts; p++) {
		bool zero[2], finite[2];
		Val *v[2], *same;

		for (int r = 0; r < 2; r++) {
			Op *at = o->blk[r]->last;

			v[r] = part_value(at, &f, &part[p], &own[r], t);
			known_of_part(&own[r], &f, &part[p], &zero[r], &finite[r]);
		}
		same = part[p].tile ? NULL : same_outside(o, v);
		if (!same && part[p].dim >= 0 && !part[p].front) {
			for (int r = 0; r < 2; r++)
				v[r] = end_or_extent(b, o->blk[r]->last, v[r], t, part[p].dim);
			same = same_outside(o, v);
		}
		if (!same) {
			o = if_carry(o, v[0], v[1]);
			same = o->out[o->nout - 1];
		}
		if (part[p].dim >= 0 && !part[p].front && val_fact(b->k, same).lo >= t->shape[part[p].dim])
			continue;
		part_set(b, after, &f, &part[p], e, t, same);
		set_known(e, &f, &part[p], zero[0] && zero[1], finite[0] && finite[1]);
	}
	return o;
}

Op *
bounds_after_if(Bounds *b, Op *o)
{
	int n = o->nout;

	for (int i = 0; i < n; i++) {
		const Type t = o->out[i]->type;
		TileBounds own[2], e;

		if (t.space != S_reg)
			continue;
		for (int r = 0; r < 2; r++)
			own[r] = *edge_of(b, o->blk[r]->last->in[i]);
		o = bounds_chosen(b, o, own, &t, &e);
		edge_set(b, o->out[i], &e);
	}
	return o;
}

/* ---- loops -------------------------------------------------------------------------------------------- */

/* Returns what preceding runs have found of a loop with n carried values and `tiles` shared tiles that it
 * writes. */
static LoopForms *
learned(Bounds *b, const Op *loop, int n, int tiles)
{
	Arena *a = b->k->unit->arena;

	if (loop->id >= b->nlearned) {
		uint32_t more = loop->id + loop->id / 2 + 64;

		b->learned = arena_grow(a, b->learned, b->nlearned, more, sizeof *b->learned);
		b->nlearned = more;
	}
	if (!b->learned[loop->id]) {
		b->learned[loop->id] = NEW(a, LoopForms);
		b->learned[loop->id]->form = NEWN(a, MaskForms, n + tiles + 1);
		b->learned[loop->id]->carries = NEWN(a, bool, tiles + 1);
	}
	return b->learned[loop->id];
}

/* Has item i of the loop, a carried value or, after these, a shared tile, bounds that the loop carries? */
static bool
is_item(const Op *o, const CarriedBounds *c, int i)
{
	return i < c->n ? for_init(o, i)->type.space == S_reg : c->learned->carries[i - c->n];
}

static const Type *
item_type(const Op *o, const CarriedBounds *c, int i)
{
	return i < c->n ? &for_init(o, i)->type : &c->tiles->root[i - c->n]->type;
}

/* Returns the bounds of item i before the loop. */
static const TileBounds *
item_before(const Bounds *b, const Op *o, const CarriedBounds *c, int i)
{
	return i < c->n ? edge_of(b, for_init(o, i)) : c->tiles->was[0][i - c->n].edge;
}

/* Returns the bounds of item i at the end of the body. */
static TileBounds
item_next(const Bounds *b, const Op *o, const CarriedBounds *c, int i)
{
	return i < c->n ? *edge_of(b, o->blk[0]->last->in[i]) : *c->tiles->was[1][i - c->n].edge;
}

Op *
bounds_into_loop(Bounds *b, Op *o, CarriedBounds *c, const SharedStates *tiles)
{
	c->n = o->nout;
	c->items = c->n + tiles->n;
	c->tiles = tiles;
	c->learned = c->items ? learned(b, o, c->n, tiles->n) : NULL;
	c->part = NEWN(b->k->unit->arena, int, c->items + 1);
	for (int i = 0; i < c->items; i++) {
		const Type t = *item_type(o, c, i);
		TileBounds init, e = { .zero = 0 };
		BoundPart part[PARTS_MAX];
		MaskForms *f;
		int parts;

		c->part[i] = o->nout;
		if (!is_item(o, c, i))
			continue;
		f = &c->learned->form[i];
		init = *item_before(b, o, c, i);
		forms_of(f, &init, t.rank);
		parts = parts_of(f, t.rank, part);
		for (int p = 0; p < parts; p++) {
			Block *body = o->blk[0];
			Val *v = part_value(o, f, &part[p], &init, &t);

			o = loop_carry(o, v);
			part_set(b, body->first, f, &part[p], &e, &t, body->arg[body->narg - 1]);
		}
		if (i >= c->n)
			shared_carried(b, tiles->root[i - c->n], &e);
		else if (parts)
			edge_set(b, o->blk[0]->arg[1 + i], &e);
	}
	return o;
}

enum { ZERO_STEPS = 200 };

/* Is v, computed from a carried x that is initially 0, zero out of bounds of e along d whenever x is?
 * Returns false if unknown after *left steps. */
static bool
stays_zero(const Bounds *b, const Val *v, const Val *x, const TileBounds *e, int d, int *left)
{
	const TileBounds *own = edge_of(b, v);
	const Op *o = v->def;

	if (v == x || (own->at[d] == e->at[d] && own->from[d] == e->from[d] && own->zero >> d & 1))
		return true;
	return o && (o->code == O_add || o->code == O_sub) && --*left > 0 &&
	       stays_zero(b, elt_lhs(o), x, e, d, left) && stays_zero(b, elt_rhs(o), x, e, d, left);
}

static bool
starts_zero(const Val *v)
{
	return v->def && v->def->code == O_const && !(fabs(v->def->fimm) > 0) && IMM(v->def, value) == 0;
}

/* Returns the end that the iteration itself gives: if `end` is the min or max of it and an argument of the
 * body, the other operand. */
static Val *
without_carried(Val *end, const Block *body)
{
	const Op *def = end ? end->def : NULL;

	if (def && (def->code == O_min || def->code == O_max))
		for (int i = 0; i < 2; i++)
			if (!def->in[i]->def && def->in[i]->block == body)
				return def->in[1 - i];
	return end;
}

/* The ends of which a carried one is the tightest. */
typedef struct EndLeaves {
	Val *value[8]; /* computed in the iteration */
	int n;
	bool *carried; /* by carried value: it is one of the ends */
	bool many;     /* more values than fit, or a chain too long */
	int steps;
} EndLeaves;

enum { LEAVES_STEPS = 200 };

/* Adds the leaves of v, a chain of min or max (`code`), to l. */
static void
leaves_of(EndLeaves *l, Val *v, OpCode code, const Block *body)
{
	if (l->many || l->steps++ > LEAVES_STEPS)
		l->many = true;
	else if (!v->def && v->block == body && v->index > 0) {
		l->carried[v->index - 1] = true;
	} else if (v->def && v->def->code == code) {
		leaves_of(l, elt_lhs(v->def), code, body);
		leaves_of(l, elt_rhs(v->def), code, body);
	} else if (l->n < (int)COUNT_OF(l->value)) {
		l->value[l->n++] = v;
	} else {
		l->many = true;
	}
}

/* Are the carried ends among the leaves of end `at`, of elements from 0 to extent, never tighter than its own
 * values, in any number of iterations? */
static bool
carries_nothing(const Op *loop, const EndLeaves *own, int at, OpCode code, int64_t extent)
{
	Block *body = loop->blk[0];
	Arena *a = body->kernel->unit->arena;
	EndLeaves all = { .carried = NEWN(a, bool, loop->nout + 1) };
	bool *done = NEWN(a, bool, loop->nout + 1), more = true;
	int64_t first;

	memcpy(all.carried, own->carried, (size_t)loop->nout);
	while (more) {
		more = false;
		for (int j = 0; j < loop->nout; j++) {
			if (!all.carried[j] || done[j])
				continue;
			if (j != at && (!val_is_const(for_init(loop, j), &first) ||
			                (code == O_min ? first < extent : first > 0)))
				return false; /* it leaves elements out at first */
			done[j] = more = true;
			leaves_of(&all, body->last->in[j], code, body);
		}
	}
	for (int i = 0; i < all.n; i++) {
		bool has = false;

		for (int j = 0; j < own->n; j++)
			has = has || index_equal(body->last, all.value[i], own->value[j]);
		if (!has)
			return false;
	}
	return !all.many;
}

/* Returns carried end `at` recomputed after the loop if it is the same in all iterations, tightened by the
 * initial end if that is among its leaves. Returns NULL if it differs. `code`: O_min for ends, O_max for
 * fronts. extent: of the dim, or of the form's values. */
static Val *
same_in_all(Op *loop, Op *after, int at, OpCode code, int64_t extent)
{
	Block *body = loop->blk[0];
	EndLeaves own = { .carried = NEWN(body->kernel->unit->arena, bool, loop->nout + 1) };
	Val *first = for_init(loop, at), *x = NULL;

	if (body->last->in[at] == body->arg[1 + at])
		return first;
	leaves_of(&own, body->last->in[at], code, body);
	if (own.many || !own.n || !carries_nothing(loop, &own, at, code, extent))
		return NULL;
	for (int i = 0; i < own.n; i++) {
		Val *v = val_outside(loop->parent, after, own.value[i], body);

		if (!v)
			return NULL;
		x = bound_tighter(after, code, x, v);
	}
	return own.carried[at] ? bound_tighter(after, code, x, first) : x;
}

/* Returns the end after the loop: `same`, or the initial one `first` if the loop has no iteration. */
static Val *
after_iterations(Bounds *b, const Op *loop, Op *at, Val *same, Val *first)
{
	Type i64 = type_scalar(D_i64);
	Val *in[3] = { NULL, same, first };

	if (index_equal(at, same, first) || val_fact(b->k, for_lo(loop)).hi < val_fact(b->k, for_hi(loop)).lo)
		return same;
	in[0] = ir_bin(at->parent, at, O_lt, for_lo(loop), for_hi(loop));
	return op_new(at->parent, at, O_select, at->src, 3, in, 1, &i64)->out[0];
}

/* Sets e to bounds with the forms f, in a run whose result is discarded: their ends may be any scalars. */
static void
bounds_of_forms(Bounds *b, Op *o, const MaskForms *f, const Type *t, TileBounds *e)
{
	BoundPart part[PARTS_MAX];
	int parts = parts_of(f, t->rank, part);

	for (int p = 0; p < parts; p++) {
		Type cond = type_tile(D_bool, S_reg, t->rank, t->shape), index = type_index();
		Val *v = part[p].tile ? op_new(o->parent, o, O_const, o->src, 0, NULL, 1, &cond)->out[0]
		                      : op_new(o->parent, o, O_linear_block_id, o->src, 0, NULL, 1,
		                               &index)
		                                ->out[0];

		part_set(b, o, f, &part[p], e, t, v);
	}
}

/* Adds the next value of each carried end to the yield. Returns true if the loop needs more forms. */
static bool
carry_next(Bounds *b, Op *o, CarriedBounds *c)
{
	Op *yield = o->blk[0]->last;
	bool grew = false;

	for (int i = 0; i < c->items; i++) {
		const Type t = *item_type(o, c, i);
		MaskForms now, *f;
		BoundPart part[PARTS_MAX];
		TileBounds own;
		int parts;

		if (!is_item(o, c, i))
			continue;
		f = &c->learned->form[i];
		own = item_next(b, o, c, i);
		parts = parts_of(f, t.rank, part);
		for (int p = 0; p < parts; p++)
			loop_carry_next(o, part_value(yield, f, &part[p], &own, &t));
		now = *f;
		forms_of(&now, &own, t.rank);
		forms_of(&now, item_before(b, o, c, i), t.rank);
		grew = grew || forms_size(&now) > forms_size(f);
		*f = now;
	}
	return grew;
}

/* Sets *e to the bounds of item i after the loop. `grew`: the run is discarded. */
static void
item_after(Bounds *b, Op *o, const CarriedBounds *c, int i, bool grew, TileBounds *e)
{
	const Type t = *item_type(o, c, i);
	const MaskForms *f = &c->learned->form[i];
	Op *yield = o->blk[0]->last, *after = o->next;
	BoundPart part[PARTS_MAX];
	unsigned varying = 0; /* bit d: an end along d differs between iterations */
	TileBounds own;
	int parts;

	*e = (TileBounds){ .zero = 0 };
	if (grew) { /* only the forms of later loops count */
		bounds_of_forms(b, after, f, &t, e);
		return;
	}
	parts = parts_of(f, t.rank, part);
	for (int p = 0; p < parts; p++) {
		int at = c->part[i] + p;
		Val *same = NULL;

		if (!part[p].tile && !loop_ends_early(o))
			same = same_in_all(o, after, at, part[p].front ? O_max : O_min,
			                   part_extent(f, &part[p], &t));
		if (part[p].dim >= 0)
			varying |= (unsigned)!same << part[p].dim;
		part_set(b, after, f, &part[p], e, &t,
		         same ? after_iterations(b, o, after, same, for_init(o, at)) : o->out[at]);
	}
	own = item_next(b, o, c, i);
	for (int d = 0; d < t.rank && i < c->n; d++) {
		TileBounds each = { .zero = 0 };
		int left = ZERO_STEPS;

		each.at[d] = without_carried(own.at[d], o->blk[0]);
		each.from[d] = without_carried(own.from[d], o->blk[0]);
		if (!(varying >> d & 1) && starts_zero(for_init(o, i)) &&
		    stays_zero(b, yield->in[i], o->blk[0]->arg[1 + i], &each, d, &left))
			e->zero |= 1u << d;
	}
	e->finite = e->zero;
}

void
bounds_after_loop(Bounds *b, Op *o, CarriedBounds *c)
{
	bool grew = carry_next(b, o, c);

	b->grew = b->grew || grew;
	for (int i = 0; i < c->items; i++) {
		TileBounds e;

		if (!is_item(o, c, i))
			continue;
		item_after(b, o, c, i, grew, &e);
		edge_set(b, i < c->n ? o->out[i] : c->tiles->root[i - c->n], &e);
	}
}

void
bounds_carry_tile(Bounds *b, const CarriedBounds *c, int tile)
{
	c->learned->carries[tile] = true;
	b->grew = true;
}
