/* mask_carried.c - computes the bounds of values that loops carry and branches choose.
 *
 * A carried tile has the bounds that each iteration gives it. The loop therefore carries the ends of its
 * conditions as further scalars, and a bool tile where a condition is not a linear form. Which forms a loop
 * needs is known only after its body, so pass mask_bounds starts again from a copy of the kernel until they
 * stay the same. Pass dce removes carried ends that are not used. After a loop, an end that is the same in
 * all iterations is used without being carried. */
#include "hexc/pass/mask_bounds.h"
#include "hexc/analysis/value_range.h"
#include "hexc/ir/dtype_value.h"
#include <math.h>
#include <string.h>

/* ---- forms ------------------------------------------------------------------------------------------ */

static bool
forms_some(const MaskForms *f)
{
	return f->ends || f->fronts || f->n;
}

/* Adds the form with these coefficients and ends, or a bool tile (coef NULL), that names `dims`. */
static void
forms_add(MaskForms *f, unsigned dims, const int64_t *coef, bool lo, bool hi)
{
	for (int i = 0; i < f->n; i++) {
		MaskForm *m = &f->form[i];

		if (m->dims == dims && m->tile == !coef &&
		    (!coef || !memcmp(m->coef, coef, sizeof m->coef))) {
			m->lo |= lo;
			m->hi |= hi;
			return;
		}
	}
	if (f->n == MASK_CONDS) { /* the last form, a bool tile, joins the rest */
		f->form[MASK_CONDS - 1].tile = true;
		f->form[MASK_CONDS - 1].dims |= dims;
		return;
	}
	f->form[f->n] = (MaskForm){ .dims = dims, .tile = !coef, .lo = lo, .hi = hi };
	if (coef)
		memcpy(f->form[f->n].coef, coef, sizeof f->form[f->n].coef);
	f->n++;
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
		forms_add(f, e->more[i].dims, e->more[i].tile ? NULL : e->more[i].coef, e->more[i].lo != NULL,
		          e->more[i].hi != NULL);
}

/* Returns the number of ends and tiles. Sets of forms only grow, so two of the same loop are equal if their
 * sizes are. */
static int
forms_size(const MaskForms *f)
{
	int n = 0;

	for (int d = 0; d < DIM_MAX; d++)
		n += (int)((f->ends >> d & 1) + (f->fronts >> d & 1));
	for (int i = 0; i < f->n; i++)
		n += 1 + f->form[i].lo + f->form[i].hi + f->form[i].tile;
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

/* Returns the value of the part in e, computed before o. If e has no such condition, it is a value that
 * leaves no element out. */
static Val *
part_value(Op *o, const MaskForms *f, const BoundPart *p, const TileBounds *e, const Type *t)
{
	const MaskForm *m = p->dim < 0 ? &f->form[p->form] : NULL;
	Type cond = type_tile(D_bool, S_reg, t->rank, t->shape);
	Val *v = NULL;
	int64_t end = 1;

	if (p->dim >= 0) {
		v = p->front ? e->from[p->dim] : e->at[p->dim];
		return v ? v : ir_const(o->parent, o, p->front ? 0 : t->shape[p->dim]);
	}
	for (int i = 0; i < e->nmore; i++) {
		const MaskCond *c = &e->more[i];

		if (p->tile && c->dims == m->dims && (c->tile || f->n == MASK_CONDS)) {
			Val *in[2] = { v, cond_tile(o, c, t) };

			v = v ? op_new(o->parent, o, O_and, o->src, 2, in, 1, &cond)->out[0] : in[1];
		} else if (!p->tile && !c->tile && c->dims == m->dims &&
		           !memcmp(c->coef, m->coef, sizeof c->coef)) {
			v = p->front ? bound_tighter(o, O_max, v, c->lo) : bound_tighter(o, O_min, v, c->hi);
		}
	}
	if (v)
		return v;
	for (int d = 0; m && d < t->rank; d++)
		end += m->coef[d] * (t->shape[d] - 1);
	if (!p->tile)
		return ir_const(o->parent, o, p->front ? 0 : end);
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

/* Adds a result to an `if`: `yes` or `no`, by branch. Returns the op that replaces o. */
static Op *
if_more(Op *o, Val *yes, Val *no)
{
	Arena *a = o->parent->kernel->unit->arena;
	Op *n = op_new(o->parent, o, O_if, o->src, o->nin, o->in, 0, NULL);

	memcpy(n->imm, o->imm, sizeof n->imm);
	for (int r = 0; r < 2; r++) {
		Op *y = o->blk[r]->last;

		n->blk[r] = o->blk[r];
		n->blk[r]->owner = n;
		o->blk[r] = NULL;
		y->in = arena_grow(a, y->in, (size_t)y->nin, (size_t)y->nin + 1, sizeof *y->in);
		y->in[y->nin++] = r ? no : yes;
	}
	op_unlink(o);
	op_take_results(n, o, yes->type);
	return n;
}

Op *
bounds_after_if(Bounds *b, Op *o)
{
	Op *after = o->next;
	int n = o->nout;

	for (int i = 0; i < n; i++) {
		const Type t = o->out[i]->type;
		TileBounds own[2], e = { .zero = 0 };
		MaskForms f = { .ends = 0 };
		BoundPart part[PARTS_MAX];
		int parts;

		if (t.space != S_reg)
			continue;
		for (int r = 0; r < 2; r++) {
			own[r] = *edge_of(b, o->blk[r]->last->in[i]);
			forms_of(&f, &own[r], t.rank);
		}
		parts = parts_of(&f, t.rank, part);
		for (int p = 0; p < parts; p++) {
			Val *v[2], *same;

			for (int r = 0; r < 2; r++)
				v[r] = part_value(o->blk[r]->last, &f, &part[p], &own[r], &t);
			same = part[p].tile ? NULL : val_outside(o->parent, o, v[0], o->blk[0]);
			if (same) {
				Val *other = val_outside(o->parent, o, v[1], o->blk[1]);

				same = other && index_equal(o, same, other) ? same : NULL;
			}
			if (!same) {
				o = if_more(o, v[0], v[1]);
				same = o->out[o->nout - 1];
			}
			part_set(b, after, &f, &part[p], &e, &t, same);
		}
		edge_set(b, o->out[i], &e);
	}
	return o;
}

/* ---- loops -------------------------------------------------------------------------------------------- */

/* Returns the forms that preceding runs have found for the carried values of a loop. */
static MaskForms *
learned(Bounds *b, const Op *loop)
{
	if (loop->id >= b->nlearned) {
		uint32_t n = loop->id + loop->id / 2 + 64;

		b->learned = arena_grow(b->k->unit->arena, b->learned, b->nlearned, n, sizeof *b->learned);
		b->nlearned = n;
	}
	if (!b->learned[loop->id])
		b->learned[loop->id] = NEWN(b->k->unit->arena, MaskForms, loop->nout + 1);
	return b->learned[loop->id];
}

Op *
bounds_into_loop(Bounds *b, Op *o, CarriedBounds *c)
{
	int n = o->nout;

	c->forms = n ? learned(b, o) : NULL;
	c->n = n;
	c->part = NEWN(b->k->unit->arena, int, n + 1);
	for (int i = 0; i < n; i++) {
		const Type t = for_init(o, i)->type;
		TileBounds init, e = { .zero = 0 };
		BoundPart part[PARTS_MAX];
		int parts;

		c->part[i] = o->nout;
		if (t.space != S_reg)
			continue;
		init = *edge_of(b, for_init(o, i));
		forms_of(&c->forms[i], &init, t.rank);
		if (!forms_some(&c->forms[i]))
			continue;
		parts = parts_of(&c->forms[i], t.rank, part);
		for (int p = 0; p < parts; p++) {
			Block *body = o->blk[0];
			Val *v = part_value(o, &c->forms[i], &part[p], &init, &t);

			o = loop_carry(o, v);
			part_set(b, body->first, &c->forms[i], &part[p], &e, &t, body->arg[body->narg - 1]);
		}
		edge_set(b, o->blk[0]->arg[1 + i], &e);
	}
	return o;
}

/* Is v, computed from a carried x that is initially 0, zero out of bounds of e along d whenever x is? */
static bool
stays_zero(const Bounds *b, const Val *v, const Val *x, const TileBounds *e, int d)
{
	const TileBounds *own = edge_of(b, v);
	const Op *o = v->def;

	if (v == x || (own->at[d] == e->at[d] && own->from[d] == e->from[d] && own->zero >> d & 1))
		return true;
	return o && (o->code == O_add || o->code == O_sub) && stays_zero(b, elt_lhs(o), x, e, d) &&
	       stays_zero(b, elt_rhs(o), x, e, d);
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
	bool many;     /* more values than fit */
} EndLeaves;

/* Adds the leaves of v, a chain of min or max (`code`), to l. */
static void
leaves_of(EndLeaves *l, Val *v, OpCode code, const Block *body)
{
	if (!v->def && v->block == body && v->index > 0) {
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

/* Are the carried ends among the leaves of end `at` never tighter than its own values, in any number of
 * iterations? */
static bool
carries_nothing(const Op *loop, const EndLeaves *own, int at, OpCode code)
{
	Block *body = loop->blk[0];
	Arena *a = body->kernel->unit->arena;
	EndLeaves all = { .carried = NEWN(a, bool, loop->nout + 1) };
	bool *done = NEWN(a, bool, loop->nout + 1), more = true;

	memcpy(all.carried, own->carried, (size_t)loop->nout);
	while (more) {
		more = false;
		for (int j = 0; j < loop->nout; j++) {
			if (!all.carried[j] || done[j])
				continue;
			if (j != at && !val_is_const(for_init(loop, j), NULL)) /* constants leave none out */
				return false;
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
 * fronts. */
static Val *
same_in_all(Op *loop, Op *after, int at, OpCode code)
{
	Block *body = loop->blk[0];
	EndLeaves own = { .carried = NEWN(body->kernel->unit->arena, bool, loop->nout + 1) };
	Val *first = for_init(loop, at), *x = NULL;

	if (body->last->in[at] == body->arg[1 + at])
		return first;
	leaves_of(&own, body->last->in[at], code, body);
	if (own.many || !own.n || !carries_nothing(loop, &own, at, code))
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

	for (int i = 0; i < c->n; i++) {
		const Type t = o->out[i]->type;
		MaskForms now, *f = &c->forms[i];
		BoundPart part[PARTS_MAX];
		const TileBounds own = *edge_of(b, yield->in[i]);
		int parts;

		if (t.space != S_reg)
			continue;
		parts = parts_of(f, t.rank, part);
		for (int p = 0; p < parts; p++)
			loop_carry_next(o, part_value(yield, f, &part[p], &own, &t));
		now = *f;
		forms_of(&now, &own, t.rank);
		forms_of(&now, edge_of(b, for_init(o, i)), t.rank);
		grew = grew || forms_size(&now) > forms_size(f);
		*f = now;
	}
	return grew;
}

void
bounds_after_loop(Bounds *b, Op *o, CarriedBounds *c)
{
	Op *yield = o->blk[0]->last, *after = o->next;
	bool grew = carry_next(b, o, c);

	b->grew = b->grew || grew;
	for (int i = 0; i < c->n; i++) {
		const Type t = o->out[i]->type;
		TileBounds own, e = { .zero = 0 };
		const MaskForms *f = &c->forms[i];
		BoundPart part[PARTS_MAX];
		int parts;
		unsigned varying = 0; /* bit d: an end along d differs between iterations */

		if (t.space != S_reg)
			continue;
		if (grew) { /* the run is discarded: only the forms of later loops count */
			bounds_of_forms(b, after, f, &t, &e);
			edge_set(b, o->out[i], &e);
			continue;
		}
		own = *edge_of(b, yield->in[i]);
		parts = parts_of(f, t.rank, part);
		for (int p = 0; p < parts; p++) {
			int at = c->part[i] + p;
			Val *same = NULL;

			if (!part[p].tile && !loop_ends_early(o))
				same = same_in_all(o, after, at, part[p].front ? O_max : O_min);
			if (part[p].dim >= 0)
				varying |= (unsigned)!same << part[p].dim;
			part_set(b, after, f, &part[p], &e, &t,
			         same ? after_iterations(b, o, after, same, for_init(o, at)) : o->out[at]);
		}
		for (int d = 0; d < t.rank; d++) {
			TileBounds each = { .zero = 0 };

			each.at[d] = without_carried(own.at[d], o->blk[0]);
			each.from[d] = without_carried(own.from[d], o->blk[0]);
			if (!(varying >> d & 1) && starts_zero(for_init(o, i)) &&
			    stays_zero(b, yield->in[i], o->blk[0]->arg[1 + i], &each, d))
				e.zero |= 1u << d;
		}
		e.finite = e.zero;
		edge_set(b, o->out[i], &e);
	}
}
